//! Feeds by BPF: an event each, or times of blocks for reads.
//!
//! Idea: who only wants to know what was touched since it last looked needs no event for each read. The kernel's side
//! writes the time into a word of the block; this side takes the words that changed and puts them in order among the
//! other events. A summary says which 512 stamps to look at, and the kernel wakes this side only while it sleeps.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::kernel::{Kernel, NO_STAMPS, STAMPS_PER_SUMMARY_SHIFT, Waking};
use super::room::FreeStamps;
use crate::clock;
use crate::{Event, Feed, FeedOptions, FileId, How, Kind, Result};

/// The time after a batch in which nothing is read, so that close events arrive together.
const GAP: Duration = Duration::from_millis(1);
/// The same with a ring that every read fills.
const RING_GAP: Duration = Duration::from_millis(2);
/// The time after a batch that touches alone may wait; added and removed pages do not wait.
const CALM: Duration = Duration::from_millis(20);

/// A file with stamps.
#[derive(Clone, Debug)]
struct Stamped {
    file: FileId,
    /// Its end among the stamps.
    end: u64,
}

/// The known state of a watched file.
#[derive(Clone, Debug)]
struct Watched {
    pages: u64,
    stamps: Option<Range<u64>>,
}

/// A feed by BPF.
pub struct Bpf {
    kernel: Kernel,
    kind: Kind,
    /// Pages of a stamp, as a power of two.
    shift: u32,
    watched: FxHashMap<FileId, Watched>,
    /// Devices all of whose files are watched.
    devices: Vec<u64>,
    room: FreeStamps,
    /// Files by where their stamps begin.
    stamped: BTreeMap<u64, Stamped>,
    /// Ranges whose files are no longer there: a program may still be writing, so they are free after the next look.
    leaving: Vec<Range<u64>>,
    /// Events that were read and not yet delivered.
    pending: Vec<(u64, Event)>,
    /// Records that were lost and told.
    lost: u64,
    /// When the last batch was handed on.
    last: u64,
}

impl Bpf {
    /// Opens a feed by stamps or ring.
    ///
    /// # Errors
    ///
    /// See [`Kernel::open`].
    pub fn open(kind: Kind, options: &FeedOptions) -> Result<Bpf> {
        let kernel = Kernel::open(kind, options)?;
        let stamps = if kind == Kind::Stamps { kernel.stamps().len() as u64 } else { 0 };
        Ok(Bpf {
            kernel,
            kind,
            shift: options.pages_per_stamp.max(1).next_power_of_two().ilog2(),
            watched: FxHashMap::default(),
            devices: Vec::new(),
            room: FreeStamps::new(stamps),
            stamped: BTreeMap::new(),
            leaving: Vec::new(),
            pending: Vec::new(),
            lost: 0,
            last: 0,
        })
    }

    /// Stamps for a file of this many pages: those that it has, or new ones, with room to grow if it grew.
    fn stamps_for(&mut self, file: FileId, pages: u64) -> Option<Range<u64>> {
        let wanted = pages.div_ceil(1 << self.shift).max(1);
        let held = self.watched.get(&file).and_then(|watched| watched.stamps.clone());
        if let Some(held) = &held
            && held.end - held.start >= wanted
        {
            return Some(held.clone());
        }
        let found = match &held {
            Some(_) => self.room.take(wanted.next_power_of_two()).or_else(|| self.room.take(wanted)),
            None => self.room.take(wanted),
        };
        self.leaving.extend(held);
        if let Some(range) = &found {
            self.stamped.insert(range.start, Stamped { file, end: range.end });
        }
        found
    }

    /// Waits until there is something, at most until `deadline`.
    fn rest(&mut self, deadline: u64) -> Result<()> {
        if !self.pending.is_empty() {
            return Ok(());
        }
        let gap = if self.kind == Kind::Ring { RING_GAP } else { GAP };
        clock::sleep_until((self.last + nanos(gap)).min(deadline));
        if self.kind == Kind::Stamps {
            self.sleep(Waking::Records, (self.last + nanos(CALM)).min(deadline))?;
        }
        if !self.is_stamped() {
            self.sleep(Waking::Anything, deadline)?;
        }
        Ok(())
    }

    /// Sleeps until `deadline`, or what wakes.
    fn sleep(&self, by: Waking, deadline: u64) -> Result<()> {
        self.kernel.wait_for(by);
        let slept = match by == Waking::Anything && self.is_stamped() {
            true => Ok(()),
            false => clock::wait(self.kernel.ring_fd(), deadline),
        };
        self.kernel.awake();
        slept
    }

    /// True if a stamp was set since the last look.
    fn is_stamped(&self) -> bool {
        self.used_summary().any(|chunk| self.kernel.summary()[chunk].load(Ordering::SeqCst) != 0)
    }

    /// Words of the summary up to the last one in use.
    fn used_summary(&self) -> Range<usize> {
        let end = self.stamped.last_key_value().map_or(0, |(_, stamped)| stamped.end);
        0..end.div_ceil(1 << STAMPS_PER_SUMMARY_SHIFT) as usize
    }

