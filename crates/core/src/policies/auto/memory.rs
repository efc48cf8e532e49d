//! The blocks: the known facts of each, and which are resident, remembered or sampled.

use super::curves::{BUCKETS, Computation, Curves, Saved, bucket};
use super::flows::{Class, Flows, interval};
use super::places::Places;
use super::promises::Promises;
use super::runs::{Follows, Runs};
use super::values::Values;
use super::worst::{Rank, Worst};
use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::policy::{Args, Effects, Outcome, Reference, Setup, Slot};
use crate::random::{Rng, mix};
use crate::spec::SpecError;

/// Most blocks drawn for a victim.
pub(super) const DRAWS_MOST: usize = 64;
/// The parameters that can change while the cache is in use.
pub(super) const CHANGEABLE: &[&str] = &["candidates", "look", "hit_time", "miss_time", "APP"];
/// Early on curves are computed after as large a part of all references as this, or so many.
const EARLY: (u32, u32) = (4, 256);

/// Curves are computed by the reference that is due for it,
pub(super) const INLINE: &str = "inline";
/// or by another thread meanwhile.
pub(super) const BACKGROUND: &str = "background";

const RESIDENT: u8 = 1;
const GHOST: u8 = 2;
const SAMPLED: u8 = 4;
const ANYWHERE: u8 = RESIDENT | GHOST | SAMPLED;
/// The reuse interval stands above the flags.
const INTERVAL_SHIFT: u32 = 3;
/// Stands above the buckets.
const DIRTY: u8 = 1 << 7;

/// The known facts of a block. 8 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Time of its last use; it may wrap.
    last: u32,
    /// Its flow then.
    class: Class,
    /// Ages in buckets before this one were counted; and whether it [is dirty](Known::is_dirty).
    counted: u8,
    /// Where it is, and its reuse interval.
    state: u8,
}

impl Known {
    /// It was written since it came in. Of a block that is not resident: it was when it left.
    pub(super) fn is_dirty(self) -> bool {
        self.counted & DIRTY != 0
    }

    fn counted(self) -> usize {
        usize::from(self.counted & !DIRTY)
    }

    fn interval(self) -> u8 {
        self.state >> INTERVAL_SHIFT
    }
}

/// The cache.
#[derive(Debug)]
pub(super) struct Memory {
    capacity: u32,
    args: Args,
    draws: u32,
    /// Curves are computed by the reference that is due for it.
    is_inline: bool,
    /// References so far; it may wrap.
    now: u32,
    /// References until curves are computed.
    left: u32,
    /// References so far, or 2^32 - 1 if there were more.
    made: u32,
    pub(super) known: Vec<Known>,
    /// How often known blocks came back since they are known, at most 255 times.
    pub(super) returns: Vec<u8>,
    pub(super) places: Places,
    most_ghosts: usize,
    sample: Sample,
    pub(super) flows: Flows,
    /// What hits save, and what room blocks take.
    values: Values,
    /// What applications were promised, if anything.
    promises: Option<Box<Promises>>,
    /// A computation for another thread.
    due: Option<Computation>,
    runs: Runs,
    random: Rng,
    worst: Worst,
}

/// Blocks whose hashes are below a bound, which sinks as there are more of them.
#[derive(Debug)]
struct Sample {
    most: usize,
    bound: u32,
    rows: Vec<(u32, Slot)>,
}

impl Memory {
    pub(super) fn new(setup: &Setup) -> Result<Memory, SpecError> {
        let (args, most) = (setup.args, setup.args.count("sample") as usize);
        let nodes = args.count("nodes") as usize;
        let values = Values::new(setup)?;
        let curves = Curves::new(nodes, args.real("prior") as f32, args.real("decay") as f32, values.are_by_time());
        let mut memory = Memory {
            capacity: setup.capacity,
            args: args.clone(),
            draws: args.count("candidates") as u32,
            is_inline: args.word("curves") == INLINE,
            now: 0,
            left: 0,
            made: 0,
            known: large::filled(Known::default(), setup.slots as usize),
            returns: large::filled(0, setup.slots as usize),
            places: Places::new(values.are_by_time()),
            most_ghosts: most_ghosts(args, setup.capacity),
            sample: Sample { most, bound: u32::MAX, rows: Vec::new() },
            flows: Flows::new(nodes, args.count("asks") as u32, curves),
            values,
            promises: Promises::new(setup)?,
            due: None,
            runs: Runs::new(),
            random: Rng::new(setup.seed),
            worst: Worst::new(),
        };
        memory.left = memory.period();
        memory.fit();
        Ok(memory)
    }

