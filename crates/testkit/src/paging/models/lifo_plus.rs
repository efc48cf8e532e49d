//! LIFO+: a vector with the top at its end, and the pointer as the page it points to.

use hotset_core::paging::Object;

use super::{Given, Model, Sight};

pub(super) struct LifoPlus {
    frames: usize,
    initial: bool,
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
        LifoPlus { frames: given.frames, initial: given.args.count("initial") == 1, stack: Stack::default() }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, sight: &mut Sight<'_>) -> Option<u32> {
        let mut victim = None;
        if self.stack.pages.len() == self.frames {
            let found = loop {
                let page = self.stack.step();
                if !sight.test_and_clear(page) {
                    break page;
                }
            };
            self.stack.take(found);
            victim = Some(found);
        }
        sight.bits[page as usize] = self.initial;
        if let Some(second) = self.stack.push(page) {
            sight.bits[second as usize] = false;
        }
        victim
    }

    fn free(&mut self, page: u32) {
        self.stack.take(page);
    }
}
