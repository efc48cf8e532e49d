//! ULC: two exclusive levels, a client's cache above an array's, ordered by the client alone.
//!
//! Idea: one stack of all blocks in order of last use tells which level a block is worth. The yardstick of a level is
//! its block that was not used for longest. A block that is used again goes to the first level whose yardstick was used
//! no later than the block itself, and yardsticks make room from level to level: the client's goes down to the array,
//! the array's leaves.
//!
//! Paper: Jiang, Zhang, "ULC: a file block placement and replacement protocol to effectively exploit hierarchical
//! locality in multi-level buffer caches", ICDCS 2004.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading. Of its details we are not sure: they are our design.
//!
//! Deviations and readings: two levels and one client. A level that has room takes whatever is used, the client first.
//! A block that is worth neither level, as every block that is new once both are full, stays for a while in a small LRU
//! part of the client (the paper's tempLRU; `temp`, at least one block where the client has two) and otherwise is not
//! kept. Evicted blocks stay in the stack without bound until they lie below both yardsticks. A hit is a hit in either
//! level; moves between them are not counted. Then `client` decides no hit, but for the size of the temporary
//! part: whichever yardstick is the lower one, a block that beats it comes in and that yardstick leaves. Shrinking
//! sends the client's surplus down, then evicts from the array, then from the temporary part.
//!
//! The stack is never built: a block's place in it is the time of its last use. Blocks that the client sends down come
//! in order of that time, and so does what enters the array by a use there, so the array's yardstick is the older one
//! at the ends of two queues.
//!
//! Cost: O(1) amortised; a hit in the client writes two words and appends to a log.
//! Memory: 24 to 36 bytes a slot, of which 12 to 24 are for ghosts, and 12 to 48 bytes a block of capacity.
//!
//! When not to use it: recency-friendly workloads whose popular set changes: as with LIRS, what is new must be used
//! twice within the life of the yardsticks. With a temporary part, a cache as large as the footprint is not quite
//! filled.

use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::policy::{Args, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// In the client.
const CLIENT: Tag = 0;
/// In the array, where it came when it was used.
const ARRAY: Tag = 1;
/// In the array, sent down from the client.
const DEMOTED: Tag = 2;
/// In the temporary part of the client.
const TEMPORARY: Tag = 3;
/// Evicted, and in the stack.
const GHOST: Tag = 4;

/// The time of a yardstick that a level has not.
const NEVER: u64 = u64::MAX;

/// The ULC policy.
#[derive(Debug)]
pub struct Ulc {
    args: Args,
    sizes: Sizes,
    /// Time of the last reference, from 1.
    now: u64,
    /// When the lower of the two yardsticks was used, as of the last look: the stack ends there.
    bottom: u64,
    /// Time of each slot's last use, for those that are in a queue.
    used: Vec<u64>,
    places: Places,
    /// By tag. All but the ghosts are in the order of last use, and those nearly.
    queues: [Queue; 5],
}

/// Most blocks of each part.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    client: u32,
    array: u32,
    temporary: u32,
}

impl Sizes {
    fn of(args: &Args, capacity: u32) -> Result<Sizes, SpecError> {
        let client = args.share("client", capacity)?.clamp(1, (capacity - 1).max(1));
        let temporary = args.share("temp", capacity)?.max(1).min(client - 1);
        Ok(Sizes { client: client - temporary, array: capacity - client, temporary })
    }
}

impl Policy for Ulc {
    const INFO: Info = Info {
        name: "ulc",
        family: "recency",
        summary: "two exclusive levels ordered by one stack: a block goes where its last two uses say",
        params: &[
            Param { key: "client", kind: ParamKind::Share, default: "50%", doc: "the client's part of the capacity" },
            Param {
                key: "temp",
                kind: ParamKind::Share,
                default: "1%",
                doc: "the client's blocks that are worth neither level yet, at least 1 (paper: a small part)",
            },
        ],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut ulc = Ulc {
            args: setup.args.clone(),
            sizes: Sizes::of(setup.args, setup.capacity)?,
            now: 0,
            bottom: NEVER,
            used: large::filled(0, setup.slots as usize),
            places: Places::new(setup.slots),
            queues: [CLIENT, ARRAY, DEMOTED, TEMPORARY, GHOST].map(|tag| Queue::new(tag, 0)),
        };
        ulc.fit_queues();
        Ok(ulc)
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(None))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        let from = self.places.tag(slot);
        if from == CLIENT {
            self.enter(slot, CLIENT, CLIENT);
            return Outcome::Hit;
        }
        let to = self.worth(slot, from);
        self.enter(slot, from, to);
        self.make_room(fx);
        // A block that is worth neither level leaves the yardsticks where they are.
        if to < TEMPORARY {
            self.prune(fx);
        }
        if from <= TEMPORARY {
            Outcome::Hit
        } else if to == GHOST {
            Outcome::Bypassed
        } else {
            Outcome::Admitted
        }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        prefetch(&self.used, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let tag = self.places.tag(slot);
        if tag != ABSENT {
            self.queues[tag as usize].take(&mut self.places, slot);
            fx.forget(slot);
            self.prune(fx);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.sizes = Sizes::of(&self.args, capacity).expect("new accepted the same arguments");
        self.fit_queues();
        self.make_room(fx);
        self.prune(fx);
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.used.resize(self.places.slots() as usize, 0);
        self.fit_queues();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) <= TEMPORARY
    }

