//! `render`: a renderer as Shin, Cho and Bahn (2020) describe its I/O. At each launch the configuration is read once;
//! then for each frame all textures are read in order, with some blocks at random in between, and the picture is
//! written and never read again.
//!
//! The blocks read at random follow Pareto's law with 80 % of the reads on 20 % of the blocks (shape log 5 / log 4),
//! cut at the last block. The paper's traces are not public: shares and sizes here are knobs, not measurements.

use hotset_core::{
    policy::{Args, Param, ParamKind},
    request::{Kind as FileKind, Op, Request},
};

use super::{
    BLOCK_BYTES, GeneratorKind, Rule,
    draw::{Dice, Permutation},
    params::{SEED, count},
    read, run,
};
use crate::FileInfo;

/// Files that every frame reads; the pictures are numbered behind them.
const CONFIG: u32 = 0;
const TEXTURE: u32 = 1;
const RANDOM: u32 = 2;
const FIRST_OUTPUT: u32 = 3;

/// log 5 / log 4: 80 % of draws fall on 20 % of the blocks.
const PARETO_SHAPE: f64 = 1.160_964_047_443_681;

const PRAND: Param = Param {
    key: "prand",
    kind: ParamKind::Real { min: 0.0, max: 0.99 },
    default: "0.2",
    doc: "probability that a random texture block is read before the next in order",
};

/// At most so many files, launches or frames.
const fn few(key: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { key, kind: ParamKind::Count { min: 1, max: 10_000 }, default, doc }
}

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "render",
    summary: "a renderer: configuration at each launch, textures in order and at random for each frame, pictures written once",
    params: &[
        few("launches", "2", "times the renderer is started"),
        few("frames", "20", "frames of a launch"),
        few("passes", "1", "passes over the textures for each frame"),
        count("ncfg", "500", "configuration blocks, read once a launch"),
        count("ntex", "5000", "texture blocks, read in order in each pass"),
        count("nrand", "2000", "texture blocks that are read at random"),
        PRAND,
        count("nout", "200", "blocks of the picture written for each frame"),
        SEED,
    ],
    start: |args| run(Render::new(args)),
};

/// The state of the renderer.
enum Step {
    Config,
    Texture { pass: u64 },
    Output,
}

struct Render {
    launches: u64,
    frames: u64,
    passes: u64,
    ncfg: u64,
    ntex: u64,
    nout: u64,
    prand: f64,
    random: Pareto,
    dice: Dice,
    launch: u64,
    frame: u64,
    step: Step,
    block: u64,
}

impl Render {
    fn new(args: &Args) -> Render {
        let seed = args.count("seed");
        Render {
            launches: args.count("launches"),
            frames: args.count("frames"),
            passes: args.count("passes"),
            ncfg: args.count("ncfg"),
            ntex: args.count("ntex"),
            nout: args.count("nout"),
            prand: args.real("prand"),
            random: Pareto::new(args.count("nrand"), seed),
            dice: Dice::new(seed),
            launch: 0,
            frame: 0,
            step: Step::Config,
            block: 0,
        }
    }

    /// The next block of `count`; after the last one the renderer goes on with `then`.
    fn advance(&mut self, count: u64, then: impl FnOnce(&mut Render) -> Step) -> u64 {
        let block = self.block;
        self.block += 1;
        if self.block == count {
            self.block = 0;
            self.step = then(self);
        }
        block
    }

    fn after_picture(&mut self) -> Step {
        self.frame += 1;
        if self.frame < self.frames {
            return Step::Texture { pass: 0 };
        }
        self.frame = 0;
        self.launch += 1;
        Step::Config
    }

    /// Blocks of a file.
    fn blocks(&self, file: u32) -> u64 {
        match file {
            CONFIG => self.ncfg,
            TEXTURE => self.ntex,
            RANDOM => self.random.count,
            _ => self.nout,
        }
    }
}

impl Rule for Render {
    fn next(&mut self) -> Option<Request> {
        if self.launch == self.launches {
            return None;
        }
        match self.step {
            Step::Config => {
                let block = self.advance(self.ncfg, |_| Step::Texture { pass: 0 });
                Some(read(CONFIG, block))
            }
            Step::Texture { .. } if self.dice.unit() < self.prand => {
                Some(read(RANDOM, self.random.draw(&mut self.dice)))
            }
            Step::Texture { pass } => {
                let block = self.advance(self.ntex, |render| {
                    if pass + 1 < render.passes { Step::Texture { pass: pass + 1 } } else { Step::Output }
                });
                Some(read(TEXTURE, block))
            }
            Step::Output => {
                let file = FIRST_OUTPUT + (self.launch * self.frames + self.frame) as u32;
                let block = self.advance(self.nout, Render::after_picture);
                Some(Request { op: Op::Write as u8, ..read(file, block) })
            }
        }
    }

    fn file(&self, number: u32) -> FileInfo {
        let (path, label) = match number {
            CONFIG => ("render.cfg".to_owned(), "config"),
            TEXTURE => ("texture.png".to_owned(), "texture"),
            RANDOM => ("texture-random.png".to_owned(), "texture"),
            picture => {
                let picture = u64::from(picture - FIRST_OUTPUT);
                (format!("launch-{}/frame-{}.exr", picture / self.frames, picture % self.frames), "output")
            }
        };
        let size = Some(self.blocks(number) * u64::from(BLOCK_BYTES));
        FileInfo { path, kind: FileKind::Datafile, size, label: label.to_owned() }
    }
}

/// Draws blocks by Pareto's law, cut at the last block; which blocks are popular is drawn, too.
struct Pareto {
    count: u64,
    /// Share of the uncut distribution that lies before the cut.
    share: f64,
    ids: Permutation,
}

impl Pareto {
    fn new(count: u64, seed: u64) -> Pareto {
        let share = 1.0 - (count as f64 + 1.0).powf(-PARETO_SHAPE);
        Pareto { count, share, ids: Permutation::new(count, seed) }
    }

    fn draw(&self, dice: &mut Dice) -> u64 {
        let x = (1.0 - dice.unit() * self.share).powf(-1.0 / PARETO_SHAPE);
        self.ids.of((x as u64 - 1).min(self.count - 1))
    }
}
