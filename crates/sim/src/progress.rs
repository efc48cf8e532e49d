//! Telling how far the work is.

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
