//! Policies chosen at run time inside other policies: one virtual call for each reference.

use std::marker::PhantomData;

use super::{
    Args, Done, Effects, Explanation, Hits, Info, Outcome, Policy, Profiling, Reference, Setting, Setup, Slot, Work,
};
use crate::classify::Class;
use crate::spec::{SpecError, Value};
use crate::view::View;

/// A [`Policy`] behind a virtual table. Every method calls the policy's own method.
pub trait DynPolicy: Send {
    /// [`Policy::access`].
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut dyn Effects) -> Outcome;
    /// [`Policy::prefetch`].
    fn prefetch(&self, slot: Slot);
    /// [`Policy::remove`].
    fn remove(&mut self, slot: Slot, fx: &mut dyn Effects);
    /// [`Policy::resize`].
    fn resize(&mut self, capacity: u32, fx: &mut dyn Effects);
    /// [`Policy::reconfigure`].
    fn reconfigure(&mut self, before: &Args, setup: &Setup, fx: &mut dyn Effects) -> bool;
    /// [`Policy::grow`].
    fn grow(&mut self, slots: u32);
    /// [`Policy::contains`].
    fn contains(&self, slot: Slot) -> bool;
    /// [`Policy::len`].
    fn len(&self) -> u32;
    /// [`Policy::is_empty`].
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// [`Policy::room`].
    fn room(&self, class: Class) -> u32;
    /// [`Policy::piece`].
    fn piece(&self, class: Class) -> u32;
    /// [`Policy::keeps`].
    fn keeps(&self, reference: &Reference) -> bool;
    /// [`Policy::keep_order`].
    fn keep_order(&mut self) -> bool;
    /// [`Policy::position`].
    fn position(&self, slot: Slot) -> Option<u32>;
    /// [`Policy::at`].
    fn at(&self, position: u32) -> Option<Slot>;
    /// [`Policy::take_work`].
    fn take_work(&mut self) -> Option<Work>;
    /// [`Policy::finish_work`].
    fn finish_work(&mut self, done: Done);
    /// [`Policy::explain`].
    fn explain(&self) -> Vec<Explanation>;
    /// [`Policy::validate`].
    fn validate(&self);
}

impl<P: Policy> DynPolicy for P {
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

    fn reconfigure(&mut self, before: &Args, setup: &Setup, mut fx: &mut dyn Effects) -> bool {
        Policy::reconfigure(self, before, setup, &mut fx)
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

    fn room(&self, class: Class) -> u32 {
        Policy::room(self, class)
    }

    fn piece(&self, class: Class) -> u32 {
        Policy::piece(self, class)
    }

    fn keeps(&self, reference: &Reference) -> bool {
        Policy::keeps(self, reference)
    }

    fn keep_order(&mut self) -> bool {
        Policy::keep_order(self)
    }

    fn position(&self, slot: Slot) -> Option<u32> {
        Policy::position(self, slot)
    }

    fn at(&self, position: u32) -> Option<Slot> {
        Policy::at(self, position)
    }

    fn take_work(&mut self) -> Option<Work> {
        Policy::take_work(self)
    }

    fn finish_work(&mut self, done: Done) {
        Policy::finish_work(self, done);
    }

    fn explain(&self) -> Vec<Explanation> {
        Policy::explain(self)
    }

    fn validate(&self) {
        Policy::validate(self);
    }
}

/// Builds `W`, which weighs blocks, if blocks have weights. Otherwise builds `A`, the same policy with all weights 1.
pub fn by_weights<A: Policy + 'static, W: Policy + 'static>(setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError> {
    match setup.weighs {
        true => Ok(Box::new(W::new(setup)?)),
        false => Ok(Box::new(A::new(setup)?)),
    }
}

/// Policy `P` in the data structure of [`Policy::boxed`], for hosts that know its type. Costs one virtual call for
/// each reference.
pub struct Boxed<P>(Box<dyn DynPolicy>, PhantomData<fn() -> P>);

impl<P: Policy + 'static> Policy for Boxed<P> {
    const INFO: Info = P::INFO;

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Boxed(P::boxed(setup)?, PhantomData))
    }

    fn view(args: &Args, capacity: u32) -> Result<View, SpecError> {
        P::view(args, capacity)
    }

    fn hits(args: &Args) -> Hits {
        P::hits(args)
    }

    fn weighs(args: &Args) -> bool {
        P::weighs(args)
    }

    fn identities(args: &Args, capacity: u32) -> u64 {
        P::identities(args, capacity)
    }

    fn profiling(args: &Args, capacity: u32) -> Option<Profiling> {
        P::profiling(args, capacity)
    }

    fn reads_ahead(args: &Args) -> bool {
        P::reads_ahead(args)
    }

    fn defaults_in(setting: Setting) -> Vec<(&'static str, Value)> {
        P::defaults_in(setting)
    }

    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.0.access(slot, reference, fx)
    }

    fn prefetch(&self, slot: Slot) {
        self.0.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.0.remove(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.0.resize(capacity, fx);
    }

    fn reconfigure(&mut self, before: &Args, setup: &Setup, fx: &mut impl Effects) -> bool {
        self.0.reconfigure(before, setup, fx)
    }

    fn grow(&mut self, slots: u32) {
        self.0.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.0.contains(slot)
    }

    fn len(&self) -> u32 {
        self.0.len()
    }

    fn keeps(&self, reference: &Reference) -> bool {
        self.0.keeps(reference)
    }

    fn keep_order(&mut self) -> bool {
        self.0.keep_order()
    }

    fn position(&self, slot: Slot) -> Option<u32> {
        self.0.position(slot)
    }

    fn at(&self, position: u32) -> Option<Slot> {
        self.0.at(position)
    }

    fn room(&self, class: Class) -> u32 {
        self.0.room(class)
    }

    fn piece(&self, class: Class) -> u32 {
        self.0.piece(class)
    }

    fn take_work(&mut self) -> Option<Work> {
        self.0.take_work()
    }

    fn finish_work(&mut self, done: Done) {
        self.0.finish_work(done);
    }

    fn explain(&self) -> Vec<Explanation> {
        self.0.explain()
    }

    fn validate(&self) {
        self.0.validate();
    }
}
