//! The metadata cache: for how long the source is not asked again about names, attributes and opens.
//!
//! The kernel keeps what it can (names, names that do not exist, attributes, listings) for as long as they are valid,
//! and sends no request then. Some requests it sends although the answer is known (attributes after each read of a file
//! whose data it does not keep, access lists, every open): these are answered here, from the cached state of the file's
//! node.
//!
//! Where the scheme has a partition for inodes, in strict mode, the kernel keeps no names: so each look-up reaches the
//! scheme, which decides which inodes stay cached, and the state of an evicted inode is dropped.
//!
//! Bounds. Attributes end with their node, of which there are as many as the kernel knows files, or when the scheme
//! evicts the inode. Cached open handles use at most [`share`] of the descriptors, in order of use.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hotset::Cache;
use hotset_cache::source::{Source, Stamp};
use hotset_cache::workers::Workers;
use hotset_cache::{About, FileCache, FileNumber, MetadataCounts};
use rustix::fs::Stat;
use rustix::process::{Resource, getrlimit};

use crate::served::handles::Opened;
use crate::served::handles::recent;
use crate::served::listing::OpenDirectory;
use crate::served::{LONGEST, Listing, Validity};
use crate::tree::known::{Asked, Changes, Closer, Opener};
use crate::tree::nodes::Node;
use crate::tree::stamp;
use crate::{Mode, Staleness, VALIDITY};

/// Cached metadata, and how long it is valid.
pub(crate) struct Metadata {
    staleness: Staleness,
    mode: Mode,
    cache: Option<Arc<FileCache>>,
    changes: Changes,
    /// Files with something that is kept open.
    opens: Mutex<Cache<u64, Arc<KeptOpen>>>,
    /// Names in directories, by the directory's number: the number of the file that each refers to.
    names: Cache<(u64, OsString), Named>,
    /// Nodes whose inodes the scheme holds.
    inodes: Mutex<HashMap<FileNumber, Weak<Node>>>,
    workers: Weak<Workers>,
}

/// The file that a name refers to.
#[derive(Clone, Copy)]
struct Named {
    number: u64,
    asked: Asked,
}

/// Closes what is kept open of a file when it is dropped.
struct KeptOpen(Weak<Node>);

impl Drop for KeptOpen {
    fn drop(&mut self) {
        if let Some(node) = self.0.upgrade() {
            node.known.close();
        }
    }
}

/// Names that are kept where the kernel keeps none.
const NAMES: u64 = 1 << 16;

/// Files that are kept open, for a process that may have so many descriptors.
fn share(descriptors: Option<u64>) -> u64 {
    (descriptors.unwrap_or(u64::MAX) / 8).clamp(1, 4096)
}

impl Metadata {
    pub fn new(staleness: Staleness, mode: Mode, cache: Option<Arc<FileCache>>, workers: &Arc<Workers>) -> Metadata {
        if let (Some(cache), Mode::Strict, Staleness::For(_)) = (&cache, mode, staleness) {
            cache.follow_inodes();
        }
        Metadata {
            staleness,
            mode,
            cache,
            changes: Changes::default(),
            opens: Mutex::new(recent(share(getrlimit(Resource::Nofile).current))),
            names: recent(NAMES),
            inodes: Mutex::default(),
            workers: Arc::downgrade(workers),
        }
    }

    /// The cache, if metadata may be cached at all, and its maximum age.
    fn believed(&self) -> Option<(&FileCache, Duration)> {
        let Staleness::For(age) = self.staleness else { return None };
        let cache = self.cache.as_deref().filter(|cache| !cache.is_broken())?;
        Some((cache, age))
    }

    fn age(&self) -> Option<Duration> {
        self.believed().map(|(_, age)| age)
    }

    /// True if metadata may be cached.
    pub fn believes(&self) -> bool {
        self.age().is_some()
    }

    /// True if the scheme decides which inodes are known.
    fn is_by_scheme(&self) -> bool {
        self.mode == Mode::Strict && self.believed().is_some_and(|(cache, _)| cache.keeps_inodes())
    }

    /// The time for which the kernel may use an answer given now.
    pub fn validity(&self) -> Validity {
        let (attributes, nothing) = match (self.staleness, self.age()) {
            (Staleness::Revalidate, _) => (Duration::ZERO, Duration::ZERO),
            (_, Some(age)) => (age.min(LONGEST), age.min(LONGEST)),
            _ => (VALIDITY, Duration::ZERO),
        };
        Validity { names: if self.is_by_scheme() { Duration::ZERO } else { attributes }, attributes, nothing }
    }

