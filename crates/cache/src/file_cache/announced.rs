//! An announced order of files: the file that is opened last is evicted first, and the next ones are prefetched.
//!
//! Prefetched data waits outside of the frames, as read-ahead does, and does not count as a hit.

use crate::decide::schedule::{OrderProgress, Schedule, Upcoming};
use crate::error::CacheError;
use crate::file_cache::FileCache;
use crate::file_cache::state::State;
use crate::source::files::FileNumber;

impl FileCache {
    /// Announces the order in which files will be opened, by their paths as [`FileCache::file`] gets them. A path may
    /// occur several times. It replaces an earlier order.
    ///
    /// # Errors
    ///
    /// The scheme cuts or classifies blocks in its own way, or a recording is being made: its replay would not know the
    /// order.
    pub fn announce(&self, paths: impl IntoIterator<Item = String>) -> Result<(), CacheError> {
        let mut schedule = Schedule::new(paths);
        let policy = self.policy();
        let mut state = self.shared.lock();
        if state.recording.is_some() {
            return Err(CacheError::OrderRecorded);
        }
        if !state.decider.is_plain() {
            return Err(CacheError::Order(policy.to_string()));
        }
        let known = state.files.all().iter().zip(0..).filter(|(file, _)| !file.path.is_empty());
        known.for_each(|(file, number)| schedule.add(number, &file.path));
        let ended = state.end_order();
        state.order = None;
        state.decider.announce(Some(schedule));
        drop(state);
        drop(ended);
        Ok(())
    }

    /// Ends the announced order, so that the policy decides alone. Returns what became of it, if there was one.
    pub fn end_order(&self) -> Option<OrderProgress> {
        let mut state = self.shared.lock();
        let ended = state.end_order();
        let progress = state.order;
        drop(state);
        // An order may be long.
        drop(ended);
        progress
    }

    /// A file was opened, and `open` files are open now; `name` returns its path. Returns the next files of the order
    /// that should be [prefetched](FileCache::expect) now: none without an announced order. After each of these,
    /// [`FileCache::end_prefetch`] must be called.
    pub fn started(&self, file: FileNumber, open: usize, name: impl FnOnce() -> String) -> Vec<Upcoming> {
        let mut state = self.shared.lock();
        let Some(schedule) = &mut state.decider.schedule else { return Vec::new() };
        if !schedule.has(file) {
            // It may have been renamed since it was first met.
            schedule.add(file, &name());
        }
        schedule.open(file);
        let most = if state.staged.bytes() < self.read_ahead.budget() / 2 {
            PREFETCHES.get(open).copied().unwrap_or(0)
        } else {
            0
        };
        let Some(schedule) = &mut state.decider.schedule else { return Vec::new() };
        let (upcoming, is_over) = (schedule.upcoming(most), schedule.progress().is_over);
        let is_missing = |file: Option<FileNumber>| file.is_none_or(|file| !state.has_all_of(file));
        let upcoming: Vec<Upcoming> =
            upcoming.into_iter().filter(|&(_, file)| is_missing(file)).map(|(upcoming, _)| upcoming).collect();
        if let Some(schedule) = &mut state.decider.schedule {
            upcoming.iter().for_each(|upcoming| schedule.begin_prefetch(upcoming));
        }
        let ended = if is_over { state.end_order() } else { None };
        drop(state);
        drop(ended);
        upcoming
    }

    /// A prefetch has ended, and has read something or not.
    pub fn end_prefetch(&self, has_read: bool) {
        self.shared.lock().decider.schedule.iter_mut().for_each(|schedule| schedule.end_prefetch(has_read));
    }
}

/// Prefetches of files under way, at most, by the number of open files. More would delay the reads of programs, and
/// several readers keep the source busy themselves.
const PREFETCHES: [usize; 3] = [4, 4, 2];

impl State {
    /// Ends the announced order, and returns it to be dropped without the lock.
    fn end_order(&mut self) -> Option<Schedule> {
        let ended = self.decider.schedule.take()?;
        self.order = Some(ended.progress());
        Some(ended)
    }

    /// The announced order, or what became of the last one.
    pub fn progress(&self) -> Option<OrderProgress> {
        self.decider.schedule.as_ref().map(Schedule::progress).or(self.order)
    }

    /// True if all of a file is resident, as far as its size is known.
    fn has_all_of(&self, file: FileNumber) -> bool {
        let size = self.files[file as usize].size();
        let blocks = self.decider.ahead(file, &(0..size));
        let index = &self.decider.frames().index;
        let is_resident = |address| index.find(address).is_some_and(|slot| index.entry(slot).frame.is_some());
        size > 0 && !blocks.is_empty() && blocks.iter().all(|block| is_resident(block.address))
    }
}
