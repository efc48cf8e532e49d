//! Blocks that are being read from the source: one read a block, other readers wait for it.
//!
//! A read that a write has overtaken is *cancelled*: its waiting readers still get its bytes, since they asked before
//! the write was acknowledged, but the bytes never enter the cache, and later readers read again.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::{Deref, Range};

use crate::os::sync::atomic::{AtomicBool, Ordering};
use crate::os::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::source::files::FileNumber;
use crate::transfer::buffer::Buffer;
use crate::transfer::in_flight::Share;

/// The result of a read.
enum Brought {
    /// Perhaps fewer than asked for.
    Bytes(Arc<Buffer>),
    Error(std::sync::Arc<io::Error>),
    /// It was given up before it was made.
    Nothing,
}

/// One read of consecutive blocks of a file.
pub(crate) struct Transfer {
    /// The bytes of the file.
    pub range: Range<u64>,
    /// True until a request uses it.
    pub is_ahead: bool,
    cancelled: AtomicBool,
    is_dropped: AtomicBool,
    brought: Mutex<Option<Brought>>,
    done: Condvar,
    /// The share of the in-flight limit for its result, returned after that.
    _share: Arc<Share>,
}

/// A read that was announced, owned by the thread that is to make it. Dropping it before that gives the read up, so
/// that no reader waits in vain.
pub(crate) struct Announced(Arc<Transfer>);

impl Announced {
    pub fn new(range: Range<u64>, is_ahead: bool, share: &Arc<Share>) -> Announced {
        Announced(Arc::new(Transfer {
            range,
            is_ahead,
            cancelled: AtomicBool::new(false),
            is_dropped: AtomicBool::new(false),
            brought: Mutex::new(None),
            done: Condvar::new(),
            _share: share.clone(),
        }))
    }
}

impl Deref for Announced {
    type Target = Arc<Transfer>;

    fn deref(&self) -> &Arc<Transfer> {
        &self.0
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let mut brought = self.0.brought.lock().unwrap_or_else(PoisonError::into_inner);
        if brought.is_none() {
            *brought = Some(Brought::Nothing);
            self.0.is_dropped.store(true, Ordering::Relaxed);
            self.0.done.notify_all();
        }
    }
}

impl Transfer {
    /// True if its result may not enter the cache. Reliable only under the lock of the cache.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Wakes all waiting readers with the bytes, perhaps fewer than requested, or the error.
    pub fn complete(&self, read: io::Result<Buffer>) {
        let brought = match read {
            Ok(bytes) => Brought::Bytes(Arc::new(bytes)),
            Err(error) => Brought::Error(error.into()),
        };
        *self.brought.lock().unwrap_or_else(PoisonError::into_inner) = Some(brought);
        self.done.notify_all();
    }

    /// True if a reader need not wait for it.
    pub fn is_done(&self) -> bool {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits for its result. `None` if it was given up: the reader must read the bytes itself.
    pub fn wait(&self) -> io::Result<Option<Arc<Buffer>>> {
        let brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
        let brought = self.done.wait_while(brought, |brought| brought.is_none());
        let brought = brought.unwrap_or_else(PoisonError::into_inner);
        match brought.as_ref().expect("waited for") {
            Brought::Bytes(bytes) => Ok(Some(bytes.clone())),
            Brought::Error(error) => Err(again(error)),
            Brought::Nothing => Ok(None),
        }
    }
}

/// A copy of the error for each waiting reader. Errors of the operating system are the same for all; others are passed
/// on as the cause of a new one.
fn again(error: &std::sync::Arc<io::Error>) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.clone()),
    }
}

/// The reads under way, and unused read-ahead, by file and block address.
#[derive(Default)]
pub(crate) struct Transfers(HashMap<u32, HashMap<u64, Arc<Transfer>>>);

impl Transfers {
    pub fn find(&self, file: u32, address: u64) -> Option<&Arc<Transfer>> {
        self.0.get(&file)?.get(&address).filter(|transfer| !transfer.is_dropped.load(Ordering::Relaxed))
    }

    /// True if something of the file is being read, or was read ahead.
    pub fn knows(&self, file: u32) -> bool {
        self.0.contains_key(&file)
    }

    /// The one that brings a block, if it was announced for all of it up to `end`: one that was announced when less was
    /// known of the file would end where that ended.
    pub fn covering(&self, file: u32, address: u64, end: u64) -> Option<&Arc<Transfer>> {
        self.find(file, address).filter(|transfer| transfer.range.end >= end)
    }

    pub fn insert(&mut self, file: u32, address: u64, transfer: &Arc<Transfer>) {
        self.0.entry(file).or_default().insert(address, transfer.clone());
    }

    /// The block need not be looked for in `transfer` any more.
    pub fn remove(&mut self, file: u32, address: u64, transfer: &Arc<Transfer>) {
        let Some(of_file) = self.0.get_mut(&file) else { return };
        if of_file.get(&address).is_some_and(|known| Arc::ptr_eq(known, transfer)) {
            of_file.remove(&address);
        }
        if of_file.is_empty() {
            self.0.remove(&file);
        }
    }

    /// Cancels every read of the file that overlaps `range`.
    pub fn cancel(&mut self, file: u32, range: &Range<u64>) {
        let Some(of_file) = self.0.get_mut(&file) else { return };
        of_file.retain(|_, transfer| {
            let overlaps = transfer.range.start < range.end && range.start < transfer.range.end;
            transfer.cancelled.fetch_or(overlaps, Ordering::Relaxed);
            !overlaps
        });
        if of_file.is_empty() {
            self.0.remove(&file);
        }
    }
}

/// An unused block of a run: its address and its bytes.
pub(crate) type StagedBlock = (u64, u64);

/// Unused read-ahead, oldest first.
#[derive(Default)]
pub(crate) struct Staged {
    runs: VecDeque<(FileNumber, Arc<Transfer>, Vec<StagedBlock>)>,
    /// Bytes of unused blocks. The used blocks of a run do not count, or the run that a reader is in would leave before
    /// the reader is through.
    bytes: u64,
}

impl Staged {
    /// Adds a run with these blocks.
    pub fn add(&mut self, file: FileNumber, transfer: &Arc<Transfer>, blocks: Vec<StagedBlock>) {
        self.bytes += bytes(&blocks);
        self.runs.push_back((file, transfer.clone(), blocks));
    }

    /// Bytes of unused blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A block of a run was asked for. With the last one the run is gone.
    pub fn take(&mut self, transfer: &Arc<Transfer>, address: u64) {
        let Some(place) = self.runs.iter().position(|(_, known, _)| Arc::ptr_eq(known, transfer)) else { return };
        let blocks = &mut self.runs[place].2;
        if let Some(at) = blocks.iter().position(|&(known, _)| known == address) {
            self.bytes -= blocks.remove(at).1;
        }
        if blocks.is_empty() {
            self.runs.remove(place);
        }
    }

    /// The oldest run, with its unused blocks, if there are more bytes than `budget`.
    pub fn pop_beyond(&mut self, budget: u64) -> Option<(FileNumber, Arc<Transfer>, Vec<StagedBlock>)> {
        let oldest = if self.bytes > budget { self.runs.pop_front() } else { None }?;
        self.bytes -= bytes(&oldest.2);
        Some(oldest)
    }
}

fn bytes(blocks: &[StagedBlock]) -> u64 {
    blocks.iter().map(|(_, bytes)| bytes).sum()
}
