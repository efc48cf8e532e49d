//! Objects of a store, for threads that wait: what one is like, what lies in a directory, bytes of one.
//!
//! Idea: a store is asked over HTTP by `object_store`, whose calls are futures. They all run on one thread of ours, and
//! whoever asks waits for its own answer ([`Store`]); so nobody else needs to know of futures. Each call has a time, so
//! many are under way at once and no more ([`Limits`]), and what a busy or a broken store answers (5xx, 429, a
//! connection that ends) is asked again, later and later, within that time.
//!
//! How many bytes move a second may be limited, too ([`Moved`]).
//!
//! A read that takes much longer than others of late is asked for a second time ([`Hedged`]).
//!
//! An object's bytes are asked for with the version that was seen before. If it is another one by then, that is the
//! answer ([`StoreError::Changed`]), so bytes of two versions are never taken for one object's.
//!
//! A directory of a web server that speaks WebDAV is one more store, which is read alone (`web.rs`).
//!
//! What is read from its beginning to its end is a [`Stream`], which has several parts under way.
//!
//! Secrets are read from the environment and from files where others read them, too (`profile.rs`), and are given to
//! `object_store` alone. What this crate says when something fails it says in words of its own: an answer of a store
//! may repeat what was sent (`error.rs`).
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

mod bandwidth;
mod bounded;
mod calls;
mod connect;
mod error;
pub mod fuzzing;
mod hedge;
mod listed;
mod location;
mod multistatus;
mod object;
mod place;
mod profile;
mod redirects;
mod store;
mod stream;
mod upload;
mod web;

pub use bandwidth::Moved;
pub use error::StoreError;
pub use hedge::Hedged;
pub use location::Location;
pub use object::{Object, Page};
pub use store::{Limits, Store};
pub use stream::{Stored, Stream};
pub use upload::{MOST_PARTS, PART, Upload};
