//! Follows the records of the BPF programs.
//!
//! The model knows the effect of a call on files and processes. The kernel knows which file is behind a descriptor, the
//! offset of a read or write, and the length of the file. A call carries those facts, which overrule what the model
//! infers.

use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;

use hotset_core::request::Op;
use hotset_feed::calls::{BASE, Called, FILE, MAPPED, Named, OPENED, OnFile, Record, Touched, What, Who, entry};
use hotset_trace::Batch;
use rustc_hash::FxHashMap;

use super::arguments::Recorded;
use super::names::{KIND, NO_SLOTS, Names, SLOTS, Slots};
use super::touches::{Mapped, path_in_maps};
use crate::call::{Action, Call, Facts, Handle, Outcome, Sharing, Shown, Transfer};
use crate::model::{Model, Oddity, Scene, last_name};
use crate::options::StraceOptions;

/// Kinds of files in `st_mode`.
const BLOCK_DEVICE: u32 = 0o060_000;
const REGULAR: u32 = 0o100_000;

const O_APPEND: u32 = 0o2000;
const O_DIRECT: u32 = libc::O_DIRECT as u32;

/// Follows what the kernel tells.
pub(crate) struct Follower {
    model: Model,
    /// Names that were sent for calls which have not ended.
    names: FxHashMap<u32, Slots>,
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
                self.touch(Scene { pid: who.thread, time, result: Outcome::Returned(0), batch }, who, &touched);
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
                self.call(time, who, &called, &slots, batch);
            }
            What::Made { thread, process, shares_files, shares_directory } => {
                let is_thread = process == who.process;
                let sharing = Sharing { files: shares_files, directory: shares_directory, process: is_thread };
                self.names.remove(&thread);
                self.model.fork(who.thread, thread, sharing);
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
            self.model.fork(who.process, who.thread, Sharing::THREAD);
        }
    }

    fn call(&mut self, time: u64, who: Who, called: &Called, slots: &Slots, batch: &mut Batch) {
        let Some((name, _, look)) = entry(called.number) else { return };
        let names = Names { slots, who, own_spaces: self.spaces };
        for which in 0..2 {
            self.learn(who, called, &names, look.file[which].map(usize::from), which);
            // Names without a directory of their own are taken from the working directory.
            let base = look.base[which].map_or(libc::AT_FDCWD, |place| called.arguments[usize::from(place)] as i32);
            if let (libc::AT_FDCWD, Some(directory)) = (base, names.shown(BASE as usize + which)) {
                self.model.processes.set_directory(who.thread, &directory.path);
            }
        }
        let (requests, sizes) = (batch.requests.len(), batch.file_sizes.len());
        let call = Call::new(who.thread, time, name.as_bytes(), &Recorded { name, called, look, names: &names });
        let done = call.and_then(|mut call| {
            call.facts = facts(&call.action, called, self.mapped.as_ref().map(Mapped::page));
            call.facts
                .iter()
                .filter(|facts| facts.is_shared)
                .for_each(|_| self.model.unattributed.odd(Oddity::SharedPosition));
            self.model.call(&call, batch)
        });
        self.learn_identity(who, called.result as i32, &names, OPENED as usize);
        if done.is_err() {
            batch.requests.truncate(requests);
            batch.file_sizes.truncate(sizes);
            self.torn += 1;
        }
    }

    /// Learns the program that a thread begins: it is mapped by no call.
    fn learn_program(&mut self, who: Who, name: Named) {
        let identity = name.file;
        let mut slots = NO_SLOTS;
        slots[FILE as usize] = Some(name);
        let path = Names { slots: &slots, who, own_spaces: self.spaces }.shown(FILE as usize);
        if let (Some(mapped), Some(Shown { path, .. })) = (&mut self.mapped, path) {
            mapped.learn(identity, Some(self.model.target_of_path(&path)));
        }
    }

    /// A thread sees pages of a mapped file from now on.
    fn touch(&mut self, mut scene: Scene, who: Who, touched: &Touched) {
        let Some(mapped) = &mut self.mapped else { return };
        if mapped.is_new(&touched.file) {
            let names = Names { slots: &NO_SLOTS, who, own_spaces: self.spaces };
            let target =
                path_in_maps(who.process, &touched.file).map(|path| self.model.target_of_path(&names.placed(&path)));
            mapped.learn(touched.file, target);
        }
        if mapped.refer(&mut self.model, &mut scene, touched).is_err() {
            self.torn += 1;
        }
    }

    /// Learns the identity under which the pages of the file behind a descriptor are reported.
    fn learn_identity(&mut self, who: Who, number: i32, names: &Names, slot: usize) {
        if let (Some(mapped), Some(name)) = (&mut self.mapped, &names.slots[slot]) {
            let target = self.model.target(who.thread, &Handle { number: Some(number), shown: None });
            mapped.learn(name.file, Some(target));
        }
    }

    /// Learns what is behind a descriptor that the process uses for the first time.
    fn learn(&mut self, who: Who, called: &Called, names: &Names, place: Option<usize>, which: usize) {
        let slot = FILE as usize + which;
        if let (Some(place), Some(shown)) = (place, names.shown(slot)) {
            let number = called.arguments[place] as i32;
            self.model.description(who.thread, &Handle { number: Some(number), shown: Some(shown) });
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

/// The facts about the files of a call. `page` is in bytes, and present if the content of the page cache is reported.
fn facts(action: &Action, called: &Called, page: Option<u64>) -> [Facts; 2] {
    let sides = match action {
        Action::Transfer(side) => [Some(side), None],
        Action::Copy([from, to]) => [Some(from), Some(to)],
        _ => [None; 2],
    };
    std::array::from_fn(|which| facts_of(sides[which], called, &called.files[which], page))
}

/// The range of one of its files that a call has read or written, the part of it that the page cache had, and the
/// file's size.
fn facts_of(side: Option<&Transfer>, called: &Called, file: &OnFile, page: Option<u64>) -> Facts {
    if !matches!(file.mode & KIND, REGULAR | BLOCK_DEVICE) || called.result < 0 {
        return Facts::default();
    }
    let size = (file.mode & KIND == REGULAR).then_some(file.size);
    let Some(side) = side else { return Facts { size, ..Facts::default() } };
    let count = called.result as u64;
    let writes = side.op == Op::Write;
    let appends = writes && (file.flags & O_APPEND != 0 || side.append);
    let at = match side.position {
        Some(_) if appends => file.size.saturating_sub(count),
        None if appends => file.after.saturating_sub(count),
        Some(position) => position,
        None => file.before,
    };
    let is_alone = file.after == file.before + count;
    let is_shared = side.position.is_none() && !appends && !is_alone;
    let is_cached = !writes && !called.is_submitted && file.flags & O_DIRECT == 0;
    Facts { at: Some(at), size, is_shared, lacked: page.filter(|_| is_cached).map(|page| lacked(called, page)) }
}

/// The part of a read that the page cache lacked: by read-ahead the call adds one range, which begins there.
fn lacked(called: &Called, page: u64) -> Range<u64> {
    let start = called.lowest.saturating_mul(page);
    start..start.saturating_add(called.added.saturating_mul(page))
}

#[cfg(test)]
mod tests {
    use super::super::names::FIFO;
    use super::super::tests::number;
    use super::*;

    const RWF_APPEND: u64 = 0x10;

    fn called(result: i64, arguments: [u64; 6], file: OnFile) -> Called {
        Called { result, arguments, files: [OnFile { mode: REGULAR, ..file }, OnFile::default()], ..Called::default() }
    }

    /// The facts about the first file of a call.
    fn first_facts(name: &'static str, called: &Called) -> Facts {
        let (_, _, look) = entry(number(name)).unwrap();
        let who = Who { thread: 7, process: 7, space: 0, time: 0 };
        let names = Names { slots: &NO_SLOTS, who, own_spaces: [0; 2] };
        let call = Call::new(7, 0, name.as_bytes(), &Recorded { name, called, look, names: &names }).unwrap();
        let [first, _] = facts(&call.action, called, None);
        first
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
            assert_eq!(first_facts(name, &called).at, at, "{name}");
        }
        // Another thread has moved the position meanwhile.
        let shared = called(10, [3, 0, 50, 0, 0, 0], OnFile { after: 130, ..file });
        assert!(first_facts("read", &shared).is_shared && !first_facts("pread64", &shared).is_shared);
        // Pipes have no place.
        let pipe = Called { files: [OnFile { mode: FIFO, ..file }, OnFile::default()], ..shared };
        assert_eq!(first_facts("read", &pipe), Facts::default());
    }
}
