//! SEQ: sequences as ranges with the times of all their faults, beside the model of CLOCK.

use std::collections::BTreeMap;

use hotset_core::paging::Object;

use super::clock::Clock;
use super::{Given, Model, Sight};

struct Sequence {
    low: u64,
    high: u64,
    direction: i64,
    faults: Vec<u64>,
}

pub(super) struct Seq {
    frames: usize,
    initial: bool,
    clock: Clock,
    sequences: Vec<Sequence>,
    addresses: Vec<u64>,
    resident: BTreeMap<u64, u32>,
    now: u64,
    long: u64,
    recent: usize,
    distance: u64,
    most: usize,
}

impl Model for Seq {
    fn new(given: &Given<'_>) -> Seq {
        Seq {
            frames: given.frames,
            initial: given.args.count("initial") == 1,
            clock: Clock::new(given),
            sequences: Vec::new(),
            addresses: given.addresses.to_vec(),
            resident: BTreeMap::new(),
            now: 0,
            long: given.args.count("long"),
            recent: given.args.count("recent") as usize,
            distance: given.args.count("distance"),
            most: given.args.count("sequences") as usize,
        }
    }

    fn fault(&mut self, page: u32, object: Option<Object>, sight: &mut Sight<'_>) -> Option<u32> {
        let address = self.addresses[page as usize];
        self.now += 1;
        self.note(address);
        let mut victim = None;
        if self.resident.len() == self.frames {
            victim = self.candidate();
        }
        if let Some(victim) = victim {
            self.free(victim);
        }
        let by_clock = self.clock.fault(page, object, sight);
        sight.bits[page as usize] = self.initial;
        if let Some(page) = by_clock {
            self.resident.remove(&self.addresses[page as usize]);
        }
        self.resident.insert(address, page);
        victim.or(by_clock)
    }

    fn free(&mut self, page: u32) {
        self.clock.free(page);
        self.resident.remove(&self.addresses[page as usize]);
    }
}

impl Seq {
    fn note(&mut self, address: u64) {
        for sequence in &mut self.sequences {
            let single = sequence.low == sequence.high;
            if (sequence.direction == 1 || single) && address == sequence.high + 1 {
                (sequence.high, sequence.direction) = (address, 1);
                return sequence.faults.push(self.now);
            }
            if (sequence.direction == -1 || single) && address + 1 == sequence.low {
                (sequence.low, sequence.direction) = (address, -1);
                return sequence.faults.push(self.now);
            }
        }
        if let Some(at) = self.sequences.iter().position(|it| it.low <= address && address <= it.high) {
            let sequence = &mut self.sequences[at];
            if sequence.direction == 1 {
                sequence.low = address + 1;
            } else {
                sequence.high = address.wrapping_sub(1);
            }
            if sequence.low > sequence.high || sequence.high == u64::MAX {
                self.sequences.swap_remove(at);
            }
        }
        if self.sequences.len() == self.most {
            let oldest = (0..self.most).min_by_key(|&at| self.sequences[at].faults.last()).expect("a full table");
            self.sequences.swap_remove(oldest);
        }
        self.sequences.push(Sequence { low: address, high: address, direction: 1, faults: vec![self.now] });
    }

    fn candidate(&self) -> Option<u32> {
        let nth = |it: &Sequence| it.faults.iter().rev().nth(self.recent - 1).copied();
        let long = self.sequences.iter().filter(|it| it.high - it.low + 1 > self.long && nth(it).is_some());
        let best = long.max_by_key(|it| nth(it))?;
        (self.distance..=best.high - best.low)
            .map(|back| if best.direction == 1 { best.high - back } else { best.low + back })
            .find_map(|address| self.resident.get(&address).copied())
    }
}
