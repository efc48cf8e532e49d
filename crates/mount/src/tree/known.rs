//! Cached state of a file beside its data: attributes, access lists, and open handles by user. It is stored with the
//! file's node, so it ends with the node, and no two places can hold different values.
//!
//! An answer that the source gave before a change must not be stored after the change. Changes are numbered over the
//! whole mount, each query notes the number before it (`Asked`), and an answer is stored only where the file has not
//! changed since.

use std::ffi::{OsStr, OsString};
use std::io;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hotset_cache::source::Stamp;
use hotset_cache::workers::{FailureDomain, Workers};
use hotset_cache::{Gauge, Kept};
use rustix::fs::Stat;

use crate::served::credentials::Credentials;
use crate::served::handles::Opened;
use crate::served::listing::OpenDirectory;
use crate::tree::stamp;

/// When the source was asked, and how many changes there had been by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub at: Instant,
    changes: u64,
}

/// Numbers changes.
#[derive(Debug, Default)]
pub(crate) struct Changes(AtomicU64);

impl Changes {
    /// To be called before the source is asked.
    pub fn ask(&self) -> Asked {
        // The number first: what changes in between is then taken for later.
        let changes = self.0.load(Ordering::SeqCst);
        Asked { at: Instant::now(), changes }
    }

    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// Cached state of one file.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of its last change.
    changed: u64,
    facts: Option<Box<Facts>>,
}

#[derive(Debug)]
struct Facts {
    stat: Stat,
    at: Instant,
    /// Extended attributes, asked for after the others: the value or the error.
    values: Vec<(OsString, Result<Vec<u8>, i32>)>,
    /// Of a directory: its state when the listing began that the kernel keeps.
    listed: Option<Stamp>,
    files: Vec<Grant<Opened>>,
    directories: Vec<Grant<Arc<OpenDirectory>>>,
    _kept: Kept,
}

impl Facts {
    /// Attributes, and nothing else yet.
    fn new(stat: Stat, at: Instant, kept: Kept) -> Facts {
        Facts { stat, at, values: Vec::new(), listed: None, files: Vec::new(), directories: Vec::new(), _kept: kept }
    }
}

/// A file opened for a user.
#[derive(Debug)]
struct Grant<T: Send + 'static> {
    who: Option<Credentials>,
    how: u32,
    at: Instant,
    thing: Closing<T>,
    _kept: Kept,
}

/// Grants that a file has at a time, for as many users or ways of opening.
const GRANTS: usize = 4;

/// Who opened something, and how.
#[derive(Clone, Copy)]
pub(crate) struct Opener<'a> {
    /// Whose rights were checked, if not those of this process.
    pub who: Option<&'a Credentials>,
    /// The flags of the open.
    pub how: u32,
}

/// How what was opened is closed, which may wait for the source.
#[derive(Clone, Debug)]
pub(crate) struct Closer {
    pub workers: Weak<Workers>,
    pub part: FailureDomain,
}

/// Closes what it holds by another thread.
#[derive(Debug)]
struct Closing<T: Send + 'static> {
    thing: Option<T>,
    closer: Closer,
}

impl<T: Send + 'static> Drop for Closing<T> {
    fn drop(&mut self) {
        let thing = self.thing.take();
        if let Some(workers) = self.closer.workers.upgrade() {
            workers.run(self.closer.part, move || drop(thing));
        }
    }
}

