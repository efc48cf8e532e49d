//! Skeletons of policies: the common code of several that differ in a few choices.

pub mod aging;
pub mod bimodal;
pub mod four_lists;
pub mod one_queue;
pub mod partitions;
pub mod promised;
