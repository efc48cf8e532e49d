//! An object that is being written.
//!
//! The unsent data is a window at the end of the object, no longer than a part. The window may be written, cut and read
//! in any order; once it is longer than a part, its first part is sent, and sent data cannot be changed. So an object
//! that is no longer than a part can be written in any order, and its previous content is fetched when part of it is
//! changed; a longer one is written from start to end.
//!
//! The store has the previous version until [`finish`](Written::finish) has succeeded, which creates a new version of
//! all written data.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hotset_cache::FileNumber;
use hotset_cache::source::{Source, Stamp, Version};
use hotset_store::{MOST_PARTS, Object, PART, Store, StoreError, Upload};
use rustix::io::Errno;

use super::nodes::{Growth, Node};

/// So many parts are of one size; then they are twice as long.
const ALIKE: usize = 1000;

/// So often they become twice as long.
const DOUBLINGS: usize = 3;

/// An object that is open for writing. One handle has it.
pub(super) struct Written {
    store: Arc<Store>,
    pub node: Arc<Node>,
    /// The open asked to keep the previous content.
    keeps: bool,
    /// The process that has opened it.
    pub opener: u32,
    /// The number that the cache has for the application that writes.
    pub app: u32,
    /// The number that the cache has for what was written since it was complete last.
    pub file: Mutex<Option<FileNumber>>,
    /// The version in the store that a new one replaces.
    replaced: Mutex<Option<Object>>,
    /// The store lacks something.
    is_pending: AtomicBool,
    /// Something was written or cut since it was opened.
    is_touched: AtomicBool,
    /// It was closed before that, though perhaps not by all who have it open.
    is_left: AtomicBool,
    /// Held while it is changed in the cache too, and while it is completed, until the cache knows.
    order: Mutex<()>,
    /// Held while parts are sent, and while it is completed.
    state: Mutex<State>,
    /// It is one of those that can be open.
    _place: Arc<()>,
}

#[derive(Default)]
struct State {
    /// The object as it was at the open, still unchanged.
    before: Option<Object>,
    /// It was as long, and what it was behind what is written is to stay: it must be written so far, or cut.
    least: u64,
    /// The window, and where it begins.
    window: Vec<u8>,
    sent: u64,
    upload: Option<Upload>,
    /// All of it was sent in parts: nothing can follow.
    is_sealed: bool,
    /// There must be no such object when it is complete.
    only_new: bool,
    /// The writer has received an error for the present incomplete state.
    is_told: bool,
    /// Why it cannot be completed any more.
    failed: Option<Errno>,
    /// It has lost its name: nothing of it is kept.
    is_nameless: bool,
    /// Changes so far.
    changes: u64,
}

/// Size of the next part when there are `parts`.
fn part_size(parts: usize) -> usize {
    PART << (parts / ALIKE).min(DOUBLINGS)
}

/// The bytes of the longest object: all parts.
fn longest() -> u64 {
    let doubled: usize = (0..DOUBLINGS).map(|doubling| ALIKE * (PART << doubling)).sum();
    (doubled + (MOST_PARTS - ALIKE * DOUBLINGS) * (PART << DOUBLINGS)) as u64
}

/// The error for the writer: a missing object or another version means that it cannot be written.
pub(super) fn refused(error: StoreError) -> Errno {
    match error {
        StoreError::Missing | StoreError::Changed => Errno::IO,
        error => error.errno(),
    }
}

impl Written {
    /// One that is to replace `before`, or is new; with `only_new` it must be. Without `keeps` nothing of what was
    /// there before stays.
    pub fn new(
        store: Arc<Store>,
        node: Arc<Node>,
        (opener, app): (u32, u32),
        before: Option<Object>,
        (keeps, only_new): (bool, bool),
        place: Arc<()>,
    ) -> Written {
        let is_pending = AtomicBool::new(before.is_none() || !keeps);
        let state = State { before: before.clone().filter(|_| keeps), only_new, ..State::default() };
        Written {
            store,
            node,
            keeps,
            opener,
            app,
            file: Mutex::default(),
            replaced: Mutex::new(before),
            is_pending,
            is_touched: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            order: Mutex::default(),
            state: Mutex::new(state),
            _place: place,
        }
    }

    pub fn path(&self) -> &str {
        &self.node.path
    }

