//! The programs in the kernel and what is shared with them: the other side of `bpf/feed.bpf.c`.

use std::error;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use aya::maps::{Array, HashMap, MapData, MapError, RingBuf};
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};

use super::hooks::{Attached, FieldOffsets, Hook, Hooks};
use super::layout;
use super::past;
use crate::bpf::object::{Words, chain, map_fd, refusal};
use crate::{Error, Event, FeedOptions, FileId, How, Kind, Result};

/// Built by `make bpf`.
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/feed.bpf.o");

/// Bits of a stamp's number below those of its word in the summary.
pub const STAMPS_PER_SUMMARY_SHIFT: u32 = 9;

/// Where a file's stamps begin that has none.
pub const NO_STAMPS: u64 = u64::MAX;

/// Words of the map `control`.
const WAITING: usize = 0;
const LOST: usize = 1;
const DEVICES: usize = 2;
/// The inode of the entry that represents all files of a device.
const ALL: u64 = 0;

/// What wakes the reader, in the word `WAITING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waking {
    /// Records in the ring.
    Records = 1,
    /// That, and any stamp.
    Anything = 3,
}

/// Loaded and attached programs; all leave the kernel when this is dropped.
pub struct Kernel {
    ebpf: Ebpf,
    /// The programs that report reads.
    on_read: Hook,
    /// While reads are reported.
    reads: Option<Attached>,
    files: HashMap<MapData, [u64; 2], [u64; 4]>,
    /// The amount by which a read's last page is too high.
    past: u64,
    ring: RingBuf<MapData>,
    control: Words,
    stamps: Words,
    summary: Words,
}

impl Kernel {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    ///
    /// The kernel has other events, no BPF, or refuses.
    pub fn open(kind: Kind, options: &FeedOptions) -> Result<Kernel> {
        let unavailable = |why: String| Error::Unavailable { kind, why };
        if cfg!(target_endian = "big") {
            return Err(unavailable("its programs are built for processors that keep the low byte first".to_owned()));
        }
        let tracing = layout::tracing().map_err(unavailable)?;
        let hooks = Hooks::choose(&tracing).map_err(unavailable)?;
        Kernel::load(kind, options, &hooks).map_err(|error| unavailable(refusal(error.as_ref())))
    }

    fn load(kind: Kind, options: &FeedOptions, hooks: &Hooks) -> std::result::Result<Kernel, Box<dyn error::Error>> {
        let stamps = if kind == Kind::Stamps { u32::try_from(options.stamps)?.max(1) } else { 1 };
        let summary = stamps.div_ceil(1 << STAMPS_PER_SUMMARY_SHIFT);
        let mut ebpf = EbpfLoader::new()
            .map_max_entries("files", options.files)
            .map_max_entries("ring", u32::try_from(options.buffer)?)
            .map_max_entries("stamps", stamps)
            .map_max_entries("summary", summary)
            .load(OBJECT)?;
        hooks.all().try_for_each(|hook| hook.load(&mut ebpf))?;
        if let Some(places) = hooks.places {
            let map = ebpf.map_mut("places").ok_or("the object has no places")?;
            Array::<_, FieldOffsets>::try_from(map)?.set(0, places, 0)?;
        }
        let words = |name: &str, words: usize| Words::of(map_fd(&ebpf, name)?, words);
        let (control, stamps, summary) =
            (words("control", 3)?, words("stamps", stamps as usize)?, words("summary", summary as usize)?);
        let ring = RingBuf::try_from(ebpf.take_map("ring").ok_or("the object has no ring")?)?;
        let files = HashMap::try_from(ebpf.take_map("files").ok_or("the object has no files")?)?;
        let mut reads = None;
        for hook in hooks.all() {
            reads = Some(hook.attach(&mut ebpf)?);
        }
        let mut kernel = Kernel { ebpf, on_read: hooks.reads(), reads, files, past: 0, ring, control, stamps, summary };
        kernel.past = past::find(|file, read, heard| {
            kernel.watch(file, u64::MAX, NO_STAMPS, 0).ok()?;
            read();
            kernel.unwatch(file);
            kernel.drain(|_, event| heard(event));
            Some(())
        });
        Ok(kernel)
    }

