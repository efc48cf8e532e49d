//! Calls on descriptors: duplicating, closing, positioning, flushing, cutting.

use hotset_core::request::Op;
use hotset_trace::runner::Malformed;

use crate::strace::{
    call::{Call, Handle, Outcome},
    descriptors::Target,
    model::{Model, Scene},
};

impl Model {
    /// Handles the call if it works on a descriptor; false if it is another.
    pub(in crate::strace) fn descriptor_call(
        &mut self,
        scene: &mut Scene,
        name: &[u8],
        call: &Call,
    ) -> Result<bool, Malformed> {
        match name {
            b"close" => self.close(scene.pid, call.handle(0)?),
            b"lseek" => self.seek(scene, call, call.returned(), call.arg(2) == b"SEEK_END" && call.arg(1) == b"0")?,
            b"_llseek" => {
                let position = call.returned().map_or(Ok(None), |_| call.position(2))?;
                self.seek(scene, call, position, call.arg(3) == b"SEEK_END" && call.arg(1) == b"0")?;
            }
            b"dup" => self.duplicate(scene.pid, call, false)?,
            b"dup2" => self.duplicate(scene.pid, call, false)?,
            b"dup3" => self.duplicate(scene.pid, call, call.has(2, "O_CLOEXEC"))?,
            b"fcntl" | b"fcntl64" => self.control(scene.pid, call)?,
            b"close_range" => self.close_range(scene.pid, call)?,
            b"fsync" | b"fdatasync" => self.on_file(scene, call, Op::Sync, 0, 0)?,
            b"sync_file_range" => {
                let (offset, length) = (call.number(1)?, call.number(2)?);
                self.on_file(scene, call, Op::Sync, offset, length)?;
            }
            b"ftruncate" | b"ftruncate64" => self.cut(scene, call)?,
            b"fallocate" => self.allocate(scene, call)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Closes a descriptor; it is free as soon as the call begins, whatever the call returns.
    pub(in crate::strace) fn close(&mut self, pid: u32, handle: Handle) {
        if let Some(number) = handle.number {
            let table = self.processes.get(pid).table;
            self.processes.descriptors.close(table, number);
        }
    }

    fn seek(&mut self, scene: &mut Scene, call: &Call, position: Option<u64>, to_end: bool) -> Result<(), Malformed> {
        let description = self.description(scene.pid, call.handle(0)?);
        let (Some(description), Some(position)) = (description, position) else {
            return Ok(());
        };
        let known = self.processes.descriptors.description(description);
        known.offset = position;
        if let (Target::File(file), true) = (known.target, to_end) {
            self.files.set_size(file, position);
        }
        Ok(())
    }

    /// A descriptor is copied onto the one that the call returns.
    fn duplicate(&mut self, pid: u32, call: &Call, close_on_exec: bool) -> Result<(), Malformed> {
        let handle = call.handle(0)?;
        let from = self.description(pid, handle);
        let Some(number) = call.returned().and_then(|number| i32::try_from(number).ok()) else {
            return Ok(());
        };
        let table = self.processes.get(pid).table;
        match from {
            // `dup2` onto itself changes nothing.
            Some(_) if handle.number == Some(number) => {}
            Some(description) => self.processes.descriptors.duplicate(table, number, description, close_on_exec),
            None => self.processes.descriptors.close(table, number),
        }
        Ok(())
    }

    fn control(&mut self, pid: u32, call: &Call) -> Result<(), Malformed> {
        let table = self.processes.get(pid).table;
        let handle = call.handle(0)?;
        match call.arg(1) {
            b"F_DUPFD" => self.duplicate(pid, call, false)?,
            b"F_DUPFD_CLOEXEC" => self.duplicate(pid, call, true)?,
            b"F_SETFD" if call.returned().is_some() => {
                // The descriptor has to be known to be marked.
                self.description(pid, handle);
                let number = handle.number.unwrap_or(-1) as u64;
                self.processes.descriptors.mark_close_on_exec(table, number, number, call.has(2, "FD_CLOEXEC"));
            }
            b"F_SETFL" if call.returned().is_some() => {
                if let Some(description) = self.description(pid, handle) {
                    self.processes.descriptors.description(description).append = call.has(2, "O_APPEND");
                }
            }
            b"F_GETFL" if call.returned().is_some() => {
                // Only this reveals descriptors from before the log.
                let flags = call.returned().unwrap_or(0);
                const O_APPEND: u64 = 0o2000;
                if let Some(description) = self.description(pid, handle) {
                    self.processes.descriptors.description(description).append = flags & O_APPEND != 0;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn close_range(&mut self, pid: u32, call: &Call) -> Result<(), Malformed> {
        let (first, last) = (call.number(0)?, call.number(1)?);
        if call.returned().is_none() {
            return Ok(());
        }
        if call.has(2, "CLOSE_RANGE_UNSHARE") {
            self.processes.unshare(pid, true, false);
        }
        let table = self.processes.get(pid).table;
        match call.has(2, "CLOSE_RANGE_CLOEXEC") {
            true => self.processes.descriptors.mark_close_on_exec(table, first, last, true),
            false => self.processes.descriptors.close_range(table, first, last),
        }
        Ok(())
    }

    /// A call that references the file behind a descriptor.
    fn on_file(&mut self, scene: &mut Scene, call: &Call, op: Op, offset: u64, length: u64) -> Result<(), Malformed> {
        match (self.target(scene.pid, call.handle(0)?), call.result) {
            (_, Outcome::None) => Ok(()),
            (Target::Object(class), _) => {
                self.unattributed.call(class, 0);
                Ok(())
            }
            (Target::File(file), Outcome::Returned(_)) => self.refer_range(scene, op, file, offset, length, 0),
            (Target::File(file), failed) => self.refer(scene, op, file, failed),
        }
    }

    fn cut(&mut self, scene: &mut Scene, call: &Call) -> Result<(), Malformed> {
        let size = call.number(1)?;
        if let (Target::File(file), Some(_)) = (self.target(scene.pid, call.handle(0)?), call.returned()) {
            self.files.set_size(file, size);
        }
        self.on_file(scene, call, Op::Truncate, size, 0)
    }

    /// `fallocate` without a mode makes a file longer; other modes leave its size, or are too rare to follow.
    fn allocate(&mut self, scene: &mut Scene, call: &Call) -> Result<(), Malformed> {
        let end = call.number(2)?.saturating_add(call.number(3)?);
        let target = self.target(scene.pid, call.handle(0)?);
        match (target, call.returned()) {
            (Target::File(file), Some(_))
                if call.arg(1) == b"0" && self.files.size(file).is_some_and(|size| size < end) =>
            {
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
