//! Bounds of answers: their length, the redirects that are followed, the names in listings.

pub(crate) mod bounded;
pub(crate) mod failed;
pub(crate) mod limits;
pub(crate) mod listed;
pub(crate) mod redirects;

/// Bytes of the longest listing of a directory by WebDAV that is read.
pub(crate) const LONGEST_LISTING: u64 = 256 << 20;
