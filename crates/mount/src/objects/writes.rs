//! Objects being written, by name, and directories that were created here and are still empty.
//!
//! Other threads still see the store's version: a name refers to the object being written only where the store has
//! nothing by that name, and for the thread that opens it, which the kernel has look the name up again.
//!
//! A store has no directories. A directory that is created is remembered here until something is in it, it is removed
//! or the mount ends; so is a directory of which the last object is deleted here, so that a program that removes a tree
//! still finds the directory.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::names::{name_of, parent_of};
use super::written::Written;

/// Objects that are written at a time: each may have a part in memory.
const MOST: usize = 128;

/// Directories that are remembered.
const MOST_MADE: usize = 1 << 16;

/// A thread that was answered `ESTALE` repeats the look-up within this time.
const PROMISED: Duration = Duration::from_secs(10);

/// A thread that is to look up what it writes does so within this time; a later look-up has another purpose.
const EXPECTED: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Writes {
    table: Mutex<Table>,
    /// Each object that is open for writing has one of these, whether it has a name or not.
    places: Arc<()>,
    closed: Condvar,
}

#[derive(Default)]
struct Table {
    written: HashMap<String, Entry>,
    made: BTreeSet<String>,
    /// Names that are being moved from and to.
    moving: HashSet<String>,
    /// Threads that look an object up to write it.
    expected: HashMap<u32, Expected>,
    /// Names of what is being sent, or of which a handle is being closed.
    closing: Vec<String>,
}

struct Entry {
    written: Arc<Written>,
    /// The thread that is to open it, and since when.
    promised: Option<(u32, Instant)>,
    /// What others have open by this name, complete by now: it cannot be written on once the thread has opened this.
    before: Option<Arc<Written>>,
}

/// That a thread looks an object up to write it.
pub(super) struct Expected {
    path: String,
    /// It may have been moved, so that it is looked up by another path.
    is_moved: bool,
    /// It keeps what is there.
    pub keeps: bool,
    since: Instant,
}

impl Expected {
    /// From now on.
    pub fn new(path: &str, is_moved: bool, keeps: bool) -> Expected {
        Expected { path: path.to_owned(), is_moved, keeps, since: Instant::now() }
    }

    /// The path may be the expected one.
    fn may_be(&self, path: &str) -> bool {
        self.is_moved || self.path == path
    }

    /// The path is a directory on the way to the expected one.
    fn is_below(&self, path: &str) -> bool {
        !self.is_moved && self.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl Entry {
    /// True if it is open, or will be soon.
    fn is_wanted(&self) -> bool {
        self.promised.is_none_or(|(_, since)| since.elapsed() < PROMISED)
    }

    /// The open object of this name, if something else replaces it.
    fn replaced(self) -> Option<Arc<Written>> {
        if self.promised.is_some() { self.before } else { Some(self.written) }
    }
}

impl Table {
    /// What may be in a directory, by names.
    fn below<'a>(&'a self, directory: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let from = (Bound::Excluded(prefix.clone()), Bound::Unbounded);
        let made = self.made.range(from);
        made.take_while({
            let prefix = prefix.clone();
            move |path| path.starts_with(&prefix)
        })
        .map(move |path| &path[prefix.len()..])
    }

    fn make(&mut self, path: &str) {
        if !path.is_empty() && self.made.len() < MOST_MADE {
            self.made.insert(path.to_owned());
        }
    }
}

/// Marks an object as being sent.
pub(super) struct Sending<'a> {
    writes: &'a Writes,
    path: &'a str,
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.writes.end_close(self.path);
    }
}

/// Two names between which an object is being moved.
pub(super) struct Moving<'a> {
    writes: &'a Writes,
    names: [String; 2],
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let mut table = self.writes.lock();
        self.names.iter().for_each(|name| _ = table.moving.remove(name));
    }
}

impl Writes {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more object.
    pub fn place(&self) -> Arc<()> {
        self.places.clone()
    }

    /// The object being written under this name.
    pub fn find(&self, path: &str) -> Option<Arc<Written>> {
        self.lock().written.get(path).map(|entry| entry.written.clone())
    }

    /// The object that is open under this name and missing in the store.
    pub fn pending(&self, path: &str) -> Option<Arc<Written>> {
        let table = self.lock();
        let entry = table.written.get(path).filter(|entry| entry.promised.is_none())?;
        entry.written.is_pending().then(|| entry.written.clone())
    }

