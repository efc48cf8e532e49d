//! LRU: evict the block that was used least recently.
//!
//! Idea: recently used blocks will be used soon. One queue in order of last use; a hit moves to the MRU end,
//! the victim is at the LRU end.
//!
//! Paper: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 1970.
//!
//! Provenance: equal to libCacheSim 0.3.5 on twelve public traces and to Caffeine's simulator 3.2.0 on ten.
//!
//! Deviations: none.
//!
//! Cost: O(1) amortised; a hit writes one word and appends to a log, a miss reads one word more.
//! Memory: 12 bytes a block (4 a slot, 8 in the log).
//!
//! When not to use it: loops longer than the cache (every reference misses) and scans (they flush the working set).

use crate::families::one_queue::{Discipline, OneQueue};
use crate::policy::{Info, OnePass};

/// The LRU policy.
pub type Lru = OneQueue<LruRules>;

/// What tells it from others of one queue.
#[derive(Debug)]
pub enum LruRules {}

impl Discipline for LruRules {
    const INFO: Info = Info {
        name: "lru",
        family: "recency",
        summary: "evict the least recently used block",
        one_pass: Some(OnePass::LastUse),
        ..Info::EMPTY
    };

    const BY_LAST_USE: bool = true;
    const YOUNGEST_LEAVES: bool = false;
}
