//! The files and directories that the kernel knows, by number, each held by a descriptor and not by a path: a rename,
//! through the mount or behind it, never leads to another file.
//!
//! The kernel keeps files as long as it likes, but a process has a limited number of descriptors. Once half of them are
//! taken, the kernel is asked to forget the files that were looked up longest ago; the other half is for open files,
//! and for files that are looked up before the kernel has forgotten others.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use hotset_cache::FileNumber;
use hotset_cache::source::Stamp;
use hotset_cache::workers::FailureDomain;
use rustc_hash::FxHasher;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::served::ROOT;
use crate::tree::kept::Kept;
use crate::tree::known::Known;
use crate::tree::stamp;

/// Numbers of files that are on another device than the root, or would be taken for it, begin here.
const ELSEWHERE: u64 = 1 << 63;

/// A file or directory.
#[derive(Debug)]
pub(crate) struct Node {
    pub number: u64,
    identity: Identity,
    pub kind: FileType,
    /// Opened with `O_PATH`: it names the file and gives no access to its data.
    descriptor: OwnedFd,
    /// Its number in the cache, once it has one.
    pub file: OnceLock<FileNumber>,
    pub known: Known,
    pub kept: Kept,
    uses: Mutex<Uses>,
    seen: Mutex<Seen>,
}

/// What keeps a file alive that has no name.
#[derive(Debug, Default)]
struct Uses {
    handles: u32,
    /// The application that deleted its last name while it was open.
    deleted_by: Option<u32>,
}

/// When a node was looked up last, in look-ups since the beginning, and in which directory under which name.
#[derive(Debug, Default)]
struct Seen {
    when: u64,
    parent: u64,
    name: OsString,
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Node {
    /// A path that leads to the file itself, for calls that take no descriptor and are not for symbolic links.
    pub fn path(&self) -> io::Result<String> {
        match self.kind {
            FileType::Symlink => Err(rustix::io::Errno::OPNOTSUPP.into()),
            _ => Ok(self.descriptor_path()),
        }
    }

    /// Its failure domain.
    pub fn part(&self) -> FailureDomain {
        FailureDomain { device: self.identity.0, what: self.number }
    }

    /// The failure domain of a name in this directory.
    pub fn part_of(&self, name: &OsStr) -> FailureDomain {
        let mut hasher = FxHasher::default();
        (self.number, name).hash(&mut hasher);
        FailureDomain { device: self.identity.0, what: hasher.finish() }
    }

    /// A link of the kernel's that leads to the file itself, and not on to what that may link to.
    pub fn descriptor_path(&self) -> String {
        format!("/proc/self/fd/{}", self.descriptor.as_raw_fd())
    }

    /// Where it is in the source now.
    pub fn name(&self) -> String {
        let link = std::fs::read_link(self.descriptor_path());
        link.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Where it is, or was before the kernel dropped the name, which it does where a look-up finds another inode.
    fn last_name(&self) -> String {
        let mut name = self.name();
        name.truncate(name.trim_end_matches(" (deleted)").len());
        name
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// There is a handle more.
    pub fn opened(&self) {
        self.uses().handles += 1;
    }

    /// There is a handle less. With the last one of a file without a name: the application that deleted it.
    pub fn closed(&self) -> Option<u32> {
        let mut uses = self.uses();
        uses.handles = uses.handles.saturating_sub(1);
        if uses.handles == 0 { uses.deleted_by.take() } else { None }
    }

    /// True if it has no name any more, and lives on as long as it is open.
    pub fn is_deleted(&self) -> bool {
        self.uses().deleted_by.is_some()
    }

    /// The last name was deleted by this application. True if the file is open, and so lives on until it is closed.
    pub fn deleted(&self, app: u32) -> bool {
        let mut uses = self.uses();
        let is_open = uses.handles > 0;
        if is_open {
            uses.deleted_by = Some(app);
        }
        is_open
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(self, "", AtFlags::EMPTY_PATH)?)
    }
}

/// Device and inode.
type Identity = (u64, u64);

/// All that the kernel knows.
#[derive(Debug)]
pub(crate) struct Nodes {
    table: RwLock<Table>,
    forgotten: Mutex<Forgotten>,
    device: u64,
    look_ups: AtomicU64,
    /// Nodes that may be held without asking the kernel to forget some.
    most: usize,
    crowded: SyncSender<()>,
}

/// Numbers in the cache of files that the kernel has forgotten, whose blocks may still be there.
#[derive(Debug, Default)]
struct Forgotten {
    cached: HashMap<Identity, Cached>,
    /// The same by path: a source without stable inode numbers gives a file another one once nothing refers to it.
    paths: HashMap<String, Identity>,
    /// Of files that have no name any more.
    gone: Vec<FileNumber>,
    /// So many there may be before it is looked which of them the cache still knows.
    most: usize,
}

/// A file that the kernel has forgotten, when it did.
#[derive(Debug)]
struct Cached {
    file: FileNumber,
    stamp: Stamp,
    path: String,
}

/// [`Forgotten::most`] at least.
const FORGOTTEN: usize = 1024;

#[derive(Debug)]
struct Table {
    nodes: HashMap<u64, (Arc<Node>, u64)>,
    numbers: HashMap<Identity, u64>,
    next: u64,
}

impl Nodes {
    /// Contains only the root. Whenever there are too many nodes, the receiver gets a message: [`Nodes::oldest`] are to
    /// be forgotten.
    pub fn new(root: OwnedFd) -> io::Result<(Nodes, Receiver<()>)> {
        let stat = rustix::fs::fstat(&root)?;
        let identity = identity(&stat);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let node = Arc::new(Node {
            number: ROOT,
            identity,
            kind,
            descriptor: root,
            file: OnceLock::new(),
            known: Known::default(),
            kept: Kept::default(),
            uses: Mutex::default(),
            seen: Mutex::default(),
        });
        let nodes = HashMap::from([(ROOT, (node, 1))]);
        let numbers = HashMap::from([(identity, ROOT)]);
        let table = RwLock::new(Table { nodes, numbers, next: ELSEWHERE });
        let most = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize / 2);
        let (crowded, told) = sync_channel(1);
        let look_ups = AtomicU64::new(0);
        Ok((Nodes { table, forgotten: Mutex::default(), device: identity.0, look_ups, most, crowded }, told))
    }

    /// The node with this number.
    pub fn get(&self, number: u64) -> io::Result<Arc<Node>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.nodes.get(&number).map(|(node, _)| node.clone()).ok_or_else(|| rustix::io::Errno::STALE.into())
    }