    /// The object being written under this name, for a thread that looks it up: only if the store has no visible object
    /// of that name, or if the thread was sent there.
    pub fn seen(&self, path: &str, thread: u32) -> Option<Arc<Written>> {
        let table = self.lock();
        let entry = table.written.get(path).filter(|entry| entry.is_wanted())?;
        let is_promised = entry.promised.is_some_and(|(to, _)| to == thread);
        let is_new = entry.promised.is_none() && entry.written.is_pending() && entry.written.replaced().is_none();
        (is_promised || is_new).then(|| entry.written.clone())
    }

    /// From now on it is being written; the `thread` is to open it, if there is one. What others have by this name must
    /// be complete by then, and cannot be written on once it is open.
    pub fn begin(&self, written: Arc<Written>, thread: Option<u32>) -> Result<(), Errno> {
        let mut table = self.lock();
        table.written.retain(|_, entry| entry.is_wanted());
        if table.moving.contains(written.path()) {
            return Err(Errno::BUSY);
        }
        let others = table.written.get(written.path());
        if others.is_some_and(|entry| entry.written.is_pending() && entry.promised.is_none()) {
            return Err(Errno::BUSY);
        }
        if Arc::strong_count(&self.places) > MOST + 1 {
            return Err(Errno::MFILE);
        }
        let promised = thread.map(|thread| (thread, Instant::now()));
        let before = table.written.remove(written.path()).and_then(Entry::replaced);
        let (before, sealed) = if thread.is_some() { (before, None) } else { (None, before) };
        table.written.insert(written.path().to_owned(), Entry { written, promised, before });
        drop(table);
        sealed.inspect(|before| before.seal());
        Ok(())
    }

