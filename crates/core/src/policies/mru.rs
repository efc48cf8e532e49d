//! MRU: evict the block that was used most recently, before the new one enters.
//!
//! Idea: in a loop longer than the cache, the block just used is the one that will be needed last. Keeping the others
//! gives the loop's best possible hit ratio, where LRU has none.
//!
//! Paper: Chou and DeWitt, "An evaluation of buffer management strategies for relational database systems", VLDB 1985.
//!
//! Provenance: counts of an independent model on public traces (`crates/testkit/golden`).
//!
//! Deviations: the victim is chosen before the new block enters, which would otherwise evict itself.
//!
//! Cost: O(1) amortised. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue).
//!
//! When not to use it: anything but loops. Blocks that are dead stay for ever.

use crate::families::one_queue::{Discipline, OneQueue};
use crate::policy::Info;

/// The MRU policy.
pub type Mru = OneQueue<MruRules>;

/// What tells it from others of one queue.
#[derive(Debug)]
pub enum MruRules {}

impl Discipline for MruRules {
    const INFO: Info = Info {
        name: "mru",
        family: "loop",
        summary: "evict the most recently used block, for loops larger than the cache",
        ..Info::EMPTY
    };

    const BY_LAST_USE: bool = true;
    const YOUNGEST_LEAVES: bool = true;
}
