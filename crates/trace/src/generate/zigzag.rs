//! `zigzag`: up and down again over the same blocks, the turning points once. LRU is optimal for the half near the
//! turn.

use hotset_core::request::Request;

use super::{GeneratorKind, Rule, params::count, read, run};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "zigzag",
    summary: "up and down again over the same blocks",
    params: &[count("objects", "1000", "blocks"), count("sweeps", "100", "ways up or down")],
    start: |args| run(Sweeps { last: args.count("objects") - 1, left: args.count("sweeps"), step: 0, down: false }),
};

struct Sweeps {
    /// The block at the upper turn.
    last: u64,
    left: u64,
    /// Blocks passed since the last turn; the first sweep begins with the turn itself.
    step: u64,
    down: bool,
}

impl Rule for Sweeps {
    fn next(&mut self) -> Option<Request> {
        if self.left == 0 {
            return None;
        }
        let block = if self.down { self.last - self.step } else { self.step };
        if self.step == self.last {
            self.left -= 1;
            self.down = !self.down;
            self.step = 0;
        }
        self.step = (self.step + 1).min(self.last);
        Some(read(0, block))
    }
}
