//! A directory of an object store as a file system: objects are files, and the parts of their keys between slashes are
//! directories. It can be read, and, where that is allowed, written: objects as a whole (`changing.rs`).
//!
//! A node represents one version of an object, and so do its number in the kernel and its file in the cache. So no
//! state of one version (attributes, blocks, pages of the kernel) is ever used for another. A name refers to the
//! version that the store had when it was asked; an open asks whether that still holds, and if not, the kernel looks
//! the name up again. Reads name the version, and fail if it is gone.
//!
//! Permissions are those of the credentials: the user who mounts it sees all of it, and other users see nothing unless
//! they are allowed to read.

mod bytes;
mod changing;
mod listing;
mod names;
mod nodes;
mod served;
mod siblings;
mod writes;
mod written;

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hotset_cache::workers::FailureDomain;
use hotset_cache::{About, FileCache, FileNumber, Stream};
use hotset_core::request::{Kind, Op};
use hotset_store::{Store, StoreError};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::served::Found;
use crate::served::LONGEST as FOR_GOOD;
use crate::served::apps::Apps;
use crate::served::credentials::Caller;
use crate::served::handles::{Data, Handles};
use crate::{Options, Staleness, VALIDITY};

use bytes::Bytes;
use listing::{OpenDirectory, Room};
use names::Names;
use nodes::{Node, Nodes, What};
use siblings::Siblings;
use writes::Writes;
use written::Written;

/// A directory of a store that is served.
pub(crate) struct Objects {
    store: Arc<Store>,
    cache: Option<Arc<FileCache>>,
    options: Options,
    apps: Apps,
    nodes: Nodes,
    names: Arc<Names>,
    siblings: Siblings,
    files: Handles<Open>,
    /// Objects being written; `None` if the mount is read-only.
    writes: Option<Writes>,
    directories: Handles<OpenDirectory>,
    /// For the listings of open directories.
    room: Arc<Room>,
    /// Since when nothing more is opened.
    stopped: OnceLock<Instant>,
    /// What attributes are made from: the type can be made by the operating system only.
    template: Stat,
    since: SystemTime,
}

/// An open file.
struct Open {
    data: Arc<Data>,
    /// None if it can only be read.
    written: Option<Arc<Written>>,
}

/// Bytes of the longest key, and so of the longest name.
const LONGEST: u64 = 1024;

/// The unit of `st_blocks`.
const SECTOR: u64 = 512;

/// What reads at once are best, in bytes.
const BEST: u32 = 1 << 20;

