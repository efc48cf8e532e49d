//! Which file a name means: identity across creation, renaming, linking and removal.

use hotset_core::request::Kind;
use hotset_trace::{FileInfo, Tables};
use rustc_hash::{FxHashMap, FxHashSet};

use super::paths::parent;

/// Index into the file table.
pub(crate) type FileId = u32;

/// The target of a name.
#[derive(Clone, Copy, Debug)]
struct Name {
    file: FileId,
    /// The name is a symbolic link; the file has another name.
    link: bool,
}

/// The state of a file's existence by the calls so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Nothing.
    Unheard,
    /// It is there, or was until its last name was removed.
    There,
    /// No file of this name was there when it was last looked up.
    Missing,
}

/// The known facts of a file in addition to the table's entry.
#[derive(Debug)]
struct State {
    /// Its name, as bytes.
    path: Box<[u8]>,
    /// Names that lead to it, links apart.
    names: u32,
    presence: Presence,
    /// Its size, where the log tells it.
    size: Option<u64>,
    /// End of the furthest byte that was read or written; the table uses it for an unknown size.
    reached: u64,
}

/// The result of the removal of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Removed {
    /// The file that had the name.
    pub file: FileId,
    /// True if it has other names and so lives on.
    pub lives: bool,
}

/// The files of a log.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The table handed to users; applications are kept in it by the processes.
    pub tables: Tables,
    names: FxHashMap<Box<[u8]>, Name>,
    /// Directories of which names are known.
    parents: FxHashSet<Box<[u8]>>,
    states: Vec<State>,
}

impl Files {
    /// The file of this name.
    pub(super) fn named(&mut self, path: &[u8]) -> FileId {
        match self.names.get(path) {
            Some(name) => name.file,
            None => self.bind_new(path),
        }
    }

    /// The file of this name that a successful call has shown to exist.
    pub(super) fn existing(&mut self, path: &[u8]) -> FileId {
        let file = self.named(path);
        self.states[file as usize].presence = Presence::There;
        file
    }

    /// The file of this name that does not exist. If one did, it was removed by a process outside the log.
    pub(super) fn absent(&mut self, path: &[u8]) -> FileId {
        let known = self.named(path);
        let file = if self.is_there(known) { self.bind_new(path) } else { known };
        self.states[file as usize].presence = Presence::Missing;
        file
    }

    /// The file of this name that a call has just made. If the name was another file's, that one was removed by a
    /// process outside the log.
    pub(super) fn made(&mut self, path: &[u8]) -> FileId {
        let known = self.named(path);
        let file = if self.is_there(known) { self.bind_new(path) } else { known };
        self.states[file as usize].presence = Presence::There;
        file
    }

    /// The file that was opened as `given`, which is called `real`; `created` if it cannot have existed before.
    pub(super) fn opened(&mut self, given: &[u8], real: &[u8], created: bool) -> FileId {
        let known = self.named(real);
        let is_new = created || self.states[known as usize].presence == Presence::Missing;
        let file = if is_new { self.made(real) } else { self.existing(real) };
        if is_new {
            self.set_size(file, 0);
        }
        if given != real {
            self.bind(given, Name { file, link: true });
        }
        file
    }

    /// A file without a name in the tree (`O_TMPFILE`, or unlinked before the log began); `path` is for people.
    pub(super) fn unnamed(&mut self, path: &[u8]) -> FileId {
        let file = self.states.len() as FileId;
        self.states.push(State { path: path.into(), names: 0, presence: Presence::Unheard, size: None, reached: 0 });
        self.tables.files.push(FileInfo { path: display(path), ..FileInfo::default() });
        file
    }

    /// Takes a name away.
    pub(super) fn remove(&mut self, path: &[u8]) -> Removed {
        let file = self.named(path);
        let link = self.names.remove(path).is_some_and(|name| name.link);
        if link {
            // The link itself goes, not what it leads to.
            let file = self.unnamed(path);
            self.set_kind(file, Kind::Other);
            return Removed { file, lives: false };
        }
        let state = &mut self.states[file as usize];
        state.names = state.names.saturating_sub(1);
        let lives = state.names > 0;
        if lives && *state.path == *path {
            self.call_otherwise(file);
        }
        Removed { file, lives }
    }

    /// Renames a file; returns it and the file that had the new name before.
    pub(super) fn rename(&mut self, old: &[u8], new: &[u8]) -> (FileId, Option<Removed>) {
        let file = self.named(old);
        // Two names of one file, or one name twice: the kernel does nothing.
        let same = self.names.get(new).is_some_and(|name| name.file == file && !name.link);
        if same {
            return (file, None);
        }
        let there = self.names.get(new).is_some_and(|name| self.is_there(name.file));
        let replaced = there.then(|| self.remove(new));
        if let Some(name) = self.names.remove(old) {
            self.forget_count(name);
            self.bind(new, name);
            if !name.link {
                self.set_path(file, new);
            }
        }
        if self.parents.contains(old) {
            self.move_below(old, new);
        }
        self.states[file as usize].presence = Presence::There;
        (file, replaced)
    }

