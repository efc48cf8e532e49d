//! Ordered queues over slots, written as logs.
//!
//! A policy keeps several queues (ARC: T1, T2, B1, B2) over one set of slots. [`Places`] holds one `u32` a slot: which
//! queue the slot is in, where its entry stands, and one bit for the policy's own use. A [`Queue`] is a ring of entries
//! with one bit each that says whether the entry is live. Moving a slot to the MRU end appends an entry and kills the
//! old one. So a hit touches one random word, instead of the three nodes of a linked list, and two bits of a small
//! bitmap; dead entries are skipped 64 at a time when the LRU end reaches them, or squeezed out when the ring is full,
//! which costs O(1) amortised.

mod ranks;
mod weights;

pub use self::weights::{Alike, SlotWeights, Weights};

use self::ranks::Ranks;
use super::large;
use super::prefetch::prefetch;
use crate::policy::Slot;

/// Tag of a queue within its `Places`, 0..=6. [`ABSENT`] means that it is in none.
pub type Tag = u32;

const TAG_SHIFT: u32 = 29;
const MARK: u32 = 1 << 28;

/// The place of a slot that is in no queue.
pub const ABSENT: Tag = 7;
const NOWHERE: u32 = u32::MAX;

/// For every slot, the queue it is in and the position of its live entry: 4 bytes a slot. And what it weighs.
#[derive(Debug)]
pub struct Places<W = Alike> {
    of: Vec<u32>,
    weights: W,
}

impl Places {
    /// Slots that count as one each. None is anywhere.
    pub fn new(slots: u32) -> Places {
        Places::weighing(slots)
    }
}

impl<W: Weights> Places<W> {
    /// No slot is anywhere.
    pub fn weighing(slots: u32) -> Places<W> {
        Places { of: large::filled(NOWHERE, slots as usize), weights: W::default() }
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        if slots as usize > self.of.len() {
            self.of.resize(slots as usize, NOWHERE);
        }
    }

    /// What `slot` counts in the length of a queue.
    #[inline(always)]
    pub fn weight(&self, slot: Slot) -> u32 {
        self.weights.of(slot)
    }

    /// Gives a weight, at least 1, to `slot`, in whichever of `queues`, which are all of these places, it is, or in
    /// none; tells whether it had another.
    #[inline(always)]
    pub fn weigh<const N: usize>(&mut self, queues: [&mut Queue; N], slot: Slot, weight: u32) -> bool {
        let is_other = !W::ARE_ALIKE && self.weight(slot) != weight;
        if is_other {
            self.set_weight(queues, slot, weight);
        }
        is_other
    }

    #[cold]
    fn set_weight<const N: usize>(&mut self, queues: [&mut Queue; N], slot: Slot, weight: u32) {
        let tag = self.tag(slot);
        if let Some(queue) = queues.into_iter().find(|queue| queue.tag == tag) {
            queue.len = queue.len - u64::from(self.weight(slot)) + u64::from(weight);
        }
        self.weights.set(slot, weight, self.of.len());
    }

    /// The number of slots that it can hold.
    pub fn slots(&self) -> u32 {
        self.of.len() as u32
    }

    /// The queue that holds `slot`, or [`ABSENT`].
    #[inline(always)]
    pub fn tag(&self, slot: Slot) -> Tag {
        self.of[slot as usize] >> TAG_SHIFT
    }

    /// Fetches the word of `slot`.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.of, slot as usize);
    }

    /// True if `slot`, which is in some queue, was marked since it was last pushed or renewed.
    #[inline(always)]
    pub fn is_marked(&self, slot: Slot) -> bool {
        debug_assert_ne!(self.tag(slot), ABSENT);
        self.of[slot as usize] & MARK != 0
    }

    /// Marks `slot`, which is in some queue.
    #[inline(always)]
    pub fn mark(&mut self, slot: Slot) {
        debug_assert_ne!(self.tag(slot), ABSENT);
        self.of[slot as usize] |= MARK;
    }

    /// Takes the mark from `slot`, which is in some queue.
    #[inline(always)]
    pub fn unmark(&mut self, slot: Slot) {
        debug_assert_ne!(self.tag(slot), ABSENT);
        self.of[slot as usize] &= !MARK;
    }

    /// The position of the entry of `slot` in the ring of its queue, or the index that was [`put`](Places::put).
    #[inline(always)]
    pub fn index(&self, slot: Slot) -> usize {
        (self.of[slot as usize] & (MARK - 1)) as usize
    }

    /// Notes that `slot` stands at `index`, below 2^28, of a structure with this tag that is not a [`Queue`].
    #[inline(always)]
    pub fn put(&mut self, slot: Slot, tag: Tag, index: usize) {
        debug_assert!(tag < ABSENT && index < MARK as usize);
        self.set(slot, tag << TAG_SHIFT | index as u32);
    }

    /// Notes that `slot` is nowhere any more. Queues do that by themselves.
    #[inline(always)]
    pub fn clear(&mut self, slot: Slot) {
        self.set(slot, NOWHERE);
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, place: u32) {
        self.of[slot as usize] = place;
    }

    #[inline(always)]
    fn get(&self, slot: Slot) -> u32 {
        self.of[slot as usize]
    }
}

