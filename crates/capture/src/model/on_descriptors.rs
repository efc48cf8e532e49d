//! Calls on descriptors: duplicating, closing, positioning, flushing, cutting.

use hotset_core::request::Op;
use hotset_trace::runner::Malformed;

use crate::{
    call::{Handle, Outcome},
    model::{Model, Scene, descriptors::Target},
};

impl Model {
    /// Closes a descriptor; it is free as soon as the call begins, whatever the call returns.
    pub(crate) fn close(&mut self, pid: u32, handle: &Handle) {
        if let Some(number) = handle.number {
            let table = self.processes.get(pid).table;
            self.processes.descriptors.close(table, number);
        }
    }

    /// A descriptor's position changes.
    pub(super) fn seek(&mut self, pid: u32, file: &Handle, position: Option<u64>, to_end: bool) {
        let description = self.description(pid, file);
        let (Some(description), Some(position)) = (description, position) else { return };
        let known = self.processes.descriptors.description(description);
        known.offset = position;
        if let (Target::File(file), true) = (known.target, to_end) {
            self.files.set_size(file, position);
        }
    }

    /// A descriptor is copied onto the one that the call returns.
    pub(super) fn duplicate(&mut self, pid: u32, file: &Handle, returned: Option<u64>, close_on_exec: bool) {
        let from = self.description(pid, file);
        let Some(number) = returned.and_then(|number| i32::try_from(number).ok()) else { return };
        let table = self.processes.get(pid).table;
        match from {
            // `dup2` onto itself changes nothing.
            Some(_) if file.number == Some(number) => {}
            Some(description) => self.processes.descriptors.duplicate(table, number, description, close_on_exec),
            None => self.processes.descriptors.close(table, number),
        }
    }

    /// A descriptor is marked to be closed by `execve`, or unmarked.
    pub(super) fn mark_close_on_exec(&mut self, pid: u32, file: &Handle, on: bool) {
        // The descriptor has to be known to be marked.
        self.description(pid, file);
        let table = self.processes.get(pid).table;
        let number = file.number.unwrap_or(-1) as u64;
        self.processes.descriptors.mark_close_on_exec(table, number, number, on);
    }

    /// The descriptors of a range are closed, or only marked.
    pub(super) fn close_range(&mut self, pid: u32, [first, last]: [u64; 2], unshares: bool, only_marks: bool) {
        if unshares {
            self.processes.unshare(pid, true, false);
        }
        let table = self.processes.get(pid).table;
        match only_marks {
            true => self.processes.descriptors.mark_close_on_exec(table, first, last, true),
            false => self.processes.descriptors.close_range(table, first, last),
        }
    }

    /// A call that references the file behind a descriptor.
    pub(super) fn on_file(
        &mut self,
        scene: &mut Scene,
        op: Op,
        file: &Handle,
        [offset, length]: [u64; 2],
    ) -> Result<(), Malformed> {
        match (self.target(scene.pid, file), scene.result) {
            (_, Outcome::None) => Ok(()),
            (Target::Object(class), _) => {
                self.unattributed.call(class, 0);
                Ok(())
            }
            (Target::File(file), Outcome::Returned(_)) => self.refer_range(scene, op, file, offset, length, 0),
            (Target::File(file), _) => self.refer(scene, op, file),
        }
    }

    /// A file gets another size.
    pub(super) fn cut(&mut self, scene: &mut Scene, file: &Handle, size: u64) -> Result<(), Malformed> {
        if let (Target::File(file), Some(_)) = (self.target(scene.pid, file), scene.result.returned()) {
            self.files.set_size(file, size);
        }
        self.on_file(scene, Op::Truncate, file, [size, 0])
    }

    /// Space is allocated up to `end`: a file that may grow and is known to be shorter becomes longer.
    pub(super) fn allocate(
        &mut self,
        scene: &mut Scene,
        file: &Handle,
        end: u64,
        may_grow: bool,
    ) -> Result<(), Malformed> {
        let target = self.target(scene.pid, file);
        match (target, scene.result.returned()) {
            (Target::File(file), Some(_)) if may_grow && self.files.size(file).is_some_and(|size| size < end) => {
                self.files.set_size(file, end);
                self.refer_range(scene, Op::Truncate, file, end, 0, 0)
            }
            (Target::File(_), _) => {
                self.unattributed.other(b"fallocate");
                Ok(())
            }
            (Target::Object(class), _) => {
                self.unattributed.call(class, 0);
                Ok(())
            }
        }
    }
}
