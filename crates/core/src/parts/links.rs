//! Lists over slots, linked both ways, for policies that look into the middle of an order or need more lists than a
//! `Places` has tags.
//!
//! A list is a ring: behind the youngest slot stands the oldest. So a clock's hand that spares the oldest slot moves
//! nothing but one number. The policy itself knows which list a slot is in. Where a log of `parts::queue` does, it is
//! faster: here a slot that moves touches its neighbours too.

use super::large;
use super::prefetch::prefetch;
use crate::policy::Slot;

/// No slot.
pub const NONE: Slot = Slot::MAX;

/// By slot: the next older and the next younger slot of its list. 8 bytes a slot.
#[derive(Debug)]
pub struct Links(Vec<[Slot; 2]>);

impl Links {
    /// No slot is in a list.
    pub fn new(slots: u32) -> Links {
        Links(large::filled([NONE; 2], slots as usize))
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        self.0.resize((slots as usize).max(self.0.len()), [NONE; 2]);
    }

    /// Fetches the neighbours of `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.0, slot as usize);
    }

    #[inline(always)]
    fn join(&mut self, older: Slot, younger: Slot) {
        self.0[older as usize][1] = younger;
        self.0[younger as usize][0] = older;
    }
}

/// One list, from old to young.
#[derive(Clone, Copy, Debug)]
pub struct List {
    youngest: Slot,
    len: u32,
}

impl Default for List {
    fn default() -> List {
        List { youngest: NONE, len: 0 }
    }
}

impl List {
    /// Slots in the list.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if no slot is in the list.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The youngest slot.
    #[inline(always)]
    pub fn youngest(&self) -> Option<Slot> {
        (self.len > 0).then_some(self.youngest)
    }

    /// The oldest slot.
    #[inline(always)]
    pub fn oldest(&self, links: &Links) -> Option<Slot> {
        (self.len > 0).then(|| links.0[self.youngest as usize][1])
    }

    /// The slot next to `slot`, which is in this list, on the young side.
    #[inline(always)]
    pub fn younger(&self, links: &Links, slot: Slot) -> Option<Slot> {
        (slot != self.youngest).then(|| links.0[slot as usize][1])
    }

    /// The slot next to `slot`, which is in this list, on the old side.
    #[inline(always)]
    pub fn older(&self, links: &Links, slot: Slot) -> Option<Slot> {
        let older = links.0[slot as usize][0];
        (older != self.youngest).then_some(older)
    }

    /// Appends `slot`, which is in no list, at the MRU end.
    #[inline(always)]
    pub fn push(&mut self, links: &mut Links, slot: Slot) {
        self.push_oldest(links, slot);
        self.youngest = slot;
    }

    /// Puts `slot`, which is in no list, at the LRU end.
    #[inline(always)]
    pub fn push_oldest(&mut self, links: &mut Links, slot: Slot) {
        match self.oldest(links) {
            Some(oldest) => {
                links.join(self.youngest, slot);
                links.join(slot, oldest);
            }
            None => {
                links.join(slot, slot);
                self.youngest = slot;
            }
        }
        self.len += 1;
    }

    /// Takes `slot`, which is in this list, out of it.
    #[inline(always)]
    pub fn take(&mut self, links: &mut Links, slot: Slot) {
        let [older, younger] = links.0[slot as usize];
        links.join(older, younger);
        if slot == self.youngest {
            self.youngest = older;
        }
        self.len -= 1;
    }

    /// Moves `slot`, which is in this list, to the MRU end.
    #[inline(always)]
    pub fn renew(&mut self, links: &mut Links, slot: Slot) {
        if slot != self.youngest {
            self.take(links, slot);
            self.push(links, slot);
        }
    }

    /// Takes the oldest slot out and fetches the neighbours of the next one.
    #[inline(always)]
    pub fn pop_oldest(&mut self, links: &mut Links) -> Option<Slot> {
        let oldest = self.oldest(links)?;
        self.take(links, oldest);
        if let Some(next) = self.oldest(links) {
            links.prefetch(next);
        }
        Some(oldest)
    }

    /// Makes the oldest slot the youngest.
    #[inline(always)]
    pub fn renew_oldest(&mut self, links: &Links) {
        if let Some(oldest) = self.oldest(links) {
            self.youngest = oldest;
        }
    }

    /// The slots from old to young.
    pub fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = Slot> + 'a {
        std::iter::successors(self.oldest(links), |&slot| self.younger(links, slot))
    }

    /// Panics unless the links agree in both directions and with the count.
    pub fn validate(&self, links: &Links) {
        assert_eq!(
            self.iter(links).take(self.len as usize + 1).count(),
            self.len as usize,
            "a list miscounts its slots"
        );
        let agree = |slot: Slot| links.0[links.0[slot as usize][1] as usize][0] == slot;
        assert!(self.iter(links).all(agree), "links that disagree");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;
    use std::collections::VecDeque;

    #[test]
    fn does_what_a_deque_does() {
        let (mut links, mut list, mut model) = (Links::new(8), List::default(), VecDeque::new());
        let mut random = Rng::new(1);
        for _ in 0..5000 {
            let slot = random.below(8);
            match random.below(4) {
                0 => {
                    list.renew_oldest(&links);
                    model.rotate_left(usize::from(!model.is_empty()));
                }
                1 => assert_eq!(list.pop_oldest(&mut links), model.pop_front()),
                2 if model.contains(&slot) => {
                    list.renew(&mut links, slot);
                    model.retain(|&other| other != slot);
                    model.push_back(slot);
                }
                _ if model.contains(&slot) => {
                    list.take(&mut links, slot);
                    model.retain(|&other| other != slot);
                }
                2 => {
                    list.push_oldest(&mut links, slot);
                    model.push_front(slot);
                }
                _ => {
                    list.push(&mut links, slot);
                    model.push_back(slot);
                }
            }
            list.validate(&links);
            assert!(list.iter(&links).eq(model.iter().copied()));
            let backwards = std::iter::successors(list.youngest(), |&slot| list.older(&links, slot));
            assert!(backwards.eq(model.iter().rev().copied()));
        }
    }
}
