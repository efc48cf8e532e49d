//! Calls as the kernel reports them (BPF), for the same model that reads logs of strace.
//!
//! Idea: the model knows the effect of a call on files and processes; the kernel side knows better than any log which
//! file is behind a descriptor, the offset of a read or write, and the length of the file. So a call is written as in a
//! log, and those facts are passed beside it.

use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;

use hotset_feed::calls::{BASE, Called, FILE, MAPPED, Named, OPENED, OnFile, Record, TEXT, Touched, What, Who, entry};
use hotset_trace::Batch;
use rustc_hash::FxHashMap;

use super::StraceOptions;
use super::call::{Call, Handle, Shown};
use super::model::{Model, Scene, Told};
use super::paths::last_name;
use super::phrase::{escaped, phrase};
use super::touches::{Mapped, path_in_maps};
use super::unattributed::Oddity;

/// Kinds of files in `st_mode`.
const KIND: u32 = 0o170_000;
const FIFO: u32 = 0o010_000;
const SOCKET: u32 = 0o140_000;
const BLOCK_DEVICE: u32 = 0o060_000;
const REGULAR: u32 = 0o100_000;

/// File systems of what has no name in a tree.
const PIPES: u32 = 0x5049_5045;
const OBJECTS: u32 = 0x0904_1934;

const O_APPEND: u32 = 0o2000;
const RWF_APPEND: u64 = 0x10;
const NO_SLOTS: [Option<Named>; SLOTS] = [const { None }; SLOTS];
const SLOTS: usize = 7;
const O_DIRECT: u32 = libc::O_DIRECT as u32;

/// Follows what the kernel tells.
pub(crate) struct Follower {
    model: Model,
    /// Names that were sent for calls which have not ended.
    names: FxHashMap<u32, [Option<Named>; SLOTS]>,
    /// The mount namespaces of the recorder and of the first process: paths there are used unchanged. A confined
    /// service has its own namespace with the same paths.
    spaces: [u32; 2],
    /// The time of the first record.
    begun: Option<u64>,
    /// The files whose pages may be touched, if the content of the page cache is reported.
    mapped: Option<Mapped>,
    /// Calls of which a name was lost.
    torn: u64,
}

/// The name that belongs to a slot of a call.
pub(super) struct Names<'a> {
    slots: &'a [Option<Named>; SLOTS],
    who: Who,
    own_spaces: [u32; 2],
}

impl Names<'_> {
    /// A text that the call was given, as a path of the recorder's.
    pub(super) fn text(&self, which: usize) -> Option<Vec<u8>> {
        self.slots[TEXT as usize + which].as_ref().map(|name| self.placed(&name.text))
    }

    /// The directory that a name is taken from.
    pub(super) fn base(&self, which: usize) -> Option<Vec<u8>> {
        self.shown(BASE as usize + which)
    }

    /// The file that was opened, as strace would show it.
    pub(super) fn opened(&self) -> Option<(Vec<u8>, bool)> {
        Some((self.shown(OPENED as usize)?, self.slots[OPENED as usize].as_ref()?.is_deleted))
    }

    /// The target of a descriptor, as strace would show it.
    fn shown(&self, slot: usize) -> Option<Vec<u8>> {
        let name = self.slots[slot].as_ref()?;
        Some(match (name.mode & KIND, name.magic) {
            (FIFO, PIPES) => b"pipe:[0]".to_vec(),
            (SOCKET, _) => b"socket:[0]".to_vec(),
            (_, OBJECTS) => b"anon_inode:[0]".to_vec(),
            _ if name.text.is_empty() => b"anon_inode:[0]".to_vec(),
            _ => self.placed(&name.text),
        })
    }

    /// A path of another mount namespace is not valid for the recorder; objects that are not on storage are the same
    /// everywhere.
    fn placed(&self, path: &[u8]) -> Vec<u8> {
        let is_shared = [&b"/proc/"[..], b"/sys/", b"/dev/"].iter().any(|tree| path.starts_with(tree));
        if self.own_spaces.contains(&self.who.space) || path.first() != Some(&b'/') || is_shared {
            return path.to_vec();
        }
        [format!("/mnt:[{}]", self.who.space).as_bytes(), path].concat()
    }
}

