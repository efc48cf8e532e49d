//! The spec grammar: `name`, or `name(arg, key=value, nested(…))`, as a user writes it and as results print it.

mod args;
mod value;

pub use args::{Args, Param, ParamKind};
pub use value::Value;

/// Why a spec was refused. `at` is a byte range of the text that the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// What is wrong, what was expected, what to do: one sentence.
    pub message: String,
    /// The place in the text, if the error has one.
    pub at: Option<std::ops::Range<usize>>,
}

impl SpecError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> SpecError {
        SpecError { message: message.into(), at: None }
    }
}
