//! Calls on names: opening, looking at inodes, removing, renaming, linking, cutting.

use hotset_core::request::{Kind, Op};
use hotset_trace::runner::Malformed;

use crate::strace::{
    call::{Call, Handle, Outcome, field, has_flag, number, string},
    descriptors::{Description, Target},
    files::{FileId, Removed},
    model::{Located, Model, Scene},
    paths::{class_of, join, last_name},
    unattributed::Class,
};

/// Where a call has what it looks at.
struct Look {
    /// The place of the directory descriptor, or the descriptor itself without a path.
    base: Option<usize>,
    path: Option<usize>,
    /// The structure that comes back, if any.
    answer: Option<usize>,
}

impl Look {
    const fn new(base: Option<usize>, path: Option<usize>, answer: Option<usize>) -> Look {
        Look { base, path, answer }
    }
}

impl Model {
    /// Handles the call if it works on a name; false if it is another.
    pub(in crate::strace) fn name_call(
        &mut self,
        scene: &mut Scene,
        name: &[u8],
        call: &Call,
    ) -> Result<bool, Malformed> {
        match name {
            b"open" => self.open(scene, call, None, call.arg(0), call.arg(1))?,
            b"creat" => self.open(scene, call, None, call.arg(0), b"O_WRONLY|O_CREAT|O_TRUNC")?,
            b"openat" => self.open(scene, call, Some(call.handle(0)?), call.arg(1), call.arg(2))?,
            b"openat2" => {
                let flags = field(call.arg(2), "flags").unwrap_or_default();
                self.open(scene, call, Some(call.handle(0)?), call.arg(1), flags)?;
            }
            b"unlink" | b"rmdir" => self.unlink(scene, call, None, call.arg(0))?,
            b"unlinkat" => self.unlink(scene, call, Some(call.handle(0)?), call.arg(1))?,
            b"rename" => self.rename(scene, call, [None; 2], [call.arg(0), call.arg(1)])?,
            b"renameat" | b"renameat2" => {
                let bases = [Some(call.handle(0)?), Some(call.handle(2)?)];
                self.rename(scene, call, bases, [call.arg(1), call.arg(3)])?;
            }
            b"link" => self.link(scene, call, [None; 2], [call.arg(0), call.arg(1)])?,
            b"linkat" => {
                let bases = [Some(call.handle(0)?), Some(call.handle(2)?)];
                self.link(scene, call, bases, [call.arg(1), call.arg(3)])?;
            }
            b"symlink" => self.link_symbolically(scene.pid, call, name, call.arg(0), None, call.arg(1)),
            b"symlinkat" => {
                self.link_symbolically(scene.pid, call, name, call.arg(0), Some(call.handle(1)?), call.arg(2));
            }
            b"truncate" | b"truncate64" => self.truncate(scene, call)?,
            b"mkdir" => self.make_directory(scene.pid, call, name, None, call.arg(0)),
            b"mkdirat" => self.make_directory(scene.pid, call, name, Some(call.handle(0)?), call.arg(1)),
            b"chdir" => self.change_directory(scene.pid, call, name),
            b"fchdir" => self.change_directory_to(scene.pid, call, name)?,
            b"getcwd" => self.tell_directory(scene.pid, call, name),
            _ => match look_of(name) {
                Some(look) => self.look(scene, call, &look)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    fn open(
        &mut self,
        scene: &mut Scene,
        call: &Call,
        base: Option<Handle>,
        path: &[u8],
        flags: &[u8],
    ) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, base, path);
        let Some(number) = call.returned().and_then(|number| i32::try_from(number).ok()) else {
            return match self.file_at(located, call.result) {
                Some(file) => self.refer(scene, Op::Open, file, call.result),
                None => Ok(()),
            };
        };
        let target = self.opened(located, call, flags);
        let shown = call.shown.map_or_else(Vec::new, |shown| shown.text.to_vec());
        let description = Description { target, offset: 0, append: has_flag(flags, "O_APPEND"), shown };
        let table = self.processes.get(scene.pid).table;
        self.processes.descriptors.open(table, number, description, has_flag(flags, "O_CLOEXEC"));
        match target {
            Target::Object(class) => {
                self.unattributed.call(class, 0);
                Ok(())
            }
            Target::File(file) => {
                self.refer(scene, Op::Open, file, call.result)?;
                match has_flag(flags, "O_TRUNC") {
                    true => self.resize(scene, file, 0),
                    false => Ok(()),
                }
            }
        }
    }

    /// The target of a successful open: by the log's annotation if it has one, otherwise by the path.
    fn opened(&mut self, located: Located, call: &Call, flags: &[u8]) -> Target {
        let real = call.shown.map(|shown| shown.path());
        let path: &[u8] = real.as_deref().unwrap_or(&self.path);
        let absolute = path.first() == Some(&b'/');
        if let Some(class) = class_of(path).filter(|_| real.is_some() || absolute) {
            return Target::Object(class);
        }
        if has_flag(flags, "O_TMPFILE") || call.shown.is_some_and(|shown| shown.deleted) {
            let file = self.files.unnamed(path);
            if has_flag(flags, "O_TMPFILE") {
                self.files.set_size(file, 0);
            }
            return Target::File(file);
        }
        match (located, real.is_some()) {
            (Located::Named, _) => {
                let created = has_flag(flags, "O_CREAT") && has_flag(flags, "O_EXCL");
                let file = self.files.opened(&self.path, path, created);
                if has_flag(flags, "O_DIRECTORY") {
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

    fn truncate(&mut self, scene: &mut Scene, call: &Call) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, None, call.arg(0));
        let size = call.number(1)?;
        match (self.file_at(located, call.result), call.returned()) {
            (None, _) => Ok(()),
            (Some(file), Some(_)) => self.resize(scene, file, size),
            (Some(file), None) => self.refer(scene, Op::Truncate, file, call.result),
        }
    }

    fn look(&mut self, scene: &mut Scene, call: &Call, look: &Look) -> Result<(), Malformed> {
        let base = look.base.map(|place| call.handle(place)).transpose()?;
        let located = match (look.path, base) {
            (Some(path), base) => self.locate(scene.pid, base, call.arg(path)),
            (None, Some(own)) => match self.target(scene.pid, own) {
                Target::File(file) => Located::Own(file),
                Target::Object(class) => Located::Object(class),
            },
            (None, None) => Located::Nowhere,
        };
        let Some(file) = self.file_at(located, call.result) else {
            return Ok(());
        };
        if let (Some(answer), Some(_)) = (look.answer, call.returned()) {
            self.learn(file, call.arg(answer));
        }
        self.refer(scene, Op::Stat, file, call.result)
    }

    /// Notes kind and size as `stat` and `statx` tell them.
    fn learn(&mut self, file: FileId, answer: &[u8]) {
        let either = |stat, statx| field(answer, stat).or_else(|| field(answer, statx));
        let mode = either("st_mode", "stx_mode").unwrap_or_default();
        let kind = match mode.split(|&byte| byte == b'|').next() {
            Some(b"S_IFREG") => Kind::Datafile,
            Some(b"S_IFDIR") => Kind::Directory,
            Some(b"S_IFBLK") => Kind::Datafile,
            // A link that an open has seen through counts as what it leads to.
            Some(b"S_IFLNK") if self.files.kind(file) != Kind::Unknown => return,
            Some(b"S_IFLNK" | b"S_IFCHR" | b"S_IFIFO" | b"S_IFSOCK") => Kind::Other,
            _ => return,
        };
        self.files.set_kind(file, kind);
        let size = either("st_size", "stx_size").and_then(number);
        if let (true, Some(size)) = (mode.starts_with(b"S_IFREG"), size) {
            self.files.set_size(file, size);
        }
    }

    fn unlink(&mut self, scene: &mut Scene, call: &Call, base: Option<Handle>, path: &[u8]) -> Result<(), Malformed> {
        let located = self.locate(scene.pid, base, path);
        if located == Located::Named && call.returned().is_some() {
            let removed = self.files.remove(&self.path);
            return self.removed(scene, removed, call.result);
        }
        match self.file_at(located, call.result) {
            Some(file) => self.refer(scene, Op::Unlink, file, call.result),
            None => Ok(()),
        }
    }

    /// A name is gone. A file with another name stays: for the cache that is no more than a change of name.
    fn removed(&mut self, scene: &mut Scene, removed: Removed, result: Outcome) -> Result<(), Malformed> {
        let op = if removed.lives { Op::Rename } else { Op::Unlink };
        self.refer(scene, op, removed.file, result)
    }

    fn rename(
        &mut self,
        scene: &mut Scene,
        call: &Call,
        bases: [Option<Handle>; 2],
        paths: [&[u8]; 2],
    ) -> Result<(), Malformed> {
        let from = self.locate(scene.pid, bases[0], paths[0]);
        let old = std::mem::take(&mut self.path);
        let to = self.locate(scene.pid, bases[1], paths[1]);
        let new = std::mem::replace(&mut self.path, old);
        if from != Located::Named || to != Located::Named || call.returned().is_none() {
            return match self.file_at(from, call.result) {
                Some(file) => self.refer(scene, Op::Rename, file, call.result),
                None => Ok(()),
            };
        }
        if call.has(4, "RENAME_EXCHANGE") {
            let [one, other] = self.files.exchange(&self.path, &new);
            self.refer(scene, Op::Rename, one, call.result)?;
            return self.refer(scene, Op::Rename, other, call.result);
        }
        let (file, replaced) = self.files.rename(&self.path, &new);
        if let Some(replaced) = replaced {
            self.removed(scene, replaced, call.result)?;
        }
        self.refer(scene, Op::Rename, file, call.result)
    }

    fn link(
        &mut self,
        scene: &mut Scene,
        call: &Call,
        bases: [Option<Handle>; 2],
        paths: [&[u8]; 2],
    ) -> Result<(), Malformed> {
        let located = self.locate_link_source(scene.pid, bases[0], paths[0]);
        let Some(file) = self.file_at(located, call.result) else {
            return Ok(());
        };
        if call.returned().is_some() && self.locate(scene.pid, bases[1], paths[1]) == Located::Named {
            self.files.link(file, &self.path);
        }
        self.refer(scene, Op::Rename, file, call.result)
    }

    /// A nameless file gets its name through `/proc/self/fd/N`.
    fn locate_link_source(&mut self, pid: u32, base: Option<Handle>, path: &[u8]) -> Located {
        let through = path.strip_prefix(b"\"/proc/self/fd/").and_then(|rest| rest.strip_suffix(b"\""));
        if let Some(Ok(handle)) = through.map(Handle::parse)
            && let Target::File(file) = self.target(pid, handle)
        {
            return Located::Own(file);
        }
        self.locate(pid, base, path)
    }

    fn link_symbolically(
        &mut self,
        pid: u32,
        call: &Call,
        name: &[u8],
        target: &[u8],
        base: Option<Handle>,
        path: &[u8],
    ) {
        self.unattributed.other(name);
        let made = call.returned().is_some() && self.locate(pid, base, path) == Located::Named;
        if let (true, Some((target, false))) = (made, string(target)) {
            let mut full = Vec::new();
            let directory = self.path.strip_suffix(last_name(&self.path)).filter(|directory| !directory.is_empty());
            join(directory, &target, &mut full);
            self.files.link_symbolically(&self.path, &full);
        }
    }

    fn make_directory(&mut self, pid: u32, call: &Call, name: &[u8], base: Option<Handle>, path: &[u8]) {
        self.unattributed.other(name);
        if call.returned().is_some() && self.locate(pid, base, path) == Located::Named {
            let directory = self.files.made(&self.path);
            self.files.set_kind(directory, Kind::Directory);
        }
    }

    fn change_directory(&mut self, pid: u32, call: &Call, name: &[u8]) {
        self.unattributed.other(name);
        if call.returned().is_some() && self.locate(pid, None, call.arg(0)) != Located::Nowhere {
            self.processes.set_directory(pid, &self.path);
        }
    }

    fn change_directory_to(&mut self, pid: u32, call: &Call, name: &[u8]) -> Result<(), Malformed> {
        self.unattributed.other(name);
        let handle = call.handle(0)?;
        if call.returned().is_none() {
            return Ok(());
        }
        match (handle.shown, self.target(pid, handle)) {
            (Some(shown), _) => self.processes.set_directory(pid, &shown.path()),
            (None, Target::File(file)) => self.processes.set_directory(pid, self.files.path(file)),
            (None, Target::Object(_)) => {}
        }
        Ok(())
    }

    fn tell_directory(&mut self, pid: u32, call: &Call, name: &[u8]) {
        self.unattributed.other(name);
        if let (Some(_), Some((path, false))) = (call.returned(), string(call.arg(0))) {
            self.processes.set_directory(pid, &path);
        }
    }
}

/// Calls that look at an inode.
fn look_of(name: &[u8]) -> Option<Look> {
    Some(match name {
        b"stat" | b"lstat" | b"stat64" | b"lstat64" => Look::new(None, Some(0), Some(1)),
        b"fstat" | b"fstat64" => Look::new(Some(0), None, Some(1)),
        b"newfstatat" | b"fstatat64" => Look::new(Some(0), Some(1), Some(2)),
        b"statx" => Look::new(Some(0), Some(1), Some(4)),
        b"access" | b"readlink" | b"getxattr" | b"lgetxattr" | b"listxattr" | b"llistxattr" => {
            Look::new(None, Some(0), None)
        }
        b"faccessat" | b"faccessat2" | b"readlinkat" => Look::new(Some(0), Some(1), None),
        b"fgetxattr" | b"flistxattr" => Look::new(Some(0), None, None),
        _ => return None,
    })
}
