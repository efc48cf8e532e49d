//! EELRU over one list of known keys, most recently used first; ranks are counted and uses summed up anew each time.

use std::collections::{BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

pub(super) struct Eelru {
    capacity: usize,
    decay: f64,
    /// Key and whether it is resident.
    axis: VecDeque<(u32, bool)>,
    /// Uses between one bound and the next.
    uses: Vec<f64>,
    references: usize,
}

impl Model for Eelru {
    fn new(given: &Given<'_>) -> Eelru {
        let (capacity, decay) = (given.capacity, given.args.real("decay"));
        let mut model = Eelru { capacity, decay, axis: VecDeque::new(), uses: Vec::new(), references: 0 };
        model.resize(capacity);
        model
    }

    fn access(&mut self, key: u32, _: Reference) -> ModelStep {
        if self.references == self.capacity {
            self.references = 0;
            self.uses.iter_mut().for_each(|uses| *uses *= self.decay);
        }
        self.references += 1;
        let at = self.axis.iter().position(|entry| entry.0 == key);
        if let Some(at) = at
            && let Some(class) = self.bounds().iter().position(|&bound| at < bound)
        {
            self.uses[class] += 1.0;
        }
        let hit = at.is_some_and(|at| self.axis[at].1);
        let evicted = if hit { Vec::new() } else { self.shrink_to(self.capacity - 1) };
        self.remove(key);
        self.axis.push_front((key, true));
        self.trim();
        if hit { ModelStep::hit() } else { ModelStep::admitted(evicted) }
    }

    fn remove(&mut self, key: u32) {
        self.axis.retain(|entry| entry.0 != key);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.uses = vec![0.0; self.bounds().len()];
        self.references = 0;
        self.trim();
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.axis.iter().filter(|entry| entry.1).map(|entry| entry.0).collect()
    }
}

impl Eelru {
    fn early(&self) -> Vec<usize> {
        let mut early: Vec<usize> = [100, 200, 350, 500, 650, 800].map(|part| self.capacity * part / 1000).to_vec();
        early.retain(|&e| e > 0 && e < self.capacity);
        early.dedup();
        early
    }

    fn late(&self) -> Vec<usize> {
        let mut late = [1150, 1350, 1600, 2000, 2500].map(|part| self.capacity * part / 1000).to_vec();
        late.iter_mut().for_each(|l| *l = (*l).max(self.capacity + 1));
        late.dedup();
        late
    }

    fn bounds(&self) -> Vec<usize> {
        [self.early(), vec![self.capacity], self.late()].concat()
    }

    /// Non-resident keys are forgotten beyond the last bound.
    fn trim(&mut self) {
        let most = self.bounds().last().copied().expect("a late bound");
        let mut rank = 0;
        self.axis.retain(|entry| {
            rank += 1;
            entry.1 || rank <= most
        });
    }

    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.resident().len() > len {
            let at = self.victim();
            evicted.push(self.axis[at].0);
            self.axis[at].1 = false;
            self.trim();
        }
        evicted
    }

    /// The index of the victim.
    fn victim(&self) -> usize {
        let oldest = self.axis.iter().rposition(|entry| entry.1).expect("a resident key");
        let Some((e, l)) = self.choose() else { return oldest };
        let early = self.axis.iter().take(e).rposition(|entry| entry.1);
        if oldest >= l { oldest } else { early.unwrap_or(oldest) }
    }

    /// e and l that win the most hits, if any do.
    fn choose(&self) -> Option<(usize, usize)> {
        let (bounds, m) = (self.bounds(), self.capacity);
        let up_to = |rank: usize| {
            let classes = bounds.iter().position(|&bound| bound == rank).expect("a bound") + 1;
            self.uses[..classes].iter().copied().reduce(|sum, uses| sum + uses).expect("at least one class")
        };
        let (mut best, mut most) = (None, 0.0);
        for e in self.early() {
            for l in self.late() {
                let early = up_to(m) - up_to(e);
                let won = (up_to(l) - up_to(e)) * ((m - e) as f64 / (l - e) as f64) - early;
                if won > most {
                    (best, most) = (Some((e, l)), won);
                }
            }
        }
        best
    }
}
