//! The state of the processes of a recording, and the references that follow from each call.

mod descriptors;
mod files;
mod on_data;
mod on_descriptors;
mod on_names;
mod paths;
mod processes;
mod shared;
mod unattributed;

use std::ops::Range;

use hotset_core::request::{
    FLAG_CACHED, FLAG_CONTINUED, FLAG_EXECUTABLE, FLAG_FAILED, FLAG_FETCHED, Kind, Op, Request,
};
use hotset_trace::{
    Batch, Tables,
    runner::{Malformed, push_range},
};
use rustc_hash::FxHashMap;

use crate::{
    call::{Action, Call, Handle, Location, Outcome, Sharing, Shown, Text},
    options::{Apps, Inherited, StraceOptions},
};
use descriptors::Description;
use files::{FileId, Files, display};
use paths::{class_of, join};
use processes::Processes;
use unattributed::{Class, Unattributed};

pub(crate) use descriptors::Target;
pub(crate) use paths::last_name;
pub(crate) use processes::Pending;
pub(crate) use unattributed::Oddity;

/// The application of processes whose program was started before the log began.
const UNKNOWN_PROGRAM: &[u8] = b"unknown";

/// The origin of a reference, and its destination.
pub(crate) struct Scene<'a> {
    /// The thread.
    pub pid: u32,
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// How the call ended.
    pub result: Outcome,
    /// The batch that takes the reference.
    pub batch: &'a mut Batch,
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Located {
    /// The file named by [`Model::path`].
    Named,
    /// A descriptor's own file (`AT_EMPTY_PATH`).
    Own(FileId),
    /// Something without blocks.
    Object(Class),
    /// Nothing that could be read.
    Nowhere,
}

/// The state of all processes and files.
#[derive(Debug)]
pub(crate) struct Model {
    pub files: Files,
    pub processes: Processes,
    pub unattributed: Unattributed,
    /// The path that was located last.
    pub path: Vec<u8>,
    /// The descriptor that the call at hand was begun on, and what it led to then.
    pub begun_on: Option<(i32, u32)>,
    apps: FxHashMap<Box<[u8]>, u32>,
    apps_by: Apps,
    /// Descriptions from before the log, by path: descriptors that lead to one file are taken to share a position.
    inherited: FxHashMap<Box<[u8]>, u32>,
    /// Where the first process works.
    directory: Option<Box<[u8]>>,
    positions_told: bool,
    pub touches_told: bool,
    group_of: Option<fn(u32) -> Option<String>>,
    file_size_of: Option<fn(&str) -> Option<u64>>,
    met_process: bool,
}

impl Model {
    /// The state at the beginning of a log.
    pub(crate) fn new(options: StraceOptions) -> Model {
        let mut model = Model {
            files: Files::default(),
            processes: Processes::default(),
            unattributed: Unattributed::new(options.sees_rings),
            path: Vec::new(),
            begun_on: None,
            apps: FxHashMap::default(),
            apps_by: options.apps,
            inherited: FxHashMap::default(),
            directory: options.directory.map(Vec::into_boxed_slice),
            positions_told: options.positions_told,
            touches_told: options.touches_told,
            group_of: options.group_of,
            file_size_of: options.file_size_of,
            met_process: false,
        };
        options.inherited.into_iter().for_each(|inherited| model.inherit(inherited));
        model
    }

    /// Names met so far.
    pub(crate) fn tables(&self) -> &Tables {
        &self.files.tables
    }

    /// Adds a process of which nothing is known.
    pub(crate) fn add_stray(&mut self, pid: u32) {
        if std::mem::replace(&mut self.met_process, true) {
            self.unattributed.odd(Oddity::Stray);
        }
        let directory = self.directory.take();
        self.processes.add_stray(pid, directory, UNKNOWN_PROGRAM);
    }

