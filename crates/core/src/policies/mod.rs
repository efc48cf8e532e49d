//! The replacement policies, one file each. The table in [`crate::registry`] names them.

pub mod arc;
pub mod car;
pub mod lfu;
pub mod lru;
pub mod opt;
pub mod opt_bypass;
pub mod two_q;
