//! The end of a mount with `--write-back`: delayed writes are written, and those that cannot be are reported.

use std::sync::Arc;
use std::time::Duration;

use hotset_cache::{FileCache, Unsaved};
use hotset_mount::write_all;

use crate::failure::Failure;
use crate::output::human;

/// Files that are reported by name.
const NAMED: usize = 20;

/// Writes all that waits, for `patience` at most. An error tells what is lost.
pub(super) fn save(cache: &Arc<FileCache>, patience: Duration) -> Result<(), Failure> {
    let written = write_all(cache, patience);
    let unsaved = cache.unsaved();
    if unsaved.is_empty() {
        return Ok(());
    }
    let why = written.err().map_or_else(String::new, |error| format!(": {error}"));
    let names: Vec<String> = unsaved.iter().take(NAMED).map(name).collect();
    let more = unsaved.len().saturating_sub(NAMED);
    let others = if more > 0 { format!(", and {more} others") } else { String::new() };
    Err(Failure::Work(format!("delayed writes could not be saved and are lost{why}; {}{others}", names.join(", "))))
}

fn name(Unsaved { path, bytes }: &Unsaved) -> String {
    format!("{} of {path}", human::bytes(*bytes))
}
