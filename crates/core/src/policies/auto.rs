//! Auto: no scheme to choose; every block is ranked by the hits that it may be expected to give per frame, as learnt
//! from what its like did.
//!
//! Idea: blocks of one kind of use, a *flow*, come back after like times. Of each flow a curve tells how likely a
//! block is used at each age, and from it follows an index: the most hits to be expected per block of room and unit of
//! time if the block stays as long as pays best. The least index leaves, and a block whose index is less than that is
//! not kept. So a loop keeps what fits and gives up the rest, a stream passes by, a hot set stays, and a mix shares
//! the room by what each part makes of it. Without evidence the order is that of LRU. The flow is the application, the
//! file's extension, the file, its region of 1,024 blocks, whether the reference goes on with a sequential run, how
//! long ago the block was used before, and how often it came back; with little evidence a flow leans on the one that
//! contains it. The curves are learnt from a sample of blocks by hash, whether resident or not, so what is kept does
//! not distort what is known.
//!
//! The value of a hit may be a miss, the bytes of its block, or what it saves storage, which is learnt flow by flow.
//! Storage reads neighbours as one, so where time counts a block between two that are kept is worth more, by as much as
//! blocks of its flow would cost more one by one, and a block between two that are not is worth less.
//!
//! Paper: none as a whole. The index is that of Gittins (1979) for a block's time to reuse, as EVA and LHD (Beckmann,
//! Chen, Cidon, NSDI 2018) use it; groups that learn from those around them are shrinkage as in empirical Bayes.
//!
//! Provenance: written from a specification with a prototype's figures; `docs/schemes/auto.md` has the specification,
//! what agrees with these figures and what does not, and what was tried.
//!
//! Deviations and readings: the prototype's flows were not bounded. Here there are at most `nodes`; a further one takes
//! the place of the one with the least evidence that contains no other, and its blocks are served by all that came back
//! after as long. References that ask for a flow that is not there yet are counted in a table of 4,096 places, and
//! sequential runs in one of 1,024; who meets another there takes a count from it. A live cache computes curves beside
//! the requests, which go on with the ones before (`curves=background`). With `ghosts` and `sample` blocks out of the
//! cache are known by the same record as resident ones.
//!
//! Cost: a hit looks its flow up, two to three times the cost of LRU; a miss looks at 32 blocks and the 16 worst of
//! the last time, about a microsecond. Each tenth of the capacity in references, at least 128, brings a computation of
//! all curves: a cache of a few thousand blocks with many flows spends up to two microseconds a reference on it.
//! Memory: 51 bytes a block of capacity and 2.5 MB, and 8 bytes a block where time counts.
//!
//! When not to use it: on one loop after another, of one file, each needs a lap until it is known; `lirs` keeps what
//! it has. Very short traces: it is LRU until it has seen blocks come back.

mod curves;
mod explain;
mod flows;
mod memory;
mod neighbours;
mod places;
mod promises;
mod runs;
mod values;
mod worst;

use crate::families::promised;
use crate::parts::prefetch::prefetch;
use crate::policy::{
    Args, Done, Effects, Explanation, Info, Learning, Needs, Outcome, Param, ParamKind, Policy, Reconfigure, Reference,
    Requirements, Setup, Slot, Work,
};
use crate::spec::SpecError;
use memory::Memory;

/// The auto policy.
#[derive(Debug)]
pub struct Auto {
    memory: Memory,
}

impl Policy for Auto {
    const INFO: Info = Info {
        name: "auto",
        family: "adaptive",
        summary: "rank blocks by hits to be expected for their room and time, as learnt of what is used alike",
        params: &[
            Param {
                key: "sample",
                kind: ParamKind::Count { min: 1, max: 1 << 20 },
                default: "8192",
                doc: "most blocks that curves are learnt from",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Real { min: 0.0, max: 64.0 },
                default: "2",
                doc: "blocks that are remembered after they left, as a multiple of the capacity",
            },
            Param {
                key: "candidates",
                kind: ParamKind::Count { min: 1, max: memory::DRAWS_MOST as u64 },
                default: "32",
                doc: "blocks drawn for a victim, besides the 16 worst of the last time",
            },
            Param {
                key: "nodes",
                kind: ParamKind::Count { min: flows::FIXED as u64 + 2, max: flows::NODES_MOST as u64 },
                default: "1024",
                doc: "most flows told apart",
            },
            Param {
                key: "asks",
                kind: ParamKind::Count { min: 1, max: 255 },
                default: "16",
                doc: "references of sampled blocks after which a flow is separated from the one that contains it",
            },
            Param {
                key: "prior",
                kind: ParamKind::Real { min: 0.001, max: 1_000_000.0 },
                default: "32",
                doc: "how much a flow leans on the one that contains it, in blocks seen at an age",
            },
            Param {
                key: "decay",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0.98",
                doc: "what evidence keeps from one computation of the curves to the next",
            },
            Param {
                key: "period",
                kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
                default: "128",
                doc: "least references from one computation to the next; else a tenth of the capacity",
            },
            Param {
                key: "curves",
                kind: ParamKind::Word(&[memory::INLINE, memory::BACKGROUND]),
                default: memory::INLINE,
                doc: "where indices are computed: in the reference that is due, or in the background; without a background thread they are a period late",
            },
            Param {
                key: "value",
                kind: ParamKind::Word(values::WORDS),
                default: values::KNOWN,
                doc: "value of a hit: 1, the bytes of its block, or the seconds that it saves storage; known: seconds if the storage is known, else hits",
            },
            Param {
                key: "look",
                kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
                default: "512",
                doc: "references from one look at what applications were promised to the next",
            },
            promised::HIT_TIME,
            promised::MISS_TIME,
            promised::APP,
        ],
        needs: Needs { address: true, app_if_known: true, group: true, size: true, cost: true, ..Needs::NOTHING },
        serving: &[("curves", memory::BACKGROUND)],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Auto { memory: Memory::new(setup)? })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements {
            identities: u64::from(capacity) + memory::most_ghosts(args, capacity) as u64 + args.count("sample") + 2,
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.memory.access(slot, &reference, fx)
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.memory.known, slot as usize);
        prefetch(&self.memory.returns, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.memory.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.memory.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.memory.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.memory.is_resident(slot)
    }

    fn len(&self) -> u32 {
        self.memory.places.len()
    }

    fn validate(&self) {
        self.memory.validate();
    }
}

impl Reconfigure for Auto {
    /// Curves, flows, ghosts and the blocks themselves stay.
    fn reconfigure(&mut self, before: &Args, setup: &Setup, _fx: &mut dyn Effects) -> bool {
        let is_taken = setup.args.differs_only_in(before, memory::CHANGEABLE);
        if is_taken {
            self.memory.reconfigure(setup);
        }
        is_taken
    }
}

impl Learning for Auto {
    fn take_work(&mut self) -> Option<Work> {
        let due = self.memory.take_due()?;
        Some(Box::new(move || Box::new(due.run())))
    }

    fn finish_work(&mut self, done: Done) {
        self.memory.take_back(*done.downcast().expect("what this policy handed out"));
    }

    fn explain(&self) -> Vec<Explanation> {
        explain::all(&self.memory)
    }
}
