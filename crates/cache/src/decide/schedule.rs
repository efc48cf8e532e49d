//! The announced order in which files will be opened, and the eviction order that follows from it.
//!
//! Idea: a training sampler and a renderer know in advance which files they will read. The block of the file that is
//! opened last leaves first, and a block that is used later than every resident block goes past the cache: that is OPT
//! with bypass, on real requests and with files in place of blocks.
//!
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966.
//!
//! A use is the position of a file in the order. Its blocks have that use until the file is opened; a block that is
//! read after that has the file's next use. Readers may deviate: opens may come out of order, and files that never come
//! lose their use once [`LATE`] later ones were opened.
//!
//! Other files. The policy decides about files that are not in the order, except that a block leaves first which was
//! not referenced for as many references as twice the capacity.
//!
//! Cost: a reference removes an entry of an ordered set and inserts another. Memory: 8 bytes a use, the paths, and some
//! 60 bytes a resident block.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hotset_core::policy::Slot;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::source::files::FileNumber;

/// The use of a block that is not used again.
const NEVER: u32 = u32::MAX;

/// A file number without a place in the order.
const UNLISTED: u32 = u32::MAX;

/// Opens by which a file may be late.
const LATE: u32 = 1024;

/// Opens by which a file may be early that was opened before. An open that would be earlier is an additional one.
const EARLY: u32 = 4096;

/// Uses of files that are prefetched at once.
const AHEAD: u32 = 32;

/// A file that will be opened soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// Its position in the order.
    pub position: u32,
    /// Its path in the source.
    pub path: Arc<str>,
}

/// What became of an announced order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Uses in the order.
    pub uses: u32,
    /// Different files in it.
    pub files: u32,
    /// The first use that lies ahead.
    pub position: u32,
    /// Opens that the order foresaw.
    pub opened: u64,
    /// Opens of other files, and additional ones.
    pub others: u64,
    /// Files that were prefetched.
    pub prefetched: u64,
    /// True once the whole order was opened. The policy decides alone from then on.
    pub is_over: bool,
}

/// What becomes of a reference that finds the cache full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// This block leaves, and the referenced one is admitted.
    Evict(Slot),
    /// The referenced block is not admitted.
    Bypass,
    /// The policy decides.
    Policy,
}

/// The announced order, and the resident blocks by their next use.
pub(crate) struct Schedule {
    paths: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
    /// By position: the number of the path.
    order: Vec<u32>,
    /// By number of a path: where its uses begin in `uses`. One more at the end.
    starts: Vec<u32>,
    uses: Vec<u32>,
    /// By number of a path: the first of its uses that lies ahead, as a place in `uses`.
    next: Vec<u32>,
    /// By file number: the number of its path.
    listed: Vec<u32>,
    /// By number of a path: its file number.
    file: Vec<Option<FileNumber>>,
    /// Nothing was prefetched yet from this position on.
    ahead: u32,
    ranks: Ranks,
    progress: Progress,
}

/// The resident blocks by the time of their next use.
#[derive(Default)]
struct Ranks {
    /// Blocks of listed files: use, address, slot. Of a file, the last block leaves first.
    order: BTreeSet<(u32, u64, Slot)>,
    /// Their entries, with the numbers of their paths. Stale entries of blocks that have left stay until they are met.
    known: FxHashMap<Slot, (u32, u64, u32)>,
    /// References to blocks of other files, oldest first. An entry is stale if `last` has another time.
    others: VecDeque<(u64, Slot)>,
    last: FxHashMap<Slot, u64>,
    /// References so far.
    time: u64,
}

impl Schedule {
    /// An order of paths as the cache knows them.
    pub fn new(paths: impl IntoIterator<Item = String>) -> Schedule {
        let (mut known, mut numbers, mut order) = (Vec::<Arc<str>>::new(), FxHashMap::default(), Vec::new());
        for path in paths {
            let path: Arc<str> = path.into();
            let number = *numbers.entry(path.clone()).or_insert_with(|| {
                known.push(path);
                known.len() as u32 - 1
            });
            order.push(number);
        }
        let mut starts = vec![0; known.len() + 1];
        order.iter().for_each(|&number| starts[number as usize + 1] += 1);
        (1..starts.len()).for_each(|place| starts[place] += starts[place - 1]);
        let (mut next, mut uses) = (starts[..known.len()].to_vec(), vec![0; order.len()]);
        for (position, &number) in (0..).zip(&order) {
            uses[next[number as usize] as usize] = position;
            next[number as usize] += 1;
        }
        next.copy_from_slice(&starts[..known.len()]);
        let progress = Progress { uses: order.len() as u32, files: known.len() as u32, ..Progress::default() };
        let (file, listed) = (vec![None; known.len()], Vec::new());
        let ranks = Ranks::default();
        Schedule { paths: known, numbers, order, starts, uses, next, listed, file, ahead: 0, ranks, progress }
    }

    /// What became of it so far.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The cache gives this number to the file at `path`.
    pub fn add(&mut self, file: FileNumber, path: &str) {
        let place = file as usize;
        if place >= self.listed.len() {
            self.listed.resize(place + 1, UNLISTED);
        }
        self.listed[place] = self.numbers.get(path).copied().unwrap_or(UNLISTED);
        if let Some(known) = self.file.get_mut(self.listed[place] as usize) {
            *known = Some(file);
        }
    }

    /// The number of its path, if the file is in the order.
    fn path_of(&self, file: FileNumber) -> Option<u32> {
        self.listed.get(file as usize).copied().filter(|&path| path != UNLISTED)
    }

