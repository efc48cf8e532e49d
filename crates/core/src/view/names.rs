//! The metadata that naming a file touches: the directory that contains the name, and the inode (POLICIES 1.2, "From
//! system calls to requests").

use hashbrown::{HashMap, HashSet};

use super::{AccessTimes, Metadata};
use crate::request::{Kind, Op, Request};

/// An inode or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetadataObject {
    /// A file of the trace, by its number.
    File(u32),
    /// A directory, numbered in the order of first use.
    Directory(u32),
}

/// A reference to bytes of an inode or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The inode or directory.
    pub object: MetadataObject,
    /// [`Kind::Inode`] or [`Kind::Directory`].
    pub kind: Kind,
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// True for a write.
    pub write: bool,
}

/// Bytes of an inode.
const INODE_BYTES: u32 = 128;
/// Bytes of a directory that one look-up reads.
const DIRECTORY_BYTES: u32 = 512;
/// Bytes of an entry in a directory.
const ENTRY_BYTES: u64 = 32;

/// The names seen so far and their state.
#[derive(Debug)]
pub struct Namespace {
    metadata: Metadata,
    numbers: HashMap<String, u32>,
    directories: Vec<Directory>,
    /// Files known not to exist.
    gone: HashSet<u32>,
    /// Files that were not read, or not written, since their last open.
    unread: HashSet<u32>,
    unwritten: HashSet<u32>,
    /// Files whose inode records a read after the last write.
    accessed: HashSet<u32>,
}

/// One directory.
#[derive(Debug, Default)]
struct Directory {
    /// Entries by name, numbered in the order of first use.
    entries: HashMap<String, u64>,
    /// Bytes that were listed since it was opened.
    listed: u64,
}

impl Namespace {
    /// Starts without any name.
    pub fn new(metadata: Metadata) -> Namespace {
        Namespace {
            metadata,
            numbers: HashMap::new(),
            directories: Vec::new(),
            gone: HashSet::new(),
            unread: HashSet::new(),
            unwritten: HashSet::new(),
            accessed: HashSet::new(),
        }
    }

    /// Returns which metadata naming a file touches.
    pub fn metadata(&self) -> Metadata {
        self.metadata
    }

    /// Forgets a file, whose number may be reused.
    pub fn forget(&mut self, file: u32) {
        for files in [&mut self.gone, &mut self.unread, &mut self.unwritten, &mut self.accessed] {
            files.remove(&file);
        }
    }

    /// Appends to `out` what `request` for the file at `path` touches besides the data.
    pub fn touch(&mut self, request: &Request, path: &str, out: &mut Vec<Touch>) {
        let file = request.file;
        match request.op() {
            Op::Open => {
                let created = !request.failed() && self.gone.remove(&file);
                self.look_up(path, file, request.failed(), created, out);
                if !request.failed() {
                    self.unread.insert(file);
                    self.unwritten.insert(file);
                    self.rewind(path);
                }
            }
            Op::Stat | Op::Exec => self.look_up(path, file, request.failed(), false, out),
            Op::Unlink | Op::Rename => {
                let changed = !request.failed();
                self.look_up(path, file, request.failed(), changed, out);
                if changed && request.op() == Op::Unlink {
                    self.gone.insert(file);
                }
            }
            Op::List => self.list(path, request.length, out),
            Op::Read | Op::Map => self.first_use(file, false, out),
            Op::Write => self.first_use(file, true, out),
            Op::Truncate | Op::Sync => {}
        }
    }

    /// Looks up `path`. A look-up that fails reads only the directory. A change of the name writes directory and
    /// inode.
    fn look_up(&mut self, path: &str, file: u32, failed: bool, changed: bool, out: &mut Vec<Touch>) {
        if failed {
            self.gone.insert(file);
        }
        if self.metadata.full_lookup {
            for (end, _) in path.match_indices('/').skip(1) {
                self.enter(&path[..end], out);
            }
        }
        let name = self.entry(path);
        if let Some(entry) = name {
            out.push(entry);
        }
        let inode = inode(MetadataObject::File(file));
        if !failed {
            out.push(inode);
        }
        if changed {
            out.extend(name.map(|entry| Touch { write: true, ..entry }));
            out.push(Touch { write: true, ..inode });
        }
    }

