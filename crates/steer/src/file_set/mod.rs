//! The files that are steered.

pub(crate) mod files;
pub(crate) mod ground;