    /// Takes the stamps that were set.
    fn take_stamps(&mut self) {
        for chunk in self.used_summary() {
            let word = &self.kernel.summary()[chunk];
            if word.load(Ordering::Relaxed) != 0 {
                word.swap(0, Ordering::SeqCst);
                let first = (chunk as u64) << STAMPS_PER_SUMMARY_SHIFT;
                self.take_stamps_in(first..first + (1 << STAMPS_PER_SUMMARY_SHIFT));
            }
        }
        for range in std::mem::take(&mut self.leaving) {
            self.stamped.remove(&range.start);
            self.kernel.stamps()[range.start as usize..range.end as usize]
                .iter()
                .for_each(|stamp| stamp.store(0, Ordering::Relaxed));
            self.room.release(range);
        }
    }

    /// Takes the stamps of these numbers: neighbours with one time are one touch.
    fn take_stamps_in(&mut self, numbers: Range<u64>) {
        let mut from = numbers.start;
        if let Some((&start, _)) = self.stamped.range(..=from).next_back() {
            from = start;
        }
        for (&start, Stamped { file, end }) in self.stamped.range(from..numbers.end) {
            let Some(pages) = self.watched.get(file).map(|watched| watched.pages) else { continue };
            let within = start.max(numbers.start)..(*end).min(numbers.end);
            let mut run: Option<(u64, Range<u64>)> = None;
            for number in within {
                let stamp = &self.kernel.stamps()[number as usize];
                // Most stamps of a chunk are 0, and a swap takes its line from the other side.
                let time = if stamp.load(Ordering::Relaxed) == 0 { 0 } else { stamp.swap(0, Ordering::AcqRel) };
                match &mut run {
                    Some((at, blocks)) if *at == time => blocks.end += 1,
                    _ => {
                        self.pending.extend(run.take().and_then(|run| touched(*file, pages, start, self.shift, run)));
                        run = (time != 0).then(|| (time, number..number + 1));
                    }
                }
            }
            self.pending.extend(run.take().and_then(|run| touched(*file, pages, start, self.shift, run)));
        }
    }
}

/// A touch of these stamps at this time, of a file whose stamps begin at `start`; none if they lie behind its end.
fn touched(
    file: FileId,
    pages: u64,
    start: u64,
    shift: u32,
    (time, stamps): (u64, Range<u64>),
) -> Option<(u64, Event)> {
    let first = (stamps.start - start) << shift;
    let end = ((stamps.end - start) << shift).min(pages);
    let pages = u32::try_from(end.checked_sub(first)?).ok().filter(|&pages| pages > 0)?;
    Some((time, Event::Touched { file, first, pages, how: How::Read, process: 0 }))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Feed for Bpf {
    fn watch(&mut self, file: FileId, size: u64) -> Result<()> {
        let pages = size.div_ceil(rustix::param::page_size() as u64);
        let stamps = if self.kind == Kind::Stamps { self.stamps_for(file, pages) } else { None };
        let first_stamp = stamps.as_ref().map_or(NO_STAMPS, |range| range.start);
        self.watched.insert(file, Watched { pages, stamps });
        let watched = self.kernel.watch(file, pages, first_stamp, self.shift);
        if watched.is_err() {
            self.unwatch(file);
        }
        watched
    }

    fn watch_device(&mut self, device: u64) -> Result<()> {
        self.kernel.watch_device(device)?;
        self.devices.push(device);
        Ok(())
    }

    fn unwatch(&mut self, file: FileId) {
        self.kernel.unwatch(file);
        self.leaving.extend(self.watched.remove(&file).and_then(|watched| watched.stamps));
    }

    fn poll(&mut self, timeout: Duration, each: &mut dyn FnMut(u64, Event)) -> Result<usize> {
        self.rest(clock::now().saturating_add(nanos(timeout)))?;
        let now = clock::now();
        self.take_stamps();
        let Bpf { kernel, pending, watched, devices, .. } = self;
        kernel.drain(|time, event| pending.push((time, event)));
        let lost = kernel.lost();
        // What happened since may stand behind a touch that was not seen: it is for the next time.
        let mut ready = std::mem::take(pending);
        if self.kind == Kind::Stamps {
            ready.sort_by_key(|(time, _)| *time);
            let later = ready.partition_point(|(time, _)| *time <= now);
            *pending = ready.split_off(later);
        }
        let is_watched = |file: FileId| watched.contains_key(&file) || devices.contains(&file.device);
        ready.retain(|(_, event)| event.file().is_some_and(is_watched));
        if lost > self.lost {
            ready.push((now, Event::Lost(lost - self.lost)));
            self.lost = lost;
        }
        if !ready.is_empty() {
            self.last = now;
        }
        ready.iter().for_each(|&(time, event)| each(time, event));
        Ok(ready.len())
    }

    fn reading(&mut self, wanted: bool) -> Result<()> {
        self.kernel.reading(wanted)
    }
}
