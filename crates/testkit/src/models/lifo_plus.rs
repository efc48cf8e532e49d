//! LIFO+: a vector with the top at its end, and the pointer as the page it points to.

use std::collections::BTreeSet;

use hotset_core::policy::Reference;

use crate::model::{Given, Model, ModelStep};

pub(super) struct LifoPlus {
    capacity: usize,
    initial: bool,
    accessed: BTreeSet<u32>,
    stack: Stack,
}

/// The stack, from bottom to top.
#[derive(Default)]
pub(super) struct Stack {
    pub(super) pages: Vec<u32>,
    pointer: u32,
}

impl Stack {
    /// What lies below `page`, or the top.
    fn below(&self, page: u32) -> u32 {
        let at = self.pages.iter().position(|&other| other == page).expect("a page of the stack");
        self.pages[(at + self.pages.len() - 1) % self.pages.len()]
    }

    /// The page under the pointer, which goes on.
    pub(super) fn step(&mut self) -> u32 {
        let page = self.pointer;
        self.pointer = self.below(page);
        page
    }

    pub(super) fn push(&mut self, page: u32) -> Option<u32> {
        let second = self.pages.last().copied();
        self.pages.push(page);
        self.pointer = second.unwrap_or(page);
        second
    }

    pub(super) fn take(&mut self, page: u32) {
        if !self.pages.contains(&page) {
            return;
        }
        if self.pointer == page {
            self.pointer = self.below(page);
        }
        self.pages.retain(|&other| other != page);
    }
}

impl Model for LifoPlus {
    fn new(given: &Given<'_>) -> LifoPlus {
        let initial = given.args.count("initial") == 1;
        LifoPlus { capacity: given.capacity, initial, accessed: BTreeSet::new(), stack: Stack::default() }
    }

    fn access(&mut self, page: u32, _: Reference) -> ModelStep {
        if self.stack.pages.contains(&page) {
            self.accessed.insert(page);
            return ModelStep::hit();
        }
        let evicted = self.shrink_to(self.capacity - 1);
        if self.initial {
            self.accessed.insert(page);
        }
        if let Some(second) = self.stack.push(page) {
            self.accessed.remove(&second);
        }
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, page: u32) {
        self.stack.take(page);
        self.accessed.remove(&page);
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.capacity = capacity;
        self.shrink_to(capacity)
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.stack.pages.iter().copied().collect()
    }
}

impl LifoPlus {
    fn shrink_to(&mut self, len: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        while self.stack.pages.len() > len {
            let page = self.stack.step();
            if !self.accessed.remove(&page) {
                self.stack.take(page);
                evicted.push(page);
            }
        }
        evicted
    }
}
