//! Sequential runs in files, as far as a table of fixed size remembers them.

/// Files whose runs are remembered, at most.
const FILES: usize = 1024;
/// From so many consecutive blocks on it is a run.
const RUN: u32 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    file: u32,
    block: u32,
    length: u32,
}

/// By the low bits of the file's number.
#[derive(Debug)]
pub(super) struct Runs(Vec<Run>);

impl Runs {
    pub(super) fn new() -> Runs {
        Runs(vec![Run::default(); FILES])
    }

    /// Follows a reference; true if it goes on with a run, or repeats its last block.
    #[inline(always)]
    pub(super) fn follow(&mut self, file: u32, block: u32) -> bool {
        let run = &mut self.0[file as usize % FILES];
        run.length = match () {
            () if run.length == 0 || run.file != file => 1,
            () if run.block.wrapping_add(1) == block => run.length.saturating_add(1),
            () if run.block == block => run.length,
            () => 1,
        };
        (run.file, run.block) = (file, block);
        run.length >= RUN
    }
}
