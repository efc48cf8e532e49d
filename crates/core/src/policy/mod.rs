//! The interface between a replacement policy and its host.
//!
//! A policy orders *slots*. A slot is a small number that identifies one block while the policy tracks it, as a
//! resident block or as a ghost. Policies never see keys, data, files or locks. The host maps blocks to slots, owns
//! the data and learns from [`Effects`] which blocks leave. The simulator's host counts; the live cache's host frees
//! frames.

mod args;
mod argument;
pub(crate) mod bind;
pub mod dynamic;
mod effects;
mod entry;
mod explanation;
mod group;
mod note;
mod param;
mod spec;

use std::any::Any;
use std::sync::Arc;

pub use args::{Args, Interval, Quantum, Run};
pub use argument::{Argument, Part};
pub use effects::{Discard, Effects, Nested};
pub use entry::{Catalog, Entry, Requirements};
pub use explanation::{Came, Explained, Explanation, Flow, Names, Treatment};
pub use group::{block_group, file_group};
pub use note::{Extra, HitRates, Note, PartRoom, Promise, Repartition, Worth};
pub use param::{Param, ParamKind};
pub use spec::PolicySpec;

use self::dynamic::DynPolicy;
use crate::classify::Class;
use crate::spec::{SpecError, Value};
use crate::view::View;

/// Number that a policy uses for a block.
pub type Slot = u32;

/// The properties of one reference, besides the slot. A policy reads only the fields that its [`Info::needs`]
/// selects; the other fields may have their default values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Number of the reference in the trace, starting at 0.
    pub time: u64,
    /// Time of the reference in nanoseconds on the host's clock; always 0 if the host has no clock.
    pub clock: u64,
    /// The block's file. Blocks of different files are never neighbours.
    pub file: u32,
    /// The block's number in its file. Neighbouring blocks differ by 1.
    pub block: u32,
    /// The type of the block's file, a [`file_group`]; 0 if unknown.
    pub group: u32,
    /// The application that makes the reference.
    pub app: u32,
    /// True for a write, false for a read.
    pub write: bool,
    /// The class of the block by the rules of the policy's [`view`](Policy::view).
    pub class: Class,
    /// The object that contains the block, if known.
    pub object: Option<Object>,
    /// True for a prefetch by the host, which is not a demand reference and is excluded from hit counts.
    pub ahead: bool,
    /// The block's share of the capacity: at least 1, at most the whole capacity. Above 1 only if the policy
    /// [`weighs`](Policy::weighs) blocks and the host has blocks of many sizes ([`Setup::weighs`]).
    pub weight: u32,
    /// Size of the block in bytes if the host has blocks of many sizes; 0 if all blocks have one size.
    pub bytes: u32,
    /// Nanoseconds that an idle storage model needs for the block: its share of its request, as if nothing of the
    /// request were resident. 0 if unknown ([`Setup::costs`]).
    pub cost: u64,
    /// Like `cost`, but as if no two blocks of the request were neighbours, so that each is read separately.
    pub cost_apart: u64,
}

impl Default for Reference {
    fn default() -> Reference {
        Reference {
            time: 0,
            clock: 0,
            file: 0,
            block: 0,
            group: 0,
            app: 0,
            write: false,
            class: 0,
            object: None,
            ahead: false,
            weight: 1,
            bytes: 0,
            cost: 0,
            cost_apart: 0,
        }
    }
}

/// An object made of blocks: an allocation of a program, or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its number. A freed object and a later one in its place have different numbers.
    pub id: u32,
    /// Its size in bytes; `u64::MAX` if unknown.
    pub bytes: u64,
    /// True for a global variable of a program, false for an allocation.
    pub is_global: bool,
}

impl Object {
    /// An object for a file of unknown size.
    pub fn of_file(file: u32) -> Object {
        Object { id: file, bytes: u64::MAX, is_global: false }
    }
}

