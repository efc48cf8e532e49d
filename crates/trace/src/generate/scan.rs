//! `scan`: a hot set, now and then interrupted by a scan over blocks that never come again. It tells the policies that
//! resist scans from those that are swept clean.

use hotset_core::request::Request;

use super::{
    GeneratorKind, Rule,
    draw::Dice,
    params::{SEED, count},
    read, run,
};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "scan",
    summary: "a hot set drawn evenly, interrupted by scans over blocks that never come again",
    params: &[
        count("hot", "1000", "blocks of the hot set"),
        count("every", "10000", "requests to the hot set before each scan"),
        count("length", "5000", "blocks of a scan"),
        count("scans", "20", "scans"),
        SEED,
    ],
    start: |args| {
        let [hot, every, length, scans] = ["hot", "every", "length", "scans"].map(|key| args.count(key));
        run(Scans { hot, every, length, scans, dice: Dice::new(args.count("seed")), step: 0, fresh: hot })
    },
};

struct Scans {
    hot: u64,
    every: u64,
    length: u64,
    scans: u64,
    dice: Dice,
    /// Requests since the last scan ended.
    step: u64,
    /// The first block that was never touched.
    fresh: u64,
}

impl Rule for Scans {
    fn next(&mut self) -> Option<Request> {
        if self.scans == 0 {
            return None;
        }
        self.step += 1;
        if self.step <= self.every {
            return Some(read(0, self.dice.below(self.hot)));
        }
        if self.step == self.every + self.length {
            self.step = 0;
            self.scans -= 1;
        }
        self.fresh += 1;
        Some(read(0, self.fresh - 1))
    }
}
