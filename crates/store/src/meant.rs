//! Which texts are meant as locations.

use std::path::PathBuf;

use crate::Location;

impl Location {
    /// True if this text is meant to be a location of this kind or of another one, and not a path.
    pub fn is_meant(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        })
    }

    /// The directory of `file:///path`.
    pub fn directory(text: &str) -> Option<PathBuf> {
        text.strip_prefix("file://").filter(|path| path.starts_with('/')).map(PathBuf::from)
    }
}
