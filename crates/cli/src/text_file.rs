//! Files that a user writes by hand: classes, experiments.

use std::fs::File;
use std::io::{Error, Read};
use std::path::Path;

use hotset_core::words::reason;

use crate::failure::Failure;

/// The longest such file, in bytes.
const LONGEST: u64 = 1 << 20;

/// The whole text.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let cannot = |error: Error| Failure::Work(format!("{name}: cannot read it: {}", reason(&error)));
    let mut text = String::new();
    File::open(path).map_err(cannot)?.take(LONGEST + 1).read_to_string(&mut text).map_err(cannot)?;
    match text.len() as u64 > LONGEST {
        true => Err(Failure::Work(format!("{name}: it is longer than 1 MiB: expected a text written by hand"))),
        false => Ok(text),
    }
}