impl<T: Clone + Send + 'static> Grant<T> {
    fn fits(&self, opener: Opener, age: Duration) -> bool {
        self.who.as_ref() == opener.who && self.how == opener.how && self.at.elapsed() < age
    }

    /// What fits of these.
    fn find(grants: &[Grant<T>], opener: Opener, age: Duration) -> Option<T> {
        grants.iter().find(|grant| grant.fits(opener, age))?.thing.thing.clone()
    }

    /// Adds one, in place of the one for the same or of the oldest.
    fn add(grants: &mut Vec<Grant<T>>, opener: Opener, at: Instant, thing: T, closer: &Closer, gauge: &Gauge) {
        grants.retain(|grant| (grant.who.as_ref(), grant.how) != (opener.who, opener.how));
        if grants.len() == GRANTS {
            grants.remove(0);
        }
        let thing = Closing { thing: Some(thing), closer: closer.clone() };
        grants.push(Grant { who: opener.who.cloned(), how: opener.how, at, thing, _kept: gauge.keep() });
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The attributes, if they are not older than `age`, and the time for which they remain valid.
    pub fn stat(&self, age: Duration) -> Option<(Stat, Duration)> {
        let state = self.lock();
        let facts = state.facts.as_ref()?;
        let left = age.checked_sub(facts.at.elapsed()).filter(|left| !left.is_zero())?;
        Some((facts.stat, left))
    }

    /// True if nothing was changed since it was asked.
    pub fn is_as(&self, asked: &Asked) -> bool {
        self.lock().changed <= asked.changes
    }

    /// Stores what the source has answered. If it is not what was known, that is a change behind the mount, and all
    /// else is forgotten.
    pub fn learn(&self, asked: &Asked, stat: &Stat, changes: &Changes, gauge: &Gauge) {
        let mut state = self.lock();
        if state.changed > asked.changes {
            return;
        }
        match &mut state.facts {
            // One that was asked later has come before this one.
            Some(before) if before.at > asked.at => return,
            Some(before) if is_same(&before.stat, stat) => {
                (before.stat, before.at) = (*stat, asked.at);
                // The kernel drops its access lists with the attributes: new ones must not come from before.
                before.values.clear();
                return;
            }
            Some(_) => state.changed = changes.next(),
            None => {}
        }
        state.facts = Some(Box::new(Facts::new(*stat, asked.at, gauge.keep())));
    }

    /// Something is changed, or may be: earlier answers are no longer used.
    pub fn forget(&self, changes: &Changes) {
        let facts = {
            let mut state = self.lock();
            state.changed = changes.next();
            state.facts.take()
        };
        drop(facts);
    }

    /// An extended attribute that was asked for not longer ago than the attributes, which are not older than `age`.
    pub fn value(&self, name: &OsStr, age: Duration) -> Option<io::Result<Vec<u8>>> {
        let state = self.lock();
        let facts = state.facts.as_ref().filter(|facts| facts.at.elapsed() < age)?;
        let (_, value) = facts.values.iter().find(|(known, _)| known == name)?;
        Some(value.clone().map_err(io::Error::from_raw_os_error))
    }

    pub fn learn_value(&self, asked: &Asked, name: &OsStr, value: Result<Vec<u8>, i32>) {
        let mut state = self.lock();
        if state.changed > asked.changes {
            return;
        }
        if let Some(facts) = state.facts.as_mut().filter(|facts| facts.at <= asked.at) {
            facts.values.retain(|(known, _)| known != name);
            facts.values.push((name.to_owned(), value));
        }
    }

    /// A file that was opened for the same user in the same way not longer ago than `age`.
    pub fn file(&self, opener: Opener, age: Duration) -> Option<Opened> {
        Grant::find(&self.lock().facts.as_ref()?.files, opener, age)
    }

    pub fn learn_file(&self, asked: &Asked, opener: Opener, opened: &Opened, closer: &Closer, gauge: &Gauge) -> bool {
        self.learn_open(asked, |facts| Grant::add(&mut facts.files, opener, asked.at, opened.clone(), closer, gauge))
    }

    /// The same of a directory.
    pub fn directory(&self, opener: Opener, age: Duration) -> Option<Arc<OpenDirectory>> {
        Grant::find(&self.lock().facts.as_ref()?.directories, opener, age)
    }

    pub fn learn_directory(
        &self,
        asked: &Asked,
        opener: Opener,
        opened: &Arc<OpenDirectory>,
        closer: &Closer,
        gauge: &Gauge,
    ) -> bool {
        let add = |facts: &mut Facts| {
            Grant::add(&mut facts.directories, opener, asked.at, opened.clone(), closer, gauge);
        };
        self.learn_open(asked, add)
    }

    fn learn_open(&self, asked: &Asked, add: impl FnOnce(&mut Facts)) -> bool {
        let mut state = self.lock();
        let is_as = state.changed <= asked.changes;
        let facts = state.facts.as_mut().filter(|_| is_as);
        facts.map(|facts| add(facts)).is_some()
    }

    /// Closes what is kept open.
    pub fn close(&self) {
        let grants =
            self.lock().facts.as_mut().map(|facts| (mem::take(&mut facts.files), mem::take(&mut facts.directories)));
        drop(grants);
    }

    /// Takes note that a directory with this stamp begins to be listed; true if the kernel may keep what it has of its
    /// listing.
    pub fn list(&self, now: Stamp) -> bool {
        let mut state = self.lock();
        let Some(facts) = state.facts.as_mut() else { return false };
        let same = facts.listed.is_some_and(|before| now.is_still(&before));
        facts.listed = Some(now);
        same
    }
}

/// True if nothing has changed from one to the other, as far as times tell.
fn is_same(one: &Stat, other: &Stat) -> bool {
    let rights = |stat: &Stat| (stat.st_mode, stat.st_uid, stat.st_gid, stat.st_nlink);
    stamp(one).is_same(&stamp(other)) && rights(one) == rights(other)
}
