//! Data structures that policies share. A structure with one user is in the module of that user.

pub mod experts;
pub mod footed_list;
pub mod ghost;
pub mod large;
pub mod links;
pub mod prefetch;
pub mod queue;
pub mod ranking;
pub mod recent_table;
pub mod sketch;
pub mod slot_heap;
pub mod slot_set;
pub mod table;
pub mod tournament_tree;