    /// Watches this file: touches of its first `pages` pages, by stamps of 2^`shift` pages each from `first_stamp` on.
    pub fn watch(&mut self, file: FileId, pages: u64, first_stamp: u64, shift: u32) -> Result<()> {
        let entry = [pages, first_stamp, u64::from(shift), self.past];
        self.files.insert([file.device, file.inode], entry, 0).map_err(|error| Error::Io {
            what: format!("watch inode {} of device {:#x}", file.inode, file.device),
            error: match error {
                MapError::SyscallError(error) => error.io_error,
                other => io::Error::other(other),
            },
        })
    }

    /// Watches every file of this device, one event for each touch.
    pub fn watch_device(&mut self, device: u64) -> Result<()> {
        self.watch(FileId { device, inode: ALL }, u64::MAX, NO_STAMPS, 0)?;
        self.control.all()[DEVICES].fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Tells nothing more of this file.
    pub fn unwatch(&mut self, file: FileId) {
        // It fails only if the file is not watched.
        let _ = self.files.remove(&[file.device, file.inode]);
    }

    /// Attaches or detaches the programs that report reads.
    pub fn reading(&mut self, wanted: bool) -> Result<()> {
        let changed = match (wanted, self.reads.take()) {
            (true, None) => self.on_read.attach(&mut self.ebpf).map(|attached| self.reads = Some(attached)),
            (false, Some(attached)) => self.on_read.detach(&mut self.ebpf, attached),
            (_, reads) => {
                self.reads = reads;
                Ok(())
            }
        };
        changed.map_err(|error| Error::Io {
            what: format!("{} {}", if wanted { "attach to" } else { "leave" }, self.on_read),
            error: io::Error::other(chain(error.as_ref())),
        })
    }

    /// The descriptor that the reader waits on: readable while the ring holds records.
    pub fn ring_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }

    /// Asks to be woken by this; ordered before every later look at stamps and ring.
    pub fn wait_for(&self, what: Waking) {
        self.control.all()[WAITING].swap(what as u64, Ordering::SeqCst);
    }

    /// Nothing needs to wake the reader.
    pub fn awake(&self) {
        self.control.all()[WAITING].store(0, Ordering::Release);
    }

    /// Records that found no room, in all.
    pub fn lost(&self) -> u64 {
        self.control.all()[LOST].load(Ordering::Acquire)
    }

    /// A time for each block, 0 if it was not touched since it was set to 0.
    pub fn stamps(&self) -> &[AtomicU64] {
        self.stamps.all()
    }

    /// A word for each 512 stamps, other than 0 if one of them was set.
    pub fn summary(&self) -> &[AtomicU64] {
        self.summary.all()
    }

    /// Takes what the ring holds, in order.
    pub fn drain(&mut self, mut each: impl FnMut(u64, Event)) {
        while let Some(record) = self.ring.next() {
            if let Some((time, event)) = decoded(&record) {
                each(time, event);
            }
        }
    }
}

/// A record of the ring: `struct record` of the C source.
fn decoded(record: &[u8]) -> Option<(u64, Event)> {
    let long = |at: usize| Some(u64::from_ne_bytes(record.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_ne_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let (time, first) = (long(0)?, long(16)?);
    let file = FileId { device: u64::from(short(24)?), inode: long(8)? };
    let (pages, process) = (short(28)?, short(32)?);
    let touched = |how| Event::Touched { file, first, pages, how, process };
    let event = match short(36)? {
        0 => touched(How::Read),
        1 => touched(How::Fault),
        2 => touched(How::Around),
        3 => Event::Added { file, first, pages },
        4 => Event::Removed { file, first, pages },
        _ => return None,
    };
    Some((time, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        [77u64, 12, 1 << 33].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        [259 << 20 | 2, 16, 4321, what].iter().for_each(|word: &u32| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn records_are_told_as_the_programs_write_them() {
        let file = FileId { device: 259 << 20 | 2, inode: 12 };
        let (first, pages, process) = (1 << 33, 16, 4321);
        for (what, how) in [(0, How::Read), (1, How::Fault), (2, How::Around)] {
            let event = Event::Touched { file, first, pages, how, process };
            assert_eq!(decoded(&record(what)), Some((77, event)));
        }
        assert_eq!(decoded(&record(3)), Some((77, Event::Added { file, first, pages })));
        assert_eq!(decoded(&record(4)), Some((77, Event::Removed { file, first, pages })));
        assert_eq!(decoded(&record(5)), None);
        assert_eq!(decoded(&record(0)[..39]), None);
    }
}
