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
//! (`http/failed.rs`).
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

#[cfg(not(feature = "stores"))]
mod absent;
#[cfg(feature = "stores")]
mod client;
mod error;
#[cfg(all(any(test, fuzzing), feature = "webdav"))]
pub mod fuzzing;
#[cfg(feature = "stores")]
mod http;
mod limits;
#[cfg(feature = "stores")]
mod location;
mod meant;
#[cfg(feature = "stores")]
mod object;
#[cfg(feature = "stores")]
mod upload;
#[cfg(feature = "webdav")]
mod webdav;

#[cfg(not(feature = "stores"))]
pub use absent::{Location, MOST_PARTS, Object, ObjectStream, PART, Page, Store, Stored, Upload};
pub use error::StoreError;
pub use limits::{Hedged, Limits, Moved};

#[cfg(feature = "stores")]
pub use {
    client::in_flight::PART,
    client::store::Store,
    client::stream::{ObjectStream, Stored},
    location::Location,
    object::{Object, Page},
    upload::{MOST_PARTS, Upload},
};