/// One queue, from old to young.
#[derive(Debug)]
pub struct Queue {
    tag: Tag,
    ring: Vec<Slot>,
    /// One bit an entry of the ring. Entries outside `old..young` are dead.
    live: Vec<u64>,
    /// Counts of entries ever dropped at the LRU end and ever appended; both wrap.
    old: u32,
    young: u32,
    /// What its slots weigh together; with ghosts that may be more than a capacity can be.
    len: u64,
    /// Entries behind `old`, in units of 64, up to which the words of slots were fetched.
    fetched: u32,
    ranks: Ranks,
}

impl Queue {
    /// An empty queue that will hold at most `bound` slots. Queues of one `Places` need different tags.
    pub fn new(tag: Tag, bound: u32) -> Queue {
        assert!(tag < ABSENT, "queue tags are 0 to 6");
        // At least twice the bound, so that squeezing out dead entries frees half of the ring.
        let entries = (u64::from(bound) * 3).next_power_of_two().max(64);
        assert!(entries <= u64::from(MARK), "a queue holds at most 2^27 slots");
        let (ring, live) = (large::filled(0, entries as usize), vec![0; entries as usize / 64]);
        Queue { tag, ring, live, old: 0, young: 0, len: 0, fetched: u32::MAX, ranks: Ranks::default() }
    }

    /// An empty queue that will hold at most `bound` of the slots of `places`.
    pub fn within(tag: Tag, bound: u32, places: &Places<impl Weights>) -> Queue {
        Queue::new(tag, bound.min(places.slots()))
    }

