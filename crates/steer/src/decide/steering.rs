//! The decisions: the kernel is made to hold the blocks that the policy holds. No clock, no files, no threads.
//!
//! A block that the policy evicts is dropped as soon as nothing prevents it: a folio only when the policy holds none of
//! its blocks, and not within [`PROTECTED`] of its arrival if it was read ahead and not read since. A page that the
//! kernel does not drop, because it is dirty, locked or mapped, is tried again [`ATTEMPTS`] times at growing distances,
//! and then left to the kernel. A block that the policy does not admit is dropped after its reader has moved on.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use hotset_core::classify::Rules;
use hotset_core::host::Shadows;
use hotset_core::policy::{App, Outcome, PolicySpec};
use hotset_feed::{Event, FileId, How};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::decide::follower::{Address, Follower, address, place};
use crate::decide::marks::{Mark, Marks, Naming};
use crate::decide::mirror::Mirror;
use crate::decide::pending::Pending;
use crate::error::SteerError;
use crate::kernel::PAGE;
use crate::kernel::actuate::Actuator;

/// A model of the kernel without steering.
const BASELINE: &str = "linux";

/// Nanoseconds that pages that were read ahead stay though the policy does not hold them.
pub const PROTECTED: u64 = 3_000_000_000;
/// How often a block is dropped that does not leave.
pub const ATTEMPTS: u32 = 8;
/// Nanoseconds until it is looked whether a block has left; they double with each attempt.
const PATIENCE: u64 = 20_000_000;
/// References to the last so many blocks are one reference: readers go through a block in many small steps.
const MERGED: usize = 8;
/// Pages of a folio that is mapped at once, and how many faults are remembered until their pages come.
const HUGE: u64 = 512;
const FAULTS: usize = 64;
/// Nanoseconds between checks for huge folios that were mapped without an event, and the duration of these checks.
const LOOK: u64 = 20_000_000;
const LOOKS: u64 = 10_000_000_000;

/// Counts of decisions and events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SteerCounts {
    /// Blocks referenced; repeats of the last few are one.
    pub references: u64,
    /// Those that the policy did not hold.
    pub misses: u64,
    /// Those that the kernel alone would not have held, by the model `linux` with all memory that it has.
    pub kernel_misses: u64,
    /// Pages that came into the page cache.
    pub pages_read: u64,
    /// Pages that have left because they were dropped, each time once.
    pub pages_dropped: u64,
    /// Pages that the kernel took while it was steered though the policy held their blocks.
    pub pages_taken: u64,
    /// Pages that were fetched because the policy wanted them.
    pub pages_fetched: u64,
    /// Blocks that did not leave however often they were dropped.
    pub left_to_kernel: u64,
    /// How often a drop or a fetch failed as such: the file was gone or another one, a right was missing, or too many
    /// drops waited already.
    pub failed: u64,
    /// Events that the kernel could not tell.
    pub lost: u64,
}

/// The references of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppCounts {
    /// Its name.
    pub name: String,
    /// Blocks referenced.
    pub references: u64,
    /// Those that the policy did not hold.
    pub misses: u64,
}

/// The attributes that a policy receives with a read.
#[derive(Default)]
pub struct Telling {
    /// The user's own classes.
    pub rules: Option<Rules>,
    /// Which process is of which application, where events tell processes.
    pub naming: Option<Naming>,
}

/// The policy, what the kernel holds, and what has to be done about it.
pub struct Steering<A> {
    policy: Follower,
    marks: Marks,
    /// The kernel on the same stream.
    kernel: Follower,
    mirror: Mirror,
    pending: Pending,
    actuator: A,
    /// Pages of a block.
    block: u64,
    numbers: FxHashMap<FileId, u32>,
    files: Vec<Option<FileId>>,
    free: Vec<u32>,
    recent: [Address; MERGED],
    /// The last faults of pages that were not there, with their processes: by file and page.
    faults: VecDeque<(u32, u64, u32)>,
    /// Files that were mapped, and their huge folios without touch events, by file and page: since when.
    mapped: FxHashSet<u32>,
    unheard: BTreeMap<(u32, u64), u64>,
    /// When it was looked last whether these are mapped.
    looked: u64,
    /// By process, the block that was not admitted and that it reads.
    leaving: FxHashMap<u32, Address>,
    is_acting: bool,
    counts: SteerCounts,
    /// By application, references and misses.
    apps: Vec<(u64, u64)>,
}

