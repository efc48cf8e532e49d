//! max-size(P, max=BYTES): any policy, but larger objects are not kept.
//!
//! Idea: one large object takes the room of many small ones, which are used more often together. What is larger than a
//! limit goes past the cache. Servers of web caches have such a limit, so what is measured here can be configured
//! there.
//!
//! Paper: thresholds of size are as old as web caches; they are the comparison in Berger, Sitaraman, Harchol-Balter,
//! "AdaptSize: orchestrating the hot object memory cache in a content delivery network", NSDI 2017, which lets objects
//! in by chance instead, the larger the less, and learns how strictly.
//!
//! Deviations and readings: an object that came in while it was small enough is served from the cache, whatever size it
//! has now. What goes past is a miss. Blocks that are all of one size are never too large.
//!
//! Cost: that of P and a virtual call. Memory: that of P and one bit a slot.
//!
//! When not to use it: where bytes from storage count and not requests: large objects are most of these. A limit that
//! is right for one cache is wrong for one of another size; `gdsf` and `lhd` weigh size against use instead.

use crate::policy::{Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::schemes::filtered::Filtered;
use crate::schemes::plain_view;
use crate::spec::SpecError;
use crate::view::View;

/// The scheme.
pub struct Size {
    inner: Filtered,
    /// Bytes of the largest object that is kept.
    most: u64,
}

impl Policy for Size {
    const INFO: Info = Info {
        name: "max-size",
        aliases: &[],
        family: "composed",
        summary: "any policy, but objects above a size are not kept",
        params: &[
            Param { key: "policy", kind: ParamKind::Policy, default: "lru", doc: "keeps all others" },
            Param {
                key: "max",
                kind: ParamKind::Bytes,
                default: "1M",
                doc: "bytes of the largest object that is kept",
            },
        ],
        offline: false,
        needs: Needs::EVERYTHING,
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Size { inner: Filtered::new(setup)?, most: setup.args.bytes("max") })
    }

    fn view(args: &Args, capacity: u32) -> Result<View, SpecError> {
        plain_view("max-size", args.policy("policy"), args, capacity)?;
        Ok(View::default())
    }

    fn identities(args: &Args, capacity: u32) -> u64 {
        args.policy("policy").identities(capacity, args)
    }

    fn weighs(args: &Args) -> bool {
        args.policy("policy").weighs(args)
    }

    fn keeps(&self, reference: &Reference) -> bool {
        u64::from(reference.bytes) <= self.most && self.inner.policy.keeps(reference)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.inner.access(slot, reference, u64::from(reference.bytes) > self.most, fx)
    }

    fn prefetch(&self, slot: Slot) {
        self.inner.policy.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.inner.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.inner.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.inner.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.inner.policy.contains(slot)
    }

    fn len(&self) -> u32 {
        self.inner.policy.len()
    }

    fn validate(&self) {
        self.inner.validate();
    }
}
