//! The names behind the numbers in requests.

use hotset_core::request::Kind;

/// A file of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Path or other name; bytes that are not UTF-8 are written `\xNN`. Empty if unknown.
    pub path: String,
    /// The kind.
    pub kind: Kind,
    /// Last known size in bytes.
    pub size: Option<u64>,
    /// The trace's own word for its kind (`texture`, `lib`); empty if none.
    pub label: String,
}

/// Files and applications by their numbers. Grows while a trace is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// By `Request::file`.
    pub files: Vec<FileInfo>,
    /// By `Request::app`: a name such as `postgres` or `pid 4711`.
    pub apps: Vec<String>,
}
