//! Places allocations in the pages of a region.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hotset_core::policy::Object;

use crate::PAGE;

/// Freed ranges that are searched for one of the right size.
const RECENT: usize = 64;

/// Pages of old content that are zeroed for an allocation which needs zeros. More are cleared instead, for they may
/// have left memory.
const ZEROED: u32 = 1024;

/// An allocation.
#[derive(Clone, Copy, Debug)]
struct Live {
    pages: u32,
    bytes: u64,
    number: u32,
    /// The program changed the protection of its pages.
    is_protected: bool,
}

/// Where an allocation was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// From this page on.
    At(u32),
    /// From this page on. The content is old, and the caller must fill it with zeros.
    Old(u32),
    /// Nowhere, until this many pages are [usable](Heap::grow).
    Needs(u32),
    /// Nowhere: the region is full.
    Full,
}

/// A freed allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Its first page.
    pub start: u32,
    /// Its number of pages.
    pub pages: u32,
    /// True if its pages may lack write permission.
    pub is_protected: bool,
}

/// Allocations of whole pages.
///
/// A page is live, freed or clear. Freed pages have old content; they serve allocations of the same size at once, for
/// a program that frees often needs the same again. They become clear by [`take_freed`](Heap::take_freed) and
/// [`give_clear`](Heap::give_clear). Low pages are used first.
#[derive(Debug)]
pub struct Heap {
    live: BTreeMap<u32, Live>,
    /// Freed ranges, and the rounds in which they were freed.
    freed: Vec<(Range<u32>, u32)>,
    round: u32,
    clear: Clear,
    /// Pages below were allocated at least once.
    top: u32,
    usable: u32,
    pages: u32,
    numbers: u32,
}

impl Heap {
    /// A heap in a region of `pages` pages, of which none is usable yet.
    pub const fn new(pages: u32) -> Heap {
        let clear = Clear { by_start: BTreeMap::new(), by_len: BTreeSet::new() };
        Heap { live: BTreeMap::new(), freed: Vec::new(), round: 0, clear, top: 0, usable: 0, pages, numbers: 0 }
    }

    /// Makes the first `usable` pages usable.
    pub fn grow(&mut self, usable: u32) {
        self.usable = self.usable.max(usable.min(self.pages));
    }

    /// Returns the number of pages that were allocated at least once, counted from the begin of the region.
    pub fn top(&self) -> u32 {
        self.top
    }

    /// Returns the number of live allocations.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// True if there is no live allocation.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Places an allocation of `bytes` bytes. Its content is zeros if `zeroed`, and arbitrary otherwise.
    pub fn allocate(&mut self, bytes: usize, zeroed: bool) -> Placed {
        let Ok(pages) = u32::try_from(bytes.div_ceil(PAGE)) else { return Placed::Full };
        let recent = self.freed.iter().rev().take(RECENT).position(|(range, _)| range.len() == pages as usize);
        let recent = recent.filter(|_| !zeroed || pages <= ZEROED);
        let start = match recent {
            Some(back) => Some(self.freed.remove(self.freed.len() - 1 - back).0.start),
            None => self.clear.take(pages),
        };
        let Some(start) = start.or_else(|| self.rise(pages)) else {
            let needed = u64::from(self.top) + u64::from(pages);
            return if needed <= u64::from(self.pages) { Placed::Needs(needed as u32) } else { Placed::Full };
        };
        self.numbers = self.numbers.wrapping_add(1);
        let live = Live { pages, bytes: bytes as u64, number: self.numbers, is_protected: false };
        self.live.insert(start, live);
        if zeroed && recent.is_some() { Placed::Old(start) } else { Placed::At(start) }
    }

    fn rise(&mut self, pages: u32) -> Option<u32> {
        let start = self.top;
        self.top = start.checked_add(pages).filter(|&top| top <= self.usable)?;
        Some(start)
    }

    /// Returns the number of pages of the live allocation that begins at page `start`.
    pub fn pages_at(&self, start: u32) -> Option<u32> {
        self.live.get(&start).map(|live| live.pages)
    }

    /// Changes the size of an allocation in place. False if that is impossible; nothing has changed then. New pages
    /// are zeros.
    pub fn resize(&mut self, start: u32, bytes: usize) -> bool {
        let Some(live) = self.live.get_mut(&start) else { return false };
        let Ok(pages) = u32::try_from(bytes.div_ceil(PAGE)) else { return false };
        let end = start + live.pages;
        if pages > live.pages {
            let more = pages - live.pages;
            let is_last = end == self.top && end.checked_add(more).is_some_and(|top| top <= self.usable);
            if is_last {
                self.top += more;
            } else if !self.clear.take_at(end, more) {
                return false;
            }
        } else if pages < live.pages {
            // Protection follows whole allocations here, so a protected one keeps its pages.
            if live.is_protected {
                return false;
            }
            self.freed.push((start + pages..end, self.round));
        }
        (live.pages, live.bytes) = (pages, bytes as u64);
        true
    }