    /// To be called before the source is asked for what is to be learnt.
    pub fn ask(&self) -> Asked {
        self.changes.ask()
    }

    /// Counts a request about something.
    pub fn count(&self, about: About, known: bool) {
        self.counts(|counts| counts.count(about, known));
    }

    fn counts(&self, count: impl FnOnce(&MetadataCounts)) {
        if let Some(cache) = &self.cache {
            count(cache.metadata());
        }
    }

    /// The attributes of a file, and for how long the kernel may believe them.
    pub fn stat(&self, node: &Arc<Node>) -> io::Result<(Stat, Duration)> {
        self.let_go();
        let known = self.age().and_then(|age| node.known.stat(age));
        self.count(About::Attributes, known.is_some());
        if let Some((stat, left)) = known {
            return Ok((stat, left.min(LONGEST)));
        }
        let asked = self.ask();
        let stat = node.stat()?;
        // Where the scheme decides it does so by look-ups and opens.
        if !self.is_by_scheme() {
            self.learn(node, &asked, &stat);
        }
        Ok((stat, self.validity().attributes))
    }

    /// Stores an answer of the source. Where the scheme decides, it has already been given a reference to the file.
    pub fn learn(&self, node: &Arc<Node>, asked: &Asked, stat: &Stat) {
        let Some((cache, _)) = self.believed() else { return };
        if self.is_by_scheme() {
            let Some(&file) = node.file.get() else { return };
            lock(&self.inodes).insert(file, Arc::downgrade(node));
        }
        node.known.learn(asked, stat, &self.changes, &cache.metadata().kept);
    }

    /// Forgets the inodes that the scheme has evicted.
    fn let_go(&self) {
        let Some((cache, _)) = self.believed().filter(|_| self.is_by_scheme()) else { return };
        for file in cache.inodes_left() {
            let node = lock(&self.inodes).remove(&file).and_then(|node| node.upgrade());
            node.iter().for_each(|node| node.known.forget(&self.changes));
        }
    }

    /// The cached file of a name in a directory, if the kernel does not keep names.
    pub fn named(&self, parent: &Node, name: &OsStr) -> Option<u64> {
        let age = self.age().filter(|_| self.is_by_scheme())?;
        let key = (parent.number, name.to_owned());
        let Named { number, asked } = self.names.get(&key)?;
        (asked.at.elapsed() < age && parent.known.is_as(&asked)).then_some(number)
    }

    /// Stores the file that a name refers to.
    pub fn learn_name(&self, parent: &Node, name: &OsStr, number: u64, asked: &Asked) {
        if self.is_by_scheme() {
            self.names.insert((parent.number, name.to_owned()), Named { number, asked: *asked });
        }
    }

    /// The attributes of a file that has been looked up by a known name.
    pub fn known(&self, node: &Node) -> Option<(Stat, Duration)> {
        self.let_go();
        let (stat, left) = node.known.stat(self.age()?)?;
        Some((stat, left.min(LONGEST)))
    }

    /// An extended attribute that every user may read: the cached value, or the source's, read by `get`.
    pub fn value(&self, node: &Node, name: &OsStr, get: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        let known = self.age().and_then(|age| node.known.value(name, age));
        self.count(About::Attributes, known.is_some());
        if let Some(known) = known {
            return known;
        }
        let asked = self.ask();
        let value = get();
        match &value {
            Ok(bytes) if bytes.len() <= LONG => node.known.learn_value(&asked, name, Ok(bytes.clone())),
            Err(error) if error.raw_os_error().is_some_and(is_without) => {
                node.known.learn_value(&asked, name, Err(error.raw_os_error().unwrap_or_default()));
            }
            _ => {}
        }
        value
    }

    /// The cached open handle of a file for this opener.
    pub fn opened(&self, node: &Node, opener: Opener) -> Option<Opened> {
        let opened = self.kept_open(node, |age| node.known.file(opener, age));
        self.count(About::Opens, opened.is_some());
        opened
    }

    /// The same of a directory.
    pub fn opened_directory(&self, node: &Node, opener: Opener) -> Option<Arc<OpenDirectory>> {
        let opened = self.kept_open(node, |age| node.known.directory(opener, age));
        self.count(About::Listings, opened.is_some());
        opened
    }

    fn kept_open<T>(&self, node: &Node, find: impl FnOnce(Duration) -> Option<T>) -> Option<T> {
        self.let_go();
        let found = find(self.age()?)?;
        lock(&self.opens).get(&node.number);
        Some(found)
    }

