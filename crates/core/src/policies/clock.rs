//! CLOCK, or second chance: FIFO that spares blocks used since the hand last passed.
//!
//! Idea: approximate LRU without moving anything on a hit. A hit only raises a counter (one bit, classically). The hand
//! looks at the oldest block: if its counter is above zero it is lowered and the block moves to the MRU end, otherwise
//! it is the victim.
//!
//! Paper: Corbato, "A paging experiment with the Multics system", MIT Project MAC 1968. Counters of several bits:
//! Smith, "Sequentiality and prefetching in database systems", TODS 1978 (generalised clock).
//!
//! Provenance: equal to libCacheSim 0.3.5 on twelve public traces. Caffeine's simulator 3.2.0 differs on six of ten, by
//! at most 0.28 points, for a reason that was not looked into.
//!
//! Deviations: a new block starts with counter 0 (`initial=0`), as storage caches do; on traces of memory it starts
//! with 1, as in paging systems, because the access that faults is a use. `clear` sets all counters to 0 now and then,
//! as systems do whose bits are swept by a timer.
//!
//! Cost: a hit writes one word; a miss looks at one block, and at one more for each that is spared, O(1) amortised over
//! the hits. Memory: 12 to 20 bytes a block (4 a slot, 8 to 16 in the queue); with `bits` above 1 one more byte a slot,
//! with `clear` 4 more a block.
//!
//! When not to use it: loops longer than the cache and scans, as with LRU.

