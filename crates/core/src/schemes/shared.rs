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

use crate::policy::dynamic::{DynPolicy, forward};
use crate::policy::{Args, Around, Effects, Info, Needs, Policy, Reconfigure, Requirements, Setup};
use crate::schemes::of_plain;
use crate::spec::SpecError;

/// The scheme.
pub struct Shared(Box<dyn DynPolicy>);

impl Policy for Shared {
    const INFO: Info = Info {
        name: "shared",
        family: "application",
        summary: "one cache for all applications",
        params: &[super::PART_POLICY, super::PREFETCH],
        needs: Needs::EVERYTHING,
        serving: super::PREFETCH_OFF,
        paging: super::PREFETCH_OFF,
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Shared(setup.args.policy("policy").build(setup.capacity, setup)?))
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let inner = of_plain("shared", args.policy("policy"), args, capacity)?;
        Ok(Requirements { reads_ahead: super::reads_ahead(args) || inner.reads_ahead, ..inner })
    }

    forward!(0: access prefetch remove resize grow contains len validate);
}

impl Reconfigure for Shared {
    fn reconfigure(&mut self, before: &Args, setup: &Setup, fx: &mut dyn Effects) -> bool {
        let policy = setup.args.policy("policy");
        setup.args.differs_only_in(before, &["policy"])
            && policy.reconfigure(self.0.as_mut(), before.policy("policy"), before, setup, fx)
    }
}

impl Around for Shared {
    fn policy(&self) -> &dyn DynPolicy {
        self.0.as_ref()
    }

    fn policy_mut(&mut self) -> &mut dyn DynPolicy {
        self.0.as_mut()
    }
}
