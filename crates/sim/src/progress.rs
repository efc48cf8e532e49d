//! Telling how far the work is.

use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hotset_trace::TraceReader;
use hotset_trace::input::Progress as Position;

/// Receives the amount of work done, from any thread.
pub trait Progress: Sync {
    /// So many references more were read or replayed.
    fn advance(&self, references: u64);
}

/// Receives the stages of a piece of work. The value that a stage returns receives the progress, and is dropped when
/// the stage is over.
pub trait Observer: Sync {
    /// The trace of this name is being read; `position` tells how far through the file the reader is.
    fn reading<'a>(&'a self, trace: &str, position: &'a Position) -> Box<dyn Progress + 'a>;

    /// The trace of this name has been read: its reader knows what it skipped and has remarks.
    fn read(&self, trace: &str, reader: &dyn TraceReader);

    /// Something that a user should know of a replay of the trace of this name: a sentence.
    fn note(&self, _trace: &str, _note: &str) {}

    /// So many cells are being replayed, each over so many references; `None` if the number is unknown.
    fn replaying<'a>(&'a self, cells: usize, references: Option<u64>) -> Box<dyn Progress + 'a>;
}

/// Progress is not reported.
pub struct Silent;

impl Progress for Silent {
    fn advance(&self, _references: u64) {}
}

impl Observer for Silent {
    fn reading<'a>(&'a self, _trace: &str, _position: &'a Position) -> Box<dyn Progress + 'a> {
        Box::new(Silent)
    }

    fn read(&self, _trace: &str, _reader: &dyn TraceReader) {}

    fn replaying<'a>(&'a self, _cells: usize, _references: Option<u64>) -> Box<dyn Progress + 'a> {
        Box::new(Silent)
    }
}

/// Watches work that runs in another thread: how far it is, what a user should know, and whether it is to stop.
///
/// Work that is stopped unwinds when it next reports its progress, so the thread that runs it needs
/// [`std::panic::catch_unwind`]. The unwinding is not a panic, so nothing is printed.
#[derive(Default)]
pub struct Watch {
    is_stopped: AtomicBool,
    /// References that were read, or replayed in all cells, of this stage.
    done: AtomicU64,
    /// Of so many; 0 if unknown.
    total: AtomicU64,
    remarks: Mutex<Vec<String>>,
}

/// The payload with which the threads of stopped work unwind.
struct Stop;

impl Watch {
    /// Stops the work.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// True once the work is to stop.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Unwinds this thread if the work is to stop.
    pub fn check(&self) {
        if self.is_stopped() {
            panic::resume_unwind(Box::new(Stop));
        }
    }

    /// References done in this stage, and their number in all (0: unknown).
    pub fn so_far(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// The remarks on traces, each once, with the name of the trace in front.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A stage begins, of so many references.
    fn begin(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
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
        reader.notes().iter().for_each(|note| self.note(trace, note));
    }

    fn note(&self, trace: &str, note: &str) {
        let remark = format!("{trace}: {note}");
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    fn replaying<'a>(&'a self, cells: usize, references: Option<u64>) -> Box<dyn Progress + 'a> {
        self.begin(references.unwrap_or(0) * cells as u64);
        Box::new(self)
    }
}
