//! Results for people (tables, plots, words) and for programs (JSON Lines, CSV).

pub(crate) mod explained;
pub(crate) mod human;
pub(crate) mod plot;
pub(crate) mod shell;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod words;
