//! Errors as Python has them: the sentences of the libraries, with settings as keyword arguments.

use std::io::ErrorKind;

use hotset_core::spec::SpecError;
use hotset_sim::SimError;
use hotset_trace::TraceError;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;

create_exception!(hotset, Error, PyValueError, "What hotset cannot do, in a sentence.");

/// Arguments whose names are not those of the libraries' settings.
const ARGUMENTS: [(&str, &str); 3] = [("policy", "policies"), ("size", "sizes"), ("series", "every")];

/// A setting as a keyword argument: `memory=`, `maps="all"`, `sample=0.01`.
pub fn spelling(name: &str, value: Option<&str>) -> String {
    let name = ARGUMENTS.iter().find(|(setting, _)| *setting == name).map_or(name, |(_, argument)| argument);
    match value {
        Some(value) if value.parse::<f64>().is_err() => format!("{name}={value:?}"),
        Some(value) => format!("{name}={value}"),
        None => format!("{name}="),
    }
}

/// Something that was asked for and cannot be.
pub fn refused(sentence: impl Into<String>) -> PyErr {
    Error::new_err(sentence.into())
}

/// A word that an argument does not take.
pub fn of_option<T>(argument: &str, parsed: Result<T, String>) -> PyResult<T> {
    parsed.map_err(|error| refused(format!("{argument}=: {error}")))
}

/// A spec of an argument that makes no sense, with the place in its text.
pub fn of_spec<T>(argument: &str, text: &str, parsed: Result<T, SpecError>) -> PyResult<T> {
    parsed.map_err(|error| refused(format!("{argument}=: {}", error.render(text))))
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
        SimError::Sizes(error) => refused(format!("sizes=: {}", error.render(sizes))),
        SimError::Trace(error) => of_trace(error),
        error => refused(error.to_string()),
    }
}

/// An error of a cache of values.
pub fn of_cache(error: &hotset::SetupError) -> PyErr {
    refused(error.to_string())
}
