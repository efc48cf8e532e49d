//! What opens a trace as often as it is read: a file, bytes, an array, or a part of another trace.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotset_capture::all_formats;
use hotset_sim::select::{Filter, Selection};
use hotset_sim::{Options, SimError, Ttl};
use hotset_trace::error::Place;
use hotset_trace::formats::{by_name, open_input, split_prefix};
use hotset_trace::input::{Input, Progress as Position};
use hotset_trace::{OpenOptions, Trace, TraceError};

use crate::columns::{Columns, ColumnsReader, FORMAT};
use crate::part::TracePart;

/// What opens a trace.
#[derive(Clone)]
pub struct Opener {
    pub name: String,
    pub source: Source,
    pub options: OpenOptions,
}

/// Where a trace comes from.
#[derive(Clone)]
pub enum Source {
    File(PathBuf),
    Memory(Arc<[u8]>),
    Columns(Arc<Columns>),
    /// Of what is chosen of another trace the requests from this number up to that one.
    Part(Arc<(Choice, u64, u64)>),
}

/// The selected part of a trace.
#[derive(Clone)]
pub struct Choice {
    pub opener: Opener,
    pub only: Filter,
}

impl Opener {
    /// What rows and errors call the trace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens it at its first request.
    pub fn open(&self) -> Result<Trace, TraceError> {
        let formats = all_formats();
        match &self.source {
            Source::File(path) => hotset_trace::open(path, &formats, &self.options),
            Source::Memory(bytes) => {
                let (path, total) = (Path::new(&self.name), bytes.len() as u64);
                let input = Input::from_reader(path, Cursor::new(Arc::clone(bytes)), Some(total))?;
                let named = self.options.format.as_deref().or(self.options.columns.as_ref().map(|_| "csv"));
                let named = named.and_then(|name| by_name(name, &formats).ok());
                open_input(input, named, &formats, &self.options)
            }
            Source::Columns(columns) => {
                let reader = Box::new(ColumnsReader::new(Arc::clone(columns)));
                Ok(Trace { format: FORMAT, reader, progress: Position::default() })
            }
            Source::Part(part) => {
                let (chosen, from, to) = &**part;
                let whole = chosen.open_below()?;
                Ok(Trace { reader: Box::new(TracePart::new(whole.reader, *from, *to)), ..whole })
            }
        }
    }

    /// The files that it is read from.
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.source {
            Source::File(path) => vec![split_prefix(path, &all_formats()).1],
            Source::Memory(_) | Source::Columns(_) => Vec::new(),
            Source::Part(part) => part.0.opener.files(),
        }
    }

    /// What makes it another trace than its files are, in words: traces of the same files differ where these do.
    pub fn made_of(&self) -> String {
        match &self.source {
            Source::File(_) | Source::Memory(_) | Source::Columns(_) => {
                let OpenOptions { format, columns, skip_bad, .. } = &self.options;
                format!("{format:?} {columns:?} {skip_bad}")
            }
            Source::Part(part) => format!("{}[{}:{}]", part.0.made_of(), part.1, part.2),
        }
    }
}

impl Choice {
    /// Opens what is chosen.
    pub fn open(&self) -> Result<Trace, SimError> {
        let selection = Selection { only: self.only.clone(), ..Selection::default() };
        let keep_sizes = !selection.is_everything();
        let options = Options { ttl: Ttl::Ignore, keep_sizes, ..Options::default() };
        selection.open(self.opener.name(), || self.opener.open(), &options)
    }

    /// The same, for a reader that reads from it.
    pub fn open_below(&self) -> Result<Trace, TraceError> {
        self.open().map_err(|error| match error {
            SimError::Trace(error) => error,
            error => TraceError::new(Path::new(self.opener.name()), Place::File, error.to_string()),
        })
    }

    /// As [`Opener::made_of`], with the choice.
    pub fn made_of(&self) -> String {
        let chosen = if self.only.is_everything() { String::new() } else { format!("only {} ", self.only) };
        format!("{chosen}{}", self.opener.made_of())
    }
}
