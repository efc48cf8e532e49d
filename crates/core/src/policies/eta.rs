//! ETA: evict the page whose next use, predicted by the gap between its last two, is farthest away; CLOCK where that
//! foretells worse.
//!
//! Idea: a page that was used every so often will be used again after as long. So the page to evict is the one whose
//! predicted use is farthest from now, ahead or overdue: on a loop this keeps what LIFO+ keeps, and recent pages stay.
//! Where gaps do not repeat it is worse than CLOCK, so both run all the time as shadows, without data, over all pages:
//! a fault, or a bit found set, is a reference to both. The memory follows one of them lazily: a fault evicts a page
//! that the leader does not hold. To change the leader costs at most as many faults as memory holds pages that the
//! other does not, so it is changed when the other shadow has saved more than that (ski rental). Nothing is tried on
//! real pages before its shadow has won.
//!
//! Paper: none. Made here as a successor of APR, on the same interface.
//!
//! Provenance: none outside of this project. `use=clock` faults as often as `clock`, to the last fault, which is a
//! test; `docs/experiments/eta.md` has it beside CLOCK, CLOCK-Pro, SEQ, APR and OPT.
//!
//! Deviations and readings: time counts separate uses, those that are more than two epochs apart; an epoch ends when
//! the bits of all resident pages are read, every sixteenth of the memory's size in faults, more often while many pages
//! are used that were not in the epoch before. Pages used in the last two epochs are not candidates of ETA; where too
//! few others are left the least recently used go. A page of which no gap is known has the mean of its object, an
//! allocation of at least 40 KB (all other pages share one); where that has none either, the page counts as predicted
//! for the moment of its last use. On traces of requests each file is an object. A page that memory holds and the
//! leader does not leaves in the order in which the leader gave it up. A page whose content becomes void is forgotten.
//!
//! Cost: a hit sets a bit. A fault does what CLOCK does twice, and its share of a reading of all bits and of a ranking
//! of all pages of the shadow: about 1 µs. Memory: 32 bytes a page that was ever seen, 70 to 90 a frame, and a few an
//! object.
//!
//! When not to use it: where pages come back at random it is CLOCK, with more work a fault.

mod guard;
mod history;
mod memory;
mod shadows;

use crate::parts::prefetch::prefetch;
use crate::policy::{
    Args, Effects, Hits, Info, Needs, Object, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;
use guard::Guard;
use memory::Memory;

/// Least bytes of an allocation that counts as a separate object.
const OBJECT_BYTES: u64 = 40 << 10;

/// The ETA policy.
#[derive(Debug)]
pub struct Eta {
    memory: Memory,
}

impl Policy for Eta {
    const INFO: Info = Info {
        name: "eta",
        family: "paging",
        summary: "evict the block predicted to be used last, by its last gap, while simulated counts favour that over CLOCK",
        params: &[Param {
            key: "use",
            kind: ParamKind::Word(&["both", "clock", "eta"]),
            default: "both",
            doc: "which shadow the memory follows; a single one is for comparison",
        }],
        needs: Needs { object: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let guard = Guard::new(setup.args.word("use"));
        Ok(Eta { memory: Memory::new(setup.slots, setup.capacity, guard) })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements { identities: u64::MAX, hits: Hits::Bit, ..Requirements::of(capacity) })
    }

    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if let Some(accessed) = self.memory.resident.get_mut(slot) {
            *accessed = true;
            return Outcome::Hit;
        }
        let is_own = |object: &Object| object.bytes >= OBJECT_BYTES && !object.is_global;
        self.memory.fault(slot, reference.object.filter(is_own).map(|object| object.id), fx);
        Outcome::Admitted
    }

    fn prefetch(&self, slot: Slot) {
        self.memory.resident.prefetch(slot);
        prefetch(&self.memory.history.pages, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.memory.history.is_known(slot) {
            self.memory.free(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.memory.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.memory.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.memory.resident.contains(slot)
    }

    fn len(&self) -> u32 {
        self.memory.resident.len()
    }

    fn validate(&self) {
        self.memory.validate();
    }
}
