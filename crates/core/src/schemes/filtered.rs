//! A policy that not every reference reaches.

use crate::parts::slot_set::SlotSet;
use crate::policy::dynamic::DynPolicy;
use crate::policy::{Effects, Extra, Note, Outcome, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The policy of the argument `policy`, and what it knows. One bit a slot.
pub struct Filtered {
    pub policy: Box<dyn DynPolicy>,
    /// Slots that the policy knows, resident or as ghosts.
    known: SlotSet,
}

impl Filtered {
    pub fn new(setup: &Setup) -> Result<Filtered, SpecError> {
        let policy = setup.args.policy("policy").build(setup.capacity, setup)?;
        Ok(Filtered { policy, known: SlotSet::new(setup.slots) })
    }

    /// References the block in `slot`, which the policy hears of unless it `goes_past` and is not resident.
    #[inline(always)]
    pub fn access(&mut self, slot: Slot, reference: Reference, goes_past: bool, fx: &mut impl Effects) -> Outcome {
        if goes_past && !self.policy.contains(slot) {
            if !self.known.contains(slot) {
                fx.forget(slot);
            }
            return Outcome::Bypassed;
        }
        self.known.insert(slot);
        self.policy.access(slot, reference, &mut Watch { known: &mut self.known, fx })
    }

    /// [`Policy::remove`].
    pub fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.policy.remove(slot, &mut Watch { known: &mut self.known, fx });
    }

    /// [`Policy::resize`].
    pub fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.policy.resize(capacity, &mut Watch { known: &mut self.known, fx });
    }

    /// [`Policy::grow`].
    pub fn grow(&mut self, slots: u32) {
        self.known.grow(slots);
        self.policy.grow(slots);
    }

    /// [`Policy::validate`].
    pub fn validate(&self) {
        self.policy.validate();
        let resident = self.known.iter().filter(|&slot| self.policy.contains(slot)).count();
        assert!(
            resident <= self.policy.len() as usize && (resident == 0) == self.policy.is_empty(),
            "what is resident is known"
        );
    }
}

/// Notes what the policy forgets.
struct Watch<'a, E> {
    known: &'a mut SlotSet,
    fx: &'a mut E,
}

impl<E: Effects> Effects for Watch<'_, E> {
    fn evict(&mut self, slot: Slot) {
        self.fx.evict(slot);
    }

    fn forget(&mut self, slot: Slot) {
        self.known.remove(slot);
        self.fx.forget(slot);
    }

    fn fetch(&mut self, slot: Slot, why: Extra) {
        self.fx.fetch(slot, why);
    }

    fn note(&mut self, note: &Note) {
        self.fx.note(note);
    }
}
