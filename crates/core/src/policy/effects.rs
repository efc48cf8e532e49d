//! The host as a policy sees it.

use super::{Extra, Note, Slot};

/// The effects of a decision on the host, and the queries that a policy may send to it.
///
/// No method has a default, so that a host states explicitly what it ignores. A scheme around another policy
/// implements [`Nested`].
pub trait Effects {
    /// Removes the data of `slot` from the cache. The policy may still track the slot as a ghost.
    fn evict(&mut self, slot: Slot);
    /// Ends the identity of `slot`. The host may reuse the number for another block.
    fn forget(&mut self, slot: Slot);
    /// Reads the data of `slot`, a tracked block that is not resident, without a demand request. The block is
    /// resident from now on.
    fn fetch(&mut self, slot: Slot, why: Extra);
    /// Returns and clears the accessed bit of the resident block in `slot`. The bit is set by references without a
    /// call of [`Policy::access`](super::Policy::access) since the admission or the last query. Always false in hosts
    /// that call `access` for every reference; see [`Requirements::hits`](super::Requirements::hits).
    fn take_accessed(&mut self, slot: Slot) -> bool;
    /// Returns the nanoseconds of work that storage has done or queued, on the clock of
    /// [`Reference::clock`](super::Reference::clock). `None` if the host does not measure it.
    fn storage_busy(&self) -> Option<u64>;
    /// Informational. Hosts may log it; it must not affect decisions.
    fn note(&mut self, note: &Note);
}

/// A host that ignores every effect. Its accessed bits are clear, and it does not measure storage.
#[derive(Clone, Copy, Debug)]
pub struct NoEffects;

impl Effects for NoEffects {
    fn evict(&mut self, _slot: Slot) {}
    fn forget(&mut self, _slot: Slot) {}
    fn fetch(&mut self, _slot: Slot, _why: Extra) {}

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        None
    }

    fn note(&mut self, _note: &Note) {}
}

/// Evicts a block without leaving a ghost.
pub trait Discard: Effects {
    /// Evicts `slot` and forgets it.
    fn discard(&mut self, slot: Slot);
}

impl<E: Effects + ?Sized> Discard for E {
    #[inline(always)]
    fn discard(&mut self, slot: Slot) {
        self.evict(slot);
        self.forget(slot);
    }
}

/// Effects of a policy inside another policy. Effects and queries that the outer policy does not handle reach the
/// host.
pub trait Nested {
    /// The host around the outer policy.
    type Host: Effects + ?Sized;
    /// Returns the host around the outer policy.
    fn host(&self) -> &Self::Host;
    /// Returns the host around the outer policy, mutably.
    fn host_mut(&mut self) -> &mut Self::Host;
    /// Returns the host's slot for a slot of the inner policy.
    #[inline(always)]
    fn outer(&self, slot: Slot) -> Slot {
        slot
    }
    /// Handles an eviction by the inner policy.
    #[inline(always)]
    fn on_evict(&mut self, slot: Slot) {
        let slot = self.outer(slot);
        self.host_mut().evict(slot);
    }
    /// Handles the end of an identity in the inner policy.
    #[inline(always)]
    fn on_forget(&mut self, slot: Slot) {
        let slot = self.outer(slot);
        self.host_mut().forget(slot);
    }
    /// Handles a prefetch by the inner policy.
    #[inline(always)]
    fn on_fetch(&mut self, slot: Slot, why: Extra) {
        let slot = self.outer(slot);
        self.host_mut().fetch(slot, why);
    }
    /// Answers a query of the inner policy for an accessed bit.
    #[inline(always)]
    fn on_take_accessed(&mut self, slot: Slot) -> bool {
        let slot = self.outer(slot);
        self.host_mut().take_accessed(slot)
    }
}

impl<N: Nested> Effects for N {
    #[inline(always)]
    fn evict(&mut self, slot: Slot) {
        self.on_evict(slot);
    }

    #[inline(always)]
    fn forget(&mut self, slot: Slot) {
        self.on_forget(slot);
    }

    #[inline(always)]
    fn fetch(&mut self, slot: Slot, why: Extra) {
        self.on_fetch(slot, why);
    }

    #[inline(always)]
    fn take_accessed(&mut self, slot: Slot) -> bool {
        self.on_take_accessed(slot)
    }

    fn storage_busy(&self) -> Option<u64> {
        self.host().storage_busy()
    }

    fn note(&mut self, note: &Note) {
        match *note {
            Note::Unforced(slot) => {
                let slot = self.outer(slot);
                self.host_mut().note(&Note::Unforced(slot));
            }
            Note::Division(_) | Note::Worth(_) | Note::HitRates(_) => self.host_mut().note(note),
        }
    }
}

impl<'a> Nested for &'a mut (dyn Effects + 'a) {
    type Host = dyn Effects + 'a;

    fn host(&self) -> &Self::Host {
        &**self
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut **self
    }
}