impl Follower {
    /// Nothing is known yet.
    pub(crate) fn new(options: StraceOptions) -> Follower {
        let space =
            |process: &str| fs::metadata(format!("/proc/{process}/ns/mnt")).map_or(0, |about| about.ino() as u32);
        let spaces = ["self", "1"].map(space);
        let mapped = options.touches_told.then(Mapped::new);
        Follower { model: Model::new(options), names: FxHashMap::default(), spaces, begun: None, mapped, torn: 0 }
    }

    /// Names met so far.
    pub(crate) fn tables(&self) -> &hotset_trace::Tables {
        self.model.tables()
    }

    /// Calls of which a name was lost on the way.
    pub(crate) fn torn(&self) -> u64 {
        self.torn
    }

    /// What could not be recorded, one sentence each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.model.unattributed.remarks()
    }

    /// Follows a record, and appends the references that it means.
    pub(crate) fn follow(&mut self, record: Record, batch: &mut Batch) {
        let who = record.who;
        let first = *self.begun.get_or_insert(who.time);
        match record.what {
            What::Named(name) if name.slot == MAPPED => self.learn_program(who, name),
            What::Touched(touched) => {
                self.meet(who);
                let time = who.time.saturating_sub(first);
                self.touch(Scene { pid: who.thread, time, told: Default::default(), batch }, who, &touched);
            }
            What::Named(name) => {
                let slots = self.names.entry(who.thread).or_insert(NO_SLOTS);
                if let Some(slot) = slots.get_mut(name.slot as usize) {
                    *slot = Some(name);
                }
            }
            What::Called(called) => {
                let slots = self.names.remove(&who.thread).unwrap_or(NO_SLOTS);
                let told = (0..SLOTS).filter(|&slot| slots[slot].is_some()).fold(0, |told, slot| told | 1 << slot);
                if told & called.told != called.told {
                    self.torn += 1;
                    return;
                }
                self.meet(who);
                let time = who.time.saturating_sub(first);
                let scene = Scene { pid: who.thread, time, told: Default::default(), batch };
                self.call(scene, who, &called, &slots);
            }
            What::Made { thread, process, shares_files, shares_directory } => {
                let flags = [
                    (shares_files, "CLONE_FILES"),
                    (shares_directory, "CLONE_FS"),
                    (process == who.process, "CLONE_THREAD"),
                ];
                let flags: Vec<&str> = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
                self.names.remove(&thread);
                self.model.fork(who.thread, thread, flags.join("|").as_bytes());
            }
            What::Ended => {
                self.names.remove(&who.thread);
                self.model.processes.remove(who.thread);
            }
            What::Executes(before) => {
                // The names of the call that it is in were sent under its number before.
                if let Some(names) = self.names.remove(&before) {
                    self.names.insert(who.thread, names);
                }
                self.model.processes.supersede(who.thread, before);
            }
            What::Joined { .. } => {}
        }
    }

    /// Makes sure that a thread is known: what ran before the recording began is looked up in `/proc`.
    fn meet(&mut self, who: Who) {
        if !self.model.processes.knows(who.process) {
            let directory = fs::read_link(format!("/proc/{}/cwd", who.process)).ok();
            let directory = directory.map(|path| path.into_os_string().into_vec().into_boxed_slice());
            self.model.add_running(who.process, directory, program(who.process).as_deref());
        }
        if !self.model.processes.knows(who.thread) {
            self.model.fork(who.process, who.thread, b"CLONE_FILES|CLONE_FS|CLONE_THREAD");
        }
    }

    fn call(&mut self, mut scene: Scene, who: Who, called: &Called, slots: &[Option<Named>; SLOTS]) {
        let Some((name, _, look)) = entry(called.number) else { return };
        let names = Names { slots, who, own_spaces: self.spaces };
        for which in 0..2 {
            self.learn(who, called, &names, look.file[which].map(usize::from), which);
            // Names without a directory of their own are taken from the working directory.
            let base = look.base[which].map_or(-100, |place| called.arguments[usize::from(place)] as i32);
            if let (-100, Some(directory)) = (base, names.base(which)) {
                self.model.processes.set_directory(who.thread, &directory);
            }
            scene.told[which] = told(name, called, which, self.mapped.as_ref().map(Mapped::page));
            if scene.told[which].is_shared {
                self.model.unattributed.odd(Oddity::SharedPosition);
            }
        }
        let (requests, sizes) = (scene.batch.requests.len(), scene.batch.file_sizes.len());
        let text = phrase(name, called, look, &names);
        let done = Call::parse(&text).and_then(|call| self.model.call(&mut scene, name.as_bytes(), &call));
        self.learn_identity(who, called.result as i32, &names, OPENED as usize);
        if done.is_err() {
            scene.batch.requests.truncate(requests);
            scene.batch.file_sizes.truncate(sizes);
            self.torn += 1;
        }
    }

    /// Learns the program that a thread begins: it is mapped by no call.
    fn learn_program(&mut self, who: Who, name: Named) {
        let identity = name.file;
        let mut slots = NO_SLOTS;
        slots[FILE as usize] = Some(name);
        let path = Names { slots: &slots, who, own_spaces: self.spaces }.shown(FILE as usize);
        if let (Some(mapped), Some(path)) = (&mut self.mapped, path) {
            mapped.learn(identity, Some(self.model.target_of_path(&path)));
        }
    }

    /// A thread sees pages of a mapped file from now on.
    fn touch(&mut self, mut scene: Scene, who: Who, touched: &Touched) {
        let Some(mapped) = &mut self.mapped else { return };
        if mapped.is_new(&touched.file) {
            let names = Names { slots: &NO_SLOTS, who, own_spaces: self.spaces };
            let path = path_in_maps(who.process, &touched.file).map(|path| names.placed(&path));
            mapped.learn(touched.file, path.map(|path| self.model.target_of_path(&path)));
        }
        if mapped.refer(&mut self.model, &mut scene, touched).is_err() {
            self.torn += 1;
        }
    }

    /// Learns the identity under which the pages of the file behind a descriptor are reported.
    fn learn_identity(&mut self, who: Who, number: i32, names: &Names, slot: usize) {
        if let (Some(mapped), Some(name)) = (&mut self.mapped, &names.slots[slot]) {
            let target = self.model.target(who.thread, Handle { number: Some(number), shown: None });
            mapped.learn(name.file, Some(target));
        }
    }

    /// Learns what is behind a descriptor that the process uses for the first time.
    fn learn(&mut self, who: Who, called: &Called, names: &Names, place: Option<usize>, which: usize) {
        let slot = FILE as usize + which;
        if let (Some(place), Some(path)) = (place, names.shown(slot)) {
            let text = escaped(&path);
            let deleted = names.slots[slot].as_ref().is_some_and(|name| name.is_deleted);
            let number = called.arguments[place] as i32;
            let shown = Some(Shown { text: &text, deleted });
            self.model.description(who.thread, Handle { number: Some(number), shown });
            self.learn_identity(who, number, names, slot);
        }
    }
}