    /// Takes other arguments of [`CHANGEABLE`] parameters, which [`new`](Memory::new) accepts.
    pub(super) fn reconfigure(&mut self, setup: &Setup) {
        self.draws = setup.args.count("candidates") as u32;
        self.args = setup.args.clone();
        let slots = self.known.len() as u32;
        let setup = Setup { capacity: self.capacity, slots, ..setup.clone() };
        let promises = Promises::new(&setup).expect("new accepts the same arguments");
        let known = self.promises.take();
        self.promises = promises.map(|mut promises| {
            match known {
                Some(known) => promises.take_over(*known),
                None => (0..self.places.len()).for_each(|row| {
                    let slot = self.places.row(row);
                    let flow = self.flows.flow(self.known[slot as usize].class.into());
                    promises.take_in(slot, flow.app.unwrap_or(0));
                }),
            }
            promises
        });
    }

    /// Takes the memory that is needed from here on. Blocks leave only if there are more of them than fit.
    fn fit(&mut self) {
        let slots = self.known.len();
        let ghosts = self.most_ghosts.min(2 * slots) + 1;
        self.places.grow(slots as u32, self.capacity, ghosts);
        let sampled = self.sample.most.min(slots) + 1;
        self.sample.rows.reserve_exact(sampled.saturating_sub(self.sample.rows.len()));
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.known.resize(self.known.len().max(slots as usize), Known::default());
        self.returns.resize(self.known.len(), 0);
        self.values.grow(slots);
        self.promises.iter_mut().for_each(|promises| promises.grow(slots));
        self.fit();
    }

    /// References from one computation of the curves to the next.
    fn period(&self) -> u32 {
        let usual = (self.args.count("period") as u32).max(self.capacity / 10);
        usual.min((self.made / EARLY.0).max(EARLY.1))
    }

    pub(super) fn is_resident(&self, slot: Slot) -> bool {
        self.known[slot as usize].state & RESIDENT != 0
    }

    #[inline(always)]
    fn age(&self, slot: Slot) -> u32 {
        self.now.wrapping_sub(self.known[slot as usize].last)
    }

    #[inline(always)]
    pub(super) fn access(&mut self, slot: Slot, reference: &Reference, fx: &mut impl Effects) -> Outcome {
        self.now = self.now.wrapping_add(1);
        self.made = self.made.saturating_add(1);
        self.left -= 1;
        if self.left == 0 {
            self.compute();
        }
        let (is_known, before) = self.refer(slot, reference, fx);
        let hit = self.is_resident(slot);
        if let Some(promises) = &mut self.promises {
            promises.note(slot, reference, hit, is_known, fx);
        }
        if hit {
            self.join(before, slot);
            return Outcome::Hit;
        }
        if self.is_full() {
            let (index, victim) = self.find_victim();
            if self.index_outside(slot, before) < index {
                self.remember(slot, fx);
                return Outcome::Bypassed;
            }
            self.evict(victim, fx);
        }
        self.admit(slot);
        self.join(before, slot);
        Outcome::Admitted
    }

