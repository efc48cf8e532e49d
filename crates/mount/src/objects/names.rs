//! Names: their cached state, and the requests to the store.
//!
//! A listing contains all that a look-up needs, and is one request for up to a thousand names. So a listing that is not
//! older than the maximum age of names answers look-ups. For other names the store is asked: first whether there is an
//! object, then whether there are longer keys below it, which makes it a directory. Where both exist, the object is
//! visible, and the keys below it cannot be reached. After several consecutive missing names, the whole directory is
//! listed instead of asking for the next one.
//!
//! Changes through the mount update the listings, too ([`Change`]), so that a program that creates a thousand files
//! causes no request for each of them.
//!
//! Bounds: listings take at most [`LISTINGS`] bytes of memory, and names that do not exist are at most [`MISSING`]; the
//! least recently used are evicted.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotset::Cache;
use hotset_cache::About;
use hotset_store::{Object, StoreError};

use super::Objects;
use super::listing::Listing;
use super::nodes::Node;
use crate::served::handles::{recent, recent_by_weight};

/// Bytes of the listings that are kept: some 262,144 names.
pub(super) const LISTINGS: u64 = 80 << 20;

/// Names that do not exist that are kept.
const MISSING: u64 = 1 << 16;

/// Names of the longest listing that is changed where that takes time for each of them.
const SHORT: usize = 4096;

/// So often a name is asked for that changes meanwhile.
const CHANGING: usize = 3;

/// For so long a directory is known to have more names than a part of a listing.
const LONG: Duration = Duration::from_secs(60);

/// The kind of a name: absent, a directory (without an object) or an object.
type Known = Option<Option<Object>>;

/// Cached names.
pub(super) struct Names {
    kept: Mutex<Kept>,
    /// True if missing names are cached, too.
    believes_nothing: bool,
}

struct Kept {
    /// Complete listings, by the paths of directories.
    listings: Cache<String, Arc<Listing>>,
    /// When it was asked for paths where there is nothing.
    missing: Cache<String, Instant>,
    /// When a name, or something in a directory, was found to be another version: answers from before are not used.
    changed: Cache<String, Instant>,
    /// Directories created here: names that are not cached in them do not exist, while caching is allowed.
    made: Cache<String, ()>,
    /// When something was missing in directories, and when they were found to be long.
    lacking: Cache<String, Instant>,
    long: Cache<String, Instant>,
    /// Names that are being changed, and whether by several at once.
    changing: HashMap<String, (usize, bool)>,
}

impl Kept {
    /// Drops the cached state of a name, and of the other names of its directory.
    fn drop_name(&mut self, path: &str) {
        let parent = parent_of(path);
        for changed in [parent, path] {
            self.changed.insert(changed.to_owned(), Instant::now());
        }
        self.listings.remove(parent);
        self.listings.remove(path);
        self.missing.remove(path);
    }

    /// Sets what a name refers to now; the other names of its directory are unchanged.
    fn set(&mut self, path: &str, known: Known) {
        let parent = parent_of(path);
        let listing = self.listings.remove(parent);
        self.drop_name(path);
        let Some(mut listing) = listing else { return };
        let takes_long = Arc::strong_count(&listing) > 1 || known.is_none();
        if takes_long && listing.len() > SHORT {
            return;
        }
        Arc::make_mut(&mut listing).set(name_of(path), known);
        self.listings.insert(parent.to_owned(), listing);
    }
}

/// A change of a name that the store is being asked to make. If it is dropped before the result is known, the cached
/// state of the name is dropped.
pub(super) struct Change<'a> {
    names: &'a Names,
    path: &'a str,
    is_known: bool,
}

