//! The cache decisions of hotset: requests, policies, and their names and parameters.
//!
//! This crate has no files, clock or threads. The simulator and the live cache are hosts of the same code.
//!
//! ```
//! use hotset_core::policy::{Effects, Extra, Note, Outcome, PolicySpec, Reference, Setup, Slot};
//!
//! /// A host without data that records the evicted slots.
//! #[derive(Default)]
//! struct Host(Vec<Slot>);
//!
//! impl Effects for Host {
//!     fn evict(&mut self, slot: Slot) {
//!         self.0.push(slot);
//!     }
//!     fn forget(&mut self, _slot: Slot) {}
//!     fn fetch(&mut self, _slot: Slot, _why: Extra) {}
//!     fn take_accessed(&mut self, _slot: Slot) -> bool {
//!         false
//!     }
//!     fn storage_busy(&self) -> Option<u64> {
//!         None
//!     }
//!     fn note(&mut self, _note: &Note) {}
//! }
//!
//! let spec = PolicySpec::parse("lru")?;
//! let args = spec.args(None);
//! let mut policy = spec.entry().build(&Setup::new(&args, 2, 3, 1))?;
//!
//! let mut host = Host::default();
//! let outcomes = [0, 1, 0, 2].map(|slot| policy.access(slot, Reference::default(), &mut host));
//! assert_eq!(outcomes, [Outcome::Admitted, Outcome::Admitted, Outcome::Hit, Outcome::Admitted]);
//! assert_eq!(host.0, [1]);
//! # Ok::<(), hotset_core::spec::SpecError>(())
//! ```

pub mod allocate;
pub mod classify;
pub mod counters;
pub mod families;
pub mod host;
pub mod parts;
pub mod policies;
pub mod policy;
pub mod random;
pub mod registry;
pub mod request;
pub mod schemes;
pub mod setting;
pub mod spec;
pub mod storage;
pub mod view;
pub mod words;