    /// Notes the reference: its evidence about the block's flow, and the flow of the block from here on. True if the
    /// block was known, and where time counts the resident one that it follows.
    #[inline(always)]
    fn refer(&mut self, slot: Slot, reference: &Reference, fx: &mut impl Effects) -> (bool, Option<Slot>) {
        let age = self.age(slot);
        let Follows { goes_on, before } = self.runs.follow(reference.file, reference.block, (slot, self.now));
        let known = self.known[slot as usize];
        let is_known = known.state & ANYWHERE != 0;
        // It may have left, and another block may have its slot by now. If hits are alike this is not needed.
        let is_there = |&(slot, time): &(Slot, u32)| self.is_resident(slot) && self.known[slot as usize].last == time;
        let before = before.filter(|_| self.values.are_by_time()).filter(is_there).map(|(slot, _)| slot);
        if known.state & SAMPLED != 0 {
            let saved = self.values.saved(known, reference);
            self.count(slot, bucket(age).max(known.counted()), Some(saved));
        } else if !is_known {
            self.enter(slot, reference, fx);
        }
        let flags = self.known[slot as usize].state & ANYWHERE;
        self.values.note(slot, reference);
        let is_dirty = reference.write || flags & RESIDENT != 0 && known.is_dirty();
        let interval = interval(is_known.then_some(age), goes_on);
        let returns = &mut self.returns[slot as usize];
        *returns = if is_known { returns.saturating_add(1) } else { 0 };
        let class = self.flows.class(reference, interval, *returns, flags & SAMPLED != 0);
        // It stops being a ghost: it comes in, or becomes a new one.
        let (counted, state) = (u8::from(is_dirty) * DIRTY, flags & !GHOST | interval << INTERVAL_SHIFT);
        self.known[slot as usize] = Known { last: self.now, class, counted, state };
        (is_known, before)
    }

    /// A block that was not known is sampled if its hash is below the bound.
    #[inline(always)]
    fn enter(&mut self, slot: Slot, reference: &Reference, fx: &mut impl Effects) {
        let hash = (mix(u64::from(reference.file) << 32 | u64::from(reference.block)) >> 32) as u32;
        if hash <= self.sample.bound {
            self.known[slot as usize] = Known { state: SAMPLED, ..Known::default() };
            self.sample.rows.push((hash, slot));
            self.thin(slot, fx);
        }
    }

    /// Notes which block this one follows, if that is still resident.
    #[inline(always)]
    fn join(&mut self, before: Option<Slot>, slot: Slot) {
        if let Some(before) = before.filter(|&before| self.is_resident(before)) {
            self.places.join(before, slot);
        }
    }

    /// Lowers the bound until the sample is small enough. `entering` is the block that is being referenced.
    #[inline(always)]
    fn thin(&mut self, entering: Slot, fx: &mut impl Effects) {
        while self.sample.rows.len() > self.sample.most {
            self.sample.bound = self.sample.bound / 4 * 3;
            let (bound, known) = (self.sample.bound, &mut self.known);
            self.sample.rows.retain(|&(hash, slot)| {
                if hash > bound {
                    known[slot as usize].state &= !SAMPLED;
                    if known[slot as usize].state & ANYWHERE == 0 && slot != entering {
                        fx.forget(slot);
                    }
                }
                hash <= bound
            });
        }
    }

    /// Counts that a sampled block has lived up to this bucket. If it was used in it: the saving of a hit.
    fn count(&mut self, slot: Slot, upto: usize, saved: Option<Saved>) {
        let known = &mut self.known[slot as usize];
        let (from, end) = (known.counted(), upto + usize::from(saved.is_some()));
        known.counted = upto as u8 | known.counted & DIRTY;
        let node = self.flows.node(known.class, known.interval());
        self.flows.see(node, from, end, saved.map(|saved| (upto, saved)));
    }

    /// Counts how long sampled blocks have lived by now, and computes all curves, or has them computed.
    #[cold]
    fn compute(&mut self) {
        self.left = self.period();
        for row in 0..self.sample.rows.len() {
            self.count_unused(self.sample.rows[row].1);
        }
        if self.is_inline {
            self.flows.compute();
            return self.renewed();
        }
        // The last one has not been taken.
        if let Some(due) = self.due.take() {
            self.take_back(due.run());
        }
        self.due = self.flows.hand_out();
    }

