//! CACHEUS: SR-LRU, which resists scans, and CR-LFU, which resists churn, take turns, by weights that each one's
//! mistakes lower.
//!
//! Idea: as LeCaR, with better experts and a learning rate that finds itself. SR-LRU keeps reused blocks in R and new
//! ones in S, where its victims come from; what falls out of R is demoted to S. S grows when a new block is wanted back
//! soon after it left, and R when a demoted one is hit in S. CR-LFU evicts, of the blocks with the fewest uses, the
//! most recent, so that a large loop keeps a part of itself.
//!
//! Paper: Rodriguez, Yusuf, Lyons, Paz, Rangaswami, Liu, Zhao, Narasimhan, "Learning cache replacement with CACHEUS",
//! FAST 2021.
//!
//! Provenance: the authors' own code (github.com/sylab/cacheus, 2023) was run, four draws a cell. On multi1 it gives
//! 6,654 to 6,975 and 8,784 to 8,871 hits at 130 and 521 blocks, eight of ours 6,602 to 7,170 and 8,850 to 8,905; on cs
//! 231 to 233, 1,061 to 1,065 and 2,748 to 2,776 at 70, 281 and 704 blocks, four of ours 252 to 272, 1,061 to 1,064 and
//! 2,589 to 2,841. So the draws overlap on multi1 and on cs at 281 and 704 blocks; on cs at 70 blocks ours is 0.3 to
//! 0.6 points above it. The paper's text was not at hand.
//!
//! Deviations and readings: as in LeCaR, of the two weights each is at least 0.01, a block that comes back while
//! remembered keeps its uses, and when both experts choose the same victim no lots are drawn and it is not remembered;
//! it then enters R. Every block in S that was not demoted counts as new. S grows by demoted blocks in S / new blocks
//! in SR-LRU's history, R by the reverse, each rounded and at least 1, the block itself counted; neither gets smaller
//! than one block. While nothing is in S and R has room, new blocks enter R. Learning rate: after as many references as
//! the capacity, if it changed and the hit ratio too, it moves by its value times its last change, up if both rose or
//! both fell; if one of them did not change and the hit ratio did not rise, it goes back to its start, the root of 2 ln
//! 2 / capacity, every tenth time, and else, if the ratio fell, up or down by a quarter at random (from its bounds
//! 0.001 and 1 to 0.005 and 0.9). Nothing is rounded to three digits. Shrinking demotes what R has too much, then
//! evicts.
//!
//! Cost: a hit appends to a log and writes two words and a count; a miss is O(log c) amortised. As for LeCaR, two
//! orders of the same blocks make for a quarter to a third of LRU's rate. Memory: 24 bytes a slot; 80 to 128 bytes a
//! block of capacity, ghosts included.
//!
//! When not to use it: working sets that change as a whole; S starts at 1% and must grow first.

use crate::parts::experts::TwoExperts;
use crate::parts::ghost::forget_oldest;
use crate::parts::queue::{Places, Queue, Tag};
use crate::parts::slot_heap::{self, SlotHeap};
use crate::policy::{
    Args, Discard, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// In S; the mark says demoted.
const SCAN: Tag = 0;
/// In R.
const REUSED: Tag = 1;
/// Victim of SR-LRU; the mark says new.
const LRU_GHOST: Tag = 2;
/// Victim of CR-LFU.
const LFU_GHOST: Tag = 3;

/// Used once.
const ONCE: Tag = 0;
/// Used more often.
const OFTEN: Tag = 1;

/// Order of CR-LFU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    uses: u32,
    /// Complement of the time of the last use, high word first: as a `u64` it would cost 4 bytes of padding.
    before_end: [u32; 2],
}

impl Key {
    fn new(uses: u32, last: u64) -> Key {
        Key { uses, before_end: [(!last >> 32) as u32, !last as u32] }
    }
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        u64::from(self.uses)
    }
}

/// The CACHEUS policy.
#[derive(Debug)]
pub struct Cacheus {
    capacity: u32,
    args: Args,
    /// Most ghosts in each history.
    ghosts_most: u32,
    /// Size that S should have; R has the rest.
    scan_size: u32,
    /// SR-LRU and CR-LFU.
    experts: TwoExperts,
    rate: LearningRate,
    /// References so far.
    now: u64,
    recency: Places,
    scan: Queue,
    reused: Queue,
    /// Demoted blocks in S.
    demoted: u32,
    lru_ghosts: Queue,
    lfu_ghosts: Queue,
    /// New blocks among SR-LRU's ghosts.
    new_ghosts: u32,
    frequency: Places,
    once: Queue,
    often: SlotHeap<Key>,
}

