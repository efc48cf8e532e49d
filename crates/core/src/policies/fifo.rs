//! FIFO: evict the block that entered first.
//!
//! Idea: a queue in order of entry. A hit changes nothing, so it costs nothing: caches that must be touched without a
//! lock use it, and many modern policies (CLOCK, SIEVE, S3-FIFO) are FIFO queues with a second look.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966; Belady,
//! Nelson, Shedler, "An anomaly in space-time characteristics of certain programs running in a paging machine", CACM
//! 1969.
//!
//! Provenance: equal to libCacheSim 0.3.5 on twelve public traces.
//!
//! Deviations: none.
//!
//! Cost: a hit reads one word; a miss writes three. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue).
//!
//! When not to use it: when blocks differ much in popularity; the popular ones leave as early as the others. More
//! memory can mean more misses (Belady's anomaly).

use crate::families::one_queue::{Discipline, OneQueue};
use crate::policy::Info;

/// The FIFO policy.
pub type Fifo = OneQueue<FifoRules>;

/// What tells it from others of one queue.
#[derive(Debug)]
pub enum FifoRules {}

impl Discipline for FifoRules {
    const INFO: Info =
        Info { name: "fifo", family: "simple", summary: "evict the block that entered first", ..Info::EMPTY };

    const BY_LAST_USE: bool = false;
    const YOUNGEST_LEAVES: bool = false;
}
