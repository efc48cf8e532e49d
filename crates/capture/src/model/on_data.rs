//! Calls that move file data.

use hotset_core::request::{FLAG_EXECUTABLE, Kind, Op};
use hotset_trace::runner::Malformed;

use crate::{
    call::{Facts, Handle, Outcome, Transfer},
    model::{
        Model, Scene,
        descriptors::Target,
        files::FileId,
        unattributed::{Class, Oddity},
    },
};

impl Model {
    /// One end of a transfer has moved.
    pub(super) fn transfer(&mut self, scene: &mut Scene, side: &Transfer, facts: &Facts) -> Result<(), Malformed> {
        let description = self.description(scene.pid, &side.file);
        let target = self.target_of(description);
        let count = match (target, scene.result) {
            (_, Outcome::None) => return Ok(()),
            (Target::Object(class), _) => {
                let Outcome::Returned(count) = scene.result else { return Ok(()) };
                self.unattributed.call(class, count);
                return Ok(());
            }
            (Target::File(_), Outcome::Missing | Outcome::Failed) => {
                self.unattributed.odd(Oddity::FailedTransfer);
                return Ok(());
            }
            (Target::File(_), Outcome::Returned(count)) => count,
        };
        match (description, target) {
            (Some(description), Target::File(file)) => self.move_bytes(scene, (side, facts), description, file, count),
            _ => Ok(()),
        }
    }

    fn move_bytes(
        &mut self,
        scene: &mut Scene,
        (side, facts): (&Transfer, &Facts),
        description: u32,
        file: FileId,
        count: u64,
    ) -> Result<(), Malformed> {
        if self.files.kind(file) == Kind::Other {
            // A FIFO under a name.
            self.unattributed.call(Class::Pipe, count);
            return Ok(());
        }
        let known = self.processes.descriptors.description(description);
        let appends = side.op == Op::Write && (known.append || side.append);
        let offset = match (facts.at, side.position) {
            (Some(at), _) => at,
            _ if appends => self.files.end(file),
            (None, Some(position)) => position,
            (None, None) => known.offset,
        };
        let Some(end) = offset.checked_add(count) else {
            return Err(format!("found {count} bytes from byte {offset} of a file; expected an end below 2^64").into());
        };
        if side.position.is_none() {
            known.offset = end;
        }
        if appends && facts.at.is_none() && self.files.size(file).is_none() {
            self.unattributed.odd(Oddity::UnknownEnd);
        }
        if count > 0 {
            self.files.set_kind(file, Kind::Datafile);
            self.files.reach(file, end);
        }
        if let Some(size) = facts.size {
            self.files.set_size(file, size);
        }
        if side.op == Op::Read && side.asked.map_or(count == 0, |asked| count < asked) {
            self.files.met_end(file, offset, count);
        }
        match &facts.lacked {
            Some(lacked) if count > 0 => self.refer_read(scene, file, offset..end, lacked),
            _ => self.refer_range(scene, side.op, file, offset, count, 0),
        }
    }

    /// A range of a file is mapped: its offset and its length.
    pub(super) fn map(
        &mut self,
        scene: &mut Scene,
        file: &Handle,
        (offset, length, executable): (u64, u64, bool),
        facts: &Facts,
    ) -> Result<(), Malformed> {
        match (self.target(scene.pid, file), scene.result) {
            (_, Outcome::None) => Ok(()),
            (Target::Object(class), _) => {
                self.unattributed.call(class, 0);
                Ok(())
            }
            (Target::File(_), Outcome::Missing | Outcome::Failed) => {
                self.unattributed.odd(Oddity::FailedTransfer);
                Ok(())
            }
            (Target::File(file), Outcome::Returned(_)) => {
                self.files.set_kind(file, if executable { Kind::Executable } else { Kind::Datafile });
                if let Some(size) = facts.size {
                    self.files.set_size(file, size);
                }
                let there = self.files.size(file).map_or(length, |size| size.saturating_sub(offset).min(length));
                if self.touches_told {
                    return Ok(());
                }
                let flags = if executable { FLAG_EXECUTABLE } else { 0 };
                self.refer_range(scene, Op::Map, file, offset, there, flags)
            }
        }
    }

    /// Entries of a directory are read.
    pub(super) fn list(&mut self, scene: &mut Scene, file: &Handle) -> Result<(), Malformed> {
        let description = self.description(scene.pid, file);
        match (self.target_of(description), scene.result) {
            (_, Outcome::None) => Ok(()),
            (Target::Object(class), _) => {
                self.unattributed.call(class, scene.result.returned().unwrap_or(0));
                Ok(())
            }
            (Target::File(file), Outcome::Returned(count)) => {
                self.files.set_kind(file, Kind::Directory);
                let offset = description.map_or(0, |description| {
                    let offset = &mut self.processes.descriptors.description(description).offset;
                    std::mem::replace(offset, offset.saturating_add(count))
                });
                self.refer_range(scene, Op::List, file, offset, count, 0)
            }
            (Target::File(file), _) => self.refer(scene, Op::List, file),
        }
    }
}
