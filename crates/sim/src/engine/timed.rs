//! A cell that tells how long it keeps a processor busy.

use rustix::time::{ClockId, clock_gettime};

use super::cell::Cell;
use super::tally::Ended;
use crate::window::Window;

/// A cell, with the time that its windows took.
pub(crate) struct Timed<K> {
    cell: Box<dyn Cell<K>>,
    nanoseconds: u64,
    references: u64,
}

impl<K> Timed<K> {
    pub fn new(cell: Box<dyn Cell<K>>) -> Timed<K> {
        Timed { cell, nanoseconds: 0, references: 0 }
    }
}

impl<K> Cell<K> for Timed<K> {
    fn run(&mut self, window: &Window<K>) {
        let began = processor_time();
        self.cell.run(window);
        self.nanoseconds += processor_time() - began;
        self.references += window.keys.len() as u64;
    }

    fn end(self: Box<Self>) -> Vec<Ended> {
        let each = self.nanoseconds as f64 / self.references.max(1) as f64;
        let ended = self.cell.end().into_iter();
        ended.map(|ended| Ended { reference_nanoseconds: Some(each), ..ended }).collect()
    }
}

/// Nanoseconds for which this thread has had a processor, whatever else runs.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
