//! What a flow of an invented program does with its blocks.

use super::super::draw::{Dice, Permutation, ZipfBlocks};
use super::between;

/// A way of reading blocks, without end.
pub(super) trait Pattern: Send {
    /// The next block.
    fn next(&mut self, dice: &mut Dice) -> u64;
}

/// One of the patterns over so many blocks, at least 4, with drawn parameters.
pub(super) fn draw(blocks: u64, dice: &mut Dice) -> Box<dyn Pattern> {
    match dice.below(9) {
        0 | 1 => Box::new(Laps::new(blocks, dice)),
        2 => Box::new(Nest::new(blocks, dice)),
        3 => Box::new(Changing::new(blocks, dice)),
        4 => Box::new(HotAndScan::new(blocks, dice)),
        5 => Box::new(Churn::new(blocks, dice)),
        6 => Box::new(Join::new(blocks, dice)),
        7 => Box::new(Epochs { blocks, at: blocks, order: Permutation::new(blocks, 0) }),
        _ => Box::new(Bursts::new(blocks, dice)),
    }
}

/// Lap after lap in order. It may drift, leave blocks out, or turn at the end.
struct Laps {
    blocks: u64,
    drift: u64,
    /// The chance that a block is read.
    dense: f64,
    turns: bool,
    start: u64,
    at: u64,
    is_back: bool,
}

impl Laps {
    fn new(blocks: u64, dice: &mut Dice) -> Laps {
        let drift = if dice.below(2) == 0 { 0.0 } else { blocks as f64 * between((0.004, 0.3), dice) };
        let dense = if dice.below(3) > 0 { 1.0 } else { 0.3 + 0.7 * dice.unit() };
        let turns = dice.below(6) == 0;
        Laps { blocks, drift: drift as u64, dense, turns, start: 0, at: 0, is_back: false }
    }
}

impl Pattern for Laps {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        loop {
            if self.at == self.blocks {
                self.at = 0;
                self.start += self.drift;
                self.is_back = self.turns && !self.is_back;
            }
            let step = if self.is_back { self.blocks - 1 - self.at } else { self.at };
            self.at += 1;
            if self.dense >= 1.0 || dice.unit() < self.dense {
                return self.start + step;
            }
        }
    }
}

/// Groups of blocks, each passed several times before the next one.
struct Nest {
    blocks: u64,
    group: u64,
    repeats: u64,
    first: u64,
    at: u64,
    done: u64,
}

impl Nest {
    fn new(blocks: u64, dice: &mut Dice) -> Nest {
        let group = (blocks as f64 * between((0.01, 1.0), dice)).max(1.0) as u64;
        Nest { blocks, group, repeats: between((2.0, 20.0), dice) as u64, first: 0, at: 0, done: 0 }
    }
}

impl Pattern for Nest {
    fn next(&mut self, _dice: &mut Dice) -> u64 {
        if self.at == self.group.min(self.blocks - self.first) {
            self.at = 0;
            self.done += 1;
        }
        if self.done == self.repeats {
            self.done = 0;
            self.first = (self.first + self.group) % self.blocks;
            self.first = if self.first < self.group { 0 } else { self.first };
        }
        self.at += 1;
        self.first + self.at - 1
    }
}

/// A loop over a range that is drawn anew after some laps.
struct Changing {
    blocks: u64,
    laps: f64,
    first: u64,
    length: u64,
    at: u64,
    left: u64,
}

impl Changing {
    fn new(blocks: u64, dice: &mut Dice) -> Changing {
        Changing { blocks, laps: between((2.0, 40.0), dice), first: 0, length: 0, at: 0, left: 0 }
    }
}

impl Pattern for Changing {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        if self.at == self.length {
            self.at = 0;
            if self.left == 0 {
                self.length = (self.blocks as f64 * between((0.1, 1.0), dice)).max(1.0) as u64;
                self.first = dice.below(self.blocks - self.length + 1);
                self.left = between((1.0, self.laps), dice) as u64;
            }
            self.left = self.left.saturating_sub(1);
        }
        self.at += 1;
        self.first + self.at - 1
    }
}

/// A hot set between pieces of a scan, over the same blocks again or over new ones.
struct HotAndScan {
    hot: ZipfBlocks,
    first: u64,
    /// Blocks of a scan that begins again.
    length: Option<u64>,
    chance: f64,
    at: u64,
}

