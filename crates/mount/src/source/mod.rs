//! The file system below: where it is mounted, what of it lasts, reading past the page cache.

pub(crate) mod direct;
pub(crate) mod lasting;
pub(crate) mod table;
