//! What the kernel knows of a store, by number: directories by their paths, objects by path and version.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use hotset_cache::FileNumber;
use hotset_store::Object;
use rustix::io::Errno;

use crate::nodes::ROOT;

/// A directory, or a version of an object.
#[derive(Debug)]
pub(super) struct Node {
    pub number: u64,
    /// Its key below what is served, without slashes at its ends.
    pub path: String,
    /// None of a directory.
    pub object: Option<Object>,
    /// Its number in the cache, once it has one.
    pub file: OnceLock<FileNumber>,
    seen: Mutex<Seen>,
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
    /// The path of a name in it, if objects can have such a one.
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
        // What was asked before that is older.
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
    /// So many of these there may be before it is looked which of them the cache still knows.
    most: usize,
}

/// [`Table::most`] at least.
const FORGOTTEN: usize = 1024;

impl Default for Nodes {
    /// The root only.
    fn default() -> Nodes {
        let root = Node {
            number: ROOT,
            path: String::new(),
            object: None,
            file: OnceLock::new(),
            seen: Mutex::new(Seen { asked: Instant::now(), gone: None }),
        };
        Nodes(Mutex::new(Table {
            nodes: HashMap::from([(ROOT, (Arc::new(root), 1))]),
            numbers: HashMap::from([(identity("", None), ROOT)]),
            next: ROOT,
            forgotten: HashMap::new(),
            most: FORGOTTEN,
        }))
    }
}

impl Nodes {
    /// The node with this number.
    pub fn get(&self, number: u64) -> io::Result<Arc<Node>> {
        lock(&self.0).nodes.get(&number).map(|(node, _)| node.clone()).ok_or_else(|| Errno::STALE.into())
    }

    /// The store was asked at this time and has told of it; the kernel then knows it once more.
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
        let seen = Mutex::new(Seen { asked, gone: None });
        let node = Arc::new(Node { number, path, object, file, seen });
        table.numbers.insert(identity, number);
        table.nodes.insert(number, (node.clone(), 1));
        node
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
        let identity = identity(&node.path, node.object.as_ref());
        table.nodes.remove(&number);
        table.numbers.remove(&identity);
        if let Some(&file) = node.file.get() {
            table.forgotten.insert(identity, file);
        }
    }

    /// Whenever much is forgotten: `forget` is asked of each whether the cache has let go of it.
    pub fn sift(&self, forget: impl Fn(FileNumber) -> bool) {
        let mut table = lock(&self.0);
        if table.forgotten.len() < table.most {
            return;
        }
        table.forgotten.retain(|_, file| !forget(*file));
        table.most = FORGOTTEN.max(2 * table.forgotten.len());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
