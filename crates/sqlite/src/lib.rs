//! A page cache for SQLite under any of hotset's policies, as a library that an unmodified program loads:
//! `LD_PRELOAD=libhotset_sqlite.so HOTSET_SQLITE_POLICY=lirs sqlite3 file.db`.
//!
//! The crate has no interface for Rust. SQLite calls it through the table of functions of `SQLITE_CONFIG_PCACHE2`,
//! which must be set before SQLite is initialized: `start.rs` does that. The cache of a database is a policy over its
//! pages (`cache.rs`), whose memory and pins are in `frames.rs`.
//!
//! - A page that SQLite uses is pinned. If the policy evicts it meanwhile, it leaves when SQLite unpins it.
//! - A panic costs the cache its policy: pages then leave as soon as they are unpinned. SQLite goes on.
//! - In-memory databases cannot read a page again. Their caches have no policy and evict nothing.

mod cache;
mod counts;
mod frames;
mod methods;
mod start;
