//! Writing: through to the source first, then the cached blocks are changed, then it is acknowledged; or later
//! (`write_back.rs`).

use std::io;
use std::ops::Range;

use hotset_core::request::Op;

use crate::cache::FileCache;
use crate::files::FileNumber;
use crate::shared::Shared;
use crate::source::{self, Source, Stamp};
use crate::state::{Access, State};
use crate::sync::{Arc, Mutex, PoisonError};
use crate::unwritten::WHOLE;

impl FileCache {
    /// Writes `bytes` at `offset`; gives how many were written. When it returns they are where the source keeps what is
    /// written to it, unless they are to be written [later](FileCache::write_later).
    pub fn write(&self, access: &Access, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let gate = self.shared.gate(access.file);
        let _held = gate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.keep_for_later(access, offset, bytes) {
            return Ok(bytes.len());
        }
        self.write_held(access, offset, bytes)
    }

    /// The same, and it never waits.
    pub fn write_now(&self, access: &Access, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let gate = self.shared.gate(access.file);
        let _held = gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_held(access, offset, bytes)
    }

    fn write_held(&self, access: &Access, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.shared.write_out_held(access.file, &WHOLE)?;
        self.alter_held(
            access,
            || source::write_full(access.source.as_ref(), bytes, offset),
            |state, written, size| {
                let range = offset..offset.saturating_add(bytes.len() as u64);
                state.transfers.cancel(access.file, &range);
                let done = *written.as_ref().unwrap_or(&0);
                state.wrote(access, offset, &bytes[..done], size);
                // Nobody knows what became of the rest.
                state.invalidate(access.file, &(offset.saturating_add(done as u64)..range.end));
                state.traffic.errors += u64::from(written.is_err());
            },
        )
    }

    /// Writes `bytes` behind the end of the file, which somebody may have moved behind the cache; tells where they
    /// begin, and how many were written. They are never written later.
    pub fn append(&self, access: &Access, bytes: &[u8]) -> io::Result<(u64, usize)> {
        self.alter(
            access,
            || access.source.append(bytes),
            |state, appended, size| match appended {
                Ok((offset, done)) => {
                    state.transfers.cancel(access.file, &(*offset..u64::MAX));
                    state.wrote(access, *offset, &bytes[..*done], size);
                }
                Err(_) => state.traffic.errors += 1,
            },
        )
    }

    /// Cuts or extends the file. What waits behind the new end is not written.
    pub fn set_len(&self, access: &Access, size: u64) -> io::Result<()> {
        let gate = self.shared.gate(access.file);
        let _held = gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.alter_held(
            access,
            || access.source.set_len(size),
            |state, done, _| {
                if done.is_ok() {
                    state.discard(access.file, size);
                    state.decide(access, Op::Truncate, &(size..size), size, &mut |_, _| {});
                }
                state.invalidate(access.file, &(size..u64::MAX));
            },
        )
    }

    /// Has the source keep what was written to the file ([`Source::sync`](source::Source::sync)), what waits to be
    /// written included. If it cannot, nobody knows what it has kept: nothing of the file stays cached, so that whoever
    /// reads it is given what the source has.
    pub fn sync(&self, access: &Access, data_only: bool) -> io::Result<()> {
        self.write_out(access.file)?;
        let done = access.source.sync(data_only);
        if done.is_err() {
            let mut state = self.shared.lock();
            state.invalidate(access.file, &(0..u64::MAX));
            state.files[access.file as usize].in_doubt = true;
            state.tell_version(access.file);
            state.traffic.errors += 1;
        }
        done
    }

    /// Does something else that changes the bytes `range` of the file in the source: making holes, copying within the
    /// source.
    pub fn change<T>(
        &self,
        access: &Access,
        range: &Range<u64>,
        change: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.alter(access, change, |state, _, _| state.invalidate(access.file, range))
    }

    /// Changes a file in the source, and then what is cached of it. What waits is written before, so that it does not
    /// come later than this.
    fn alter<T>(
        &self,
        access: &Access,
        change: impl FnOnce() -> io::Result<T>,
        settle: impl FnOnce(&mut State, &io::Result<T>, u64),
    ) -> io::Result<T> {
        let gate = self.shared.gate(access.file);
        let _held = gate.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.write_out_held(access.file, &WHOLE)?;
        self.alter_held(access, change, settle)
    }

    fn alter_held<T>(
        &self,
        access: &Access,
        change: impl FnOnce() -> io::Result<T>,
        settle: impl FnOnce(&mut State, &io::Result<T>, u64),
    ) -> io::Result<T> {
        let (file, source) = (access.file, access.source.as_ref());
        self.shared.alter_source(file, source, change, |state, done, size, after| {
            settle(state, done, size);
            // What is brought in is read up to the size that is known.
            state.altered(file, after);
            self.read_ahead.bring(state);
            self.background.start(state);
        })
    }
}

impl Shared {
    /// Whoever changes the file in the source holds it meanwhile.
    pub fn gate(&self, file: FileNumber) -> Arc<Mutex<()>> {
        self.lock().files[file as usize].gate.clone()
    }

    /// Changes a file in the source, while no one else does so here: the caller has its gate. `settle` is given the
    /// result, the size of the file after it, and what the file is like then, if that is known.
    pub fn alter_source<T>(
        &self,
        file: FileNumber,
        source: &dyn Source,
        change: impl FnOnce() -> io::Result<T>,
        settle: impl FnOnce(&mut State, &io::Result<T>, u64, Option<Stamp>),
    ) -> io::Result<T> {
        let before = source.stamp()?;
        {
            let mut state = self.lock();
            state.reconcile(file, before);
            let known = &mut state.files[file as usize];
            known.writers += 1;
            known.in_doubt = true;
            state.tell_version(file);
        }
        let done = change();
        let after = source.stamp();
        let size = after.as_ref().map_or(before.size, |stamp| stamp.size);
        let mut state = self.lock();
        state.files[file as usize].writers -= 1;
        if size != before.size {
            // A read that stopped where the file ended would be taken for its end.
            let last = size.min(before.size).saturating_sub(1);
            state.transfers.cancel(file, &(last..u64::MAX));
        }
        settle(&mut state, &done, size, after.ok());
        done
    }
}

impl State {
    /// What has been written goes into the frames of its blocks.
    fn wrote(&mut self, access: &Access, offset: u64, bytes: &[u8], size: u64) {
        if bytes.is_empty() {
            return;
        }
        let range = offset..offset + bytes.len() as u64;
        self.decide(access, Op::Write, &range, size, &mut |_, _| {});
        for slot in self.decider.overlapping(access.file, &range) {
            self.decider.frames_mut().fill(slot, offset, bytes);
        }
        self.traffic.writes += 1;
        self.traffic.bytes_taken += bytes.len() as u64;
        self.traffic.bytes_written += bytes.len() as u64;
    }

    /// Takes note of what a file is like after it was changed here. If that is not known nothing of it is.
    pub fn altered(&mut self, file: FileNumber, stamp: Option<Stamp>) {
        if stamp.is_none() {
            self.invalidate(file, &(0..u64::MAX));
        }
        self.files[file as usize].stamp = stamp;
    }
}
