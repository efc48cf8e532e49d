//! The inputs from which a policy is built.

use std::sync::Arc;

use super::{Args, Slot};

/// Everything that a policy is built from.
#[derive(Clone)]
pub struct Setup<'a> {
    /// The maximum number of resident blocks, at least 1. For a policy that [weighs](super::Requirements::weighs)
    /// blocks, their maximum total weight.
    pub capacity: u32,
    /// All slots of the host are below this number; see [`Policy::grow`](super::Policy::grow).
    pub slots: u32,
    /// Seed of the instance's random numbers.
    pub seed: u64,
    /// The parameters, bound to the policy's [`Info::params`](super::Info::params).
    pub args: &'a Args,
    /// The trace's future, present when [`Info::offline`](super::Info::offline) is set.
    pub future: Option<&'a Future>,
    /// `addresses[slot]`: the slot's file in the high 32 bits, its block number in the low 32 bits. Present, for all
    /// slots, if both [`Info::offline`](super::Info::offline) and [`Needs::address`](super::Needs::address) are set.
    pub addresses: Option<&'a [u64]>,
    /// The applications known to the host, by number. Unnamed others may appear later.
    pub apps: &'a [App],
    /// True if references have weights ([`Reference::weight`](super::Reference::weight)). Only policies built by
    /// [`Entry::build`](super::Entry::build) get weights.
    pub weighs: bool,
    /// True if references have storage costs ([`Reference::cost`](super::Reference::cost)).
    pub costs: bool,
}

impl<'a> Setup<'a> {
    /// A setup without a future and without knowledge of addresses, applications, sizes and costs.
    pub fn new(args: &'a Args, capacity: u32, slots: u32, seed: u64) -> Setup<'a> {
        Setup { capacity, slots, seed, args, future: None, addresses: None, apps: &[], weighs: false, costs: false }
    }
}

/// A host's prior knowledge of an application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct App {
    /// Its name in specs.
    pub name: String,
    /// Measured hit rates of the application alone: a number of blocks and the hit rate in percent
    /// ([`Requirements::profiling`](super::Requirements::profiling)). Empty if not measured.
    pub profile: Vec<(u32, f64)>,
    /// Its number of references, if measured.
    pub references: u64,
}

impl App {
    /// The spelling of an application's name in a spec. Characters that specs do not allow are replaced by `_`.
    pub fn spelt(name: &str) -> String {
        name.chars()
            .map(|sign| if sign.is_ascii_alphanumeric() || "-_.+".contains(sign) { sign } else { '_' })
            .collect()
    }

    /// True if `name` in a spec refers to this application.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || App::spelt(&self.name) == name
    }
}

impl From<&str> for App {
    /// An application without measurements.
    fn from(name: &str) -> App {
        App { name: name.to_owned(), ..App::default() }
    }
}

/// The future of a whole trace, for policies that require it ([`Info::offline`](super::Info::offline)).
#[derive(Clone)]
pub enum Future {
    /// Every reference is known in advance.
    Told(Told),
    /// The host answers queries. Hosts use it for traces that are too long to be listed, and if they call policies
    /// only for blocks that are not resident.
    Asked(Arc<dyn NextUses>),
}

/// Every reference of a trace. Positions count references, starting at 0. All cells of a grid share it.
#[derive(Clone)]
pub struct Told {
    /// `slots[i]`: the slot referenced at position i.
    pub slots: Column,
    /// `next_use[i]`: the position of the next reference to the same block, [`Future::NEVER`] if none.
    pub next_use: Column,
}

/// A host's answers about future references.
pub trait NextUses: Send + Sync {
    /// Returns the [`Reference::time`](super::Reference::time) of the first reference to the block in `slot` after
    /// `time`, or `None` if there is none.
    fn after(&self, slot: Slot, time: u64) -> Option<u64>;
}

/// One value for each reference.
pub type Column = Arc<dyn AsRef<[u32]> + Send + Sync>;

impl Future {
    /// Means "never used again" in `next_use`. A trace therefore has at most `u32::MAX - 1` references.
    pub const NEVER: u32 = u32::MAX;
}
