//! Policies chosen at run time inside other policies: one indirect call for each reference.

use super::{Capabilities, Effects, Outcome, Policy, Ranked, Reference, Setup, Slot};
use crate::spec::SpecError;

/// A [`Policy`] behind a table of functions. Every method calls the policy's own method.
#[expect(clippy::len_without_is_empty, reason = "as in Policy")]
pub trait DynPolicy: Capabilities + Send {
    /// [`Policy::access`].
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut dyn Effects) -> Outcome;
    /// [`Policy::prefetch`].
    fn prefetch(&self, slot: Slot);
    /// [`Policy::remove`].
    fn remove(&mut self, slot: Slot, fx: &mut dyn Effects);
    /// [`Policy::resize`].
    fn resize(&mut self, capacity: u32, fx: &mut dyn Effects);
    /// [`Policy::grow`].
    fn grow(&mut self, slots: u32);
    /// [`Policy::contains`].
    fn contains(&self, slot: Slot) -> bool;
    /// [`Policy::len`].
    fn len(&self) -> u32;
    /// [`Policy::validate`].
    fn validate(&self);
}

impl<P: Policy + Capabilities> DynPolicy for P {
    fn access(&mut self, slot: Slot, reference: Reference, mut fx: &mut dyn Effects) -> Outcome {
        Policy::access(self, slot, reference, &mut fx)
    }

    fn prefetch(&self, slot: Slot) {
        Policy::prefetch(self, slot);
    }

    fn remove(&mut self, slot: Slot, mut fx: &mut dyn Effects) {
        Policy::remove(self, slot, &mut fx);
    }

    fn resize(&mut self, capacity: u32, mut fx: &mut dyn Effects) {
        Policy::resize(self, capacity, &mut fx);
    }

    fn grow(&mut self, slots: u32) {
        Policy::grow(self, slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        Policy::contains(self, slot)
    }

    fn len(&self) -> u32 {
        Policy::len(self)
    }

    fn validate(&self) {
        Policy::validate(self);
    }
}

/// A policy with an order of its resident blocks, behind one table of functions.
pub trait DynRanked: DynPolicy + Ranked {}

impl<P: DynPolicy + Ranked> DynRanked for P {}

/// Implements methods of [`Policy`] by those of a policy in a field: `forward!(policy: contains len)`.
macro_rules! forward {
    ($field:tt: $($method:ident)*) => {
        $($crate::policy::dynamic::forward! { @ $field $method })*
    };
    (@ $field:tt access) => {
        #[inline(always)]
        fn access(&mut self, slot: $crate::policy::Slot, reference: $crate::policy::Reference, fx: &mut impl $crate::policy::Effects) -> $crate::policy::Outcome {
            self.$field.access(slot, reference, fx)
        }
    };
    (@ $field:tt prefetch) => {
        fn prefetch(&self, slot: $crate::policy::Slot) {
            self.$field.prefetch(slot);
        }
    };
    (@ $field:tt remove) => {
        fn remove(&mut self, slot: $crate::policy::Slot, fx: &mut impl $crate::policy::Effects) {
            self.$field.remove(slot, fx);
        }
    };
    (@ $field:tt resize) => {
        fn resize(&mut self, capacity: u32, fx: &mut impl $crate::policy::Effects) {
            self.$field.resize(capacity, fx);
        }
    };
    (@ $field:tt grow) => {
        fn grow(&mut self, slots: u32) {
            self.$field.grow(slots);
        }
    };
    (@ $field:tt contains) => {
        fn contains(&self, slot: $crate::policy::Slot) -> bool {
            self.$field.contains(slot)
        }
    };
    (@ $field:tt len) => {
        fn len(&self) -> u32 {
            self.$field.len()
        }
    };
    (@ $field:tt validate) => {
        fn validate(&self) {
            self.$field.validate();
        }
    };
}
pub(crate) use forward;

/// Builds `W`, which weighs blocks, if blocks have weights. Otherwise builds `A`, the same policy with all weights 1.
pub fn by_weights<A, W>(setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError>
where
    A: Policy + Capabilities + 'static,
    W: Policy + Capabilities + 'static,
{
    match setup.weighs {
        true => Ok(Box::new(W::new(setup)?)),
        false => Ok(Box::new(A::new(setup)?)),
    }
}
