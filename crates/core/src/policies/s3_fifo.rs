//! S3-FIFO: three FIFO queues: a small one that sifts newcomers, the main one, and ghosts.
//!
//! Idea: most blocks are used once. They pass through a small queue and leave quickly; only those used again while
//! there move to the main queue, and those that come back soon after they left enter the main queue directly. Nothing
//! moves on a hit.
//!
//! Paper: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1.
//!
//! Provenance: equal to Caffeine's simulator 3.2.0 on eight of ten public traces; sprite differs by 0.06 points and
//! OLTP by two hits. libCacheSim lets blocks into the main queue while the cache fills; with `fill=main` it is
//! within 0.01 points in caches of bytes.
//!
//! Deviations: a block leaves the small queue for the main one when it was hit at least twice there (`promote=2`: the
//! paper's text says "more than once"), and starts there with count 0. The small queue gives the victim when it holds
//! at least its share. On traces of memory only a bit of uses is visible, so counts stop at 1 there (`most=1`), and
//! `promote=1` must be given. Whether a block is remembered is looked up after room was made for it, so a ghost pushed
//! out at that moment does not count. Objects of many sizes count in all queues, ghosts included, by their sizes.
//!
//! S4-FIFO (Xia, Nixon, Marthen, Bhandari, Yang, "Learning-augmented heuristics", OSDI 2026) makes five constants of
//! S3-FIFO parameters that a model sets from features of the trace. `small`, `ghost` and `promote` are three of them
//! here. It is not offered as a policy: the published model is a reduced one, and the sources that are public differ on
//! what happens to the count of a ghost that must be hit several times.
//!
//! Cost: a hit writes one word; a miss moves O(1) blocks amortised. Memory: about 40 bytes a block (4 a slot and one
//! byte for counts, ghosts included; 8 to 16 in each queue's bound).
//!
//! When not to use it: loops larger than the cache; blocks whose second use comes only after they left the ghosts.

