//! Building blocks that policies share.

pub mod prefetch;
pub mod queue;
