//! CAR: the paper's pseudocode on four vectors, head first.

use hotset_core::paging::Object;

use super::{Given, Model, Sight};

pub(super) struct Car {
    frames: usize,
    target: f64,
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
}

impl Model for Car {
    fn new(given: &Given<'_>) -> Car {
        Car { frames: given.frames, target: 0.0, t1: Vec::new(), t2: Vec::new(), b1: Vec::new(), b2: Vec::new() }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, sight: &mut Sight<'_>) -> Option<u32> {
        let mut victim = None;
        if self.t1.len() + self.t2.len() == self.frames {
            victim = Some(self.replace(sight));
        }
        let once = self.t1.len() + self.b1.len();
        if self.b1.contains(&page) {
            let step = (self.b2.len() as f64 / self.b1.len() as f64).max(1.0);
            self.target = (self.target + step).min(self.frames as f64);
            self.b1.retain(|&other| other != page);
            self.t2.push(page);
        } else if self.b2.contains(&page) {
            let step = (self.b1.len() as f64 / self.b2.len() as f64).max(1.0);
            self.target = (self.target - step).max(0.0);
            self.b2.retain(|&other| other != page);
            self.t2.push(page);
        } else {
            if once == self.frames && !self.b1.is_empty() {
                self.b1.remove(0);
            } else if once + self.t2.len() + self.b2.len() == 2 * self.frames {
                self.b2.remove(0);
            }
            self.t1.push(page);
        }
        sight.bits[page as usize] = false;
        victim
    }

    fn free(&mut self, page: u32) {
        for list in [&mut self.t1, &mut self.t2, &mut self.b1, &mut self.b2] {
            list.retain(|&other| other != page);
        }
    }
}

impl Car {
    fn replace(&mut self, sight: &mut Sight<'_>) -> u32 {
        loop {
            if self.t1.len() as f64 >= self.target.max(1.0) {
                let page = self.t1.remove(0);
                if !sight.test_and_clear(page) {
                    self.b1.push(page);
                    return page;
                }
                self.t2.push(page);
            } else {
                let page = self.t2.remove(0);
                if !sight.test_and_clear(page) {
                    self.b2.push(page);
                    return page;
                }
                self.t2.push(page);
            }
        }
    }
}
