//! Hyperbolic caching: evict the block with the fewest uses for the time it has been here.
//!
//! Idea: a block's worth is its uses since it came in, divided by the references since then. That needs no decay: a
//! block without further uses loses worth with time, quickly when it is young. As worths change places without being
//! touched no order can be kept, so the victim is the least of a random sample.
//!
//! Paper: Blankstein, Sen, Freedman, "Hyperbolic caching: flexible caching for web applications", USENIX ATC 2017.
//!
//! Provenance: from secondary sources, the paper's text was not at hand. libCacheSim 0.3.5 draws other blocks; it is
//! within 0.4 points on twelve public traces.
//!
//! Deviations and readings: all blocks cost the same and have one size. Time is counted in references to this cache.
//! The use that brings a block in counts. Blocks are drawn with replacement; as many as the sample or fewer are all
//! looked at, in the order of the table, where the last one takes the place of one that leaves. Of equals the first
//! drawn leaves. Counts stop at 2^32 - 1.
//!
//! Cost: a hit reads a place and writes a count. A miss draws 64 blocks and looks at each, that is the algorithm: with
//! many misses the rate is a fifteenth of LRU's. Memory: 4 bytes a slot, 16 a block of capacity.
//!
//! When not to use it: loops and scans; where misses must be decided in well below a microsecond.

use crate::parts::table::Table;
use crate::policy::{Discard, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::random::Rng;
use crate::spec::SpecError;

/// The known facts of a block. Packed, so that four fill a cache line.
#[derive(Clone, Copy, Debug)]
struct Life {
    uses: u32,
    /// Time when it came in, high word first.
    since: [u32; 2],
}

/// The hyperbolic policy.
#[derive(Debug)]
pub struct Hyperbolic {
    capacity: u32,
    sample: u32,
    /// References so far.
    now: u64,
    random: Rng,
    resident: Table<Life>,
}

impl Policy for Hyperbolic {
    const INFO: Info = Info {
        name: "hyperbolic",
        family: "frequency",
        summary: "evict the block with the fewest uses for its time here, out of a random sample",
        params: &[Param {
            key: "sample",
            kind: ParamKind::Count { min: 1, max: 65536 },
            default: "64",
            doc: "blocks looked at for a victim (paper: 64)",
        }],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Hyperbolic {
            capacity: setup.capacity,
            sample: setup.args.count("sample") as u32,
            now: 0,
            random: Rng::new(setup.seed),
            resident: Table::new(setup.slots, setup.capacity),
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        if let Some(life) = self.resident.get_mut(slot) {
            life.uses = life.uses.saturating_add(1);
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.resident.push(slot, Life { uses: 1, since: [(self.now >> 32) as u32, self.now as u32] });
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.resident.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.resident.take(slot).is_some() {
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
        self.resident.grow(self.resident.slots(), capacity);
    }

    fn grow(&mut self, slots: u32) {
        self.resident.grow(slots, self.capacity);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.resident.contains(slot)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.resident.len()
    }

    fn validate(&self) {
        self.resident.validate();
        assert!(self.len() <= self.capacity);
        let sane = |&(_, life): &(Slot, Life)| life.uses >= 1 && life.since() <= self.now;
        assert!((0..self.len()).all(|at| sane(self.resident.row(at))), "a block without uses or from the future");
    }
}

impl Hyperbolic {
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let len = self.len();
        let mut worst = None;
        for number in 0..len.min(self.sample) {
            let at = if len <= self.sample { number } else { self.random.below(len) };
            let &(slot, life) = self.resident.row(at);
            let (uses, age) = (u128::from(life.uses), u128::from(self.now - life.since()));
            // uses / age < least_uses / least_age, without rounding.
            if worst.is_none_or(|(_, least_uses, least_age)| uses * least_age < least_uses * age) {
                worst = Some((slot, uses, age));
            }
        }
        if let Some((victim, ..)) = worst {
            self.resident.take(victim);
            fx.discard(victim);
        }
    }
}

impl Life {
    #[inline(always)]
    fn since(self) -> u64 {
        u64::from(self.since[0]) << 32 | u64::from(self.since[1])
    }
}
