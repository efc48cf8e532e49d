//! SEQ: CLOCK, but while memory is faulted in sequence, evict from that sequence.
//!
//! Idea: a long run of faults on neighbouring pages is a scan or a loop, and what has just been passed will be wanted last. So the
//! victim is a page a little behind the head of the sequence that runs fastest; everything else stays.
//!
//! Paper: Glass, Cao, "Adaptive page replacement based on memory reference behavior", SIGMETRICS 1997; with CLOCK in place of LRU as in
//! Lee, Seoul National University M.S. thesis 2020.
//!
//! Deviations and readings: only faults build sequences. A fault inside of a sequence begins a new one and leaves of the old one
//! what lies between the fault and its head. When the table is full, the sequence whose last fault is oldest is dropped. If the sequence that runs fastest has no resident page
//! far enough behind its head, the clock decides.
//!
//! Cost: a fault goes through the table of sequences. Memory: 21 bytes a page, 100 bytes a sequence.
//!
//! When not to use it: loops over memory that is not contiguous, and loops that nearly fit, which it lets go of too early.

use std::collections::VecDeque;

use super::clock::Ring;
use super::{INITIAL, PLAIN};
use crate::paging::{Fault, Machine, Page, PagingPolicy, Setup};
use crate::policy::{Info, Param, ParamKind};
use crate::spec::SpecError;

/// The SEQ policy.
#[derive(Debug)]
pub struct Seq {
    frames: u32,
    counts_fault: bool,
    ring: Ring,
    map: Map,
    sequences: Vec<Sequence>,
    most_sequences: usize,
    /// A sequence counts if it is longer than this.
    long: u64,
    /// Sequences are compared by this many faults ago.
    recent: usize,
    /// Pages left behind the head.
    distance: u64,
    /// Faults so far.
    faults: u64,
}

/// Pages by address.
#[derive(Debug)]
struct Map {
    addresses: Vec<u64>,
    /// Pages in the order of their addresses.
    by_address: Vec<Page>,
}

/// A run of faults on neighbouring pages.
#[derive(Debug)]
struct Sequence {
    low: u64,
    high: u64,
    /// It grows upwards; one of a single page may still grow either way.
    up: bool,
    /// The latest faults, newest first.
    faults: VecDeque<u64>,
}

impl PagingPolicy for Seq {
    const INFO: Info = Info {
        name: "seq",
        summary: "CLOCK that evicts behind the head of a long sequence of faults",
        params: &[
            Param {
                key: "long",
                kind: ParamKind::Count { min: 1, max: 1 << 32 },
                default: "20",
                doc: "a sequence must be longer than this many pages to supply victims",
            },
            Param {
                key: "recent",
                kind: ParamKind::Count { min: 1, max: 1000 },
                default: "5",
                doc: "the fastest sequence is the one whose fault so many faults ago is the latest",
            },
            Param {
                key: "distance",
                kind: ParamKind::Count { min: 0, max: 1 << 32 },
                default: "20",
                doc: "pages that are spared behind the head of the sequence",
            },
            Param {
                key: "sequences",
                kind: ParamKind::Count { min: 1, max: 100_000 },
                default: "200",
                doc: "sequences that are watched at a time",
            },
            INITIAL,
        ],
        ..PLAIN
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let args = setup.args;
        Ok(Seq {
            frames: setup.frames,
            counts_fault: args.count("initial") == 1,
            ring: Ring::new(setup.pages()),
            map: Map::new(setup.addresses),
            sequences: Vec::new(),
            most_sequences: args.count("sequences") as usize,
            long: args.count("long"),
            recent: args.count("recent") as usize,
            distance: args.count("distance"),
            faults: 0,
        })
    }

    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page> {
        self.faults += 1;
        self.note(self.map.addresses[fault.page as usize]);
        let full = self.ring.len() == self.frames;
        let victim = if full { self.evict(machine) } else { None };
        if !self.counts_fault {
            machine.test_and_clear(fault.page);
        }
        self.ring.push(fault.page);
        victim
    }

