//! Calls as the BPF programs record them.

mod arguments;
mod follower;
mod names;
#[cfg(test)]
mod tests;
mod touches;

pub(crate) use follower::Follower;
