//! Skeletons of policies: what several of them are but for a few choices.

pub mod aging;
pub mod bimodal;
pub mod four_lists;
pub mod one_queue;
pub mod partitions;
pub mod promised;
