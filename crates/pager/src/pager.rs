//! Hosts a policy over the pages of a region.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{Effects, Extra, Note, Object, PolicySpec, Reference, Setting, Setup, Slot};
use hotset_core::registry;

use crate::leaving::Leaving;
use crate::read_ahead::ReadAhead;
use crate::{PAGE, PagerError, Region, sys};

/// The policy has it.
const RESIDENT: u8 = 1;
/// The program has used it since the policy asked last.
const ACCESSED: u8 = 2;
/// Seen mapped since the last time that all pages were unmapped.
const SEEN: u8 = 4;
/// Read ahead, and not touched yet.
const AHEAD: u8 = 8;

/// The least memory in pages.
const LEAST_FRAMES: u32 = 1024;
/// The share of the memory that is left to faults between two scans, to pages read ahead, and to pages that are being
/// written back.
const RESERVE: u32 = 16;
/// How often the count of faults is read while memory is full and the program faults, while it faults, and how seldom
/// while it does not.
const FULL: Duration = Duration::from_micros(100);
const BUSY: Duration = Duration::from_micros(500);
const IDLE: Duration = Duration::from_millis(20);
/// How often the page cache is compared with the policy.
const CHECK: Duration = Duration::from_millis(200);
/// How often the page cache is counted.
const COUNT: Duration = Duration::from_millis(20);
/// How often pages on their way out are looked at, unless there are many.
const LEAVE: Duration = Duration::from_millis(2);
/// The most rounds of eviction in one step while the program is held back.
const HOLDS: u32 = 4;
/// Faults after which a scan is due, if the last one was long ago in comparison with its time.
const FEW: u64 = 32;
/// The share of its time that the thread spends on such scans.
const SCANS: u32 = 8;

/// How memory is paged.
#[derive(Clone, Debug)]
pub struct PagerSettings {
    /// Pages in memory.
    pub frames: u32,
    /// The policy.
    pub policy: PolicySpec,
    /// The folder for pages.
    pub folder: PathBuf,
    /// Reads ahead of sweeps.
    pub reads_ahead: bool,
}

impl PagerSettings {
    /// Makes settings for `bytes` bytes of memory under a policy written as in specs. Refuses policies that must see
    /// every reference.
    pub fn new(bytes: u64, policy: &str, folder: PathBuf, reads_ahead: bool) -> Result<PagerSettings, PagerError> {
        let frames = u32::try_from(bytes / PAGE as u64).unwrap_or(u32::MAX);
        if frames < LEAST_FRAMES {
            return Err(PagerError::Memory);
        }
        let policy = PolicySpec::parse(policy)?.set_in(Setting::Paging);
        let settings = PagerSettings { frames, policy, folder, reads_ahead };
        settings.build(1)?;
        Ok(settings)
    }

    /// Pages that the policy may have.
    fn capacity(&self) -> u32 {
        self.frames - self.frames / RESERVE
    }

    fn build(&self, slots: u32) -> Result<Box<dyn DynPolicy>, PagerError> {
        let (entry, args) = (self.policy.entry(), self.policy.args(Some(PAGE as u64)));
        registry::check_on_faults(entry, &args)?;
        if self.policy.is_offline() {
            let message = format!("{} needs the future of the program; choose another policy", entry.info.name);
            return Err(hotset_core::spec::SpecError::new(message).into());
        }
        Ok(entry.build(&Setup::new(&args, self.capacity(), slots, 1))?)
    }
}

/// What the pager has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagingCounts {
    /// Pages that the program touched while the policy did not have them, first touches included.
    pub faults: u64,
    /// Pages that the policy evicted.
    pub evictions: u64,
    /// Evicted pages that were dirty.
    pub written: u64,
    /// Pages that were read ahead.
    pub read_ahead: u64,
    /// Scans of the page tables.
    pub scans: u64,
    /// Pages in the page cache at the last scan.
    pub cached: u64,
    /// The most pages in the page cache when it was counted.
    pub peak: u64,
    /// Times that the program was held back, because more pages were in memory than allowed.
    pub holds: u64,
}

/// The allocation of a page, and its range of pages.
pub type Owned = Option<(Object, Range<u32>)>;

/// Knows the allocations.
pub trait Owners {
    /// Writes the allocation of each page to `owned`, which is empty.
    fn owners(&self, pages: &[u32], owned: &mut Vec<Owned>);
}

