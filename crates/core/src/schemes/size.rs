//! max-size(P, max=BYTES): any policy, but larger objects are not kept.
//!
//! Idea: one large object takes the place of many small ones, which are used more often together. An object larger than
//! a limit goes past the cache. Servers of web caches have such a limit, so what is measured here can be configured
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

use super::filtered::{Filter, Filtered};
use crate::policy::{Args, Info, Needs, Param, ParamKind, Reference};
use crate::spec::SpecError;

/// The scheme.
pub type Size = Filtered<BySize>;

/// Lets large objects go past.
pub struct BySize {
    /// Bytes of the largest object that is kept.
    most: u64,
}

impl Filter for BySize {
    const INFO: Info = Info {
        name: "max-size",
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
        needs: Needs::EVERYTHING,
        ..Info::EMPTY
    };

    fn new(args: &Args) -> Result<BySize, SpecError> {
        Ok(BySize { most: args.bytes("max") })
    }

    fn goes_past(&self, reference: &Reference) -> bool {
        u64::from(reference.bytes) > self.most
    }
}