impl HotAndScan {
    fn new(blocks: u64, dice: &mut Dice) -> HotAndScan {
        let hot = (blocks as f64 * between((0.02, 0.5), dice)).max(1.0) as u64;
        let length = (dice.below(2) == 0).then_some(blocks - hot);
        let ranks = ZipfBlocks::new(hot, dice.unit() * 1.2, dice.below(1 << 32));
        HotAndScan { hot: ranks, first: hot, length, chance: 0.1 + 0.8 * dice.unit(), at: 0 }
    }
}

impl Pattern for HotAndScan {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        if dice.unit() < self.chance {
            return self.hot.draw(dice);
        }
        self.at += 1;
        self.first + self.length.map_or(self.at, |length| self.at % length.max(1))
    }
}

/// Draws by Zipf's law, whose order of popularity moves on.
struct Churn {
    ranks: ZipfBlocks,
    blocks: u64,
    /// References after which popularity moves by one block.
    every: u64,
    made: u64,
}

impl Churn {
    fn new(blocks: u64, dice: &mut Dice) -> Churn {
        let skew = 0.4 + 0.9 * dice.unit();
        let every = if dice.below(2) == 0 { u64::MAX } else { between((2.0, 200.0), dice) as u64 };
        Churn { ranks: ZipfBlocks::new(blocks, skew, dice.below(1 << 32)), blocks, every, made: 0 }
    }
}

impl Pattern for Churn {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        self.made += 1;
        (self.ranks.draw(dice) + self.made / self.every) % self.blocks
    }
}

/// A table read in order, and for each of its blocks look-ups in an index: the root, a node, a leaf.
struct Join {
    table: u64,
    nodes: u64,
    leaves: ZipfBlocks,
    leaf_count: u64,
    lookups: u64,
    at: u64,
    /// Reads that are left for this block of the table.
    step: u64,
    leaf: u64,
}

impl Join {
    fn new(blocks: u64, dice: &mut Dice) -> Join {
        let table = (blocks as f64 * (0.1 + 0.6 * dice.unit())).max(1.0) as u64;
        let leaf_count = (blocks - table).max(2) - 1;
        let skew = if dice.below(2) == 0 { 0.0 } else { dice.unit() };
        let leaves = ZipfBlocks::new(leaf_count, skew, dice.below(1 << 32));
        let lookups = between((1.0, 10.0), dice) as u64;
        Join { table, nodes: leaf_count.div_ceil(64), leaves, leaf_count, lookups, at: 0, step: 0, leaf: 0 }
    }
}

impl Pattern for Join {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        if self.step == 0 {
            self.step = 3 * self.lookups;
            self.at = (self.at + 1) % self.table;
            return self.at;
        }
        self.step -= 1;
        match self.step % 3 {
            2 => self.table,
            1 => {
                self.leaf = self.leaves.draw(dice);
                self.table + 1 + self.leaf * self.nodes / self.leaf_count
            }
            _ => self.table + 1 + self.nodes + self.leaf,
        }
    }
}

/// All blocks once, in another order each time.
struct Epochs {
    blocks: u64,
    at: u64,
    order: Permutation,
}

impl Pattern for Epochs {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        if self.at == self.blocks {
            self.at = 0;
            self.order = Permutation::new(self.blocks, dice.below(1 << 32));
        }
        self.at += 1;
        self.order.of(self.at - 1)
    }
}

/// Runs of neighbours, each passed a few times, at places that are near the last one or anywhere.
struct Bursts {
    blocks: u64,
    length: f64,
    repeats: f64,
    near: f64,
    first: u64,
    at: u64,
    run: u64,
    left: u64,
}

impl Bursts {
    fn new(blocks: u64, dice: &mut Dice) -> Bursts {
        let length = between((1.0, (blocks as f64 / 4.0).max(2.0)), dice);
        Bursts { blocks, length, repeats: 1.0 + 4.0 * dice.unit(), near: dice.unit(), first: 0, at: 0, run: 0, left: 0 }
    }
}

impl Pattern for Bursts {
    fn next(&mut self, dice: &mut Dice) -> u64 {
        if self.at == self.run {
            self.at = 0;
            if self.left == 0 {
                self.run = (between((1.0, self.length + 1.0), dice) as u64).min(self.blocks);
                let range = self.blocks - self.run + 1;
                let near = dice.unit() < self.near;
                let drawn = dice.below(range);
                let step = dice.below(2 * self.run + 1);
                self.first = if near { (self.first + range + step - self.run.min(range)) % range } else { drawn };
                self.left = between((1.0, self.repeats + 1.0), dice) as u64;
            }
            self.left = self.left.saturating_sub(1);
        }
        self.at += 1;
        self.first + self.at - 1
    }
}