/// The states of pages as the policy sees them.
#[derive(Default)]
struct Pages {
    flags: Vec<u8>,
    victims: Vec<u32>,
}

impl Effects for Pages {
    fn evict(&mut self, page: Slot) {
        self.flags[page as usize] &= !(RESIDENT | ACCESSED | SEEN);
        self.victims.push(page);
    }

    /// Pages keep their numbers.
    fn forget(&mut self, _page: Slot) {}

    /// Policies that run on faults do not prefetch; the host reads ahead.
    fn fetch(&mut self, page: Slot, _why: Extra) {
        self.flags[page as usize] |= RESIDENT;
    }

    fn take_accessed(&mut self, page: Slot) -> bool {
        let flags = &mut self.flags[page as usize];
        let was_accessed = *flags & ACCESSED != 0;
        *flags &= !ACCESSED;
        was_accessed
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}

/// A policy over the pages of a region.
///
/// The kernel serves faults without the pager. The pager counts them, and after some of them *scans*: pages that became
/// mapped are faults of the policy, in the order of addresses, or accessed bits. From time to time, and only while
/// memory is nearly full, it unmaps all pages, so that the next use of each is seen.
pub struct Pager {
    region: Region,
    policy: Box<dyn DynPolicy>,
    settings: PagerSettings,
    pages: Pages,
    leaving: Leaving,
    read_ahead: ReadAhead,
    /// Ranges that were read ahead, with the number of unmappings before.
    ahead: VecDeque<(Range<u32>, u64)>,
    /// Major faults of the process at the last scan.
    seen_faults: u64,
    /// Pages that were read ahead and touched since the last scan.
    ahead_touched: u64,
    /// Faults since all pages were unmapped.
    since_unmapped: u64,
    unmapped: u64,
    checked: Instant,
    counted: Instant,
    /// Faults, pages read ahead and pages that had left when the page cache was counted last.
    then: [u64; 3],
    left: Instant,
    /// When the last scan ended, and how long it took.
    scanned: Instant,
    scan_time: Duration,
    is_faulting: bool,
    sleep: Duration,
    counts: PagingCounts,
}

impl std::fmt::Debug for Pager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pager").field("settings", &self.settings).field("counts", &self.counts).finish()
    }
}

impl Pager {
    /// Pages `region`.
    pub fn new(region: Region, settings: PagerSettings) -> Result<Pager, PagerError> {
        Ok(Pager {
            policy: settings.build(1)?,
            region,
            settings,
            pages: Pages::default(),
            leaving: Leaving::default(),
            read_ahead: ReadAhead::default(),
            ahead: VecDeque::new(),
            seen_faults: sys::major_faults(),
            ahead_touched: 0,
            since_unmapped: 0,
            unmapped: 0,
            checked: Instant::now(),
            counted: Instant::now(),
            then: [sys::major_faults(), 0, 0],
            left: Instant::now(),
            scanned: Instant::now(),
            scan_time: Duration::ZERO,
            is_faulting: false,
            sleep: BUSY,
            counts: PagingCounts::default(),
        })
    }

    /// Prepares the calling thread for [`step`](Pager::step): the sooner it gets a processor when it is due, the less
    /// memory is over the limit.
    pub fn prepare_thread() {
        sys::take_short_turns();
    }

    /// Returns the region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Returns what was done so far.
    pub fn counts(&self) -> PagingCounts {
        PagingCounts { written: self.leaving.written, ..self.counts }
    }

    /// True if an eighth more was in memory than allowed when the page cache was counted last.
    pub fn is_crowded(&self) -> bool {
        let frames = u64::from(self.settings.frames);
        self.counts.cached > frames + frames / 8
    }

    /// Reserves space for the first `pages` pages. The program may touch no others.
    pub fn grow(&mut self, pages: u32) -> Result<(), PagerError> {
        self.region.reserve(pages).map_err(|error| self.region.error(error))?;
        if self.pages.flags.len() < pages as usize {
            self.pages.flags.resize(pages as usize, 0);
            self.policy.grow(pages);
        }
        Ok(())
    }

    /// Clears pages that the program has freed.
    pub fn clear(&mut self, range: Range<u32>) -> Result<(), PagerError> {
        self.leaving.forget(&range);
        self.read_ahead.forget(&range);
        for page in range.clone() {
            self.policy.remove(page, &mut self.pages);
            self.pages.flags[page as usize] = 0;
        }
        self.region.clear(range).map_err(|error| self.region.error(error))
    }

