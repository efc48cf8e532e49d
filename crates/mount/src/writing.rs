//! Has what has waited for too long be written, by threads of its own: files that hang hold up no others.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use hotset_cache::workers::{Limits, Part, Workers};

use crate::tree::Tree;

/// Files that are written at a time.
const LIMITS: Limits = Limits { part: 1, device: 64, all: 64 };

/// Writes what has waited for `age` as long as there is a tree.
pub(crate) fn write_overdue(tree: &Weak<Tree>, age: Duration) {
    let workers = Workers::new(LIMITS);
    loop {
        thread::sleep((age / 8).clamp(Duration::from_millis(5), Duration::from_secs(1)));
        let Some(tree) = tree.upgrade() else { return };
        tree.contain(|_| start(&tree, &workers, age));
    }
}

fn start(tree: &Arc<Tree>, workers: &Workers, age: Duration) {
    for file in tree.overdue(age) {
        // One that is being written already need not be written twice.
        let Some(room) = workers.reserve(Part { device: 0, what: file.into() }) else { continue };
        let tree = Arc::downgrade(tree);
        workers.run_in(room, move || {
            if let Some(tree) = tree.upgrade() {
                // What fails waits on, and whoever syncs or closes the file is told.
                tree.contain(|tree| drop(tree.cache().map(|cache| cache.write_out(file))));
            }
        });
    }
}
