//! Sequential runs in files, as far as a table of fixed size remembers them.

use crate::policy::Slot;

/// Files whose runs are remembered, at most.
const FILES: usize = 1024;
/// From so many consecutive blocks on it is a run.
const RUN: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    file: u32,
    block: u32,
    length: u32,
    /// The slot of the block, and the time of the reference.
    slot: Slot,
    time: u32,
}

/// The relation of a reference to those before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follows {
    /// It goes on with a run, or repeats its last block.
    pub(super) goes_on: bool,
    /// It follows the block before it, whose slot that was at this time.
    pub(super) before: Option<(Slot, u32)>,
}

/// By the low bits of the file's number.
#[derive(Debug)]
pub(super) struct Runs(Vec<Run>);

impl Runs {
    pub(super) fn new() -> Runs {
        Runs(vec![Run::default(); FILES])
    }

    /// Follows a reference at this time to a block in this slot.
    #[inline(always)]
    pub(super) fn follow(&mut self, file: u32, block: u32, (slot, time): (Slot, u32)) -> Follows {
        let run = &mut self.0[file as usize % FILES];
        let is_of_file = run.length > 0 && run.file == file;
        let is_next = is_of_file && run.block.wrapping_add(1) == block;
        let before = is_next.then_some((run.slot, run.time));
        let length = match () {
            () if is_next => run.length.saturating_add(1),
            () if is_of_file && run.block == block => run.length,
            () => 1,
        };
        *run = Run { file, block, length, slot, time };
        Follows { goes_on: length >= RUN, before }
    }
}
