//! The objects and directories that the kernel knows, by number: directories by their paths, objects by path and
//! version, and objects being written.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hotset_cache::FileNumber;
use hotset_store::Object;
use rustix::io::Errno;

use crate::served::ROOT;

/// A directory, a version of an object, or what may become one.
#[derive(Debug)]
pub(super) struct Node {
    pub number: u64,
    /// Its key below what is served, without slashes at its ends.
    pub path: String,
    pub what: What,
    /// Its number in the cache, once it has one; objects being written have others.
    pub file: OnceLock<FileNumber>,
    seen: Mutex<Seen>,
}

/// What a node represents.
#[derive(Debug)]
pub(super) enum What {
    Directory,
    Object(Object),
    /// It is being written.
    Written(Growth),
}

/// How far what is being written is.
#[derive(Debug)]
pub(super) struct Growth {
    size: AtomicU64,
    /// Seconds since 1970.
    changed: AtomicI64,
}

impl Growth {
    /// So many bytes are there now.
    pub fn new(size: u64) -> Growth {
        let growth = Growth { size: AtomicU64::new(0), changed: AtomicI64::new(0) };
        growth.set(size);
        growth
    }

    pub fn set(&self, size: u64) {
        self.size.store(size, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.changed.store(now.as_secs() as i64, Ordering::Relaxed);
    }

    /// Bytes, and when that was, in seconds since 1970.
    pub fn get(&self) -> (u64, i64) {
        (self.size.load(Ordering::Relaxed), self.changed.load(Ordering::Relaxed))
    }
}

/// When the store was asked.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The last time that it was so.
    asked: Instant,
    /// When it was found to be so no more.
    gone: Option<Instant>,
}

impl Node {
    fn new(number: u64, path: String, what: What, file: OnceLock<FileNumber>, asked: Instant) -> Arc<Node> {
        Arc::new(Node { number, path, what, file, seen: Mutex::new(Seen { asked, gone: None }) })
    }

    /// The version of an object that it represents.
    pub fn object(&self) -> Option<&Object> {
        if let What::Object(object) = &self.what { Some(object) } else { None }
    }

    pub fn is_directory(&self) -> bool {
        matches!(self.what, What::Directory)
    }

    /// How far it is, if it is being written.
    pub fn growth(&self) -> Option<&Growth> {
        if let What::Written(growth) = &self.what { Some(growth) } else { None }
    }

    /// The path of a name in it, if an object can have that path.
    pub fn join(&self, name: &OsStr) -> Option<String> {
        let name = name.to_str().filter(|name| is_name(name))?;
        Some(if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) })
    }

    /// When the store was asked last whether it is so.
    pub fn asked(&self) -> Instant {
        lock(&self.seen).asked
    }

    /// The store has said that it is so when it was asked at this time.
    pub fn ask(&self, at: Instant) {
        let mut seen = lock(&self.seen);
        seen.asked = at.max(seen.asked);
        // Earlier answers are outdated.
        seen.gone = seen.gone.filter(|&gone| gone >= at);
    }

    /// The object is another version by now, or there is none.
    pub fn is_gone(&self) -> bool {
        lock(&self.seen).gone.is_some()
    }

    pub fn go(&self) {
        lock(&self.seen).gone = Some(Instant::now());
    }
}

/// True if the kernel takes it as a name, and a store as a part of a key.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

/// Path and version.
type Identity = (String, Option<String>);

fn identity(path: &str, object: Option<&Object>) -> Identity {
    (path.to_owned(), object.map(|object| format!("{} {}", object.size(), object.version())))
}

/// All that the kernel knows.
#[derive(Debug)]
pub(super) struct Nodes(Mutex<Table>);

#[derive(Debug)]
struct Table {
    nodes: HashMap<u64, (Arc<Node>, u64)>,
    numbers: HashMap<Identity, u64>,
    next: u64,
    /// Numbers in the cache of what the kernel has forgotten, of which blocks may still be there.
    forgotten: HashMap<Identity, FileNumber>,
    /// Numbers of what has another one by now, too.
    lost: Vec<FileNumber>,
    /// So many of these there may be before it is looked which of them the cache still knows.
    most: usize,
}

impl Table {
    /// The node that the kernel knows.
    fn find(&self, identity: &Identity) -> Option<&Arc<Node>> {
        let (node, _) = self.nodes.get(self.numbers.get(identity)?)?;
        Some(node)
    }

    /// Numbers of which blocks may still be there, though the kernel does not know them.
    fn left(&self) -> usize {
        self.forgotten.len() + self.lost.len()
    }
}

/// [`Table::most`] at least.
const FORGOTTEN: usize = 1024;

