//! A policy follows the events of the page cache; what it evicts is dropped.

mod follower;
pub(crate) mod marks;
mod mirror;
mod pending;
pub(crate) mod steering;
