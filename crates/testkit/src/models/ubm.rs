//! UBM: runs by file, then the partition that gains least.

use std::collections::BTreeSet;

use super::partitions::{Class, Partitions, Table};
use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

/// A file's run: its length so far, the length it needs, its ends, when it or its last lap began, when the file was
/// last referenced.
struct Run {
    length: u64,
    needed: u64,
    looping: bool,
    first: u32,
    last: u32,
    began: u64,
}

impl Run {
    fn at(reference: Reference, needed: u64) -> Run {
        let (block, time) = (reference.block, reference.time);
        Run { length: 1, needed, looping: false, first: block, last: block, began: time }
    }
}

pub(super) struct Ubm {
    run: u64,
    raise: bool,
    files: Table<Run>,
    partitions: Partitions,
}

impl Model for Ubm {
    fn new(given: &Given<'_>) -> Ubm {
        Ubm {
            run: given.args.count("run"),
            raise: given.args.word("broken") == "raise",
            files: Table::new(given.args.count("files") as usize),
            partitions: Partitions::new(given.capacity),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let hit = self.partitions.look_up(key, reference.time);
        let class = self.classify(reference);
        let evicted = if hit { vec![] } else { self.partitions.shrink_to(self.partitions.capacity - 1) };
        self.partitions.put(key, class);
        ModelStep { hit, evicted, ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.partitions.take(key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let evicted = self.partitions.shrink_to(capacity);
        self.partitions.capacity = capacity;
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.partitions.resident()
    }
}

impl Ubm {
    fn classify(&mut self, reference: Reference) -> Class {
        let (file, time) = (u64::from(reference.file), reference.time);
        let Some(number) = self.files.find(file) else {
            let (number, _) = self.files.insert(file, Run::at(reference, self.run));
            self.partitions.release(number);
            return Class::Other;
        };
        let run = &mut self.files.entries[number].1;
        let known = run.length >= run.needed || run.looping;
        if reference.block == run.last {
        } else if u64::from(reference.block) == u64::from(run.last) + 1 {
            run.last += 1;
            run.length += 1;
        } else if known && reference.block == run.first {
            let lap = (time - run.began).min(u64::from(u32::MAX));
            let period = if run.looping { (self.partitions.period(number) + lap) / 2 } else { lap };
            self.partitions.set_period(number, period);
            *run = Run { looping: true, ..Run::at(reference, run.needed) };
        } else {
            let needed = if self.raise { run.needed.max(run.length + 1) } else { run.needed };
            *run = Run::at(reference, needed);
            self.partitions.release(number);
        }
        match run {
            Run { looping: true, .. } => Class::Looping(number),
            run if run.length >= run.needed => Class::Sequential,
            _ => Class::Other,
        }
    }
}
