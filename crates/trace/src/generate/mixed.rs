//! `mixed`: phases of a loop and phases of Zipf draws over other blocks, in turn. The best policy of one phase is the
//! worst of the other, so it shows how fast adaptive policies adapt.

use hotset_core::request::Request;

use super::{
    GeneratorKind, Rule,
    draw::{Dice, ZipfBlocks},
    params::{SEED, SKEW, count},
    read, run,
};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "mixed",
    summary: "phases of a loop and phases of Zipf draws over other blocks, in turn",
    params: &[
        count("loop", "2000", "blocks of the loop"),
        count("objects", "10000", "blocks that can be drawn"),
        count("phase", "50000", "requests of a phase"),
        count("phases", "20", "phases, the first a loop"),
        SKEW,
        SEED,
    ],
    start: |args| {
        let seed = args.count("seed");
        let [length, phase, phases] = ["loop", "phase", "phases"].map(|key| args.count(key));
        let blocks = ZipfBlocks::new(args.count("objects"), args.real("skew"), seed);
        run(Phases { length, phase, phases, blocks, dice: Dice::new(seed), number: 0, step: 0, next: 0 })
    },
};

struct Phases {
    length: u64,
    phase: u64,
    phases: u64,
    blocks: ZipfBlocks,
    dice: Dice,
    /// Number of the phase, and requests of it so far.
    number: u64,
    step: u64,
    /// Where the loop goes on: a phase does not begin it anew.
    next: u64,
}

impl Rule for Phases {
    fn next(&mut self) -> Option<Request> {
        if self.step == self.phase {
            self.step = 0;
            self.number += 1;
        }
        if self.number == self.phases {
            return None;
        }
        self.step += 1;
        if self.number % 2 == 1 {
            return Some(read(0, self.length + self.blocks.draw(&mut self.dice)));
        }
        let block = self.next;
        self.next = (block + 1) % self.length;
        Some(read(0, block))
    }
}
