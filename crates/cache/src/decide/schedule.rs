//! The announced order in which files will be opened, and the eviction order that follows from it.
//!
//! Idea: a training sampler and a renderer know in advance which files they will read. The block whose file is opened
//! last leaves first, as in OPT, with files in place of blocks.
//!
//! Source: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966.
//!
//! A use is the position of a file in the order. An open takes the first use of the file that no open has taken yet; a
//! block that is read then has the use after that. Readers may deviate: opens may come out of order, files may be left
//! out or opened more than once.
//!
//! The window. A block may be read again before its file is closed. So the blocks that were referenced last do not
//! leave: 1/64 of the cache, and 1/8 while blocks are read again after more references than the small part has.
//!
//! Other files. The policy decides about files that are not in the order, except that a block leaves first which was
//! not referenced for as many references as twice the capacity.
//!
//! Cost: a reference removes an entry of an ordered set and inserts another. Memory: 8 bytes a use, the paths, and some
//! 100 bytes a resident block.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use hotset_core::policy::Slot;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::source::files::FileNumber;

/// The use of a block that is not used again.
const NEVER: u32 = u32::MAX;

/// A file number without a place in the order.
const UNLISTED: u32 = u32::MAX;

/// Opens that tell the position of the readers: the least of their uses. A single open far ahead does not move it.
const OPENS: usize = 16;

/// Uses of a file so near to each other are taken in order: where the readers are is not known more exactly.
const NEAR: u32 = 2 * OPENS as u32;

/// Uses by which a file may be late: until then its blocks wait for it.
const LATE: u32 = 64;

/// Uses of files that are prefetched ahead of the position.
const AHEAD: u32 = 32;

/// Prefetched files that were passed over before prefetching stops, if fewer were opened.
const WASTED: u64 = 16;

/// Parts of the cache that the window has: at least, and while blocks are read again.
const WINDOWS: [u32; 2] = [64, 8];

/// Part of the references that must be repeats beyond the small window for the large one.
const REPEATS: f64 = 1.0 / 32.0;

/// Part by which a reference moves the average of repeats.
const STEP: f64 = 1.0 / 256.0;

/// A file that will be opened soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// Its position in the order.
    pub position: u32,
    /// Its path in the source.
    pub path: Arc<str>,
}

/// What became of an announced order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct OrderProgress {
    /// Uses in the order.
    pub uses: u32,
    /// Different files in it.
    pub files: u32,
    /// The first use that lies ahead of all readers.
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

/// The announced order, and the resident blocks by their next use.
pub(crate) struct Schedule {
    paths: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
    /// By position: the number of the path.
    order: Vec<u32>,
    /// By number of a path: where its uses begin in `uses`. One more at the end.
    starts: Vec<u32>,
    uses: Vec<u32>,
    /// By number of a path: the first of its uses that no open has taken, as a place in `uses`.
    next: Vec<u32>,
    /// By file number: the number of its path.
    listed: Vec<u32>,
    /// By number of a path: its file number.
    file: Vec<Option<FileNumber>>,
    /// The uses that the last opens have taken.
    opens: VecDeque<u32>,
    /// Nothing was prefetched yet from this position on.
    ahead: u32,
    /// Positions that were prefetched and not opened yet.
    expected: BTreeSet<u32>,
    /// Prefetched files that were opened, and those that were passed over.
    useful: u64,
    wasted: u64,
    /// Prefetches under way.
    under_way: usize,
    ranks: Ranks,
    progress: OrderProgress,
}

/// The resident blocks by the time of their next use.
#[derive(Default)]
struct Ranks {
    /// Blocks of listed files outside of the window: use, rank, slot. Of a file, the last block leaves first; of blocks
    /// that are not used again, the one that was referenced longest ago.
    order: BTreeSet<(u32, u64, Slot)>,
    /// Their entries, with the numbers of their paths. Stale entries of blocks that have left stay until they are met.
    known: FxHashMap<Slot, (u32, u64, u32)>,
    /// The last references to blocks of listed files, the window, and of others, oldest first. An entry is stale if
    /// `last` has another time.
    window: VecDeque<Touch>,
    others: VecDeque<(u64, Slot)>,
    last: FxHashMap<Slot, u64>,
    /// References so far.
    time: u64,
    history: History,
}

/// A reference to a block of a listed file.
#[derive(Clone, Copy)]
struct Touch {
    time: u64,
    slot: Slot,
    address: u64,
    path: u32,
}

