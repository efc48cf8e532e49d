//! Paging policies beside slow models of them: a machine that goes reference by reference, and a harness that compares victims.

pub mod harness;
pub mod models;

pub use harness::{Case, Run, Step};