impl<A: Actuator> Steering<A> {
    /// A policy over blocks of `block` bytes that may hold `capacity` of them, beside a kernel that may hold `kernel`.
    ///
    /// # Errors
    ///
    /// The policy needs more than the kernel tells, or cannot be built at this size.
    pub fn new(
        spec: &PolicySpec,
        block: u64,
        capacity: u32,
        kernel: u32,
        telling: Telling,
        actuator: A,
    ) -> Result<Steering<A>, SteerError> {
        if !block.is_power_of_two() || !(PAGE..=2 << 20).contains(&block) {
            return Err(SteerError::Block(block));
        }
        let linux = PolicySpec::parse(BASELINE).map_err(hotset_core::host::Refusal::Spec)?;
        let (policy, marks) = Follower::new(spec, capacity, block, telling.rules, telling.naming)?;
        let (mut kernel, _) = Follower::new(&linux, kernel, block, None, None)?;
        kernel.shadows = None;
        Ok(Steering {
            policy,
            marks,
            kernel,
            mirror: Mirror::default(),
            pending: Pending::default(),
            actuator,
            block: block / PAGE,
            numbers: FxHashMap::default(),
            files: Vec::new(),
            free: Vec::new(),
            recent: [Address::MAX; MERGED],
            faults: VecDeque::new(),
            mapped: FxHashSet::default(),
            unheard: BTreeMap::new(),
            looked: 0,
            leaving: FxHashMap::default(),
            is_acting: false,
            counts: SteerCounts::default(),
            apps: Vec::new(),
        })
    }

    /// The counts so far.
    pub fn counts(&self) -> SteerCounts {
        let (policy, kernel) = (&self.policy, &self.kernel);
        SteerCounts {
            references: policy.references,
            misses: policy.misses,
            kernel_misses: kernel.misses,
            ..self.counts
        }
    }

    /// The same by application, where the policy treats them apart; those that have referenced something.
    pub fn apps(&self) -> Vec<AppCounts> {
        let named = self.marks.known().iter().zip(&self.apps).filter(|(_, (references, _))| *references > 0);
        let told = |(app, &(references, misses)): (&App, &(u64, u64))| AppCounts {
            name: app.name.clone(),
            references,
            misses,
        };
        named.map(told).collect()
    }

    /// Estimates for other sizes and policies, if there are any.
    pub fn shadows(&self) -> Option<&Shadows> {
        self.policy.shadows.as_ref()
    }

    /// Blocks that the policy may hold.
    pub fn capacity(&self) -> u32 {
        self.policy.capacity()
    }

    /// Blocks that it holds.
    pub fn held(&self) -> u32 {
        self.policy.len()
    }

    /// True if the policy holds the block of this page.
    pub fn holds(&self, file: FileId, page: u64) -> bool {
        self.numbers.get(&file).is_some_and(|&number| self.policy.holds(address(number, (page / self.block) as u32)))
    }

    /// The pages of a file whose blocks the policy holds, in no order; a block may reach beyond the end of the file.
    pub fn pages_held(&self, file: FileId) -> impl Iterator<Item = u64> {
        let blocks = self.numbers.get(&file).into_iter().flat_map(|&number| self.policy.held(number));
        blocks.flat_map(|block| u64::from(block) * self.block..(u64::from(block) + 1) * self.block)
    }

    /// Pages of watched files that the kernel holds.
    pub fn resident(&self) -> u64 {
        self.mirror.pages()
    }

    /// What acts, to be looked at.
    pub fn ground(&self) -> &A {
        &self.actuator
    }

    /// What acts.
    pub fn actuator(&mut self) -> &mut A {
        &mut self.actuator
    }

    /// When [`settle`](Steering::settle) has something to do next, in nanoseconds.
    pub fn next(&self) -> Option<u64> {
        let look = (!self.unheard.is_empty()).then_some(self.looked + LOOK);
        self.pending.next().into_iter().chain(look).min()
    }

