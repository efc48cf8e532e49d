//! Writing: through to the source first, then the cached blocks are changed, then it is acknowledged; or later
//! (`write_back.rs`).

use std::io;
use std::ops::Range;

use hotset_core::request::Op;

use crate::decide::unwritten::WHOLE;
use crate::file_cache::FileCache;
use crate::file_cache::shared::Shared;
use crate::file_cache::state::{Access, State};
use crate::os::sync::{Arc, Mutex, PoisonError};
use crate::source::files::FileNumber;
use crate::source::{self, Source, Stamp};

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
            || {
                let _call = self.shared.busy.call();
                source::write_full(access.source.as_ref(), bytes, offset)
            },
            |state, written, size| {
                let range = offset..offset.saturating_add(bytes.len() as u64);
                state.transfers.cancel(access.file, &range);
                let done = *written.as_ref().unwrap_or(&0);
                state.wrote(access, offset, &bytes[..done], size);
                // It is unknown which of the other bytes were written.
                state.invalidate(access.file, &(offset.saturating_add(done as u64)..range.end));
                state.traffic.errors += u64::from(written.is_err());
            },
        )
    }

    /// Appends `bytes` at the end of the file, which may have moved behind the cache; returns their offset and number.
    /// They are always written at once.
    pub fn append(&self, access: &Access, bytes: &[u8]) -> io::Result<(u64, usize)> {
        self.alter(
            access,
            || {
                let _call = self.shared.busy.call();
                access.source.append(bytes)
            },
            |state, appended, size| match appended {
                Ok((offset, done)) => {
                    state.transfers.cancel(access.file, &(*offset..u64::MAX));
                    state.wrote(access, *offset, &bytes[..*done], size);
                }
                Err(_) => state.traffic.errors += 1,
            },
        )
    }

    /// Cuts or extends the file. Dirty data beyond the new end is not written.
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

    /// Makes all written data of the file durable in the source ([`Source::sync`](source::Source::sync)), dirty data
    /// included. If that fails, it is unknown which data is durable: the file's cached data is dropped, so that readers
    /// get the source's.
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

    /// Changes a file in the source, and then its cached data. Dirty data is written first, so that it does not
    /// overwrite this change.
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
            // Admitted blocks are read up to the known size.
            state.altered(file, after);
            self.read_ahead.bring(state);
            self.background.start(state);
        })
    }
}

impl Shared {
    /// Held by the thread that changes the file in the source.
    pub fn gate(&self, file: FileNumber) -> Arc<Mutex<()>> {
        self.lock().files[file as usize].gate.clone()
    }

    /// Changes a file in the source, while no other thread does so here: the caller holds its gate. `settle` is given
    /// the result, the size of the file after it, and its stamp, if that is known.
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
    /// Puts written data into the frames of its blocks.
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
