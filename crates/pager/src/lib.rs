//! Pages a program's large allocations under a replacement policy, from inside the program.
//!
//! The allocations lie in a shared mapping of an unlinked file. The kernel serves all faults from the page cache; no
//! signal handler and no interposed system call is involved, so every byte that the program reads comes from the
//! kernel. A thread of the library reads which pages were touched, gives the policy its faults and accessed bits, and
//! lets the victims of the policy leave the page cache. A wrong decision costs time, never data.
//!
//! [`Region`] is the mapping, [`Pager`] hosts the policy, [`Heap`] places allocations. [`control`] carries the settings
//! into the program and its counts out; [`program`] refuses programs that cannot be served. `hotset-preload` builds the
//! library that a program loads.

pub mod control;
mod error;
mod heap;
mod leaving;
mod pager;
pub mod program;
mod read_ahead;
mod region;
mod sys;

pub use error::PagerError;
pub use heap::{Freed, Heap, Placed};
pub use pager::{Owned, Owners, Pager, PagerSettings, PagingCounts};
pub use region::{Cached, Region};

/// Bytes of a page. The kernel must have pages of this size, which [`Region::create`] checks.
pub const PAGE: usize = 4096;

/// Least bytes of an allocation that is paged.
pub const OBJECT_BYTES: usize = 40 << 10;
