//! LIFO: evict the block that entered last.
//!
//! Idea: what filled the cache first stays; newcomers take turns in the place that is left. On a pure loop it keeps as
//! much as MRU, and like FIFO it does nothing on a hit.
//!
//! Paper: the stack discipline that LIFO+ of APR builds on (Y. Lee, thesis, Seoul National University 2020).
//!
//! Provenance: no other program was at hand; the rule leaves nothing open.
//!
//! Deviations: the victim is chosen before the new block enters.
//!
//! Cost: a hit reads one word; a miss writes three. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue).
//!
//! When not to use it: wherever the working set changes; the first blocks never leave.

use crate::families::one_queue::{Discipline, OneQueue};
use crate::policy::Info;

/// The LIFO policy.
pub type Lifo = OneQueue<LifoRules>;

/// What tells it from others of one queue.
#[derive(Debug)]
pub enum LifoRules {}

impl Discipline for LifoRules {
    const INFO: Info =
        Info { name: "lifo", family: "loop", summary: "evict the block that entered last", ..Info::EMPTY };

    const BY_LAST_USE: bool = false;
    const YOUNGEST_LEAVES: bool = true;
}
