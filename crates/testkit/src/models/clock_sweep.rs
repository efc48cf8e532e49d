//! PostgreSQL's buffers: an array of them with a hand, and for each file that was referenced lately the run of blocks
//! in order and the ring of a scan.

use std::collections::BTreeSet;

use hotset_core::policy::Reference;

use crate::model::{Given, Model, ModelStep};

pub(super) struct ClockSweep {
    capacity: usize,
    most: u32,
    ring: usize,
    scan: usize,
    buffers: Vec<Option<Page>>,
    /// Free ones that held a page before, the last to become free behind.
    free: Vec<usize>,
    hand: usize,
    /// The file referenced last behind.
    files: Vec<File>,
}

#[derive(Clone, Copy)]
struct Page {
    key: u32,
    uses: u32,
}

struct File {
    number: u32,
    last: u32,
    run: usize,
    /// Pages that the scan read so far.
    read: usize,
    ring: Vec<Option<usize>>,
}

impl Model for ClockSweep {
    fn new(given: &Given<'_>) -> ClockSweep {
        ClockSweep {
            capacity: given.capacity,
            most: given.args.count("most") as u32,
            ring: given.args.count("ring") as usize,
            scan: given.share("scan").max(1),
            buffers: Vec::new(),
            free: Vec::new(),
            hand: 0,
            files: Vec::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        self.note(&reference);
        let file = self.files.last().expect("it was noted");
        let place = (self.ring > 0 && file.run >= self.scan).then(|| file.read % self.ring);
        if place.is_some() {
            self.files.last_mut().expect("it was noted").read += 1;
        }
        if let Some(page) = self.buffers.iter_mut().flatten().find(|page| page.key == key) {
            page.uses = if place.is_some() { page.uses.max(1) } else { (page.uses + 1).min(self.most) };
            return ModelStep::hit();
        }
        let mut evicted = Vec::new();
        let own = place.and_then(|place| self.files.last().expect("it was noted").ring[place]);
        let own = own.filter(|&at| self.buffers[at].is_some_and(|page| page.uses <= 1));
        let at = own.unwrap_or_else(|| self.buffer());
        if let Some(place) = place {
            self.files.last_mut().expect("it was noted").ring[place] = Some(at);
        }
        evicted.extend(self.buffers[at].map(|page| page.key));
        self.buffers[at] = Some(Page { key, uses: 1 });
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        if let Some(at) = self.buffers.iter().position(|page| page.is_some_and(|page| page.key == key)) {
            self.buffers[at] = None;
            self.free.push(at);
        }
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.buffers.iter().flatten().count() > capacity {
            let at = self.sweep();
            evicted.extend(self.buffers[at].take().map(|page| page.key));
        }
        self.capacity = capacity;
        let turned = self.buffers[self.hand..].iter().chain(&self.buffers[..self.hand]);
        self.buffers = turned.filter(|page| page.is_some()).copied().collect();
        self.hand = 0;
        self.free.clear();
        for file in &mut self.files {
            file.ring.fill(None);
        }
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.buffers.iter().flatten().map(|page| page.key).collect()
    }
}

impl ClockSweep {
    fn note(&mut self, reference: &Reference) {
        let Reference { file, block, .. } = *reference;
        let empty = || vec![None; self.ring];
        let known = self.files.iter().position(|known| known.number == file);
        let mut known = match known {
            Some(at) => self.files.remove(at),
            None => File { number: file, last: block, run: 1, read: 0, ring: empty() },
        };
        if block == known.last + 1 {
            (known.last, known.run) = (block, known.run + 1);
        } else if block != known.last {
            known = File { number: file, last: block, run: 1, read: 0, ring: empty() };
        }
        self.files.push(known);
        if self.files.len() > 256 {
            self.files.remove(0);
        }
    }

    /// A buffer to read into, which may still hold a page that must leave.
    fn buffer(&mut self) -> usize {
        if let Some(at) = self.free.pop() {
            return at;
        }
        if self.buffers.len() < self.capacity {
            self.buffers.push(None);
            return self.buffers.len() - 1;
        }
        self.sweep()
    }

    fn sweep(&mut self) -> usize {
        loop {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.buffers.len();
            match &mut self.buffers[at] {
                Some(page) if page.uses == 0 => return at,
                Some(page) => page.uses -= 1,
                None => {}
            }
        }
    }
}