    /// Blocks that wait to be dropped.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Sets the path and the size of a file, for policies that distinguish kinds of files.
    pub fn describe(&mut self, file: FileId, path: &str, bytes: u64) {
        let number = self.number(file);
        self.marks.describe(number, path, bytes);
    }

    /// The file is steered from now on; `resident` are its pages that the kernel holds.
    pub fn watch(&mut self, file: FileId, resident: &[Range<u64>], at: u64) {
        let number = self.number(file);
        self.mirror.forget(number);
        for range in resident {
            range.clone().for_each(|page| self.mirror.add(number, page..page + 1, at));
            self.mirror.touch(number, range.clone());
        }
        let mark = self.marks.of(number, 0, at);
        for block in self.resident_blocks(number) {
            // Resident blocks stay until better ones arrive; beyond the capacity, their value is unknown.
            if self.policy.len() < self.policy.capacity() && !self.policy.holds(block) {
                self.policy.seed(block, mark, at);
            }
            if self.kernel.len() < self.kernel.capacity() && !self.kernel.holds(block) {
                self.kernel.seed(block, Mark::default(), at);
            }
            self.reconsider(block, at);
        }
    }

    /// The file is gone.
    pub fn forget(&mut self, file: FileId) {
        let Some(number) = self.numbers.remove(&file) else { return };
        self.policy.forget(number);
        self.marks.forget(number);
        self.kernel.forget(number);
        self.policy.take_released();
        self.mirror.forget(number);
        self.mapped.remove(&number);
        self.unheard.retain(|(of, _), _| *of != number);
        self.files[number as usize] = None;
        self.free.push(number);
        self.recent = [Address::MAX; MERGED];
    }

    /// True if this file is watched.
    pub fn is_watched(&self, file: FileId) -> bool {
        self.numbers.contains_key(&file)
    }

    /// Files that are watched.
    pub fn watched(&self) -> Vec<FileId> {
        self.files.iter().copied().flatten().collect()
    }

    /// Changes what the policy and the kernel may hold, in blocks.
    pub fn resize(&mut self, capacity: u32, kernel: u32, at: u64) {
        self.policy.resize(capacity);
        self.kernel.resize(kernel);
        self.kernel.take_released();
        self.let_go(at);
    }

    /// Begins to act: pages that the policy does not hold are dropped.
    pub fn act(&mut self, at: u64) {
        self.is_acting = true;
        for number in 0..self.files.len() as u32 {
            for block in self.resident_blocks(number) {
                self.reconsider(block, at);
            }
        }
    }

    /// Leaves everything to the kernel.
    pub fn rest(&mut self) {
        self.is_acting = false;
        self.pending.clear();
        self.leaving.clear();
    }

    /// Drops all resident pages at once, even those in use, so that the next phase begins empty. Pages that are dirty,
    /// locked or mapped twice stay.
    pub fn drop_all(&mut self) {
        for (number, file) in self.files.iter().enumerate() {
            let (number, Some(file)) = (number as u32, *file) else { continue };
            for pages in self.mirror.resident(number) {
                self.mirror.drop(number, pages.clone());
                self.counts.failed += u64::from(self.actuator.drop(file, pages).is_err());
            }
        }
    }