use crate::parts::ghost::{discard_oldest, forget_in};
use crate::parts::queue::{Alike, Places, Queue, SlotWeights, Tag, Weights};
use crate::policy::{
    Args, Effects, Hits, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const SMALL: Tag = 0;
const MAIN: Tag = 1;
const GHOST: Tag = 2;

/// The S3-FIFO policy.
pub type S3Fifo = S3FifoOf<Alike>;

/// The same for blocks of many weights.
pub type WeighedS3Fifo = S3FifoOf<SlotWeights>;

/// The same, whatever blocks weigh.
#[derive(Debug)]
pub struct S3FifoOf<W> {
    capacity: u32,
    args: Args,
    bounds: Bounds,
    promote: u8,
    /// Counts stop here.
    most: u8,
    /// Newcomers enter the main queue once the small one has its share.
    spills: bool,
    places: Places<W>,
    /// Hits of each resident block, at most `most`.
    counts: Vec<u8>,
    small: Queue,
    main: Queue,
    ghosts: Queue,
}

#[derive(Debug)]
struct Bounds {
    /// From this many blocks on the small queue gives the victim.
    small: u32,
    ghosts: u32,
}

impl Bounds {
    fn of(args: &Args, capacity: u32) -> Result<Bounds, SpecError> {
        Ok(Bounds { small: args.share("small", capacity)?.max(1), ghosts: args.share("ghost", capacity)? })
    }
}

impl<W: Weights> Policy for S3FifoOf<W> {
    const INFO: Info = Info {
        name: "s3-fifo",
        aliases: &["s3fifo"],
        family: "frequency",
        summary: "a small FIFO sifts newcomers, a main FIFO keeps what was used again, ghosts remember the rest",
        params: &[
            Param {
                key: "small",
                kind: ParamKind::Share,
                default: "10%",
                doc: "blocks in the small queue from which on it gives the victim (paper: 10%)",
            },
            Param {
                key: "ghost",
                kind: ParamKind::Share,
                default: "90%",
                doc: "most ghosts remembered (paper: as many as the main queue holds)",
            },
            Param {
                key: "promote",
                kind: ParamKind::Count { min: 1, max: 255 },
                default: "2",
                doc: "hits in the small queue that move a block to the main one (paper: more than 1)",
            },
            Param {
                key: "most",
                kind: ParamKind::Count { min: 1, max: 255 },
                default: "3",
                doc: "hits of a block that are counted, each of which spares it once (paper: 3); with 1 a bit is enough",
            },
            Param {
                key: "fill",
                kind: ParamKind::Word(&["small", "main"]),
                default: "small",
                doc: "the queue that new blocks enter until the first one leaves, when the small queue has its share (paper: small, its authors' code: main)",
            },
        ],
        needs: Needs { size: true, ..Needs::NOTHING },
        paging: &[("most", "1")],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let bounds = Bounds::of(setup.args, setup.capacity)?;
        let [promote, most] = ["promote", "most"].map(|key| setup.args.count(key) as u8);
        if promote > most {
            return Err(SpecError::new(format!(
                "promote={promote} is never reached: expected at most {most}, where counts stop"
            )));
        }
        let mut policy = S3FifoOf {
            capacity: setup.capacity,
            args: setup.args.clone(),
            promote,
            most,
            spills: setup.args.word("fill") == "main",
            places: Places::weighing(setup.slots),
            counts: vec![0; setup.slots as usize],
            small: Queue::new(SMALL, 0),
            main: Queue::new(MAIN, 0),
            ghosts: Queue::new(GHOST, 0),
            bounds,
        };
        policy.make_space();
        Ok(policy)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let bounds = Bounds::of(args, capacity)?;
        let is_enough = args.count("most") == 1 && args.count("promote") == 1;
        let plain = Requirements::of(capacity).with_ghosts(Some(bounds.ghosts));
        Ok(Requirements { hits: if is_enough { Hits::Bit } else { Hits::Order }, weighs: true, ..plain })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let queues = [&mut self.small, &mut self.main, &mut self.ghosts];
        let is_other = self.places.weigh(queues, slot, reference.weight);
        if !self.contains(slot) {
            self.admit(slot, fx);
            return Outcome::Admitted;
        }
        let count = &mut self.counts[slot as usize];
        *count += u8::from(*count < self.most);
        if is_other {
            self.resize(self.capacity, fx);
        }
        Outcome::Hit
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        crate::parts::prefetch::prefetch(&self.counts, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        forget_in([&mut self.small, &mut self.main, &mut self.ghosts], &mut self.places, slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.bounds = Bounds::of(&self.args, capacity).expect("new accepted the same arguments");
        self.make_space();
        while self.len() > capacity {
            self.evict(None, fx);
        }
        self.trim_ghosts(None, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.counts.resize((slots as usize).max(self.counts.len()), 0);
        self.make_space();
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), SMALL | MAIN)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.small.len() + self.main.len()
    }

    fn validate(&self) {
        for queue in [&self.small, &self.main, &self.ghosts] {
            queue.validate(&self.places);
        }
        assert!(self.len() <= self.capacity);
        assert!(self.ghosts.len() <= self.bounds.ghosts);
        assert!(self.counts.iter().all(|&count| count <= self.most));
    }
}

impl<W: Weights> S3FifoOf<W> {
    /// Space for as many entries as the queues can have.
    fn make_space(&mut self) {
        self.small.grow(&mut self.places, self.capacity);
        self.main.grow(&mut self.places, self.capacity);
        self.ghosts.grow(&mut self.places, self.bounds.ghosts.saturating_add(1));
    }

    #[inline(always)]
    fn admit(&mut self, slot: Slot, fx: &mut impl Effects) {
        while self.len() + self.places.weight(slot) > self.capacity {
            self.evict(Some(slot), fx);
        }
        self.counts[slot as usize] = 0;
        if self.places.tag(slot) == GHOST {
            self.ghosts.take(&mut self.places, slot);
            self.main.push(&mut self.places, slot);
        } else if self.spills && self.small.len() >= self.bounds.small {
            self.main.push(&mut self.places, slot);
        } else {
            self.small.push(&mut self.places, slot);
        }
    }

    /// Evicts a victim for `entering`.
    #[inline(always)]
    fn evict(&mut self, entering: Option<Slot>, fx: &mut impl Effects) {
        self.spills = false;
        while self.small.len() >= self.bounds.small || self.main.is_empty() {
            let Some(slot) = self.small.pop_oldest(&mut self.places) else { break };
            self.look(slot, fx);
            if self.counts[slot as usize] < self.promote {
                self.ghosts.push(&mut self.places, slot);
                fx.evict(slot);
                self.trim_ghosts(entering, fx);
                return;
            }
            self.counts[slot as usize] = 0;
            self.main.push(&mut self.places, slot);
        }
        self.evict_main(fx);
    }

    /// Takes a use that the host has noted, which it does only where one use counts as much as several.
    #[inline(always)]
    fn look(&mut self, slot: Slot, fx: &mut impl Effects) {
        if fx.take_accessed(slot) {
            self.counts[slot as usize] = 1;
        }
    }

    #[inline(always)]
    fn evict_main(&mut self, fx: &mut impl Effects) {
        while let Some(slot) = self.main.oldest(&self.places) {
            self.look(slot, fx);
            let count = &mut self.counts[slot as usize];
            if *count == 0 {
                return discard_oldest(&mut self.main, &mut self.places, fx);
            }
            *count -= 1;
            self.main.renew(&mut self.places, slot);
        }
    }

    /// Forgets the oldest ghosts beyond the bound. The block that is entering just stops being one.
    #[inline(always)]
    fn trim_ghosts(&mut self, entering: Option<Slot>, fx: &mut impl Effects) {
        while self.ghosts.len() > self.bounds.ghosts {
            match self.ghosts.pop_oldest(&mut self.places) {
                oldest if oldest == entering => {}
                Some(oldest) => fx.forget(oldest),
                None => return,
            }
        }
    }
}
