//! DIP: LRU whose new blocks enter at the end that leaves next, where that pays.
//!
//! Idea: on a loop larger than the cache LRU never hits. If new blocks enter at the LRU end (LIP) most of the loop
//! stays instead, and if one in 32 enters at the MRU end (BIP) the cache still follows changes. Two shadows of the
//! cache, one LRU and one BIP, see a sample of the blocks, and the cache does as the one that misses less.
//!
//! Paper: Qureshi, Jaleel, Patt, Steely, Emer, "Adaptive insertion policies for high performance caching", ISCA 2007.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: the paper divides a processor's cache into sets and lets some of them lead; this cache is
//! one set, so the leaders are shadows, as in the paper's form with auxiliary tags, over one block in 32 (`duel`) by a
//! hash of its address, or more if a shadow would have fewer blocks than the paper's leaders of one kind, 512
//! (`shadow`): below that it judges by chance. The counter starts in the middle, where BIP wins; a miss of both shadows
//! leaves it. The shadows see a reference before the cache does, and BIP's shadow draws its lot first. `mode=bip` does
//! without the duel: `epsilon=0` is LIP, `epsilon=1` is LRU. A resize that changes the rate of sampling empties the
//! shadows; the counter stays.
//!
//! Cost: O(1) amortised; as LRU, and a hash of the address; one reference in 32 also moves a block in each shadow.
//! Memory: 8 bytes a slot, 12 to 24 bytes a block of capacity in the log, and 1/32 of twice as much in the shadows (of
//! small caches, all of it).
//!
//! When not to use it: where popularity changes slowly and scans are rare it is LRU with overhead.

use crate::families::bimodal::{Bimodal, Insertion, Order, Rate};
use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// The DIP policy.
#[derive(Debug)]
pub struct Dip(Bimodal<Recency>);

fn insertion(args: &Args) -> Insertion {
    match args.word("mode") {
        "bip" => Insertion::Bimodal,
        _ => Insertion::Duel(Rate::of(args)),
    }
}

impl Policy for Dip {
    const INFO: Info = Info {
        name: "dip",
        family: "adaptive",
        summary: "LRU whose new blocks enter at the LRU end where a sampled duel says that this pays",
        params: &[
            Param {
                key: "mode",
                kind: ParamKind::Word(&["dip", "bip"]),
                default: "dip",
                doc: "dip: the duel chooses; bip: new blocks always enter bimodally",
            },
            Param {
                key: "epsilon",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0.03125",
                doc: "probability that a block that enters bimodally enters at the MRU end (paper: 1/32)",
            },
            Rate::DUEL,
            Rate::SHADOW,
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let order = Recency { places: Places::new(0), queue: Queue::new(0, 0) };
        let epsilon = setup.args.real("epsilon");
        Ok(Dip(Bimodal::new(&order, insertion(setup.args), epsilon, [setup.capacity, setup.slots], setup.seed)))
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements {
            identities: Bimodal::<Recency>::identities(insertion(args), capacity),
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

/// LRU's order. Near is the MRU end, far the LRU end.
#[derive(Debug)]
struct Recency {
    places: Places,
    queue: Queue,
}

impl Order for Recency {
    fn empty(&self, slots: u32, bound: u32) -> Recency {
        Recency { places: Places::new(slots), queue: Queue::new(0, bound) }
    }

    fn grow(&mut self, slots: u32, bound: u32) {
        self.places.grow(slots);
        self.queue.grow(&mut self.places, bound);
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    #[inline(always)]
    fn count(&self) -> u32 {
        self.queue.len()
    }

    #[inline(always)]
    fn renew(&mut self, slot: Slot) {
        self.queue.renew(&mut self.places, slot);
    }

    #[inline(always)]
    fn insert(&mut self, slot: Slot, far: bool) {
        if far {
            self.queue.push_oldest(&mut self.places, slot);
        } else {
            self.queue.push(&mut self.places, slot);
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Slot> {
        self.queue.pop_oldest(&mut self.places)
    }

    #[inline(always)]
    fn take(&mut self, slot: Slot) {
        self.queue.take(&mut self.places, slot);
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn validate(&self) {
        self.queue.validate(&self.places);
    }
}
