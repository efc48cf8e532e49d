//! Caches whose new blocks enter at one of two places, and the duel that chooses.
//!
//! *Near* is where new blocks enter by the usual order of eviction; *far* is where they leave next unless they are used
//! before, so that a loop or a scan displaces but itself. Bimodal insertion is far, with a small probability near. A
//! duel runs two shadows of the cache on a sample of the blocks, one always near, one bimodal, and a counter tells
//! which of them misses less. Shadows know blocks, not data.
//!
//! Processors sample by sets: the paper's leaders are sets of their own. A cache that is one set has none, and blocks
//! that merely enter at different places of one order displace one another, so each way would be judged by what the
//! other does. Hence the shadows. Which blocks are watched follows from their addresses.

use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::policy::{Args, Effects, Outcome, Param, ParamKind, Reference, Slot};
use crate::random::Rng;

/// The counter of a duel goes from 0 to this; in the upper half bimodal insertion wins (both papers: 10 bits).
const COUNTER_MOST: u32 = 1023;
/// "Not watched", in place of a number.
const NOBODY: u32 = u32::MAX;

/// An order of eviction with two places to enter.
pub trait Order: Send {
    /// Nothing, with the same parameters, for `bound` slots below `slots`.
    fn empty(&self, slots: u32, bound: u32) -> Self;
    /// Grows to hold slots below `slots`, `bound` of them in the order.
    fn grow(&mut self, slots: u32, bound: u32);
    /// True if `slot` is in the order.
    fn contains(&self, slot: Slot) -> bool;
    /// Slots in the order.
    fn count(&self) -> u32;
    /// `slot`, which is in the order, is used.
    fn renew(&mut self, slot: Slot);
    /// `slot`, which is not in the order, enters.
    fn insert(&mut self, slot: Slot, far: bool);
    /// Takes the next victim out.
    fn pop(&mut self) -> Option<Slot>;
    /// Takes `slot`, which is in the order, out.
    fn take(&mut self, slot: Slot);
    /// Fetches what the next call about `slot` touches.
    fn prefetch(&self, slot: Slot);
    /// Panics on a broken invariant.
    fn validate(&self);
}

/// Where new blocks enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// Near.
    Near,
    /// Far, but near with a probability.
    Bimodal,
    /// Whichever misses less on a sample.
    Duel(Rate),
}

/// How large a sample a duel watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// One block in this many...
    pub every: u32,
    /// ...or more of them, if the shadows would have fewer blocks than this.
    pub least: u32,
}

impl Rate {
    /// The parameter for `every`.
    pub const DUEL: Param = Param {
        key: "duel",
        kind: ParamKind::Count { min: 1, max: 1 << 20 },
        default: "32",
        doc: "one block in this many is watched by the duel (paper: one set in 32)",
    };
    /// The parameter for `least`.
    pub const SHADOW: Param = Param {
        key: "shadow",
        kind: ParamKind::Count { min: 1, max: 1 << 20 },
        default: "512",
        doc: "more blocks are watched if the duel's shadows would be smaller than this (paper: 512 blocks)",
    };

    /// The rate that these arguments set.
    pub fn of(args: &Args) -> Rate {
        Rate { every: args.count("duel") as u32, least: args.count("shadow") as u32 }
    }
}

/// A cache with this order of eviction.
#[derive(Debug)]
pub struct Bimodal<O> {
    capacity: u32,
    slots: u32,
    order: O,
    insertion: Insertion,
    lots: Lots,
    duel: Option<Duel<O>>,
}

impl<O: Order> Bimodal<O> {
    /// An empty cache. Bimodal insertion is near with probability `epsilon`.
    pub fn new(order: &O, insertion: Insertion, epsilon: f64, [capacity, slots]: [u32; 2], seed: u64) -> Bimodal<O> {
        let order = order.empty(slots, capacity.min(slots));
        let duel = match insertion {
            Insertion::Duel(rate) => Some(Duel::new(&order, Sample::of(rate, capacity), slots)),
            _ => None,
        };
        Bimodal { capacity, slots, order, insertion, lots: Lots { random: Rng::new(seed), epsilon }, duel }
    }

    /// Blocks that the cache may know, the one being referenced included.
    pub fn identities(insertion: Insertion, capacity: u32) -> u64 {
        let shadows = match insertion {
            Insertion::Duel(rate) => 2 * u64::from(Sample::of(rate, capacity).blocks),
            _ => 0,
        };
        u64::from(capacity) + shadows + 1
    }

