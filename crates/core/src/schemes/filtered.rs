//! A policy that not every reference reaches: the body of [`bypass`](super::bypass) and [`max-size`](super::size).

use crate::classify::Rules;
use crate::parts::slot_set::SlotSet;
use crate::policy::dynamic::DynPolicy;
use crate::policy::{Args, Effects, Info, Nested, Outcome, Policy, Reference, Setup, Slot};
use crate::schemes::plain_view;
use crate::spec::SpecError;
use crate::view::View;

/// What tells one from another.
pub trait Filter: Sized + Send {
    /// Name, parameters and texts. A parameter `policy` names the policy.
    const INFO: Info;
    /// With these arguments.
    fn new(args: &Args) -> Result<Self, SpecError>;
    /// The rules by which blocks are to be classified, if they are.
    fn rules(_args: &Args) -> Result<Option<Rules>, SpecError> {
        Ok(None)
    }
    /// True if the policy does not get a reference, unless its block is resident.
    fn goes_past(&self, reference: &Reference) -> bool;
}

/// The scheme. One bit a slot, besides its policy.
pub struct Filtered<F> {
    filter: F,
    policy: Box<dyn DynPolicy>,
    /// The length of the policy is what its blocks weigh.
    weighs: bool,
    /// Slots that the policy knows, resident or as ghosts.
    known: SlotSet,
}

impl<F: Filter> Policy for Filtered<F> {
    const INFO: Info = F::INFO;

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let filter = F::new(setup.args)?;
        let (spec, weighs) = (setup.args.policy("policy"), Self::weighs(setup.args));
        let policy = spec.build(setup.capacity, setup)?;
        Ok(Filtered { filter, policy, weighs, known: SlotSet::new(setup.slots) })
    }

    fn view(args: &Args, capacity: u32) -> Result<View, SpecError> {
        plain_view(F::INFO.name, args.policy("policy"), args, capacity)?;
        Ok(View { rules: F::rules(args)?, ..View::default() })
    }

    fn identities(args: &Args, capacity: u32) -> u64 {
        args.policy("policy").identities(capacity, args)
    }

    fn weighs(args: &Args) -> bool {
        args.policy("policy").weighs(args)
    }

    fn keeps(&self, reference: &Reference) -> bool {
        !self.filter.goes_past(reference) && self.policy.keeps(reference)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if self.filter.goes_past(&reference) && !self.policy.contains(slot) {
            if !self.known.contains(slot) {
                fx.forget(slot);
            }
            return Outcome::Bypassed;
        }
        self.known.insert(slot);
        self.policy.access(slot, reference, &mut Watch { known: &mut self.known, fx })
    }

    fn prefetch(&self, slot: Slot) {
        self.policy.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.policy.remove(slot, &mut Watch { known: &mut self.known, fx });
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.policy.resize(capacity, &mut Watch { known: &mut self.known, fx });
    }

    /// Takes other arguments of its policy. Its own say which blocks the policy has seen so far.
    fn reconfigure(&mut self, before: &Args, setup: &Setup, fx: &mut impl Effects) -> bool {
        let policy = setup.args.policy("policy");
        let mut fx = Watch { known: &mut self.known, fx };
        setup.args.differs_only_in(before, &["policy"])
            && policy.reconfigure(self.policy.as_mut(), before.policy("policy"), before, setup, &mut fx)
    }

    fn grow(&mut self, slots: u32) {
        self.known.grow(slots);
        self.policy.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.policy.contains(slot)
    }

    fn len(&self) -> u32 {
        self.policy.len()
    }

    fn validate(&self) {
        self.policy.validate();
        let resident = self.known.iter().filter(|&slot| self.policy.contains(slot)).count();
        let len = self.policy.len() as usize;
        let is_counted = if self.weighs { resident <= len && (resident == 0) == (len == 0) } else { resident == len };
        assert!(is_counted, "residents are known");
    }
}

/// Notes what the policy forgets.
struct Watch<'a, E> {
    known: &'a mut SlotSet,
    fx: &'a mut E,
}

impl<E: Effects> Nested for Watch<'_, E> {
    type Host = E;

    #[inline(always)]
    fn host(&self) -> &E {
        self.fx
    }

    #[inline(always)]
    fn host_mut(&mut self) -> &mut E {
        self.fx
    }

    #[inline(always)]
    fn on_forget(&mut self, slot: Slot) {
        self.known.remove(slot);
        self.fx.forget(slot);
    }
}
