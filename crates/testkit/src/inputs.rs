//! What tests need from outside the source tree: real traces, privileges, programs.

use std::env;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

/// The file or folder `relative` among the real traces, which lie in the folder `HOTSET_TRACES`, by default in
/// `../shared/traces` beside the checkout. `None`, after [`skip`], if it is not there.
pub fn trace_path(relative: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let path = env::var_os("HOTSET_TRACES").map_or_else(beside, PathBuf::from).join(relative);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("{} is missing: set HOTSET_TRACES to the folder of traces", path.display()));
    None
}

/// Says on standard error, past the test harness that would swallow it, that a test is left out. Panics if `CI` is set:
/// there every test must run.
pub fn skip(reason: &str) {
    assert!(env::var_os("CI").is_none(), "left out, though CI is set: {reason}");
    // A closed standard error does not fail a test.
    let _ = writeln!(stderr(), "SKIPPED: {reason}");
}