    /// Changes made while this is held belong to the next version, and to no earlier one.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn growth(&self) -> Option<&Growth> {
        self.node.growth()
    }

    /// The store lacks something of it.
    pub fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::SeqCst)
    }

    /// Something was written or cut since it was opened.
    pub fn is_touched(&self) -> bool {
        self.is_touched.load(Ordering::SeqCst)
    }

    /// It is closed though nothing was written: others may have it open, and write.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::SeqCst);
    }

    /// It was left so, and is so still.
    pub fn is_left(&self) -> bool {
        self.is_left.load(Ordering::SeqCst) && !self.is_touched()
    }

    /// The object that the store has, which is to be replaced.
    pub fn replaced(&self) -> Option<Object> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True if the open asked to keep the previous content.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// It has lost its name.
    pub fn is_nameless(&self) -> bool {
        self.lock().is_nameless
    }

    /// Removes its name: later writes, and earlier ones that are not complete, are discarded.
    pub fn unlink(&self) {
        let mut state = self.lock();
        state.is_nameless = true;
        state.upload = None;
    }

    /// Has the store have all of it; gives the new version, if one was needed.
    pub fn finish(&self) -> io::Result<Option<Object>> {
        let mut state = self.lock();
        if !self.is_pending() || state.is_nameless {
            return Ok(None);
        }
        state.check()?;
        let done = state.finish(&self.store, self.path());
        state.is_told = done.is_err();
        if let Ok(object) = &done {
            self.is_pending.store(false, Ordering::SeqCst);
            *self.replaced.lock().unwrap_or_else(PoisonError::into_inner) = Some(object.clone());
            state.only_new = false;
        }
        Ok(Some(done?))
    }

    /// The same at the last close, which cannot report errors: a completion that has already failed for a caller is not
    /// repeated, so that the object does not appear after the error.
    pub fn finish_last(&self) -> io::Result<Option<Object>> {
        if self.lock().is_told {
            self.give_up();
        }
        self.finish()
    }

    /// Whatever is not complete never will be.
    pub fn give_up(&self) {
        let mut state = self.lock();
        if self.is_pending() && state.failed.is_none() {
            let _ = state.fail(Errno::IO);
        }
    }

    /// The complete object has another name by now, or another handle writes to it: it no longer belongs to this one.
    pub fn seal(&self) {
        let _ = self.lock().fail(Errno::STALE);
    }

    /// Fails if nothing can be written any more.
    pub fn check(&self) -> io::Result<()> {
        self.lock().check()
    }

    /// Writes. Where something is refused there will be no new version: it would lack that.
    fn write<T>(&self, write: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        self.change(|state| {
            let done = write(state);
            if let Err(error) = &done {
                self.is_touched.store(true, Ordering::SeqCst);
                self.is_pending.store(true, Ordering::SeqCst);
                state.fail(Errno::from_io_error(error).unwrap_or(Errno::IO));
            }
            done
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.lock();
        state.check()?;
        if state.is_sealed {
            return Err(Errno::OPNOTSUPP.into());
        }
        let done = change(&mut state)?;
        state.changes += 1;
        state.is_told = false;
        self.is_touched.store(true, Ordering::SeqCst);
        self.is_pending.store(true, Ordering::SeqCst);
        self.growth().into_iter().for_each(|growth| growth.set(state.length()));
        Ok(done)
    }
}

impl State {
    fn check(&self) -> io::Result<()> {
        self.failed.map_or(Ok(()), |errno| Err(errno.into()))
    }

    /// From now on all fails.
    fn fail(&mut self, errno: Errno) -> io::Error {
        self.failed = Some(errno);
        (self.upload, self.window) = (None, Vec::new());
        errno.into()
    }

    /// Where the bytes end that are here or were sent.
    fn end(&self) -> u64 {
        self.before.as_ref().map_or(self.sent + self.window.len() as u64, Object::size)
    }

    /// What lies between the end and this only the old version has.
    fn length(&self) -> u64 {
        self.end().max(self.least)
    }

    /// Before it is changed from `offset` on: has what it was before, if that stays. A longer one than a part is only
    /// written anew from its begin.
    fn take_over(&mut self, store: &Store, offset: u64) -> io::Result<()> {
        let Some(before) = self.before.take() else { return Ok(()) };
        if before.size() <= PART as u64 {
            match store.read(&before, 0..before.size()) {
                Ok(bytes) => self.window = bytes,
                Err(error) => {
                    self.before = Some(before);
                    return Err(error.into());
                }
            }
        } else if offset == 0 {
            self.least = before.size();
        } else {
            self.before = Some(before);
            return Err(Errno::OPNOTSUPP.into());
        }
        Ok(())
    }

    fn write(&mut self, store: &Arc<Store>, path: &str, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= longest()).ok_or(Errno::FBIG)?;
        self.take_over(store, offset)?;
        self.extend(offset)?;
        let at = (offset - self.sent) as usize;
        let within = bytes.len().min(self.window.len() - at);
        self.window[at..at + within].copy_from_slice(&bytes[..within]);
        let more = &bytes[within..];
        let size = part_size(self.upload.as_ref().map_or(0, Upload::parts));
        if self.window.capacity() < self.window.len() + more.len() {
            // Twice as much each time, but not twice a part.
            let wanted = (2 * self.window.len()).min(size) + more.len();
            self.window.reserve_exact(wanted - self.window.len());
        }
        self.window.extend_from_slice(more);
        debug_assert!(self.end() >= end);
        self.send(store, path)
    }

    /// Has zeros up to `offset`, if that is not behind the end of the window by more than a part.
    fn extend(&mut self, offset: u64) -> io::Result<()> {
        let at = offset.checked_sub(self.sent).ok_or(Errno::OPNOTSUPP)?;
        let length = self.window.len() as u64;
        let is_in_old = at > length && self.end() < self.least;
        if is_in_old || at > length + PART as u64 {
            return Err(Errno::OPNOTSUPP.into());
        }
        self.window.resize(at.max(length) as usize, 0);
        Ok(())
    }

    /// Sends whole parts as long as there is more than one.
    fn send(&mut self, store: &Arc<Store>, path: &str) -> io::Result<()> {
        loop {
            let size = part_size(self.upload.as_ref().map_or(0, Upload::parts));
            if self.window.len() <= size {
                return Ok(());
            }
            if self.upload.is_none() && !self.is_nameless {
                self.upload = Some(store.upload(path).map_err(|error| self.fail(refused(error)))?);
            }
            let behind = self.window.split_off(size);
            let part = mem::replace(&mut self.window, behind);
            self.sent += size as u64;
            let sent = self.upload.as_mut().map_or(Ok(()), |upload| upload.add(part));
            sent.map_err(|error| self.fail(refused(error)))?;
        }
    }

    fn cut(&mut self, store: &Arc<Store>, path: &str, size: u64) -> io::Result<()> {
        if size == 0 {
            // From its begin, as if nothing had been there.
            (self.before, self.upload, self.sent, self.least) = (None, None, 0, 0);
            self.window = Vec::new();
            return Ok(());
        }
        if size > longest() {
            return Err(Errno::FBIG.into());
        }
        self.take_over(store, size)?;
        self.extend(size)?;
        self.window.truncate((size - self.sent) as usize);
        self.least = 0;
        self.send(store, path)
    }

    fn finish(&mut self, store: &Arc<Store>, path: &str) -> io::Result<Object> {
        if self.end() < self.least {
            // Only the old version has the rest.
            return Err(self.fail(Errno::OPNOTSUPP));
        }
        let Some(mut upload) = self.upload.take() else {
            let put = store.put(path, self.window.clone(), self.only_new);
            return put.map_err(|error| refused(error).into());
        };
        self.is_sealed = true;
        let last = mem::take(&mut self.window);
        self.sent += last.len() as u64;
        let only_new = self.only_new;
        let complete = move || {
            if !last.is_empty() {
                upload.add(last)?;
            }
            upload.complete(only_new)
        };
        complete().map_err(|error| self.fail(refused(error)))
    }
}