    /// Adds a process that already runs; without its directory or program if they are unknown.
    #[cfg(target_os = "linux")]
    pub(crate) fn add_running(&mut self, pid: u32, directory: Option<Box<[u8]>>, program: Option<&[u8]>) {
        let directory = directory.or_else(|| self.directory.take());
        self.processes.add_stray(pid, directory, program.unwrap_or(UNKNOWN_PROGRAM));
    }

    /// Process `parent` has made process `child`.
    pub(crate) fn fork(&mut self, parent: u32, child: u32, sharing: Sharing) {
        self.processes.fork(parent, child, sharing);
        if let (Apps::Process, Some(process)) = (self.apps_by, self.processes.find(child))
            && process.leader == child
        {
            process.app = None;
        }
    }

    /// The application that a process counts as.
    fn app(&mut self, pid: u32) -> u32 {
        let process = self.processes.get(pid);
        if let Some(app) = process.app {
            return app;
        }
        let name = match self.apps_by {
            Apps::Program => process.program.clone(),
            Apps::Process => [&process.program, &b" "[..], process.leader.to_string().as_bytes()].concat().into(),
            Apps::Group => {
                let group = self.group_of.and_then(|ask| ask(process.leader));
                let group = group.map(|group| group.into_bytes().into_boxed_slice());
                // One that has ended was where its parent was.
                let group = group.or_else(|| process.group.clone()).unwrap_or_else(|| UNKNOWN_PROGRAM.into());
                process.group = Some(group.clone());
                group
            }
        };
        let apps = &mut self.files.tables.apps;
        let app = *self.apps.entry(name).or_insert_with_key(|name| {
            apps.push(display(name));
            (apps.len() - 1) as u32
        });
        process.app = Some(app);
        app
    }

    /// The description behind a descriptor. Where the log shows the file and the model knows nothing of it, or
    /// something else, the log is right.
    pub(crate) fn description(&mut self, pid: u32, handle: &Handle) -> Option<u32> {
        let number = handle.number?;
        if let Some((_, description)) = self.begun_on.filter(|(begun_on, _)| *begun_on == number) {
            return Some(description);
        }
        let table = self.processes.get(pid).table;
        if let Some(known) = self.processes.descriptors.find(table, number) {
            let agrees = handle.shown.as_ref().is_none_or(|shown| self.leads_to(known, shown));
            if agrees {
                return Some(known);
            }
            self.unattributed.odd(Oddity::Surprise);
        }
        Some(self.adopt(table, number, handle.shown.as_ref()?))
    }

    /// The target of a descriptor.
    pub(crate) fn target(&mut self, pid: u32, handle: &Handle) -> Target {
        let description = self.description(pid, handle);
        self.target_of(description)
    }

    /// The target of a description.
    pub(super) fn target_of(&mut self, description: Option<u32>) -> Target {
        match description {
            Some(description) => self.processes.descriptors.description(description).target,
            None => Target::Object(Class::Unknown),
        }
    }

    /// The target of an absolute path that the kernel has reported.
    #[cfg(target_os = "linux")]
    pub(crate) fn target_of_path(&mut self, path: &[u8]) -> Target {
        match class_of(path) {
            Some(class) => Target::Object(class),
            None => Target::File(self.files.existing(path)),
        }
    }

    /// The target of a path in an argument, relative to the working directory, or to the directory `base` if given. An
    /// ordinary path is left in `self.path`.
    pub(super) fn locate(&mut self, pid: u32, Location { base, path }: &Location) -> Located {
        let path = match (path, base) {
            (Text::Whole(path), _) => path,
            (Text::Cut(path), _) => {
                self.unattributed.odd(Oddity::CutPath);
                path
            }
            // Some calls then work on the descriptor itself.
            (Text::Null, Some(base)) => return self.locate_own(pid, base),
            (Text::Null | Text::Unreadable, _) => return self.nowhere(),
        };
        let mut located = std::mem::take(&mut self.path);
        let base = base.as_ref().filter(|base| base.number.is_some() || base.shown.is_some());
        let found = match base {
            Some(base) if path.is_empty() => self.locate_own(pid, base),
            Some(base) if path.first() != Some(&b'/') => self.locate_below(pid, base, path, &mut located),
            _ => {
                join(self.processes.directory(pid), path, &mut located);
                Located::Named
            }
        };
        self.path = located;
        match class_of(&self.path) {
            // A relative name without a known directory is a file's.
            Some(class) if found == Located::Named && self.path[0] == b'/' => Located::Object(class),
            _ => found,
        }
    }

