//! Replacement of memory pages, where a policy sees what an operating system sees: page faults, and access bits that it may
//! test and clear.
//!
//! A reference to a resident page sets a bit in the page's table entry and tells nobody. So a [`PagingPolicy`] is called only
//! on faults, and whoever replays a trace may pass over references to resident pages as fast as memory goes.

mod links;
mod machine;
mod policies;
mod policy;
mod registry;
mod spec;
mod table;

pub use links::{Links, List};
pub use machine::{Fault, Machine, Object, Page};
pub use policy::{PagingPolicy, Setup};
pub use registry::{ENTRIES, Entry, Visitor, find, visit};
pub use spec::PagingSpec;
pub use table::{ACCESSED, DIRTY, PRESENT, PageTable};