/// The program that a process runs.
fn program(process: u32) -> Option<Vec<u8>> {
    let path = fs::read_link(format!("/proc/{process}/exe")).ok()?.into_os_string().into_vec();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(&path);
    Some(last_name(path).to_vec())
}

/// The range that a call has read or written, the part of it that the page cache had, and the file's size. `page` is in
/// bytes, and present if the content of the page cache is reported.
fn told(name: &str, called: &Called, which: usize, page: Option<u64>) -> Told {
    let file = &called.files[which];
    if !matches!(file.mode & KIND, REGULAR | BLOCK_DEVICE) || called.result < 0 {
        return Told::default();
    }
    let size = (file.mode & KIND == REGULAR).then_some(file.size);
    let Some(transfer) = transfer(name, called, which) else { return Told { size, ..Told::default() } };
    let count = called.result as u64;
    let at = match transfer.position {
        Some(_) if transfer.appends => file.size.saturating_sub(count),
        None if transfer.appends => file.after.saturating_sub(count),
        Some(position) => position,
        None => file.before,
    };
    let is_alone = file.after == file.before + count;
    let is_shared = transfer.position.is_none() && !transfer.appends && !is_alone;
    let is_cached = !transfer.writes && !called.is_submitted && file.flags & O_DIRECT == 0;
    Told { at: Some(at), size, is_shared, lacked: page.filter(|_| is_cached).map(|page| lacked(called, page)) }
}

