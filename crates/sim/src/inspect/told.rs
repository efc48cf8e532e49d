//! The results of the inspection of a trace.

use hotset_results::{Choice, SCHEMA_VERSION};
use serde::Serialize;

use super::Inspection;
use crate::expand::options::Options;
use crate::select::Selection;

/// The JSON object of an inspection.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Told<'a> {
    version: u32,
    trace: &'a str,
    #[serde(flatten)]
    choice: &'a Choice,
    #[serde(flatten)]
    inspection: &'a Inspection,
}

impl<'a> Told<'a> {
    /// Of the trace of this name, and of what was chosen of it.
    pub fn new(trace: &'a str, choice: &'a Choice, inspection: &'a Inspection) -> Told<'a> {
        Told { version: SCHEMA_VERSION, trace, choice, inspection }
    }
}

/// Selection of a trace with or without operations. Effects of deletion and expiry concern caches alone.
pub fn choice(selection: &Selection, options: &Options, has_ops: bool) -> Choice {
    Choice { deletes: None, ttl: None, ..selection.choice(options, has_ops) }
}