    /// Handles an event of the kernel.
    pub fn handle(&mut self, at: u64, event: &Event) {
        let Some(&number) = event.file().and_then(|file| self.numbers.get(&file)) else {
            if let Event::Lost(events) = event {
                self.counts.lost += events;
            }
            return;
        };
        match *event {
            Event::Touched { file, first, pages, how, process } => {
                let mut pages = first..(first + u64::from(pages)).min(self.marks.pages(number));
                if pages.is_empty() {
                    return;
                }
                if how != How::Read {
                    self.actuator.is_mapped(file, process);
                    self.mapped.insert(number);
                    pages = self.mapped_by(number, process, pages);
                }
                self.touch(number, pages, process, at);
            }
            Event::Added { first, pages, .. } => {
                let folio = first..first + u64::from(pages);
                self.counts.pages_read += u64::from(pages);
                self.mirror.add(number, folio.clone(), at);
                self.came_by_fault(number, &folio, at);
                for block in self.blocks(number, folio.clone()).filter(|&block| self.policy.holds(block)) {
                    // It is wanted, not only read ahead: when the policy lets it go nothing protects it.
                    let pages = self.pages(block);
                    self.mirror.touch(number, pages.start.max(folio.start)..pages.end.min(folio.end));
                }
                if self.is_acting {
                    for block in self.blocks(number, folio) {
                        self.pending.put(block, at + PROTECTED, 0);
                    }
                }
            }
            Event::Removed { first, pages, .. } => {
                let folio = first..first + u64::from(pages);
                self.unheard.remove(&(number, first));
                self.counts.pages_dropped += self.mirror.remove(number, folio.clone());
                self.counts.pages_taken += if self.is_acting { self.wanted(number, &folio) } else { 0 };
            }
            Event::Lost(_) => {}
        }
    }

    /// The pages mapped by a fault: a huge page becomes visible as a whole, and causes no events while it is mapped.
    fn mapped_by(&mut self, file: u32, process: u32, pages: Range<u64>) -> Range<u64> {
        match self.mirror.folios(file, pages.start..pages.start + 1).pop() {
            Some(folio) if folio.end - folio.start == HUGE => folio,
            Some(_) => pages,
            // The kernel reports a fault before it reads: the folio is still to come.
            None => {
                self.faults.truncate(FAULTS - 1);
                self.faults.push_front((file, pages.start, process));
                pages
            }
        }
    }

    /// A huge folio that came because of a fault is mapped as a whole, and causes no further events.
    fn came_by_fault(&mut self, file: u32, folio: &Range<u64>, at: u64) {
        let is_huge = folio.end - folio.start == HUGE;
        let is_of = |&(of, page, _): &(u32, u64, u32)| of == file && folio.contains(&page);
        match self.faults.iter().position(is_of).and_then(|found| self.faults.remove(found)) {
            Some((_, _, process)) if is_huge => self.touch(file, folio.clone(), process, at),
            // It was read ahead. When it is mapped that is not told.
            None if is_huge && self.mapped.contains(&file) => _ = self.unheard.insert((file, folio.start), at),
            _ => {}
        }
    }

    /// Looks for huge folios that were mapped without an event: the kernel reports only single pages.
    fn look_for_mapped(&mut self, now: u64) {
        if self.unheard.is_empty() || now < self.looked + LOOK {
            return;
        }
        self.looked = now;
        for ((number, first), came) in std::mem::take(&mut self.unheard) {
            let folio = first..first + HUGE;
            let Some(file) = self.files.get(number as usize).copied().flatten() else { continue };
            if self.actuator.has_mapped(file, first) {
                self.touch(number, folio, 0, now);
            } else if now < came + LOOKS && self.mirror.unread_since(number, folio).is_some() {
                self.unheard.insert((number, first), came);
            }
        }
    }

    fn touch(&mut self, file: u32, pages: Range<u64>, process: u32, at: u64) {
        self.mirror.touch(file, pages.clone());
        let mark = self.marks.of(file, process, at);
        for block in self.blocks(file, pages) {
            if self.recent.contains(&block) {
                continue;
            }
            self.recent.rotate_right(1);
            self.recent[0] = block;
            if let Some(left) = self.leaving.remove(&process) {
                self.reconsider(left, at);
            }
            self.kernel.access(block, Mark::default(), at);
            self.kernel.take_released();
            self.kernel.take_wanted();
            let outcome = self.policy.access(block, mark, at);
            self.count(mark, outcome);
            if outcome == Outcome::Bypassed && self.is_acting {
                self.leaving.insert(process, block);
                self.pending.put(block, at + PROTECTED, 0);
            }
            self.let_go(at);
        }
    }

    fn count(&mut self, mark: Mark, outcome: Outcome) {
        let app = mark.app as usize;
        if app >= self.apps.len() {
            self.apps.resize(app + 1, (0, 0));
        }
        let (references, misses) = &mut self.apps[app];
        *references += 1;
        *misses += u64::from(outcome != Outcome::Hit);
    }

