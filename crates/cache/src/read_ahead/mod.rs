//! How far ahead of a reader to read: its strides and runs, the pace of the source.

pub(crate) mod pace;
pub(crate) mod stream;
pub(crate) mod stride;
