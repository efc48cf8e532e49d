//! Errors of traces, with their places.

use std::{fmt, io, path::PathBuf};

/// Where in the (decompressed) trace something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line of text, from 1.
    Line(u64),
    /// A byte offset of the decompressed data, from 0.
    Byte(u64),
}

/// An error in reading or writing a trace: the file, the place, what was found and what was expected, as one sentence.
#[derive(Debug)]
pub struct TraceError {
    /// The file; `-` for standard input.
    pub path: PathBuf,
    /// Where in it.
    pub place: Place,
    /// The problem and what was expected, with the error of the operating system.
    pub message: String,
    /// The error of the operating system behind it, if any.
    pub source: Option<io::Error>,
}

/// The action that fails if a trace cannot be opened.
pub(crate) const OPENING: &str = "cannot open the trace";

impl TraceError {
    /// An error at a place.
    pub fn new(path: impl Into<PathBuf>, place: Place, message: impl Into<String>) -> TraceError {
        TraceError { path: path.into(), place, message: message.into(), source: None }
    }

    /// An error of the operating system.
    pub fn io(path: impl Into<PathBuf>, doing: &str, source: io::Error) -> TraceError {
        let message = match source.kind() {
            io::ErrorKind::NotFound if doing == OPENING => "no such file; expected the path of a trace".to_owned(),
            io::ErrorKind::IsADirectory => "it is a directory; expected the path of a trace".to_owned(),
            _ => format!("{doing}: {source}"),
        };
        TraceError { path: path.into(), place: Place::File, message, source: Some(source) }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match self.place {
            Place::File => {}
            Place::Line(line) => write!(f, ", line {line}")?,
            Place::Byte(byte) => write!(f, ", byte {byte}")?,
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