/// The fields of [`Reference`] that a policy reads, besides slot and time. Hosts need not compute the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Reference::file`] and [`Reference::block`].
    pub address: bool,
    /// [`Reference::group`].
    pub group: bool,
    /// [`Reference::app`].
    pub app: bool,
    /// [`Reference::app`] if the host knows it. Without it, all applications count as one.
    pub app_if_known: bool,
    /// [`Reference::write`].
    pub write: bool,
    /// [`Reference::class`].
    pub class: bool,
    /// [`Reference::clock`].
    pub clock: bool,
    /// [`Reference::object`].
    pub object: bool,
    /// [`Reference::weight`] and [`Reference::bytes`].
    pub size: bool,
    /// [`Reference::cost`], and with it [`Reference::write`].
    pub cost: bool,
}

impl Needs {
    /// Slot and time are enough.
    pub const NOTHING: Needs = Needs {
        address: false,
        group: false,
        app: false,
        app_if_known: false,
        write: false,
        class: false,
        clock: false,
        object: false,
        size: false,
        cost: false,
    };
    /// All fields: for schemes that pass references to policies chosen at run time.
    pub const EVERYTHING: Needs = Needs {
        address: true,
        group: true,
        app: true,
        app_if_known: true,
        write: true,
        class: true,
        clock: true,
        object: true,
        size: true,
        cost: true,
    };
}

/// The result of a reference to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was resident before the reference.
    Hit,
    /// It was not resident, and is now.
    Admitted,
    /// It was not resident, and the policy bypassed it.
    Bypassed,
}

/// The requirement of a policy for a reference to a resident block, ordered from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hits {
    /// Nothing: only misses change what the policy does.
    Nothing,
    /// A bit of the block must be set. The policy tests and clears the bits when it looks for a victim.
    Bit,
    /// A call of [`Policy::access`]: the policy orders blocks by every use, or counts uses.
    Order,
}

/// The order of blocks in a policy with the inclusion property: a larger cache holds every block that a smaller cache
/// holds. One pass over a trace then gives the hits at every size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnePass {
    /// By last use: the least recently used block leaves first.
    LastUse,
    /// By next use: the block whose next use is the furthest leaves first.
    NextUse,
    /// By last use, separately in each partition of a [`View`].
    LastUseByPart,
}

/// Where a policy runs, if parameter defaults depend on it. The simulator of requests uses the defaults of [`Param`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Requests are served as they arrive. The length of the run and later requests are unknown.
    Serving,
    /// Pages of memory are fetched on faults. The host keeps an accessed bit for each page.
    Paging,
}

/// A computation of a policy that no reference needs to wait for. It does not touch the policy; its result goes to
/// [`Policy::finish_work`].
pub type Work = Box<dyn FnOnce() -> Done + Send>;

/// The result of [`Work`].
pub type Done = Box<dyn Any + Send>;

/// A host's prior knowledge of an application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct App {
    /// Its name in specs.
    pub name: String,
    /// Measured hit rates of the application alone: a number of blocks and the hit rate in percent
    /// ([`Policy::profiling`]). Empty if not measured.
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

/// The hit rates that a policy requires for each application in advance: the application alone, under one policy, at
/// several sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Profiling {
    /// The host must measure them.
    Alone {
        /// The policy.
        policy: PolicySpec,
        /// Its sizes in blocks.
        sizes: Vec<u32>,
    },
    /// They were measured earlier. The host must read them from a file.
    Read {
        /// The policy.
        policy: PolicySpec,
        /// The file: result rows as JSON Lines.
        file: String,
    },
}

/// The future of a whole trace, for policies that require it ([`Info::offline`]).
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
    /// Returns the [`Reference::time`] of the first reference to the block in `slot` after `time`, or `None` if there
    /// is none.
    fn after(&self, slot: Slot, time: u64) -> Option<u64>;
}

/// One value for each reference.
pub type Column = Arc<dyn AsRef<[u32]> + Send + Sync>;

impl Future {
    /// Means "never used again" in `next_use`. A trace therefore has at most `u32::MAX - 1` references.
    pub const NEVER: u32 = u32::MAX;
}

