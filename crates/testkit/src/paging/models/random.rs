//! Random: draws from a vector whose last entry fills a gap.

use hotset_core::paging::Object;
use hotset_core::parts::random::Random as Generator;

use super::{Given, Model, Sight};

pub(super) struct Random {
    frames: usize,
    resident: Vec<u32>,
    generator: Generator,
}

impl Model for Random {
    fn new(given: &Given<'_>) -> Random {
        Random { frames: given.frames, resident: Vec::new(), generator: Generator::new(given.seed) }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, _: &mut Sight<'_>) -> Option<u32> {
        let full = self.resident.len() == self.frames;
        let victim = full.then(|| self.resident.swap_remove(self.generator.below(self.frames as u32) as usize));
        self.resident.push(page);
        victim
    }

    fn free(&mut self, page: u32) {
        if let Some(at) = self.resident.iter().position(|&other| other == page) {
            self.resident.swap_remove(at);
        }
    }
}