    /// Does what is due. Returns how long to wait until the next call.
    ///
    /// # Errors
    /// [`PagerError::Lost`] if the device has failed to write a page: the program must end. Other errors have no
    /// consequence for the content of pages.
    pub fn step(&mut self, owners: &dyn Owners) -> Result<Duration, PagerError> {
        self.read_ahead_and_scan(owners).map_err(|error| self.region.error(error))?;
        if self.left.elapsed() >= LEAVE || self.leaving.pages() > u64::from(self.ahead_limit()) {
            self.let_leave()?;
        }
        self.keep_limit(owners)?;
        let is_busy = self.is_faulting || self.leaving.pages() > 0 || self.read_ahead.is_active();
        let is_full = self.cached_at_most() > u64::from(self.settings.capacity());
        self.sleep = if is_busy && is_full {
            FULL
        } else if is_busy {
            BUSY
        } else {
            (self.sleep * 2).clamp(BUSY, IDLE)
        };
        Ok(self.sleep)
    }

    /// Brings evicted pages further on their way out.
    fn let_leave(&mut self) -> Result<(), PagerError> {
        self.left = Instant::now();
        let flags = &self.pages.flags;
        self.leaving.step(&self.region, |page| flags[page as usize] & RESIDENT != 0)
    }

    /// Evicts while there is more in memory than allowed, and holds the program back meanwhile.
    fn keep_limit(&mut self, owners: &dyn Owners) -> Result<(), PagerError> {
        let most = u64::from(self.settings.frames);
        let failed = |error, pager: &Pager| pager.region.error(error);
        for _ in 0..HOLDS {
            let excess = self.cached_at_most().saturating_sub(most);
            if excess == 0 || self.all_cached().map_err(|error| failed(error, self))? <= most {
                break;
            }
            if self.leaving.pages() < excess {
                self.scan(owners, false).map_err(|error| failed(error, self))?;
            }
            self.let_leave()?;
            self.region.hold_back().map_err(|error| failed(error, self))?;
            self.counts.holds += 1;
        }
        Ok(())
    }

    /// Pages in the page cache: their last count, and what came and left since.
    fn cached_at_most(&self) -> u64 {
        let [faults, ahead, left] = self.then;
        let added = (sys::major_faults() - faults) + (self.counts.read_ahead - ahead);
        (self.counts.cached + added).saturating_sub(self.leaving.left - left)
    }

    fn read_ahead_and_scan(&mut self, owners: &dyn Owners) -> io::Result<()> {
        let most = self.ahead_limit();
        let (flags, ahead, unmapped) = (&mut self.pages.flags, &mut self.ahead, self.unmapped);
        let (mut read, region) = (0, &mut self.region);
        let touched = self.read_ahead.step(region, most, |range| {
            let pages = &mut flags[range.start as usize..range.end as usize];
            let mut away = 0;
            for flag in pages.iter_mut().filter(|flag| **flag & (RESIDENT | AHEAD) == 0) {
                *flag |= AHEAD;
                away += 1;
            }
            ahead.push_back((range, unmapped));
            read += u64::from(away);
            away
        })?;
        self.counts.read_ahead += read;
        self.ahead_touched += u64::from(touched);
        let faults = (sys::major_faults() - self.seen_faults) + self.ahead_touched;
        let is_due = faults >= u64::from(self.settings.frames / 64)
            || (faults >= FEW && self.scanned.elapsed() >= self.scan_time * SCANS);
        let is_check = self.checked.elapsed() >= CHECK;
        if is_due || (is_check && (faults > 0 || self.is_strange()?)) {
            let started = Instant::now();
            self.scan(owners, is_check)?;
            self.scanned = Instant::now();
            self.scan_time = self.scanned - started;
        }
        self.is_faulting = faults > 0;
        Ok(())
    }

    /// True if the page cache has many more pages than the policy.
    fn is_strange(&mut self) -> io::Result<bool> {
        let cached = self.all_cached()?;
        let known = u64::from(self.policy.len()) + self.leaving.pages();
        Ok(cached > known + u64::from(self.settings.frames / RESERVE))
    }

    /// Pages that one sweep may read ahead.
    fn ahead_limit(&self) -> u32 {
        (self.settings.frames / (2 * RESERVE)).max(1)
    }