/// Everything that a policy is built from.
#[derive(Clone)]
pub struct Setup<'a> {
    /// The maximum number of resident blocks, at least 1. For a policy that [`weighs`](Policy::weighs) blocks, their
    /// maximum total weight.
    pub capacity: u32,
    /// All slots of the host are below this number; see [`Policy::grow`].
    pub slots: u32,
    /// Seed of the instance's random numbers.
    pub seed: u64,
    /// The parameters, bound to the policy's [`Info::params`].
    pub args: &'a Args,
    /// The trace's future, present when [`Info::offline`] is set.
    pub future: Option<&'a Future>,
    /// `addresses[slot]`: the slot's file in the high 32 bits, its block number in the low 32 bits. Present, for all
    /// slots, if both [`Info::offline`] and [`Needs::address`] are set.
    pub addresses: Option<&'a [u64]>,
    /// The applications known to the host, by number. Unnamed others may appear later.
    pub apps: &'a [App],
    /// True if references have weights ([`Reference::weight`]). Only policies made by [`boxed`](Policy::boxed) get
    /// weights.
    pub weighs: bool,
    /// True if references have storage costs ([`Reference::cost`]).
    pub costs: bool,
}

/// The static description of a policy.
#[derive(Debug)]
pub struct Info {
    /// The name in specs and results.
    pub name: &'static str,
    /// Other names that specs accept.
    pub aliases: &'static [&'static str],
    /// Family under which `hotset policies` lists it: `simple`, `recency`, `frequency`, `adaptive`, `loop`, `optimal`…
    pub family: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// The parameters with their defaults.
    pub params: &'static [Param],
    /// True if the policy requires the future. Such a policy can be simulated but not run.
    pub offline: bool,
    /// The fields of references that it reads.
    pub needs: Needs,
}

/// A replacement policy over slots.
///
/// Contract: after every call, at most `capacity` slots are resident, or slots of that total weight. A policy tracks
/// a slot from the first call with it until the policy calls [`Effects::forget`]. A host that numbers all blocks once
/// ignores `forget`. Policies allocate only in `new`, `grow` and `resize`, at the first reference of an application
/// or object, and when a scheme repartitions.
pub trait Policy: Sized + Send {
    /// Name, parameters and descriptions.
    const INFO: Info;

    /// How one pass can compute the hits at every size; `None` if that is impossible.
    const ONE_PASS: Option<OnePass> = None;

    /// Builds an empty cache.
    fn new(setup: &Setup) -> Result<Self, SpecError>;

    /// Returns the view of the requests that a cache of `capacity` blocks with these arguments requires. Fails if
    /// `new` would fail.
    fn view(_args: &Args, _capacity: u32) -> Result<View, SpecError> {
        Ok(View::default())
    }

    /// Returns what the policy requires for a reference to a resident block. Below [`Hits::Order`], a host may call
    /// [`access`](Policy::access) only for blocks that are not resident. It sets the accessed bit of each resident
    /// block that is referenced. The policy reads these bits by [`Effects::take_accessed`], and combines them with
    /// its own. Victims are the same either way.
    fn hits(_args: &Args) -> Hits {
        Hits::Order
    }

    /// Returns the maximum number of blocks, resident and ghost, that a cache of `capacity` blocks tracks at once,
    /// including the referenced block. `new` must accept these arguments. Hosts that reuse slots need that many
    /// slots. `u64::MAX` means that only the trace bounds the number.
    fn identities(_args: &Args, capacity: u32) -> u64 {
        u64::from(capacity) + 1
    }

    /// Returns the hit rates that the policy requires for each application in advance. A host that cannot measure
    /// them leaves [`App::profile`] empty.
    fn profiling(_args: &Args, _capacity: u32) -> Option<Profiling> {
        None
    }

