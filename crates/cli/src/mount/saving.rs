//! The end of a mount with `--write-back`: what waits is written, and what cannot be is told.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use hotset_cache::workers::{Limits, Part, Workers};
use hotset_cache::{FileCache, Unsaved};

use crate::failure::Failure;
use crate::output::human;

/// Files that are written at a time: one that hangs holds up no others.
const LIMITS: Limits = Limits { part: 1, device: 64, all: 64 };

/// Files that are told by name.
const NAMED: usize = 20;

/// Writes all that waits, for `patience` at most. An error tells what is lost.
pub(super) fn save(cache: &Arc<FileCache>, patience: Duration) -> Result<(), Failure> {
    let (tell, told) = channel();
    let (workers, started) = (Workers::new(LIMITS), Instant::now());
    if !cache.is_broken() {
        cache.write_through();
        for file in cache.overdue(Duration::ZERO) {
            let (cache, tell) = (cache.clone(), tell.clone());
            // Nobody listens any more to one that has hung.
            let write = move || drop(tell.send(cache.contain(|| cache.write_out(file))));
            workers.run(Part { device: 0, what: file.into() }, write);
        }
    }
    drop(tell);
    let mut error = None;
    while let Ok(written) = told.recv_timeout(patience.saturating_sub(started.elapsed())) {
        error = written.and_then(Result::err).or(error);
    }
    let unsaved = cache.unsaved();
    if unsaved.is_empty() {
        return Ok(());
    }
    let why = error.map_or_else(String::new, |error| format!(": {error}"));
    let names: Vec<String> = unsaved.iter().take(NAMED).map(name).collect();
    let more = unsaved.len().saturating_sub(NAMED);
    let others = if more > 0 { format!(", and {more} others") } else { String::new() };
    Err(Failure::Work(format!("what was written could not be saved and is lost{why}; {}{others}", names.join(", "))))
}

fn name(Unsaved { path, bytes }: &Unsaved) -> String {
    format!("{} of {path}", human::bytes(*bytes))
}
