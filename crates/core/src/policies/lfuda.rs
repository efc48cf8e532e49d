//! LFUDA: LFU whose old counts lose their value as the cache moves on.
//!
//! Idea: a block's key is its number of uses plus L, the key of the last victim. L rises with every victim, so a block
//! that is no longer used is overtaken by new ones however often it was used before: dynamic aging, without a
//! parameter.
//!
//! Paper: Arlitt, Cherkasova, Dilley, Friedrich, Jin, "Evaluating content management techniques for Web proxy caches",
//! ACM SIGMETRICS Performance Evaluation Review 2000.
//!
//! Provenance: from secondary sources, the paper's text was not at hand. libCacheSim 0.3.5 is equal on five of twelve
//! public traces; on the others it differs by up to 7.7 points, as a hit does not raise a block's count there.
//!
//! Deviations and readings: uses are counted from 1 while a block is resident; the key takes L as it is at the block's
//! last use; of equal keys the least recently used leaves. Uses and L stop at the greatest 64-bit number.
//!
//! Cost: a hit writes one record; a miss is O(1) if its victim was used once, otherwise that of a heap.
//! Memory: 36 bytes a slot and 72 to 80 a block of capacity.
//!
//! When not to use it: loops and scans longer than the cache, as with LRU; a stable popularity, where plain LFU forgets
//! nothing.

use crate::families::aging::{Aging, AgingRule};
use crate::policy::{Args, Info, Reference};

/// The LFUDA policy.
pub type Lfuda = Aging<Uses>;

/// Uses alone.
#[derive(Debug)]
pub struct Uses;

impl AgingRule for Uses {
    const INFO: Info = Info {
        name: "lfuda",
        aliases: &["lfu-da"],
        family: "frequency",
        summary: "LFU with dynamic aging: new blocks start from the key of the last victim",
        ..Info::EMPTY
    };
    const GREATEST_WHEN_NEW: bool = true;

    fn new(_args: &Args) -> Uses {
        Uses
    }

    #[inline(always)]
    fn value(&self, floor: u64, uses: u64, _: &Reference) -> u64 {
        floor.saturating_add(uses)
    }

    fn may_be(value: u64, uses: u64, floor: u64) -> bool {
        value - uses <= floor
    }
}
