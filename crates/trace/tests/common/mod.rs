//! What the tests on real traces share.

use std::path::{Path, PathBuf};

use hotset_core::request::Request;
use hotset_trace::{Batch, OpenOptions, Trace, formats::BUILTIN, open};

/// The trace at `relative` in the folder of traces; `None`, loudly, where there is none.
pub(crate) fn trace_path(relative: &str) -> Option<PathBuf> {
    let root = std::env::var_os("HOTSET_TRACES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    let path = root.join(relative);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: set HOTSET_TRACES", path.display());
    eprintln!("SKIPPED: {} is missing: set HOTSET_TRACES", path.display());
    None
}

/// Opens a trace whose format is recognised.
pub(crate) fn open_trace(path: &Path) -> Trace {
    open(path, BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// All requests of a trace.
pub(crate) fn read_all(trace: &mut Trace) -> Vec<Request> {
    let mut all = Vec::new();
    let mut batch = Batch::new();
    loop {
        trace.reader.read(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch.requests);
    }
}
