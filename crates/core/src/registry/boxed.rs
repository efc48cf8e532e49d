//! A registered policy in the data structure that its line in the table builds, for hosts that know its type.

use std::marker::PhantomData;

use super::find;
use crate::policy::dynamic::{DynPolicy, DynRanked, forward};
use crate::policy::{Args, Capabilities, Info, Policy, Ranked, Reconfigure, Requirements, Setup};
use crate::spec::SpecError;

/// Policy `P` as [`Entry::build`](crate::policy::Entry::build) builds it. Costs one indirect call for each reference.
pub struct Boxed<P>(Box<dyn DynPolicy>, PhantomData<fn() -> P>);

impl<P: Policy> Policy for Boxed<P> {
    const INFO: Info = P::INFO;

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let entry = find(P::INFO.name).expect("a registered policy");
        Ok(Boxed(entry.build(setup)?, PhantomData))
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        P::requirements(args, capacity)
    }

    forward!(0: access prefetch remove resize grow contains len validate);
}

/// It is the policy inside, so all capabilities are the same.
impl<P> Capabilities for Boxed<P> {
    fn inner(&self) -> Option<&dyn DynPolicy> {
        Some(self.0.as_ref())
    }

    fn inner_mut(&mut self) -> Option<&mut dyn DynPolicy> {
        Some(self.0.as_mut())
    }

    fn ranked(&mut self) -> Option<&mut dyn Ranked> {
        self.0.ranked()
    }

    fn into_ranked(self: Box<Self>) -> Option<Box<dyn DynRanked>> {
        self.0.into_ranked()
    }

    fn reconfigurable(&mut self) -> Option<&mut dyn Reconfigure> {
        self.0.reconfigurable()
    }
}
