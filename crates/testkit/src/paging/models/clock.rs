//! CLOCK as a ring of frames with a hand that walks over them; the new page takes the victim's frame and the hand steps on.

use hotset_core::paging::Object;

use super::{Given, Model, Sight};

pub(super) struct Clock {
    frames: usize,
    initial: bool,
    ring: Vec<u32>,
    hand: usize,
}

impl Model for Clock {
    fn new(given: &Given<'_>) -> Clock {
        Clock { frames: given.frames, initial: given.args.count("initial") == 1, ring: Vec::new(), hand: 0 }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, sight: &mut Sight<'_>) -> Option<u32> {
        let mut victim = None;
        if self.ring.len() == self.frames {
            while sight.test_and_clear(self.ring[self.hand]) {
                self.hand = (self.hand + 1) % self.ring.len();
            }
            victim = Some(std::mem::replace(&mut self.ring[self.hand], page));
            self.hand = (self.hand + 1) % self.ring.len();
        } else {
            // Just behind the hand, so that the hand stays on its page.
            self.ring.insert(self.hand, page);
            self.hand = (self.hand + 1) % self.ring.len();
        }
        sight.bits[page as usize] = self.initial;
        victim
    }

    fn free(&mut self, page: u32) {
        if let Some(at) = self.ring.iter().position(|&other| other == page) {
            self.ring.remove(at);
            self.hand -= usize::from(at < self.hand);
            self.hand %= self.ring.len().max(1);
        }
    }
}
