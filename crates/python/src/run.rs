//! Long work: outside of the interpreter, which continues to serve other threads, and ended by Ctrl-C.
//!
//! The work has separate threads that end with it, so that it works in a forked process, too. Interrupted work ends
//! when it next reports its progress; the caller does not wait for that.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hotset_sim::{Observer, Progress};
use hotset_trace::input::Progress as Position;
use hotset_trace::memory::{MemoryBatch, MemoryReader};
use hotset_trace::{Batch, Tables, TraceError, TraceReader};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Watches work: ends it when it is interrupted, knows how far it is, and notes what readers remark.
#[derive(Default)]
pub struct Watch {
    is_interrupted: AtomicBool,
    /// References that were read, or replayed in all cells, of this stage.
    done: AtomicU64,
    /// Of so many; 0 if unknown.
    total: AtomicU64,
    remarks: Mutex<Vec<String>>,
}

/// Unwinds the threads of interrupted work. It is not a panic, so nothing is printed.
struct Interrupted;

impl Watch {
    /// What readers remarked, once each.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A stage begins, of so many references.
    fn begin(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    /// Says how far the work is.
    fn tell(&self, told: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let so_far = || (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        told.map_or(Ok(()), |told| told.call1(so_far()).map(drop))
    }

    /// Ends the work of this thread if it is interrupted.
    pub fn check(&self) {
        if self.is_interrupted.load(Ordering::Relaxed) {
            panic::resume_unwind(Box::new(Interrupted));
        }
    }

    /// Gives every batch of a trace to `take`, with the names met so far.
    pub fn each(
        &self,
        reader: &mut dyn TraceReader,
        mut take: impl FnMut(&Batch, &Tables) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut batch = Batch::new();
        loop {
            reader.read(&mut batch)?;
            self.check();
            if batch.is_empty() {
                return Ok(());
            }
            take(&batch, reader.tables())?;
        }
    }

    /// The same of a trace of memory.
    pub fn each_of_memory(
        &self,
        memory: &mut dyn MemoryReader,
        mut take: impl FnMut(&MemoryBatch) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut batch = MemoryBatch::default();
        loop {
            memory.read_memory(&mut batch)?;
            self.check();
            if batch.is_empty() {
                return Ok(());
            }
            take(&batch)?;
        }
    }
}

impl Progress for &Watch {
    fn advance(&self, references: u64) {
        self.done.fetch_add(references, Ordering::Relaxed);
        self.check();
    }
}

impl Observer for Watch {
    fn reading<'a>(&'a self, _trace: &str, _position: &'a Position) -> Box<dyn Progress + 'a> {
        self.begin(0);
        Box::new(self)
    }

    fn read(&self, trace: &str, reader: &dyn TraceReader) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        for note in reader.notes() {
            let told = format!("{trace}: {note}");
            if !remarks.contains(&told) {
                remarks.push(told);
            }
        }
    }

    fn replaying<'a>(&'a self, cells: usize, references: Option<u64>) -> Box<dyn Progress + 'a> {
        self.begin(references.unwrap_or(0) * cells as u64);
        Box::new(self)
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
            Err(RecvTimeoutError::Timeout) => py.check_signals().and_then(|()| watch.tell(told)).inspect_err(|_| {
                watch.is_interrupted.store(true, Ordering::Relaxed);
            })?,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the work has ended early")),
        }
    }
}
