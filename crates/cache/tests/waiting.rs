//! The orders in which writers whose writes wait, readers, those who write out, cut and sync, and those whose reads
//! send blocks away may come, as in `interleavings.rs`.
//!
//! `cargo test --workspace --features hotset-cache/shuttle --test waiting`; `HOTSET_SCHEDULES` says how many orders are
//! tried for each case, `HOTSET_SEED` which.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{Access, FileCache, Settings};
use hotset_core::policy::PolicySpec;
use hotset_core::request::Kind;
use shuttle::rand::Rng;
use shuttle::sync::Mutex;
use shuttle::thread;

mod support {
    pub mod orders;
}
use support::orders::check;

/// Bytes that are always written together.
const CELL: usize = 128;
const BLOCK: usize = 4 * CELL;
const CELLS: usize = 32;

/// A file in memory; each write yields to the others in the middle.
#[derive(Default)]
struct Memory {
    bytes: Mutex<Vec<u8>>,
    changes: Mutex<u64>,
}

impl Memory {
    fn put(&self, bytes: &[u8], offset: usize) {
        let mut all = self.bytes.lock().unwrap();
        let end = offset + bytes.len();
        let length = all.len().max(end);
        all.resize(length, 0);
        all[offset..end].copy_from_slice(bytes);
        *self.changes.lock().unwrap() += 1;
    }
}

