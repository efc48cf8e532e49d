//! Processes: the descriptors and directories that they share, and the program that each runs.

use rustc_hash::FxHashMap;

use super::{descriptors::Descriptors, shared::Shared};
use crate::call::Sharing;

/// A call that has not returned yet.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The call.
    pub name: Vec<u8>,
    /// Its arguments as far as they are known.
    pub text: Vec<u8>,
    /// The descriptor that it works on and what that led to when it began, whatever another thread puts there
    /// meanwhile.
    pub begun_on: Option<(i32, u32)>,
}

/// A process or thread.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its descriptor table.
    pub table: u32,
    /// Its working directory; a number of [`Processes::directories`].
    directory: u32,
    /// Its application, a number of the table of applications; `None` before its first reference.
    pub app: Option<u32>,
    /// The process that a thread belongs to.
    pub leader: u32,
    /// The name of its program.
    pub program: Box<[u8]>,
    /// Its control group when it was last asked for, or its parent's.
    pub group: Option<Box<[u8]>>,
    /// The call it is in, if another process has been heard since.
    pending: Option<Pending>,
}

/// All processes of a log.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    by_pid: FxHashMap<u32, Process>,
    /// Working directories; `None` where not known.
    directories: Shared<Option<Box<[u8]>>>,
    /// Descriptor tables.
    pub(super) descriptors: Descriptors,
    /// Processes in a call that creates a process, whose child has not appeared yet.
    expecting: Vec<u32>,
}

impl Processes {
    /// True if the process is known.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.by_pid.contains_key(&pid)
    }

    /// The process with this id.
    pub(crate) fn get(&mut self, pid: u32) -> &mut Process {
        self.by_pid.get_mut(&pid).expect("the caller has made sure that the process is known")
    }

    /// The process with this id, if known.
    pub(crate) fn find(&mut self, pid: u32) -> Option<&mut Process> {
        self.by_pid.get_mut(&pid)
    }

    /// A process without a known parent.
    pub(crate) fn add_stray(&mut self, pid: u32, directory: Option<Box<[u8]>>, program: &[u8]) {
        let table = self.descriptors.new_table();
        let directory = self.directories.add(directory);
        self.by_pid.insert(
            pid,
            Process { table, directory, app: None, leader: pid, program: program.into(), group: None, pending: None },
        );
    }

    /// Process `parent` makes process `child`.
    pub(crate) fn fork(&mut self, parent: u32, child: u32, sharing: Sharing) {
        let Some(from) = self.by_pid.get(&parent) else {
            return;
        };
        let (table, directory, app, leader) = (from.table, from.directory, from.app, from.leader);
        let (program, group) = (from.program.clone(), from.group.clone());
        let table = match sharing.files {
            true => self.descriptors.share_table(table),
            false => self.descriptors.copy_table(table),
        };
        let directory = match sharing.directory {
            true => self.directories.hold(directory),
            false => self.directories.add(self.directories.get(directory).clone()),
        };
        let leader = if sharing.process { leader } else { child };
        self.remove(child);
        self.by_pid.insert(child, Process { table, directory, app, leader, program, group, pending: None });
    }

    /// The process is gone.
    pub(crate) fn remove(&mut self, pid: u32) {
        self.expecting.retain(|parent| *parent != pid);
        if let Some(process) = self.by_pid.remove(&pid) {
            self.forget_call(process.pending);
            self.descriptors.drop_table(process.table);
            self.directories.release(process.directory);
        }
    }

    /// The process has begun a call that has not returned yet; `begun_on` as in [`Pending`].
    pub(crate) fn begin_call(&mut self, pid: u32, name: &[u8], text: &[u8], begun_on: Option<(i32, u32)>) {
        if let Some((_, description)) = begun_on {
            self.descriptors.hold(description);
        }
        let call = Pending { name: name.into(), text: text.into(), begun_on };
        let before = self.get(pid).pending.replace(call);
        self.forget_call(before);
    }

    /// The call that the process has begun, if it has not returned yet. Give it to [`Processes::forget_call`]
    /// afterwards.
    pub(crate) fn end_call(&mut self, pid: u32) -> Option<Pending> {
        self.by_pid.get_mut(&pid)?.pending.take()
    }

    /// The known facts of the call that the process is in.
    pub(crate) fn text_of_call(&self, pid: u32) -> &[u8] {
        self.by_pid.get(&pid).and_then(|process| process.pending.as_ref()).map_or(b"", |call| &call.text)
    }

    /// Drops the state at the beginning of a call.
    pub(crate) fn forget_call(&mut self, call: Option<Pending>) {
        if let Some((_, description)) = call.and_then(|call| call.begun_on) {
            self.descriptors.release(description);
        }
    }

    /// Thread `by` takes over the id `pid` of its process, which executes a program.
    pub(crate) fn supersede(&mut self, pid: u32, by: u32) {
        if pid == by {
            return;
        }
        if let Some(process) = self.by_pid.remove(&by) {
            self.remove(pid);
            self.expecting.retain(|parent| *parent != by);
            self.by_pid.insert(pid, process);
        }
    }

    /// Gives the process a separate descriptor table and working directory, as far as requested.
    pub(crate) fn unshare(&mut self, pid: u32, files: bool, directory: bool) {
        let process = self.by_pid.get_mut(&pid).expect("the caller has made sure that the process is known");
        if files {
            process.table = self.descriptors.unshare_table(process.table);
        }
        if directory && self.directories.holders(process.directory) > 1 {
            self.directories.release(process.directory);
            process.directory = self.directories.add(self.directories.get(process.directory).clone());
        }
    }

    /// Its working directory, if known.
    pub(crate) fn directory(&self, pid: u32) -> Option<&[u8]> {
        let process = self.by_pid.get(&pid)?;
        self.directories.get(process.directory).as_deref()
    }

    /// Notes its working directory.
    pub(crate) fn set_directory(&mut self, pid: u32, path: &[u8]) {
        if let Some(process) = self.by_pid.get(&pid) {
            *self.directories.get_mut(process.directory) = Some(path.into());
        }
    }

    /// The process has begun a call that makes another one.
    pub(crate) fn expect_child(&mut self, pid: u32) {
        self.met_child(pid);
        self.expecting.push(pid);
    }

    /// The child of a process that created one has appeared. False if it had appeared before.
    pub(crate) fn met_child(&mut self, pid: u32) -> bool {
        let before = self.expecting.len();
        self.expecting.retain(|parent| *parent != pid);
        self.expecting.len() < before
    }

    /// Processes whose child has not appeared yet, the latest last.
    pub(crate) fn expecting(&self) -> &[u32] {
        &self.expecting
    }
}
