//! Names: what is known of them, and what the store is asked for.
//!
//! A listing tells all that a look-up wants to know, and is one request for up to a thousand names. So what was listed
//! lately, not longer ago than names may be old, answers look-ups; what was not is asked for: first whether there is an
//! object, then whether keys go on behind it, which makes it a directory. Where both are there the object is seen, and
//! what is behind it cannot be reached.
//!
//! Bounds: listings are kept that take no more memory than [`LISTINGS`] says, those that were used last, and of names
//! that do not exist [`MISSING`].

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotset_cache::{About, Cache};
use hotset_store::{Object, StoreError};

use super::Objects;
use super::listing::Listing;
use super::nodes::Node;
use crate::metadata::{recent, recent_by_weight};

/// Bytes of the listings that are kept: some 262,144 names.
pub(super) const LISTINGS: u64 = 80 << 20;

/// Names that do not exist that are kept.
const MISSING: u64 = 1 << 16;

/// What a name stands for: nothing, a directory (without an object) or an object.
type Known = Option<Option<Object>>;

/// What is known of names.
pub(super) struct Names {
    kept: Mutex<Kept>,
    /// That there is no such name is believed, too.
    believes_nothing: bool,
}

struct Kept {
    /// Complete listings, by the paths of directories.
    listings: Cache<String, Arc<Listing>>,
    /// When it was asked for paths where there is nothing.
    missing: Cache<String, Instant>,
    /// When something in a directory was found to be another version: no listing is believed that was asked for before.
    changed: Cache<String, Instant>,
}

impl Names {
    pub fn new(believes_nothing: bool) -> Names {
        let weigh = |path: &String, listing: &Arc<Listing>| (path.len() as u64 + 200) + listing.bytes();
        let (listings, missing, changed) = (recent_by_weight(LISTINGS, weigh), recent(MISSING), recent(MISSING));
        Names { kept: Mutex::new(Kept { listings, missing, changed }), believes_nothing }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The listing of a directory, if it is not older than `age`.
    pub fn listed(&self, path: &str, age: Duration) -> Option<Arc<Listing>> {
        self.lock().listings.get(path).filter(|listing| listing.asked().elapsed() < age).cloned()
    }

    /// A listing is complete.
    pub fn learn(&self, path: &str, listing: &Arc<Listing>) {
        let mut kept = self.lock();
        if kept.changed.get(path).is_none_or(|&changed| changed < listing.asked()) {
            kept.listings.insert(path.to_owned(), listing.clone());
        }
    }

    /// The node is not what the name stands for any more.
    pub fn forget(&self, node: &Node) {
        node.go();
        self.change(&node.path);
    }

    /// The name stands for something else, or for nothing any more.
    pub fn change(&self, path: &str) {
        let parent = parent_of(path);
        let mut kept = self.lock();
        kept.changed.insert(parent.to_owned(), Instant::now());
        kept.listings.remove(parent);
        kept.listings.remove(path);
        kept.missing.remove(path);
    }

    /// What is known of a path, not longer than for `age`, and when it was asked.
    fn known(&self, path: &str, age: Duration) -> Option<(Known, Instant)> {
        let listed = self.listed(parent_of(path), age);
        match listed.map(|listing| (listing.find(name_of(path)).cloned(), listing.asked())) {
            Some((None, _)) if !self.believes_nothing => None,
            Some(found) => Some(found),
            None => {
                let asked = *self.lock().missing.get(path).filter(|asked| asked.elapsed() < age)?;
                Some((None, asked))
            }
        }
    }

    fn learn_missing(&self, path: &str, asked: Instant) {
        let mut kept = self.lock();
        let changed = kept.changed.get(parent_of(path));
        if self.believes_nothing && changed.is_none_or(|&changed| changed < asked) {
            kept.missing.insert(path.to_owned(), asked);
        }
    }
}

impl Objects {
    /// What a path in a directory stands for, and when the store was asked.
    pub(super) fn find(&self, path: &str) -> io::Result<(Known, Instant)> {
        if self.writes.as_ref().is_some_and(|writes| writes.has_directory(path)) {
            return Ok((Some(None), Instant::now()));
        }
        let known = self.names.known(path, self.age());
        self.count(About::Names, known.is_some());
        if let Some(known) = known {
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
            listing.add(page)?;
            self.names.learn(path, &Arc::new(listing));
        }
        Ok((Some(None), asked))
    }
}

pub(super) fn parent_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