    /// Swaps what two names lead to; returns both files.
    pub(super) fn exchange(&mut self, one: &[u8], other: &[u8]) -> [FileId; 2] {
        const ASIDE: &[u8] = b"/\0exchanged";
        let (first, _) = self.rename(one, ASIDE);
        let (second, _) = self.rename(other, one);
        self.rename(ASIDE, other);
        [first, second]
    }

    /// Gives a file another name (hard link).
    pub(super) fn link(&mut self, file: FileId, new: &[u8]) {
        self.bind(new, Name { file, link: false });
        if self.states[file as usize].names == 1 {
            // It had none before.
            self.set_path(file, new);
        }
    }

    /// Makes a name a symbolic link to another name.
    pub(super) fn link_symbolically(&mut self, path: &[u8], target: &[u8]) {
        let file = self.named(target);
        if path != target {
            self.bind(path, Name { file, link: true });
        }
    }

    /// The file's name.
    pub(super) fn path(&self, file: FileId) -> &[u8] {
        &self.states[file as usize].path
    }

    /// True if the file answers to this name.
    pub(super) fn has_name(&self, file: FileId, path: &[u8]) -> bool {
        self.names.get(path).is_some_and(|name| name.file == file)
    }

    /// Its size, if known.
    pub(super) fn size(&self, file: FileId) -> Option<u64> {
        self.states[file as usize].size
    }

    /// Its size as users see it: if it is not known, the end of the furthest byte that was read or written.
    pub(super) fn apparent_size(&self, file: FileId) -> Option<u64> {
        self.tables.files[file as usize].size
    }

    /// Notes its size.
    pub(crate) fn set_size(&mut self, file: FileId, size: u64) {
        let state = &mut self.states[file as usize];
        (state.size, state.reached) = (Some(size), size);
        self.tables.files[file as usize].size = Some(size);
    }

    /// Notes that it has bytes up to `end`.
    pub(super) fn reach(&mut self, file: FileId, end: u64) {
        let state = &mut self.states[file as usize];
        if end > state.reached {
            state.reached = end;
            state.size = state.size.map(|size| size.max(end));
            self.tables.files[file as usize].size = Some(state.size.unwrap_or(end));
        }
    }

    /// Notes that a read at `offset` came to the file's end after `count` bytes. With none it only tells the size if
    /// the byte before is known to be there.
    pub(super) fn met_end(&mut self, file: FileId, offset: u64, count: u64) {
        let state = &self.states[file as usize];
        if state.size.is_none() && (count > 0 || offset == state.reached) {
            self.set_size(file, offset.saturating_add(count));
        }
    }

    /// Where an appending write goes: the file's end, or as far as it is known.
    pub(super) fn end(&self, file: FileId) -> u64 {
        self.states[file as usize].reached
    }

    /// The kind.
    pub(super) fn kind(&self, file: FileId) -> Kind {
        self.tables.files[file as usize].kind
    }

    /// Notes what it is. A program stays one when its bytes are read.
    pub(super) fn set_kind(&mut self, file: FileId, kind: Kind) {
        let known = &mut self.tables.files[file as usize].kind;
        if *known != Kind::Executable || kind == Kind::Directory {
            *known = kind;
        }
    }

    fn is_there(&self, file: FileId) -> bool {
        self.states[file as usize].presence == Presence::There
    }

    fn bind_new(&mut self, path: &[u8]) -> FileId {
        let file = self.unnamed(path);
        self.bind(path, Name { file, link: false });
        file
    }

    fn bind(&mut self, path: &[u8], name: Name) {
        if !name.link {
            self.states[name.file as usize].names += 1;
        }
        match self.names.get_mut(path) {
            Some(known) => {
                let before = std::mem::replace(known, name);
                self.forget_count(before);
            }
            None => {
                self.names.insert(path.into(), name);
                self.note_parents(path);
            }
        }
    }

    fn forget_count(&mut self, name: Name) {
        if !name.link {
            let names = &mut self.states[name.file as usize].names;
            *names = names.saturating_sub(1);
        }
    }

    fn note_parents(&mut self, path: &[u8]) {
        let mut path = path;
        while let Some(above) = parent(path) {
            if self.parents.contains(above) {
                return;
            }
            self.parents.insert(above.into());
            path = above;
        }
    }

    fn set_path(&mut self, file: FileId, path: &[u8]) {
        self.states[file as usize].path = path.into();
        self.tables.files[file as usize].path = display(path);
    }

    /// Calls a file by another of its names; it has lost the one it was called by.
    fn call_otherwise(&mut self, file: FileId) {
        let names = self.names.iter().filter(|(_, name)| name.file == file && !name.link).map(|(path, _)| path);
        // The least, so that the order of the map does not matter.
        if let Some(path) = names.min().cloned() {
            self.set_path(file, &path);
        }
    }

