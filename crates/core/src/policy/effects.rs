//! The host as a policy sees it.

use super::{Extra, Note, Slot};

/// Effects of a decision on the host, and the questions that a policy may ask it.
///
/// No method has a default: a host states what it ignores. A scheme around another policy implements [`Nested`].
pub trait Effects {
    /// Takes the data of `slot` out of the cache. The policy may still know the slot as a ghost.
    fn evict(&mut self, slot: Slot);
    /// Ends the identity of `slot`: the host may give the number to another block.
    fn forget(&mut self, slot: Slot);
    /// Reads the data of `slot`, a known block that is not resident, without a request for it. The block is resident
    /// from here on.
    fn fetch(&mut self, slot: Slot, why: Extra);
    /// Returns true if the resident block in `slot` was referenced without a call of
    /// [`Policy::access`](super::Policy::access) since it was admitted or since the last call, and clears that.
    /// Always false in hosts that call it for every reference; see [`Policy::hits`](super::Policy::hits).
    fn take_accessed(&mut self, slot: Slot) -> bool;
    /// Nanoseconds of work that storage has done or has queued, on the clock of
    /// [`Reference::clock`](super::Reference::clock); `None` if the host does not measure it.
    fn storage_busy(&self) -> Option<u64>;
    /// Informational. Hosts may log it; it must not affect decisions.
    fn note(&mut self, note: &Note);
}

/// Evicting a block without leaving a ghost.
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

/// Effects of a policy inside another. What the outer policy does not handle reaches the host around it, so no effect
/// and no question is lost.
pub trait Nested {
    /// The host around the outer policy.
    type Host: Effects + ?Sized;
    /// The host around.
    fn host(&self) -> &Self::Host;
    /// The host around.
    fn host_mut(&mut self) -> &mut Self::Host;
    /// Slot of the host for a slot of the inner policy.
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
    /// Handles a fetch by the inner policy.
    #[inline(always)]
    fn on_fetch(&mut self, slot: Slot, why: Extra) {
        let slot = self.outer(slot);
        self.host_mut().fetch(slot, why);
    }
    /// Answers the inner policy's question for a bit.
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