    /// References the block in `slot`.
    #[inline(always)]
    pub fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if let Some(duel) = &mut self.duel
            && duel.sample.watches(reference)
        {
            duel.watch(slot, &mut self.lots, &self.order, fx);
        }
        if self.order.contains(slot) {
            self.order.renew(slot);
            return Outcome::Hit;
        }
        if self.order.count() == self.capacity {
            self.evict(fx);
        }
        let bimodal = match &self.duel {
            Some(duel) => duel.bimodal_wins(),
            None => self.insertion == Insertion::Bimodal,
        };
        self.order.insert(slot, bimodal && self.lots.far());
        Outcome::Admitted
    }

    /// Fetches what the next access to `slot` touches.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        self.order.prefetch(slot);
        if let Some(duel) = &self.duel {
            prefetch(&duel.numbers, slot as usize);
        }
    }

    /// Drops a block that became invalid.
    pub fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let resident = self.order.contains(slot);
        if resident {
            self.order.take(slot);
        }
        let watched = self.duel.as_mut().is_some_and(|duel| duel.remove(slot));
        if resident || watched {
            fx.forget(slot);
        }
    }

    /// Sets the capacity and evicts until the rest fits. The shadows follow.
    pub fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.order.count() > capacity {
            self.evict(fx);
        }
        self.order.grow(self.slots, capacity.min(self.slots));
        if let (Some(duel), Insertion::Duel(rate)) = (&mut self.duel, self.insertion) {
            duel.resize(Sample::of(rate, capacity), self.slots, &self.order, fx);
        }
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        self.slots = self.slots.max(slots);
        self.order.grow(self.slots, self.capacity.min(self.slots));
        if let Some(duel) = &mut self.duel {
            duel.grow(self.slots);
        }
    }

    /// True if the block in `slot` is resident.
    #[inline(always)]
    pub fn contains(&self, slot: Slot) -> bool {
        self.order.contains(slot)
    }

    /// Resident blocks.
    pub fn len(&self) -> u32 {
        self.order.count()
    }

    /// True if nothing is resident.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Panics on a broken invariant.
    pub fn validate(&self) {
        self.order.validate();
        assert!(self.order.count() <= self.capacity);
        if let Some(duel) = &self.duel {
            duel.validate();
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(victim) = self.order.pop() else { return };
        fx.evict(victim);
        if self.duel.as_ref().is_none_or(|duel| duel.numbers[victim as usize] == NOBODY) {
            fx.forget(victim);
        }
    }
}

/// Draws the lots of bimodal insertion.
#[derive(Debug)]
struct Lots {
    random: Rng,
    epsilon: f64,
}

impl Lots {
    #[inline(always)]
    fn far(&mut self) -> bool {
        self.random.unit() >= self.epsilon
    }
}

/// The sampled blocks of a duel: one block in `every`, in shadows of `blocks` blocks each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Of so many blocks one is watched.
    pub every: u32,
    /// Capacity of a shadow.
    pub blocks: u32,
}

impl Sample {
    /// The sample at this rate for a cache of `capacity` blocks.
    pub fn of(rate: Rate, capacity: u32) -> Sample {
        let every = rate.every.min(capacity / rate.least).max(1);
        Sample { every, blocks: capacity / every }
    }

    /// True if the referenced block is watched.
    #[inline(always)]
    pub fn watches(self, reference: Reference) -> bool {
        let address = u64::from(reference.file) << 32 | u64::from(reference.block);
        Rng::new(address).bits() <= u64::MAX / u64::from(self.every)
    }
}

/// Two shadows of the cache. Their slots are numbers that watched blocks hold as long as one of them knows them.
#[derive(Debug)]
struct Duel<O> {
    sample: Sample,
    near: O,
    bimodal: O,
    counter: u32,
    /// By slot: its number, or [`NOBODY`].
    numbers: Vec<u32>,
    /// By number: the slot that holds it.
    owners: Vec<Slot>,
    /// The unused numbers.
    free: Vec<u32>,
}

impl<O: Order> Duel<O> {
    fn new(order: &O, sample: Sample, slots: u32) -> Duel<O> {
        let mut duel = Duel {
            sample,
            near: order.empty(0, 0),
            bimodal: order.empty(0, 0),
            counter: COUNTER_MOST.div_ceil(2),
            numbers: large::filled(NOBODY, slots as usize),
            owners: Vec::new(),
            free: Vec::new(),
        };
        duel.fit(slots);
        duel
    }

    #[inline(always)]
    fn bimodal_wins(&self) -> bool {
        self.counter > COUNTER_MOST / 2
    }