    /// Renames everything below a directory that was renamed.
    fn move_below(&mut self, old: &[u8], new: &[u8]) {
        let below = |path: &[u8]| path.strip_prefix(old).is_some_and(|rest| rest.first() == Some(&b'/'));
        let moved: Vec<(Box<[u8]>, Name)> = self.names.extract_if(|path, _| below(path)).collect();
        self.parents.retain(|path| &**path != old && !below(path));
        for (path, name) in moved {
            let path = [new, &path[old.len()..]].concat();
            self.forget_count(name);
            self.bind(&path, name);
            if !name.link {
                self.set_path(name.file, &path);
            }
        }
    }
}

/// A path for people: bytes that are not UTF-8 as `\xNN`.
pub(super) fn display(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(file: FileId) -> Option<Removed> {
        Some(Removed { file, lives: false })
    }

    #[test]
    fn a_file_made_after_unlink_is_a_new_one() {
        let mut files = Files::default();
        let first = files.opened(b"/a", b"/a", true);
        assert_eq!(files.remove(b"/a"), Removed { file: first, lives: false });
        let looked_up = files.absent(b"/a");
        assert_ne!(looked_up, first);
        let second = files.opened(b"/a", b"/a", false);
        assert_eq!(second, looked_up, "a name looked up in vain is the file created there next");
        assert_eq!(files.size(second), Some(0));
        assert_ne!(files.opened(b"/a", b"/a", true), second, "O_EXCL succeeded: the old one was removed unseen");
    }

    #[test]
    fn a_renamed_file_stays_the_same() {
        let mut files = Files::default();
        let (a, b) = (files.existing(b"/a"), files.existing(b"/b"));
        assert_eq!(files.rename(b"/a", b"/b"), (a, gone(b)));
        assert_eq!(files.named(b"/b"), a);
        assert_eq!(files.tables.files[a as usize].path, "/b");
        assert_ne!(files.named(b"/a"), a);
        let missing = files.absent(b"/c");
        assert_eq!(files.rename(b"/b", b"/c"), (a, None), "{missing} never was");
    }

    #[test]
    fn a_renamed_directory_takes_its_files_along() {
        let mut files = Files::default();
        let (inner, beside) = (files.existing(b"/d/e/f"), files.existing(b"/dd"));
        let directory = files.existing(b"/d");
        assert_eq!(files.rename(b"/d", b"/x/y").0, directory);
        assert_eq!(files.named(b"/x/y/e/f"), inner);
        assert_eq!(files.named(b"/dd"), beside);
        assert_eq!(files.path(inner), b"/x/y/e/f");
        assert_ne!(files.named(b"/d/e/f"), inner);
        let again = files.rename(b"/x", b"/d");
        assert_eq!(files.named(b"/d/y/e/f"), inner, "{again:?}");
    }

    #[test]
    fn a_hard_link_keeps_the_file_alive() {
        let mut files = Files::default();
        let a = files.existing(b"/a");
        files.link(a, b"/b");
        assert_eq!(files.rename(b"/a", b"/b"), (a, None));
        assert_eq!(files.remove(b"/a"), Removed { file: a, lives: true });
        assert_eq!((files.named(b"/b"), files.path(a)), (a, &b"/b"[..]));
        assert_eq!(files.remove(b"/b"), Removed { file: a, lives: false });
    }

    #[test]
    fn removing_a_symbolic_link_spares_its_target() {
        let mut files = Files::default();
        let real = files.opened(b"/link", b"/real", false);
        assert_eq!(files.named(b"/link"), real);
        assert_ne!(files.remove(b"/link").file, real);
        assert_eq!(files.named(b"/real"), real);
        assert_ne!(files.named(b"/link"), real);
    }

    #[test]
    fn names_can_be_exchanged() {
        let mut files = Files::default();
        let (a, b) = (files.existing(b"/a"), files.existing(b"/b"));
        assert_eq!(files.exchange(b"/a", b"/b"), [a, b]);
        assert_eq!((files.named(b"/a"), files.named(b"/b")), (b, a));
        assert_eq!((files.path(a), files.path(b)), (&b"/b"[..], &b"/a"[..]));
    }

    #[test]
    fn sizes_follow_reads_and_writes() {
        let mut files = Files::default();
        let a = files.existing(b"/a");
        files.reach(a, 100);
        assert_eq!((files.size(a), files.end(a)), (None, 100));
        assert_eq!(files.apparent_size(a), Some(100));
        files.met_end(a, 300, 0);
        assert_eq!(files.size(a), None, "a read far behind the end says nothing");
        files.met_end(a, 100, 0);
        assert_eq!(files.size(a), Some(100));
        files.reach(a, 150);
        files.met_end(a, 10, 5);
        assert_eq!(files.size(a), Some(150), "a known size is not cut by a short read");
    }

    #[test]
    fn odd_bytes_are_shown_as_numbers() {
        assert_eq!(display(b"/\xffa\xc3\xa9"), "/\\xffaé");
    }
}