/// The part of a read that the page cache lacked: by read-ahead the call adds one range, which begins there.
fn lacked(called: &Called, page: u64) -> Range<u64> {
    let start = called.lowest.saturating_mul(page);
    start..start.saturating_add(called.added.saturating_mul(page))
}

/// How a call moves data.
struct Transfer {
    /// It writes.
    writes: bool,
    /// Where; none for the descriptor's own position.
    position: Option<u64>,
    /// To the file's end, wherever that is.
    appends: bool,
}

/// How a call moves data of one of its files; none if it moves none.
fn transfer(name: &str, called: &Called, which: usize) -> Option<Transfer> {
    let OnFile { flags, .. } = called.files[which];
    let argument = |place: usize| called.arguments[place];
    let pointed = |place: usize| (argument(place) != 0).then_some(called.value[which]);
    let (writes, position) = match (name, which) {
        ("read" | "readv", _) => (false, None),
        ("write" | "writev", _) => (true, None),
        ("pread64" | "preadv", _) => (false, Some(argument(3))),
        ("pwrite64" | "pwritev", _) => (true, Some(argument(3))),
        ("preadv2", _) => (false, Some(argument(3)).filter(|&position| position != u64::MAX)),
        ("pwritev2", _) => (true, Some(argument(3)).filter(|&position| position != u64::MAX)),
        ("sendfile", 0) => (false, pointed(2)),
        ("sendfile", _) => (true, None),
        ("copy_file_range" | "splice", 0) => (false, pointed(1)),
        ("copy_file_range" | "splice", _) => (true, pointed(3)),
        _ => return None,
    };
    let appends = writes && (flags & O_APPEND != 0 || name == "pwritev2" && argument(5) & RWF_APPEND != 0);
    Some(Transfer { writes, position, appends })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(result: i64, arguments: [u64; 6], file: OnFile) -> Called {
        Called { result, arguments, files: [OnFile { mode: REGULAR, ..file }, OnFile::default()], ..Called::default() }
    }

    #[test]
    fn positions_are_those_of_the_kernel() {
        let file = OnFile { before: 100, after: 110, size: 500, flags: 0, mode: 0 };
        let appending = OnFile { flags: O_APPEND, after: 500, ..file };
        let cases = [
            ("read", called(10, [3, 0, 50, 0, 0, 0], file), Some(100)),
            ("pread64", called(10, [3, 0, 50, 7, 0, 0], file), Some(7)),
            ("preadv2", called(10, [3, 0, 1, u64::MAX, 0, 0], file), Some(100)),
            ("write", called(10, [3, 0, 10, 0, 0, 0], appending), Some(490)),
            ("pwrite64", called(10, [3, 0, 10, 7, 0, 0], appending), Some(490)),
            ("pwritev2", called(10, [3, 0, 1, 7, 0, RWF_APPEND], file), Some(490)),
            ("fsync", called(0, [3, 0, 0, 0, 0, 0], file), None),
            ("read", called(-9, [3, 0, 0, 0, 0, 0], file), None),
        ];
        for (name, called, at) in cases {
            assert_eq!(told(name, &called, 0, None).at, at, "{name}");
        }
        // Another thread has moved the position meanwhile.
        let shared = called(10, [3, 0, 50, 0, 0, 0], OnFile { after: 130, ..file });
        assert!(told("read", &shared, 0, None).is_shared && !told("pread64", &shared, 0, None).is_shared);
        // Pipes have no place.
        let pipe = Called { files: [OnFile { mode: FIFO, ..file }, OnFile::default()], ..shared };
        assert_eq!(told("read", &pipe, 0, None), Told::default());
    }
}