    /// A reference to a watched block. If only one of the shadows holds it, the counter moves.
    fn watch(&mut self, slot: Slot, lots: &mut Lots, cache: &O, fx: &mut impl Effects) {
        let number = self.number(slot);
        let hits = [self.near.contains(number), self.bimodal.contains(number)];
        match hits {
            [true, false] => self.counter = self.counter.saturating_sub(1),
            [false, true] => self.counter = (self.counter + 1).min(COUNTER_MOST),
            _ => {}
        }
        for (hit, is_bimodal) in hits.into_iter().zip([false, true]) {
            let blocks = self.sample.blocks;
            let shadow = if is_bimodal { &mut self.bimodal } else { &mut self.near };
            if hit {
                shadow.renew(number);
                continue;
            }
            let victim = if shadow.count() == blocks { shadow.pop() } else { None };
            shadow.insert(number, is_bimodal && lots.far());
            if let Some(victim) = victim {
                self.release(victim, cache, fx);
            }
        }
    }

    /// The number of `slot`, which is given one if it has none.
    fn number(&mut self, slot: Slot) -> u32 {
        let held = self.numbers[slot as usize];
        if held != NOBODY {
            return held;
        }
        let number = self.free.pop().expect("a number for each place in the shadows and one more");
        self.numbers[slot as usize] = number;
        self.owners[number as usize] = slot;
        number
    }

    /// A shadow dropped the block with this number; frees it unless the other one holds it.
    fn release(&mut self, number: u32, cache: &O, fx: &mut impl Effects) {
        if !self.near.contains(number) && !self.bimodal.contains(number) {
            let slot = self.free_number(number);
            if !cache.contains(slot) {
                fx.forget(slot);
            }
        }
    }

    fn free_number(&mut self, number: u32) -> Slot {
        let slot = std::mem::replace(&mut self.owners[number as usize], NOBODY);
        self.numbers[slot as usize] = NOBODY;
        self.free.push(number);
        slot
    }

    /// Drops `slot` from both shadows; false if it was not watched.
    fn remove(&mut self, slot: Slot) -> bool {
        let number = self.numbers.get(slot as usize).copied().unwrap_or(NOBODY);
        if number == NOBODY {
            return false;
        }
        for shadow in [&mut self.near, &mut self.bimodal] {
            if shadow.contains(number) {
                shadow.take(number);
            }
        }
        self.free_number(number);
        true
    }

    /// Follows the cache. Another rate of sampling makes the shadows start afresh; the counter keeps its value.
    fn resize(&mut self, sample: Sample, slots: u32, cache: &O, fx: &mut impl Effects) {
        let most = if sample.every == self.sample.every { sample.blocks } else { 0 };
        self.sample = sample;
        while self.near.count() > most {
            let dropped = self.near.pop();
            dropped.into_iter().for_each(|number| self.release(number, cache, fx));
        }
        while self.bimodal.count() > most {
            let dropped = self.bimodal.pop();
            dropped.into_iter().for_each(|number| self.release(number, cache, fx));
        }
        self.fit(slots);
    }

    fn grow(&mut self, slots: u32) {
        self.numbers.resize((slots as usize).max(self.numbers.len()), NOBODY);
        self.fit(slots);
    }

    /// Capacity for all that the shadows may come to hold.
    fn fit(&mut self, slots: u32) {
        let bound = self.sample.blocks.min(slots);
        let numbers = bound.saturating_mul(2).saturating_add(1);
        self.near.grow(numbers, bound);
        self.bimodal.grow(numbers, bound);
        let known = self.owners.len() as u32;
        self.owners.resize((numbers as usize).max(self.owners.len()), NOBODY);
        self.free.extend(known..numbers);
        self.free.reserve(self.owners.len() - self.free.len());
    }

    fn validate(&self) {
        assert!(self.counter <= COUNTER_MOST);
        for shadow in [&self.near, &self.bimodal] {
            shadow.validate();
            assert!(shadow.count() <= self.sample.blocks, "a shadow exceeds its capacity");
        }
        for (number, &slot) in (0..).zip(&self.owners) {
            let held = self.near.contains(number) || self.bimodal.contains(number);
            assert_eq!(held, slot != NOBODY, "a number is held for nothing");
            assert!(!held || self.numbers[slot as usize] == number, "an owner does not know its number");
        }
        let held = self.numbers.iter().filter(|&&number| number != NOBODY).count();
        assert_eq!(held + self.free.len(), self.owners.len(), "numbers that are neither held nor free");
    }
}
