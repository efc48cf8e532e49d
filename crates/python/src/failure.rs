//! Errors as Python has them, with the sentences of the command.

use std::io::ErrorKind;

use hotset_cache::CacheError;
use hotset_core::spec::SpecError;
use hotset_sim::SimError;
use hotset_trace::TraceError;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;

create_exception!(hotset, Error, PyValueError, "What hotset cannot do, in the command's own sentence.");

/// Something that was asked for and cannot be.
pub fn refused(sentence: impl Into<String>) -> PyErr {
    Error::new_err(sentence.into())
}

/// A word that an option does not take.
pub fn of_option<T>(option: &str, parsed: Result<T, String>) -> PyResult<T> {
    parsed.map_err(|error| refused(format!("{option}: {error}")))
}

/// A spec of an option that makes no sense, with the place in its text.
pub fn of_spec<T>(option: &str, text: &str, parsed: Result<T, SpecError>) -> PyResult<T> {
    parsed.map_err(|error| refused(format!("{option}: {}", error.render(text))))
}

/// An error of a trace.
pub fn of_trace(error: &TraceError) -> PyErr {
    let sentence = error.to_string();
    match error.source.as_ref().map(|source| source.kind()) {
        Some(ErrorKind::NotFound) => PyFileNotFoundError::new_err(sentence),
        Some(ErrorKind::PermissionDenied) => PyPermissionError::new_err(sentence),
        _ => refused(sentence),
    }
}

/// An error of a simulation at these sizes.
pub fn of_sim(error: &SimError, sizes: &str) -> PyErr {
    match error {
        SimError::Sizes(error) => refused(format!("--size: {}", error.render(sizes))),
        SimError::Trace(error) => of_trace(error),
        error => refused(error.to_string()),
    }
}

/// An error of a cache of values.
pub fn of_cache(error: &CacheError) -> PyErr {
    refused(error.to_string())
}
