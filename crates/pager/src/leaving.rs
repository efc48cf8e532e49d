//! Victims on their way out of the page cache.

use std::io;
use std::ops::Range;

use crate::{PagerError, Region};

/// Attempts to drop a clean range after which it is given up: the program has touched it again, or the kernel needs its
/// pages, as for direct I/O into them.
const ATTEMPTS: u32 = 16;

/// The most ranges that one step looks at: while the thread is in a step, nothing else is done.
const RANGES: usize = 512;

/// Ranges that were evicted and have not left yet.
///
/// A clean page leaves at once. A dirty page is written back first, and leaves only after a check that no write has
/// failed.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    ranges: Vec<Waiting>,
    /// Pages that were dirty when they were evicted.
    pub(crate) written: u64,
    /// Pages that have left.
    pub(crate) left: u64,
}

#[derive(Debug)]
struct Waiting {
    range: Range<u32>,
    /// Attempts to drop it.
    attempts: u32,
    /// A write was started.
    is_written: bool,
}

impl Leaving {
    /// The number of pages that wait, at most.
    pub(crate) fn pages(&self) -> u64 {
        self.ranges.iter().map(|waiting| waiting.range.len() as u64).sum()
    }

    /// Keeps those of `pages` that do not wait.
    pub(crate) fn keep_others(&self, pages: &mut Vec<u32>) {
        let mut ranges: Vec<_> = self.ranges.iter().map(|waiting| (waiting.range.start, waiting.range.end)).collect();
        ranges.sort_unstable();
        let last_from = |page: u32| ranges.partition_point(|&(start, _)| start <= page).checked_sub(1);
        pages.retain(|&page| last_from(page).is_none_or(|at| ranges[at].1 <= page));
    }

    /// Evicts the pages of sorted, unique `victims`.
    pub(crate) fn evict(&mut self, region: &Region, victims: &[u32]) -> io::Result<()> {
        for run in victims.chunk_by(|one, next| one + 1 == *next) {
            let range = run[0]..run[run.len() - 1] + 1;
            region.unmap(range.clone())?;
            self.ranges.push(Waiting { range, attempts: 0, is_written: false });
        }
        Ok(())
    }

    /// Brings the ranges that were looked at longest ago one step further. Pages for which `is_resident` are left out:
    /// the policy has them again.
    pub(crate) fn step(&mut self, region: &Region, is_resident: impl Fn(u32) -> bool) -> Result<(), PagerError> {
        let mut clean = Vec::new();
        let mut waiting = std::mem::take(&mut self.ranges);
        self.ranges = waiting.split_off(waiting.len().min(RANGES));
        waiting.retain(|one| one.attempts < ATTEMPTS);
        for mut one in waiting {
            if one.range.clone().any(&is_resident) {
                self.split(&one, &is_resident);
                continue;
            }
            let cached = region.cached(one.range.clone()).map_err(|error| region.error(error))?;
            if cached.pages == 0 {
                self.left += one.range.len() as u64;
                continue;
            }
            if cached.dirty > 0 {
                self.written += if one.is_written { 0 } else { cached.dirty };
                one.is_written = true;
                region.write_back(one.range.clone()).map_err(|error| region.error(error))?;
            } else if cached.writing == 0 {
                one.attempts += 1;
                clean.push(one.range.clone());
            }
            self.ranges.push(one);
        }
        if let Some(first) = clean.first() {
            // Fails if a write of any page has failed. Then no page leaves.
            region.await_writes(first.start..first.start + 1)?;
        }
        clean.into_iter().try_for_each(|range| region.drop_clean(range)).map_err(|error| region.error(error))
    }

    /// Keeps the runs of pages that are not resident.
    fn split(&mut self, one: &Waiting, is_resident: &impl Fn(u32) -> bool) {
        let pages: Vec<u32> = one.range.clone().filter(|&page| !is_resident(page)).collect();
        for run in pages.chunk_by(|page, next| page + 1 == *next) {
            let range = run[0]..run[run.len() - 1] + 1;
            self.ranges.push(Waiting { range, attempts: one.attempts, is_written: one.is_written });
        }
    }

    /// Forgets pages whose content is void.
    pub(crate) fn forget(&mut self, range: &Range<u32>) {
        if self.ranges.iter().any(|one| one.range.start < range.end && range.start < one.range.end) {
            for one in std::mem::take(&mut self.ranges) {
                self.split(&one, &|page| range.contains(&page));
            }
        }
    }
}
