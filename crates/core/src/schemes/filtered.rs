//! A policy that not every reference reaches: the body of [`bypass`](super::bypass) and [`max-size`](super::size).

use crate::classify::Rules;
use crate::parts::slot_set::SlotSet;
use crate::policy::dynamic::{DynPolicy, forward};
use crate::policy::{
    Args, Around, Effects, Hits, Info, Nested, Outcome, Policy, Reconfigure, Reference, Requirements, Selective, Setup,
    Slot,
};
use crate::schemes::of_plain;
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
        let spec = setup.args.policy("policy");
        let weighs = spec.requirements(setup.capacity, setup.args)?.weighs;
        let policy = spec.build(setup.capacity, setup)?;
        Ok(Filtered { filter, policy, weighs, known: SlotSet::new(setup.slots) })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let inner = of_plain(F::INFO.name, args.policy("policy"), args, capacity)?;
        let view = View { rules: F::rules(args)?, ..View::default() };
        Ok(Requirements { view, hits: Hits::Order, ..inner })
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

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.policy.remove(slot, &mut Watch { known: &mut self.known, fx });
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.policy.resize(capacity, &mut Watch { known: &mut self.known, fx });
    }

    fn grow(&mut self, slots: u32) {
        self.known.grow(slots);
        self.policy.grow(slots);
    }

    forward!(policy: prefetch contains len);

    fn validate(&self) {
        self.policy.validate();
        let resident = self.known.iter().filter(|&slot| self.policy.contains(slot)).count();
        let len = self.policy.len() as usize;
        let is_counted = if self.weighs { resident <= len && (resident == 0) == (len == 0) } else { resident == len };
        assert!(is_counted, "residents are known");
    }
}

impl<F: Filter> Around for Filtered<F> {
    fn policy(&self) -> &dyn DynPolicy {
        self.policy.as_ref()
    }

    fn policy_mut(&mut self) -> &mut dyn DynPolicy {
        self.policy.as_mut()
    }
}

impl<F: Filter> Reconfigure for Filtered<F> {
    /// Takes other arguments of its policy. Its own say which blocks the policy has seen so far.
    fn reconfigure(&mut self, before: &Args, setup: &Setup, mut fx: &mut dyn Effects) -> bool {
        let policy = setup.args.policy("policy");
        let mut fx = Watch { known: &mut self.known, fx: &mut fx };
        setup.args.differs_only_in(before, &["policy"])
            && policy.reconfigure(self.policy.as_mut(), before.policy("policy"), before, setup, &mut fx)
    }
}

impl<F: Filter> Selective for Filtered<F> {
    fn keeps(&self, reference: &Reference) -> bool {
        !self.filter.goes_past(reference) && self.policy.selective().is_none_or(|policy| policy.keeps(reference))
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
