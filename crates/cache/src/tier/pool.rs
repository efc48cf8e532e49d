//! The frames of a tier and what is read from and written to them. No decisions, and never under the cache's lock.
//!
//! A reader of a frame has a [`Lease`] of it, and the bytes of a frame that is being written stay in memory until they
//! are on the disk: a frame is given to another block only when it is no longer used.

use std::io;

use rustc_hash::FxHashMap;

use crate::arena::Frame;
use crate::os::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::os::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::source::{Source, read_full, write_full};
use crate::tier::record::{HEADER, Origin, RECORD, Record};

/// Receives the message that the tier is off.
pub(super) type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Bytes that wait to be written, at most, unless a single block has more.
const BACKLOG: u64 = 8 << 20;

/// After so many bytes the disk is made to have them, so that they need not stay in the system's page cache.
const AT_ONCE: u64 = 16 << 20;

pub(super) struct Pool {
    data: Arc<dyn Source>,
    index: Arc<dyn Source>,
    /// Bytes of a frame.
    pub block: u64,
    secret: u64,
    ledger: Mutex<Ledger>,
    has_room: Condvar,
    pub moved: Moved,
    is_off: AtomicBool,
    why: Mutex<Option<String>>,
    tell: Tell,
}

/// The traffic.
#[derive(Default)]
pub(super) struct Moved {
    pub blocks_read: AtomicU64,
    pub bytes_read: AtomicU64,
    pub blocks_written: AtomicU64,
    pub bytes_written: AtomicU64,
    pub damaged: AtomicU64,
}

struct Ledger {
    free: Vec<Frame>,
    /// Of what is in each frame.
    checksums: Vec<u128>,
    busy: FxHashMap<Frame, Busy>,
    /// Bytes that wait to be written.
    waiting: u64,
    unsynced: u64,
}

/// A frame in use.
#[derive(Default)]
struct Busy {
    users: u32,
    /// The bytes to be written to it, until they are on the disk.
    bytes: Option<Arc<Vec<u8>>>,
    /// True if it becomes free when it is no longer used.
    leaves: bool,
}

/// A block to be written.
pub(super) struct Job {
    pub frame: Frame,
    pub origin: Origin,
    pub sequence: u64,
    pub bytes: Arc<Vec<u8>>,
}

/// A block in a frame that is not given to another one meanwhile.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    frame: Frame,
    origin: Origin,
    /// Bytes.
    pub length: u32,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.lock().release(self.frame);
    }
}

impl Ledger {
    fn use_frame(&mut self, frame: Frame) -> &mut Busy {
        let busy = self.busy.entry(frame).or_default();
        busy.users += 1;
        busy
    }

    fn release(&mut self, frame: Frame) {
        let Some(busy) = self.busy.get_mut(&frame) else { return };
        busy.users -= 1;
        if busy.users == 0 && self.busy.remove(&frame).is_some_and(|busy| busy.leaves) {
            self.free.push(frame);
        }
    }
}

