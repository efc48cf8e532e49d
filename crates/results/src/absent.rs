//! Parquet in a build without the feature `parquet`: it is refused.

use std::io::{self, Write};

use serde_json::Value;

use crate::schema::Column;

const ABSENT: &str = "this build has no Parquet: build hotset with the feature `parquet`";

/// Refuses to write.
pub(super) fn write(_: impl Write + Send, _: &[Column], _: &[Value]) -> io::Result<()> {
    Err(io::Error::other(ABSENT))
}

/// Refuses to read.
pub(super) fn read(_: Vec<u8>) -> io::Result<Vec<Value>> {
    Err(io::Error::other(ABSENT))
}