impl Objects {
    pub fn new(store: Arc<Store>, cache: Option<Arc<FileCache>>, options: Options) -> io::Result<Objects> {
        let names = Arc::new(Names::new(matches!(options.staleness, Staleness::For(_)) && cache.is_some()));
        let writes = (!options.readonly).then(Writes::default);
        let room = Room::beside(cache.as_ref().map_or(0, |cache| cache.memory().0));
        let mut template = rustix::fs::stat("/")?;
        template.st_nlink = 1;
        (template.st_uid, template.st_gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        template.st_rdev = 0;
        template.st_blksize = BEST as _;
        (template.st_atime_nsec, template.st_mtime_nsec, template.st_ctime_nsec) = (0, 0, 0);
        Ok(Objects {
            store,
            cache,
            apps: Apps::new(options.app_by),
            options,
            nodes: Nodes::default(),
            names,
            siblings: Siblings::default(),
            files: Handles::default(),
            writes,
            directories: Handles::default(),
            room,
            stopped: OnceLock::new(),
            template,
            since: SystemTime::now(),
        })
    }

    /// The cache, as long as it is fit for use.
    fn usable(&self) -> Option<&Arc<FileCache>> {
        self.cache.as_ref().filter(|cache| !cache.is_broken())
    }

    /// How old names may be.
    fn age(&self) -> Duration {
        match self.options.staleness {
            Staleness::Revalidate => Duration::ZERO,
            Staleness::For(age) if self.usable().is_some() => age,
            _ => VALIDITY,
        }
    }

    /// How old may be what an open believes.
    fn believed(&self) -> Duration {
        match self.options.staleness {
            Staleness::For(_) if self.usable().is_some() => self.age(),
            _ => Duration::ZERO,
        }
    }

    fn count(&self, about: About, known: bool) {
        if let Some(cache) = &self.cache {
            cache.metadata().count(about, known);
        }
    }

    fn check_goes_on(&self) -> io::Result<()> {
        if self.stopped.get().is_some() { Err(Errno::SHUTDOWN.into()) } else { Ok(()) }
    }

    /// The node with this number, which is to be a directory.
    fn directory(&self, number: u64) -> io::Result<Arc<Node>> {
        let node = self.nodes.get(number)?;
        if node.is_directory() { Ok(node) } else { Err(Errno::NOTDIR.into()) }
    }

    fn attributes(&self, node: &Node) -> Stat {
        let mut stat = self.template;
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
        let (size, changed) = match &node.what {
            What::Directory => (0, seconds(self.since)),
            What::Object(object) => (object.size(), seconds(object.modified())),
            What::Written(growth) => growth.get(),
        };
        let (kind, mut permissions) = match node.is_directory() {
            true => (FileType::Directory, 0o555),
            false => (FileType::RegularFile, 0o444),
        };
        if self.writes.is_some() {
            permissions |= 0o200;
        }
        stat.st_mode = kind.as_raw_mode() | permissions;
        stat.st_ino = node.number;
        // The kernel has no larger ones.
        stat.st_size = i64::try_from(size).unwrap_or(i64::MAX);
        stat.st_blocks = size.div_ceil(SECTOR) as _;
        (stat.st_atime, stat.st_mtime, stat.st_ctime) = (changed, changed, changed);
        stat
    }

    /// The number that the cache has for an object or a directory.
    fn number(&self, cache: &FileCache, node: &Node) -> FileNumber {
        let kind = if node.is_directory() { Kind::Directory } else { Kind::Datafile };
        *node.file.get_or_init(|| cache.file(&self.shown(&node.path), kind))
    }

    /// The path used in recordings and for classes.
    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.store.location())
    }

    /// The number that the cache has for the application that asks.
    fn app(&self, cache: &FileCache, caller: Caller) -> u32 {
        self.apps.number(cache, caller, || self.files.all().iter().map(|open| open.data.app).collect())
    }

    /// Tells the cache of a call that moves no data, if it wants to know.
    fn note(&self, op: Op, node: &Node, caller: Caller, length: u64) {
        let Some(cache) = self.usable().filter(|cache| cache.wants(op, node.file.get().copied())) else { return };
        let app = self.app(cache, caller);
        cache.note(op, self.number(cache, node), app, length, false);
    }

    /// Checks, from cached state or by asking the store, that the object is the version of the node. If not, the kernel
    /// has to look its name up again.
    fn check_is_same(&self, node: &Node) -> io::Result<()> {
        let Some(object) = node.object() else { return Err(Errno::ISDIR.into()) };
        if node.is_gone() {
            return Err(Errno::STALE.into());
        }
        let asked = node.asked();
        let is_known = asked.elapsed() < self.believed() && !self.names.has_changed(&node.path, asked);
        self.count(About::Opens, is_known);
        if is_known {
            return Ok(());
        }
        let asked = Instant::now();
        match self.store.head(&node.path) {
            Ok(now) if now.is_same(object) => {
                node.ask(asked);
                Ok(())
            }
            Ok(_) | Err(StoreError::Missing) => {
                self.names.forget(node);
                Err(Errno::STALE.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks a path up; the kernel then has a reference to the node.
    fn look_up_path(&self, path: String, caller: Caller) -> io::Result<Found> {
        let expected = self.take_expected(&path, caller);
        if let Some(found) = self.written(&path, caller) {
            return Ok(found);
        }
        let was_written = self.is_written(&path);
        let (known, asked) = self.find(&path)?;
        let object = known.ok_or(Errno::NOENT)?;
        if let (Some(expected), Some(object)) = (&expected, &object) {
            return self.begin_expected(&path, (object, asked), expected.keeps, caller);
        }
        self.expect_write(expected, caller);
        // An object being written may be complete soon, or may have been completed since the store was asked.
        let is_written = was_written || self.is_written(&path);
        let age = if is_written { Duration::ZERO } else { self.age().min(FOR_GOOD) };
        let node = self.nodes.add(path, object, asked);
        self.note(Op::Stat, &node, caller, 0);
        let named = age.saturating_sub(asked.elapsed());
        Ok(Found { number: node.number, stat: self.attributes(&node), named, left: FOR_GOOD })
    }

    /// The data of an open object.
    fn data(&self, node: &Arc<Node>, caller: Caller) -> io::Result<Data> {
        let source = Bytes::of(self.store.clone(), node.clone(), self.names.clone()).ok_or(Errno::ISDIR)?;
        let (mut source, mut number, mut app) = (source, 0, 0);
        if let Some(cache) = self.usable() {
            source = cache.watch(source);
            number = self.number(cache, node);
            app = self.app(cache, caller);
            cache.opened(number, source.as_ref())?;
            if cache.wants(Op::Open, Some(number)) {
                cache.note(Op::Open, number, app, 0, false);
            }
        }
        let stream = self.usable().is_some().then(Stream::default);
        Ok(Data { source, number, app, executes: false, is_cached: true, stream, part: part(node.number) })
    }
}

/// What something hangs with; all of it comes from the same store.
fn part(what: u64) -> FailureDomain {
    FailureDomain { device: 0, what }
}