/// The references that the large window would have, resident or not.
#[derive(Default)]
struct History {
    addresses: VecDeque<(u64, u64)>,
    /// By address: the time of the last reference.
    last: FxHashMap<u64, u64>,
    /// The recent part of references that repeat one beyond the small window.
    repeats: f64,
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
        let progress =
            OrderProgress { uses: order.len() as u32, files: known.len() as u32, ..OrderProgress::default() };
        let file = vec![None; known.len()];
        let (listed, opens, expected, ranks) = Default::default();
        let (ahead, useful, wasted, under_way) = (0, 0, 0, 0);
        Schedule {
            paths: known,
            numbers,
            order,
            starts,
            uses,
            next,
            listed,
            file,
            opens,
            ahead,
            expected,
            useful,
            wasted,
            under_way,
            ranks,
            progress,
        }
    }

    /// What became of it so far.
    pub fn progress(&self) -> OrderProgress {
        self.progress
    }

    /// The cache has this number for the file at `path`.
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

    /// True if the file is in the order.
    pub fn has(&self, file: FileNumber) -> bool {
        self.path_of(file).is_some()
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

    /// The median of the uses that the last opens have taken: where the readers are, of which some may be far ahead.
    fn now(&self) -> u32 {
        let mut opens: Vec<u32> = self.opens.iter().copied().collect();
        opens.sort_unstable();
        opens.get(opens.len().saturating_sub(1) / 2).copied().unwrap_or(self.progress.position)
    }

    /// The use that an open of a path takes now; `None` for an additional open, soon after the use before.
    fn due(&mut self, path: u32) -> Option<u32> {
        let now = self.now();
        let [start, end] = [0, 1].map(|more| self.starts[path as usize + more] as usize);
        let mut next = self.next[path as usize] as usize;
        // Uses that never came. A few opens do not tell where the readers are.
        while self.opens.len() == OPENS && next + 1 < end && is_past(self.uses[next], self.uses[next + 1], now, 2) {
            next += 1;
        }
        self.next[path as usize] = next as u32;
        let used = *self.uses[..end].get(next)?;
        let is_near = |before: u32| used - before <= NEAR || is_past(before, used, now, 4);
        (next == start || is_near(self.uses[next - 1])).then_some(used)
    }

    /// A file is opened.
    pub fn open(&mut self, file: FileNumber) {
        let Some((path, used)) = self.path_of(file).and_then(|path| Some((path, self.due(path)?))) else {
            self.progress.others += 1;
            return;
        };
        self.next[path as usize] += 1;
        self.progress.opened += 1;
        self.useful += u64::from(self.expected.remove(&used));
        self.opens.push_back(used);
        if self.opens.len() > OPENS {
            self.opens.pop_front();
        }
        // The first opens have nothing before them.
        let least = self.opens.iter().min().copied().unwrap_or_default();
        let is_full = self.opens.len() == OPENS || least < OPENS as u32;
        let position = self.progress.position.max(if is_full { least + 1 } else { 0 });
        self.progress.position = self.passed(position);
        self.progress.is_over = self.progress.position == self.progress.uses;
        self.pass_over();
    }

    /// The position after the uses from `position` on that opens have taken.
    fn passed(&self, position: u32) -> u32 {
        let is_taken =
            |position: u32| self.order.get(position as usize).is_some_and(|&path| self.use_of(path) > position);
        (position..).find(|&position| !is_taken(position)).expect("the order ends")
    }

    /// Drops the uses of files that never came, and counts those that were prefetched.
    fn pass_over(&mut self) {
        let position = self.progress.position;
        while let Some(&first) = self.expected.first()
            && first < position
        {
            self.expected.pop_first();
            self.wasted += 1;
        }
        while let Some(&(used, rank, slot)) = self.ranks.order.first()
            && used.saturating_add(LATE) < position
        {
            let (_, _, path) = self.ranks.known[&slot];
            self.ranks.put(slot, self.use_from(path, position), rank, path);
        }
    }

    /// The first use of a path that no open has taken and that is not too late.
    fn use_from(&self, path: u32, position: u32) -> u32 {
        let left = &self.uses[self.next[path as usize] as usize..self.starts[path as usize + 1] as usize];
        left.iter().copied().find(|used| used.saturating_add(LATE) >= position).unwrap_or(NEVER)
    }

    /// A block of a file is resident after a reference to it.
    pub fn touch(&mut self, slot: Slot, address: u64, file: Option<FileNumber>, capacity: u32) {
        let path = file.and_then(|file| self.path_of(file));
        self.ranks.touch(slot, address, path, capacity);
        self.trim(capacity);
    }

    /// Gives blocks that leave the window their next use.
    fn trim(&mut self, capacity: u32) {
        while let Some(Touch { time, slot, address, path }) = self.ranks.leave_window(capacity) {
            let used = self.use_from(path, self.progress.position);
            self.ranks.put(slot, used, if used == NEVER { u64::MAX - time } else { address }, path);
        }
    }

    /// Starts anew with the resident blocks of a cache of `capacity` blocks. Blocks of other files count as not
    /// referenced for long.
    pub fn restart(&mut self, capacity: u32, resident: impl IntoIterator<Item = (Slot, u64, Option<FileNumber>)>) {
        self.ranks = Ranks::default();
        resident.into_iter().for_each(|(slot, address, file)| self.touch(slot, address, file, capacity));
        self.ranks.time += life(capacity);
        self.ranks.history = History::default();
        self.trim(capacity);
    }

    /// The block that leaves a full cache of `capacity` blocks for one of `file`; `None` if the policy decides.
    pub fn victim(
        &mut self,
        file: Option<FileNumber>,
        capacity: u32,
        is_resident: impl Fn(Slot) -> bool,
    ) -> Option<Slot> {
        if let Some(slot) = self.ranks.oldest_other(life(capacity), &is_resident) {
            return Some(slot);
        }
        self.trim(capacity);
        let (used, slot) = self.ranks.last_used(is_resident)?;
        (used == NEVER || file.is_some_and(|file| self.has(file))).then_some(slot)
    }

    /// At most `most` files that are opened next and were not returned yet, less those under way. Nothing once more of
    /// them were passed over than opened.
    pub fn upcoming(&mut self, most: usize) -> Vec<(Upcoming, Option<FileNumber>)> {
        if self.wasted > WASTED.max(self.useful) {
            return Vec::new();
        }
        let OrderProgress { position, uses, .. } = self.progress;
        let end = position.saturating_add(AHEAD).min(uses);
        let mut found = Vec::new();
        self.ahead = self.ahead.max(position);
        while self.ahead < end && self.under_way + found.len() < most {
            let (at, path) = (self.ahead, self.order[self.ahead as usize]);
            self.ahead += 1;
            if self.use_of(path) == at {
                found.push((
                    Upcoming { position: at, path: self.paths[path as usize].clone() },
                    self.file[path as usize],
                ));
            }
        }
        found
    }

    /// A prefetch begins.
    pub fn begin_prefetch(&mut self, upcoming: &Upcoming) {
        self.under_way += 1;
        self.expected.insert(upcoming.position);
    }

    /// A prefetch has ended. True if it has read something.
    pub fn end_prefetch(&mut self, has_read: bool) {
        self.under_way = self.under_way.saturating_sub(1);
        self.progress.prefetched += u64::from(has_read);
    }
}

