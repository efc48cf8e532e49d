//! PCC: tell programs that read in sequence or in loops from the others, and give the space to those that gain most by
//! it.
//!
//! Idea: blocks that the same place of a program refers to are referenced alike. What became of the blocks that it
//! referenced before tells whether its next ones will come back: never, after the period of a loop, or irregularly. The
//! cache is divided among the three by marginal gain, as UBM does (`families/partitions.rs`).
//!
//! Paper: Gniady, Butt, Hu, "Program-counter-based pattern classification in buffer caching", OSDI 2004.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: no trace format carries program counters. The key is therefore the application and whether
//! it reads or writes (`context=app`: the application alone), so one that does several things at once looks irregular.
//! Each context counts its blocks that were referenced once, and the references that came back to a block that it was
//! the last to use: regular ones, after at least half and at most twice the context's period, and irregular ones. The
//! period is the average of the last interval and the period before, halves down; a reference to the block referenced
//! just before says nothing. A context is sequential when its blocks seen once are `seen_once` and more than all that
//! came back, looping when the regular references are more than all else, and other if neither. The counts are halved
//! when they sum up to twice the capacity or eight times `seen_once`, whichever is more, so that an application may
//! change its ways. Blocks are remembered after they left, `ghosts` times the capacity of them, or a loop larger than
//! the cache would not be noticed. When a context stops looping, or falls out of the table, its blocks go to the LRU
//! end of the LRU list.
//!
//! Cost: O(1) amortised, O(log `contexts`) when a block joins or leaves a loop. Every reference reads and writes what
//! is known of its block besides the block's place. Memory: 28 bytes a slot, ghosts included, 24 to 48 bytes a block, 8
//! to 16 a ghost, about 90 bytes for each of `contexts`.
//!
//! When not to use it: with few applications that each do everything, as servers do: there is then nothing to tell
//! apart.

use crate::families::partitions::{AccessPattern, FREE_TAG, Partitions};
use crate::parts::ghost::forget_oldest;
use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{ABSENT, Queue, Tag};
use crate::parts::recent_table::{Index, RecentTable};
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const GHOST: Tag = FREE_TAG;

/// The known facts of an application's reads or writes.
#[derive(Clone, Copy, Debug, Default)]
struct Context {
    once: u32,
    regular: u32,
    irregular: u32,
    /// References from one use of a block to the next, 0 if none came back.
    period: u32,
    looping: bool,
}

impl Context {
    fn sum(&self) -> u64 {
        u64::from(self.once) + u64::from(self.regular) + u64::from(self.irregular)
    }

    /// A block came back after `interval` references; `first`: for the first time.
    fn note_return(&mut self, interval: u32, first: bool) {
        self.once = self.once.saturating_sub(u32::from(first));
        let period = if self.period == 0 { interval } else { self.period };
        let is_regular = interval >= period / 2 && interval <= period.saturating_mul(2);
        *(if is_regular { &mut self.regular } else { &mut self.irregular }) += 1;
        self.period = period.midpoint(interval);
    }

    fn halve(&mut self) {
        let Context { once, regular, irregular, .. } = *self;
        *self = Context { once: once / 2, regular: regular / 2, irregular: irregular / 2, ..*self };
    }
}

/// The known facts of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Key of the context that used it last.
    context: u64,
    /// Twice the time of that use, and 1 if the block had come back by then.
    use_and_return: u64,
}

/// The PCC policy.
#[derive(Debug)]
pub struct Pcc {
    args: Args,
    seen_once: u64,
    by_write: bool,
    most_ghosts: u32,
    /// Counts of a context that sum up to this are halved.
    most_counts: u64,
    contexts: RecentTable<Context>,
    seen: Vec<Seen>,
    partitions: Partitions,
    ghosts: Queue,
}

