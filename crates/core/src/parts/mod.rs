//! Building blocks that policies share.

pub mod bimodal;
pub mod champions;
pub mod experts;
pub mod footed_list;
pub mod four_lists;
pub mod ghost;
pub mod homes;
pub mod large;
pub mod links;
pub mod monitor;
pub mod one_queue;
pub mod order_tree;
pub mod pace;
pub mod partitions;
pub mod positions;
pub mod prefetch;
pub mod queue;
pub mod random;
pub mod ranking;
pub mod recent_table;
pub mod sketch;
pub mod slot_heap;
pub mod slot_set;
pub mod table;
