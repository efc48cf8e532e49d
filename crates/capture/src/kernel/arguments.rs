//! The arguments and the result of a call, out of a record of the BPF programs.

use std::ops::RangeInclusive;

use hotset_feed::calls::{BASE, Called, Look, OPENED};
use hotset_trace::runner::Malformed;

use super::names::Names;
use crate::call::{Arguments, FileKind, Flag, Handle, Outcome, Shown, Text};

/// Errors by which the kernel says that it will make the call anew.
const AGAIN: RangeInclusive<i64> = -516..=-512;

const ENOENT: i64 = -2;

/// A call that the kernel's side has recorded.
pub(super) struct Recorded<'a> {
    /// Its name.
    pub name: &'static str,
    /// Its record.
    pub called: &'a Called,
    /// The places of its arguments that the kernel's side looked at.
    pub look: &'static Look,
    /// The names that were sent before it.
    pub names: &'a Names<'a>,
}

impl Recorded<'_> {
    fn value(&self, place: usize) -> u64 {
        // The upper half of the position comes before these flags.
        let is_behind = place == 4 && matches!(self.name, "preadv2" | "pwritev2");
        self.called.arguments[place + usize::from(is_behind)]
    }
}

/// Which of two names, directories or numbers is in this place.
fn which(places: [Option<u8>; 2], place: usize) -> Option<usize> {
    places.iter().position(|&known| known.map(usize::from) == Some(place))
}

impl<'a> Arguments<'a> for Recorded<'a> {
    fn handle(&self, place: usize) -> Result<Handle<'a>, Malformed> {
        let number = Some(self.value(place) as i32).filter(|&number| number != libc::AT_FDCWD);
        let base = which(self.look.base, place).and_then(|which| self.names.shown(BASE as usize + which));
        Ok(Handle { number, shown: base.map(|shown| Shown { deleted: false, ..shown }) })
    }

    fn number(&self, place: usize) -> Result<u64, Malformed> {
        Ok(self.value(place))
    }

    fn position(&self, place: usize) -> Result<Option<u64>, Malformed> {
        Ok(Some(self.value(place)).filter(|&position| position != u64::MAX))
    }

    fn pointed(&self, place: usize) -> Result<Option<u64>, Malformed> {
        let value = which(self.look.value, place).map(|which| self.called.value[which]);
        Ok(value.filter(|_| self.value(place) != 0))
    }

    fn text(&self, place: usize) -> Text<'a> {
        match which(self.look.name, place).and_then(|which| self.names.text(which)) {
            Some(text) => Text::Whole(text),
            None if self.value(place) == 0 => Text::Null,
            None => Text::Unreadable,
        }
    }

    fn has(&self, place: usize, flag: Flag) -> bool {
        let value = which(self.look.value, place).map_or(self.value(place), |which| self.called.value[which]);
        value & flag.bits == flag.bits
    }

    fn is(&self, place: usize, value: Flag) -> bool {
        self.value(place) == value.bits
    }

    /// Out of `struct stat` or `struct statx`.
    fn answer(&self, place: usize) -> Option<FileKind> {
        const MODE: usize = if cfg!(target_arch = "x86_64") { 24 } else { 16 };
        let is_looked_at = self.look.answer.map(usize::from) == Some(place) && self.called.result >= 0;
        let answer = self.called.answer.as_ref().filter(|_| is_looked_at)?;
        let long = |at: usize| u64::from_ne_bytes(answer[at..at + 8].try_into().expect("eight bytes"));
        let (mode, size) = if self.name == "statx" { (28, long(40)) } else { (MODE, long(48)) };
        match u16::from_ne_bytes([answer[mode], answer[mode + 1]]) >> 12 {
            0o01 | 0o02 | 0o14 => Some(FileKind::Special),
            0o04 => Some(FileKind::Directory),
            0o06 => Some(FileKind::BlockDevice),
            0o10 => Some(FileKind::Regular { size: Some(size) }),
            0o12 => Some(FileKind::Link),
            _ => None,
        }
    }

    fn result(&self) -> Outcome {
        match self.called.result {
            ENOENT => Outcome::Missing,
            result if AGAIN.contains(&result) => Outcome::None,
            -4095..0 => Outcome::Failed,
            returned => Outcome::Returned(returned as u64),
        }
    }

    fn opened(&self) -> Option<Shown<'a>> {
        let has_returned = matches!(self.result(), Outcome::Returned(_));
        self.names.shown(OPENED as usize).filter(|_| has_returned)
    }
}