    fn all_cached(&mut self) -> io::Result<u64> {
        let cached = self.region.cached(0..self.pages.flags.len() as u32)?.pages;
        self.counted = Instant::now();
        self.then = [sys::major_faults(), self.counts.read_ahead, self.leaving.left];
        self.counts.cached = cached;
        self.counts.peak = self.counts.peak.max(cached);
        Ok(cached)
    }

    /// Gives the policy the touched pages, and evicts. With `is_check`, pages that the page cache has and the policy
    /// does not have are faults too: a page that is touched while all pages are unmapped is not seen otherwise.
    fn scan(&mut self, owners: &dyn Owners, is_check: bool) -> io::Result<()> {
        self.counts.scans += 1;
        self.seen_faults = sys::major_faults();
        self.ahead_touched = 0;
        let top = self.pages.flags.len() as u32;
        let mut faults = Vec::new();
        let flags = &mut self.pages.flags;
        self.region.touched(0..top, |run| {
            for page in run {
                let flag = &mut flags[page as usize];
                match *flag & (SEEN | RESIDENT) {
                    0 => faults.push(page),
                    RESIDENT => *flag |= SEEN | ACCESSED,
                    _ => {}
                }
            }
        })?;
        self.since_unmapped += faults.len() as u64;
        if is_check {
            self.checked = Instant::now();
            if self.is_strange()? {
                let mut cached = Vec::new();
                self.region.list_cached(0..top, &mut cached)?;
                cached.retain(|&page| self.pages.flags[page as usize] & (RESIDENT | AHEAD) == 0);
                self.leaving.keep_others(&mut cached);
                faults.append(&mut cached);
                faults.sort_unstable();
                faults.dedup();
            }
        }
        self.fault(owners, &faults);
        let is_full = self.policy.len() >= self.settings.capacity() - self.settings.capacity() / 8;
        if is_full && self.since_unmapped >= u64::from(self.settings.frames / RESERVE) {
            self.since_unmapped = 0;
            self.unmapped += 1;
            self.region.unmap(0..top)?;
            self.pages.flags.iter_mut().for_each(|flag| *flag &= !SEEN);
        }
        self.drop_unused();
        let mut victims = std::mem::take(&mut self.pages.victims);
        victims.retain(|&page| self.pages.flags[page as usize] & (RESIDENT | AHEAD) == 0);
        victims.sort_unstable();
        victims.dedup();
        self.leaving.evict(&self.region, &victims)?;
        if self.counted.elapsed() >= COUNT {
            self.all_cached()?;
        }
        Ok(())
    }

    /// References pages that the policy does not have, in ascending order.
    fn fault(&mut self, owners: &dyn Owners, faults: &[u32]) {
        let mut owned = Vec::with_capacity(faults.len());
        owners.owners(faults, &mut owned);
        for (&page, owned) in faults.iter().zip(&owned) {
            let flags = &mut self.pages.flags[page as usize];
            // A page that nothing owns any more was freed meanwhile; it is cleared soon.
            if owned.is_none() || *flags & RESIDENT != 0 {
                continue;
            }
            *flags = RESIDENT | SEEN;
            let object = owned.as_ref().map(|(object, _)| *object);
            let reference = Reference { time: self.counts.faults, block: page, object, ..Reference::default() };
            let evicted = self.pages.victims.len();
            self.policy.access(page, reference, &mut self.pages);
            self.counts.faults += 1;
            self.counts.evictions += (self.pages.victims.len() - evicted) as u64;
        }
        if self.settings.reads_ahead && self.policy.len() >= self.settings.capacity() / 2 {
            let (most, flags) = (self.ahead_limit(), &self.pages.flags);
            let pages_of = |place: usize| owned[place].as_ref().map(|(_, pages)| pages.clone());
            self.read_ahead.find(faults, most, pages_of, |page| flags[page as usize] & (RESIDENT | AHEAD) == 0);
        }
    }

    /// Lets pages leave that were read ahead and not touched in two rounds of unmapping.
    fn drop_unused(&mut self) {
        while let Some((range, _)) = self.ahead.pop_front_if(|(_, at)| *at + 2 <= self.unmapped) {
            for page in range {
                let flags = &mut self.pages.flags[page as usize];
                if *flags & (AHEAD | RESIDENT) == AHEAD {
                    *flags &= !AHEAD;
                    self.pages.victims.push(page);
                }
            }
        }
    }
}