    /// Passes a directory on the way to a file.
    fn enter(&mut self, path: &str, out: &mut Vec<Touch>) {
        out.extend(self.entry(path));
        out.push(inode(MetadataObject::Directory(self.number(path))));
    }

    /// Returns the bytes of the parent directory that contain the entry of `path`; `None` if the trace has no path.
    fn entry(&mut self, path: &str) -> Option<Touch> {
        let (parent, name) = path.rsplit_once('/')?;
        let directory = self.number(parent);
        let entries = &mut self.directories[directory as usize].entries;
        let next = entries.len() as u64;
        let entry = match entries.get(name) {
            Some(&entry) => entry,
            None => *entries.entry(name.to_owned()).or_insert(next),
        };
        let offset = entry * ENTRY_BYTES / u64::from(DIRECTORY_BYTES) * u64::from(DIRECTORY_BYTES);
        let object = MetadataObject::Directory(directory);
        Some(Touch { object, kind: Kind::Directory, offset, length: DIRECTORY_BYTES, write: false })
    }

    fn list(&mut self, path: &str, length: u32, out: &mut Vec<Touch>) {
        if length == 0 {
            return;
        }
        let number = self.number(path);
        let directory = &mut self.directories[number as usize];
        let offset = directory.listed;
        directory.listed += u64::from(length);
        out.push(Touch {
            object: MetadataObject::Directory(number),
            kind: Kind::Directory,
            offset,
            length,
            write: false,
        });
    }

    /// Restarts the listing of a directory, because it was opened again.
    fn rewind(&mut self, path: &str) {
        if let Some(&number) = self.numbers.get(path.trim_end_matches('/')) {
            self.directories[number as usize].listed = 0;
        }
    }

    /// Records the time of the first read or write after an open in the inode.
    fn first_use(&mut self, file: u32, write: bool, out: &mut Vec<Touch>) {
        let fresh = if write { &mut self.unwritten } else { &mut self.unread };
        let is_first = fresh.remove(&file);
        let is_noted = match self.metadata.access_times {
            AccessTimes::Off => false,
            AccessTimes::Strict => is_first,
            AccessTimes::Relatime if write => {
                self.accessed.remove(&file);
                is_first
            }
            AccessTimes::Relatime => is_first && self.accessed.insert(file),
        };
        if is_noted {
            out.push(Touch { write: true, ..inode(MetadataObject::File(file)) });
        }
    }

    fn number(&mut self, path: &str) -> u32 {
        let path = path.trim_end_matches('/');
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = self.directories.len() as u32;
        self.numbers.insert(path.to_owned(), number);
        self.directories.push(Directory::default());
        number
    }
}

