//! FIFO: a queue.

use hotset_core::paging::Object;

use super::{Given, Model, Sight};

pub(super) struct Fifo {
    frames: usize,
    queue: Vec<u32>,
}

impl Model for Fifo {
    fn new(given: &Given<'_>) -> Fifo {
        Fifo { frames: given.frames, queue: Vec::new() }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, _: &mut Sight<'_>) -> Option<u32> {
        self.queue.push(page);
        (self.queue.len() > self.frames).then(|| self.queue.remove(0))
    }

    fn free(&mut self, page: u32) {
        self.queue.retain(|&other| other != page);
    }
}