    /// Removes the live allocation that begins at page `start`. Its pages return by [`give_freed`](Heap::give_freed).
    pub fn remove(&mut self, start: u32) -> Option<Freed> {
        let live = self.live.remove(&start)?;
        Some(Freed { start, pages: live.pages, is_protected: live.is_protected })
    }

    /// Returns pages that have old content and all permissions.
    pub fn give_freed(&mut self, range: Range<u32>) {
        self.freed.push((range, self.round));
    }

    /// Returns the number of pages that wait to be cleared.
    pub fn freed_pages(&self) -> u32 {
        self.freed.iter().map(|(range, _)| range.len() as u32).sum()
    }

    /// Begins a new round.
    pub fn age(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Takes the ranges that were freed at least `rounds` rounds ago, to clear them.
    pub fn take_freed(&mut self, rounds: u32) -> Vec<Range<u32>> {
        let now = self.round;
        self.freed.extract_if(.., |(_, freed)| now.wrapping_sub(*freed) >= rounds).map(|(range, _)| range).collect()
    }

    /// Returns pages that read as zeros.
    pub fn give_clear(&mut self, range: Range<u32>) {
        self.clear.give(range);
    }

    /// Returns the live allocation of a page and its range of pages.
    pub fn owner(&self, page: u32) -> Option<(Object, Range<u32>)> {
        let (&start, live) = self.live.range(..=page).next_back()?;
        let object = Object { id: live.number, bytes: live.bytes, is_global: false };
        (page < start + live.pages).then_some((object, start..start + live.pages))
    }

    /// Notes that the program changed the protection of pages.
    pub fn protect(&mut self, range: Range<u32>) {
        let first = self.live.range(..=range.start).next_back().map_or(range.start, |(&start, _)| start);
        for (&start, live) in self.live.range_mut(first..range.end) {
            live.is_protected |= start + live.pages > range.start;
        }
    }

    /// True if the program changed the protection of a live allocation.
    pub fn has_protected(&self) -> bool {
        self.live.values().any(|live| live.is_protected)
    }

    /// Returns the ranges of live allocations in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        self.live.iter().map(|(&start, live)| start..start + live.pages)
    }
}

/// Clear ranges, merged.
#[derive(Debug)]
struct Clear {
    /// Length by first page.
    by_start: BTreeMap<u32, u32>,
    /// Length and first page.
    by_len: BTreeSet<(u32, u32)>,
}

impl Clear {
    fn insert(&mut self, start: u32, len: u32) {
        if len > 0 {
            self.by_start.insert(start, len);
            self.by_len.insert((len, start));
        }
    }

    fn remove(&mut self, start: u32) -> Option<u32> {
        let len = self.by_start.remove(&start)?;
        self.by_len.remove(&(len, start));
        Some(len)
    }

    /// Takes the begin of the smallest range that suffices.
    fn take(&mut self, pages: u32) -> Option<u32> {
        let &(len, start) = self.by_len.range((pages, 0)..).next()?;
        self.remove(start);
        self.insert(start + pages, len - pages);
        Some(start)
    }

    /// Takes pages from `start` on, if a range begins there and suffices.
    fn take_at(&mut self, start: u32, pages: u32) -> bool {
        match self.by_start.get(&start) {
            Some(&len) if len >= pages => {
                self.remove(start);
                self.insert(start + pages, len - pages);
                true
            }
            _ => false,
        }
    }

