//! Write-back: dirty data stays in the frames of its blocks, or outside of the frames once the scheme has evicted the
//! block or if it did not admit it. It goes to the source when it has been dirty long enough, when the limit leaves no
//! space for its next write, and on demand: by a sync, or by a read of bytes that are not in the cache.
//!
//! Order. Each change of a file in the source holds the file's gate, so dirty data is written in the order in which it
//! was written here, or not at all where newer data has replaced it. A read of the source first writes the dirty data
//! of the same bytes. Data that cannot be written stays dirty, is tried again, and the file accepts no more dirty data:
//! its next write, sync or close gets the error.
//!
//! If the file changes behind the cache while data is dirty, the dirty data wins, byte by byte.

use std::io;
use std::ops::Range;
use std::time::Duration;

use hotset_core::request::Op;
use serde::Serialize;

use crate::decide::unwritten::{WHOLE, Waiting};
use crate::file_cache::FileCache;
use crate::file_cache::shared::Shared;
use crate::file_cache::state::{Access, State};
use crate::os::sync::{Arc, PoisonError};
use crate::source::files::FileNumber;
use crate::source::{self, Source};

/// What would be lost if this process ended now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AtRisk {
    /// Bytes that wait to be written.
    pub waiting_bytes: u64,
    /// Bytes that may wait at most.
    pub waiting_most_bytes: u64,
    /// Files with such bytes.
    pub waiting_files: u64,
    /// Files that could not be written when that was tried last.
    pub failed_files: u64,
    /// For so many seconds the oldest has waited, at most.
    pub waiting_seconds: f64,
    /// Blocks that went to the source because the scheme sent them away or did not keep them, as a simulation counts
    /// them.
    pub write_backs: u64,
}

/// A file with something that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    /// Its path when it was first met.
    pub path: String,
    /// Bytes that wait.
    pub bytes: u64,
}

impl FileCache {
    /// Enables write-back. The host must see to it that dirty data is [written](FileCache::write_out) when it is
    /// [overdue](FileCache::overdue).
    pub fn write_later(&self) {
        self.shared.lock().decider.writes_back = true;
    }

    /// From now on nothing more waits.
    pub fn write_through(&self) {
        self.shared.lock().decider.writes_back = false;
    }

    /// True if something of the file waits to be written.
    pub fn waits(&self, file: FileNumber) -> bool {
        self.shared.lock().decider.frames().unwritten.of(file).is_some()
    }

    /// True if the cache is broken, and something of the file waited then: it is lost.
    pub fn has_lost(&self, file: FileNumber) -> bool {
        self.is_broken() && self.shared.look().decider.frames().unwritten.of(file).is_some()
    }

    /// Where the file will end once all is written that waits; 0 if nothing does.
    pub fn end_of_waiting(&self, file: FileNumber) -> u64 {
        self.shared.lock().files[file as usize].end
    }

    /// Files with something that has waited so long, or for which it was tried in vain so long ago. Once half of what
    /// may wait does, all that were not tried in vain.
    pub fn overdue(&self, age: Duration) -> Vec<FileNumber> {
        let state = self.shared.lock();
        let unwritten = &state.decider.frames().unwritten;
        let is_crowded = unwritten.bytes() > unwritten.limit / 2;
        let is_overdue = |of: &Waiting| of.since().elapsed() >= age || (is_crowded && !of.has_failed());
        unwritten.files().filter(|(_, of)| is_overdue(of)).map(|(file, _)| file).collect()
    }

    /// Writes the dirty data of a file. Data that cannot be written stays dirty.
    pub fn write_out(&self, file: FileNumber) -> io::Result<()> {
        if !self.waits(file) {
            return Ok(());
        }
        let gate = self.shared.gate(file);
        let _held = gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.write_out_held(file, &WHOLE)
    }

    /// The data at risk, with write-back.
    pub fn at_risk(&self) -> Option<AtRisk> {
        self.shared.look().at_risk()
    }

    /// The files with something that waits.
    pub fn unsaved(&self) -> Vec<Unsaved> {
        let state = self.shared.look();
        let frames = state.decider.frames();
        let unsaved = frames.unwritten.files().map(|(file, _)| Unsaved {
            path: state.files[file as usize].path.clone(),
            bytes: frames.waiting_bytes(file),
        });
        let mut unsaved: Vec<Unsaved> = unsaved.collect();
        unsaved.sort_by(|one, other| one.path.cmp(&other.path));
        unsaved
    }

    /// Stores data written to a file, whose gate the caller holds, for write-back. False if that is not possible: then
    /// nothing was done. Beyond the limit, the writer writes back its file, never another one, whose source may hang.
    pub(crate) fn keep_for_later(&self, access: &Access, offset: u64, bytes: &[u8]) -> bool {
        let length = bytes.len() as u64;
        let is_sound = length > 0 && offset.checked_add(length).is_some_and(|end| i64::try_from(end).is_ok());
        let mut state = self.shared.lock();
        let may_wait = is_sound && state.may_wait(access, length);
        if may_wait {
            state.keep(access, offset, bytes);
            self.read_ahead.bring(&mut state);
            self.background.start(&mut state);
        }
        may_wait
    }
}

