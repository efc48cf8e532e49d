//! A policy as a cache holds it: by its type, or by a name that is known at run time.

use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{
    Capabilities, Catalog, Effects, Entry, Learning, Outcome, Policy, PolicySpec, Reference, Selective, Setup, Slot,
};
use hotset_core::spec::SpecError;

/// A policy that a cache can hold: any [`Policy`] by its type, or [`ByName`]. Not for other types.
pub trait Engine: Send + Sized + 'static {
    /// True if the policy may weigh values by itself; otherwise the cache adjusts its entry limit.
    const MAY_WEIGH: bool;
    /// Builds the policy of a spec.
    fn build(spec: &PolicySpec, setup: &Setup) -> Result<Self, SpecError>;
    /// [`Policy::access`].
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome;
    /// [`Policy::remove`].
    fn remove(&mut self, slot: Slot, fx: &mut impl Effects);
    /// [`Policy::resize`].
    fn resize(&mut self, capacity: u32, fx: &mut impl Effects);
    /// [`Policy::grow`].
    fn grow(&mut self, slots: u32);
    /// [`Policy::prefetch`].
    fn prefetch(&self, slot: Slot);
    /// [`Policy::contains`].
    fn contains(&self, slot: Slot) -> bool;
    /// [`Policy::len`].
    fn entries(&self) -> u32;
    /// [`Policy::validate`].
    fn validate(&self);
    /// [`Capabilities::selective`].
    fn selective(&self) -> Option<&dyn Selective>;
    /// [`Capabilities::learning_mut`].
    fn learning_mut(&mut self) -> Option<&mut dyn Learning>;
}

/// A policy that is chosen by its name: one indirect call for each reference that reaches it.
pub struct ByName(Box<dyn DynPolicy>);

/// The entry of a policy's type, under which its arguments are read.
pub(crate) trait Typed {
    const ENTRY: &'static Entry;
}

impl<P: Policy + Capabilities + 'static> Typed for P {
    const ENTRY: &'static Entry = &Entry::of::<P>("", Catalog::EMPTY);
}

impl<P: Policy + Capabilities + 'static> Engine for P {
    const MAY_WEIGH: bool = false;

    fn build(_: &PolicySpec, setup: &Setup) -> Result<Self, SpecError> {
        P::new(setup)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        Policy::access(self, slot, reference, fx)
    }

    #[inline(always)]
    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        Policy::remove(self, slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        Policy::resize(self, capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        Policy::grow(self, slots);
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        Policy::prefetch(self, slot);
    }

    #[inline(always)]
    fn contains(&self, slot: Slot) -> bool {
        Policy::contains(self, slot)
    }

    fn entries(&self) -> u32 {
        Policy::len(self)
    }

    fn validate(&self) {
        Policy::validate(self);
    }

    fn selective(&self) -> Option<&dyn Selective> {
        Capabilities::selective(self)
    }

    fn learning_mut(&mut self) -> Option<&mut dyn Learning> {
        Capabilities::learning_mut(self)
    }
}

impl Engine for ByName {
    const MAY_WEIGH: bool = true;

    fn build(spec: &PolicySpec, setup: &Setup) -> Result<Self, SpecError> {
        Ok(ByName(spec.entry().build(setup)?))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.0.access(slot, reference, fx)
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.0.grow(slots);
    }

    fn prefetch(&self, slot: Slot) {
        self.0.prefetch(slot);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.0.contains(slot)
    }

    fn entries(&self) -> u32 {
        self.0.len()
    }

    fn validate(&self) {
        self.0.validate();
    }

    fn selective(&self) -> Option<&dyn Selective> {
        self.0.selective()
    }

    fn learning_mut(&mut self) -> Option<&mut dyn Learning> {
        self.0.learning_mut()
    }
}
