//! The cache of one database: the contract of SQLite's page cache, with a policy that decides which page leaves.
//!
//! The policy's capacity is SQLite's, less the pages that the policy has evicted and SQLite still uses. So the pages
//! together exceed SQLite's capacity only if SQLite uses more at once.

use hotset_core::host::{Build, Refusal};
use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{Outcome, PolicySpec, Reference, Setting, Setup, Slot};
use hotset_core::view::View;

use crate::counts::{self, HITS, MISSES};
use crate::frames::{Frames, PageAt};

/// Capacities that are tried as the smallest one.
const FEW: u32 = 64;
/// The greatest capacity. SQLite's is at most a number of pages that fit into memory.
const MOST: u32 = 1 << 30;
/// The file of all references: a cache has one.
const FILE: u32 = 1;

/// What SQLite does if a page is not in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Create {
    /// It goes on without the page.
    No,
    /// It takes a new page, or makes others clean and asks again.
    IfEasy,
    /// It fails without a new page.
    Always,
}

/// A policy with what it needs of its host.
struct Policed {
    policy: Box<dyn DynPolicy>,
    /// Slots that it has memory for.
    slots: u32,
    capacity: u32,
    /// The smallest capacity that it accepts.
    least: u32,
    /// Number of the next reference.
    time: u64,
}

/// The cache of one database.
pub(crate) struct PageCache {
    pub frames: Frames,
    /// The policy from the first page on; none in a cache that may not evict, and after a panic.
    policed: Option<Policed>,
    spec: Option<PolicySpec>,
    page_bytes: u64,
    /// SQLite's capacity.
    capacity: u32,
    /// True if pages may be evicted.
    may_evict: bool,
    /// No page has a greater number.
    greatest: u32,
}

/// Returns a policy for caches of SQLite. Fails if there is none of this name, or if it cannot run here.
pub(crate) fn policy_named(name: &str) -> Result<PolicySpec, String> {
    let spec = PolicySpec::parse(name).map_err(|error| error.to_string())?.set_in(Setting::Serving);
    Policed::new(&spec, 1000, 4096)?;
    Ok(spec)
}

impl Policed {
    fn new(spec: &PolicySpec, wanted: u32, page_bytes: u64) -> Result<Policed, String> {
        let args = spec.args(Some(page_bytes));
        let build = |capacity| {
            let build =
                Build { spec, args: &args, capacity, in_bytes: false, seed: 1, apps: &[], costs: false, load: false };
            let requirements = build.requirements().map_err(|error| error.to_string())?;
            if requirements.view != View::default() {
                return Err(format!("{spec} treats kinds of files apart, which pages lack; choose another policy"));
            }
            let slots = requirements.identities.min(u64::from(capacity) * 4 + 1024) as u32;
            let built = spec.entry().build(&Setup::new(&args, capacity, slots, 1));
            Ok((built.map_err(|error| Refusal::Spec(error).to_string())?, slots))
        };
        let least = (1..FEW).find(|&few| build(few).is_ok()).unwrap_or(FEW);
        let capacity = wanted.clamp(least, MOST);
        let (policy, slots) = build(capacity)?;
        Ok(Policed { policy, slots, capacity, least, time: 0 })
    }

    /// References a page. Returns true if the policy keeps it.
    fn refer(&mut self, slot: Slot, number: u32, frames: &mut Frames) -> bool {
        if slot >= self.slots {
            self.slots = slot.saturating_add(slot / 2).saturating_add(64);
            self.policy.grow(self.slots);
        }
        let reference = Reference { time: self.time, file: FILE, block: number, ..Reference::default() };
        self.time += 1;
        let outcome = self.policy.access(slot, reference, frames);
        if let Some(learning) = self.policy.learning_mut()
            && let Some(work) = learning.take_work()
        {
            learning.finish_work(work());
        }
        outcome != Outcome::Bypassed && self.policy.contains(slot)
    }

    /// Gives the policy the part of the capacity that pages which it has evicted leave.
    fn fit(&mut self, capacity: u32, frames: &mut Frames) {
        loop {
            let target = capacity.saturating_sub(frames.orphans).clamp(self.least, MOST);
            if target == self.capacity {
                return;
            }
            let is_growing = target > self.capacity;
            self.capacity = target;
            self.policy.resize(target, frames);
            // Evictions of pages in use lower the part further.
            if is_growing {
                return;
            }
        }
    }
}

impl PageCache {
    /// An empty cache of pages with so many bytes. `None` if memory has no such pages.
    pub fn new(spec: &PolicySpec, page_bytes: usize, extra_bytes: usize, may_evict: bool) -> Option<PageCache> {
        let frames = Frames::new(page_bytes, extra_bytes)?;
        let spec = may_evict.then(|| spec.clone());
        Some(PageCache {
            frames,
            policed: None,
            spec,
            page_bytes: page_bytes as u64,
            capacity: 100,
            may_evict,
            greatest: 0,
        })
    }

