//! MQ: several LRU queues, one for each power of two of a block's number of uses.
//!
//! Idea: below another cache, blocks come back only after long times, and what tells good ones is how often they came.
//! A block with f uses is in queue log2 f; the victim is at the LRU end of the lowest queue. A block not used for a
//! lifetime goes down by one queue, so that old fame fades. Ghosts keep the number of uses of evicted blocks.
//!
//! Paper: Zhou, Philbin, Li, "The multi-queue replacement algorithm for second level buffer caches", USENIX 2001.
//!
//! Provenance: from secondary sources, the paper's text was not at hand. With `estimate=off` within 0.01 points of
//! libCacheSim 0.3.5 on twelve public traces, and with Caffeine's lifetime and ghosts within 0.24 points of its
//! simulator 3.2.0 on multi1 and multi2. How the lifetime is estimated could be compared with nothing.
//!
//! Deviations and readings: a lifetime is the current one for all blocks, also for those that were queued under
//! another. It is estimated as the paper says, as the temporal distance (references from one use of a block to the
//! next, ghosts included) at which most uses come: distances are counted by powers of two, shorter ones than the
//! capacity left out, since any lifetime worth having covers them; each time as many references were made as blocks can
//! be known, the lifetime becomes the upper end of the fullest class and the counts are halved. Until then, and if
//! nothing was counted, it is `lifetime`. At most one block of each queue goes down a reference. The victim becomes a
//! ghost while the referenced block's own ghost still counts, which may so be the one that is dropped. Shrinking evicts
//! in the policy's order, then drops the oldest ghosts.
//!
//! Cost: O(1); a hit moves a block between linked lists. With each reference a clock is compared; only when the oldest
//! block of some queue is due the queues are looked through. A move touches the neighbours of a block wherever they lie
//! in memory, so MQ is five to six times as slow as LRU; queues written as logs would be faster, but each of the eight
//! would need entries for all blocks. Memory: 32 bytes a slot, of which there are five a block of capacity with the
//! default number of ghosts.
//!
//! When not to use it: loops longer than all that is remembered; where popularity changes within a lifetime.

use crate::parts::large;
use crate::parts::links::{Links, List};
use crate::parts::prefetch::prefetch;
use crate::policy::{Args, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// In place of the list of a block that is in none.
const NOWHERE: u32 = u32::MAX;

/// The known facts of a block.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Time of the last use.
    last: u64,
    /// Time at which it came into its queue.
    queued: u64,
    uses: u32,
    /// Number of its queue, that of the ghosts, or [`NOWHERE`].
    list: u32,
}

const STRANGER: Block = Block { last: 0, queued: 0, uses: 0, list: NOWHERE };

/// The MQ policy.
#[derive(Debug)]
pub struct Mq {
    capacity: u32,
    args: Args,
    len: u32,
    /// m, also the number of the list of ghosts, Qout.
    queues: usize,
    most_ghosts: u32,
    /// Time of the last reference.
    now: u64,
    /// References without a use after which a block goes down by one queue.
    lifetime: u64,
    /// No block above queue 0 came into its queue before.
    oldest: u64,
    estimate: Option<Distances>,
    links: Links,
    /// The queues and the ghosts.
    lists: Vec<List>,
    blocks: Vec<Block>,
}

/// Temporal distances, from which the lifetime is estimated.
#[derive(Debug)]
struct Distances {
    /// `counts[n]`: uses at a distance from 2^n to 2^(n+1) - 1.
    counts: [u64; 64],
    least: u64,
    /// References from one estimate to the next.
    period: u64,
    /// Time of the next estimate.
    due: u64,
}

