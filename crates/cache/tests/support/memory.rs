//! A store in memory that can be slow, hang, fail, and give less than asked for.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hotset_cache::source::{Identity, Source, Stamp};

/// A file in memory.
#[derive(Default)]
pub struct Memory {
    bytes: Mutex<Vec<u8>>,
    version: AtomicU64,
    /// The file's identity for later processes; 0 if it has none.
    pub file: AtomicU64,
    /// The device of which that is an inode; 0 if it is none.
    pub device: AtomicU64,
    /// Nanoseconds since 1970 at which every change is made, where versions are times.
    time: Mutex<Option<i128>>,
    /// That time is over.
    is_past: AtomicBool,
    /// Errors that the next reads or writes fail with; `None` lets one through.
    pub faults: Mutex<VecDeque<Option<i32>>>,
    /// The most bytes that one call moves; 0 sets no limit.
    pub most: AtomicU64,
    /// Microseconds that a read takes.
    pub delay_us: AtomicU64,
    /// Reads from this byte on do not return; 0 is none.
    hang_from: Mutex<u64>,
    going: Condvar,
    /// While a test holds it, writes do not return.
    pub writing: Mutex<()>,
    /// Bytes that reads have buffers for, now and at most.
    buffers: Mutex<Option<[Arc<AtomicU64>; 2]>>,
    pub reads: AtomicU64,
    /// Reads that together take as long as one; 0 is one.
    pub at_once: AtomicU64,
}

impl Memory {
    pub fn new(bytes: Vec<u8>) -> Arc<Memory> {
        Arc::new(Memory { bytes: Mutex::new(bytes), ..Memory::default() })
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// Changes the file behind the cache.
    pub fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.bytes.lock().unwrap());
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Has other bytes, of which its times do not tell: a disk has lost what was written to it.
    pub fn lose(&self, bytes: Vec<u8>) {
        *self.bytes.lock().unwrap() = bytes;
    }

    /// Every change has one time from now on, which is not over yet: as on a file system with coarse times.
    pub fn stand_still(&self) {
        let later = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(3600);
        *self.time.lock().unwrap() = Some(later.as_nanos() as i128);
    }

    /// It was changed last at this time, in nanoseconds since 1970.
    pub fn changed_at(&self, time: i128) {
        *self.time.lock().unwrap() = Some(time);
    }

    /// The time in which all was changed is over: the next change has another one.
    pub fn go_on_from_there(&self) {
        self.is_past.store(true, Ordering::SeqCst);
    }

    pub fn fail_with(&self, faults: &[Option<i32>]) {
        self.faults.lock().unwrap().extend(faults);
    }

    pub fn hang_from(&self, offset: u64) {
        *self.hang_from.lock().unwrap() = offset;
    }

    pub fn go_on(&self) {
        self.hang_from(0);
        self.going.notify_all();
    }

    /// Counts the bytes that reads have buffers for in `now`, and the most that there were in `most`.
    pub fn count_buffers(&self, now: &Arc<AtomicU64>, most: &Arc<AtomicU64>) {
        *self.buffers.lock().unwrap() = Some([now.clone(), most.clone()]);
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_micros(self.delay_us.load(Ordering::SeqCst)));
        drop(self.going.wait_while(self.hang_from.lock().unwrap(), |from| *from > 0 && offset >= *from).unwrap());
        self.fault()?;
        let bytes = self.bytes.lock().unwrap();
        let from = (offset as usize).min(bytes.len());
        let length = self.most(buffer.len().min(bytes.len() - from));
        buffer[..length].copy_from_slice(&bytes[from..from + length]);
        Ok(length)
    }

    fn fault(&self) -> io::Result<()> {
        let fault = self.faults.lock().unwrap().pop_front().flatten();
        fault.map_or(Ok(()), |number| Err(io::Error::from_raw_os_error(number)))
    }

    fn most(&self, length: usize) -> usize {
        match self.most.load(Ordering::SeqCst) {
            0 => length,
            most => length.min(most as usize),
        }
    }
}

impl Source for Memory {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let buffers = self.buffers.lock().unwrap().clone();
        if let Some([now, most]) = &buffers {
            let bytes = now.fetch_add(buffer.len() as u64, Ordering::SeqCst) + buffer.len() as u64;
            most.fetch_max(bytes, Ordering::SeqCst);
        }
        let read = self.read(buffer, offset);
        if let Some([now, _]) = &buffers {
            now.fetch_sub(buffer.len() as u64, Ordering::SeqCst);
        }
        read
    }

    fn reads_at_once(&self) -> usize {
        self.at_once.load(Ordering::SeqCst).max(1) as usize
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.fault()?;
        let length = self.most(bytes.len());
        self.change(|all| {
            let end = offset as usize + length;
            all.resize(all.len().max(end), 0);
            all[offset as usize..end].copy_from_slice(&bytes[..length]);
        });
        drop(self.writing.lock().unwrap());
        Ok(length)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.fault()?;
        self.change(|all| all.resize(size as usize, 0));
        Ok(())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let size = self.bytes.lock().unwrap().len() as u64;
        let stamp = match *self.time.lock().unwrap() {
            Some(time) => {
                let stamp = Stamp::of_times(size, time, time);
                Stamp { is_fresh: stamp.is_fresh && !self.is_past.load(Ordering::SeqCst), ..stamp }
            }
            None => Stamp::new(size, self.version.load(Ordering::SeqCst).into()),
        };
        let device = self.device.load(Ordering::SeqCst);
        Ok(match self.file.load(Ordering::SeqCst) {
            0 => stamp,
            file if device > 0 => stamp.of_file(Identity::Inode { device, inode: file }),
            file => stamp.of_file(Identity::Lasting(file.into())),
        })
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        self.fault()
    }
}
