//! Sequences that may overlap: a miss that goes on with one leaves the others as they are. Resident pages are found by
//! its address.

use std::collections::{BTreeMap, VecDeque};

use crate::policy::Slot;

/// The table of sequences.
#[derive(Debug)]
pub(super) struct Overlapping {
    /// A sequence counts if it is longer than this.
    length: u64,
    /// Blocks left behind the end.
    distance: u64,
    /// Sequences are compared by this many misses ago.
    nth: usize,
    most: usize,
    table: Vec<Sequence>,
    /// Misses so far.
    now: u64,
    /// Residents by address, and the other way round.
    residents: BTreeMap<u64, Slot>,
    addresses: BTreeMap<Slot, u64>,
}

/// A run of misses at neighbouring blocks.
#[derive(Debug)]
struct Sequence {
    low: u64,
    high: u64,
    /// It grows upwards; one of a single block may still grow either way.
    up: bool,
    /// The latest misses, newest first.
    misses: VecDeque<u64>,
}

/// Files and blocks in one order.
fn address(file: u32, block: u32) -> u64 {
    u64::from(file) << 32 | u64::from(block)
}

impl Overlapping {
    pub(super) fn new(length: u32, distance: u32, nth: u32, most: u32) -> Overlapping {
        Overlapping {
            length: length.into(),
            distance: distance.into(),
            nth: nth as usize,
            most: most as usize,
            table: Vec::new(),
            now: 0,
            residents: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// Takes a miss into the sequences.
    pub(super) fn miss(&mut self, file: u32, block: u32) {
        self.now += 1;
        let (address, now, nth) = (address(file, block), self.now, self.nth);
        if let Some(sequence) = self.table.iter_mut().find(|sequence| sequence.is_next(address)) {
            return sequence.extend(address, now, nth);
        }
        if let Some(at) = self.table.iter().position(|sequence| sequence.holds(address))
            && !self.table[at].cut(address)
        {
            self.table.swap_remove(at);
        }
        if self.table.len() == self.most {
            let oldest = (0..self.table.len()).min_by_key(|&at| self.table[at].misses.front());
            self.table.swap_remove(oldest.expect("the table holds at least one sequence"));
        }
        self.table.push(Sequence { low: address, high: address, up: true, misses: VecDeque::from([now]) });
    }

    /// The block is resident in `slot`.
    pub(super) fn enter(&mut self, slot: Slot, file: u32, block: u32) {
        self.residents.insert(address(file, block), slot);
        self.addresses.insert(slot, address(file, block));
    }

    /// The block in `slot` is not resident any more.
    pub(super) fn leave(&mut self, slot: Slot) {
        if let Some(address) = self.addresses.remove(&slot) {
            self.residents.remove(&address);
        }
    }

    /// The first resident block far enough behind the end of the fastest of the long sequences.
    pub(super) fn victim(&self) -> Option<Slot> {
        let long = self.table.iter().filter(|sequence| sequence.high - sequence.low >= self.length);
        let timed = long.filter_map(|sequence| Some((*sequence.misses.get(self.nth - 1)?, sequence)));
        let (_, sequence) = timed.max_by_key(|(miss, _)| *miss)?;
        if sequence.up {
            let last = sequence.high.checked_sub(self.distance).filter(|&last| last >= sequence.low)?;
            self.residents.range(sequence.low..=last).next_back().map(|(_, &slot)| slot)
        } else {
            let first = sequence.low.checked_add(self.distance).filter(|&first| first <= sequence.high)?;
            self.residents.range(first..=sequence.high).next().map(|(_, &slot)| slot)
        }
    }

    /// The resident slots.
    pub(super) fn residents(&self) -> impl Iterator<Item = Slot> + '_ {
        self.residents.values().copied()
    }

    pub(super) fn validate(&self) {
        assert!(self.table.len() <= self.most);
        let plausible = |sequence: &Sequence| sequence.low <= sequence.high && sequence.misses.len() <= self.nth;
        assert!(self.table.iter().all(plausible));
        assert!(self.residents.iter().all(|(address, slot)| self.addresses.get(slot) == Some(address)));
        assert_eq!(self.residents.len(), self.addresses.len());
    }
}

impl Sequence {
    /// True if a miss at `address` goes on with it.
    fn is_next(&self, address: u64) -> bool {
        let single = self.low == self.high;
        let above = (self.up || single) && self.high.checked_add(1) == Some(address);
        let below = (!self.up || single) && self.low.checked_sub(1) == Some(address);
        above || below
    }

    fn holds(&self, address: u64) -> bool {
        (self.low..=self.high).contains(&address)
    }

    fn extend(&mut self, address: u64, now: u64, nth: usize) {
        self.up = address > self.high;
        (self.low, self.high) = (self.low.min(address), self.high.max(address));
        self.misses.push_front(now);
        self.misses.truncate(nth);
    }

    /// Leaves what lies between `address`, which is inside, and the head; false if that is nothing.
    fn cut(&mut self, address: u64) -> bool {
        if address == if self.up { self.high } else { self.low } {
            return false;
        }
        match self.up {
            true => self.low = address + 1,
            false => self.high = address - 1,
        }
        true
    }
}
