//! Counts of the process, written at its end.

use std::fs::OpenOptions;
use std::io::{Write, stderr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names the file for the counts; `-` is standard error.
pub(crate) const VARIABLE: &str = "HOTSET_SQLITE_COUNTS";

/// Fetches of pages that were in a cache.
pub(crate) static HITS: AtomicU64 = AtomicU64::new(0);
/// Pages that were made: SQLite then reads them, or begins them.
pub(crate) static MISSES: AtomicU64 = AtomicU64::new(0);
/// Pages that a policy has evicted.
pub(crate) static EVICTIONS: AtomicU64 = AtomicU64::new(0);

static TARGET: OnceLock<(String, String)> = OnceLock::new();

pub(crate) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}

/// Writes the counts of this policy at the end of the process, if the variable names a file.
pub(crate) fn write_at_exit(policy: &str) {
    extern "C" fn ended() {
        // A process has no use for a panic at its end.
        let _ = std::panic::catch_unwind(write);
    }
    let Ok(file) = std::env::var(VARIABLE) else { return };
    if TARGET.set((file, policy.to_owned())).is_ok() {
        // SAFETY: the function takes and returns nothing.
        unsafe { libc::atexit(ended) };
    }
}

/// Adds a line to the file if SQLite has used a cache.
fn write() {
    let Some((file, policy)) = TARGET.get() else { return };
    let [hits, misses, evictions] = [&HITS, &MISSES, &EVICTIONS].map(|counter| counter.load(Ordering::Relaxed));
    // Programs without SQLite load the library too, such as the shell that starts one.
    if hits + misses == 0 {
        return;
    }
    let line = format!("{{\"policy\":\"{policy}\",\"hits\":{hits},\"misses\":{misses},\"evictions\":{evictions}}}\n");
    let written = match file.as_str() {
        "-" => stderr().write_all(line.as_bytes()),
        file => {
            let opened = OpenOptions::new().create(true).append(true).open(file);
            opened.and_then(|mut file| file.write_all(line.as_bytes()))
        }
    };
    if let Err(error) = written {
        let _ = writeln!(stderr(), "hotset: {VARIABLE}: {file}: {error}; name a file that can be written");
    }
}