    /// The queue's tag.
    #[inline(always)]
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Slots in the queue; their total weight if they have weights, or `u32::MAX` if that is more.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len.min(u64::from(u32::MAX)) as u32
    }

    /// True if no slot is in the queue.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `slot` at the MRU end. It must not be in another queue of the same `places`: `take` it from there first.
    #[inline(always)]
    pub fn push(&mut self, places: &mut Places<impl Weights>, slot: Slot) {
        debug_assert_eq!(places.tag(slot), ABSENT);
        self.append(places, slot);
        self.len += u64::from(places.weight(slot));
    }

    /// Puts `slot` at the LRU end. It must not be in another queue of the same `places`.
    #[inline(always)]
    pub fn push_oldest(&mut self, places: &mut Places<impl Weights>, slot: Slot) {
        debug_assert_eq!(places.tag(slot), ABSENT);
        self.make_room(places);
        self.old = self.old.wrapping_sub(1);
        self.write(places, slot, self.old);
        self.len += u64::from(places.weight(slot));
    }

    /// Moves `slot`, which is in this queue, to the MRU end, unmarked.
    #[inline(always)]
    pub fn renew(&mut self, places: &mut Places<impl Weights>, slot: Slot) {
        debug_assert_eq!(places.tag(slot), self.tag);
        self.kill(places.index(slot));
        self.append(places, slot);
    }

    /// Takes `slot`, which is in this queue, out of it.
    #[inline(always)]
    pub fn take(&mut self, places: &mut Places<impl Weights>, slot: Slot) {
        debug_assert_eq!(places.tag(slot), self.tag);
        self.kill(places.index(slot));
        self.len -= u64::from(places.weight(slot));
        places.set(slot, NOWHERE);
    }

    /// Takes `slot` out and puts `heir` in its position. Both are in this queue; `heir` leaves the position that it
    /// had.
    #[inline(always)]
    pub fn replace(&mut self, places: &mut Places<impl Weights>, slot: Slot, heir: Slot) {
        debug_assert!(places.tag(slot) == self.tag && places.tag(heir) == self.tag && slot != heir);
        self.kill(places.index(heir));
        self.len -= u64::from(places.weight(slot));
        self.ring[places.index(slot)] = heir;
        places.set(heir, places.get(slot));
        places.set(slot, NOWHERE);
    }

    /// The oldest slot.
    #[inline(always)]
    pub fn oldest(&mut self, places: &Places<impl Weights>) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        self.old = self.live_from(self.old);
        if self.fetched != self.old / 64 {
            self.fetched = self.old / 64;
            self.fetch_after(places, self.old);
        }
        Some(self.ring[self.index(self.old)])
    }

    /// Takes the oldest slot out.
    #[inline(always)]
    pub fn pop_oldest(&mut self, places: &mut Places<impl Weights>) -> Option<Slot> {
        let slot = self.oldest(places)?;
        self.kill(self.index(self.old));
        self.len -= u64::from(places.weight(slot));
        self.old = self.old.wrapping_add(1);
        places.set(slot, NOWHERE);
        Some(slot)
    }

    /// The youngest slot.
    #[inline(always)]
    pub fn youngest(&mut self) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        loop {
            let last = self.young.wrapping_sub(1);
            if self.is_live(last) {
                return Some(self.ring[self.index(last)]);
            }
            self.young = last;
        }
    }

    /// Takes the youngest slot out.
    #[inline(always)]
    pub fn pop_youngest(&mut self, places: &mut Places<impl Weights>) -> Option<Slot> {
        let slot = self.youngest()?;
        self.take(places, slot);
        self.young = self.young.wrapping_sub(1);
        Some(slot)
    }

    /// Grows to hold `bound` slots, or for all that there are if these are fewer.
    pub fn grow(&mut self, places: &mut Places<impl Weights>, bound: u32) {
        let bound = bound.min(places.slots());
        if u64::from(bound) * 2 <= self.ring.len() as u64 {
            return;
        }
        let mut grown = Queue::new(self.tag, bound);
        if self.ranks.are_counted() {
            grown.count_ranks();
        }
        for slot in self.iter() {
            let mark = places.get(slot) & MARK;
            grown.append(places, slot);
            grown.len += u64::from(places.weight(slot));
            places.set(slot, places.get(slot) | mark);
        }
        *self = grown;
    }

    /// The slots from old to young.
    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        let entries = self.young.wrapping_sub(self.old);
        let positions = (0..entries).map(|ahead| self.old.wrapping_add(ahead));
        positions.filter(|&position| self.is_live(position)).map(|position| self.ring[self.index(position)])
    }

    /// Panics unless the count, the live bits and the places agree with the entries.
    pub fn validate(&self, places: &Places<impl Weights>) {
        let weighed: u64 = self.iter().map(|slot| u64::from(places.weight(slot))).sum();
        assert_eq!(weighed, self.len, "queue {} miscounts its slots", self.tag);
        let (live, count) = (self.count_live(), self.iter().count());
        assert_eq!(live as usize, count, "entries of queue {} that are live outside of it", self.tag);
        self.ranks.validate(&self.live);
        let tagged = (0..places.slots()).filter(|&slot| places.tag(slot) == self.tag);
        assert_eq!(tagged.count(), count, "slots that claim to be in queue {}", self.tag);
        let placed = |position: u32| places.index(self.ring[self.index(position)]) == self.index(position);
        let mut entries = (0..self.young.wrapping_sub(self.old)).map(|ahead| self.old.wrapping_add(ahead));
        assert!(entries.all(|position| !self.is_live(position) || placed(position)), "a place of queue {}", self.tag);
    }

    #[inline(always)]
    fn append(&mut self, places: &mut Places<impl Weights>, slot: Slot) {
        self.make_room(places);
        self.write(places, slot, self.young);
        self.young = self.young.wrapping_add(1);
    }

    /// Frees an entry for a slot.
    #[inline(always)]
    fn make_room(&mut self, places: &mut Places<impl Weights>) {
        if self.young.wrapping_sub(self.old) as usize == self.ring.len() {
            self.squeeze(places);
        }
    }

    /// Makes the entry at `position` the one of `slot`.
    #[inline(always)]
    fn write(&mut self, places: &mut Places<impl Weights>, slot: Slot, position: u32) {
        let index = self.index(position);
        self.ring[index] = slot;
        self.revive(index);
        places.set(slot, self.tag << TAG_SHIFT | index as u32);
    }

    #[inline(always)]
    fn revive(&mut self, index: usize) {
        self.live[index / 64] |= 1 << (index % 64);
        self.ranks.note(index, true);
    }

    fn count_live(&self) -> u32 {
        self.live.iter().map(|word| word.count_ones()).sum()
    }

    /// Closes the gaps that dead entries left.
    #[cold]
    fn squeeze(&mut self, places: &mut Places<impl Weights>) {
        let (mut from, mut to) = (self.old, self.old);
        let ranks = std::mem::take(&mut self.ranks);
        for _ in 0..self.count_live() {
            let before = from;
            from = self.live_from(from);
            if (before ^ from) >= 64 || from.is_multiple_of(64) {
                self.fetch_after(places, from);
            }
            let (source, target) = (self.index(from), self.index(to));
            let slot = self.ring[source];
            self.kill(source);
            self.revive(target);
            self.ring[target] = slot;
            places.set(slot, self.tag << TAG_SHIFT | places.get(slot) & MARK | target as u32);
            from = from.wrapping_add(1);
            to = to.wrapping_add(1);
        }
        self.young = to;
        if ranks.are_counted() {
            self.count_ranks();
        }
        assert!((self.young.wrapping_sub(self.old) as usize) < self.ring.len(), "a queue outgrew its bound");
    }

    /// The first live position from `position` on; there is one.
    #[inline(always)]
    fn live_from(&self, position: u32) -> u32 {
        let mut at = position;
        loop {
            let index = self.index(at);
            let word = self.live[index / 64] >> (index % 64);
            if word != 0 {
                return at.wrapping_add(word.trailing_zeros());
            }
            at = at.wrapping_add(64 - index as u32 % 64);
        }
    }

    /// Fetches the words of the live slots in the 64 entries after those around `position`.
    #[inline(always)]
    fn fetch_after(&self, places: &Places<impl Weights>, position: u32) {
        let first = self.index((position | 63).wrapping_add(1));
        let mut word = self.live[first / 64];
        while word != 0 {
            places.prefetch(self.ring[first + word.trailing_zeros() as usize]);
            word &= word - 1;
        }
    }

    #[inline(always)]
    fn kill(&mut self, index: usize) {
        self.live[index / 64] &= !(1 << (index % 64));
        self.ranks.note(index, false);
    }

    #[inline(always)]
    fn index(&self, position: u32) -> usize {
        position as usize & (self.ring.len() - 1)
    }

    #[inline(always)]
    fn is_live(&self, position: u32) -> bool {
        let index = self.index(position);
        self.live[index / 64] >> (index % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_slot_is_the_last_to_leave() {
        let mut places = Places::new(3);
        let mut queue = Queue::new(0, 3);
        for slot in 0..3 {
            queue.push(&mut places, slot);
        }
        queue.renew(&mut places, 0);
        let order: Vec<Slot> = std::iter::from_fn(|| queue.pop_oldest(&mut places)).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn stale_entries_are_squeezed_out_when_the_ring_is_full() {
        let mut places = Places::new(4);
        let mut queue = Queue::new(2, 4);
        let mut order = vec![0, 1, 2, 3];
        for &slot in &order {
            queue.push(&mut places, slot);
        }
        for round in 0..1000 {
            let slot = order.remove(round * round % 4);
            order.push(slot);
            queue.renew(&mut places, slot);
            queue.validate(&places);
            assert_eq!(queue.iter().collect::<Vec<_>>(), order, "round {round}");
        }
    }

    #[test]
    fn slots_are_added_at_both_ends() {
        let mut places = Places::new(4);
        let mut queue = Queue::new(0, 4);
        let mut order = std::collections::VecDeque::new();
        for round in 0..1000u32 {
            if order.len() == 4 {
                assert_eq!(queue.pop_youngest(&mut places), order.pop_back());
                assert_eq!(queue.pop_oldest(&mut places), order.pop_front());
            }
            let slot = (0..4).find(|slot| !order.contains(slot)).unwrap();
            if round * round % 7 < 3 {
                queue.push_oldest(&mut places, slot);
                order.push_front(slot);
            } else {
                queue.push(&mut places, slot);
                order.push_back(slot);
            }
            queue.validate(&places);
            assert!(queue.iter().eq(order.iter().copied()), "round {round}");
        }
    }

    #[test]
    fn an_heir_stands_where_the_other_stood() {
        let mut places = Places::new(4);
        let mut queue = Queue::new(0, 4);
        (0..4).for_each(|slot| queue.push(&mut places, slot));
        queue.replace(&mut places, 2, 0);
        queue.validate(&places);
        assert_eq!(queue.iter().collect::<Vec<_>>(), [1, 0, 3]);
        assert_eq!(places.tag(2), ABSENT);
    }

    #[test]
    fn a_mark_lasts_until_the_slot_is_moved() {
        let mut places = Places::new(3);
        let mut queue = Queue::new(1, 2);
        queue.push(&mut places, 0);
        places.mark(0);
        for _ in 0..10 {
            queue.push(&mut places, 1);
            queue.take(&mut places, 1);
        }
        queue.grow(&mut places, 100);
        assert!(places.is_marked(0), "squeezing and growing keep marks");
        assert_eq!(queue.oldest(&places), Some(0));
        queue.renew(&mut places, 0);
        assert!(!places.is_marked(0));
    }

    #[test]
    fn both_ends_take_slots() {
        let mut places = Places::new(6);
        let mut queue = Queue::new(0, 6);
        let mut order = std::collections::VecDeque::new();
        for round in 0..1000u32 {
            let slot = round * round % 6;
            if order.contains(&slot) {
                queue.take(&mut places, slot);
                order.retain(|&other| other != slot);
            } else if round % 3 == 0 {
                queue.push(&mut places, slot);
                order.push_back(slot);
            } else {
                queue.push_oldest(&mut places, slot);
                order.push_front(slot);
            }
            queue.validate(&places);
            assert!(queue.iter().eq(order.iter().copied()), "round {round}");
            assert_eq!(queue.oldest(&places), order.front().copied());
        }
    }

    #[test]
    fn a_queue_is_as_long_as_its_slots_are_heavy() {
        let mut places = Places::<SlotWeights>::weighing(4);
        let (mut first, mut second) = (Queue::new(0, 0), Queue::new(1, 0));
        first.grow(&mut places, 4);
        second.grow(&mut places, 4);
        (0..3).for_each(|slot| first.push(&mut places, slot));
        assert!(places.weigh([&mut first, &mut second], 1, 7));
        assert!(!places.weigh([&mut first, &mut second], 0, 1));
        assert_eq!((first.len(), second.len()), (9, 0));
        places.grow(200);
        first.grow(&mut places, 200);
        first.validate(&places);
        first.take(&mut places, 1);
        second.push_oldest(&mut places, 1);
        assert_eq!((first.len(), second.len()), (2, 7));
        assert_eq!((second.pop_oldest(&mut places), second.is_empty()), (Some(1), true));
    }

    #[test]
    fn a_queue_may_weigh_more_than_a_capacity_can_be() {
        let mut places = Places::<SlotWeights>::weighing(6);
        let (mut heavy, mut other) = (Queue::new(0, 0), Queue::new(1, 0));
        heavy.grow(&mut places, 6);
        for slot in 0..6 {
            heavy.push(&mut places, slot);
            assert!(places.weigh([&mut heavy, &mut other], slot, 1 << 30));
            heavy.validate(&places);
        }
        assert_eq!(heavy.len(), u32::MAX);
        // With 32 bits it would be empty here.
        (4..6).for_each(|slot| heavy.take(&mut places, slot));
        assert!(!heavy.is_empty() && heavy.len() == u32::MAX);
        heavy.take(&mut places, 3);
        assert_eq!(heavy.len(), 3 << 30);
    }

    #[test]
    fn slots_move_between_queues_of_one_set_of_places() {
        let mut places = Places::new(2);
        let (mut first, mut second) = (Queue::new(0, 2), Queue::new(1, 2));
        first.push(&mut places, 0);
        first.push(&mut places, 1);
        first.take(&mut places, 0);
        second.push(&mut places, 0);
        assert_eq!((places.tag(0), places.tag(1)), (1, 0));
        assert_eq!(first.oldest(&places), Some(1));
        assert_eq!(second.youngest(), Some(0));
    }
}
