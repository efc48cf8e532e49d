//! Listings of directories, asked for part by part as they are read.

use std::collections::HashMap;
use std::io;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hotset_store::{Object, Page, Store};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::names::Names;
use super::nodes::{Node, is_name};
use super::writes::Writes;
use crate::served::listing::Listed;

/// What lies in a directory, as far as it was asked for, in the store's order.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    entries: Vec<(Arc<str>, Option<Object>)>,
    places: HashMap<Arc<str>, usize>,
    asked: Instant,
    /// Bytes that the entries take.
    bytes: u64,
}

/// The memory for the listings of all open directories.
#[derive(Debug)]
pub(super) struct Room {
    most: u64,
    taken: AtomicU64,
}

impl Room {
    /// As many bytes as the cache has, and at least 64 MiB.
    pub fn beside(cache_bytes: u64) -> Arc<Room> {
        Arc::new(Room { most: cache_bytes.max(LEAST_ROOM), taken: AtomicU64::new(0) })
    }
}

/// The part of a [`Room`] that an open directory takes.
struct Taken {
    room: Arc<Room>,
    bytes: u64,
}

impl Taken {
    /// Takes as many bytes as the listing has now.
    fn set(&mut self, bytes: u64) -> io::Result<()> {
        self.room.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
        let before = self.room.taken.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > self.room.most { Err(Errno::FBIG.into()) } else { Ok(()) }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes that the listings of all open directories may take where the cache has less memory: some 250,000 names. An
/// open directory holds all its names, so that positions in it stay the same.
const LEAST_ROOM: u64 = 64 << 20;

/// Parts after each other that may tell nothing new: a store that hides deleted objects may have to skip many.
const IDLE: u32 = 100;

/// Bytes of an entry beyond its name and the metadata from the store.
const ENTRY: u64 = 200;

/// The inode of an entry that was never looked up, as the kernel has it.
const UNKNOWN: u64 = 0xffff_ffff;

impl Listing {
    /// Nothing yet; the first part is asked for now.
    pub fn new(asked: Instant) -> Listing {
        Listing { entries: Vec::new(), places: HashMap::new(), asked, bytes: 0 }
    }

    /// When its first part was asked for.
    pub fn asked(&self) -> Instant {
        self.asked
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets what a name refers to now: nothing, a directory or an object.
    pub fn set(&mut self, name: &str, known: Option<Option<Object>>) {
        let told = |object: &Option<Object>| object.as_ref().map_or(0, Object::told);
        match (self.place(name), known) {
            (None, None) => {}
            (None, Some(object)) => self.append(name.into(), object),
            (Some(place), Some(object)) => {
                self.bytes += told(&object);
                let before = mem::replace(&mut self.entries[place].1, object);
                self.bytes -= told(&before);
            }
            (Some(place), None) => {
                let (name, before) = self.entries.remove(place);
                self.bytes -= ENTRY + name.len() as u64 + told(&before);
                self.places.remove(&name);
                self.places.values_mut().filter(|behind| **behind > place).for_each(|behind| *behind -= 1);
            }
        }
    }

    fn append(&mut self, name: Arc<str>, object: Option<Object>) {
        self.bytes += ENTRY + name.len() as u64 + object.as_ref().map_or(0, Object::told);
        self.places.insert(name.clone(), self.entries.len());
        self.entries.push((name, object));
    }

    /// The object with a name, or that it is a directory.
    pub fn find(&self, name: &str) -> Option<&Option<Object>> {
        self.places.get(name).map(|&place| &self.entries[place].1)
    }

    /// The position of a name in it.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The objects at these places, with their names.
    pub fn objects(&self, places: Range<usize>) -> impl Iterator<Item = (&str, &Object)> {
        let entries = self.entries.get(places.start..places.end.min(self.entries.len())).unwrap_or_default();
        entries.iter().filter_map(|(name, object)| Some((&**name, object.as_ref()?)))
    }

    /// Adds a part. A name that is both is that of the object.
    pub fn add(&mut self, page: Page) {
        let directories = page.directories.into_iter().map(|name| (Arc::<str>::from(name), None));
        let objects = page.objects.into_iter().map(|object| (Arc::<str>::from(object.name()), Some(object)));
        for (name, object) in directories.chain(objects).filter(|(name, _)| is_name(name)) {
            match self.places.get(&name) {
                Some(&place) => {
                    let known = &mut self.entries[place].1;
                    *known = object.or(mem::take(known));
                }
                None => self.append(name, object),
            }
        }
    }
}

/// An open directory.
pub(super) struct OpenDirectory {
    pub node: Arc<Node>,
    state: Mutex<State>,
}

struct State {
    listing: Arc<Listing>,
    taken: Taken,
    next: Next,
    /// Names behind it that the store does not know, once all of it is there: whether they are directories.
    others: Option<Vec<(String, bool)>>,
    /// True after a read of it.
    is_read: bool,
}

/// The part that comes next.
enum Next {
    First,
    /// Asked for with this, after so many parts that told nothing new.
    Behind(String, u32),
    End,
}

impl State {
    fn new(known: Option<Arc<Listing>>, room: Arc<Room>) -> State {
        let mut taken = Taken { room, bytes: 0 };
        // A known listing that does not fit is requested again, which then fails.
        let known = known.filter(|listing| taken.set(listing.bytes()).is_ok());
        let next = if known.is_some() { Next::End } else { Next::First };
        let listing = known.unwrap_or_else(|| Arc::new(Listing::new(Instant::now())));
        State { listing, taken, next, others: None, is_read: false }
    }

    /// The store's entries are complete: entries that only the mount has follow them.
    fn end(&mut self, writes: Option<&Writes>, path: &str) {
        let mut others = writes.map_or(Vec::new(), |writes| writes.listed(path));
        others.retain(|(name, _)| self.listing.find(name).is_none());
        self.others = Some(others);
    }

    /// Asks for the next part.
    fn go_on(&mut self, store: &Store, names: &Names, path: &str) -> io::Result<()> {
        let (token, idle) = match &self.next {
            Next::End => return Ok(()),
            Next::First => {
                self.listing = Arc::new(Listing::new(Instant::now()));
                (None, 0)
            }
            Next::Behind(token, idle) => (Some(token.clone()), *idle),
        };
        let mut page = store.list(path, token.clone())?;
        let (next, before) = (page.next.take(), self.listing.len());
        let listing = Arc::make_mut(&mut self.listing);
        listing.add(page);
        self.taken.set(listing.bytes())?;
        let idle = if self.listing.len() > before { 0 } else { idle + 1 };
        self.next = match next {
            // A listing that goes on so has no end.
            Some(_) if next == token || idle > IDLE => return Err(Errno::IO.into()),
            Some(next) => Next::Behind(next, idle),
            None => {
                names.learn(path, &self.listing);
                Next::End
            }
        };
        Ok(())
    }

    fn entry(&self, node: &Node, place: u64) -> Option<Listed> {
        let next = place + 1;
        let listed = |name: &str, inode, kind| Some(Listed { inode, kind, name: name.into(), next });
        match place {
            0 => listed(".", node.number, FileType::Directory),
            1 => listed("..", UNKNOWN, FileType::Directory),
            place => {
                let place = usize::try_from(place - 2).ok()?;
                let (name, is_directory) = match self.listing.entries.get(place) {
                    Some((name, object)) => (name.as_ref(), object.is_none()),
                    None => {
                        let (name, is_directory) = self.others.as_ref()?.get(place - self.listing.len())?;
                        (name.as_str(), *is_directory)
                    }
                };
                listed(name, UNKNOWN, if is_directory { FileType::Directory } else { FileType::RegularFile })
            }
        }
    }
}

impl OpenDirectory {
    /// One whose listing is known, or is to be asked for.
    pub fn new(node: Arc<Node>, known: Option<Arc<Listing>>, room: Arc<Room>) -> OpenDirectory {
        OpenDirectory { node, state: Mutex::new(State::new(known, room)) }
    }

    /// Shows `take` entries from `place` on, until it takes one no more, or the store would have to be asked for more;
    /// none at the end. Reading from the beginning reads it anew.
    pub fn list(
        &self,
        store: &Store,
        names: &Names,
        writes: Option<&Writes>,
        place: u64,
        take: &mut dyn FnMut(&Listed) -> bool,
    ) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if place == 0 && mem::replace(&mut state.is_read, true) {
            let room = state.taken.room.clone();
            *state = State { is_read: true, ..State::new(None, room) };
        }
        let mut at = place;
        loop {
            while let Some(listed) = state.entry(&self.node, at) {
                if !take(&listed) {
                    return Ok(());
                }
                at += 1;
            }
            if matches!(state.next, Next::End) {
                if state.others.is_some() {
                    return Ok(());
                }
                state.end(writes, &self.node.path);
                continue;
            }
            // One call requests no more than it must: its caller cannot be interrupted meanwhile.
            if at > place {
                return Ok(());
            }
            state.go_on(store, names, &self.node.path)?;
        }
    }
}