    /// Looks a name up; the kernel then knows the node once more.
    pub fn look_up(&self, parent: &Node, name: &OsStr) -> io::Result<(Arc<Node>, Stat)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = patiently(|| rustix::fs::openat(parent, name, flags, Mode::empty()))?;
        self.adopt(descriptor, parent, name)
    }

    /// Takes in what was opened with `O_PATH` and has this name; the kernel then knows the node once more.
    pub fn adopt(&self, descriptor: OwnedFd, parent: &Node, name: &OsStr) -> io::Result<(Arc<Node>, Stat)> {
        let stat = rustix::fs::statat(&descriptor, "", AtFlags::EMPTY_PATH)?;
        let node = self.add(descriptor, &stat);
        self.saw(&node, parent, name);
        Ok((node, stat))
    }

    /// The node of what was opened with `O_PATH`. The caller must forget it again, once.
    pub fn borrow(&self, descriptor: OwnedFd) -> io::Result<Arc<Node>> {
        let stat = rustix::fs::statat(&descriptor, "", AtFlags::EMPTY_PATH)?;
        Ok(self.add(descriptor, &stat))
    }

    /// The node with this number, which the kernel then knows once more under this name; none if it has forgotten it.
    pub fn again(&self, number: u64, parent: &Node, name: &OsStr) -> Option<Arc<Node>> {
        let node = {
            let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
            let (node, known) = table.nodes.get_mut(&number)?;
            *known += 1;
            node.clone()
        };
        self.saw(&node, parent, name);
        Some(node)
    }

    fn saw(&self, node: &Node, parent: &Node, name: &OsStr) {
        let when = self.look_ups.fetch_add(1, Ordering::Relaxed);
        *node.seen() = Seen { when, parent: parent.number, name: name.to_owned() };
    }

    /// Of the files that are not directories the quarter that was looked up longest ago: the numbers of their
    /// directories and their names there.
    pub fn oldest(&self) -> Vec<(u64, OsString)> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        if table.nodes.len() <= self.most {
            return Vec::new();
        }
        // A directory may be where a process is at home.
        let files = table.nodes.values().map(|(node, _)| node).filter(|node| node.kind != FileType::Directory);
        let mut files: Vec<(u64, &Arc<Node>)> = files.map(|node| (node.seen().when, node)).collect();
        let some = files.len().div_ceil(4);
        if some < files.len() {
            files.select_nth_unstable_by_key(some, |&(when, _)| when);
        }
        let place = |seen: &Seen| (seen.parent, seen.name.clone());
        files[..some].iter().map(|(_, node)| place(&node.seen())).collect()
    }

    fn add(&self, descriptor: OwnedFd, stat: &Stat) -> Arc<Node> {
        let identity = identity(stat);
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = table.numbers.get(&identity).copied()
            && let Some((node, known)) = table.nodes.get_mut(&number)
        {
            *known += 1;
            return node.clone();
        }
        let number = match identity {
            (device, inode) if device == self.device && inode != ROOT && inode < ELSEWHERE => inode,
            _ => {
                table.next += 1;
                table.next
            }
        };
        let cached = self.forgotten().take(&identity);
        let file = cached.map_or_else(OnceLock::new, OnceLock::from);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let (known, kept, uses, seen) = Default::default();
        let node = Arc::new(Node { number, identity, kind, descriptor, file, known, kept, uses, seen });
        table.numbers.insert(identity, number);
        table.nodes.insert(number, (node.clone(), 1));
        if table.nodes.len() > self.most {
            // Once is enough.
            let _ = self.crowded.try_send(());
        }
        node
    }

    /// The kernel forgets the node `times` times. Once the kernel has no reference to it, the node is closed and `gone`
    /// is called; no look-up can add the node again before that.
    pub fn forget(&self, number: u64, times: u64, gone: impl FnOnce(&Node)) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Some((node, known)) = table.nodes.get_mut(&number) else { return };
        *known = known.saturating_sub(times);
        if *known > 0 || number == ROOT {
            return;
        }
        let node = node.clone();
        table.nodes.remove(&number);
        table.numbers.remove(&node.identity);
        gone(&node);
        // The source may take long to answer, and to close what is closed with this.
        drop(table);
        let Some(&file) = node.file.get() else { return };
        // The inode of a file that is deleted will be another file's.
        let named = node.stat().ok().filter(|stat| stat.st_nlink > 0);
        let named = named.map(|stat| Cached { file, stamp: stamp(&stat), path: node.last_name() });
        let mut forgotten = self.forgotten();
        // It may have been looked up anew and forgotten once more meanwhile.
        let gone = named.map_or(Some(file), |cached| forgotten.keep(node.identity, cached));
        forgotten.gone.extend(gone);
    }

    /// The number in the cache of a file that the kernel has forgotten and that has another inode number now: the one
    /// at the same path of the same size and with the same times.
    pub fn recognise(&self, node: &Node) -> Option<FileNumber> {
        if node.kind != FileType::RegularFile || self.forgotten().paths.is_empty() {
            return None;
        }
        let path = node.last_name();
        let identity = *self.forgotten().paths.get(&path)?;
        // The source may take long to answer.
        let now = stamp(&node.stat().ok()?);
        let mut forgotten = self.forgotten();
        forgotten.cached.get(&identity).filter(|cached| cached.path == path && now.is_still(&cached.stamp))?;
        forgotten.take(&identity)
    }

    /// Called when many files are forgotten: `forget` returns whether the cache has evicted a file.
    pub fn sift(&self, forget: impl Fn(FileNumber) -> bool) {
        let mut forgotten = self.forgotten();
        if forgotten.len() < forgotten.most {
            return;
        }
        forgotten.cached.retain(|_, cached| !forget(cached.file));
        let Forgotten { cached, paths, .. } = &mut *forgotten;
        paths.retain(|_, identity| cached.contains_key(identity));
        forgotten.gone.retain(|file| !forget(*file));
        forgotten.most = FORGOTTEN.max(2 * forgotten.len());
    }

    fn forgotten(&self) -> MutexGuard<'_, Forgotten> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Forgotten {
    /// Keeps a file, and gives the number that was kept for the same inode.
    fn keep(&mut self, identity: Identity, cached: Cached) -> Option<FileNumber> {
        let before = self.take(&identity);
        self.paths.insert(cached.path.clone(), identity);
        self.cached.insert(identity, cached);
        before
    }

    fn take(&mut self, identity: &Identity) -> Option<FileNumber> {
        let cached = self.cached.remove(identity)?;
        if self.paths.get(&cached.path) == Some(identity) {
            self.paths.remove(&cached.path);
        }
        Some(cached.file)
    }

    fn len(&self) -> usize {
        self.cached.len() + self.gone.len()
    }
}

/// Opens a file. Where no descriptors are left, some are just being freed.
pub(crate) fn patiently(open: impl Fn() -> rustix::io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    for _ in 0..PATIENCE {
        match open() {
            Err(Errno::MFILE) => thread::sleep(Duration::from_millis(5)),
            opened => return Ok(opened?),
        }
    }
    Ok(open()?)
}

/// Times that are waited for a descriptor.
const PATIENCE: u32 = 40;

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}
