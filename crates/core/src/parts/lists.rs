//! Any number of linked lists over slots.
//!
//! A [`Queue`](super::queue::Queue) is faster but takes memory for as many slots as it may come to hold. Where many lists share the slots,
//! as one for each level of popularity does, links take 8 bytes a slot whatever the lists.

use super::large;
use super::prefetch::prefetch;
use crate::policy::Slot;

/// Number of a list, from 0.
pub type List = usize;

/// No slot.
const NONE: Slot = Slot::MAX;

/// The neighbours of a slot in its list, or the two ends of a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    older: Slot,
    younger: Slot,
}

const UNLINKED: Link = Link { older: NONE, younger: NONE };

/// Lists, each from old to young.
#[derive(Debug)]
pub struct Lists {
    links: Vec<Link>,
    /// By list, its oldest slot in `younger` and its youngest in `older`: what a ring through the list's head would say.
    heads: Vec<Link>,
    lens: Vec<u32>,
}

impl Lists {
    /// This many empty lists of slots below `slots`.
    pub fn new(lists: usize, slots: u32) -> Lists {
        Lists { links: large::filled(UNLINKED, slots as usize), heads: vec![UNLINKED; lists], lens: vec![0; lists] }
    }

    /// Makes room for slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        self.links.resize(self.links.len().max(slots as usize), UNLINKED);
    }

    /// Slots in `list`.
    #[inline(always)]
    pub fn len(&self, list: List) -> u32 {
        self.lens[list]
    }

    /// True if no slot is in `list`.
    #[inline(always)]
    pub fn is_empty(&self, list: List) -> bool {
        self.lens[list] == 0
    }

    /// Fetches the links of `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.links, slot as usize);
    }

    /// The oldest slot of `list`.
    #[inline(always)]
    pub fn oldest(&self, list: List) -> Option<Slot> {
        let oldest = self.heads[list].younger;
        (oldest != NONE).then_some(oldest)
    }

    /// Appends `slot`, which is in no list, at the young end of `list`.
    #[inline(always)]
    pub fn push(&mut self, list: List, slot: Slot) {
        let youngest = self.heads[list].older;
        self.links[slot as usize] = Link { older: youngest, younger: NONE };
        self.side(list, youngest).younger = slot;
        self.heads[list].older = slot;
        self.lens[list] += 1;
    }

    /// Takes `slot` out of `list`, which it is in.
    #[inline(always)]
    pub fn take(&mut self, list: List, slot: Slot) {
        let Link { older, younger } = self.links[slot as usize];
        self.side(list, older).younger = younger;
        self.side(list, younger).older = older;
        self.lens[list] -= 1;
    }

    /// The slots of `list` from old to young.
    pub fn iter(&self, list: List) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(self.oldest(list), |&slot| {
            let younger = self.links[slot as usize].younger;
            (younger != NONE).then_some(younger)
        })
    }

    /// Panics unless both directions of `list` and its count agree.
    pub fn validate(&self, list: List) {
        let mut older = NONE;
        for slot in self.iter(list) {
            assert_eq!(self.links[slot as usize].older, older, "the links of list {list} disagree");
            older = slot;
        }
        assert_eq!(self.heads[list].older, older, "the young end of list {list}");
        assert_eq!(self.iter(list).count(), self.lens[list] as usize, "list {list} miscounts its slots");
    }

    /// The links of `slot`, or those of the list's head if there is none.
    #[inline(always)]
    fn side(&mut self, list: List, slot: Slot) -> &mut Link {
        if slot == NONE { &mut self.heads[list] } else { &mut self.links[slot as usize] }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::parts::random::Random;

    #[test]
    fn do_what_queues_do() {
        const SLOTS: u32 = 9;
        let mut random = Random::new(5);
        let mut lists = Lists::new(3, 0);
        lists.grow(SLOTS);
        let mut model = vec![VecDeque::new(); 3];
        for _ in 0..5000 {
            let (slot, list) = (random.below(SLOTS), random.below(3) as usize);
            match model.iter().position(|queue| queue.contains(&slot)) {
                Some(from) => {
                    lists.take(from, slot);
                    model[from].retain(|&other| other != slot);
                }
                None => {
                    lists.push(list, slot);
                    model[list].push_back(slot);
                }
            }
            lists.validate(list);
            assert_eq!(lists.iter(list).collect::<VecDeque<_>>(), model[list]);
            assert_eq!(lists.oldest(list), model[list].front().copied());
        }
    }
}
