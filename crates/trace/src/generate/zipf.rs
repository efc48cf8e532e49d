//! `zipf`: independent draws by Zipf's law, the usual model of popularity.

use hotset_core::request::Request;

use super::{
    GeneratorKind, Rule,
    draw::{Dice, ZipfBlocks},
    params::{SEED, SKEW, count},
    read, run,
};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "zipf",
    summary: "independent draws by Zipf's law; a block's number tells nothing about its popularity",
    params: &[
        count("objects", "1000000", "blocks that can be drawn"),
        count("requests", "20000000", "requests"),
        SKEW,
        SEED,
    ],
    start: |args| {
        let seed = args.count("seed");
        let blocks = ZipfBlocks::new(args.count("objects"), args.real("skew"), seed);
        run(Draws { blocks, dice: Dice::new(seed), left: args.count("requests") })
    },
};

struct Draws {
    blocks: ZipfBlocks,
    dice: Dice,
    left: u64,
}

impl Rule for Draws {
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        Some(read(0, self.blocks.draw(&mut self.dice)))
    }
}