impl Pool {
    /// Frames of `block` bytes; `known` are those that are taken, with what must be in them.
    pub fn new(
        files: [Arc<dyn Source>; 2],
        secret: u64,
        block: u64,
        frames: u32,
        known: &[(Frame, Record)],
        tell: Tell,
    ) -> Pool {
        let [data, index] = files;
        let mut checksums = vec![0; frames as usize];
        let mut is_taken = vec![false; frames as usize];
        for (frame, record) in known {
            checksums[*frame as usize] = record.checksum;
            is_taken[*frame as usize] = true;
        }
        // The first ones come first, so that neighbours come together.
        let free = (0..frames).rev().filter(|&frame| !is_taken[frame as usize]).collect();
        let ledger = Ledger { free, checksums, busy: FxHashMap::default(), waiting: 0, unsynced: 0 };
        Pool {
            data,
            index,
            block,
            secret,
            ledger: Mutex::new(ledger),
            has_room: Condvar::new(),
            moved: Moved::default(),
            is_off: AtomicBool::new(false),
            why: Mutex::new(None),
            tell,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_off(&self) -> bool {
        self.is_off.load(Ordering::SeqCst)
    }

    /// Why it is off.
    pub fn why(&self) -> Option<String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn turn_off(&self, doing: &str, error: &io::Error) {
        let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        if why.is_some() {
            return;
        }
        let told =
            format!("the SSD tier is off, since {doing} it has failed ({error}): its blocks come from the source");
        *why = Some(told.clone());
        self.is_off.store(true, Ordering::SeqCst);
        drop(why);
        self.has_room.notify_all();
        (self.tell)(&told);
    }

    /// True if `bytes` more may wait to be written.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.lock().has_room(bytes)
    }

    /// Waits until a block more may wait to be written.
    pub fn wait_for_room(&self) {
        let is_full = |ledger: &mut Ledger| !ledger.has_room(self.block) && !self.is_off();
        drop(self.has_room.wait_while(self.lock(), is_full));
    }

    /// A frame for what is to be written, which waits from now on.
    pub fn take(&self, bytes: &Arc<Vec<u8>>) -> Option<Frame> {
        let mut ledger = self.lock();
        let frame = ledger.free.pop()?;
        ledger.use_frame(frame).bytes = Some(bytes.clone());
        ledger.waiting += bytes.len() as u64;
        Some(frame)
    }

    /// The frame has no block any more.
    pub fn free(&self, frame: Frame) {
        let mut ledger = self.lock();
        match ledger.busy.get_mut(&frame) {
            Some(busy) => busy.leaves = true,
            None => ledger.free.push(frame),
        }
    }

    /// Panics unless each frame is one of so many with a block, or is free or soon will be. For tests.
    pub fn validate(&self, taken: usize) {
        let ledger = self.lock();
        let leaving = ledger.busy.values().filter(|busy| busy.leaves).count();
        assert_eq!(taken + ledger.free.len() + leaving, ledger.checksums.len(), "a frame is lost");
    }

    /// The block in a frame, to be read.
    pub fn lease(self: &Arc<Self>, frame: Frame, origin: Origin, length: u32) -> Lease {
        self.lock().use_frame(frame);
        Lease { pool: self.clone(), frame, origin, length }
    }

    /// Writes a block and then its record, if the block can be found again, unless the tier is off.
    pub fn write(&self, job: &Job) {
        let checksum = job.origin.checksum(self.secret, &job.bytes);
        self.lock().checksums[job.frame as usize] = checksum;
        if !self.is_off()
            && let Err(error) = self.put(job, checksum)
        {
            self.turn_off("writing to", &error);
        }
        let mut ledger = self.lock();
        ledger.waiting -= job.bytes.len() as u64;
        ledger.busy.get_mut(&job.frame).expect("it is being written").bytes = None;
        ledger.release(job.frame);
        drop(ledger);
        self.has_room.notify_all();
    }

    fn put(&self, job: &Job, checksum: u128) -> io::Result<()> {
        let Job { frame, origin, sequence, .. } = *job;
        all(self.data.as_ref(), &job.bytes, u64::from(frame) * self.block)?;
        let record = match origin.version.lasts {
            true => Record { origin, sequence, checksum }.encode(self.secret, frame),
            false => [0; RECORD as usize],
        };
        all(self.index.as_ref(), &record, HEADER + u64::from(frame) * RECORD)?;
        let bytes = job.bytes.len() as u64 + RECORD;
        self.moved.blocks_written.fetch_add(1, Ordering::Relaxed);
        self.moved.bytes_written.fetch_add(bytes, Ordering::Relaxed);
        let mut ledger = self.lock();
        ledger.unsynced += bytes;
        if ledger.unsynced < AT_ONCE {
            return Ok(());
        }
        ledger.unsynced = 0;
        drop(ledger);
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        self.data.sync(true)?;
        self.index.sync(true)
    }

    /// Ends writing: makes all written data durable.
    pub fn finish(&self) {
        if !self.is_off()
            && let Err(error) = self.sync()
        {
            self.turn_off("writing to", &error);
        }
    }
}

impl Ledger {
    fn has_room(&self, bytes: u64) -> bool {
        self.waiting == 0 || self.waiting + bytes <= BACKLOG
    }
}

/// Writes all of it.
fn all(file: &dyn Source, bytes: &[u8], at: u64) -> io::Result<()> {
    match write_full(file, bytes, at)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Reads blocks that are consecutive in a file into `buffer`; gives the places of those that are not there any more as
/// they were written. Frames that are neighbours are read at once.
pub(crate) fn bring(leases: &[Lease], buffer: &mut [u8]) -> Vec<usize> {
    let Some(Lease { pool, .. }) = leases.first() else { return Vec::new() };
    let block = pool.block as usize;
    let (waiting, checksums): (Vec<_>, Vec<_>) = {
        let ledger = pool.lock();
        let bytes = |lease: &Lease| ledger.busy.get(&lease.frame).and_then(|busy| busy.bytes.clone());
        leases.iter().map(|lease| (bytes(lease), ledger.checksums[lease.frame as usize])).unzip()
    };
    let mut failed = Vec::new();
    let mut first = 0;
    while first < leases.len() {
        let begin = first * block;
        if let Some(bytes) = &waiting[first] {
            buffer[begin..begin + bytes.len()].copy_from_slice(bytes);
            first += 1;
            continue;
        }
        let follows = |&at: &usize| waiting[at].is_none() && leases[at].frame == leases[at - 1].frame + 1;
        let last = (first + 1..leases.len()).take_while(follows).last().unwrap_or(first);
        let bytes = &mut buffer[begin..last * block + leases[last].length as usize];
        let is_read = pool.read(leases[first].frame, bytes);
        for at in first..=last {
            let Lease { origin, length, .. } = &leases[at];
            let bytes = &buffer[at * block..at * block + *length as usize];
            if !is_read || origin.checksum(pool.secret, bytes) != checksums[at] {
                pool.moved.damaged.fetch_add(u64::from(is_read), Ordering::Relaxed);
                failed.push(at);
            }
        }
        first = last + 1;
    }
    pool.moved.blocks_read.fetch_add((leases.len() - failed.len()) as u64, Ordering::Relaxed);
    failed
}

impl Pool {
    /// Fills `bytes` from the beginning of a frame. False if that fails; the checksum detects bytes missing at the end
    /// of the file.
    fn read(&self, frame: Frame, bytes: &mut [u8]) -> bool {
        if self.is_off() {
            return false;
        }
        match read_full(self.data.as_ref(), bytes, u64::from(frame) * self.block) {
            Ok(read) => {
                self.moved.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
                true
            }
            Err(error) => {
                self.turn_off("reading from", &error);
                false
            }
        }
    }
}