    /// Counts a path that cannot be read.
    fn nowhere(&mut self) -> Located {
        self.unattributed.odd(Oddity::UnreadablePath);
        Located::Nowhere
    }

    /// A descriptor's own file, or the working directory.
    fn locate_own(&mut self, pid: u32, base: &Handle) -> Located {
        if base.number.is_none() {
            return match self.base_directory(pid, base) {
                Some(path) => Located::Own(self.files.existing(&path)),
                None => self.nowhere(),
            };
        }
        self.located(pid, base)
    }

    /// The target of a descriptor.
    fn located(&mut self, pid: u32, file: &Handle) -> Located {
        match self.target(pid, file) {
            Target::File(file) => Located::Own(file),
            Target::Object(class) => Located::Object(class),
        }
    }

    fn locate_below(&mut self, pid: u32, base: &Handle, path: &[u8], located: &mut Vec<u8>) -> Located {
        match self.base_directory(pid, base) {
            Some(directory) => {
                join(Some(&directory), path, located);
                Located::Named
            }
            None => Located::Object(Class::Unknown),
        }
    }

    /// The path of a directory given by descriptor. `AT_FDCWD` with its path also shows the working directory.
    fn base_directory(&mut self, pid: u32, base: &Handle) -> Option<Box<[u8]>> {
        if let Some(Shown { path, .. }) = &base.shown {
            if base.number.is_none() && self.processes.directory(pid) != Some(path) {
                self.processes.set_directory(pid, path);
            }
            return Some((**path).into());
        }
        if base.number.is_none() {
            return self.processes.directory(pid).map(Into::into);
        }
        match self.target(pid, base) {
            Target::File(file) => Some(self.files.path(file).into()),
            Target::Object(_) => None,
        }
    }

    /// True if a description leads to the file that the log shows.
    fn leads_to(&mut self, description: u32, shown: &Shown) -> bool {
        let known = self.processes.descriptors.description(description);
        let path = &*shown.path;
        if known.shown == path {
            return true;
        }
        let agrees = match known.target {
            Target::Object(class) => class_of(path) == Some(class),
            Target::File(file) => shown.deleted || self.files.path(file) == path || self.files.has_name(file, path),
        };
        if agrees {
            known.shown.clear();
            known.shown.extend_from_slice(path);
        }
        agrees
    }

    /// Learns from the log what a descriptor leads to.
    fn adopt(&mut self, table: u32, number: i32, shown: &Shown) -> u32 {
        let path = &*shown.path;
        if let Some(known) = self.inherited.get(path).filter(|_| !shown.deleted) {
            self.processes.descriptors.duplicate(table, number, *known, false);
            return *known;
        }
        let target = match class_of(path) {
            Some(class) => Target::Object(class),
            None if shown.deleted => Target::File(self.files.unnamed(path)),
            None => Target::File(self.files.existing(path)),
        };
        let description = Description { target, offset: 0, append: false, shown: path.to_vec() };
        if matches!(target, Target::Object(_)) || shown.deleted {
            return self.processes.descriptors.open(table, number, description, false);
        }
        if !self.positions_told {
            self.unattributed.odd(Oddity::InheritedDescriptor);
        }
        let description = self.processes.descriptors.keep(description);
        self.processes.descriptors.duplicate(table, number, description, false);
        self.inherited.insert(path.into(), description);
        description
    }