    fn free(&mut self, page: Page) {
        self.ring.take(page);
    }

    fn contains(&self, page: Page) -> bool {
        self.ring.contains(page)
    }

    fn len(&self) -> u32 {
        self.ring.len()
    }

    fn validate(&self) {
        self.ring.validate();
        assert!(self.len() <= self.frames);
        assert!(self.sequences.len() <= self.most_sequences);
        let plausible = |sequence: &Sequence| sequence.low <= sequence.high && sequence.faults.len() <= self.recent;
        assert!(self.sequences.iter().all(plausible));
    }
}

impl Seq {
    /// Takes a fault into the sequences.
    fn note(&mut self, address: u64) {
        let (now, recent) = (self.faults, self.recent);
        if let Some(sequence) = self.sequences.iter_mut().find(|sequence| sequence.is_next(address)) {
            return sequence.extend(address, now, recent);
        }
        if let Some(at) = self.sequences.iter().position(|sequence| sequence.holds(address))
            && !self.sequences[at].cut(address)
        {
            self.sequences.swap_remove(at);
        }
        if self.sequences.len() == self.most_sequences {
            let oldest = (0..self.sequences.len()).min_by_key(|&at| self.sequences[at].faults.front());
            self.sequences.swap_remove(oldest.expect("the table holds at least one sequence"));
        }
        self.sequences.push(Sequence { low: address, high: address, up: true, faults: VecDeque::from([now]) });
    }

    fn evict(&mut self, machine: &mut impl Machine) -> Option<Page> {
        let victim = self.behind_the_fastest();
        match victim {
            Some(page) => self.ring.take(page),
            None => return self.ring.evict(machine),
        }
        victim
    }

    /// The first resident page far enough behind the head of the fastest of the long sequences.
    fn behind_the_fastest(&self) -> Option<Page> {
        let long = self.sequences.iter().filter(|sequence| sequence.high - sequence.low >= self.long);
        let timed = long.filter_map(|sequence| Some((*sequence.faults.get(self.recent - 1)?, sequence)));
        let (_, sequence) = timed.max_by_key(|(fault, _)| *fault)?;
        let resident = |&page: &Page| self.ring.contains(page);
        if sequence.up {
            let last = sequence.high.checked_sub(self.distance)?;
            self.map.between(sequence.low, last).iter().rev().copied().find(resident)
        } else {
            let first = sequence.low.checked_add(self.distance)?;
            self.map.between(first, sequence.high).iter().copied().find(resident)
        }
    }
}

impl Sequence {
    /// True if a fault at `address` goes on with it.
    fn is_next(&self, address: u64) -> bool {
        let single = self.low == self.high;
        let above = (self.up || single) && self.high.checked_add(1) == Some(address);
        let below = (!self.up || single) && self.low.checked_sub(1) == Some(address);
        above || below
    }

    fn holds(&self, address: u64) -> bool {
        (self.low..=self.high).contains(&address)
    }

    fn extend(&mut self, address: u64, now: u64, recent: usize) {
        self.up = address > self.high;
        (self.low, self.high) = (self.low.min(address), self.high.max(address));
        self.faults.push_front(now);
        self.faults.truncate(recent);
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

impl Map {
    fn new(addresses: &[u64]) -> Map {
        let mut by_address: Vec<Page> = (0..addresses.len() as u32).collect();
        by_address.sort_unstable_by_key(|&page| addresses[page as usize]);
        Map { addresses: addresses.to_vec(), by_address }
    }

    /// The pages from address `first` to address `last`, in order.
    fn between(&self, first: u64, last: u64) -> &[Page] {
        let at = |address: u64| self.by_address.partition_point(|&page| self.addresses[page as usize] < address);
        let end = self.by_address.partition_point(|&page| self.addresses[page as usize] <= last);
        &self.by_address[at(first).min(end)..end]
    }
}