use crate::parts::queue::{ABSENT, Places, Queue};
use crate::policy::{
    Args, Discard, Effects, Hits, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// The CLOCK policy.
#[derive(Debug)]
pub struct Clock {
    capacity: u32,
    places: Places,
    queue: Queue,
    counters: Counters,
    initial: u8,
    /// References from one clearing of the counters to the next.
    interval: u64,
    /// References until the next one.
    left: u64,
}

/// Uses of each resident block since the hand last passed. One bit lives in the block's place, which a hit touches
/// anyway; more bits take a byte a slot.
#[derive(Debug)]
struct Counters {
    /// Greatest count.
    most: u8,
    /// By slot; empty when one bit is enough.
    bytes: Vec<u8>,
    /// Slots whose counters were raised since all were cleared, until that is full. Without room if they never are
    /// cleared.
    raised: Vec<Slot>,
}

impl Policy for Clock {
    const INFO: Info = Info {
        name: "clock",
        aliases: &["second-chance"],
        family: "recency",
        summary: "FIFO that spares blocks used since the hand last passed",
        params: &[
            Param {
                key: "bits",
                kind: ParamKind::Count { min: 1, max: 8 },
                default: "1",
                doc: "width of a block's counter; it stops at 2^bits - 1",
            },
            Param {
                key: "initial",
                kind: ParamKind::Count { min: 0, max: 255 },
                default: "0",
                doc: "counter of a new block, at most 2^bits - 1; 1 on traces of memory",
            },
            Param {
                key: "clear",
                kind: ParamKind::Count { min: 0, max: 1 << 53 },
                default: "0",
                doc: "references after which all counters are set to 0; 0 is never",
            },
        ],
        paging: &[("initial", "1")],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let most = u8::MAX >> (8 - setup.args.count("bits"));
        let initial = setup.args.count("initial") as u8;
        if initial > most {
            return Err(SpecError::new(format!("initial={initial} does not fit the counter: expected at most {most}")));
        }
        let bytes = if most > 1 { vec![0; setup.slots as usize] } else { Vec::new() };
        let interval = match setup.args.count("clear") {
            0 => u64::MAX,
            references => references,
        };
        let places = Places::new(setup.slots);
        let mut clock = Clock {
            capacity: setup.capacity,
            queue: Queue::within(0, setup.capacity, &places),
            places,
            counters: Counters { most, bytes, raised: Vec::new() },
            initial,
            interval,
            left: interval,
        };
        clock.fit();
        Ok(clock)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements {
            hits: if args.count("bits") == 1 && args.count("clear") == 0 { Hits::Bit } else { Hits::Order },
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        if self.left == 0 {
            self.clear();
        }
        self.left -= 1;
        if self.places.tag(slot) != ABSENT {
            self.counters.raise(&mut self.places, slot);
            return Outcome::Hit;
        }
        if self.queue.len() == self.capacity {
            self.evict(fx);
        }
        self.queue.push(&mut self.places, slot);
        self.counters.start(&mut self.places, slot, self.initial);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.places.tag(slot) != ABSENT {
            self.queue.take(&mut self.places, slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.queue.len() > capacity {
            self.evict(fx);
        }
        self.queue.grow(&mut self.places, capacity);
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.queue.grow(&mut self.places, self.capacity);
        if self.counters.most > 1 {
            self.counters.bytes.resize((slots as usize).max(self.counters.bytes.len()), 0);
        }
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn validate(&self) {
        self.queue.validate(&self.places);
        assert!(self.queue.len() <= self.capacity);
        assert!(self.counters.bytes.iter().all(|&count| count <= self.counters.most));
    }
}

impl Clock {
    /// Room to list as many raised counters as there are. A list that is full has gaps, so it stays full until it is
    /// cleared.
    fn fit(&mut self) {
        let raised = &mut self.counters.raised;
        if self.interval < u64::MAX && (raised.is_empty() || raised.len() < raised.capacity()) {
            let bound = self.capacity.min(self.places.slots()) as usize + 1;
            raised.reserve_exact(bound.saturating_sub(raised.len()));
        }
    }

    /// Sets all counters to 0, at a cost in proportion to the references since the last time.
    #[cold]
    fn clear(&mut self) {
        self.left = self.interval;
        let mut raised = std::mem::take(&mut self.counters.raised);
        let places = &mut self.places;
        if raised.len() < raised.capacity() {
            raised.iter().for_each(|&slot| self.counters.clear(places, slot));
        } else {
            self.queue.iter().for_each(|slot| self.counters.clear(places, slot));
        }
        raised.clear();
        self.counters.raised = raised;
    }

    /// Moves the hand to a block whose counter is 0 and takes it out.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        while let Some(slot) = self.queue.oldest(&self.places) {
            if !self.counters.lower(&mut self.queue, &mut self.places, slot, fx) {
                self.queue.take(&mut self.places, slot);
                fx.discard(slot);
                return;
            }
        }
    }
}

impl Counters {
    /// The counter of a block that enters.
    #[inline(always)]
    fn start(&mut self, places: &mut Places, slot: Slot, initial: u8) {
        if self.most > 1 {
            self.bytes[slot as usize] = initial;
        } else if initial > 0 {
            places.mark(slot);
        }
        if initial > 0 {
            self.list(slot);
        }
    }

    /// The block was used.
    #[inline(always)]
    fn raise(&mut self, places: &mut Places, slot: Slot) {
        if self.most > 1 {
            let count = &mut self.bytes[slot as usize];
            *count = count.saturating_add(1).min(self.most);
        } else {
            places.mark(slot);
        }
        self.list(slot);
    }

    /// Lists a raised counter, if there is room, that is, if counters are ever cleared.
    #[inline(always)]
    fn list(&mut self, slot: Slot) {
        if self.raised.len() < self.raised.capacity() {
            self.raised.push(slot);
        }
    }

    /// Sets the counter of `slot`, which may have left, to 0.
    fn clear(&mut self, places: &mut Places, slot: Slot) {
        if self.most > 1 {
            self.bytes[slot as usize] = 0;
        } else if places.tag(slot) != ABSENT {
            places.unmark(slot);
        }
    }

    /// The hand passes the oldest block: if its counter is above 0, it is lowered and the block moves to the MRU end.
    #[inline(always)]
    fn lower(&mut self, queue: &mut Queue, places: &mut Places, slot: Slot, fx: &mut impl Effects) -> bool {
        if self.most > 1 {
            let count = &mut self.bytes[slot as usize];
            if *count == 0 {
                return false;
            }
            *count -= 1;
        } else if !(places.is_marked(slot) | fx.take_accessed(slot)) {
            return false;
        }
        queue.renew(places, slot);
        true
    }
}