impl Policy for Mq {
    const INFO: Info = Info {
        name: "mq",
        aliases: &["multi-queue"],
        family: "frequency",
        summary: "an LRU queue for each power of two of a block's uses; unused blocks go down",
        params: &[
            Param {
                key: "queues",
                kind: ParamKind::Count { min: 1, max: 32 },
                default: "8",
                doc: "queues, the highest for 2^(queues - 1) uses and more (paper: 8)",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Multiple,
                default: "4",
                doc: "most evicted blocks whose uses are remembered, times the capacity (paper: 4)",
            },
            Param {
                key: "lifetime",
                kind: ParamKind::Multiple,
                default: "1",
                doc: "references without a use after which a block goes down a queue, times the capacity; the first value if it is estimated",
            },
            Param {
                key: "estimate",
                kind: ParamKind::Switch,
                default: "on",
                doc: "make the lifetime the distance at which most blocks are used again (paper: on)",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let queues = setup.args.count("queues") as usize;
        let mut mq = Mq {
            capacity: setup.capacity,
            args: setup.args.clone(),
            len: 0,
            queues,
            most_ghosts: 0,
            now: 0,
            lifetime: 0,
            oldest: u64::MAX,
            estimate: setup.args.switch("estimate").then(Distances::new),
            links: Links::new(setup.slots),
            lists: vec![List::default(); queues + 1],
            blocks: large::filled(STRANGER, setup.slots as usize),
        };
        mq.scale();
        Ok(mq)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(args.multiple("ghosts", capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        let hit = self.contains(slot);
        if hit {
            self.take(slot);
        } else {
            if self.len == self.capacity {
                self.evict(Some(slot), fx);
            }
            self.len += 1;
            if self.is_ghost(slot) {
                self.take(slot);
            }
        }
        self.note_distance(slot);
        let block = &mut self.blocks[slot as usize];
        block.last = self.now;
        block.uses = block.uses.saturating_add(1);
        let queue = (block.uses.ilog2() as usize).min(self.queues - 1);
        self.push(queue, slot);
        if self.now - self.oldest.min(self.now) > self.lifetime {
            self.demote();
        }
        if hit { Outcome::Hit } else { Outcome::Admitted }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.blocks, slot as usize);
        self.links.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let list = self.blocks[slot as usize].list;
        if list == NOWHERE {
            return;
        }
        self.len -= u32::from(self.contains(slot));
        self.take(slot);
        self.forget(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.scale();
        while self.len > capacity {
            self.evict(None, fx);
        }
        while self.ghosts().len() > self.most_ghosts {
            self.drop_ghost(None, fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.links.grow(slots);
        self.blocks.resize(self.blocks.len().max(slots as usize), STRANGER);
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        (self.blocks[slot as usize].list as usize) < self.queues
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn validate(&self) {
        let mut known = 0;
        for (list, slots) in self.lists.iter().enumerate() {
            slots.validate(&self.links);
            let blocks = || slots.iter(&self.links).map(|slot| self.blocks[slot as usize]);
            assert!(blocks().all(|block| block.list == list as u32), "a block of list {list} stands in another");
            if list < self.queues {
                assert!(blocks().is_sorted_by_key(|block| block.queued), "queue {list} is out of order");
                assert!(list == 0 || blocks().all(|block| block.queued >= self.oldest), "the oldest of queue {list}");
                // A block goes down, but never above where its uses put it.
                assert!(blocks().all(|block| list <= block.uses.ilog2() as usize), "a block stands too high");
            }
            known += slots.len();
        }
        assert_eq!(known - self.ghosts().len(), self.len, "resident blocks are miscounted");
        assert!(self.len <= self.capacity);
        assert!(self.ghosts().len() <= self.most_ghosts, "too many ghosts");
        let strangers = self.blocks.iter().filter(|block| block.list == NOWHERE);
        assert!(strangers.clone().all(|block| block.uses == 0), "uses of a stranger");
        assert_eq!(strangers.count() + known as usize, self.blocks.len(), "blocks that claim to be known");
    }
}

impl Mq {
    /// What depends on the capacity. The estimate begins anew.
    fn scale(&mut self) {
        self.most_ghosts = self.args.multiple("ghosts", self.capacity).unwrap_or(u32::MAX);
        self.lifetime = self.args.multiple("lifetime", self.capacity).map_or(u64::MAX, u64::from);
        let known = u64::from(self.capacity) + u64::from(self.most_ghosts);
        if let Some(distances) = &mut self.estimate {
            *distances =
                Distances { least: u64::from(self.capacity), period: known, due: self.now + known, ..Distances::new() };
        }
    }

    #[inline(always)]
    fn is_ghost(&self, slot: Slot) -> bool {
        self.blocks[slot as usize].list == self.queues as u32
    }

    #[inline(always)]
    fn push(&mut self, queue: usize, slot: Slot) {
        self.lists[queue].push(&mut self.links, slot);
        let block = &mut self.blocks[slot as usize];
        (block.queued, block.list) = (self.now, queue as u32);
        if queue > 0 {
            self.oldest = self.oldest.min(self.now);
        }
    }

    /// Takes `slot` out of its list.
    #[inline(always)]
    fn take(&mut self, slot: Slot) {
        let list = self.blocks[slot as usize].list as usize;
        self.lists[list].take(&mut self.links, slot);
    }

    /// Takes the oldest block out of a list and fetches what is known of the next one.
    #[inline(always)]
    fn take_oldest(&mut self, list: usize) -> Option<Slot> {
        let oldest = self.lists[list].pop_oldest(&mut self.links);
        if let Some(next) = self.lists[list].oldest(&self.links) {
            prefetch(&self.blocks, next as usize);
        }
        oldest
    }

    #[inline(always)]
    fn ghosts(&self) -> &List {
        &self.lists[self.queues]
    }

    /// Counts the distance from the last use of `slot`, if that is known, and makes the estimate when it is due.
    #[inline(always)]
    fn note_distance(&mut self, slot: Slot) {
        let Some(distances) = &mut self.estimate else { return };
        let Block { last, uses, .. } = self.blocks[slot as usize];
        if uses > 0 {
            distances.count(self.now - last);
        }
        if self.now == distances.due {
            self.lifetime = distances.estimate().unwrap_or(self.lifetime);
        }
    }

    /// The oldest block of each queue above the lowest goes down if its lifetime is over.
    #[inline(never)]
    fn demote(&mut self) {
        for queue in 1..self.queues {
            if let Some(oldest) = self.lists[queue].oldest(&self.links)
                && self.now - self.blocks[oldest as usize].queued > self.lifetime
            {
                self.take_oldest(queue);
                self.push(queue - 1, oldest);
            }
        }
        let oldest = |queue: &List| queue.oldest(&self.links).map(|slot| self.blocks[slot as usize].queued);
        self.oldest = self.lists[1..self.queues].iter().filter_map(oldest).min().unwrap_or(u64::MAX);
    }

    /// Evicts the oldest block of the lowest queue that has any.
    #[inline(always)]
    fn evict(&mut self, arriving: Option<Slot>, fx: &mut impl Effects) {
        let lowest = self.lists[..self.queues].iter().position(|queue| !queue.is_empty());
        let Some(victim) = lowest.and_then(|queue| self.take_oldest(queue)) else { return };
        self.lists[self.queues].push(&mut self.links, victim);
        self.blocks[victim as usize].list = self.queues as u32;
        self.len -= 1;
        fx.evict(victim);
        if self.ghosts().len() > self.most_ghosts {
            self.drop_ghost(arriving, fx);
        }
    }

    /// Drops the oldest ghost. If it is that of the arriving block, this block stays known all the same.
    #[inline(always)]
    fn drop_ghost(&mut self, arriving: Option<Slot>, fx: &mut impl Effects) {
        let Some(ghost) = self.take_oldest(self.queues) else { return };
        if arriving == Some(ghost) {
            self.blocks[ghost as usize] = STRANGER;
        } else {
            self.forget(ghost, fx);
        }
    }

    fn forget(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.blocks[slot as usize] = STRANGER;
        fx.forget(slot);
    }
}

impl Distances {
    fn new() -> Distances {
        Distances { counts: [0; 64], least: 0, period: 0, due: 0 }
    }

    #[inline(always)]
    fn count(&mut self, distance: u64) {
        if distance >= self.least {
            self.counts[distance.ilog2() as usize] += 1;
        }
    }

    /// The greatest distance of the fullest class, the shorter one of equals; `None` if nothing was counted. Halves the
    /// counts.
    #[cold]
    fn estimate(&mut self) -> Option<u64> {
        self.due += self.period;
        let fullest = (0..64).rev().max_by_key(|&class| self.counts[class])?;
        let counted = self.counts[fullest] > 0;
        self.counts.iter_mut().for_each(|count| *count /= 2);
        counted.then(|| u64::MAX >> (63 - fullest))
    }
}