    /// Follows what the policy has decided.
    fn let_go(&mut self, at: u64) {
        for block in self.policy.take_released() {
            self.reconsider(block, at);
        }
        for block in self.policy.take_wanted() {
            let (number, pages) = (place(block).0, self.pages(block));
            let Some(file) = self.files[number as usize].filter(|_| self.is_acting) else { continue };
            let there = self.mirror.folios(number, pages.clone()).into_iter();
            let there: u64 = there.map(|it| it.end.min(pages.end) - it.start.max(pages.start)).sum();
            if there == pages.end - pages.start {
                continue;
            }
            self.counts.pages_fetched += pages.end - pages.start - there;
            self.counts.failed += u64::from(self.actuator.fetch(file, pages).is_err());
        }
    }

    fn reconsider(&mut self, block: Address, at: u64) {
        if self.is_acting && !self.policy.holds(block) {
            self.pending.put(block, at, 0);
        }
    }

    /// Drops what is due.
    pub fn settle(&mut self, now: u64) {
        self.look_for_mapped(now);
        while let Some((block, attempts)) = self.pending.take(now) {
            self.drop_block(block, attempts, now);
        }
    }

    fn drop_block(&mut self, block: Address, attempts: u32, now: u64) {
        let number = place(block).0;
        let Some(file) = self.files.get(number as usize).copied().flatten() else { return };
        self.leaving.retain(|_, read| *read != block);
        if self.policy.holds(block) {
            return;
        }
        let (mut free, mut later) = (Vec::<Range<u64>>::new(), None::<u64>);
        for folio in self.mirror.folios(number, self.pages(block)) {
            if self.blocks(number, folio.clone()).any(|other| self.policy.holds(other)) {
                continue;
            }
            let protected = self.mirror.unread_since(number, folio.clone()).map(|came| came + PROTECTED);
            match (protected.filter(|&until| until > now), free.last_mut()) {
                (Some(until), _) => later = Some(later.map_or(until, |other| other.min(until))),
                (None, Some(last)) if last.end == folio.start => last.end = folio.end,
                (None, _) => free.push(folio),
            }
        }
        if let Some(later) = later {
            self.pending.put(block, later, attempts);
        }
        if free.is_empty() {
            return;
        }
        if attempts == ATTEMPTS {
            self.counts.left_to_kernel += 1;
            return;
        }
        for pages in free {
            self.mirror.drop(number, pages.clone());
            self.counts.failed += u64::from(self.actuator.drop(file, pages).is_err());
        }
        self.pending.put(block, now + (PATIENCE << attempts), attempts + 1);
    }

    /// How many of these pages lie in blocks that the policy holds.
    fn wanted(&self, file: u32, pages: &Range<u64>) -> u64 {
        let held =
            self.blocks(file, pages.clone()).filter(|&block| self.policy.holds(block)).map(|block| self.pages(block));
        held.map(|block| block.end.min(pages.end) - block.start.max(pages.start)).sum()
    }

    /// The blocks that pages lie in.
    fn blocks(&self, file: u32, pages: Range<u64>) -> impl Iterator<Item = Address> + use<A> {
        let numbers = pages.start / self.block..pages.end.div_ceil(self.block);
        numbers.map(move |number| address(file, number as u32))
    }

    fn pages(&self, block: Address) -> Range<u64> {
        let first = u64::from(place(block).1) * self.block;
        first..first + self.block
    }

    /// The blocks of a file that are resident, at least in part, in order.
    fn resident_blocks(&self, file: u32) -> Vec<Address> {
        let ranges = self.mirror.resident(file);
        let mut blocks: Vec<Address> = ranges.into_iter().flat_map(|range| self.blocks(file, range)).collect();
        blocks.dedup();
        blocks
    }

    fn number(&mut self, file: FileId) -> u32 {
        if let Some(&number) = self.numbers.get(&file) {
            return number;
        }
        let number = self.free.pop().unwrap_or(self.files.len() as u32);
        if number as usize == self.files.len() {
            self.files.push(None);
        }
        self.files[number as usize] = Some(file);
        self.numbers.insert(file, number);
        number
    }
}
