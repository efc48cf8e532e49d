//! PCC by application and write: what came of a context's blocks, then the partition that gains least.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::partitions::{Class, Partitions, Table};
use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::{Args, Reference};

#[derive(Default)]
struct Context {
    once: u64,
    regular: u64,
    irregular: u64,
    period: u64,
}

/// The last use of a block: by which context, when, and whether it had come back by then.
struct Seen {
    context: u64,
    time: u64,
    came_back: bool,
}

pub(super) struct Pcc {
    args: Args,
    by_write: bool,
    seen_once: u64,
    contexts: Table<Context>,
    seen: BTreeMap<u32, Seen>,
    partitions: Partitions,
    /// Oldest first.
    ghosts: VecDeque<u32>,
}

impl Model for Pcc {
    fn new(given: &Given<'_>) -> Pcc {
        Pcc {
            args: given.args.clone(),
            by_write: given.args.word("context") == "app-write",
            seen_once: given.args.count("seen_once"),
            contexts: Table::new(given.args.count("contexts") as usize),
            seen: BTreeMap::new(),
            partitions: Partitions::new(given.capacity),
            ghosts: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let hit = self.partitions.look_up(key, reference.time);
        let class = self.classify(key, reference);
        self.ghosts.retain(|&ghost| ghost != key);
        let evicted = if hit { vec![] } else { self.shrink_to(self.partitions.capacity - 1) };
        self.partitions.put(key, class);
        ModelStep { hit, evicted, ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.partitions.take(key);
        self.ghosts.retain(|&ghost| ghost != key);
        self.seen.remove(&key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let evicted = self.shrink_to(capacity);
        self.partitions.capacity = capacity;
        self.trim_ghosts();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.partitions.resident()
    }
}

impl Pcc {
    fn classify(&mut self, key: u32, reference: Reference) -> Class {
        let now = reference.time;
        let write = self.by_write && reference.write;
        let context = 2 * u64::from(reference.app) + u64::from(write);
        let number = self.contexts.find(context).unwrap_or_else(|| {
            let (number, _) = self.contexts.insert(context, Context::default());
            self.partitions.release(number);
            number
        });
        let counted = match self.seen.get(&key) {
            None => {
                self.seen.insert(key, Seen { context, time: now, came_back: false });
                self.contexts.entries[number].1.once += 1;
                Some(number)
            }
            Some(seen) if now - seen.time == 1 => {
                let came_back = seen.came_back;
                self.seen.insert(key, Seen { context, time: now, came_back });
                None
            }
            Some(seen) => {
                let (interval, first, last) = (now - seen.time, !seen.came_back, self.contexts.peek(seen.context));
                self.seen.insert(key, Seen { context, time: now, came_back: true });
                if let Some(last) = last {
                    self.contexts.entries[last].1.note_return(interval, first);
                }
                last
            }
        };
        if let Some(counted) = counted {
            let most = (2 * self.partitions.capacity as u64).max(8 * self.seen_once);
            self.contexts.entries[counted].1.limit(most);
        }
        let Context { once, regular, irregular, period } = self.contexts.entries[number].1;
        if regular > once + irregular {
            self.partitions.set_period(number, period);
            return Class::Looping(number);
        }
        self.partitions.release(number);
        if once >= self.seen_once && once > regular + irregular { Class::Sequential } else { Class::Other }
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let evicted = self.partitions.shrink_to(len);
        for &key in &evicted {
            self.ghosts.push_back(key);
            self.trim_ghosts();
        }
        evicted
    }

    fn trim_ghosts(&mut self) {
        let most = self.args.multiple("ghosts", self.partitions.capacity as u32);
        while most.is_some_and(|most| self.ghosts.len() > most as usize) {
            let oldest = self.ghosts.pop_front().expect("more than most");
            self.seen.remove(&oldest);
        }
    }
}

impl Context {
    fn note_return(&mut self, interval: u64, first: bool) {
        if first {
            self.once = self.once.saturating_sub(1);
        }
        if self.period == 0 {
            self.period = interval;
        }
        if interval >= self.period / 2 && interval <= self.period * 2 {
            self.regular += 1;
        } else {
            self.irregular += 1;
        }
        self.period = (self.period + interval) / 2;
    }

    fn limit(&mut self, most: u64) {
        if self.once + self.regular + self.irregular >= most {
            self.once /= 2;
            self.regular /= 2;
            self.irregular /= 2;
        }
    }
}