    /// Prevents writes to these names from beginning or continuing until the result is dropped.
    pub fn begin_move(&self, names: [&str; 2]) -> Result<Moving<'_>, Errno> {
        let mut table = self.lock();
        let is_promised = |entry: &Entry| entry.promised.is_some() && entry.is_wanted();
        if names.iter().any(|&name| table.moving.contains(name) || table.written.get(name).is_some_and(is_promised)) {
            return Err(Errno::BUSY);
        }
        table.moving.extend(names.map(str::to_owned));
        Ok(Moving { writes: self, names: names.map(str::to_owned) })
    }

    /// The thread is about to look up what it wants to write. Threads that are not seen here all have the number 0.
    pub fn expect(&self, thread: u32, mut expected: Expected) {
        let mut table = self.lock();
        table.expected.retain(|_, expected| expected.since.elapsed() < EXPECTED);
        // The kernel tries once more, and by then the name refers to another version.
        let is_known = |before: &Expected| !before.is_moved && before.path == expected.path;
        expected.is_moved &= !table.expected.get(&thread).is_some_and(is_known);
        if table.expected.len() < MOST && thread != 0 {
            table.expected.insert(thread, expected);
        }
    }

    /// The thread looks something up: that it wants to write it, if it does. Unless it is a directory on the way there
    /// nothing is expected any more.
    pub fn take_expected(&self, thread: u32, path: &str) -> Option<Expected> {
        let mut table = self.lock();
        let expected = table.expected.remove(&thread).filter(|expected| expected.since.elapsed() < EXPECTED)?;
        if expected.is_below(path) {
            table.expected.insert(thread, expected);
            return None;
        }
        Some(expected).filter(|expected| expected.may_be(path))
    }

    /// The thread opens the expected object; `keeps` tells whether it keeps the previous content, as announced.
    pub fn claim(&self, number: u64, path: &str, thread: u32, keeps: bool) -> Option<Arc<Written>> {
        let mut table = self.lock();
        let entry = table.written.get_mut(path).filter(|entry| entry.is_wanted())?;
        let written = &entry.written;
        let is_promised = entry.promised.is_some_and(|(to, _)| to == thread)
            && written.node.number == number
            && written.keeps() == keeps;
        if !is_promised {
            return None;
        }
        entry.promised = None;
        let (written, before) = (entry.written.clone(), entry.before.take());
        drop(table);
        before.inspect(|before| before.seal());
        Some(written)
    }

    /// Reopens a complete object for writing, unless another handle has begun to write meanwhile. A thread that was
    /// sent to this name and has not opened it yet is too late.
    pub fn go_on(&self, written: &Arc<Written>) -> Result<(), Errno> {
        let mut table = self.lock();
        let others = table.written.get(written.path()).filter(|entry| entry.is_wanted());
        let is_open = |entry: &Entry| Arc::ptr_eq(entry.before.as_ref().unwrap_or(&entry.written), written);
        if table.moving.contains(written.path()) || others.is_some_and(|entry| !is_open(entry)) {
            return Err(Errno::BUSY);
        }
        let entry = Entry { written: written.clone(), promised: None, before: None };
        table.written.insert(written.path().to_owned(), entry);
        Ok(())
    }

    /// It is not written any more, or not by this name.
    pub fn end(&self, written: &Arc<Written>) {
        let mut table = self.lock();
        let is_it = table.written.get(written.path()).is_some_and(|entry| Arc::ptr_eq(&entry.written, written));
        let ended = if is_it { table.written.remove(written.path()) } else { None };
        drop(table);
        ended.and_then(|entry| entry.before).inspect(|before| before.seal());
    }

    /// A handle is being closed, or what it has written is being sent.
    pub fn begin_close(&self, path: &str) {
        self.lock().closing.push(path.to_owned());
    }

    pub fn end_close(&self, path: &str) {
        let mut table = self.lock();
        if let Some(place) = table.closing.iter().position(|closing| closing == path) {
            table.closing.swap_remove(place);
        }
        self.closed.notify_all();
    }

    /// Marks the object of this name as being sent until the result is dropped.
    pub fn sending<'a>(&'a self, path: &'a str) -> Sending<'a> {
        self.begin_close(path);
        Sending { writes: self, path }
    }

    /// Waits for what is being closed, not longer than for `patience`; gives what is open then, and the names of what
    /// is still being closed.
    pub fn wait(&self, patience: Duration) -> (Vec<Arc<Written>>, BTreeSet<String>) {
        let closing = |table: &mut Table| !table.closing.is_empty();
        let waited = self.closed.wait_timeout_while(self.lock(), patience, closing);
        let (table, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let opened = table.written.values().filter(|entry| entry.promised.is_none());
        (opened.map(|entry| entry.written.clone()).collect(), table.closing.iter().cloned().collect())
    }

    /// There is a directory now.
    pub fn make(&self, path: &str) -> Result<(), Errno> {
        let mut table = self.lock();
        if table.made.len() >= MOST_MADE {
            return Err(Errno::NOSPC);
        }
        table.make(path);
        Ok(())
    }

    /// The directory was made here, and the store may not know it.
    pub fn has_made(&self, directory: &str) -> bool {
        self.lock().made.contains(directory)
    }

    /// The store knows the directories of this object itself now.
    pub fn stored(&self, path: &str) {
        let mut table = self.lock();
        let mut directory = parent_of(path);
        while !directory.is_empty() {
            table.made.remove(directory);
            directory = parent_of(directory);
        }
    }

    /// Something was deleted in a directory, which stays.
    pub fn stay(&self, directory: &str) {
        self.lock().make(directory);
    }

    /// A directory is removed in which the store has nothing, unless there is something here.
    pub fn remove(&self, path: &str) -> Result<(), Errno> {
        let mut table = self.lock();
        let is_written = |entry: &Entry| entry.written.is_pending() && parent_of(entry.written.path()) == path;
        if table.below(path).next().is_some() || table.written.values().any(is_written) {
            return Err(Errno::NOTEMPTY);
        }
        table.made.remove(path);
        table.make(parent_of(path));
        Ok(())
    }

    /// There is a directory that the store may not know.
    pub fn has_directory(&self, path: &str) -> bool {
        let table = self.lock();
        table.made.contains(path) || table.below(path).next().is_some()
    }

    /// Names in a directory that the store may not know: whether they are directories.
    pub fn listed(&self, directory: &str) -> Vec<(String, bool)> {
        let table = self.lock();
        let first = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
        let made: BTreeSet<String> = table.below(directory).map(first).collect();
        let is_here = |entry: &&Entry| {
            let written = &entry.written;
            parent_of(written.path()) == directory && written.is_pending() && written.replaced().is_none()
        };
        let written = table.written.values().filter(is_here);
        let written = written.map(|entry| (name_of(entry.written.path()).to_owned(), false));
        made.into_iter().map(|name| (name, true)).chain(written).collect()
    }
}