impl Policy for Cacheus {
    const INFO: Info = Info {
        name: "cacheus",
        family: "adaptive",
        summary: "a scan-resistant LRU or a churn-resistant LFU, chosen at random with weights that their mistakes lower",
        params: &[
            Param {
                key: "scan",
                kind: ParamKind::Share,
                default: "1%",
                doc: "blocks that S should hold at first, at least 1 (the authors' code: 1%)",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Share,
                default: "50%",
                doc: "most victims remembered of each expert (paper: 50%)",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let scan = setup.args.share_rounded("scan", setup.capacity)?;
        let mut cacheus = Cacheus {
            capacity: setup.capacity,
            args: setup.args.clone(),
            ghosts_most: setup.args.share("ghosts", setup.capacity)?,
            scan_size: bounded(scan, setup.capacity),
            experts: TwoExperts::new(setup.seed),
            rate: LearningRate::new(setup.capacity),
            now: 0,
            recency: Places::new(setup.slots),
            scan: Queue::new(SCAN, 0),
            reused: Queue::new(REUSED, 0),
            demoted: 0,
            lru_ghosts: Queue::new(LRU_GHOST, 0),
            lfu_ghosts: Queue::new(LFU_GHOST, 0),
            new_ghosts: 0,
            frequency: Places::new(setup.slots),
            once: Queue::new(ONCE, 0),
            often: SlotHeap::new(OFTEN, setup.slots),
        };
        cacheus.fit(setup.slots);
        Ok(cacheus)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let ghosts = args.share("ghosts", capacity)?;
        Ok(Requirements { identities: u64::from(capacity) + 2 * u64::from(ghosts) + 1, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        let hit = self.contains(slot);
        if hit {
            self.hit(slot);
        } else {
            self.miss(slot, fx);
        }
        self.rate.step(hit, self.capacity, &mut self.experts);
        if hit { Outcome::Hit } else { Outcome::Admitted }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.recency.prefetch(slot);
        self.frequency.prefetch(slot);
        self.often.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.take(slot);
        } else if !self.take_ghost(slot) {
            return;
        }
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.ghosts_most = self.args.share("ghosts", capacity).expect("new accepted the same arguments");
        self.scan_size = bounded(self.scan_size, capacity);
        self.rate.start = LearningRate::start(capacity);
        self.fit(self.recency.slots());
        self.demote();
        while self.len() > capacity {
            self.evict(fx);
        }
        self.trim_ghosts(fx);
    }

    fn grow(&mut self, slots: u32) {
        self.fit(slots);
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        matches!(self.recency.tag(slot), SCAN | REUSED)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.scan.len() + self.reused.len()
    }

    fn validate(&self) {
        for queue in [&self.scan, &self.reused, &self.lru_ghosts, &self.lfu_ghosts] {
            queue.validate(&self.recency);
        }
        self.once.validate(&self.frequency);
        self.often.validate(&self.frequency);
        assert_eq!(self.once.len() + self.often.len(), self.len(), "the experts disagree on what is resident");
        assert!(self.len() <= self.capacity);
        assert!(self.reused.len() <= self.reused_size(), "R exceeds its size");
        assert_eq!(self.scan_size, bounded(self.scan_size, self.capacity));
        assert!(self.lru_ghosts.len().max(self.lfu_ghosts.len()) <= self.ghosts_most, "too many ghosts");
        let marked = |queue: &Queue| queue.iter().filter(|&slot| self.recency.is_marked(slot)).count();
        assert_eq!([marked(&self.scan), marked(&self.lru_ghosts)], [self.demoted as usize, self.new_ghosts as usize]);
        self.experts.validate();
        assert!((RATE_LEAST..=1.0).contains(&self.rate.now));
    }
}

impl Cacheus {
    /// Capacity for slots below `slots` and for all that the queues may come to hold; a history takes a victim before
    /// it drops one.
    fn fit(&mut self, slots: u32) {
        self.recency.grow(slots);
        self.frequency.grow(slots);
        let slots = self.recency.slots();
        // A shrunk cache is yet to evict.
        let residents = self.capacity.max(self.len()).min(slots);
        let ghosts = self.ghosts_most.saturating_add(1).min(slots);
        self.scan.grow(&mut self.recency, residents);
        self.reused.grow(&mut self.recency, residents);
        self.lru_ghosts.grow(&mut self.recency, ghosts);
        self.lfu_ghosts.grow(&mut self.recency, ghosts);
        self.once.grow(&mut self.frequency, residents);
        self.often.grow(slots, residents);
    }

    #[inline(always)]
    fn reused_size(&self) -> u32 {
        self.capacity - self.scan_size
    }

    #[inline(always)]
    fn hit(&mut self, slot: Slot) {
        if self.recency.tag(slot) == REUSED {
            self.reused.renew(&mut self.recency, slot);
        } else {
            if self.recency.is_marked(slot) {
                self.resize_scan(-i64::from(share(self.new_ghosts, self.demoted)));
                self.demoted -= 1;
            }
            self.scan.take(&mut self.recency, slot);
            self.reused.push(&mut self.recency, slot);
            self.demote();
        }
        let key = Key::new(self.often.key(slot).uses.saturating_add(1), self.now);
        if self.frequency.tag(slot) == OFTEN {
            self.often.set_key(slot, key);
        } else {
            self.once.take(&mut self.frequency, slot);
            self.often.insert(&mut self.frequency, slot, key);
        }
    }

    #[inline(always)]
    fn miss(&mut self, slot: Slot, fx: &mut impl Effects) {
        let known = self.recall(slot);
        if self.len() == self.capacity {
            self.evict(fx);
        }
        if known {
            let key = Key::new(self.often.key(slot).uses.saturating_add(1), self.now);
            self.often.insert(&mut self.frequency, slot, key);
            self.reused.push(&mut self.recency, slot);
            self.demote();
            return;
        }
        self.often.set_key(slot, Key::new(1, self.now));
        self.once.push(&mut self.frequency, slot);
        if self.scan.is_empty() && self.reused.len() < self.reused_size() {
            self.reused.push(&mut self.recency, slot);
        } else {
            self.scan.push(&mut self.recency, slot);
        }
    }

    /// If the block is a ghost, makes it none and learns from it.
    #[inline(always)]
    fn recall(&mut self, slot: Slot) -> bool {
        let by_lru = self.recency.tag(slot) == LRU_GHOST;
        if by_lru && self.recency.is_marked(slot) {
            self.resize_scan(i64::from(share(self.demoted, self.new_ghosts)));
        }
        let known = self.take_ghost(slot);
        if known {
            self.experts.blame(by_lru, self.rate.now);
        }
        known
    }

    /// Makes S larger or smaller by so many blocks.
    #[inline(always)]
    fn resize_scan(&mut self, blocks: i64) {
        let size = (i64::from(self.scan_size) + blocks).max(0);
        self.scan_size = bounded(size.min(i64::from(u32::MAX)) as u32, self.capacity);
        self.demote();
    }

    /// Moves the oldest blocks of R to S while R exceeds its size.
    #[inline(always)]
    fn demote(&mut self) {
        while self.reused.len() > self.reused_size() {
            let Some(oldest) = self.reused.pop_oldest(&mut self.recency) else { return };
            self.scan.push(&mut self.recency, oldest);
            self.recency.mark(oldest);
            self.demoted += 1;
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let rarest = self.once.youngest().or_else(|| self.often.least(&self.frequency));
        let (Some(oldest), Some(rarest)) = (self.scan.oldest(&self.recency), rarest) else { return };
        let agreed = oldest == rarest;
        let by_lru = !agreed && self.experts.draw_first();
        let victim = if by_lru { oldest } else { rarest };
        let demoted = self.take(victim);
        if agreed {
            return fx.discard(victim);
        }
        if by_lru {
            self.lru_ghosts.push(&mut self.recency, victim);
            if !demoted {
                self.recency.mark(victim);
                self.new_ghosts += 1;
            }
        } else {
            self.lfu_ghosts.push(&mut self.recency, victim);
        }
        fx.evict(victim);
        self.trim_ghosts(fx);
    }

    /// Takes a resident block out of both orders; true if it was demoted.
    #[inline(always)]
    fn take(&mut self, slot: Slot) -> bool {
        match self.frequency.tag(slot) {
            OFTEN => self.often.take(&mut self.frequency, slot),
            _ => self.once.take(&mut self.frequency, slot),
        }
        if self.recency.tag(slot) == REUSED {
            self.reused.take(&mut self.recency, slot);
            return false;
        }
        let demoted = self.recency.is_marked(slot);
        self.demoted -= u32::from(demoted);
        self.scan.take(&mut self.recency, slot);
        demoted
    }

    /// Takes the block out of its history; false if it is in none.
    #[inline(always)]
    fn take_ghost(&mut self, slot: Slot) -> bool {
        match self.recency.tag(slot) {
            LRU_GHOST => {
                self.new_ghosts -= u32::from(self.recency.is_marked(slot));
                self.lru_ghosts.take(&mut self.recency, slot);
            }
            LFU_GHOST => self.lfu_ghosts.take(&mut self.recency, slot),
            _ => return false,
        }
        true
    }

    #[inline(always)]
    fn trim_ghosts(&mut self, fx: &mut impl Effects) {
        while self.lru_ghosts.len() > self.ghosts_most {
            if let Some(oldest) = self.lru_ghosts.oldest(&self.recency) {
                self.take_ghost(oldest);
                fx.forget(oldest);
            }
        }
        while self.lfu_ghosts.len() > self.ghosts_most {
            forget_oldest(&mut self.lfu_ghosts, &mut self.recency, fx);
        }
    }
}

/// `size` so that neither S nor R has less than a block, if there are two.
#[inline(always)]
fn bounded(size: u32, capacity: u32) -> u32 {
    size.clamp(1, (capacity - 1).max(1))
}

/// How many times `one` is the other, which is not 0: rounded, and at least 1.
#[inline(always)]
fn share(one: u32, other: u32) -> u32 {
    let (one, other) = (u64::from(one), u64::from(other));
    ((2 * one + other) / (2 * other)).max(1) as u32
}

/// The learning rate is at least this and at most 1.
const RATE_LEAST: f64 = 0.001;
/// So many periods without gain set the rate back.
const PATIENCE: u32 = 10;

/// Finds how strongly mistakes should count.
#[derive(Debug)]
struct LearningRate {
    start: f64,
    now: f64,
    /// The rate of the period before.
    before: f64,
    hit_ratio: f64,
    idle: u32,
    references: u32,
    hits: u32,
}

impl LearningRate {
    fn new(capacity: u32) -> LearningRate {
        let start = Self::start(capacity);
        LearningRate { start, now: start, before: 0.0, hit_ratio: 0.0, idle: 0, references: 0, hits: 0 }
    }

    fn start(capacity: u32) -> f64 {
        (2.0 * std::f64::consts::LN_2 / f64::from(capacity)).sqrt().clamp(RATE_LEAST, 1.0)
    }

    /// Notes a reference.
    #[inline(always)]
    fn step(&mut self, hit: bool, period: u32, experts: &mut TwoExperts) {
        self.references += 1;
        self.hits += u32::from(hit);
        if self.references >= period {
            self.adapt(experts);
        }
    }

    #[cold]
    fn adapt(&mut self, experts: &mut TwoExperts) {
        let hit_ratio = f64::from(self.hits) / f64::from(self.references);
        let (gain, moved) = (hit_ratio - self.hit_ratio, self.now - self.before);
        self.before = self.now;
        let step = (self.now * moved).abs();
        if gain * moved > 0.0 {
            self.now += step;
            self.idle = 0;
        } else if gain * moved < 0.0 {
            self.now -= step;
            self.idle = 0;
        } else if gain <= 0.0 {
            self.idle += 1;
            if self.idle == PATIENCE {
                self.now = self.start;
                self.idle = 0;
            } else if gain < 0.0 {
                self.jump(experts);
            }
        }
        self.now = self.now.clamp(RATE_LEAST, 1.0);
        (self.references, self.hits, self.hit_ratio) = (0, 0, hit_ratio);
    }

    fn jump(&mut self, experts: &mut TwoExperts) {
        self.now = if self.now >= 1.0 {
            0.9
        } else if self.now <= RATE_LEAST {
            0.005
        } else if experts.random().below(2) == 0 {
            self.now * 1.25
        } else {
            self.now * 0.75
        };
    }
}