    /// True if the capacity, shares of it and [`len`](Policy::len) are sums of [`Reference::weight`], so that blocks
    /// of many sizes share the capacity by size. For other policies, the host converts bytes into a number of entries
    /// ([`Room`](crate::host::room::Room)).
    fn weighs(_args: &Args) -> bool {
        false
    }

    /// True if the host must read ahead for sequential readers.
    fn reads_ahead(_args: &Args) -> bool {
        false
    }

    /// Returns the parameters whose default differs in this setting, with that default.
    fn defaults_in(_setting: Setting) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Builds the policy for hosts that choose it at run time. The result may have another data structure but behaves
    /// the same.
    fn boxed(setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError>
    where
        Self: 'static,
    {
        Ok(Box::new(Self::new(setup)?))
    }

    /// References the block in `slot`. Evicts blocks to make space for it.
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome;

    /// Prefetches the memory that [`access`](Policy::access) of `slot` touches first into the processor's cache.
    fn prefetch(&self, slot: Slot);

    /// Invalidates the block in `slot`, because it was deleted or truncated. Removes it, resident or ghost, and calls
    /// [`Effects::forget`] but not `evict`, because the data is worthless. Ignores an unknown slot. Does not change
    /// other blocks, except in `virtual`, where memory depends on positions.
    fn remove(&mut self, slot: Slot, fx: &mut impl Effects);

    /// Changes the capacity, at least 1. Evicts in the policy's own order until the blocks fit.
    fn resize(&mut self, capacity: u32, fx: &mut impl Effects);

    /// Replaces the arguments `before` by those of `setup`, with the same capacity, and keeps the learnt state.
    /// Returns false without a change if only a new cache can have these arguments. [`Policy::new`] must accept
    /// `setup`.
    fn reconfigure(&mut self, _before: &Args, _setup: &Setup, _fx: &mut impl Effects) -> bool {
        false
    }

    /// Allocates memory for slots below `slots`.
    fn grow(&mut self, slots: u32);

    /// True if the block in `slot` is resident.
    fn contains(&self, slot: Slot) -> bool;

    /// Returns the number of resident blocks; their total weight if the policy [`weighs`](Policy::weighs) them.
    fn len(&self) -> u32;

    /// True if nothing is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// False if this reference would bypass a block that is not resident because of its size. The host then need not
    /// make space for it.
    fn keeps(&self, _reference: &Reference) -> bool {
        true
    }

    /// Starts to maintain positions while the cache is empty. Afterwards [`position`](Policy::position) and
    /// [`at`](Policy::at) work; positions count blocks, which must all have one weight. Returns false if the policy
    /// has no total order of its resident blocks.
    fn keep_order(&mut self) -> bool {
        false
    }

    /// Returns the number of resident blocks that the policy values more than `slot`. `None` if `slot` is not
    /// resident, or if positions are not maintained.
    fn position(&self, _slot: Slot) -> Option<u32> {
        None
    }

    /// Returns the resident block at a position.
    fn at(&self, _position: u32) -> Option<Slot> {
        None
    }

    /// Returns the number of blocks of `class` that fit. Unlimited unless a scheme sets a limit.
    fn room(&self, _class: Class) -> u32 {
        u32::MAX
    }

    /// Returns the maximum length in blocks of a request for data of `class`. A longer request counts as several.
    /// Unlimited unless a scheme sets a limit.
    fn piece(&self, _class: Class) -> u32 {
        u32::MAX
    }

    /// Returns a computation that may run during later references, for a host with a spare thread. If the host never
    /// calls this, the policy does the computation itself, at the cost of time only.
    fn take_work(&mut self) -> Option<Work> {
        None
    }

    /// Takes the result of the work that this policy returned last.
    fn finish_work(&mut self, _done: Done) {}

    /// Returns what the policy has learnt and how it treats blocks, most important first. Empty if it has nothing to
    /// report.
    fn explain(&self) -> Vec<Explanation> {
        Vec::new()
    }

    /// Recomputes every structure from scratch. Panics if an invariant is broken. For tests.
    fn validate(&self);
}
