//! The partitions of UBM and PCC, and a table of the files or applications used last, by searching lists.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How a block is referenced; loops have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Sequential,
    Looping(usize),
    Other,
}

#[derive(Default)]
struct Loop {
    period: u64,
    referenced: u64,
    blocks: VecDeque<u32>,
}

/// Every list has its least recently used block first.
#[derive(Default)]
pub(super) struct Partitions {
    pub(super) capacity: usize,
    sequential: VecDeque<u32>,
    others: VecDeque<u32>,
    loops: BTreeMap<usize, Loop>,
    hand: usize,
    now: u64,
    foot_hits: u128,
    references: u128,
}

impl Partitions {
    pub(super) fn new(capacity: usize) -> Partitions {
        Partitions { capacity, ..Partitions::default() }
    }

    pub(super) fn resident(&self) -> BTreeSet<u32> {
        let looping = self.loops.values().flat_map(|a_loop| &a_loop.blocks);
        self.sequential.iter().chain(&self.others).chain(looping).copied().collect()
    }

    /// True if `key` is resident; counts a reference and, if so, a hit at the foot.
    pub(super) fn look_up(&mut self, key: u32, now: u64) -> bool {
        self.now = now;
        self.foot_hits += u128::from(self.others.iter().take(self.foot()).any(|&other| other == key));
        self.references += 1;
        if self.references >= 2 * self.capacity as u128 {
            self.foot_hits /= 2;
            self.references /= 2;
        }
        self.resident().contains(&key)
    }

    /// Takes `key` from where it is, if anywhere, and puts it into the partition of this class.
    pub(super) fn put(&mut self, key: u32, class: Class) {
        self.take(key);
        match class {
            Class::Sequential => self.sequential.push_back(key),
            Class::Other => self.others.push_back(key),
            Class::Looping(number) => {
                let a_loop = self.loops.get_mut(&number).expect("a loop with a period");
                a_loop.referenced = self.now;
                a_loop.blocks.push_back(key);
            }
        }
    }

    pub(super) fn take(&mut self, key: u32) {
        let looping = self.loops.values_mut().map(|a_loop| &mut a_loop.blocks);
        for blocks in [&mut self.sequential, &mut self.others].into_iter().chain(looping) {
            blocks.retain(|&other| other != key);
        }
    }

    fn evict(&mut self) -> u32 {
        self.look_at_a_loop();
        if let Some(youngest) = self.sequential.pop_back() {
            return youngest;
        }
        let (foot, foot_hits, references) = (self.foot() as u128, self.foot_hits, self.references);
        let held = self.loops.values_mut().filter(|a_loop| !a_loop.blocks.is_empty());
        match held.max_by_key(|a_loop| a_loop.period) {
            Some(longest) if self.others.is_empty() || references * foot < foot_hits * u128::from(longest.period) => {
                longest.blocks.pop_back().expect("it holds a block")
            }
            _ => self.others.pop_front().expect("neither sequential nor looping blocks"),
        }
    }

    /// The next loop, of all numbers that were ever loops, is over if it was not referenced for twice its period.
    fn look_at_a_loop(&mut self) {
        let numbers = self.loops.keys().last().map_or(0, |last| last + 1);
        self.hand = if self.hand + 1 < numbers { self.hand + 1 } else { 0 };
        if self.loops.get(&self.hand).is_some_and(|a_loop| self.now - a_loop.referenced > 2 * a_loop.period) {
            self.release(self.hand);
        }
    }

    pub(super) fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let surplus = self.resident().len().saturating_sub(len);
        (0..surplus).map(|_| self.evict()).collect()
    }

    pub(super) fn period(&self, number: usize) -> u64 {
        self.loops[&number].period
    }

    pub(super) fn set_period(&mut self, number: usize, period: u64) {
        self.loops.entry(number).or_default().period = period;
    }

    pub(super) fn release(&mut self, number: usize) {
        if let Some(a_loop) = self.loops.get_mut(&number) {
            while let Some(youngest) = a_loop.blocks.pop_back() {
                self.others.push_front(youngest);
            }
        }
    }

    fn foot(&self) -> usize {
        (self.others.len() / 16).max(1).min(self.others.len())
    }
}

/// Values by key, for the keys that were used last. A new entry has the next number until the table is full, then that
/// of the entry it displaces.
pub(super) struct Table<T> {
    bound: usize,
    pub(super) entries: Vec<(u64, T)>,
    /// Numbers of entries, least recently used first.
    order: VecDeque<usize>,
}

impl<T> Table<T> {
    pub(super) fn new(bound: usize) -> Table<T> {
        Table { bound, entries: Vec::new(), order: VecDeque::new() }
    }

    /// The number of `key`, used just now.
    pub(super) fn find(&mut self, key: u64) -> Option<usize> {
        let number = self.peek(key)?;
        self.order.retain(|&other| other != number);
        self.order.push_back(number);
        Some(number)
    }

    pub(super) fn peek(&self, key: u64) -> Option<usize> {
        self.entries.iter().position(|(known, _)| *known == key)
    }

    /// Adds `key`; true with its number if that was another's.
    pub(super) fn insert(&mut self, key: u64, value: T) -> (usize, bool) {
        let full = self.entries.len() == self.bound;
        let number = if full { self.order.pop_front().expect("a full table") } else { self.entries.len() };
        if full {
            self.entries[number] = (key, value);
        } else {
            self.entries.push((key, value));
        }
        self.order.push_back(number);
        (number, full)
    }
}
