//! OPT: evict the block that is used again farthest in the future. The bound that no online policy beats.
//!
//! Idea: the simulator knows the whole trace. The positions of the residents' next uses are distinct, so a set of
//! positions orders the residents, and the trace gives the block that is used at a position. Residents that are
//! never used again wait apart and leave first.
//!
//! Paper: Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 1966;
//! optimality: Mattson and others 1970.
//!
//! Provenance: equal to libCacheSim 0.3.5 on twelve public traces.
//!
//! Deviations and readings: every block is admitted (`opt-bypass` may refuse). Of several blocks never used again, the
//! least recently used leaves first; ties do not change the hits. On traces of memory it is called on faults alone and
//! looks next uses up (`opt/asked.rs`); there the page with the lowest number leaves first, and frees are not foreseen:
//! a page that is freed gives its frame back then, so with frees this is OPT for the uses alone.
//!
//! Cost: at most six words of a bitmap tree an operation; a hit clears a bit at the present and sets one at the next
//! use. Memory: 4 bytes a slot, 1 bit a reference of the trace, 4 bytes a block, and the two columns of the trace's
//! future, shared by all cells.
//!
//! When not to use it: it cannot run on a live cache, and it says nothing of writes back or of blocks that differ in
//! size or cost.

mod asked;
mod positions;

use positions::Positions;
use std::collections::VecDeque;

use crate::parts::large;

use crate::parts::prefetch::prefetch;
use crate::policy::dynamic::DynPolicy;
use crate::policy::{
    Args, Discard, Effects, Future, Hits, Info, OnePass, Outcome, Policy, Reference, Requirements, Setup, Slot, Told,
};
use crate::spec::SpecError;

/// The OPT policy.
#[derive(Debug)]
pub struct Opt(Foresight);

impl Policy for Opt {
    const INFO: Info = Info {
        name: "opt",
        aliases: &["belady", "min"],
        family: "optimal",
        summary: "evict the block used again farthest in the future: the bound of all policies that admit every block",
        offline: true,
        one_pass: Some(OnePass::NextUse),
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Foresight::new(setup, Self::INFO.name).map(Opt)
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { hits: Hits::Nothing, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let next_use = self.0.next_use(reference.time);
        if self.0.contains(slot) {
            self.0.renew(slot, next_use);
            return Outcome::Hit;
        }
        if self.0.is_full() {
            self.0.evict(fx);
        }
        self.0.insert(slot, next_use);
        Outcome::Admitted
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
        self.0.len
    }

    fn validate(&self) {
        self.0.validate();
    }
}

/// Builds OPT for a listed future, or for a host that answers queries.
pub fn boxed(setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError> {
    match setup.future {
        Some(Future::Asked(_)) => Ok(Box::new(asked::Asking::new(setup)?)),
        _ => Ok(Box::new(Opt::new(setup)?)),
    }
}

/// References ahead of the present at which the word of a next use is fetched.
const LOOKAHEAD: usize = 8;

/// No position is the next use of anything at 0, so 0 means "none".
const NONE: u32 = 0;

const UNKNOWN: Slot = Slot::MAX;

/// The residents of a cache in the order of their next uses.
pub(super) struct Foresight {
    capacity: u32,
    pub(super) len: u32,
    future: Told,
    /// By slot: the position of its next use, [`Future::NEVER`], or [`NONE`] if it is not resident.
    next_uses: Vec<u32>,
    /// The next uses of the residents that have one.
    ahead: Positions,
    /// The greatest of `ahead`, or [`NONE`].
    farthest: u32,
    /// The slot used at `farthest`, if that is known without looking into the future's column; else [`UNKNOWN`].
    farthest_slot: Slot,
    /// Residents that are never used again, least recently used first, among such as were removed since.
    done: VecDeque<Slot>,
    /// How many of `done` are resident.
    done_len: u32,
}

fn unforeseen(policy: &str) -> SpecError {
    SpecError::new(format!("{policy} must know the future, so it can be simulated on a whole trace but not run"))
}

impl Foresight {
    /// An empty cache; an error if the future is not known.
    pub(super) fn new(setup: &Setup, policy: &str) -> Result<Foresight, SpecError> {
        let Some(Future::Told(future)) = setup.future else { return Err(unforeseen(policy)) };
        let references = AsRef::<[u32]>::as_ref(&*future.next_use).len();
        Ok(Foresight {
            capacity: setup.capacity,
            len: 0,
            future: future.clone(),
            next_uses: large::filled(NONE, setup.slots as usize),
            ahead: Positions::new(references),
            farthest: NONE,
            farthest_slot: UNKNOWN,
            done: VecDeque::with_capacity(setup.capacity.min(setup.slots) as usize),
            done_len: 0,
        })
    }

    /// The next use of the block referenced at `time`.
    #[inline(always)]
    pub(super) fn next_use(&self, time: u64) -> u32 {
        let next_uses = (*self.future.next_use).as_ref();
        if let Some(&soon) = next_uses.get(time as usize + LOOKAHEAD) {
            self.ahead.prefetch(soon);
        }
        next_uses[time as usize]
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, slot: Slot) {
        prefetch(&self.next_uses, slot as usize);
    }

    #[inline(always)]
    pub(super) fn contains(&self, slot: Slot) -> bool {
        self.next_uses[slot as usize] != NONE
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// The next use of the resident used again last: the one that [`Foresight::evict`] would take.
    #[inline(always)]
    pub(super) fn last_use(&self) -> u32 {
        if self.done_len > 0 { Future::NEVER } else { self.farthest }
    }

    /// The resident `slot` is being used, and then at `next_use`.
    #[inline(always)]
    pub(super) fn renew(&mut self, slot: Slot, next_use: u32) {
        self.leave(self.next_uses[slot as usize]);
        self.enter(slot, next_use);
    }

    /// Takes in `slot`.
    #[inline(always)]
    pub(super) fn insert(&mut self, slot: Slot, next_use: u32) {
        self.len += 1;
        self.enter(slot, next_use);
    }

    /// Evicts the block used again last.
    #[inline(always)]
    pub(super) fn evict(&mut self, fx: &mut impl Effects) {
        let last_use = self.last_use();
        let victim = if last_use == Future::NEVER { self.oldest_done() } else { self.slot_at_farthest() };
        self.drop(victim, last_use);
        fx.discard(victim);
    }

    pub(super) fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.drop(slot, self.next_uses[slot as usize]);
            fx.forget(slot);
        }
    }

    pub(super) fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len > capacity {
            self.evict(fx);
        }
        self.reserve();
    }

