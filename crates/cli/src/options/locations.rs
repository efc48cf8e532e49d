//! Traces that lie in stores and on web servers, in place of a path: `s3://bucket/trace.csv.zst`.
//!
//! An object is asked for once, and is the same version for as long as the command runs, however often it is read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hotset_store::{Limits, Location, StoreError, Stored};
use hotset_trace::TraceError;
use hotset_trace::error::Place;
use hotset_trace::input::Input;

/// The objects that were opened, by what names them.
#[derive(Clone, Default)]
pub(crate) struct Locations(Arc<Mutex<HashMap<PathBuf, Stored>>>);

/// True if a path, without the name of a format before it, is meant to be a location.
pub(crate) fn is_location(path: &Path) -> bool {
    path.to_str().is_some_and(Location::is_meant)
}

impl Locations {
    /// The bytes of a trace: of an object, or of a file.
    pub(crate) fn input(&self, path: &Path) -> Result<Input, TraceError> {
        let Some(text) = path.to_str().filter(|text| Location::is_meant(text)) else { return Input::open(path) };
        if let Some(path) = Location::directory(text) {
            return Input::open(&path);
        }
        let refused = |error: StoreError| {
            // A text that cannot be a location may contain a secret.
            let scheme = text.split_once("://").map_or(text, |(scheme, _)| scheme);
            let shown =
                if matches!(error, StoreError::Location(_)) { format!("{scheme}://…") } else { text.to_owned() };
            TraceError::new(shown, Place::File, format!("cannot open the trace: {error}"))
        };
        let stored = self.stored(path, text).map_err(refused)?;
        Input::from_stranger(path, stored.stream(), Some(stored.size()))
    }

    fn stored(&self, path: &Path, text: &str) -> Result<Stored, StoreError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = known.get(path) {
            return Ok(stored.clone());
        }
        let stored = Stored::open(&Location::parse(text)?, Limits::default())?;
        known.insert(path.to_owned(), stored.clone());
        Ok(stored)
    }
}