impl Change<'_> {
    /// The store has made the change: the name refers to this now.
    pub fn done(self, known: Option<&Object>) {
        self.end(Some(known.cloned().map(Some)));
    }

    /// The store was not asked.
    pub fn nothing(self) {
        self.end(None);
    }

    fn end(mut self, known: Option<Known>) {
        self.is_known = true;
        let mut kept = self.names.lock();
        let is_mixed = kept.changing.get(self.path).is_some_and(|&(_, is_mixed)| is_mixed);
        match known {
            // The order of concurrent changes is unknown.
            Some(_) if is_mixed => kept.drop_name(self.path),
            Some(known) => kept.set(self.path, known),
            None => {}
        }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        let mut kept = self.names.lock();
        if !self.is_known {
            kept.drop_name(self.path);
        }
        if let Some((count, _)) = kept.changing.get_mut(self.path) {
            *count -= 1;
            if *count == 0 {
                kept.changing.remove(self.path);
            }
        }
    }
}

impl Names {
    pub fn new(believes_nothing: bool) -> Names {
        let weigh = |path: &String, listing: &Arc<Listing>| (path.len() as u64 + 200) + listing.bytes();
        let kept = Kept {
            listings: recent_by_weight(LISTINGS, weigh),
            missing: recent(MISSING),
            changed: recent(MISSING),
            made: recent(MISSING),
            lacking: recent(MISSING),
            long: recent(MISSING),
            changing: HashMap::new(),
        };
        Names { kept: Mutex::new(kept), believes_nothing }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The listing of a directory, if it is not older than `age`.
    pub fn listed(&self, path: &str, age: Duration) -> Option<Arc<Listing>> {
        self.lock().listings.get(path).filter(|listing| listing.asked().elapsed() < age)
    }

    /// A listing is complete.
    pub fn learn(&self, path: &str, listing: &Arc<Listing>) {
        let kept = self.lock();
        if kept.changed.get(path).is_none_or(|changed| changed < listing.asked()) {
            kept.listings.insert(path.to_owned(), listing.clone());
        }
    }

    /// The name no longer refers to the node.
    pub fn forget(&self, node: &Node) {
        node.go();
        self.change(&node.path);
    }

    /// The name now refers to something else, or to nothing.
    pub fn change(&self, path: &str) {
        self.lock().drop_name(path);
    }

    /// Begins a change of what a name refers to, before the store is asked.
    pub fn begin<'a>(&'a self, path: &'a str) -> Change<'a> {
        let mut kept = self.lock();
        let (count, is_mixed) = kept.changing.entry(path.to_owned()).or_default();
        *is_mixed |= *count > 0;
        *count += 1;
        Change { names: self, path, is_known: false }
    }

    /// A directory is in the store by now, which `was_made` here, or where it is known that there was none.
    pub fn stored(&self, path: &str, was_made: bool) {
        let mut kept = self.lock();
        let is_denied = match kept.listings.get(parent_of(path)) {
            Some(listing) => listing.find(name_of(path)).is_none(),
            None => kept.missing.get(path).is_some(),
        };
        if !was_made && !is_denied {
            return;
        }
        let listing = kept.listings.remove(path);
        kept.set(path, Some(None));
        listing.into_iter().for_each(|listing| _ = kept.listings.insert(path.to_owned(), listing));
    }

    /// A directory was made that is in this mount only. Where the store was asked for that name lately, not longer ago
    /// than `age`, nothing is in it.
    pub fn make(&self, path: &str, age: Duration) {
        let kept = self.lock();
        kept.made.insert(path.to_owned(), ());
        let asked = kept.missing.get(path).filter(|asked| asked.elapsed() < age);
        asked.into_iter().for_each(|asked| _ = kept.listings.insert(path.to_owned(), Arc::new(Listing::new(asked))));
    }

    /// The cached state of a path, not older than `age`, and when the store was asked.
    fn known(&self, path: &str, age: Duration) -> Option<(Known, Instant)> {
        let listed = self.listed(parent_of(path), age);
        // A name changed in it since has the time of that change.
        let changed = listed.as_ref().and_then(|_| self.lock().changed.get(path));
        let asked = |listing: &Listing| changed.map_or(listing.asked(), |changed| changed.max(listing.asked()));
        match listed.map(|listing| (listing.find(name_of(path)).cloned(), asked(&listing))) {
            Some((None, _)) if !self.believes_nothing_in(parent_of(path)) => None,
            Some(found) => Some(found),
            None if !self.believes_nothing => None,
            None => {
                let asked = self.lock().missing.get(path).filter(|asked| asked.elapsed() < age)?;
                Some((None, asked))
            }
        }
    }

    /// True if missing names of a directory are cached.
    fn believes_nothing_in(&self, directory: &str) -> bool {
        self.believes_nothing || self.lock().made.get(directory).is_some()
    }

    /// True if who looks for a name in a directory should rather ask for all of it: more are looked for that are not
    /// there, as by who makes them.
    fn is_worth_listing(&self, directory: &str, age: Duration) -> bool {
        let kept = self.lock();
        let within = |since: Option<Instant>, age| since.is_some_and(|since| since.elapsed() < age);
        if age.is_zero() || within(kept.long.get(directory), LONG) {
            return false;
        }
        kept.made.get(directory).is_some() || self.believes_nothing && within(kept.lacking.get(directory), age)
    }

    /// A name has changed since the store was asked.
    pub fn has_changed(&self, path: &str, asked: Instant) -> bool {
        self.lock().changed.get(path).is_some_and(|changed| changed > asked)
    }

    fn learn_missing(&self, path: &str, asked: Instant) {
        let kept = self.lock();
        kept.lacking.insert(parent_of(path).to_owned(), asked);
        if kept.changed.get(parent_of(path)).is_none_or(|changed| changed < asked) {
            kept.missing.insert(path.to_owned(), asked);
        }
    }
}

impl Objects {
    /// The kind of a path in a directory, and when the store was asked.
    pub(super) fn find(&self, path: &str) -> io::Result<(Known, Instant)> {
        if self.writes.as_ref().is_some_and(|writes| writes.has_directory(path)) {
            return Ok((Some(None), Instant::now()));
        }
        let known = self.names.known(path, self.age());
        self.count(About::Names, known.is_some());
        if let Some(known) = known {
            return Ok(known);
        }
        let mut left = CHANGING;
        loop {
            let (known, asked) = self.ask(path)?;
            left -= 1;
            // The answer may be from before a change that is complete by now. A directory's answer covers its content,
            // too.
            if left == 0 || matches!(known, Some(None)) || !self.names.has_changed(path, asked) {
                return Ok((known, asked));
            }
        }
    }