impl Default for Nodes {
    /// The root only.
    fn default() -> Nodes {
        let root = Node::new(ROOT, String::new(), What::Directory, OnceLock::new(), Instant::now());
        Nodes(Mutex::new(Table {
            nodes: HashMap::from([(ROOT, (root, 1))]),
            numbers: HashMap::from([(identity("", None), ROOT)]),
            next: ROOT,
            forgotten: HashMap::new(),
            lost: Vec::new(),
            most: FORGOTTEN,
        }))
    }
}

impl Nodes {
    /// The node with this number.
    pub fn get(&self, number: u64) -> io::Result<Arc<Node>> {
        lock(&self.0).nodes.get(&number).map(|(node, _)| node.clone()).ok_or_else(|| Errno::STALE.into())
    }

    /// Adds what the store returned at time `asked`; the kernel then has one more reference to it.
    pub fn add(&self, path: String, object: Option<Object>, asked: Instant) -> Arc<Node> {
        let identity = identity(&path, object.as_ref());
        let mut table = lock(&self.0);
        if let Some(number) = table.numbers.get(&identity).copied()
            && let Some((node, known)) = table.nodes.get_mut(&number)
        {
            *known += 1;
            node.ask(asked);
            return node.clone();
        }
        table.next += 1;
        let number = table.next;
        let file = table.forgotten.remove(&identity).map_or_else(OnceLock::new, OnceLock::from);
        let node = Node::new(number, path, object.map_or(What::Directory, What::Object), file, asked);
        table.numbers.insert(identity, number);
        table.nodes.insert(number, (node.clone(), 1));
        node
    }

    /// A node for what is about to be written, which the kernel does not know yet.
    pub fn begin(&self, path: &str, size: u64) -> Arc<Node> {
        let mut table = lock(&self.0);
        table.next += 1;
        Node::new(table.next, path.to_owned(), What::Written(Growth::new(size)), OnceLock::new(), Instant::now())
    }

    /// The kernel knows what is being written once more.
    pub fn know(&self, node: &Arc<Node>) {
        lock(&self.0).nodes.entry(node.number).or_insert_with(|| (node.clone(), 0)).1 += 1;
    }

    /// The cached data of `file` becomes that of this version of an object, which the kernel may not know yet.
    pub fn inherit(&self, path: &str, object: &Object, file: FileNumber) {
        let identity = identity(path, Some(object));
        let mut table = lock(&self.0);
        let lost = match table.find(&identity).cloned() {
            // A reader that knows the node may already be reading it.
            Some(node) => node.file.set(file).err(),
            None => table.forgotten.insert(identity, file),
        };
        table.lost.extend(lost);
    }

    /// The node of a version of an object, if the kernel knows it.
    pub fn find(&self, path: &str, object: &Object) -> Option<Arc<Node>> {
        lock(&self.0).find(&identity(path, Some(object))).cloned()
    }

    /// The number in the cache of a version of an object.
    pub fn file_of(&self, path: &str, object: &Object) -> Option<FileNumber> {
        let identity = identity(path, Some(object));
        let table = lock(&self.0);
        table.find(&identity).and_then(|node| node.file.get()).or_else(|| table.forgotten.get(&identity)).copied()
    }

    /// Gives `work` a node of an object, which the kernel need not know. The number that the cache has for it, which
    /// `number` gives, is that of the object until `work` ends, and longer if the cache then knows of it.
    pub fn with<T>(
        &self,
        path: String,
        object: &Object,
        asked: Instant,
        number: impl Fn(&Node) -> FileNumber,
        work: impl FnOnce(&Arc<Node>) -> T,
    ) -> T {
        let identity = identity(&path, Some(object));
        let mut table = lock(&self.0);
        let node = table.find(&identity).cloned().unwrap_or_else(|| {
            let file = table.forgotten.get(&identity).map_or_else(OnceLock::new, |&file| OnceLock::from(file));
            let node = Node::new(0, path, What::Object(object.clone()), file, asked);
            table.forgotten.insert(identity, number(&node));
            node
        });
        // The lock excludes `sift`.
        work(&node)
    }

    /// The kernel forgets the node `times` times.
    pub fn forget(&self, number: u64, times: u64) {
        let mut table = lock(&self.0);
        let Some((node, known)) = table.nodes.get_mut(&number) else { return };
        *known = known.saturating_sub(times);
        if *known > 0 || number == ROOT {
            return;
        }
        let node = node.clone();
        table.nodes.remove(&number);
        if node.growth().is_some() {
            return;
        }
        let identity = identity(&node.path, node.object());
        table.numbers.remove(&identity);
        if let Some(&file) = node.file.get() {
            table.forgotten.insert(identity, file);
        }
    }

    /// Called when many nodes are forgotten: `forget` returns whether the cache has evicted a file.
    pub fn sift(&self, forget: impl Fn(FileNumber) -> bool) {
        let mut table = lock(&self.0);
        if table.left() < table.most {
            return;
        }
        table.forgotten.retain(|_, file| !forget(*file));
        table.lost.retain(|file| !forget(*file));
        table.most = FORGOTTEN.max(2 * table.left());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
