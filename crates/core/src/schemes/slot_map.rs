//! Which of several policies knows a slot, and by which number.
//!
//! Each part of a cache has a separate policy, whose arrays should be as long as that part needs and not as
//! the whole cache needs. So a part has separate numbers, given out from 0 and used again.

use crate::parts::large;
use crate::policy::{Effects, Nested, Slot};

const NOWHERE: u32 = u32::MAX;

/// The part and the number of each slot. 8 bytes a slot, and 4 for each number of a part.
#[derive(Debug)]
pub struct SlotMap {
    /// By slot: part and number there.
    of: Vec<(u32, u32)>,
    parts: Vec<Numbers>,
}

/// The numbers of one part.
#[derive(Debug, Default)]
struct Numbers {
    /// By number: the slot, or [`NOWHERE`].
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl SlotMap {
    /// Without parts; no slot below `slots` is in use.
    pub fn new(slots: u32) -> SlotMap {
        SlotMap { of: large::filled((NOWHERE, NOWHERE), slots as usize), parts: Vec::new() }
    }

    /// Grows to hold slots below `slots`.
    pub fn grow(&mut self, slots: u32) {
        if slots as usize > self.of.len() {
            self.of.resize(slots as usize, (NOWHERE, NOWHERE));
        }
    }

    /// Adds a part, whose index is the number of those before it.
    pub fn add_part(&mut self) {
        self.parts.push(Numbers::default());
    }

    /// The part that knows `slot`, and the number by which it does.
    #[inline(always)]
    pub fn find(&self, slot: Slot) -> Option<(usize, u32)> {
        let (part, number) = self.of[slot as usize];
        (part != NOWHERE).then_some((part as usize, number))
    }

    /// Gives `slot`, which is nowhere, a number in `part`.
    pub fn insert(&mut self, part: usize, slot: Slot) -> u32 {
        let numbers = &mut self.parts[part];
        let number = numbers.free.pop().unwrap_or(numbers.slots.len() as u32);
        if number as usize == numbers.slots.len() {
            numbers.slots.push(slot);
        } else {
            numbers.slots[number as usize] = slot;
        }
        self.of[slot as usize] = (part as u32, number);
        number
    }

    /// The slot that `part` knows by `number`.
    #[inline(always)]
    pub fn slot(&self, part: usize, number: u32) -> Slot {
        self.parts[part].slots[number as usize]
    }

    /// The part knows nothing of `number` any more; gives the slot.
    pub fn remove(&mut self, part: usize, number: u32) -> Slot {
        let numbers = &mut self.parts[part];
        let slot = std::mem::replace(&mut numbers.slots[number as usize], NOWHERE);
        numbers.free.push(number);
        self.of[slot as usize] = (NOWHERE, NOWHERE);
        slot
    }

    /// The numbers that `part` knows, in ascending order.
    pub fn numbers(&self, part: usize) -> impl Iterator<Item = u32> + '_ {
        let numbers = self.parts[part].slots.iter().enumerate();
        numbers.filter(|&(_, &slot)| slot != NOWHERE).map(|(number, _)| number as u32)
    }

    /// Panics unless slots and numbers name each other.
    pub fn validate(&self) {
        let mut known = 0;
        for part in 0..self.parts.len() {
            for number in self.numbers(part) {
                assert_eq!(self.find(self.slot(part, number)), Some((part, number)), "a slot and its number disagree");
                known += 1;
            }
        }
        assert_eq!(
            self.of.iter().filter(|(part, _)| *part != NOWHERE).count(),
            known,
            "slots in parts that do not know them"
        );
    }
}

/// The part of each application.
#[derive(Debug, Default)]
pub struct PartMap {
    /// By number of the application: its part and 1, or 0.
    part_of: Vec<u32>,
    parts: u32,
}

impl PartMap {
    /// The part of `app`, if it has come.
    #[inline(always)]
    pub fn find(&self, app: u32) -> Option<usize> {
        let known = self.part_of.get(app as usize).copied().unwrap_or(0);
        (known as usize).checked_sub(1)
    }

    /// Gives `app`, which comes, the next part.
    pub fn add(&mut self, app: u32) -> usize {
        if app as usize >= self.part_of.len() {
            self.part_of.resize(app as usize + 1, 0);
        }
        self.parts += 1;
        self.part_of[app as usize] = self.parts;
        self.parts as usize - 1
    }
}

/// The effects of the policy of one part, passed to the outer host with the host's slots.
pub struct PartEffects<'a, E> {
    /// The part.
    pub part: usize,
    /// The numbers of slots.
    pub slot_map: &'a mut SlotMap,
    /// The host.
    pub fx: &'a mut E,
}

impl<E: Effects> Nested for PartEffects<'_, E> {
    type Host = E;

    #[inline(always)]
    fn host(&self) -> &E {
        self.fx
    }

    #[inline(always)]
    fn host_mut(&mut self) -> &mut E {
        self.fx
    }

    #[inline(always)]
    fn outer(&self, number: Slot) -> Slot {
        self.slot_map.slot(self.part, number)
    }

    #[inline(always)]
    fn on_forget(&mut self, number: Slot) {
        self.fx.forget(self.slot_map.remove(self.part, number));
    }
}