impl Source for Memory {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.bytes.lock().unwrap();
        let from = bytes.len().min(offset as usize);
        let length = buffer.len().min(bytes.len() - from);
        buffer[..length].copy_from_slice(&bytes[from..from + length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let length = bytes.len().min(BLOCK);
        self.put(&bytes[..length], offset as usize);
        Ok(length)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().resize(size as usize, 0);
        *self.changes.lock().unwrap() += 1;
        Ok(())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let size = self.bytes.lock().unwrap().len() as u64;
        Ok(Stamp::new(size, (*self.changes.lock().unwrap()).into()))
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

/// The writes to the cells of a file: the number of a write is the bytes of its cells, and each cell has one writer,
/// whose numbers rise.
#[derive(Clone, Default)]
struct Written {
    begun: [u8; CELLS],
    done: [u8; CELLS],
    /// Those that may have been cut off, and not been written since.
    cut: [bool; CELLS],
    /// Cuts that have begun, and those that have ended.
    cuts: u64,
}

struct Work {
    cache: FileCache,
    file: (u32, Arc<dyn Source>, Arc<Memory>),
    other: (u32, Arc<dyn Source>),
    written: Mutex<Written>,
}

impl Work {
    fn new(policy: &str) -> Work {
        let policy = PolicySpec::parse(policy).unwrap();
        let settings =
            Settings { policy, memory: 4 * BLOCK as u64, block: BLOCK as u64, rules: None, seed: 1, store: None };
        let cache = FileCache::new(&settings, None).unwrap();
        cache.write_later();
        let open = |path, bytes: usize| {
            let memory = Arc::new(Memory::default());
            memory.put(&vec![0; bytes], 0);
            let number = cache.file(path, Kind::Datafile);
            cache.opened(number, memory.as_ref()).unwrap();
            (number, memory)
        };
        let (file, other) = (open("/out/f", 3 * BLOCK), open("/g", 8 * BLOCK));
        let written = Mutex::default();
        Work { file: (file.0, file.1.clone(), file.1), other: (other.0, other.1), written, cache }
    }

    fn access(&self) -> Access<'_> {
        Access { file: self.file.0, app: 0, source: &self.file.1, stream: None, executes: false }
    }

    /// Panics if what was found in the `cells` cannot be, where all that was done `before` must be found.
    fn check(&self, before: &Written, cells: Range<usize>, found: &[u8], what: &str) {
        let now = self.written.lock().unwrap().clone();
        let may_be_cut = |cell: usize| before.cut[cell] || now.cut[cell] || before.cuts != now.cuts;
        for (cell, bytes) in (cells.start..).zip(found.chunks(CELL)) {
            assert!(bytes.len() == CELL && bytes.iter().all(|&byte| byte == bytes[0]), "{what}: cell {cell} is torn");
            let is_cut = may_be_cut(cell) && bytes[0] == 0;
            assert!(
                is_cut || (before.done[cell]..=now.begun[cell]).contains(&bytes[0]),
                "{what}: cell {cell} is {}, not from {} to {}",
                bytes[0],
                before.done[cell],
                now.begun[cell]
            );
        }
        let is_there = |&cell: &usize| before.done[cell] > 0 && !may_be_cut(cell);
        let missing = (cells.start + found.len() / CELL..cells.end).find(is_there);
        assert!(missing.is_none(), "{what}: it ends before cell {missing:?}");
    }

    /// Writes some of the writer's cells, two for each of two writers in turn.
    fn write(&self, who: usize) {
        let mut random = shuttle::rand::thread_rng();
        let cell = random.gen_range(0..CELLS / 4) * 4 + 2 * who;
        let cells = cell..cell + random.gen_range(1..=2);
        let (number, cuts) = {
            let mut written = self.written.lock().unwrap();
            let number = written.begun[cells.clone()].iter().max().unwrap() + 1;
            written.begun[cells.clone()].fill(number);
            (number, written.cuts)
        };
        let bytes = vec![number; cells.len() * CELL];
        let done = self.cache.write(&self.access(), (cells.start * CELL) as u64, &bytes).unwrap();
        assert_eq!(done, bytes.len());
        let mut written = self.written.lock().unwrap();
        written.done[cells.clone()].fill(number);
        if cuts % 2 == 0 && cuts == written.cuts {
            written.cut[cells].fill(false);
        }
    }

    fn read(&self) {
        let mut random = shuttle::rand::thread_rng();
        let (cell, cells) = (random.gen_range(0..CELLS - 8), random.gen_range(1..=8));
        let before = self.written.lock().unwrap().clone();
        let found = self.cache.read(&self.access(), (cell * CELL) as u64, cells * CELL).unwrap();
        self.check(&before, cell..cell + cells, &found, "read");
    }

    /// Sends blocks of the file away.
    fn crowd(&self) {
        let (file, source) = &self.other;
        let access = Access { file: *file, app: 0, source, stream: None, executes: false };
        assert_eq!(self.cache.read(&access, 0, 3 * BLOCK).unwrap(), vec![0; 3 * BLOCK]);
    }

    /// Earlier writes are in the source then.
    fn sync(&self) {
        let before = self.written.lock().unwrap().clone();
        self.cache.sync(&self.access(), true).unwrap();
        let bytes = self.file.2.bytes.lock().unwrap().clone();
        self.check(&before, 0..CELLS, &bytes, "sync");
    }

    fn cut(&self) {
        let cells = shuttle::rand::thread_rng().gen_range(CELLS / 2..CELLS);
        {
            let mut written = self.written.lock().unwrap();
            written.cut[cells..].fill(true);
            written.cuts += 1;
        }
        self.cache.set_len(&self.access(), (cells * CELL) as u64).unwrap();
        self.written.lock().unwrap().cuts += 1;
    }

    fn act(&self, who: usize) {
        match (who, shuttle::rand::thread_rng().gen_range(0..8)) {
            (0 | 1, 0..6) => self.write(who),
            (2, 0..2) => self.cache.write_out(self.file.0).unwrap(),
            (2, 2) => self.cut(),
            (2, 3) => drop(self.cache.opened(self.file.0, self.file.1.as_ref()).unwrap()),
            (2, 4..6) => self.sync(),
            (_, 6) => self.crowd(),
            _ => self.read(),
        }
    }
}

#[test]
fn what_waits_is_found_and_arrives_whatever_the_order() {
    for policy in ["lru", "arc", "bypass(lru,output)", "virtual(lru,quantum=12,unit=512B,queue=64K)"] {
        check(policy, 2000, move || {
            let work = Arc::new(Work::new(policy));
            let threads: Vec<_> = (0..4)
                .map(|who| {
                    let work = work.clone();
                    thread::spawn(move || (0..5).for_each(|_| work.act(who)))
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            work.sync();
            work.read();
            let size = work.file.2.bytes.lock().unwrap().len();
            let all = work.cache.read(&work.access(), 0, CELLS * CELL).unwrap();
            assert!(all.len() == size && all == *work.file.2.bytes.lock().unwrap());
            assert_eq!(work.cache.at_risk().unwrap().waiting_bytes, 0);
            work.cache.validate();
        });
    }
}
