//! A concurrent cache of values under any of hotset's replacement policies.
//!
//! ```
//! use hotset::Cache;
//!
//! let cache = Cache::builder("s3-fifo").capacity(10_000).build()?;
//! cache.insert("key", 1);
//! assert_eq!(cache.get("key"), Some(1));
//! assert_eq!(cache.get_or_insert_with("other", || 2), Ok(2));
//! assert_eq!(cache.remove("key"), Some(1));
//! assert_eq!(cache.stats().hits, 1);
//! # Ok::<(), hotset::SetupError>(())
//! ```
//!
//! The simulated policy is the one that runs: on one thread and with one shard, hits are exactly those of `hotset
//! simulate` for the same policy and capacity. Policies that evict at hits, such as `ulc` and `virtual`, also need
//! [`log_events(1)`](Builder::log_events).
//!
//! # Concurrency
//!
//! All methods take `&self`, and clones are handles of one cache. The cache has shards by the hash of the key, each
//! with a lock, a policy and a part of the capacity. A hit holds the lock shared. What it does then depends on the
//! policy:
//!
//! | policies | a hit |
//! |---|---|
//! | `fifo`, `random` | counts itself |
//! | `clock`, `sieve`, `clock-pro`, `car`, `s3-fifo(most=1, promote=1)` | sets a bit |
//! | `lru`, `s3-fifo`, `lirs`, `arc`, `w-tinylfu` and others | appends to a log of 64 events |
//!
//! The log is replayed before the policy decides anything else, so decisions are exact while it does not overflow.
//! [`Stats::dropped_events`] counts the events that found it full.
//!
//! # Policies of your own
//!
//! A policy outside of hotset implements [`core::policy::Policy`]:
//!
//! ```
//! use hotset::Cache;
//! use hotset::core::policy::{Discard, Effects, Info, Outcome, Policy, Reference, Setup, Slot};
//! use hotset::core::spec::SpecError;
//!
//! /// Keeps the first values, and evicts the last one for a new one.
//! struct First {
//!     capacity: usize,
//!     slots: Vec<Slot>,
//! }
//!
//! impl Policy for First {
//!     const INFO: Info = Info { name: "first", summary: "evict the last value", ..Info::EMPTY };
//!
//!     fn new(setup: &Setup) -> Result<First, SpecError> {
//!         Ok(First { capacity: setup.capacity as usize, slots: Vec::new() })
//!     }
//!
//!     fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
//!         if self.contains(slot) {
//!             return Outcome::Hit;
//!         }
//!         if self.slots.len() == self.capacity {
//!             fx.discard(self.slots.pop().expect("a capacity of at least 1"));
//!         }
//!         self.slots.push(slot);
//!         Outcome::Admitted
//!     }
//!
//!     fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
//!         if self.contains(slot) {
//!             self.slots.retain(|&other| other != slot);
//!             fx.forget(slot);
//!         }
//!     }
//!
//!     fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
//!         self.capacity = capacity as usize;
//!         while self.slots.len() > self.capacity {
//!             fx.discard(self.slots.pop().expect("more slots than the capacity"));
//!         }
//!     }
//!
//!     fn contains(&self, slot: Slot) -> bool {
//!         self.slots.contains(&slot)
//!     }
//!
//!     fn len(&self) -> u32 {
//!         self.slots.len() as u32
//!     }
//!
//!     fn prefetch(&self, _: Slot) {}
//!     fn grow(&mut self, _: u32) {}
//!     fn validate(&self) {}
//! }
//!
//! impl hotset::core::policy::Capabilities for First {}
//!
//! let cache = Cache::<u32, u32, First>::typed().capacity(2).build()?;
//! (0..5).for_each(|key| _ = cache.insert(key, key));
//! assert_eq!((cache.get(&0), cache.get(&3), cache.get(&4)), (Some(0), None, Some(4)));
//! # Ok::<(), hotset::SetupError>(())
//! ```

/// The examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
pub struct Guide;

mod cache;
mod engine;
mod entries;
mod error;
mod flight;
mod gone;
mod hits;
mod recipe;
mod shard;
mod state;
mod stats;
mod sync;

/// The interface of policies, for policies outside of hotset.
pub use hotset_core as core;

pub use cache::builder::Builder;
#[cfg(feature = "record")]
pub use cache::record::Recording;
pub use cache::sampler::Estimate;
pub use cache::{Cache, Facts};
pub use engine::{ByName, Engine};
pub use error::{LoadError, SetupError};
pub use gone::Reason;
pub use stats::{Stats, TenantStats};
