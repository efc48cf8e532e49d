//! The log of valgrind's lackey as a trace of memory.

use std::io::{self, BufRead};

use hotset_trace::memory::{BATCH_RUNS, MemoryBatch, ObjectEvent, ObjectOp, PageRun};

use super::OBJECT_BYTES;
use super::line::{Call, Line, parse};

const PAGE_SHIFT: u32 = super::PAGE_BYTES.trailing_zeros();

/// A line longer than this is none of lackey's.
const LONGEST_LINE: u64 = 4096;

/// A log being read.
pub(super) struct Lackey<R> {
    log: R,
    line: Vec<u8>,
    /// The run at hand, not in a batch yet.
    run: Option<PageRun>,
    /// References so far, those of the run at hand among them.
    references: u64,
    instructions: u64,
    bad: u64,
}

impl<R: BufRead> Lackey<R> {
    pub fn new(log: R) -> Lackey<R> {
        Lackey { log, line: Vec::new(), run: None, references: 0, instructions: 0, bad: 0 }
    }

    /// References read so far.
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Remarks for the user at the end.
    pub fn remarks(&self) -> Vec<String> {
        let bad = (self.bad > 0).then(|| format!("{} lines of valgrind's log could not be understood", self.bad));
        bad.into_iter().collect()
    }

    /// Clears `batch` and fills it. An empty batch is the end of the log.
    pub fn read(&mut self, batch: &mut MemoryBatch) -> io::Result<()> {
        batch.clear();
        while batch.runs.len() + 2 <= BATCH_RUNS {
            self.line.clear();
            if io::Read::take(&mut self.log, LONGEST_LINE).read_until(b'\n', &mut self.line)? == 0 {
                batch.runs.extend(self.run.take());
                break;
            }
            match parse(self.line.trim_ascii_end()) {
                Line::Instruction => self.instructions += 1,
                Line::Access { address, bytes, writes } => self.access(address, bytes, writes, batch),
                Line::Call(call) => self.call(call, batch),
                Line::Other => {}
                Line::Bad => self.bad += 1,
            }
        }
        batch.instructions = self.instructions;
        Ok(())
    }

    /// An access is a reference to each page that it touches: one, or two neighbours.
    fn access(&mut self, address: u64, bytes: u64, writes: bool, batch: &mut MemoryBatch) {
        let (first, last) = (address >> PAGE_SHIFT, address.saturating_add(bytes - 1) >> PAGE_SHIFT);
        self.touch(first, writes, batch);
        if last != first {
            self.touch(last, writes, batch);
        }
    }

    fn touch(&mut self, page: u64, writes: bool, batch: &mut MemoryBatch) {
        self.references += 1;
        let writes = u64::from(writes);
        match &mut self.run {
            Some(run) if run.page == page => {
                run.references += 1;
                run.writes += writes;
            }
            run => batch.runs.extend(run.replace(PageRun { page, references: 1, writes })),
        }
    }

    fn call(&mut self, call: Call, batch: &mut MemoryBatch) {
        let mut tell = |op, address, bytes| {
            batch.events.push(ObjectEvent { at: self.references, op, address, bytes, caller: String::new() });
        };
        match call {
            Call::Map { address, bytes } if bytes >= OBJECT_BYTES.into() => tell(ObjectOp::Allocate, address, bytes),
            Call::Map { .. } => {}
            Call::Unmap { address } => tell(ObjectOp::Free, address, 0),
            Call::Move { from, to, bytes } => {
                // What grows where it is keeps its content.
                if from != to {
                    tell(ObjectOp::Free, from, 0);
                }
                tell(ObjectOp::Allocate, to, bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> (MemoryBatch, u64) {
        let mut lackey = Lackey::new(log.as_bytes());
        let (mut all, mut batch) = (MemoryBatch::default(), MemoryBatch::default());
        loop {
            lackey.read(&mut batch).unwrap();
            if batch.is_empty() {
                return (all, lackey.bad);
            }
            all.runs.append(&mut batch.runs);
            all.events.append(&mut batch.events);
            all.instructions = batch.instructions;
        }
    }

    fn run(page: u64, references: u64, writes: u64) -> PageRun {
        PageRun { page, references, writes }
    }

    #[test]
    fn repeats_are_folded_and_an_access_across_a_border_is_two() {
        let (all, bad) = read("I  10,3\n L 1000,8\n S 1010,8\nI  13,2\n L 1ffc,8\n M 2000,4\n L x\n");
        assert_eq!(all.runs, [run(1, 3, 1), run(2, 2, 1)]);
        assert_eq!((all.instructions, bad), (2, 1));
    }

    #[test]
    fn objects_come_and_go_between_references() {
        let map = "SYSCALL[1,1](9) sys_mmap ( 0x0, 53248, 3, 34, 9, 0 ) --> [pre-success] Success(0x5000) \n";
        let small = map.replace("53248", "8192");
        let grow = "SYSCALL[1,1](25) sys_mremap ( 0x5000, 53248, 94208, 0x1, 0x0 ) --> Success(0x5000) \n";
        let moved = grow.replace("Success(0x5000)", "Success(0x90000)");
        let (all, _) = read(&format!(" L 1000,8\n{map} S 5000,8\n{small}{grow}{moved} S 5000,8\n"));
        let event = |at, op, address, bytes| ObjectEvent { at, op, address, bytes, caller: String::new() };
        assert_eq!(
            all.events,
            [
                event(1, ObjectOp::Allocate, 0x5000, 53248),
                event(2, ObjectOp::Allocate, 0x5000, 94208),
                event(2, ObjectOp::Free, 0x5000, 0),
                event(2, ObjectOp::Allocate, 0x90000, 94208),
            ]
        );
        assert_eq!(all.runs, [run(1, 1, 0), run(5, 2, 2)]);
    }

    #[test]
    fn a_log_without_line_ends_is_read_to_its_end() {
        let (all, _) = read(&"x".repeat(3 * LONGEST_LINE as usize));
        assert!(all.is_empty());
    }
}
