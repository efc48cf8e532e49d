//! Shared by the tests of several crates: a slow reference model for every policy, a harness that drives a policy
//! beside its model, generators of traces. For tests only.
//!
//! ```
//! use hotset_core::registry;
//!
//! // Every policy of the registry has a model.
//! assert!(registry::all().all(|entry| hotset_testkit::models::row_of(entry.info.name).is_some()));
//! ```

pub mod allocations;
pub mod fuzz;
pub mod harness;
pub mod host;
pub mod inputs;
pub mod model;
pub mod models;
pub mod pager;
pub mod replay;
pub mod s3;
pub mod selection;
pub mod traces;
pub mod world;