    fn inherit(&mut self, inherited: Inherited) {
        let Inherited { path, offset, append, size } = inherited;
        let file = self.files.existing(&path);
        self.files.set_size(file, size);
        let description = Description { target: Target::File(file), offset, append, shown: Vec::new() };
        let description = self.processes.descriptors.keep(description);
        self.inherited.insert(path.into_boxed_slice(), description);
    }

    /// Asks the file system for the size of a file that the log has not told. Only while recording.
    pub(super) fn ask_size(&mut self, file: FileId) {
        if let Some(ask) = self.file_size_of.filter(|_| self.files.size(file).is_none())
            && let Some(size) = ask(&self.files.tables.files[file as usize].path)
        {
            self.files.set_size(file, size);
        }
    }

    /// Appends a reference to a file's inode or entries, or to the file as a whole.
    pub(super) fn refer(&mut self, scene: &mut Scene, op: Op, file: FileId) -> Result<(), Malformed> {
        let flags = if matches!(scene.result, Outcome::Returned(_)) { 0 } else { FLAG_FAILED };
        self.refer_range(scene, op, file, 0, 0, flags)
    }

    /// Appends a reference to a range of a file.
    pub(crate) fn refer_range(
        &mut self,
        scene: &mut Scene,
        op: Op,
        file: FileId,
        offset: u64,
        length: u64,
        flags: u16,
    ) -> Result<(), Malformed> {
        let request = Request {
            time: scene.time,
            offset,
            length: 0,
            file,
            app: self.app(scene.pid),
            op: op as u8,
            kind: self.kind_touched(op, file, flags) as u8,
            flags,
        };
        push_range(scene.batch, request, length, self.files.apparent_size(file))
    }

    /// Appends reads of a range of a file, one for each part of which the page cache had all or lacked all.
    pub(super) fn refer_read(
        &mut self,
        scene: &mut Scene,
        file: FileId,
        range: Range<u64>,
        lacked: &Range<u64>,
    ) -> Result<(), Malformed> {
        let from = lacked.start.clamp(range.start, range.end);
        let to = lacked.end.clamp(from, range.end);
        let parts = [(range.start..from, FLAG_CACHED), (from..to, FLAG_FETCHED), (to..range.end, FLAG_CACHED)];
        let mut goes_on = 0;
        for (part, flag) in parts.into_iter().filter(|(part, _)| !part.is_empty()) {
            self.refer_range(scene, Op::Read, file, part.start, part.end - part.start, flag | goes_on)?;
            goes_on = FLAG_CONTINUED;
        }
        Ok(())
    }

    /// What kind of object an operation on a file touches.
    fn kind_touched(&self, op: Op, file: FileId, flags: u16) -> Kind {
        match op {
            Op::Open | Op::Stat | Op::Unlink | Op::Rename => Kind::Inode,
            Op::List => Kind::Directory,
            Op::Exec => Kind::Executable,
            _ if flags & FLAG_EXECUTABLE != 0 => Kind::Executable,
            _ => match self.files.kind(file) {
                Kind::Unknown => Kind::Datafile,
                known => known,
            },
        }
    }

    /// The file that a path was found to name, as far as the call's result tells; `None` if the call has no result or
    /// no file.
    pub(super) fn file_at(&mut self, scene: &Scene, located: Located) -> Option<FileId> {
        match (located, scene.result) {
            (_, Outcome::None) | (Located::Nowhere, _) => None,
            (Located::Own(file), _) => Some(file),
            (Located::Object(class), _) => {
                self.unattributed.call(class, 0);
                None
            }
            (Located::Named, Outcome::Returned(_)) => Some(self.files.existing(&self.path)),
            (Located::Named, Outcome::Missing) => Some(self.files.absent(&self.path)),
            (Located::Named, Outcome::Failed) => Some(self.files.named(&self.path)),
        }
    }

