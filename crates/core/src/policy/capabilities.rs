//! What some policies can do besides replacing blocks, one trait for each capability.
//!
//! A host or a scheme asks the policy that it holds for a capability and does without it if there is none. The policy's
//! line in the registry names its capabilities. A new capability is one trait, one method of [`Capabilities`] and one
//! arm of [`capabilities`](crate::capabilities), all here.

use std::any::Any;

use super::dynamic::{DynPolicy, DynRanked};
use super::{Args, Effects, Explanation, Reference, Setup, Slot};
use crate::classify::Class;

/// The capabilities of a policy. Its own ones are implemented by [`capabilities`](crate::capabilities); those of a
/// policy inside an [`Around`] are also the outer policy's, unless the method says otherwise.
pub trait Capabilities {
    /// Returns the policy inside, if this one is [`Around`] another.
    fn inner(&self) -> Option<&dyn DynPolicy> {
        None
    }

    /// Returns the policy inside, mutably.
    fn inner_mut(&mut self) -> Option<&mut dyn DynPolicy> {
        None
    }

    /// Returns the order of the resident blocks. Not that of a policy inside: the outer one may refuse references.
    fn ranked(&mut self) -> Option<&mut dyn Ranked> {
        None
    }

    /// Returns the policy as one with an order, for a scheme that asks for positions at every reference.
    fn into_ranked(self: Box<Self>) -> Option<Box<dyn DynRanked>> {
        None
    }

    /// Returns the limits of partitions.
    fn partitioned(&self) -> Option<&dyn Partitioned> {
        self.inner()?.partitioned()
    }

    /// Returns the choice of blocks by their properties.
    fn selective(&self) -> Option<&dyn Selective> {
        self.inner()?.selective()
    }

    /// Returns the learnt state.
    fn learning(&self) -> Option<&dyn Learning> {
        self.inner()?.learning()
    }

    /// Returns the learnt state, mutably.
    fn learning_mut(&mut self) -> Option<&mut dyn Learning> {
        self.inner_mut()?.learning_mut()
    }

    /// Returns the change of arguments. Not that of a policy inside, which has other arguments.
    fn reconfigurable(&mut self) -> Option<&mut dyn Reconfigure> {
        None
    }
}

/// Implements [`Capabilities`](crate::policy::Capabilities) for policies that implement these traits:
/// `capabilities!(Queue: [Ranked])`.
#[macro_export]
macro_rules! capabilities {
    (@ Around) => {
        fn inner(&self) -> Option<&dyn $crate::policy::dynamic::DynPolicy> {
            Some($crate::policy::Around::policy(self))
        }
        fn inner_mut(&mut self) -> Option<&mut dyn $crate::policy::dynamic::DynPolicy> {
            Some($crate::policy::Around::policy_mut(self))
        }
    };
    (@ Ranked) => {
        fn ranked(&mut self) -> Option<&mut dyn $crate::policy::Ranked> {
            Some(self)
        }
        fn into_ranked(self: Box<Self>) -> Option<Box<dyn $crate::policy::dynamic::DynRanked>> {
            Some(self)
        }
    };
    (@ Partitioned) => {
        fn partitioned(&self) -> Option<&dyn $crate::policy::Partitioned> {
            Some(self)
        }
    };
    (@ Selective) => {
        fn selective(&self) -> Option<&dyn $crate::policy::Selective> {
            Some(self)
        }
    };
    (@ Learning) => {
        fn learning(&self) -> Option<&dyn $crate::policy::Learning> {
            Some(self)
        }
        fn learning_mut(&mut self) -> Option<&mut dyn $crate::policy::Learning> {
            Some(self)
        }
    };
    (@ Reconfigure) => {
        fn reconfigurable(&mut self) -> Option<&mut dyn $crate::policy::Reconfigure> {
            Some(self)
        }
    };
    (@ $policy:ty, [$($capability:ident)*]) => {
        impl $crate::policy::Capabilities for $policy {
            $($crate::capabilities! { @ $capability })*
        }
    };
    ($($policy:ty),+: $capabilities:tt) => {
        $($crate::capabilities! { @ $policy, $capabilities })+
    };
}

/// A scheme that gives one policy the whole cache and every reference that it does not refuse.
pub trait Around {
    /// Returns the policy inside.
    fn policy(&self) -> &dyn DynPolicy;

    /// Returns the policy inside, mutably.
    fn policy_mut(&mut self) -> &mut dyn DynPolicy;
}

/// A policy with a total order of its resident blocks, which must all have one weight.
pub trait Ranked {
    /// Starts to maintain positions while the cache is empty. Afterwards [`position`](Ranked::position) and
    /// [`at`](Ranked::at) work. Returns false if the policy has no order with its arguments.
    fn keep_order(&mut self) -> bool;

    /// Returns the number of resident blocks that the policy values more than `slot`. `None` if `slot` is not
    /// resident, or if positions are not maintained.
    fn position(&self, slot: Slot) -> Option<u32>;

    /// Returns the resident block at a position.
    fn at(&self, position: u32) -> Option<Slot>;
}

/// A policy that limits the data of each class.
pub trait Partitioned {
    /// Returns the number of blocks of `class` that fit.
    fn room(&self, class: Class) -> u32;

    /// Returns the maximum length in blocks of a request for data of `class`. A longer request counts as several.
    fn piece(&self, class: Class) -> u32;
}

/// A policy that lets references of some kinds go past the cache.
pub trait Selective {
    /// False if this reference would go past if its block is not resident. The host then need not make space for it.
    fn keeps(&self, reference: &Reference) -> bool;
}

/// A policy that learns, and may compute outside of references.
pub trait Learning {
    /// Returns a computation that may run during later references, for a host with a spare thread. If the host never
    /// calls this, the policy does the computation itself, at the cost of time only.
    fn take_work(&mut self) -> Option<Work>;

    /// Takes the result of the work that this policy returned last.
    fn finish_work(&mut self, done: Done);

    /// Returns what the policy has learnt and how it treats blocks, most important first.
    fn explain(&self) -> Vec<Explanation>;
}

/// A policy that takes other arguments while it is in use.
pub trait Reconfigure {
    /// Replaces the arguments `before` by those of `setup`, with the same capacity, and keeps the learnt state.
    /// Returns false without a change if only a new cache can have these arguments.
    /// [`Policy::new`](super::Policy::new) must accept `setup`.
    fn reconfigure(&mut self, before: &Args, setup: &Setup, fx: &mut dyn Effects) -> bool;
}

/// A computation of a policy that no reference needs to wait for. It does not touch the policy; its result goes to
/// [`Learning::finish_work`].
pub type Work = Box<dyn FnOnce() -> Done + Send>;

/// The result of [`Work`].
pub type Done = Box<dyn Any + Send>;