impl Source for Written {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.lock();
        // Where nothing was changed what was there can be read, whatever was refused.
        if state.before.is_none() {
            state.check()?;
        }
        let end = offset.saturating_add(buffer.len() as u64).min(state.length());
        if offset >= end {
            return Ok(0);
        }
        let length = (end - offset) as usize;
        if let Some(before) = state.before.clone() {
            drop(state);
            buffer[..length].copy_from_slice(&self.store.read(&before, offset..end)?);
            return Ok(length);
        }
        // Sent data is no longer stored here, and only the old version has data beyond the end.
        let at = offset.checked_sub(state.sent).filter(|_| end <= state.end()).ok_or(Errno::OPNOTSUPP)? as usize;
        buffer[..length].copy_from_slice(&state.window[at..at + length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write(|state| state.write(&self.store, self.path(), bytes, offset))?;
        Ok(bytes.len())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        let append = |state: &mut State| {
            let end = state.length();
            state.write(&self.store, self.path(), bytes, end).map(|()| end)
        };
        Ok((self.write(append)?, bytes.len()))
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.check()?;
        if size > 0 && state.length() == size {
            return Ok(());
        }
        // Sent data can only be cut to nothing.
        state.is_sealed &= size > 0;
        drop(state);
        self.change(|state| state.cut(&self.store, self.path(), size))
    }

    /// Another one after each change.
    fn stamp(&self) -> io::Result<Stamp> {
        let state = self.lock();
        Ok(Stamp::new(state.length(), Version::from(state.changes)))
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        self.finish().map(drop)
    }
}
