//! An announced order of files: what is opened last is evicted first, and what is opened next is prefetched.
//!
//! Hits and misses are those of OPT with bypass for the announced files; prefetched data waits outside of the frames,
//! as read-ahead does, and does not count as a hit.

use std::io;

use crate::decide::schedule::{Progress, Schedule, Upcoming};
use crate::error::CacheError;
use crate::file_cache::FileCache;
use crate::file_cache::state::State;
use crate::os::sync::Arc;
use crate::source::Source;
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
        state.order = None;
        state.decider.announce(Some(schedule));
        Ok(())
    }

    /// Ends the announced order, so that the policy decides alone. Returns what became of it, if there was one.
    pub fn end_order(&self) -> Option<Progress> {
        let mut state = self.shared.lock();
        state.end_order();
        state.order
    }

    /// A file was opened. Returns the files that are opened next and should be [prefetched](FileCache::prefetch) now:
    /// none without an announced order.
    pub fn started(&self, file: FileNumber) -> Vec<Upcoming> {
        let mut state = self.shared.lock();
        let Some(schedule) = &mut state.decider.schedule else { return Vec::new() };
        schedule.open(file);
        let upcoming = schedule.upcoming();
        if schedule.progress().is_over {
            state.end_order();
        }
        let is_missing = |file: Option<FileNumber>| file.is_none_or(|file| !state.has_all_of(file));
        upcoming.into_iter().filter(|&(_, file)| is_missing(file)).map(|(upcoming, _)| upcoming).collect()
    }

    /// Prefetches a file of the announced order. If the limits do not allow it now, a later [`FileCache::started`]
    /// returns the file again.
    ///
    /// # Errors
    ///
    /// The source cannot be asked about the file.
    pub fn prefetch(&self, upcoming: &Upcoming, file: FileNumber, source: &Arc<dyn Source>) -> io::Result<()> {
        let is_begun = self.expect(file, source)?;
        if let Some(schedule) = &mut self.shared.lock().decider.schedule {
            match is_begun {
                true => schedule.count_prefetched(),
                false => schedule.give_back(upcoming.position),
            }
        }
        Ok(())
    }
}

impl State {
    fn end_order(&mut self) {
        if let Some(schedule) = &self.decider.schedule {
            self.order = Some(schedule.progress());
            self.decider.announce(None);
        }
    }

    /// The announced order, or what became of the last one.
    pub fn progress(&self) -> Option<Progress> {
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