    /// The computation that is due; its taker must give it [back](Memory::take_back).
    pub(super) fn take_due(&mut self) -> Option<Computation> {
        self.due.take()
    }

    /// Goes on with curves that were computed elsewhere.
    pub(super) fn take_back(&mut self, computed: Computation) {
        self.flows.curves.take_back(computed);
        self.renewed();
    }

    /// Curves are others now.
    fn renewed(&mut self) {
        self.worst.clear();
        if let Some(promises) = &mut self.promises {
            promises.learn(&self.flows);
        }
    }

    /// Counts that a sampled block has lived until now and was not used.
    fn count_unused(&mut self, slot: Slot) {
        let bucket = bucket(self.age(slot));
        if bucket > self.known[slot as usize].counted() {
            self.count(slot, bucket, None);
        }
    }

    /// The flow of a block.
    #[inline(always)]
    pub(super) fn node(&self, slot: Slot) -> usize {
        let known = self.known[slot as usize];
        self.flows.node(known.class, known.interval())
    }

    #[inline(always)]
    fn index_among<const ALIKE: bool>(&self, slot: Slot) -> f32 {
        if ALIKE { self.index_alike(slot) } else { self.index(slot) }
    }

    /// The value of a block by its flow and age only.
    #[inline(always)]
    fn index_alike(&self, slot: Slot) -> f32 {
        self.flows.curves.index(self.node(slot), self.age(slot))
    }

    /// The value of a block without regard to promises.
    #[inline(always)]
    pub(super) fn worth(&self, slot: Slot) -> f32 {
        self.index_alike(slot) / self.values.room(slot)
    }

    /// By what a resident block is compared with others.
    #[inline(always)]
    fn index(&self, slot: Slot) -> f32 {
        self.index_beside(slot, || self.places.beside(slot).count())
    }

    /// The value by which a block that is not resident is compared with those that are. Its successor is unknown.
    fn index_outside(&self, slot: Slot, before: Option<Slot>) -> f32 {
        self.index_beside(slot, || usize::from(before.is_some()))
    }

    /// By what a block is compared with others, of whose neighbours so many are kept.
    #[inline(always)]
    fn index_beside(&self, slot: Slot, kept: impl FnOnce() -> usize) -> f32 {
        let worth = if self.values.are_by_time() { self.worth_beside(slot, kept) } else { self.worth(slot) };
        match &self.promises {
            Some(promises) => worth * promises.weight(slot),
            None => worth,
        }
    }

    /// The value of a block next to those that are kept: as a hole it would cost a separate read, and
    /// alone it parts the read of the others.
    fn worth_beside(&self, slot: Slot, kept: impl FnOnce() -> usize) -> f32 {
        let (worth, apart) = (self.worth(slot), self.flows.curves.apart(self.node(slot)));
        if apart <= 1.0 {
            return worth;
        }
        match kept() {
            0 => worth / apart,
            1 => worth,
            _ => worth * apart,
        }
    }

    /// True if something must leave for what comes in.
    pub(super) fn is_full(&self) -> bool {
        self.places.len() >= self.capacity
    }

    /// The lowest of some random blocks and the worst of the last time, and its index. The others become the
    /// worst.
    fn find_victim(&mut self) -> (f32, Slot) {
        let mut slots = [0; DRAWS_MOST];
        let len = self.places.len();
        let drawn = &mut slots[..self.draws.min(len) as usize];
        for (row, slot) in (0..).zip(drawn.iter_mut()) {
            let row = if len > self.draws { self.random.below(len) } else { row };
            *slot = self.places.row(row);
            prefetch(&self.known, *slot as usize);
        }
        let drawn = drawn.len();
        let mut worst = std::mem::take(&mut self.worst);
        // In most caches nothing but flow and age tells blocks apart, and what else might is not asked for each.
        if !self.values.are_by_time() && self.promises.is_none() && !self.values.are_by_size() {
            self.look::<true>(&mut worst, &slots[..drawn]);
        } else {
            self.look::<false>(&mut worst, &slots[..drawn]);
        }
        self.worst = worst;
        self.worst.lowest()
    }

