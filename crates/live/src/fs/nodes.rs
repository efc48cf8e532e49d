//! The files and directories that the kernel knows, by number, each held by a descriptor and not by a path: a rename by anybody, here or
//! behind the mount, never leads to another file.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use crate::cache::FileNumber;

/// The number of the root.
pub(super) const ROOT: u64 = 1;

/// Numbers of files that are on another device than the root, or would be taken for it, begin here.
const ELSEWHERE: u64 = 1 << 63;

/// A file or directory.
#[derive(Debug)]
pub(super) struct Node {
    pub number: u64,
    identity: Identity,
    pub kind: FileType,
    /// Opened with `O_PATH`: it names the file and gives no access to its data.
    descriptor: OwnedFd,
    /// Its number in the cache, once it has one.
    pub file: OnceLock<FileNumber>,
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Node {
    /// A path that leads to the file itself, for calls that take no descriptor. Not for symbolic links, which it would follow.
    pub fn path(&self) -> io::Result<String> {
        match self.kind {
            FileType::Symlink => Err(rustix::io::Errno::OPNOTSUPP.into()),
            _ => Ok(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd())),
        }
    }

    /// Where it is in the source now.
    pub fn name(&self) -> String {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()));
        link.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(self, "", AtFlags::EMPTY_PATH)?)
    }
}

/// Device and inode.
type Identity = (u64, u64);

/// All that the kernel knows.
#[derive(Debug)]
pub(super) struct Nodes {
    table: RwLock<Table>,
    /// Numbers in the cache of files that the kernel has forgotten, whose blocks are still there.
    cached: Mutex<HashMap<Identity, FileNumber>>,
    device: u64,
}

#[derive(Debug)]
struct Table {
    nodes: HashMap<u64, (Arc<Node>, u64)>,
    numbers: HashMap<Identity, u64>,
    next: u64,
}

impl Nodes {
    /// The root only.
    pub fn new(root: OwnedFd) -> io::Result<Nodes> {
        let stat = rustix::fs::fstat(&root)?;
        let identity = identity(&stat);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let node = Arc::new(Node { number: ROOT, identity, kind, descriptor: root, file: OnceLock::new() });
        let nodes = HashMap::from([(ROOT, (node, 1))]);
        let numbers = HashMap::from([(identity, ROOT)]);
        let table = RwLock::new(Table { nodes, numbers, next: ELSEWHERE });
        Ok(Nodes { table, cached: Mutex::default(), device: identity.0 })
    }

    /// The node with this number.
    pub fn get(&self, number: u64) -> io::Result<Arc<Node>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.nodes.get(&number).map(|(node, _)| node.clone()).ok_or_else(|| rustix::io::Errno::STALE.into())
    }

    /// Looks a name up; the kernel then knows the node once more.
    pub fn look_up(&self, parent: &Node, name: &std::ffi::OsStr) -> io::Result<(Arc<Node>, Stat)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(parent, name, flags, Mode::empty())?;
        let stat = rustix::fs::statat(&descriptor, "", AtFlags::EMPTY_PATH)?;
        Ok((self.add(descriptor, &stat), stat))
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
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner).remove(&identity);
        let file = cached.map_or_else(OnceLock::new, OnceLock::from);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let node = Arc::new(Node { number, identity, kind, descriptor, file });
        table.numbers.insert(identity, number);
        table.nodes.insert(number, (node.clone(), 1));
        node
    }

    /// The kernel forgets the node `times` times. Once it knows it no more it is closed.
    pub fn forget(&self, number: u64, times: u64) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Some((node, known)) = table.nodes.get_mut(&number) else { return };
        *known = known.saturating_sub(times);
        if *known > 0 || number == ROOT {
            return;
        }
        let node = node.clone();
        table.nodes.remove(&number);
        table.numbers.remove(&node.identity);
        // The inode of a file that is deleted will be another file's.
        if let (Some(&file), Ok(stat)) = (node.file.get(), node.stat())
            && stat.st_nlink > 0
        {
            self.cached.lock().unwrap_or_else(PoisonError::into_inner).insert(node.identity, file);
        }
    }
}

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino)
}