    /// Keeps a file open that was opened for reading.
    pub fn keep_open(&self, node: &Arc<Node>, asked: &Asked, opener: Opener, opened: &Opened) {
        self.hold(node, |closer, counts| node.known.learn_file(asked, opener, opened, &closer, &counts.kept_open));
    }

    /// True if directories are kept open, and their listings by the kernel. Where the scheme decides all of them must
    /// come to it.
    pub fn keeps_listings(&self) -> bool {
        self.believes() && !self.is_by_scheme()
    }

    /// Keeps a directory open. Gives what the kernel may do with its listing.
    pub fn keep_listing(
        &self,
        node: &Arc<Node>,
        asked: &Asked,
        opener: Opener,
        opened: &Arc<OpenDirectory>,
        now: Stamp,
    ) -> Listing {
        self.hold(node, |closer, counts| node.known.learn_directory(asked, opener, opened, &closer, &counts.kept_open));
        if node.known.list(now) { Listing::Known } else { Listing::New }
    }

    fn hold(&self, node: &Arc<Node>, keep: impl FnOnce(Closer, &MetadataCounts) -> bool) {
        let Some((cache, _)) = self.believed() else { return };
        let closer = Closer { workers: self.workers.clone(), part: node.part() };
        if keep(closer, cache.metadata()) {
            let opens = lock(&self.opens);
            let known = opens.get(&node.number).and_then(|kept| kept.0.upgrade());
            if !known.is_some_and(|known| Arc::ptr_eq(&known, node)) {
                opens.insert(node.number, Arc::new(KeptOpen(Arc::downgrade(node))));
            }
        }
    }

    /// Drops the cached state of these nodes when the guard is dropped: they have been changed, with whatever result.
    pub fn changing<'a, const N: usize>(&'a self, nodes: [&'a Node; N]) -> Changing<'a, N> {
        Changing { metadata: self, nodes }
    }

    /// The same, of a change that has been made.
    pub fn changed(&self, node: &Node) {
        if matches!(self.staleness, Staleness::For(_)) {
            node.known.forget(&self.changes);
        }
    }

    /// Wraps the file so that writes, and reads that find another version than the cached one, update the metadata. A
    /// file that is only read uses its cached state instead of asking the source.
    pub fn told(self: &Arc<Self>, source: Arc<dyn Source>, node: &Arc<Node>, reads_only: bool) -> Arc<dyn Source> {
        match self.staleness {
            Staleness::For(_) => {
                Arc::new(Told { source, node: Arc::downgrade(node), metadata: self.clone(), reads_only })
            }
            _ => source,
        }
    }
}

/// Bytes of the longest value that is kept.
const LONG: usize = 1024;

/// True for errors that mean that there is no such value.
fn is_without(errno: i32) -> bool {
    [rustix::io::Errno::NODATA, rustix::io::Errno::OPNOTSUPP].iter().any(|known| known.raw_os_error() == errno)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See [`Metadata::changing`].
pub(crate) struct Changing<'a, const N: usize> {
    metadata: &'a Metadata,
    nodes: [&'a Node; N],
}

impl<const N: usize> Drop for Changing<'_, N> {
    fn drop(&mut self) {
        self.nodes.iter().for_each(|node| self.metadata.changed(node));
    }
}

/// See [`Metadata::told`].
struct Told {
    source: Arc<dyn Source>,
    node: Weak<Node>,
    metadata: Arc<Metadata>,
    reads_only: bool,
}

impl Told {
    /// The cached stamp of the file.
    fn known(&self) -> Option<Stamp> {
        let (stat, _) = self.node.upgrade()?.known.stat(self.metadata.age()?)?;
        Some(stamp(&stat))
    }

    fn changed(&self) {
        self.node.upgrade().iter().for_each(|node| self.metadata.changed(node));
    }

    fn change<T>(&self, change: impl FnOnce(&dyn Source) -> T) -> T {
        let done = change(self.source.as_ref());
        self.changed();
        done
    }
}

impl Source for Told {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let done = self.source.read_at(buffer, offset)?;
        // It ends before its end, so it is another one.
        if done == 0 && !buffer.is_empty() && self.known().is_some_and(|known| offset < known.size) {
            self.changed();
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.change(|source| source.write_at(bytes, offset))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        self.change(|source| source.append(bytes))
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.change(|source| source.set_len(size))
    }

    fn stamp(&self) -> io::Result<Stamp> {
        match self.known().filter(|_| self.reads_only) {
            Some(known) => Ok(known),
            None => self.source.stamp(),
        }
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.source.sync(data_only)
    }
}