    /// Looks at the worst blocks again, and at those that were drawn. `ALIKE` if only flow and age tell blocks apart.
    fn look<const ALIKE: bool>(&self, worst: &mut Worst, drawn: &[Slot]) {
        worst.rank_again(|slot| Rank::new(self.index_among::<ALIKE>(slot), self.age(slot)));
        for &slot in drawn {
            let index = self.index_among::<ALIKE>(slot);
            if worst.may_hold(index) {
                worst.enter((Rank::new(index, self.age(slot)), slot));
            }
        }
    }

    fn admit(&mut self, slot: Slot) {
        self.known[slot as usize].state |= RESIDENT;
        self.places.come_in(slot);
        if let Some(promises) = &mut self.promises {
            promises.admit(slot);
        }
    }

    /// Takes a resident block out.
    fn release(&mut self, slot: Slot) {
        self.places.go_out(slot);
        if let Some(promises) = &mut self.promises {
            promises.release(slot);
        }
        self.worst.leave(slot);
    }

    fn evict(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.look_around(slot);
        self.release(slot);
        self.known[slot as usize].state &= !RESIDENT;
        fx.evict(slot);
        self.remember(slot, fx);
    }

    /// Beside a block that leaves others are worth less: they are looked at the next time.
    fn look_around(&mut self, slot: Slot) {
        self.places.beside(slot).for_each(|other| self.worst.look_at(other));
    }

    /// A block that is not resident becomes a ghost in place of the oldest one.
    fn remember(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.known[slot as usize].state |= GHOST;
        self.places.leave(slot);
        self.trim_ghosts(fx);
    }

    fn trim_ghosts(&mut self, fx: &mut impl Effects) {
        while self.places.left() > self.most_ghosts {
            let (slot, is_last) = self.places.take_oldest().expect("more ghosts than may be");
            let known = &mut self.known[slot as usize];
            if known.state & GHOST != 0 && is_last {
                known.state &= !GHOST;
                if known.state & ANYWHERE == 0 {
                    fx.forget(slot);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let flags = self.known[slot as usize].state & ANYWHERE;
        if flags == 0 {
            return;
        }
        if flags & SAMPLED != 0 {
            self.count_unused(slot);
            let row = self.sample.rows.iter().position(|row| row.1 == slot).expect("a sampled block");
            self.sample.rows.swap_remove(row);
        }
        if flags & RESIDENT != 0 {
            self.release(slot);
        }
        self.known[slot as usize] = Known::default();
        fx.forget(slot);
    }

    pub(super) fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.most_ghosts = most_ghosts(&self.args, capacity);
        self.promises.iter_mut().for_each(|promises| promises.resize(capacity));
        self.left = self.left.min(self.period());
        while self.places.len() > capacity {
            let (_, victim) = self.find_victim();
            self.evict(victim, fx);
        }
        self.trim_ghosts(fx);
        self.fit();
    }

    pub(super) fn validate(&self) {
        self.places.validate(|slot| self.known[slot as usize].state & GHOST != 0);
        self.flows.validate();
        let count = |flag: u8| self.known.iter().filter(|known| known.state & flag != 0).count();
        assert_eq!(count(RESIDENT), self.places.len() as usize);
        assert_eq!(count(SAMPLED), self.sample.rows.len());
        assert!(self.sample.rows.iter().all(|&(hash, _)| hash <= self.sample.bound));
        assert!(self.places.len() <= self.capacity && self.sample.rows.len() <= self.sample.most);
        assert!(self.places.left() <= self.most_ghosts);
        assert!(self.known.iter().all(|known| known.counted() < BUCKETS));
        if let Some(promises) = &self.promises {
            promises.validate((0..self.places.len()).map(|row| self.places.row(row)));
        }
        assert!(self.worst.slots().all(|slot| self.is_resident(slot)));
    }
}

/// Blocks that are remembered after they left.
pub(super) fn most_ghosts(args: &Args, capacity: u32) -> usize {
    (args.real("ghosts") * f64::from(capacity)) as usize
}