    fn give(&mut self, range: Range<u32>) {
        let (mut start, mut len) = (range.start, range.len() as u32);
        if let Some(after) = self.remove(range.end) {
            len += after;
        }
        if let Some((&before, &its)) = self.by_start.range(..start).next_back()
            && before + its == start
        {
            self.remove(before);
            (start, len) = (before, its + len);
        }
        self.insert(start, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hotset_core::random::Rng;

    fn heap(usable: u32) -> Heap {
        let mut heap = Heap::new(1000);
        heap.grow(usable);
        heap
    }

    #[test]
    fn a_heap_grows_only_when_it_must() {
        let mut heap = heap(20);
        assert_eq!(heap.allocate(15 * PAGE, false), Placed::At(0));
        assert_eq!(heap.allocate(6 * PAGE, false), Placed::Needs(21));
        heap.grow(21);
        assert_eq!(heap.allocate(5 * PAGE + 1, false), Placed::At(15));
        assert_eq!(heap.allocate(1000 * PAGE, false), Placed::Full);
        assert_eq!(heap.allocate(usize::MAX, false), Placed::Full);
    }

    #[test]
    fn old_content_serves_only_those_that_do_not_need_zeros() {
        let mut heap = heap(40);
        assert_eq!(heap.allocate(10 * PAGE, false), Placed::At(0));
        assert_eq!(heap.allocate(10 * PAGE, false), Placed::At(10));
        let freed = heap.remove(0).unwrap();
        heap.give_freed(freed.start..freed.start + freed.pages);
        assert_eq!(heap.allocate(9 * PAGE, false), Placed::At(20));
        assert_eq!(heap.allocate(10 * PAGE, true), Placed::Old(0));
        let freed = heap.remove(0).unwrap();
        heap.give_freed(freed.start..freed.start + freed.pages);
        assert_eq!(heap.allocate(10 * PAGE, false), Placed::At(0));
        // Much memory is cleared, not zeroed.
        heap.pages = 1 << 20;
        heap.grow(1 << 20);
        let many = ZEROED + 1;
        heap.give_freed(5000..5000 + many);
        assert_eq!(heap.allocate(many as usize * PAGE, true), Placed::At(29));
        assert_eq!(heap.allocate(many as usize * PAGE, false), Placed::At(5000));
    }

    #[test]
    fn freed_pages_are_kept_for_some_rounds() {
        let mut heap = heap(40);
        heap.give_freed(0..5);
        heap.age();
        heap.give_freed(5..10);
        heap.age();
        let mut taken =
            |rounds| (heap.take_freed(rounds).into_iter().flatten().collect::<Vec<_>>(), heap.freed_pages());
        assert_eq!(taken(3), (vec![], 10));
        assert_eq!(taken(2), (vec![0, 1, 2, 3, 4], 5));
        assert_eq!(taken(0), (vec![5, 6, 7, 8, 9], 0));
    }

    #[test]
    fn an_allocation_grows_into_clear_pages_behind_it() {
        let mut heap = heap(40);
        assert_eq!(heap.allocate(10 * PAGE, false), Placed::At(0));
        assert_eq!(heap.allocate(10 * PAGE, false), Placed::At(10));
        assert!(!heap.resize(0, 11 * PAGE));
        heap.remove(10).unwrap();
        heap.give_clear(10..20);
        assert!(heap.resize(0, 15 * PAGE) && !heap.resize(0, 21 * PAGE));
        assert_eq!(heap.owner(14).unwrap().1, 0..15);
        assert_eq!(heap.owner(15), None);
        assert!(heap.resize(0, 10 * PAGE));
        let freed = heap.take_freed(0);
        assert_eq!((freed.len(), freed[0].clone()), (1, 10..15));
    }

    #[test]
    fn protection_is_of_whole_allocations() {
        let mut heap = heap(40);
        heap.allocate(10 * PAGE, false);
        heap.allocate(10 * PAGE, false);
        heap.protect(12..13);
        assert!(!heap.remove(0).unwrap().is_protected && heap.has_protected());
        assert!(heap.remove(10).unwrap().is_protected && !heap.has_protected());
    }

    /// Allocations never overlap, and pages given as clear were cleared since their last use.
    #[test]
    fn no_page_is_given_twice() {
        #[derive(Clone, Copy, PartialEq, Debug)]
        enum Page {
            Clear,
            Live,
            Old,
        }
        let mut random = Rng::new(7);
        let mut heap = heap(1000);
        let (mut pages, mut live) = (vec![Page::Clear; 1000], Vec::new());
        for _ in 0..20_000 {
            match random.below(6) {
                0..3 => {
                    let (count, zeroed) = (1 + random.below(40), random.below(2) == 0);
                    let (start, is_old) = match heap.allocate(count as usize * PAGE, zeroed) {
                        Placed::At(start) => (Some(start), !zeroed),
                        Placed::Old(start) => (Some(start), true),
                        _ => (None, false),
                    };
                    if let Some(start) = start {
                        for page in &mut pages[start as usize..(start + count) as usize] {
                            assert!(*page == Page::Clear || (*page == Page::Old && is_old), "{page:?}");
                            *page = Page::Live;
                        }
                        live.push(start);
                    }
                }
                3 | 4 if !live.is_empty() => {
                    let start = live.swap_remove(random.below(live.len() as u32) as usize);
                    let freed = heap.remove(start).unwrap();
                    let range = freed.start..freed.start + freed.pages;
                    pages[range.start as usize..range.end as usize].fill(Page::Old);
                    heap.give_freed(range);
                }
                _ => {
                    heap.age();
                    for range in heap.take_freed(random.below(2)) {
                        pages[range.start as usize..range.end as usize].fill(Page::Clear);
                        heap.give_clear(range);
                    }
                }
            }
        }
        assert!(heap.len() == live.len() && live.len() > 5);
    }
}
