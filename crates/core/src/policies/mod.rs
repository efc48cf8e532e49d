//! The replacement policies, one file each. The table in [`crate::registry`] names them.

pub mod lru;
