//! Options that several commands have, and the files that they name.

pub(crate) mod control;
pub(crate) mod destination;
pub(crate) mod locations;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod select;
pub(crate) mod traces;
pub(crate) mod values;
