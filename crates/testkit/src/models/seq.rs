//! SEQ over a plain list of sequences; a victim is looked for block by block, from some way behind the end of its
//! sequence backwards.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use crate::model::{Given, Model, ModelStep};

struct Sequence {
    file: u32,
    low: u32,
    high: u32,
    up: bool,
    /// Times of its misses.
    misses: Vec<u64>,
}

impl Sequence {
    /// Its blocks from its end backwards.
    fn backwards(&self) -> Vec<u32> {
        let blocks = self.low..=self.high;
        if self.up { blocks.rev().collect() } else { blocks.collect() }
    }
}

pub(super) struct Seq {
    args: Args,
    capacity: usize,
    now: u64,
    sequences: Vec<Sequence>,
    /// File and block of each resident key.
    residents: BTreeMap<u32, (u32, u32)>,
    /// Resident keys, next victim first, with CLOCK's bit.
    order: VecDeque<(u32, bool)>,
}

impl Model for Seq {
    fn new(given: &Given<'_>) -> Seq {
        Seq {
            args: given.args.clone(),
            capacity: given.capacity,
            now: 0,
            sequences: Vec::new(),
            residents: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        if self.residents.contains_key(&key) {
            if self.args.word("fallback") == "clock" {
                self.order.iter_mut().filter(|entry| entry.0 == key).for_each(|entry| entry.1 = true);
            } else {
                self.order.retain(|entry| entry.0 != key);
                self.order.push_back((key, false));
            }
            return ModelStep::hit();
        }
        match self.args.word("sequences") {
            "apart" => self.miss(reference.file, reference.block),
            _ => self.miss_overlapping(reference.file, reference.block),
        }
        let evicted = self.shrink_to(self.capacity - 1);
        self.residents.insert(key, (reference.file, reference.block));
        let initial = self.args.word("fallback") == "clock" && self.count("initial") == 1;
        self.order.push_back((key, initial));
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.residents.remove(&key);
        self.order.retain(|entry| entry.0 != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.residents.keys().copied().collect()
    }
}

impl Seq {
    fn count(&self, key: &str) -> usize {
        self.args.count(key) as usize
    }

    fn miss(&mut self, file: u32, block: u32) {
        self.now += 1;
        let (now, table) = (self.now, self.count("table"));
        let of_file = |sequence: &&mut Sequence| sequence.file == file;
        let grows_up = |s: &&mut Sequence| (s.up || s.low == s.high) && s.high + 1 == block;
        let grows_down = |s: &&mut Sequence| (!s.up || s.low == s.high) && block + 1 == s.low;
        let mut extended = self.sequences.iter_mut().filter(of_file).find(grows_up);
        if extended.is_none() {
            extended = self.sequences.iter_mut().filter(of_file).find(grows_down);
        }
        let mut grown = extended.map(|sequence| {
            sequence.up = block > sequence.high;
            sequence.misses.push(now);
            (sequence.low.min(block), sequence.high.max(block), now)
        });
        self.sequences.retain_mut(|sequence| {
            if sequence.file != file {
                return true;
            }
            if sequence.misses.last() == Some(&now) {
                (sequence.low, sequence.high, _) = grown.expect("a sequence was extended");
                return true;
            }
            let (low, high) = (sequence.low, sequence.high);
            if !(low..=high).contains(&block) {
                return true;
            }
            match sequence.up {
                true => sequence.low = block + 1,
                false if block == low => return false,
                false => sequence.high = block - 1,
            }
            sequence.low <= sequence.high
        });
        if grown.take().is_none() {
            if self.sequences.len() == table {
                let stalest = (0..table).min_by_key(|&at| self.sequences[at].misses.last().copied());
                self.sequences.remove(stalest.expect("the table holds at least one"));
            }
            self.sequences.push(Sequence { file, low: block, high: block, up: true, misses: vec![now] });
        }
    }

    /// A miss extends the first sequence that it goes on with, and nothing else happens; otherwise it cuts the first in
    /// which it lies.
    fn miss_overlapping(&mut self, file: u32, block: u32) {
        self.now += 1;
        let (now, table) = (self.now, self.count("table"));
        for sequence in self.sequences.iter_mut().filter(|sequence| sequence.file == file) {
            let single = sequence.low == sequence.high;
            let above = (sequence.up || single) && sequence.high + 1 == block;
            let below = (!sequence.up || single) && block + 1 == sequence.low;
            if above || below {
                (sequence.low, sequence.high) = (sequence.low.min(block), sequence.high.max(block));
                sequence.up = above;
                return sequence.misses.push(now);
            }
        }
        let holds = |it: &Sequence| it.file == file && (it.low..=it.high).contains(&block);
        if let Some(at) = self.sequences.iter().position(holds) {
            let sequence = &mut self.sequences[at];
            if block == if sequence.up { sequence.high } else { sequence.low } {
                self.sequences.swap_remove(at);
            } else if sequence.up {
                sequence.low = block + 1;
            } else {
                sequence.high = block - 1;
            }
        }
        if self.sequences.len() == table {
            let stalest = (0..table).min_by_key(|&at| self.sequences[at].misses.last().copied());
            self.sequences.swap_remove(stalest.expect("the table holds at least one"));
        }
        self.sequences.push(Sequence { file, low: block, high: block, up: true, misses: vec![now] });
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.residents.len() > len {
            let victim = self.best_offer().unwrap_or_else(|| self.fall_back());
            self.remove(victim);
            evicted.push(victim);
        }
        evicted
    }

    fn best_offer(&self) -> Option<u32> {
        let (length, distance, nth) = (self.count("l"), self.count("m"), self.count("n"));
        let may_offer = |it: &&Sequence| it.backwards().len() > length && it.misses.len() >= nth;
        let time = |it: &Sequence| it.misses[it.misses.len() - nth];
        let offer = |sequence: &Sequence| {
            let blocks = sequence.backwards();
            let resident = |block: &u32| {
                let wanted = (sequence.file, *block);
                self.residents.iter().find(|(_, address)| **address == wanted).map(|(&key, _)| key)
            };
            let victim = blocks.iter().skip(distance).find_map(resident)?;
            Some((time(sequence), victim))
        };
        let mut long: Vec<&Sequence> = self.sequences.iter().filter(may_offer).collect();
        if self.args.word("sequences") == "overlapping" {
            let best = long.iter().map(|it| time(it)).max();
            long.retain(|it| Some(time(it)) == best);
        }
        long.into_iter().filter_map(offer).max().map(|(_, victim)| victim)
    }

    fn fall_back(&mut self) -> u32 {
        while self.order[0].1 {
            let (key, _) = self.order.pop_front().expect("it was looked at");
            self.order.push_back((key, false));
        }
        self.order[0].0
    }
}
