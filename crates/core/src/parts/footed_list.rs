//! An LRU list that knows which of its blocks stand at its foot, among the next to leave.
//!
//! Hits at the foot tell what the last blocks of the list are worth. The list is two queues, the body and the foot;
//! its owner says how long the foot shall be, and a block crosses the border when a length is off.

use super::queue::{Places, Queue, Tag};
use crate::policy::Slot;

/// The list. Its slots have the tag of the body or that of the foot.
#[derive(Debug)]
pub struct FootedList {
    body: Queue,
    foot: Queue,
}

impl FootedList {
    /// An empty list with these tags.
    pub fn new(body: Tag, foot: Tag) -> FootedList {
        FootedList { body: Queue::new(body, 0), foot: Queue::new(foot, 0) }
    }

    /// Grows to hold `bound` slots.
    pub fn fit(&mut self, places: &mut Places, bound: u32) {
        self.body.grow(places, bound);
        self.foot.grow(places, bound);
    }

    /// Slots in the list.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.body.len() + self.foot.len()
    }

    /// True if the list has no slots.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Slots at the foot.
    #[inline(always)]
    pub fn foot_len(&self) -> u32 {
        self.foot.len()
    }

    /// Adds `slot` as the youngest.
    #[inline(always)]
    pub fn push(&mut self, places: &mut Places, slot: Slot) {
        self.body.push(places, slot);
    }

    /// Adds `slot` as the oldest.
    pub fn push_oldest(&mut self, places: &mut Places, slot: Slot) {
        self.foot.push_oldest(places, slot);
    }

    /// Makes `slot`, which is in the list, the youngest.
    #[inline(always)]
    pub fn renew(&mut self, places: &mut Places, slot: Slot) {
        if places.tag(slot) == self.body.tag() {
            self.body.renew(places, slot);
        } else {
            self.foot.take(places, slot);
            self.body.push(places, slot);
        }
    }

    /// Takes `slot`, which is in the list, out of it.
    #[inline(always)]
    pub fn take(&mut self, places: &mut Places, slot: Slot) {
        let queue = if places.tag(slot) == self.body.tag() { &mut self.body } else { &mut self.foot };
        queue.take(places, slot);
    }

    /// The oldest slot.
    #[inline(always)]
    pub fn oldest(&mut self, places: &Places) -> Option<Slot> {
        self.foot.oldest(places).or_else(|| self.body.oldest(places))
    }

    /// Takes the oldest slot out.
    #[inline(always)]
    pub fn pop_oldest(&mut self, places: &mut Places) -> Option<Slot> {
        self.foot.pop_oldest(places).or_else(|| self.body.pop_oldest(places))
    }

    /// Makes the foot this long, or as long as the list if that is shorter.
    #[inline(always)]
    pub fn settle(&mut self, places: &mut Places, foot: u32) {
        while self.foot.len() < foot
            && let Some(slot) = self.body.pop_oldest(places)
        {
            self.foot.push(places, slot);
        }
        while self.foot.len() > foot
            && let Some(slot) = self.foot.pop_youngest(places)
        {
            self.body.push_oldest(places, slot);
        }
    }

    /// Panics unless both queues are sound and the foot has this length.
    pub fn validate(&self, places: &Places, foot: u32) {
        self.body.validate(places);
        self.foot.validate(places);
        assert_eq!(self.foot.len(), foot.min(self.len()), "the foot has a wrong length");
    }
}
