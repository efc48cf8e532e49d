//! OPT with bypass: as OPT, but a block that is used again later than every resident is not kept.
//!
//! Idea: the victim of OPT may be the new block itself. This is the bound for policies that refuse blocks.
//!
//! Paper: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970,
//! on bypassing.
//!
//! Provenance: no other program was at hand; held against its model alone.
//!
//! Deviations and readings: a block is refused only when the cache is full; one that is never used again is then always
//! refused.
//!
//! Cost and memory: as `opt`.
//!
//! When not to use it: as a bound for policies that must keep every block they read; that bound is `opt`.

use super::opt::Foresight;
use crate::policy::{Effects, Future, Info, Outcome, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// The OPT policy with bypass.
#[derive(Debug)]
pub struct OptBypass(Foresight);

impl Policy for OptBypass {
    const INFO: Info = Info {
        name: "opt-bypass",
        aliases: &["belady-bypass", "min-bypass"],
        family: "optimal",
        summary: "opt that may refuse a block: the bound of all policies",
        offline: true,
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Foresight::new(setup, Self::INFO.name).map(OptBypass)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let next_use = self.0.next_use(reference.time);
        if self.0.contains(slot) {
            self.0.renew(slot, next_use);
            return Outcome::Hit;
        }
        if self.0.is_full() {
            if next_use == Future::NEVER || next_use > self.0.last_use() {
                fx.forget(slot);
                return Outcome::Bypassed;
            }
            self.0.evict(fx);
        }
        self.0.insert(slot, next_use);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.0.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.0.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.0.contains(slot)
    }

    fn len(&self) -> u32 {
        self.0.len
    }

    fn validate(&self) {
        self.0.validate();
    }
}
