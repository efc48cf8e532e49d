//! Objects of a store, for threads that wait: the metadata of one, the content of a directory, bytes of an object.
//!
//! Idea: a store is reached over HTTP by `object_store`, whose calls are futures. They all run on one internal thread,
//! and a caller waits for its own answer ([`Store`]); so other crates need not know futures. Each call has a timeout,
//! the number of concurrent calls is limited ([`Limits`]), and a busy or failing store (5xx, 429, a broken connection)
//! is asked again at growing intervals within that timeout.
//!
//! The bytes per second may be limited, too ([`Moved`]).
//!
//! A read that takes much longer than recent ones is requested a second time ([`Hedged`]).
//!
//! An object's bytes are requested with the version that was seen before. If the version has changed, the answer is
//! [`StoreError::Changed`], so bytes of two versions are never mixed.
//!
//! A directory of a web server that speaks WebDAV is a read-only store (`webdav/`).
//!
//! An object that is read from its beginning to its end is an [`ObjectStream`], which has several parts in flight.
//!
//! Secrets are read from the environment and from the same files as other tools use (`client/profile.rs`), and are
//! passed to `object_store` only. Error messages of this crate do not quote the store: an answer may repeat the request
//! (`error.rs`).
//!
//! ```no_run
//! use hotset_store::{Limits, Location, Store};
//!
//! let store = Store::open(&Location::parse("s3://bucket/data")?, Limits::default())?;
//! let page = store.list("", None)?;
//! for object in page.objects {
//!     println!("{} {}", object.name(), store.read(&object, 0..object.size().min(100))?.len());
//! }
//! # Ok::<(), hotset_store::StoreError>(())
//! ```

mod client;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod http;
mod location;
mod object;
mod upload;
mod webdav;

pub use client::bandwidth::Moved;
pub use client::hedge::Hedged;
pub use client::in_flight::PART;
pub use client::store::Store;
pub use client::stream::{ObjectStream, Stored};
pub use error::StoreError;
pub use http::limits::Limits;
pub use location::Location;
pub use object::{Object, Page};
pub use upload::{MOST_PARTS, Upload};
