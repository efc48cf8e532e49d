//! Long work: outside of the interpreter, which continues to serve other threads, and ended by Ctrl-C.
//!
//! The work has separate threads that end with it, so that it works in a forked process, too. Interrupted work ends
//! when it next reports its progress; the caller does not wait for that.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hotset_sim::Watch;
use hotset_trace::memory::{MemoryBatch, MemoryReader};
use hotset_trace::{Batch, Tables, TraceError, TraceReader};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Gives every batch of a trace to `take`, with the names met so far.
pub fn each(
    watch: &Watch,
    reader: &mut dyn TraceReader,
    mut take: impl FnMut(&Batch, &Tables) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut batch = Batch::new();
    loop {
        reader.read(&mut batch)?;
        watch.check();
        if batch.is_empty() {
            return Ok(());
        }
        take(&batch, reader.tables())?;
    }
}

/// The same of a trace of memory.
pub fn each_of_memory(
    watch: &Watch,
    memory: &mut dyn MemoryReader,
    mut take: impl FnMut(&MemoryBatch) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut batch = MemoryBatch::default();
    loop {
        memory.read_memory(&mut batch)?;
        watch.check();
        if batch.is_empty() {
            return Ok(());
        }
        take(&batch)?;
    }
}

/// The result of `work`, computed on so many threads, by default one per core. A signal whose handler raises an
/// exception, as that of Ctrl-C does, ends the call with that exception. So does `told`, which is called at intervals
/// with the number of references done and the total (0: unknown).
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    told: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (done, mut given) = mpsc::channel();
    let theirs = Arc::clone(&watch);
    let worker = move || {
        let worked = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build().map(|pool| {
            // The started work is given up as a whole.
            panic::catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&theirs))))
        });
        // An interrupted caller does not wait.
        let _ = done.send(worked);
    };
    let no_thread = |error: &dyn std::fmt::Display| PyRuntimeError::new_err(format!("cannot start a thread: {error}"));
    thread::Builder::new().name("hotset".to_owned()).spawn(worker).map_err(|error| no_thread(&error))?;
    loop {
        let given = &mut given;
        match py.detach(move || given.recv_timeout(LOOK)) {
            Ok(Ok(Ok(given))) => return Ok(given),
            Ok(Ok(Err(panic))) => panic::resume_unwind(panic),
            Ok(Err(error)) => return Err(no_thread(&error)),
            Err(RecvTimeoutError::Timeout) => {
                let so_far = || told.map_or(Ok(()), |told| told.call1(watch.so_far()).map(drop));
                py.check_signals().and_then(|()| so_far()).inspect_err(|_| watch.stop())?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the work has ended early")),
        }
    }
}
