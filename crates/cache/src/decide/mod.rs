//! Which blocks stay: the policy, the frames of the blocks that it keeps, dirty data.

mod addresses;
pub(crate) mod decider;
pub(crate) mod frames;
pub(crate) mod prices;
pub(crate) mod schedule;
pub(crate) mod unwritten;