    /// Asks the store what a path refers to.
    fn ask(&self, path: &str) -> io::Result<(Known, Instant)> {
        if self.names.is_worth_listing(parent_of(path), self.age())
            && let Some(known) = self.ask_directory(path)?
        {
            return Ok(known);
        }
        let asked = Instant::now();
        match self.store.head(path) {
            Ok(object) => return Ok((Some(Some(object)), asked)),
            Err(StoreError::Missing) => {}
            Err(error) => return Err(error.into()),
        }
        let page = self.store.list(path, None)?;
        if !page.is_there {
            self.names.learn_missing(path, asked);
            return Ok((None, asked));
        }
        // Who looks a directory up will look into it.
        if page.next.is_none() {
            let mut listing = Listing::new(asked);
            listing.add(page);
            self.names.learn(path, &Arc::new(listing));
        }
        Ok((Some(None), asked))
    }

    /// The same by a listing of its directory, unless that is long.
    fn ask_directory(&self, path: &str) -> io::Result<Option<(Known, Instant)>> {
        let (parent, mut listing) = (parent_of(path), Listing::new(Instant::now()));
        let page = self.store.list(parent, None)?;
        let is_long = page.next.is_some();
        listing.add(page);
        if is_long {
            self.names.lock().long.insert(parent.to_owned(), listing.asked());
            return Ok(None);
        }
        let listing = Arc::new(listing);
        self.names.learn(parent, &listing);
        Ok(Some((listing.find(name_of(path)).cloned(), listing.asked())))
    }
}

pub(super) fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