/// True if this part of the way from one use to the next lies behind the readers, and the way is not short.
fn is_past(before: u32, used: u32, now: u32, part: u32) -> bool {
    used - before > NEAR && now >= before + (used - before) / part
}

/// References for which a block of another file is left to the policy.
fn life(capacity: u32) -> u64 {
    2 * u64::from(capacity)
}

impl Ranks {
    fn touch(&mut self, slot: Slot, address: u64, path: Option<u32>, capacity: u32) {
        self.time += 1;
        self.take(slot);
        self.last.insert(slot, self.time);
        match path {
            Some(path) => {
                self.history.note(address, self.time, capacity);
                self.window.push_back(Touch { time: self.time, slot, address, path });
            }
            None => self.others.push_back((self.time, slot)),
        }
    }

    /// A block that is no longer among the last that were referenced.
    fn leave_window(&mut self, capacity: u32) -> Option<Touch> {
        let length = self.history.window(capacity);
        loop {
            let &touch = self.window.front()?;
            let is_valid = self.last.get(&touch.slot) == Some(&touch.time);
            if is_valid && touch.time + length >= self.time {
                return None;
            }
            self.window.pop_front();
            if is_valid {
                return Some(touch);
            }
        }
    }

    fn put(&mut self, slot: Slot, used: u32, rank: u64, path: u32) {
        self.take(slot);
        self.known.insert(slot, (used, rank, path));
        self.order.insert((used, rank, slot));
    }

    fn take(&mut self, slot: Slot) {
        if let Some((used, rank, _)) = self.known.remove(&slot) {
            self.order.remove(&(used, rank, slot));
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
            if self.last.get(&slot) == Some(&referenced) && is_resident(slot) {
                return (referenced + life <= self.time).then_some(slot);
            }
            self.others.pop_front();
        }
    }
}

impl History {
    /// A block is referenced.
    fn note(&mut self, address: u64, time: u64, capacity: u32) {
        let [small, large] = WINDOWS.map(|part| u64::from(capacity / part));
        let before = self.last.insert(address, time);
        let is_repeat = before.is_some_and(|before| (small + 1..=large).contains(&(time - before)));
        self.repeats += STEP * (f64::from(u8::from(is_repeat)) - self.repeats);
        self.addresses.push_back((time, address));
        while let Some(&(referenced, address)) = self.addresses.front()
            && referenced + large < time
        {
            self.addresses.pop_front();
            if self.last.get(&address) == Some(&referenced) {
                self.last.remove(&address);
            }
        }
    }

    /// References that the window has now.
    fn window(&self, capacity: u32) -> u64 {
        u64::from(capacity / WINDOWS[usize::from(self.repeats > REPEATS)])
    }
}
