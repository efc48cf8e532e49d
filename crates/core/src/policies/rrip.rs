//! RRIP: a few bits a block predict how far away its next use is.
//!
//! Idea: a new block is predicted to be used again in a long time, a used one soon; the victim is one predicted for the
//! distant future, and if there is none all predictions are moved towards it. So a scan passes without displacing what
//! is in use (SRRIP). If most new blocks are predicted for the distant future right away, a part of a loop larger than
//! the cache stays too (BRRIP). DRRIP lets the two duel.
//!
//! Paper: Jaleel, Theobald, Steely, Emer, "High performance cache replacement using re-reference interval prediction
//! (RRIP)", ISCA 2010.
//!
//! Provenance: from secondary sources, lecture notes among them, the paper's text was not at hand; no program without
//! sets was there to compare with.
//!
//! Deviations and readings: the paper scans the few ways of a set for a victim; here the cache is one set, and among
//! equal predictions the block that has held its own longest is the victim, but first of all one that was predicted for
//! the distant future when it entered: in a set it takes the victim's way, at which the next scan stops first. A use
//! sets the prediction to 0 (the paper's hit priority). The duel is that of `dip`: two shadows over a sample of the
//! blocks. A new block is predicted after the victim was found.
//!
//! Cost: O(1), a hit of a block with prediction 0 reads one byte; with more than 2 bits the search for a victim may
//! pass over as many empty predictions as there are, amortised by the blocks that age. Memory: 13 bytes a slot (9
//! without the duel), and 1/32 of twice as much in the shadows (of small caches, all of it).
//!
//! When not to use it: where recency decides: blocks used once more are all alike, whenever that was.

use crate::families::bimodal::{Bimodal, Insertion, Order, Rate};
use crate::parts::large;
use crate::parts::links::{Links, List};
use crate::parts::prefetch::prefetch;
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// The RRIP policy.
#[derive(Debug)]
pub struct Rrip(Bimodal<Predictions>);

fn insertion(args: &Args) -> Insertion {
    match args.word("mode") {
        "srrip" => Insertion::Near,
        "brrip" => Insertion::Bimodal,
        _ => Insertion::Duel(Rate::of(args)),
    }
}

impl Policy for Rrip {
    const INFO: Info = Info {
        name: "rrip",
        family: "adaptive",
        summary: "predict the distance of each block's next use in a few bits; evict a distant one",
        params: &[
            Param {
                key: "mode",
                kind: ParamKind::Word(&["srrip", "brrip", "drrip"]),
                default: "drrip",
                doc: "srrip resists scans, brrip also loops, drrip chooses by a duel",
            },
            Param {
                key: "bits",
                kind: ParamKind::Count { min: 1, max: 6 },
                default: "2",
                doc: "width of a prediction (paper: 2)",
            },
            Param {
                key: "epsilon",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0.03125",
                doc: "probability that brrip predicts as srrip does (paper: 1/32)",
            },
            Rate::DUEL,
            Rate::SHADOW,
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let order = Predictions::new(1 << setup.args.count("bits"), 0);
        let epsilon = setup.args.real("epsilon");
        Ok(Rrip(Bimodal::new(&order, insertion(setup.args), epsilon, [setup.capacity, setup.slots], setup.seed)))
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements {
            identities: Bimodal::<Predictions>::identities(insertion(args), capacity),
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.0.access(slot, reference, fx)
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.0.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.0.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.0.contains(slot)
    }

    fn len(&self) -> u32 {
        self.0.len()
    }

    fn validate(&self) {
        self.0.validate();
    }
}

/// In place of the list of a slot that is in none.
const ABSENT: u8 = u8::MAX;

/// One list for each prediction, oldest first. All predictions are raised by one by turning the ring of lists.
#[derive(Debug)]
struct Predictions {
    links: Links,
    /// By slot: its list, or [`ABSENT`].
    list_of: Vec<u8>,
    /// As many as there are predictions, a power of 2.
    lists: Vec<List>,
    /// The list of the blocks with prediction 0; prediction n is n lists further on.
    zero: usize,
    len: u32,
}

impl Predictions {
    fn new(predictions: usize, slots: u32) -> Predictions {
        Predictions {
            links: Links::new(slots),
            list_of: large::filled(ABSENT, slots as usize),
            lists: vec![List::default(); predictions],
            zero: 0,
            len: 0,
        }
    }

    #[inline(always)]
    fn list(&self, prediction: usize) -> usize {
        (self.zero + prediction) & self.most()
    }

    /// The greatest prediction.
    #[inline(always)]
    fn most(&self) -> usize {
        self.lists.len() - 1
    }
}

impl Order for Predictions {
    fn empty(&self, slots: u32, _bound: u32) -> Predictions {
        Predictions::new(self.lists.len(), slots)
    }

    fn grow(&mut self, slots: u32, _bound: u32) {
        self.links.grow(slots);
        self.list_of.resize((slots as usize).max(self.list_of.len()), ABSENT);
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        self.list_of[slot as usize] != ABSENT
    }

    #[inline(always)]
    fn count(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    fn renew(&mut self, slot: Slot) {
        let list = usize::from(self.list_of[slot as usize]);
        if list != self.zero {
            self.lists[list].take(&mut self.links, slot);
            self.lists[self.zero].push(&mut self.links, slot);
            self.list_of[slot as usize] = self.zero as u8;
        }
    }

    #[inline(always)]
    fn insert(&mut self, slot: Slot, far: bool) {
        let list = self.list(self.most() - usize::from(!far));
        if far {
            self.lists[list].push_oldest(&mut self.links, slot);
        } else {
            self.lists[list].push(&mut self.links, slot);
        }
        self.list_of[slot as usize] = list as u8;
        self.len += 1;
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        while self.lists[self.list(self.most())].is_empty() {
            self.zero = self.list(self.most());
        }
        let distant = self.list(self.most());
        let victim = self.lists[distant].pop_oldest(&mut self.links)?;
        self.list_of[victim as usize] = ABSENT;
        self.len -= 1;
        Some(victim)
    }

    fn take(&mut self, slot: Slot) {
        let list = std::mem::replace(&mut self.list_of[slot as usize], ABSENT);
        self.lists[usize::from(list)].take(&mut self.links, slot);
        self.len -= 1;
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.list_of, slot as usize);
        self.links.prefetch(slot);
    }

    fn validate(&self) {
        for (number, list) in self.lists.iter().enumerate() {
            list.validate(&self.links);
            let placed = |slot: Slot| usize::from(self.list_of[slot as usize]) == number;
            assert!(list.iter(&self.links).all(placed), "a slot does not know its list");
        }
        assert_eq!(self.lists.iter().map(List::len).sum::<u32>(), self.len);
        assert_eq!(self.list_of.iter().filter(|&&list| list != ABSENT).count(), self.len as usize);
    }
}
