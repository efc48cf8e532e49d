//! What tests of the mount share, with those of the cache.
#![allow(dead_code, unused_imports, reason = "every test file uses a part of it")]

pub mod attributes;
#[path = "../../../cache/tests/support/mod.rs"]
mod cache;
pub mod mounted;
pub mod stored;

pub use cache::{Opened, memory, pattern, settings};
