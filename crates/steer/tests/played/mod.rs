//! A simulated page cache: folios that come by reads and go by advice, without a limit.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::rc::Rc;

use hotset_feed::{Event, FileId, How};
use hotset_steer::{Actuator, Steering};

pub const SECOND: u64 = 1_000_000_000;

pub fn file(number: u64) -> FileId {
    FileId { device: 1, inode: 100 + number }
}

#[derive(Default)]
struct State {
    /// Pages of each folio, by its file and first page.
    folios: BTreeMap<(FileId, u64), u64>,
    /// Folios that do not leave.
    locked: BTreeSet<(FileId, u64)>,
    /// Events not yet reported.
    events: Vec<Event>,
    drops: Vec<FileId>,
    /// First pages of huge folios that are mapped.
    mapped: BTreeSet<(FileId, u64)>,
}

impl State {
    fn add(&mut self, file: FileId, first: u64, pages: u64) {
        self.folios.insert((file, first), pages);
        self.events.push(Event::Added { file, first, pages: pages as u32 });
    }

    fn has(&self, file: FileId, page: u64) -> bool {
        let before = self.folios.range((file, 0)..=(file, page)).next_back();
        before.is_some_and(|(&(_, first), &pages)| page < first + pages)
    }

    fn remove(&mut self, file: FileId, first: u64) {
        let pages = self.folios.remove(&(file, first)).expect("a folio");
        self.events.push(Event::Removed { file, first, pages: pages as u32 });
    }
}

/// The cache; clones are the same one.
#[derive(Clone, Default)]
pub struct Kernel(Rc<RefCell<State>>);

impl Kernel {
    /// Adds an unread folio.
    pub fn add(&self, file: FileId, first: u64, pages: u64) {
        self.0.borrow_mut().add(file, first, pages);
    }

    /// Reads pages; missing ones arrive in folios of this many pages.
    pub fn read(&self, file: FileId, range: Range<u64>, folio: u64) {
        let mut state = self.0.borrow_mut();
        for first in range.clone().step_by(folio as usize) {
            if !state.has(file, first) {
                state.add(file, first, folio);
            }
        }
        let pages = (range.end - range.start) as u32;
        state.events.push(Event::Touched { file, first: range.start, pages, how: How::Read, process: 7 });
    }

    /// Pages are mapped around a fault.
    pub fn fault(&self, file: FileId, range: Range<u64>) {
        let pages = (range.end - range.start) as u32;
        self.0.borrow_mut().events.push(Event::Touched {
            file,
            first: range.start,
            pages,
            how: How::Around,
            process: 7,
        });
    }

    /// Requests a missing page through a mapping: the fault is reported first, then the folio comes.
    pub fn fault_missing(&self, file: FileId, page: u64, folio: Range<u64>) {
        let touched = Event::Touched { file, first: page, pages: 1, how: How::Fault, process: 7 };
        self.0.borrow_mut().events.push(touched);
        self.add(file, folio.start, folio.end - folio.start);
    }

    /// A huge folio that is there is mapped, which is not told.
    pub fn map_silently(&self, file: FileId, first: u64) {
        self.0.borrow_mut().mapped.insert((file, first));
    }

    /// Tells what has happened, and what comes of it.
    pub fn tell(&self, steering: &mut Steering<Kernel>, now: u64) {
        loop {
            let events = std::mem::take(&mut self.0.borrow_mut().events);
            if events.is_empty() && steering.next().is_none_or(|next| next > now) {
                return;
            }
            events.iter().for_each(|event| steering.handle(now, event));
            steering.settle(now);
        }
    }

    /// The kernel takes a folio back.
    pub fn reclaim(&self, file: FileId, first: u64, pages: u64) {
        (first..first + pages).step_by(4).for_each(|first| self.0.borrow_mut().remove(file, first));
    }

    /// Drops the unreported events.
    pub fn lose(&self) {
        self.0.borrow_mut().events.clear();
    }

    pub fn lock(&self, file: FileId, first: u64) {
        self.0.borrow_mut().locked.insert((file, first));
    }

    pub fn unlock(&self, file: FileId, first: u64) {
        self.0.borrow_mut().locked.remove(&(file, first));
    }

    pub fn drops_of(&self, file: FileId) -> usize {
        self.0.borrow().drops.iter().filter(|dropped| **dropped == file).count()
    }

    pub fn pages(&self) -> u64 {
        self.0.borrow().folios.values().sum()
    }

    pub fn pages_of(&self, file: FileId) -> u64 {
        self.resident(file).iter().map(|range| range.end - range.start).sum()
    }

    /// Resident folios of a file.
    pub fn resident(&self, file: FileId) -> Vec<Range<u64>> {
        let state = self.0.borrow();
        state.folios.iter().filter(|((of, _), _)| *of == file).map(|((_, at), pages)| *at..at + pages).collect()
    }

    /// Blocks of so many pages that are resident, at least in part.
    pub fn blocks(&self, pages: u64) -> BTreeSet<(FileId, u64)> {
        let state = self.0.borrow();
        let of = |(&(file, first), &folio): (&(FileId, u64), &u64)| {
            (first / pages..(first + folio).div_ceil(pages)).map(move |block| (file, block))
        };
        state.folios.iter().flat_map(of).collect()
    }
}

impl Actuator for Kernel {
    fn drop(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        state.drops.push(file);
        let inside = state.folios.range((file, pages.start)..(file, pages.end));
        let whole = inside.filter(|((_, first), size)| first + **size <= pages.end).map(|((_, first), _)| *first);
        for first in whole.collect::<Vec<_>>() {
            if !state.locked.contains(&(file, first)) {
                state.remove(file, first);
            }
        }
        Ok(())
    }

    fn fetch(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        for page in pages {
            if !state.has(file, page) {
                state.add(file, page, 1);
            }
        }
        Ok(())
    }

    fn has_mapped(&mut self, file: FileId, page: u64) -> bool {
        self.0.borrow().mapped.contains(&(file, page))
    }
}