impl Shared {
    /// Writes what waits of these bytes of a file, or of all of it where the source would not know its end.
    pub fn write_before_reading(&self, file: FileNumber, range: &Range<u64>) -> io::Result<()> {
        let (gate, range) = {
            let state = self.lock();
            let known = &state.files[file as usize];
            let range = if known.has_grown(range) { 0..known.end.max(range.end) } else { range.clone() };
            if !state.decider.frames().waits(file, &range) {
                return Ok(());
            }
            (known.gate.clone(), range)
        };
        let _held = gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_out_held(file, &range)
    }

    /// Writes what waits of these bytes of a file, whose gate the caller has.
    pub fn write_out_held(&self, file: FileNumber, range: &Range<u64>) -> io::Result<()> {
        let Some(source) = self.lock().waits_for(file, range) else { return Ok(()) };
        let write = || {
            while self.write_run(file, source.as_ref(), range)? {}
            Ok(())
        };
        let written = self.alter_source(file, source.as_ref(), write, |state, _, _, after| state.altered(file, after));
        self.lock().settle(file, *range == WHOLE, written.is_err());
        written
    }

    /// Writes some of it, in one piece. False if nothing waits.
    fn write_run(&self, file: FileNumber, source: &dyn Source, range: &Range<u64>) -> io::Result<bool> {
        let Some((offset, bytes)) = self.lock().decider.frames_mut().begin_write(file, range) else {
            return Ok(false);
        };
        let call = self.busy.call();
        let written = source::write_full(source, &bytes, offset);
        drop(call);
        let mut state = self.lock();
        let done = *written.as_ref().unwrap_or(&0);
        state.traffic.writes += u64::from(done > 0);
        state.traffic.bytes_written += done as u64;
        state.traffic.errors += u64::from(written.is_err());
        state.decider.frames_mut().unwritten.end_write(file, offset, bytes, done);
        written.map(|_| true)
    }
}

impl State {
    /// The data at risk, with write-back.
    pub fn at_risk(&self) -> Option<AtRisk> {
        let unwritten = &self.decider.frames().unwritten;
        let files = || unwritten.files().map(|(_, waiting)| waiting);
        let oldest = files().map(|waiting| waiting.since().elapsed()).max().unwrap_or_default();
        self.decider.writes_back.then(|| AtRisk {
            waiting_bytes: unwritten.bytes(),
            waiting_most_bytes: unwritten.limit,
            waiting_files: files().count() as u64,
            failed_files: files().filter(|waiting| waiting.has_failed()).count() as u64,
            waiting_seconds: oldest.as_secs_f64(),
            write_backs: self.decider.counts.write_backs,
        })
    }

    /// True if this many bytes more of the file may be dirty: its state is known, they fit, and its present dirty data
    /// could be written so far and came through the same open file, whose credentials count.
    fn may_wait(&self, access: &Access, length: u64) -> bool {
        let unwritten = &self.decider.frames().unwritten;
        let is_alike = |of: &Waiting| !of.has_failed() && Arc::ptr_eq(of.source(), access.source);
        self.decider.writes_back
            && self.files[access.file as usize].stamp.is_some()
            && unwritten.of(access.file).is_none_or(is_alike)
            && unwritten.bytes().saturating_add(length) <= unwritten.limit
    }

    /// Through what the bytes are to be written, if some of them wait.
    fn waits_for(&self, file: FileNumber, range: &Range<u64>) -> Option<Arc<dyn Source>> {
        let frames = self.decider.frames();
        frames.waits(file, range).then(|| frames.unwritten.of(file).map(|waiting| waiting.source().clone())).flatten()
    }

    /// Stores written data as dirty: in the frames of its dirty blocks, and the rest outside of the frames.
    fn keep(&mut self, access: &Access, offset: u64, bytes: &[u8]) {
        let (file, range) = (access.file, offset..offset + bytes.len() as u64);
        let known = &mut self.files[file as usize];
        let before = known.size();
        known.end = known.end.max(range.end);
        let size = known.size();
        self.transfers.cancel(file, &range);
        if size != before {
            // A read that stopped where the file ended would be taken for its end.
            self.transfers.cancel(file, &(before.saturating_sub(1)..u64::MAX));
        }
        self.decider.frames_mut().unwritten.begin(file, access.source);
        self.tell_version(file);
        self.decide(access, Op::Write, &range, size, &mut |_, _| {});
        let slots = self.decider.overlapping(file, &range);
        let frames = self.decider.frames_mut();
        let mut framed: Vec<Range<u64>> =
            slots.into_iter().filter_map(|slot| frames.write(slot, offset, bytes)).collect();
        framed.sort_unstable_by_key(|there| there.start);
        framed.push(range.end..range.end);
        let mut at = offset;
        for there in framed {
            if at < there.start {
                let beside = &bytes[(at - offset) as usize..(there.start - offset) as usize];
                frames.unwritten.stage(file, at, beside.to_vec());
            }
            at = at.max(there.end);
        }
        self.traffic.bytes_taken += bytes.len() as u64;
    }

    /// The file ends at `size`, or is deleted: dirty data beyond it is not written.
    pub fn discard(&mut self, file: FileNumber, size: u64) {
        self.decider.frames_mut().discard(file, size);
        // As the source has it from now on.
        self.files[file as usize].end = 0;
    }

    /// The file, or some of it, has been written or could not be.
    fn settle(&mut self, file: FileNumber, is_whole: bool, has_failed: bool) {
        if self.decider.frames_mut().unwritten.settle(file, is_whole, has_failed) {
            self.files[file as usize].end = 0;
        }
    }
}
