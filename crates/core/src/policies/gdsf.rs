//! GDSF: LFU with aging where a large object must be used more often to stay.
//!
//! Idea: the key of an object is what its uses are worth per byte, plus L, the key of the last victim: uses times cost,
//! divided by size. The least key leaves. L rises with every victim, so what is no longer used is overtaken. A small
//! object is kept for fewer uses, since it takes the room of few others.
//!
//! Paper: Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy", HP
//! Laboratories technical report HPL-98-69R1, 1998; the aging is that of Cao, Irani, "Cost-aware WWW proxy caching
//! algorithms", USENIX Symposium on Internet Technologies and Systems 1997.
//!
//! Provenance: from secondary sources, the report's text was not at hand. libCacheSim 0.3.5 misses as much within 0.01
//! points, of requests and of bytes, on a trace of objects at three sizes (`benches/objects.py`).
//!
//! Deviations and readings: uses are counted from 1 while an object is resident; the key takes L, and the size, as they
//! are at the last use; of equal keys the least recently used leaves. Keys are floating-point numbers of 64 bits.
//! `cost=packets` is what the report has for hits by bytes: 2 packets and one for each 536 bytes begun. Blocks of one
//! size make it `lfuda`.
//!
//! Cost: a hit writes one record; a miss costs a heap. Memory: 36 bytes a slot and 72 to 80 a block of capacity.
//!
//! When not to use it: where all blocks are of one size (`lfuda` is the same), and where bytes from storage count and
//! not requests: with `cost=requests` large objects hardly stay.

use crate::parts::queue::ABSENT;
use crate::parts::ranking::Ranking;
use crate::parts::slot_heap;
use crate::policy::{Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// Bytes that a packet carries.
const PACKET: u32 = 536;

/// What the order of victims depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// The bits of a number that is not negative, which are in the order of such numbers.
    value: u64,
    /// Time of the last use.
    last: u64,
    uses: u64,
}

impl slot_heap::Key for Key {
    #[inline(always)]
    fn rough(self) -> u64 {
        self.value
    }
}

/// The GDSF policy.
#[derive(Debug)]
pub struct Gdsf {
    capacity: u32,
    by_packets: bool,
    /// References so far.
    now: u64,
    /// L, the value of the last victim.
    floor: f64,
    ranking: Ranking<Key>,
}

impl Policy for Gdsf {
    const INFO: Info = Info {
        name: "gdsf",
        aliases: &["gds-f"],
        family: "frequency",
        summary: "LFU with dynamic aging by uses per byte: small objects stay for fewer uses",
        params: &[Param {
            key: "cost",
            kind: ParamKind::Word(&["requests", "packets"]),
            default: "requests",
            doc: "what a miss costs: one request, for most hits, or the packets that carry it, for more hits by bytes (paper: both)",
        }],
        offline: false,
        needs: Needs { size: true, ..Needs::NOTHING },
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let ranking = Ranking::new(setup.slots, setup.capacity);
        let by_packets = setup.args.word("cost") == "packets";
        Ok(Gdsf { capacity: setup.capacity, by_packets, now: 0, floor: 0.0, ranking })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        if self.contains(slot) {
            let (before, key) = (self.ranking.key(slot), self.key(self.ranking.key(slot).uses + 1, reference.bytes));
            if key >= before {
                self.ranking.raise(slot, key);
            } else {
                // It has become larger.
                self.ranking.take(slot);
                self.ranking.insert(slot, key);
            }
            return Outcome::Hit;
        }
        if self.len() == self.capacity {
            self.evict(fx);
        }
        self.ranking.insert(slot, self.key(1, reference.bytes));
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.ranking.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.ranking.take(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        while self.len() > capacity {
            self.evict(fx);
        }
        self.grow(self.ranking.places.slots());
    }

    fn grow(&mut self, slots: u32) {
        self.ranking.grow(slots, self.capacity);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.ranking.places.tag(slot) != ABSENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.ranking.len()
    }

    fn validate(&self) {
        self.ranking.validate();
        assert!(self.len() <= self.capacity);
        for slot in (0..self.ranking.places.slots()).filter(|&slot| self.contains(slot)) {
            let Key { value, last, uses } = self.ranking.key(slot);
            assert!(uses > 0 && f64::from_bits(value) >= self.floor, "the value of slot {slot}");
            assert!(last <= self.now);
        }
    }
}

impl Gdsf {
    /// The key of an object of so many bytes after this many uses, the last of them now.
    #[inline(always)]
    fn key(&self, uses: u64, bytes: u32) -> Key {
        let cost = if self.by_packets { 2 + bytes.div_ceil(PACKET) } else { 1 };
        let value = self.floor + uses as f64 * f64::from(cost) / f64::from(bytes.max(1));
        Key { value: value.to_bits(), last: self.now, uses }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.ranking.pop_least() {
            self.floor = f64::from_bits(self.ranking.key(victim).value);
            fx.discard(victim);
        }
    }
}
