//! Helpers that the tests of formats share.

use std::{io::Cursor, path::Path};

use hotset_core::request::Request;

use super::{BUILTIN, Format, OpenOptions, Trace, open_input};
use crate::{Batch, Tables, TraceError, input::Input};

/// A trace read to its end.
pub(super) struct Whole {
    pub(super) requests: Vec<Request>,
    pub(super) file_sizes: Vec<u64>,
    /// Times to live, in nanoseconds; may be shorter than the requests.
    pub(super) ttls: Vec<u64>,
    pub(super) tables: Tables,
    pub(super) skipped: u64,
    pub(super) remarks: Vec<String>,
}

/// Opens `bytes` as the file `t` in a format, or in the one that is recognised.
pub(super) fn opened(format: Option<&Format>, bytes: &[u8], options: &OpenOptions) -> Result<Trace, TraceError> {
    let input = Input::from_reader(Path::new("t"), Cursor::new(bytes.to_vec()), None)?;
    open_input(input, format, BUILTIN, options)
}

/// Reads `bytes` with options.
pub(super) fn read_with(format: &Format, bytes: &[u8], options: &OpenOptions) -> Result<Whole, TraceError> {
    let mut trace = opened(Some(format), bytes, options)?;
    let mut batch = Batch::new();
    let (mut requests, mut file_sizes, mut ttls) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        trace.reader.read(&mut batch)?;
        if batch.is_empty() {
            let reader = trace.reader;
            let (tables, skipped, remarks) = (reader.tables().clone(), reader.skipped(), reader.remarks());
            return Ok(Whole { requests, file_sizes, ttls, tables, skipped, remarks });
        }
        if !batch.ttls.is_empty() {
            ttls.resize(requests.len(), 0);
            ttls.extend_from_slice(&batch.ttls);
        }
        requests.extend_from_slice(&batch.requests);
        file_sizes.extend_from_slice(&batch.file_sizes);
    }
}

/// Reads sound `bytes`.
pub(super) fn read(format: &Format, bytes: &[u8]) -> Whole {
    read_with(format, bytes, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Offsets of sound `bytes`.
pub(super) fn offsets(format: &Format, bytes: &[u8]) -> Vec<u64> {
    read(format, bytes).requests.iter().map(|request| request.offset).collect()
}

/// The sentence that `bytes` are refused with.
pub(super) fn refused(format: &Format, bytes: &[u8]) -> String {
    match read_with(format, bytes, &OpenOptions::default()) {
        Ok(whole) => panic!("{:?} was read from {}", whole.requests, bytes.escape_ascii()),
        Err(error) => error.to_string(),
    }
}

/// Reads `bytes` and skips what is malformed.
pub(super) fn skipping(format: &Format, bytes: &[u8]) -> Whole {
    let options = OpenOptions { skip_bad: true, ..OpenOptions::default() };
    read_with(format, bytes, &options).unwrap_or_else(|error| panic!("{error}"))
}