impl Policy for Pcc {
    const INFO: Info = Info {
        name: "pcc",
        family: "loop",
        summary: "divides the cache among sequential, looping and other applications by what a block gains in each",
        params: &[
            Param {
                key: "contexts",
                kind: ParamKind::Count { min: 1, max: 1 << 20 },
                default: "4096",
                doc: "number of applications that are distinguished, reads and writes separately: those with the latest references",
            },
            Param {
                key: "context",
                kind: ParamKind::Word(&["app-write", "app"]),
                default: "app-write",
                doc: "whether an application's reads and writes are distinguished (paper: program counters)",
            },
            Param {
                key: "seen_once",
                kind: ParamKind::Count { min: 1, max: 1 << 30 },
                default: "20",
                doc: "blocks seen once from which on a context can count as sequential",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Multiple,
                default: "4",
                doc: "most blocks remembered after they left, times the capacity",
            },
        ],
        needs: Needs { app: true, write: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let contexts = setup.args.count("contexts") as u32;
        let mut pcc = Pcc {
            args: setup.args.clone(),
            seen_once: setup.args.count("seen_once"),
            by_write: setup.args.word("context") == "app-write",
            most_ghosts: 0,
            most_counts: 0,
            contexts: RecentTable::new(contexts),
            seen: large::filled(Seen::default(), setup.slots as usize),
            partitions: Partitions::new(setup, contexts),
            ghosts: Queue::new(GHOST, 0),
        };
        pcc.set_sizes(setup.capacity);
        Ok(pcc)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(args.multiple("ghosts", capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let resident = self.partitions.look_up(slot, reference.time);
        let class = self.classify(slot, reference);
        if resident {
            self.partitions.renew(slot, class);
            return Outcome::Hit;
        }
        if self.partitions.places.tag(slot) == GHOST {
            self.ghosts.take(&mut self.partitions.places, slot);
        }
        if self.partitions.is_full() {
            self.evict(fx);
        }
        self.partitions.insert(slot, class);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.partitions.prefetch(slot);
        prefetch(&self.seen, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.partitions.contains(slot) {
            self.partitions.take(slot);
        } else if self.partitions.places.tag(slot) == GHOST {
            self.ghosts.take(&mut self.partitions.places, slot);
        } else {
            return;
        }
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            self.evict(fx);
        }
        self.partitions.set_capacity(capacity);
        self.set_sizes(capacity);
        while self.ghosts.len() > self.most_ghosts {
            forget_oldest(&mut self.ghosts, &mut self.partitions.places, fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        if slots as usize > self.seen.len() {
            self.seen.resize(slots as usize, Seen::default());
        }
        self.partitions.grow(slots);
        self.fit_ghosts();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.partitions.contains(slot)
    }

    fn len(&self) -> u32 {
        self.partitions.len()
    }

    fn validate(&self) {
        self.contexts.validate();
        self.partitions.validate();
        self.ghosts.validate(&self.partitions.places);
        assert!(self.ghosts.len() <= self.most_ghosts, "too many ghosts");
    }
}

impl Pcc {
    /// Notes the reference in the counts of its context, or in those of the one that used the block before, and says
    /// what class its context makes the block.
    #[inline(always)]
    fn classify(&mut self, slot: Slot, reference: Reference) -> AccessPattern {
        let key = u64::from(reference.app) << 1 | u64::from(self.by_write && reference.write);
        let index = self.enter(key);
        let is_known = self.partitions.places.tag(slot) != ABSENT;
        let before = self.seen[slot as usize];
        let interval = (reference.time - before.use_and_return / 2).min(u64::from(u32::MAX)) as u32;
        let mut came_back = is_known && before.use_and_return & 1 == 1;
        if !is_known {
            self.contexts.value_mut(index).once += 1;
            self.limit(index);
        } else if interval > 1 {
            if let Some(last) = self.contexts.peek(before.context) {
                self.contexts.value_mut(last).note_return(interval, !came_back);
                self.limit(last);
            }
            came_back = true;
        }
        self.seen[slot as usize] = Seen { context: key, use_and_return: 2 * reference.time + u64::from(came_back) };
        self.class_of(index)
    }

    /// The entry of the context with this key, a new one if need be.
    #[inline(always)]
    fn enter(&mut self, key: u64) -> Index {
        if let Some(index) = self.contexts.find(key) {
            return index;
        }
        let (index, displaced) = self.contexts.insert(key, Context::default());
        if displaced.is_some_and(|context| context.looping) {
            self.partitions.release(index);
        }
        index
    }

    #[inline(always)]
    fn limit(&mut self, index: Index) {
        let context = self.contexts.value_mut(index);
        if context.sum() >= self.most_counts {
            context.halve();
        }
    }

    #[inline(always)]
    fn class_of(&mut self, index: Index) -> AccessPattern {
        let context = self.contexts.value_mut(index);
        let Context { once, regular, irregular, period, looping } = *context;
        context.looping = u64::from(regular) > u64::from(once) + u64::from(irregular);
        if context.looping {
            self.partitions.set_period(index, period);
            return AccessPattern::Looping(index);
        }
        if looping {
            self.partitions.release(index);
        }
        let returns = u64::from(regular) + u64::from(irregular);
        if u64::from(once) >= self.seen_once.max(returns + 1) {
            AccessPattern::Sequential
        } else {
            AccessPattern::Other
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(victim) = self.partitions.pop_victim() else { return };
        fx.evict(victim);
        self.ghosts.push(&mut self.partitions.places, victim);
        if self.ghosts.len() > self.most_ghosts {
            forget_oldest(&mut self.ghosts, &mut self.partitions.places, fx);
        }
    }

    fn set_sizes(&mut self, capacity: u32) {
        self.most_ghosts = self.args.multiple("ghosts", capacity).unwrap_or(u32::MAX);
        self.most_counts = (2 * u64::from(capacity)).max(8 * self.seen_once);
        self.fit_ghosts();
    }

    /// A ring large enough for the ghosts; it takes a victim before it drops one.
    fn fit_ghosts(&mut self) {
        let bound = self.most_ghosts.saturating_add(1).min(self.partitions.places.slots());
        self.ghosts.grow(&mut self.partitions.places, bound);
    }
}
