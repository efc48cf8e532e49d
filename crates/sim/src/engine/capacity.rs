//! The unit of the capacity of a cell: blocks, or bytes of objects.

use hotset_core::host::room::{Room, Weighed};
use hotset_core::policy::{Capabilities, Effects, Outcome, Policy, Reference, Slot};

use super::cell::PolicyCell;
use super::directory::Directory;
use super::host::{Counting, Watch};

/// How a cell serves a reference. Nothing to do for blocks: the policy counts them.
pub(crate) trait Capacity: Watch + Sized {
    /// References the block `key`, an object of so many bytes; gives its slot, if it has one, and what became of it.
    fn refer<P: Policy + Capabilities, D: Directory, const WRITES: bool>(
        cell: &mut PolicyCell<P, D, Self>,
        key: D::Key,
        bytes: u32,
        reference: Reference,
    ) -> (Option<Slot>, Outcome);
}

impl Capacity for () {
    #[inline(always)]
    fn refer<P: Policy + Capabilities, D: Directory, const WRITES: bool>(
        cell: &mut PolicyCell<P, D, ()>,
        key: D::Key,
        _bytes: u32,
        reference: Reference,
    ) -> (Option<Slot>, Outcome) {
        let slot = cell.slot(key);
        (Some(slot), cell.policy.access(slot, reference, &mut Counting::<D, (), WRITES>(&mut cell.host)))
    }
}

/// Bytes of objects, as in a cache of a program's values.
pub(crate) struct Bytes {
    room: Room,
    /// By slot: bytes of the object that is resident there; 0 for none.
    of: Vec<u32>,
    /// Bytes of all that is resident.
    used: u64,
}

impl Bytes {
    pub fn new(room: Room) -> Bytes {
        Bytes { room, of: Vec::new(), used: 0 }
    }

    /// The object in `slot` is resident and has so many bytes.
    fn enter(&mut self, slot: Slot, bytes: u32) {
        if slot as usize >= self.of.len() {
            self.of.resize(slot as usize * 3 / 2 + 64, 0);
        }
        let before = std::mem::replace(&mut self.of[slot as usize], bytes);
        self.used = self.used - u64::from(before) + u64::from(bytes);
    }
}

impl Watch for Bytes {
    #[inline(always)]
    fn leaves(&mut self, slot: Slot) {
        if let Some(bytes) = self.of.get_mut(slot as usize) {
            self.used -= u64::from(std::mem::take(bytes));
        }
    }
}

impl Capacity for Bytes {
    fn refer<P: Policy + Capabilities, D: Directory, const WRITES: bool>(
        cell: &mut PolicyCell<P, D, Bytes>,
        key: D::Key,
        bytes: u32,
        reference: Reference,
    ) -> (Option<Slot>, Outcome) {
        // An object without a size is not free.
        let bytes = bytes.max(1);
        let mut room = cell.host.watch.room;
        let known = cell.host.directory.find(key);
        if !room.admits(bytes.into()) {
            known.into_iter().for_each(|slot| Kept(cell).let_go(slot));
            return (None, Outcome::Bypassed);
        }
        // Space is freed before the object has its slot: an evicted object may take the slot of a ghost with it.
        let reference = Reference { bytes, weight: room.weight(bytes.into()), ..reference };
        if !known.is_some_and(|slot| cell.policy.contains(slot))
            && cell.policy.selective().is_none_or(|policy| policy.keeps(&reference))
        {
            room.make(bytes.into(), &mut Kept(cell));
        }
        let slot = cell.slot(key);
        let outcome = cell.policy.access(slot, reference, &mut Counting::<D, Bytes, true>(&mut cell.host));
        if outcome != Outcome::Bypassed && cell.policy.contains(slot) {
            cell.host.watch.enter(slot, bytes);
        }
        room.shrink(0, &mut Kept(cell));
        cell.host.watch.room = room;
        (Some(slot), outcome)
    }
}

/// The objects of a cell and their policy.
struct Kept<'a, P, D>(&'a mut PolicyCell<P, D, Bytes>);

impl<P: Policy, D: Directory> Kept<'_, P, D> {
    fn effects(&mut self) -> (&mut P, Counting<'_, D, Bytes, true>) {
        (&mut self.0.policy, Counting(&mut self.0.host))
    }

    /// The object in `slot` leaves though the policy has not chosen it.
    fn let_go(&mut self, slot: Slot) {
        let (policy, mut fx) = self.effects();
        policy.remove(slot, &mut fx);
        fx.evict(slot);
    }
}

impl<P: Policy, D: Directory> Weighed for Kept<'_, P, D> {
    fn weight(&self) -> u64 {
        self.0.host.watch.used
    }

    fn resident(&self) -> u32 {
        self.0.policy.len()
    }

    fn resize(&mut self, entries: u32) {
        let (policy, mut fx) = self.effects();
        policy.resize(entries, &mut fx);
    }

    fn drop_any(&mut self) -> bool {
        let Some(slot) = self.0.host.watch.of.iter().position(|&bytes| bytes > 0) else { return false };
        self.let_go(slot as Slot);
        true
    }
}
