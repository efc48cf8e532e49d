//! LIRS as the paper tells it: a stack of blocks in order of last use, each LIR or HIR, resident or not, and the queue
//! Q.

use std::collections::{BTreeSet, VecDeque};

use hotset_core::policy::{Args, Reference};

use super::weights::Weights;
use crate::model::{Given, Model, ModelStep};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Lir,
    Hir,
    Gone,
}

pub(super) struct Lirs {
    args: Args,
    capacity: usize,
    weights: Weights,
    /// S, bottom first.
    stack: VecDeque<(u32, State)>,
    /// Q, front first.
    queue: VecDeque<u32>,
}

impl Model for Lirs {
    fn new(given: &Given<'_>) -> Lirs {
        Lirs {
            args: given.args.clone(),
            capacity: given.capacity,
            weights: Weights::default(),
            stack: VecDeque::new(),
            queue: VecDeque::new(),
        }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let weight = self.weights.note(key, reference);
        let state = self.state(key);
        let mut step = if state == Some(State::Lir) {
            self.put_on_top(key, State::Lir);
            ModelStep::hit()
        } else if self.queue.contains(&key) {
            self.queue.retain(|&other| other != key);
            if state.is_some() {
                self.put_on_top(key, State::Lir);
                self.demote_surplus();
            } else {
                self.put_on_top(key, State::Hir);
                self.queue.push_back(key);
            }
            ModelStep::hit()
        } else {
            // Its entry stays during evictions.
            self.stack.retain(|entry| entry.0 != key);
            let evicted = self.shrink_to(self.capacity - weight);
            if state.is_some() || self.lirs() + weight <= self.most_lirs() {
                self.put_on_top(key, State::Lir);
                self.demote_surplus();
            } else {
                self.put_on_top(key, State::Hir);
                self.queue.push_back(key);
            }
            ModelStep::admitted(evicted)
        };
        self.tidy();
        if step.hit {
            step.evicted = self.resize(self.capacity);
        }
        step
    }

    fn remove(&mut self, key: u32) {
        self.stack.retain(|entry| entry.0 != key);
        self.queue.retain(|&other| other != key);
        self.tidy();
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.demote_surplus();
        let evicted = self.shrink_to(capacity);
        self.tidy();
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        let lirs = self.stack.iter().filter(|entry| entry.1 == State::Lir).map(|entry| entry.0);
        lirs.chain(self.queue.iter().copied()).collect()
    }
}

impl Lirs {
    /// The state of a block in S.
    fn state(&self, key: u32) -> Option<State> {
        self.stack.iter().find(|entry| entry.0 == key).map(|entry| entry.1)
    }

    fn lirs(&self) -> usize {
        self.weights.sum(self.stack.iter().filter(|entry| entry.1 == State::Lir).map(|entry| &entry.0))
    }

    /// Llirs = c - Lhirs.
    fn most_lirs(&self) -> usize {
        let rounded = self.args.share_rounded("hirs", self.capacity as u32).expect("tests give shares, not bytes");
        let hirs = if self.capacity <= 2 { rounded.max(1) } else { rounded.max(2) };
        self.capacity.saturating_sub(hirs as usize)
    }

    fn put_on_top(&mut self, key: u32, state: State) {
        self.stack.retain(|entry| entry.0 != key);
        self.stack.push_back((key, state));
    }

    /// Bottom LIR blocks become HIR blocks at the end of Q; HIR blocks met on the way down leave S.
    fn demote_surplus(&mut self) {
        while self.lirs() > self.most_lirs() {
            self.demote();
        }
    }

    /// Takes the bottom of S off, and what is laid bare.
    fn demote(&mut self) {
        let (key, state) = self.stack.pop_front().expect("a LIR block is in S");
        if state == State::Lir {
            self.queue.push_back(key);
        }
        self.prune();
    }

    fn shrink_to(&mut self, total: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.weights.sum(&self.resident()) > total {
            evicted.push(self.evict());
        }
        evicted
    }

    fn evict(&mut self) -> u32 {
        if self.queue.is_empty() {
            self.demote();
        }
        let victim = self.queue.pop_front().expect("a full cache holds a HIR block");
        if let Some(entry) = self.stack.iter_mut().find(|entry| entry.0 == victim) {
            entry.1 = State::Gone;
        }
        victim
    }

    fn prune(&mut self) {
        while self.stack.front().is_some_and(|entry| entry.1 != State::Lir) {
            self.stack.pop_front();
        }
    }

    /// Prunes the bottom of S, then drops the oldest non-resident blocks beyond the bound.
    fn tidy(&mut self) {
        self.prune();
        let most = self.args.multiple("ghosts", self.capacity as u32).map_or(usize::MAX, |most| most as usize);
        let gone = |stack: &VecDeque<(u32, State)>| {
            self.weights.sum(stack.iter().filter(|entry| entry.1 == State::Gone).map(|entry| &entry.0))
        };
        while gone(&self.stack) > most {
            let oldest = self.stack.iter().position(|entry| entry.1 == State::Gone);
            self.stack.remove(oldest.expect("one is counted"));
        }
    }
}
