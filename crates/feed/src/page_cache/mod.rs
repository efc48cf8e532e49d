//! Feeds of the page cache: by BPF, and by trace events as text.

#[cfg(feature = "bpf")]
mod hooks;
#[cfg(feature = "bpf")]
mod kernel;
mod layout;
mod lines;
mod offer;
mod past;
#[cfg(feature = "bpf")]
mod room;
#[cfg(feature = "bpf")]
mod stamps;
mod tracefs;

pub use offer::{Offer, Offers, available, open};
