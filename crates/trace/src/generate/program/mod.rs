//! `program`: an invented program, all of it drawn from the seed, so that policies meet traces that were not chosen.
//!
//! Drawn are the length, how often the footprint is passed, how many flows there are, what each of them does, and
//! whether they take turns or follow each other. Lengths, sizes and numbers are drawn evenly by their logarithm.

mod patterns;

use hotset_core::{policy::Args, request::Request};

use super::{
    GeneratorKind, Rule,
    draw::Dice,
    params::{SEED, count},
    read, run,
};
use patterns::Pattern;

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "program",
    summary: "an invented program: loops, nests, joins, hot sets, epochs and bursts, all of it drawn from the seed",
    params: &[count("requests", "50000", "most requests; the length is drawn up to this"), SEED],
    start: |args| run(Program::new(args)),
};

/// The shortest length that is drawn, if so many requests are allowed.
const SHORTEST: u64 = 4000;
/// Least blocks of a program, and of each of its flows.
const LEAST: (f64, u64) = (100.0, 4);
/// Passes over the footprint, if each flow were a loop.
const PASSES: (f64, f64) = (2.0, 200.0);
/// Most flows.
const FLOWS: f64 = 50.0;
/// One in so many programs has a single flow besides those where it is drawn.
const SINGLE: u64 = 4;
/// Blocks between the beginnings of flows that lie in one file.
const APART: u64 = 1 << 20;

/// Blocks that are read together, by one pattern.
struct Flow {
    file: u32,
    first: u64,
    /// Requests of its turn, on average where turns are drawn.
    turn: f64,
    /// Sum of the weights up to its own.
    weight: f64,
    pattern: Box<dyn Pattern>,
}

struct Program {
    flows: Vec<Flow>,
    /// Flows take turns at random; otherwise they follow each other in order.
    is_mixed: bool,
    left: u64,
    /// The flow whose turn it is, and what is left of it.
    flow: usize,
    turn: u64,
    dice: Dice,
}

/// A number between two, drawn evenly by its logarithm.
fn between((low, high): (f64, f64), dice: &mut Dice) -> f64 {
    low * (high / low).powf(dice.unit())
}

impl Program {
    fn new(args: &Args) -> Program {
        let mut dice = Dice::new(args.count("seed"));
        let most = args.count("requests");
        let length = between((SHORTEST.min(most) as f64, most as f64), &mut dice).round() as u64;
        let blocks = (length as f64 / between(PASSES, &mut dice)).max(LEAST.0);
        let is_single = dice.below(SINGLE) == 0;
        let count = if is_single { 1 } else { between((1.0, FLOWS + 1.0), &mut dice) as usize };
        let is_mixed = dice.below(3) > 0;
        let is_one_file = dice.below(4) == 0;
        let (turn, stages) = (between((1.0, 256.0), &mut dice), between((1.0, 5.0), &mut dice).floor());
        let shares: Vec<f64> = (0..count).map(|_| -(1.0 - dice.unit()).ln() + 0.01).collect();
        let weights: Vec<f64> = shares.iter().map(|share| share * between((0.25, 4.0), &mut dice)).collect();
        let (all_shares, all_weights) = (shares.iter().sum::<f64>(), weights.iter().sum::<f64>());
        let mut weight = 0.0;
        let flows = (0..count).map(|number| {
            weight += weights[number] / all_weights;
            let of_flow = ((shares[number] / all_shares * blocks) as u64).max(LEAST.1);
            let stage = weights[number] / all_weights * length as f64 / stages;
            Flow {
                file: if is_one_file { 0 } else { number as u32 },
                first: if is_one_file { number as u64 * APART } else { 0 },
                turn: if is_mixed { turn } else { stage },
                weight,
                pattern: patterns::draw(of_flow, &mut dice),
            }
        });
        Program { flows: flows.collect(), is_mixed, left: length, flow: usize::MAX, turn: 0, dice }
    }

    /// The next flow has its turn.
    fn pass_on(&mut self) {
        if self.is_mixed {
            let drawn = self.dice.unit();
            self.flow = self.flows.partition_point(|flow| flow.weight <= drawn).min(self.flows.len() - 1);
            let length = -(1.0 - self.dice.unit()).ln() * self.flows[self.flow].turn;
            self.turn = (length as u64).max(1);
        } else {
            self.flow = self.flow.wrapping_add(1) % self.flows.len();
            self.turn = (self.flows[self.flow].turn as u64).max(1);
        }
    }
}

impl Rule for Program {
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        if self.turn == 0 {
            self.pass_on();
        }
        self.turn -= 1;
        let flow = &mut self.flows[self.flow];
        Some(read(flow.file, flow.first + flow.pattern.next(&mut self.dice) % APART))
    }

    fn file(&self, number: u32) -> crate::FileInfo {
        crate::FileInfo {
            path: format!("file-{number}"),
            kind: hotset_core::request::Kind::Datafile,
            ..crate::FileInfo::default()
        }
    }
}
