//! A policy follows the events of the page cache. Its evictions are dropped from the page cache.

mod follower;
pub(crate) mod marks;
mod mirror;
mod pending;
pub(crate) mod steering;
