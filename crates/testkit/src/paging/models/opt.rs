//! OPT: goes through the future for every resident page.

use std::collections::BTreeSet;

use hotset_core::paging::Object;

use super::{Given, Model, Sight};

pub(super) struct Opt {
    frames: usize,
    resident: BTreeSet<u32>,
}

impl Model for Opt {
    fn new(given: &Given<'_>) -> Opt {
        Opt { frames: given.frames, resident: BTreeSet::new() }
    }

    fn fault(&mut self, page: u32, _: Option<Object>, sight: &mut Sight<'_>) -> Option<u32> {
        let mut victim = None;
        if self.resident.len() == self.frames {
            let next_use = |page: u32| sight.future.iter().position(|&next| next == page).unwrap_or(usize::MAX);
            // The lowest number among equals: the last greatest of the numbers backwards.
            victim = self.resident.iter().rev().copied().max_by_key(|&page| next_use(page));
            self.resident.remove(&victim.expect("memory is full"));
        }
        self.resident.insert(page);
        victim
    }

    fn free(&mut self, page: u32) {
        self.resident.remove(&page);
    }
}
