//! Results for people (tables, words) and for programs (JSON Lines, CSV).

pub(crate) mod files;
pub(crate) mod human;
pub(crate) mod table;
pub(crate) mod words;