fn inode(object: MetadataObject) -> Touch {
    Touch { object, kind: Kind::Inode, offset: 0, length: INODE_BYTES, write: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::FLAG_FAILED;

    const LAST: Metadata = Metadata { full_lookup: false, access_times: AccessTimes::Strict };

    fn request(op: Op, file: u32) -> Request {
        Request { op: op as u8, file, ..Request::default() }
    }

    /// Returns what is touched as letters: directory or inode, read or write, and the offset.
    fn touched(names: &mut Namespace, request: Request, path: &str) -> Vec<(char, char, u64)> {
        let mut out = Vec::new();
        names.touch(&request, path, &mut out);
        let letters = |touch: &Touch| {
            let kind = if touch.kind == Kind::Inode { 'i' } else { 'd' };
            (kind, if touch.write { 'w' } else { 'r' }, touch.offset)
        };
        out.iter().map(letters).collect()
    }

    #[test]
    fn a_look_up_reads_the_directory_block_and_the_inode() {
        let mut names = Namespace::new(LAST);
        assert_eq!(touched(&mut names, request(Op::Stat, 1), "/a/b"), [('d', 'r', 0), ('i', 'r', 0)]);
        let failed = Request { flags: FLAG_FAILED, ..request(Op::Stat, 2) };
        assert_eq!(touched(&mut names, failed, "/a/c"), [('d', 'r', 0)]);
        for file in 3..17 {
            touched(&mut names, request(Op::Stat, file), &format!("/a/{file}"));
        }
        assert_eq!(touched(&mut names, request(Op::Stat, 17), "/a/17")[0], ('d', 'r', 512), "sixteen entries a block");
        assert_eq!(touched(&mut names, request(Op::Stat, 1), "/a/b")[0], ('d', 'r', 0));
    }

    #[test]
    fn every_component_costs_if_there_is_no_name_cache() {
        let mut names = Namespace::new(Metadata { full_lookup: true, access_times: AccessTimes::Strict });
        let touches = touched(&mut names, request(Op::Open, 1), "/usr/lib/x");
        assert_eq!(touches.iter().map(|touch| touch.0).collect::<String>(), "dididi");
    }

    #[test]
    fn the_first_read_and_the_first_write_write_the_inode() {
        let mut names = Namespace::new(LAST);
        touched(&mut names, request(Op::Open, 1), "/f");
        assert_eq!(touched(&mut names, request(Op::Read, 1), "/f"), [('i', 'w', 0)]);
        assert_eq!(touched(&mut names, request(Op::Read, 1), "/f"), []);
        assert_eq!(touched(&mut names, request(Op::Write, 1), "/f"), [('i', 'w', 0)]);
        assert_eq!(touched(&mut names, request(Op::Write, 2), "/g"), [], "its open is not in the trace");
        let mut careless = Namespace::new(Metadata { full_lookup: false, access_times: AccessTimes::Off });
        touched(&mut careless, request(Op::Open, 1), "/f");
        assert_eq!(touched(&mut careless, request(Op::Read, 1), "/f"), []);
    }

    #[test]
    fn relatime_notes_a_read_once_until_the_file_is_written() {
        let mut names = Namespace::new(Metadata { full_lookup: false, access_times: AccessTimes::Relatime });
        let written = [('i', 'w', 0)];
        for (op, noted) in
            [(Op::Read, &written[..]), (Op::Read, &[]), (Op::Write, &written), (Op::Read, &written), (Op::Map, &[])]
        {
            touched(&mut names, request(Op::Open, 1), "/f");
            assert_eq!(touched(&mut names, request(op, 1), "/f"), noted, "{op:?}");
        }
        // A write that is not the first of its open also makes the next read the first one after a write.
        touched(&mut names, request(Op::Open, 1), "/f");
        assert_eq!(touched(&mut names, request(Op::Write, 1), "/f"), written);
        assert_eq!(touched(&mut names, request(Op::Read, 1), "/f"), written);
        assert_eq!(touched(&mut names, request(Op::Write, 1), "/f"), []);
        touched(&mut names, request(Op::Open, 1), "/f");
        assert_eq!(touched(&mut names, request(Op::Read, 1), "/f"), written);
    }

    #[test]
    fn names_that_change_are_written() {
        let mut names = Namespace::new(LAST);
        let changed = [('d', 'r', 0), ('i', 'r', 0), ('d', 'w', 0), ('i', 'w', 0)];
        assert_eq!(touched(&mut names, request(Op::Rename, 1), "/f"), changed);
        assert_eq!(touched(&mut names, request(Op::Unlink, 1), "/f"), changed);
        assert_eq!(touched(&mut names, request(Op::Open, 1), "/f"), changed, "created anew");
        assert_eq!(touched(&mut names, request(Op::Open, 1), "/f"), changed[..2]);
    }

    #[test]
    fn a_listing_goes_on_until_the_directory_is_opened_again() {
        let mut names = Namespace::new(LAST);
        let list = Request { length: 1000, ..request(Op::List, 1) };
        assert_eq!(touched(&mut names, list, "/d"), [('d', 'r', 0)]);
        assert_eq!(touched(&mut names, list, "/d"), [('d', 'r', 1000)]);
        touched(&mut names, request(Op::Open, 1), "/d");
        assert_eq!(touched(&mut names, list, "/d"), [('d', 'r', 0)]);
    }
}
