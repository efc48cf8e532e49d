//! Calls on names: opening, looking at inodes, removing, renaming, linking, cutting, executing.

use hotset_core::request::{Kind, Op};
use hotset_trace::runner::Malformed;

use crate::{
    call::{FileKind, Handle, Location, OpenFlags, Shown, Text},
    model::{
        Located, Model, Scene,
        descriptors::{Description, Target},
        files::{FileId, Removed},
        paths::{class_of, join, last_name},
        unattributed::Class,
    },
};

impl Model {
    /// A name is opened.
    pub(super) fn open(
        &mut self,
        scene: &mut Scene,
        at: &Location,
        flags: OpenFlags,
        shown: Option<&Shown>,
    ) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, at);
        let Some(number) = scene.result.returned().and_then(|number| i32::try_from(number).ok()) else {
            return match self.file_at(scene, located) {
                Some(file) => self.refer(scene, Op::Open, file),
                None => Ok(()),
            };
        };
        let target = self.opened(located, shown, flags);
        let shown = shown.map_or_else(Vec::new, |shown| shown.path.to_vec());
        let description = Description { target, offset: 0, append: flags.append, shown };
        let table = self.processes.get(scene.pid).table;
        self.processes.descriptors.open(table, number, description, flags.close_on_exec);
        match target {
            Target::Object(class) => {
                self.unattributed.call(class, 0);
                Ok(())
            }
            Target::File(file) => {
                self.refer(scene, Op::Open, file)?;
                match flags.truncate {
                    true => self.resize(scene, file, 0),
                    false => Ok(()),
                }
            }
        }
    }

    /// The target of a successful open: by the log's annotation if it has one, otherwise by the path.
    fn opened(&mut self, located: Located, shown: Option<&Shown>, flags: OpenFlags) -> Target {
        let real = shown.map(|shown| &*shown.path);
        let path = real.unwrap_or(&self.path);
        let absolute = path.first() == Some(&b'/');
        if let Some(class) = class_of(path).filter(|_| real.is_some() || absolute) {
            return Target::Object(class);
        }
        if flags.unnamed || shown.is_some_and(|shown| shown.deleted) {
            let file = self.files.unnamed(path);
            if flags.unnamed {
                self.files.set_size(file, 0);
            }
            return Target::File(file);
        }
        match (located, real.is_some()) {
            (Located::Named, _) => {
                let created = flags.create && flags.exclusive;
                let file = self.files.opened(&self.path, path, created);
                if flags.directory {
                    self.files.set_kind(file, Kind::Directory);
                }
                Target::File(file)
            }
            // The path led nowhere or to a link in `/proc`, but the log shows a file.
            (_, true) => Target::File(self.files.existing(path)),
            (Located::Own(file), false) => Target::File(file),
            (Located::Object(class), false) => Target::Object(class),
            (Located::Nowhere, false) => Target::Object(Class::Unknown),
        }
    }

    /// The file gets a new size, and what is behind it is dead.
    fn resize(&mut self, scene: &mut Scene, file: FileId, size: u64) -> Result<(), Malformed> {
        self.files.set_size(file, size);
        self.refer_range(scene, Op::Truncate, file, size, 0, 0)
    }

    /// The file of a name gets another size.
    pub(super) fn truncate(&mut self, scene: &mut Scene, at: &Location, size: u64) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, at);
        match (self.file_at(scene, located), scene.result.returned()) {
            (None, _) => Ok(()),
            (Some(file), Some(_)) => self.resize(scene, file, size),
            (Some(file), None) => self.refer(scene, Op::Truncate, file),
        }
    }

    /// An inode is looked at.
    pub(super) fn look(
        &mut self,
        scene: &mut Scene,
        located: Located,
        answer: Option<FileKind>,
    ) -> Result<(), Malformed> {
        let Some(file) = self.file_at(scene, located) else { return Ok(()) };
        if let Some(kind) = answer {
            self.learn(file, kind);
        }
        self.refer(scene, Op::Stat, file)
    }

    /// Notes kind and size as `stat` and `statx` tell them.
    fn learn(&mut self, file: FileId, answer: FileKind) {
        let kind = match answer {
            FileKind::Regular { .. } | FileKind::BlockDevice => Kind::Datafile,
            FileKind::Directory => Kind::Directory,
            // A link that an open has seen through counts as what it leads to.
            FileKind::Link if self.files.kind(file) != Kind::Unknown => return,
            FileKind::Link | FileKind::Special => Kind::Other,
        };
        self.files.set_kind(file, kind);
        if let FileKind::Regular { size: Some(size) } = answer {
            self.files.set_size(file, size);
        }
    }

    /// A name is removed.
    pub(super) fn unlink(&mut self, scene: &mut Scene, at: &Location) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, at);
        if located == Located::Named && scene.result.returned().is_some() {
            let removed = self.files.remove(&self.path);
            return self.removed(scene, removed);
        }
        match self.file_at(scene, located) {
            Some(file) => self.refer(scene, Op::Unlink, file),
            None => Ok(()),
        }
    }

    /// A name is gone. A file with another name stays: for the cache that is no more than a change of name.
    fn removed(&mut self, scene: &mut Scene, removed: Removed) -> Result<(), Malformed> {
        let op = if removed.lives { Op::Rename } else { Op::Unlink };
        self.refer(scene, op, removed.file)
    }

    /// A name changes, or two names are exchanged.
    pub(super) fn rename(
        &mut self,
        scene: &mut Scene,
        [from, to]: [&Location; 2],
        exchanges: bool,
    ) -> Result<(), Malformed> {
        let from = self.locate(scene.pid, from);
        let old = std::mem::take(&mut self.path);
        let to = self.locate(scene.pid, to);
        let new = std::mem::replace(&mut self.path, old);
        if from != Located::Named || to != Located::Named || scene.result.returned().is_none() {
            return match self.file_at(scene, from) {
                Some(file) => self.refer(scene, Op::Rename, file),
                None => Ok(()),
            };
        }
        if exchanges {
            let [one, other] = self.files.exchange(&self.path, &new);
            self.refer(scene, Op::Rename, one)?;
            return self.refer(scene, Op::Rename, other);
        }
        let (file, replaced) = self.files.rename(&self.path, &new);
        if let Some(replaced) = replaced {
            self.removed(scene, replaced)?;
        }
        self.refer(scene, Op::Rename, file)
    }

    /// A file gets another name.
    pub(super) fn link(&mut self, scene: &mut Scene, from: &Location, to: &Location) -> Result<(), Malformed> {
        let located = self.locate_link_source(scene.pid, from);
        let Some(file) = self.file_at(scene, located) else {
            return Ok(());
        };
        if scene.result.returned().is_some() && self.locate(scene.pid, to) == Located::Named {
            self.files.link(file, &self.path);
        }
        self.refer(scene, Op::Rename, file)
    }

    /// A nameless file gets its name through `/proc/self/fd/N`.
    fn locate_link_source(&mut self, pid: u32, from: &Location) -> Located {
        if let Text::Whole(path) = &from.path
            && let Some(number) = path.strip_prefix(b"/proc/self/fd/")
            && let Some(number) = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok())
            && let Target::File(file) = self.target(pid, &Handle { number: Some(number), shown: None })
        {
            return Located::Own(file);
        }
        self.locate(pid, from)
    }

    /// A symbolic link was made.
    pub(super) fn link_symbolically(&mut self, pid: u32, target: &Text, at: &Location) {
        if let (Located::Named, Text::Whole(target)) = (self.locate(pid, at), target) {
            let mut full = Vec::new();
            let directory = self.path.strip_suffix(last_name(&self.path)).filter(|directory| !directory.is_empty());
            join(directory, target, &mut full);
            self.files.link_symbolically(&self.path, &full);
        }
    }

    /// A directory was made.
    pub(super) fn make_directory(&mut self, pid: u32, at: &Location) {
        if self.locate(pid, at) == Located::Named {
            let directory = self.files.made(&self.path);
            self.files.set_kind(directory, Kind::Directory);
        }
    }

    /// The working directory is another one, by its name.
    pub(super) fn change_directory(&mut self, pid: u32, at: &Location) {
        if self.locate(pid, at) != Located::Nowhere {
            self.processes.set_directory(pid, &self.path);
        }
    }

    /// The working directory is another one, by a descriptor.
    pub(super) fn change_directory_to(&mut self, pid: u32, directory: &Handle) {
        match (&directory.shown, self.target(pid, directory)) {
            (Some(shown), _) => self.processes.set_directory(pid, &shown.path),
            (None, Target::File(file)) => self.processes.set_directory(pid, self.files.path(file)),
            (None, Target::Object(_)) => {}
        }
    }

    /// A program begins.
    pub(super) fn execute(&mut self, scene: &mut Scene, at: &Location) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, at);
        let file = self.file_at(scene, located);
        if scene.result.returned().is_none() {
            return file.map_or(Ok(()), |file| self.refer(scene, Op::Exec, file));
        }
        let program: Box<[u8]> = match (located, file) {
            (Located::Own(_), Some(file)) => last_name(self.files.path(file)).into(),
            _ => last_name(&self.path).into(),
        };
        self.start_program(scene.pid, program);
        let Some(file) = file else {
            return Ok(());
        };
        self.files.set_kind(file, Kind::Executable);
        self.ask_size(file);
        let length = self.files.size(file).unwrap_or(0);
        self.refer_range(scene, Op::Exec, file, 0, length, 0)
    }

    /// The process runs another program from now on: its shared state becomes private, and marked descriptors are
    /// closed.
    fn start_program(&mut self, pid: u32, program: Box<[u8]>) {
        self.processes.unshare(pid, true, true);
        let process = self.processes.get(pid);
        (process.app, process.leader, process.program) = (None, pid, program);
        let table = process.table;
        self.processes.descriptors.close_on_exec(table);
    }
}
