//! What the tests of several rooms share: a slow reference model for every policy, a harness that drives a policy
//! beside its model, generators of traces. For tests only.

pub mod harness;
pub mod host;
pub mod inputs;
pub mod model;
pub mod models;
pub mod pager;
pub mod replay;
pub mod samples;
pub mod selection;
pub mod traces;
pub mod world;