    /// Sets SQLite's capacity.
    pub fn set_capacity(&mut self, pages: u32) {
        self.capacity = pages;
        if let Some(policed) = &mut self.policed {
            policed.fit(pages, &mut self.frames);
        }
        if self.is_too_much() {
            self.shrink();
        }
    }

    /// Returns the page with a number, pinned.
    pub fn fetch(&mut self, number: u32, create: Create) -> Option<PageAt> {
        let page = match self.frames.find(number) {
            Some(page) => {
                self.frames.set_pinned(page, true);
                if create == Create::No {
                    return Some(page);
                }
                counts::add(&HITS, 1);
                page
            }
            None if create == Create::No => return None,
            None if create == Create::IfEasy && self.is_full_of_pins() => return None,
            None => {
                let page = self.frames.make(number)?;
                self.greatest = self.greatest.max(number);
                counts::add(&MISSES, 1);
                page
            }
        };
        self.refer(page, number);
        Some(page)
    }

    /// True if SQLite should make pages clean before it gets another one: at 90 %, as in its own cache.
    fn is_full_of_pins(&self) -> bool {
        self.may_evict && u64::from(self.frames.pinned) >= u64::from(self.capacity) * 9 / 10
    }

    /// References a page, which is pinned.
    fn refer(&mut self, page: PageAt, number: u32) {
        if self.policed.is_none()
            && let Some(spec) = &self.spec
        {
            // Built when its capacity is known: SQLite sets that after it has created the cache.
            self.policed = Policed::new(spec, self.capacity, self.page_bytes).ok();
            self.spec = None;
        }
        let PageCache { frames, policed: Some(policed), .. } = self else { return };
        let fields = frames.page(page);
        fields.is_tracked = true;
        let slot = fields.slot;
        let is_kept = policed.refer(slot, number, frames);
        frames.set_orphan(page, !is_kept);
        // The policy may have evicted a page in use, and others may have left since.
        policed.fit(self.capacity, frames);
    }

    /// Unpins a page. `discard` invalidates it.
    pub fn unpin(&mut self, page: PageAt, discard: bool) {
        self.frames.set_pinned(page, false);
        let leaves = self.may_evict && (self.policed.is_none() || self.frames.page(page).is_orphan);
        if discard || (!leaves && self.is_too_much()) {
            self.invalidate(page);
        } else if leaves {
            self.frames.free(page);
        }
    }

    /// True if the policy has more pages than the capacity, which may be less than any policy accepts.
    fn is_too_much(&self) -> bool {
        self.may_evict && self.frames.len - self.frames.orphans > self.capacity
    }

    /// Frees a page that the policy must forget.
    fn invalidate(&mut self, page: PageAt) {
        let slot = self.frames.page(page).slot;
        self.frames.free(page);
        self.forget(slot);
    }

    /// Makes the policy forget a slot.
    fn forget(&mut self, slot: Slot) {
        if let Some(policed) = &mut self.policed {
            policed.policy.remove(slot, &mut self.frames);
        }
        self.frames.slots.forget(slot);
    }

    /// Gives a page another number. A page that has this number is invalidated.
    pub fn rekey(&mut self, page: PageAt, number: u32) {
        if let Some(other) = self.frames.find(number)
            && other != page
        {
            self.invalidate(other);
        }
        // The policy must not free the page.
        let is_pinned = self.frames.page(page).is_pinned;
        self.frames.set_pinned(page, true);
        let slot = self.frames.page(page).slot;
        if let Some(policed) = &mut self.policed {
            policed.policy.remove(slot, &mut self.frames);
        }
        self.frames.move_to(page, number);
        self.greatest = self.greatest.max(number);
        self.refer(page, number);
        if !is_pinned {
            self.unpin(page, false);
        }
    }

    /// Invalidates all pages from a number on, those in use included.
    pub fn truncate(&mut self, limit: u32) {
        if limit > self.greatest {
            return;
        }
        let from = |&slot: &Slot| self.frames.slots.address(slot) >= u64::from(limit);
        let slots: Vec<Slot> = self.frames.slots.slots().filter(from).collect();
        for slot in slots {
            match *self.frames.slots.value(slot) {
                Some(page) => self.invalidate(page),
                None => self.forget(slot),
            }
        }
        self.greatest = limit.saturating_sub(1);
    }

    /// Frees all pages that are not in use.
    pub fn shrink(&mut self) {
        if self.may_evict {
            for page in self.frames.pages() {
                if !self.frames.page(page).is_pinned {
                    self.invalidate(page);
                }
            }
        }
        self.frames.trim();
    }

    /// Drops a policy that has panicked.
    pub fn drop_policy(&mut self) {
        (self.policed, self.spec) = (None, None);
        self.shrink();
    }
}

#[cfg(test)]
mod tests;
