//! `loop`: the same blocks in the same order, lap after lap. LRU gets nothing from it until all fit; MRU is optimal.

use hotset_core::request::Request;

use super::{GeneratorKind, Rule, params::count, read, run};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "loop",
    summary: "the same blocks in the same order, lap after lap",
    params: &[count("objects", "1000", "blocks in a lap"), count("laps", "100", "laps")],
    start: |args| run(Laps { objects: args.count("objects"), left: args.count("laps"), block: 0 }),
};

struct Laps {
    objects: u64,
    left: u64,
    block: u64,
}

impl Rule for Laps {
    fn next(&mut self) -> Option<Request> {
        if self.block == self.objects {
            self.block = 0;
            self.left -= 1;
        }
        if self.left == 0 {
            return None;
        }
        self.block += 1;
        Some(read(0, self.block - 1))
    }
}