    /// Applies a call to processes, descriptors and files, and appends its references.
    pub(crate) fn call(&mut self, call: &Call, batch: &mut Batch) -> Result<(), Malformed> {
        let pid = call.thread;
        let scene = &mut Scene { pid, time: call.time, result: call.result, batch };
        match &call.action {
            Action::Transfer(side) => self.transfer(scene, side, &call.facts[0]),
            Action::Copy(sides) => {
                sides.iter().zip(&call.facts).try_for_each(|(side, facts)| self.transfer(scene, side, facts))
            }
            Action::Map { file, offset, length, is_executable } => {
                self.map(scene, file, (*offset, *length, *is_executable), &call.facts[0])
            }
            Action::List(file) => self.list(scene, file),
            Action::Open { at, flags, shown } => self.open(scene, at, *flags, shown.as_ref()),
            Action::Truncate { at, size } => self.truncate(scene, at, *size),
            Action::Look { at, answer } => {
                let located = self.locate(pid, at);
                self.look(scene, located, *answer)
            }
            Action::LookAt { file, answer } => {
                let located = self.located(pid, file);
                self.look(scene, located, *answer)
            }
            Action::Unlink(at) => self.unlink(scene, at),
            Action::Rename { from, to, exchanges } => self.rename(scene, [from, to], *exchanges),
            Action::Link { from, to } => self.link(scene, from, to),
            Action::Sync { file, offset, length } => self.on_file(scene, Op::Sync, file, [*offset, *length]),
            Action::Resize { file, size } => self.cut(scene, file, *size),
            Action::Allocate { file, end, may_grow } => self.allocate(scene, file, *end, *may_grow),
            Action::Execute(at) => self.execute(scene, at),
            _ => {
                self.without_reference(call);
                Ok(())
            }
        }
    }

    /// Applies a call that makes no reference.
    fn without_reference(&mut self, call: &Call) {
        let (pid, returned) = (call.thread, call.returned());
        match &call.action {
            Action::Close(file) => self.close(pid, file),
            Action::CloseRange { first, last, unshares, only_marks } if returned.is_some() => {
                self.close_range(pid, [*first, *last], *unshares, *only_marks);
            }
            Action::Duplicate { file, close_on_exec } => self.duplicate(pid, file, returned, *close_on_exec),
            Action::CloseOnExec { file, on } if returned.is_some() => self.mark_close_on_exec(pid, file, *on),
            Action::Append { file, on } if returned.is_some() => {
                if let Some(description) = self.description(pid, file) {
                    self.processes.descriptors.description(description).append = *on;
                }
            }
            Action::Seek { file, position, to_end } => self.seek(pid, file, *position, *to_end),
            Action::Unshare { files, directory } if returned.is_some() => {
                self.processes.unshare(pid, *files, *directory);
            }
            Action::Fork(sharing) => {
                if let Some(child) = returned.and_then(|child| u32::try_from(child).ok()) {
                    self.fork(pid, child, *sharing);
                }
            }
            Action::CloseRange { .. } | Action::CloseOnExec { .. } | Action::Append { .. } | Action::Nothing => {}
            _ => self.without_counterpart(call),
        }
    }

    /// Counts a call that a trace does not contain, and follows what it means for names.
    fn without_counterpart(&mut self, call: &Call) {
        self.unattributed.other(call.name);
        if call.returned().is_none() {
            return;
        }
        match &call.action {
            Action::LinkSymbolically { target, at } => self.link_symbolically(call.thread, target, at),
            Action::MakeDirectory(at) => self.make_directory(call.thread, at),
            Action::ChangeDirectory(at) => self.change_directory(call.thread, at),
            Action::ChangeDirectoryTo(file) => self.change_directory_to(call.thread, file),
            Action::ReturnDirectory(Text::Whole(path)) => self.processes.set_directory(call.thread, path),
            _ => {}
        }
    }
}
