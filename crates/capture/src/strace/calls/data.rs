//! Calls that move file data.

use hotset_core::request::{FLAG_EXECUTABLE, Kind, Op};
use hotset_trace::runner::Malformed;

use crate::strace::{
    call::{Call, Handle, Outcome},
    descriptors::Target,
    files::FileId,
    model::{Model, Scene, Told},
    unattributed::{Class, Oddity},
};

/// One end of a transfer.
struct Side<'a> {
    op: Op,
    handle: Handle<'a>,
    /// Where in the file; `None` for the descriptor's own position, which then moves on.
    position: Option<u64>,
    /// Bytes asked for, if known: fewer of a file mean its end.
    asked: Option<u64>,
    /// This write goes to the file's end (`RWF_APPEND`).
    append: bool,
    /// Facts known from other sources than the log.
    told: Told,
}

impl<'a> Side<'a> {
    fn new(op: Op, handle: Handle<'a>, position: Option<u64>, asked: Option<u64>) -> Side<'a> {
        Side { op, handle, position, asked, append: false, told: Told::default() }
    }
}

impl Model {
    /// Handles the call if it moves file data; false if it is another.
    pub(in crate::strace) fn data_call(
        &mut self,
        scene: &mut Scene,
        name: &[u8],
        call: &Call,
    ) -> Result<bool, Malformed> {
        match name {
            b"read" => self.plain(scene, call, Op::Read)?,
            b"write" => self.plain(scene, call, Op::Write)?,
            b"pread64" | b"pread" => self.positioned(scene, call, Op::Read)?,
            b"pwrite64" | b"pwrite" => self.positioned(scene, call, Op::Write)?,
            b"readv" => self.vector(scene, call, Op::Read, None)?,
            b"writev" => self.vector(scene, call, Op::Write, None)?,
            b"preadv" | b"preadv2" => self.vector(scene, call, Op::Read, vector_position(call)?)?,
            b"pwritev" | b"pwritev2" => self.vector(scene, call, Op::Write, vector_position(call)?)?,
            b"sendfile" | b"sendfile64" => {
                let from = Side::new(Op::Read, call.handle(1)?, call.position(2)?, None);
                self.pass_on(scene, call, from, Side::new(Op::Write, call.handle(0)?, None, None))?;
            }
            b"copy_file_range" | b"splice" => {
                let from = Side::new(Op::Read, call.handle(0)?, call.position(1)?, None);
                self.pass_on(scene, call, from, Side::new(Op::Write, call.handle(2)?, call.position(3)?, None))?;
            }
            b"mmap" | b"mmap2" => self.map(scene, call)?,
            b"getdents64" | b"getdents" => self.list(scene, call)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn plain(&mut self, scene: &mut Scene, call: &Call, op: Op) -> Result<(), Malformed> {
        let mut side = Side::new(op, call.handle(0)?, None, Some(call.number(2)?));
        side.told = scene.told[0].clone();
        self.transfer(scene, side, call.result)
    }

    fn positioned(&mut self, scene: &mut Scene, call: &Call, op: Op) -> Result<(), Malformed> {
        let mut side = Side::new(op, call.handle(0)?, Some(call.number(3)?), Some(call.number(2)?));
        side.told = scene.told[0].clone();
        self.transfer(scene, side, call.result)
    }

    fn vector(&mut self, scene: &mut Scene, call: &Call, op: Op, position: Option<u64>) -> Result<(), Malformed> {
        let mut side = Side::new(op, call.handle(0)?, position, None);
        side.append = call.has(4, "RWF_APPEND");
        side.told = scene.told[0].clone();
        self.transfer(scene, side, call.result)
    }

    /// Data goes from one descriptor to another inside the kernel.
    fn pass_on(&mut self, scene: &mut Scene, call: &Call, mut from: Side, mut to: Side) -> Result<(), Malformed> {
        [from.told, to.told] = scene.told.clone();
        self.transfer(scene, from, call.result)?;
        self.transfer(scene, to, call.result)
    }

    fn transfer(&mut self, scene: &mut Scene, side: Side, result: Outcome) -> Result<(), Malformed> {
        let description = self.description(scene.pid, side.handle);
        let target = self.target_of(description);
        let count = match (target, result) {
            (_, Outcome::None) => return Ok(()),
            (Target::Object(class), _) => {
                let Outcome::Returned(count) = result else { return Ok(()) };
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
            (Some(description), Target::File(file)) => self.move_bytes(scene, &side, description, file, count),
            _ => Ok(()),
        }
    }

    fn move_bytes(
        &mut self,
        scene: &mut Scene,
        side: &Side,
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
        let offset = match (side.told.at, side.position) {
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
        if appends && side.told.at.is_none() && self.files.size(file).is_none() {
            self.unattributed.odd(Oddity::UnknownEnd);
        }
        if count > 0 {
            self.files.set_kind(file, Kind::Datafile);
            self.files.reach(file, end);
        }
        if let Some(size) = side.told.size {
            self.files.set_size(file, size);
        }
        if side.op == Op::Read && side.asked.map_or(count == 0, |asked| count < asked) {
            self.files.met_end(file, offset, count);
        }
        match &side.told.lacked {
            Some(lacked) if count > 0 => self.refer_read(scene, file, offset..end, lacked),
            _ => self.refer_range(scene, side.op, file, offset, count, 0),
        }
    }

    fn map(&mut self, scene: &mut Scene, call: &Call) -> Result<(), Malformed> {
        if call.has(3, "MAP_ANONYMOUS") || call.arg(4) == b"-1" {
            return Ok(());
        }
        let (length, offset) = (call.number(1)?, call.number(5)?);
        match (self.target(scene.pid, call.handle(4)?), call.result) {
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
                let executable = call.has(2, "PROT_EXEC");
                self.files.set_kind(file, if executable { Kind::Executable } else { Kind::Datafile });
                if let Some(size) = scene.told[0].size {
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

    fn list(&mut self, scene: &mut Scene, call: &Call) -> Result<(), Malformed> {
        let description = self.description(scene.pid, call.handle(0)?);
        match (self.target_of(description), call.result) {
            (_, Outcome::None) => Ok(()),
            (Target::Object(class), _) => {
                self.unattributed.call(class, call.returned().unwrap_or(0));
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
            (Target::File(file), failed) => self.refer(scene, Op::List, file, failed),
        }
    }
}

/// The position of `preadv` and similar calls; −1 is the descriptor's position.
fn vector_position(call: &Call) -> Result<Option<u64>, Malformed> {
    match call.arg(3) {
        b"-1" => Ok(None),
        _ => call.number(3).map(|position| Some(position).filter(|position| *position != u64::MAX)),
    }
}