    pub(super) fn grow(&mut self, slots: u32) {
        if slots as usize > self.next_uses.len() {
            self.next_uses.resize(slots as usize, NONE);
            self.reserve();
        }
    }

    pub(super) fn validate(&self) {
        let uses = || self.next_uses.iter().copied().filter(|&next_use| next_use != NONE);
        assert!(self.len <= self.capacity);
        assert_eq!(uses().count(), self.len as usize, "residents are miscounted");
        let ahead = uses().filter(|&next_use| next_use != Future::NEVER);
        assert_eq!(ahead.clone().count(), self.ahead.count(), "next uses of blocks that are not resident");
        assert!(ahead.clone().all(|next_use| self.ahead.contains(next_use)), "a next use is missing");
        assert_eq!(self.farthest, ahead.max().unwrap_or(NONE));
        let done = self.done.iter().filter(|&&slot| self.next_uses[slot as usize] == Future::NEVER).count();
        assert_eq!(done, self.done_len as usize, "blocks never used again are miscounted");
        assert_eq!(done, uses().filter(|&next_use| next_use == Future::NEVER).count(), "blocks never used again");
    }

    #[inline(always)]
    fn enter(&mut self, slot: Slot, next_use: u32) {
        self.next_uses[slot as usize] = next_use;
        if next_use == Future::NEVER {
            return self.push_done(slot);
        }
        self.ahead.insert(next_use);
        if next_use > self.farthest {
            (self.farthest, self.farthest_slot) = (next_use, slot);
        }
    }

    #[inline(always)]
    fn leave(&mut self, next_use: u32) {
        if next_use == Future::NEVER {
            self.done_len -= 1;
            return;
        }
        self.ahead.remove(next_use);
        if next_use == self.farthest {
            (self.farthest, self.farthest_slot) = (self.ahead.greatest().unwrap_or(NONE), UNKNOWN);
            // It is likely to be the next victim.
            prefetch((*self.future.slots).as_ref(), self.farthest as usize);
        }
    }

    #[inline(always)]
    fn drop(&mut self, slot: Slot, next_use: u32) {
        self.leave(next_use);
        self.next_uses[slot as usize] = NONE;
        self.len -= 1;
    }

    #[inline(always)]
    fn slot_at_farthest(&self) -> Slot {
        match self.farthest_slot {
            UNKNOWN => (*self.future.slots).as_ref()[self.farthest as usize],
            slot => slot,
        }
    }

    #[inline(always)]
    fn oldest_done(&mut self) -> Slot {
        loop {
            let slot = self.done.pop_front().expect("done_len counts residents in done");
            if self.next_uses[slot as usize] == Future::NEVER {
                return slot;
            }
        }
    }

    #[inline(always)]
    fn push_done(&mut self, slot: Slot) {
        if self.done.len() == self.done.capacity() {
            let next_uses = &self.next_uses;
            self.done.retain(|&slot| next_uses[slot as usize] == Future::NEVER);
        }
        self.done.push_back(slot);
        self.done_len += 1;
    }

    fn reserve(&mut self) {
        let bound = (self.capacity as usize).min(self.next_uses.len());
        self.done.reserve(bound.saturating_sub(self.done.len()));
    }
}

impl std::fmt::Debug for Foresight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foresight").field("capacity", &self.capacity).field("len", &self.len).finish_non_exhaustive()
    }
}
