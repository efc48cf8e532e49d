//! Files of a directory that are opened one after the other, as `grep -r`, `tar` and `cp -r` do: the next ones are read
//! beforehand, since each of them would take the time of a request.
//!
//! A user that has opened nearly all files of a directory since a position in its listing is likely to continue. Twice
//! as many files are read ahead as were opened, so a user that stops has cost little, and only small ones: a large file
//! has its normal read-ahead. These reads are treated as read-ahead within a file: they are not references, are stored
//! outside of the frames, and are dropped if they are not used.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hotset::Cache;
use hotset_cache::{FileCache, Upcoming};
use rustix::io::Errno;

use super::Objects;
use super::bytes::Bytes;
use super::names::{name_of, parent_of};
use super::nodes::Node;
use crate::served::handles::recent;

/// Bytes of the largest file that is read beforehand: as many as come about as fast as an answer begins.
const LARGEST: u64 = 1 << 20;

/// Files that may have been passed over at once.
const PASSED: usize = 8;

/// Of four files at least three are opened.
const OPENED: (usize, usize) = (3, 4);

/// Directories of which it is known what was opened.
const DIRECTORIES: u64 = 1024;

/// The consecutive opens in directories, by path.
pub(super) struct Siblings(Mutex<Cache<String, Row>>);

/// Consecutive opens, by positions in the listing.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: usize,
    last: usize,
    opened: usize,
    /// What lies before this was read beforehand.
    ahead: usize,
}

impl Row {
    fn new(place: usize) -> Row {
        Row { first: place, last: place, opened: 1, ahead: place + 1 }
    }

    /// Takes note of a file that was opened; gives the places of those to be read beforehand, so many at most.
    fn follow(&mut self, place: usize, most: usize) -> Range<usize> {
        // Several may open at once, and one overtake another.
        if place < self.first || place > self.last + PASSED {
            *self = Row::new(place);
            return 0..0;
        }
        if place == self.last {
            return 0..0;
        }
        self.opened += 1;
        self.last = self.last.max(place);
        if self.opened * OPENED.1 < (self.last + 1 - self.first) * OPENED.0 {
            return 0..0;
        }
        let from = self.ahead.max(self.last + 1);
        self.ahead = from.max(self.last + 1 + most.min(2 * self.opened));
        from..self.ahead
    }
}

impl Default for Siblings {
    fn default() -> Siblings {
        Siblings(Mutex::new(recent(DIRECTORIES)))
    }
}

impl Siblings {
    fn follow(&self, directory: &str, place: usize, most: usize) -> Range<usize> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(directory);
        let mut row = before.unwrap_or_else(|| Row::new(place));
        let ahead = row.follow(place, most);
        known.insert(directory.to_owned(), row);
        ahead
    }

    /// Nothing could be read from `place` on.
    fn stop_at(&self, directory: &str, place: usize) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(directory);
        before.into_iter().for_each(|row| {
            known.insert(directory.to_owned(), Row { ahead: row.ahead.min(place), ..row });
        });
    }
}

impl Objects {
    /// An object was opened: has those read that will probably be opened next.
    pub(super) fn read_siblings(&self, node: &Node) {
        let Some(cache) = self.usable() else { return };
        let directory = parent_of(&node.path);
        // A listing that is old names versions that are perhaps gone, which are then read in vain.
        let Some(listing) = self.names.listed(directory, Duration::MAX) else { return };
        let Some(place) = listing.place(name_of(&node.path)) else { return };
        let most = self.store.requests() * 3 / 4;
        for (name, object) in listing.objects(self.siblings.follow(directory, place, most)) {
            if object.size() == 0 || object.size() > LARGEST {
                continue;
            }
            let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
            let number = |node: &Node| self.number(cache, node);
            let expect = |node: &Arc<Node>| self.expect(cache, node);
            if !self.nodes.with(path, object, listing.asked(), number, expect) {
                return self.siblings.stop_at(directory, listing.place(name).unwrap_or_default());
            }
        }
    }

    /// Prefetches an object of the announced order.
    pub(super) fn prefetch(&self, upcoming: &Upcoming) -> io::Result<bool> {
        let Some(cache) = self.usable() else { return Ok(false) };
        let root = self.shown("");
        let path = upcoming.path.strip_prefix(&root).ok_or(Errno::NOENT)?.to_owned();
        let (known, asked) = self.find(&path)?;
        let object = known.flatten().ok_or(Errno::NOENT)?;
        let number = |node: &Node| self.number(cache, node);
        self.nodes.with(path, &object, asked, number, |node| {
            let source = Bytes::of(self.store.clone(), node.clone(), self.names.clone()).ok_or(Errno::ISDIR)?;
            cache.expect(self.number(cache, node), &cache.watch(source))
        })
    }

    /// Has all of an object read that was not opened. True if there was room.
    fn expect(&self, cache: &FileCache, node: &Arc<Node>) -> bool {
        let Some(source) = Bytes::of(self.store.clone(), node.clone(), self.names.clone()) else { return true };
        cache.expect(self.number(cache, node), &cache.watch(source)).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_opens_one_after_the_other_has_the_next_ones_read() {
        let mut row = Row::new(3);
        assert_eq!(row.follow(4, 48), 5..9, "twice as many as were opened");
        assert_eq!(row.follow(4, 48), 0..0, "it is opened again");
        assert_eq!(row.follow(5, 48), 9..12);
        assert_eq!(row.follow(7, 48), 12..16, "one was passed over");
        assert_eq!(row.follow(6, 48), 16..18, "no, it was overtaken");
        assert!((8..200).all(|place| row.follow(place, 48).end <= place + 49));
        assert_eq!(row.follow(200, 48), 248..249);
        assert_eq!(row.follow(100_000, 48), 0..0, "that is another row");
        assert_eq!(row.follow(100_001, 48), 100_002..100_006);
        assert_eq!(row.follow(5, 48), 0..0);
    }

    #[test]
    fn who_opens_some_of_them_has_none_read() {
        let mut row = Row::new(0);
        assert!((1..100).all(|step| row.follow(2 * step, 48).is_empty()));
        let mut row = Row::new(500);
        assert!((1..100).all(|step| row.follow(500 - step, 48).is_empty()), "backwards");
    }
}
