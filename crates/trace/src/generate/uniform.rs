//! `uniform`: every block is as likely as any other, the case in which no policy beats another.

use hotset_core::request::Request;

use super::{
    GeneratorKind, Rule,
    draw::Dice,
    params::{SEED, count},
    read, run,
};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "uniform",
    summary: "independent draws, every block as likely as any other",
    params: &[count("objects", "100000", "blocks that can be drawn"), count("requests", "1000000", "requests"), SEED],
    start: |args| {
        let dice = Dice::new(args.count("seed"));
        run(Draws { objects: args.count("objects"), dice, left: args.count("requests") })
    },
};

struct Draws {
    objects: u64,
    dice: Dice,
    left: u64,
}

impl Rule for Draws {
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        Some(read(0, self.dice.below(self.objects)))
    }
}