    /// The next use of a path.
    fn use_of(&self, path: u32) -> u32 {
        let next = self.next[path as usize];
        if next < self.starts[path as usize + 1] { self.uses[next as usize] } else { NEVER }
    }

    /// A file is opened.
    pub fn open(&mut self, file: FileNumber) {
        let Some(path) = self.path_of(file) else {
            self.progress.others += 1;
            return;
        };
        let is_first = self.next[path as usize] == self.starts[path as usize];
        self.skip_late(path);
        let used = self.use_of(path);
        if used == NEVER || (!is_first && used > self.progress.position.saturating_add(EARLY)) {
            self.progress.others += 1;
            return;
        }
        self.next[path as usize] += 1;
        self.progress.opened += 1;
        self.progress.position = self.progress.position.max(used + 1);
        self.progress.is_over = self.progress.position == self.progress.uses;
        // Blocks of files that never came.
        while let Some(&(used, _, slot)) = self.ranks.order.first()
            && used.saturating_add(LATE) < self.progress.position
        {
            let (_, address, path) = self.ranks.known[&slot];
            self.skip_late(path);
            self.ranks.put(slot, address, path, self.use_of(path));
        }
    }

    /// Drops the uses of a path that are too long ago.
    fn skip_late(&mut self, path: u32) {
        while self.use_of(path).saturating_add(LATE) < self.progress.position {
            self.next[path as usize] += 1;
        }
    }

    /// A block of a file is resident after a reference to it.
    pub fn touch(&mut self, slot: Slot, address: u64, file: Option<FileNumber>) {
        self.ranks.time += 1;
        match file.and_then(|file| self.path_of(file)) {
            Some(path) => {
                self.ranks.last.remove(&slot);
                self.ranks.put(slot, address, path, self.use_of(path));
            }
            None => {
                self.ranks.take(slot);
                self.ranks.last.insert(slot, self.ranks.time);
                self.ranks.others.push_back((self.ranks.time, slot));
            }
        }
    }

    /// Starts anew with the resident blocks of a cache of `capacity` blocks. Blocks of other files count as not
    /// referenced for long.
    pub fn restart(&mut self, capacity: u32, resident: impl IntoIterator<Item = (Slot, u64, Option<FileNumber>)>) {
        self.ranks = Ranks::default();
        resident.into_iter().for_each(|(slot, address, file)| self.touch(slot, address, file));
        self.ranks.time += life(capacity);
    }

    /// What becomes of a reference to a block of `file` that is not resident, in a full cache of `capacity` blocks.
    pub fn choose(&mut self, file: Option<FileNumber>, capacity: u32, is_resident: impl Fn(Slot) -> bool) -> Choice {
        if let Some(slot) = self.ranks.oldest_other(life(capacity), &is_resident) {
            return Choice::Evict(slot);
        }
        let last = self.ranks.last_used(is_resident);
        match (file.and_then(|file| self.path_of(file)).map(|path| self.use_of(path)), last) {
            (Some(used), Some((last, slot))) if used < last => Choice::Evict(slot),
            (Some(_), Some(_)) => Choice::Bypass,
            (None, Some((NEVER, slot))) => Choice::Evict(slot),
            _ => Choice::Policy,
        }
    }

    /// The files that are opened next and were not returned yet.
    pub fn upcoming(&mut self) -> Vec<(Upcoming, Option<FileNumber>)> {
        let Progress { position, uses, .. } = self.progress;
        let from = self.ahead.max(position);
        self.ahead = from.max(position.saturating_add(AHEAD).min(uses));
        let upcoming = |position: u32| {
            let path = self.order[position as usize];
            (Upcoming { position, path: self.paths[path as usize].clone() }, self.file[path as usize])
        };
        (from..self.ahead).map(upcoming).collect()
    }

    /// A file was prefetched.
    pub fn count_prefetched(&mut self) {
        self.progress.prefetched += 1;
    }

    /// The file at this position could not be prefetched yet.
    pub fn give_back(&mut self, position: u32) {
        self.ahead = self.ahead.min(position);
    }
}

/// References for which a block of another file is left to the policy.
fn life(capacity: u32) -> u64 {
    2 * u64::from(capacity)
}

impl Ranks {
    fn put(&mut self, slot: Slot, address: u64, path: u32, used: u32) {
        self.take(slot);
        self.known.insert(slot, (used, address, path));
        self.order.insert((used, address, slot));
    }

    fn take(&mut self, slot: Slot) {
        if let Some((used, address, _)) = self.known.remove(&slot) {
            self.order.remove(&(used, address, slot));
        }
    }

    /// The resident block of a listed file that is used last, with its use.
    fn last_used(&mut self, is_resident: impl Fn(Slot) -> bool) -> Option<(u32, Slot)> {
        loop {
            let &(used, _, slot) = self.order.last()?;
            if is_resident(slot) {
                return Some((used, slot));
            }
            self.take(slot);
        }
    }

    /// The resident block of another file that was referenced longest ago, if that is long ago.
    fn oldest_other(&mut self, life: u64, is_resident: impl Fn(Slot) -> bool) -> Option<Slot> {
        if self.others.len() as u64 > 2 * life + 1024 {
            let last = &self.last;
            self.others.retain(|(time, slot)| last.get(slot) == Some(time));
        }
        loop {
            let &(referenced, slot) = self.others.front()?;
            let is_valid = self.last.get(&slot) == Some(&referenced);
            if is_valid && is_resident(slot) {
                return (referenced + life <= self.time).then_some(slot);
            }
            if is_valid {
                self.last.remove(&slot);
            }
            self.others.pop_front();
        }
    }
}
