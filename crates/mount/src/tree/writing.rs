//! Writes dirty data back after its longest wait, and at the end, in separate threads: files that hang do not delay
//! others.

use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::FileCache;
use hotset_cache::workers::{FailureDomain, Limits, Workers};

use crate::served::Served;
use crate::tree::Tree;

/// Files that are written at a time.
const LIMITS: Limits = Limits { part: 1, device: 64, all: 64 };

/// Writes what has waited for `age` as long as there is a tree.
pub(crate) fn write_overdue(tree: &Weak<Tree>, age: Duration) {
    let workers = Workers::new(LIMITS);
    loop {
        thread::sleep((age / 8).clamp(Duration::from_millis(5), Duration::from_secs(1)));
        let Some(tree) = tree.upgrade() else { return };
        contain(&tree, || start(&tree, &workers, age));
    }
}

/// A panic ends this and the use of the cache.
fn contain(tree: &Arc<Tree>, work: impl FnOnce()) {
    let served: &dyn Served = tree.as_ref();
    served.contain(|_| work());
}

fn start(tree: &Arc<Tree>, workers: &Workers, age: Duration) {
    for file in tree.overdue(age) {
        // One that is being written already need not be written twice.
        let Some(room) = workers.reserve(FailureDomain { device: 0, what: file.into() }) else { continue };
        let tree = Arc::downgrade(tree);
        workers.run_in(room, move || {
            if let Some(tree) = tree.upgrade() {
                // Data that fails stays dirty, and the next sync or close of the file reports the error.
                contain(&tree, || drop(tree.cache().map(|cache| cache.write_out(file))));
            }
        });
    }
}

/// Writes all dirty data, for `patience` at most, once no handle writes. The remaining data is
/// [unsaved](FileCache::unsaved); the returned error is the last one.
pub fn write_all(cache: &Arc<FileCache>, patience: Duration) -> io::Result<()> {
    if cache.is_broken() {
        return Ok(());
    }
    let (tell, told) = channel();
    let (workers, started) = (Workers::new(LIMITS), Instant::now());
    cache.write_through();
    for file in cache.overdue(Duration::ZERO) {
        let (cache, tell) = (cache.clone(), tell.clone());
        // The receiver is gone if this has hung.
        let write = move || drop(tell.send(cache.contain(|| cache.write_out(file))));
        workers.run(FailureDomain { device: 0, what: file.into() }, write);
    }
    drop(tell);
    let mut done = Ok(());
    while let Ok(written) = told.recv_timeout(patience.saturating_sub(started.elapsed())) {
        if let Some(Err(error)) = written {
            done = Err(error);
        }
    }
    done
}