    fn len(&self) -> u32 {
        self.queues[..GHOST as usize].iter().map(Queue::len).sum()
    }

    fn validate(&self) {
        self.queues.iter().for_each(|queue| queue.validate(&self.places));
        assert!(self.len_of(CLIENT) <= self.sizes.client, "the client exceeds its size");
        assert!(self.array_len() <= self.sizes.array, "the array exceeds its size");
        assert!(self.len_of(TEMPORARY) <= self.sizes.temporary, "the temporary part exceeds its size");
        for queue in &self.queues[..GHOST as usize] {
            assert!(queue.iter().map(|slot| self.used[slot as usize]).is_sorted(), "blocks out of their order");
        }
    }
}

impl Ulc {
    /// Rings large enough for all that the queues may come to hold.
    fn fit_queues(&mut self) {
        let slots = self.places.slots();
        let Sizes { client, array, temporary } = self.sizes;
        // The client may shrink to a part of what it sends down at once.
        let array = array.max(self.len_of(CLIENT));
        for (queue, bound) in self.queues.iter_mut().zip([client, array, array, temporary, slots]) {
            queue.grow(&mut self.places, bound.saturating_add(1).min(slots));
        }
    }

    /// Where the block that is used belongs; it is in `from`.
    #[inline(always)]
    fn worth(&mut self, slot: Slot, from: Tag) -> Tag {
        let used = if from == ABSENT { 0 } else { self.used[slot as usize] };
        let [client, array, demoted] = [CLIENT, ARRAY, DEMOTED].map(|tag| self.first_used(tag));
        if self.len_of(CLIENT) < self.sizes.client || used >= client {
            CLIENT
        } else if self.array_len() < self.sizes.array || used >= array.min(demoted) {
            ARRAY
        } else if self.sizes.temporary > 0 {
            TEMPORARY
        } else {
            GHOST
        }
    }

    /// Puts the block that is used at the MRU end of `to`.
    #[inline(always)]
    fn enter(&mut self, slot: Slot, from: Tag, to: Tag) {
        self.used[slot as usize] = self.now;
        if from == to {
            self.queues[to as usize].renew(&mut self.places, slot);
            return;
        }
        if from != ABSENT {
            self.queues[from as usize].take(&mut self.places, slot);
        }
        self.queues[to as usize].push(&mut self.places, slot);
    }

    /// When the block was used that was not used for longest in a queue.
    #[inline(always)]
    fn first_used(&mut self, tag: Tag) -> u64 {
        self.queues[tag as usize].oldest(&self.places).map_or(NEVER, |slot| self.used[slot as usize])
    }

    #[inline(always)]
    fn len_of(&self, tag: Tag) -> u32 {
        self.queues[tag as usize].len()
    }

    #[inline(always)]
    fn array_len(&self) -> u32 {
        self.len_of(ARRAY) + self.len_of(DEMOTED)
    }

    /// Sends down or evicts what exceeds its part.
    #[inline(always)]
    fn make_room(&mut self, fx: &mut impl Effects) {
        while self.len_of(CLIENT) > self.sizes.client {
            let Some(yardstick) = self.queues[CLIENT as usize].pop_oldest(&mut self.places) else { break };
            self.queues[DEMOTED as usize].push(&mut self.places, yardstick);
        }
        while self.array_len() > self.sizes.array {
            let yardstick = if self.first_used(ARRAY) < self.first_used(DEMOTED) { ARRAY } else { DEMOTED };
            self.evict(yardstick, fx);
        }
        while self.len_of(TEMPORARY) > self.sizes.temporary {
            self.evict(TEMPORARY, fx);
        }
    }

    /// Evicts the block not used for longest in a queue, and remembers it if it is in the stack.
    #[inline(always)]
    fn evict(&mut self, tag: Tag, fx: &mut impl Effects) {
        let Some(victim) = self.queues[tag as usize].pop_oldest(&mut self.places) else { return };
        fx.evict(victim);
        if self.used[victim as usize] < self.bottom {
            fx.forget(victim);
        } else {
            self.queues[GHOST as usize].push(&mut self.places, victim);
        }
    }

    /// Finds the bottom of the stack and forgets ghosts below it. One that came out of order may stay a while longer:
    /// the bottom only rises, so that it is of no use any more.
    #[inline(always)]
    fn prune(&mut self, fx: &mut impl Effects) {
        self.bottom = [CLIENT, ARRAY, DEMOTED].map(|tag| self.first_used(tag)).into_iter().fold(NEVER, u64::min);
        while self.first_used(GHOST) < self.bottom {
            let Some(oldest) = self.queues[GHOST as usize].pop_oldest(&mut self.places) else { return };
            fx.forget(oldest);
        }
    }
}
