//! shared(P): one cache for all applications.
//!
//! Idea: no division at all. The baseline of every scheme that divides.
//!
//! Paper: the "no partitioning" of Patrick, Kandemir and others, soft quality of service for storage caches (POLICIES
//! 1.4).
//!
//! Deviations: none. It is P.
//!
//! Cost: that of P and a virtual call. Memory: that of P.
//!
//! When not to use it: where one application streams, or loops, over more than the cache holds: it takes everybody's
//! room.

use crate::policy::dynamic::DynPolicy;
use crate::policy::{Args, Effects, Info, Needs, Outcome, Policy, Reference, Setting, Setup, Slot};
use crate::schemes::plain_view;
use crate::spec::{SpecError, Value};
use crate::view::View;

/// The scheme.
pub struct Shared(Box<dyn DynPolicy>);

impl Policy for Shared {
    const INFO: Info = Info {
        name: "shared",
        aliases: &[],
        family: "application",
        summary: "one cache for all applications",
        params: &[super::PART_POLICY, super::PREFETCH],
        offline: false,
        needs: Needs::EVERYTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Shared(setup.args.policy("policy").build(setup.capacity, setup)?))
    }

    fn view(args: &Args, capacity: u32) -> Result<View, SpecError> {
        plain_view("shared", args.policy("policy"), args, capacity)?;
        Ok(View::default())
    }

    fn reads_ahead(args: &Args) -> bool {
        super::reads_ahead(args)
    }

    fn defaults_in(_setting: Setting) -> Vec<(&'static str, Value)> {
        vec![super::prefetch_off()]
    }

    fn identities(args: &Args, capacity: u32) -> u64 {
        args.policy("policy").identities(capacity, args)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.0.access(slot, reference, fx)
    }

    fn prefetch(&self, slot: Slot) {
        self.0.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx);
    }

    fn reconfigure(&mut self, before: &Args, setup: &Setup, fx: &mut impl Effects) -> bool {
        let policy = setup.args.policy("policy");
        setup.args.differs_only_in(before, &["policy"])
            && policy.reconfigure(self.0.as_mut(), before.policy("policy"), before, setup, fx)
    }

    fn grow(&mut self, slots: u32) {
        self.0.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.0.contains(slot)
    }

    fn len(&self) -> u32 {
        self.0.len()
    }

    fn validate(&self) {
        self.0.validate();
    }
}
