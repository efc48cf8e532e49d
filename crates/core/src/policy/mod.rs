//! The seam between a replacement policy and whoever hosts it.
//!
//! A policy orders *slots*. A slot is a small number that stands for one block as long as the policy knows
//! it, resident or as a ghost; it never sees keys, data, files or locks. The host maps blocks to slots, owns the
//! data and learns through [`Effects`] what leaves. The simulator's host counts; the live cache's host frees frames.

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

/// Number of a block known to a policy.
pub type Slot = u32;

/// What a host tells of one reference besides the block's slot. A policy reads only what its [`Info::needs`] asks for;
/// the rest may be left as it is by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Number of the reference in the trace, from 0.
    pub time: u64,
    /// Nanoseconds on the host's clock when it was made; 0 throughout where there is none.
    pub clock: u64,
    /// The block's file; blocks of different files are never neighbours.
    pub file: u32,
    /// The block's number in its file: neighbours differ by 1.
    pub block: u32,
    /// The type of the block's file, as [`file_group`] numbers them; 0 where it is not known.
    pub group: u32,
    /// The application that refers to it.
    pub app: u32,
    /// The block is written, not read.
    pub write: bool,
    /// The class of the block by the rules of the policy's [`view`](Policy::view).
    pub class: Class,
    /// The whole that the block is a part of, where it is known.
    pub object: Option<Object>,
    /// The host reads the block ahead: nobody has asked for it yet. Whoever counts hits leaves such references out.
    pub ahead: bool,
    /// What the block takes of the capacity, at least 1 and at most all of it. More than 1 only where the policy
    /// [`weighs`](Policy::weighs) and was built for a host with blocks of many sizes ([`Setup::weighs`]).
    pub weight: u32,
    /// Bytes of the block, where its host has blocks of many sizes; 0 where all are alike.
    pub bytes: u32,
    /// Nanoseconds that an idle store would take for the block: its share of the request that it is of, as if nothing
    /// of that were resident. 0 where nobody knows ([`Setup::costs`]).
    pub cost: u64,
    /// The same, if each block of the request were read on its own, as if no two of them were neighbours.
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

/// A whole that blocks are parts of: an allocation of a program, or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its number. An object that was freed and another in its place have different numbers.
    pub id: u32,
    /// Its size in bytes; `u64::MAX` where nobody knows.
    pub bytes: u64,
    /// It is a variable of a program, not an allocation.
    pub is_global: bool,
}

impl Object {
    /// A file, of unknown size.
    pub fn of_file(file: u32) -> Object {
        Object { id: file, bytes: u64::MAX, is_global: false }
    }
}

/// What a policy must be told of each reference besides slot and time. Hosts need not find out what nobody asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Reference::file`] and [`Reference::block`].
    pub address: bool,
    /// [`Reference::group`].
    pub group: bool,
    /// [`Reference::app`].
    pub app: bool,
    /// The same where the host knows it: without, all applications are one to it.
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
    /// All that a host can tell: for schemes that pass it on to policies chosen at run time.
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

/// What became of the referenced block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was resident before the reference.
    Hit,
    /// It was not resident, and is now.
    Admitted,
    /// It was not resident, and the policy chose not to keep it.
    Bypassed,
}

/// What a reference to a resident block asks of a policy, from the least on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hits {
    /// Nothing: only misses change what the policy does.
    Nothing,
    /// That it is noted in a bit of the block, which the policy tests and clears when it looks for a victim.
    Bit,
    /// A call of [`Policy::access`]: the policy orders blocks by each use, or counts uses.
    Order,
}

/// What orders the blocks of a policy that has the inclusion property: a larger cache holds all that a smaller one
/// does, so one pass over a trace gives the hits at every size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnePass {
    /// The last use: the most recently used block is the last to leave.
    LastUse,
    /// The next use: the block used again first is the last to leave.
    NextUse,
    /// The last use, in each of the parts of a [`View`] apart.
    LastUseByPart,
}

/// Where a policy runs, as far as defaults of parameters depend on it. A simulator of requests has the defaults that
/// [`Param`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Requests are served as they come: nobody knows how long the run is, nor what the next request is.
    Serving,
    /// Pages of memory are fetched on faults; the host keeps a bit for each page that is referenced.
    Paging,
}

/// What a policy has to compute that no reference need wait for. It touches nothing of the policy, and gives what
/// [`Policy::finish_work`] takes.
pub type Work = Box<dyn FnOnce() -> Done + Send>;

/// What [`Work`] has given.
pub type Done = Box<dyn Any + Send>;

/// What a host tells beforehand of an application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct App {
    /// Its name, by which specs speak of it.
    pub name: String,
    /// Blocks and the hit rate in percent that it reaches alone with so many, where that was measured
    /// ([`Policy::profiling`]).
    pub profile: Vec<(u32, f64)>,
    /// Its references, where it was measured.
    pub references: u64,
}

impl App {
    /// How a spec spells the name of an application: it is made of fewer signs than names are, `_` stands for the
    /// others.
    pub fn spelt(name: &str) -> String {
        name.chars()
            .map(|sign| if sign.is_ascii_alphanumeric() || "-_.+".contains(sign) { sign } else { '_' })
            .collect()
    }

    /// True if a spec that says `name` means the application.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || App::spelt(&self.name) == name
    }
}

impl From<&str> for App {
    /// An application of which nothing was measured.
    fn from(name: &str) -> App {
        App { name: name.to_owned(), ..App::default() }
    }
}

/// What a policy wants to know of each application before it is built: what it hits alone, under a policy, at some
/// sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Profiling {
    /// Its host is to measure that.
    Alone {
        /// The policy.
        policy: PolicySpec,
        /// Its sizes in blocks.
        sizes: Vec<u32>,
    },
    /// It was measured before: its host is to read it.
    Read {
        /// The policy.
        policy: PolicySpec,
        /// The file, rows of results as JSON Lines.
        file: String,
    },
}

/// The future of a whole trace, for the policies that must know it ([`Info::offline`]).
#[derive(Clone)]
pub enum Future {
    /// Every reference is told beforehand.
    Told(Told),
    /// The host answers questions. So does one that calls policies for blocks that are not resident alone, whose traces
    /// may be too long to be told.
    Asked(Arc<dyn NextUses>),
}

/// Every reference of a trace.
///
/// Positions count references from 0. Shared by all cells of a grid.
#[derive(Clone)]
pub struct Told {
    /// `slots[i]`: the slot referenced at position i.
    pub slots: Column,
    /// `next_use[i]`: the position of the next reference to the same block, [`Future::NEVER`] if none.
    pub next_use: Column,
}

/// What a host knows of the future.
pub trait NextUses: Send + Sync {
    /// [`Reference::time`] of the first reference to the block in `slot` that comes after `time`; `None` if there is
    /// none.
    fn after(&self, slot: Slot, time: u64) -> Option<u64>;
}

/// One value a reference.
pub type Column = Arc<dyn AsRef<[u32]> + Send + Sync>;

impl Future {
    /// "Not used again" in `next_use`. A trace therefore holds at most `u32::MAX - 1` references.
    pub const NEVER: u32 = u32::MAX;
}

/// All that a policy is built from.
#[derive(Clone)]
pub struct Setup<'a> {
    /// Blocks that may be resident, at least 1; what they may weigh together where the policy
    /// [`weighs`](Policy::weighs) them.
    pub capacity: u32,
    /// Slots the host hands out are below this; see [`Policy::grow`].
    pub slots: u32,
    /// Seed of the instance's random numbers.
    pub seed: u64,
    /// The parameters, bound to the policy's [`Info::params`].
    pub args: &'a Args,
    /// The trace's future, present when [`Info::offline`] is set.
    pub future: Option<&'a Future>,
    /// `addresses[slot]`: the slot's file in the high 32 bits, its block number in the low ones. Present, with all
    /// slots, when both [`Info::offline`] and [`Needs::address`] are set.
    pub addresses: Option<&'a [u64]>,
    /// The applications that the host knows of, by number. Others may turn up; they have no names.
    pub apps: &'a [App],
    /// References tell what blocks weigh ([`Reference::weight`]), to a policy that is [`boxed`](Policy::boxed).
    pub weighs: bool,
    /// References tell what storage takes for blocks ([`Reference::cost`]).
    pub costs: bool,
}

/// What the registry knows of a policy besides its code.
#[derive(Debug)]
pub struct Info {
    /// Name in specs and results.
    pub name: &'static str,
    /// Other names that specs may use.
    pub aliases: &'static [&'static str],
    /// Family under which `hotset policies` lists it: `simple`, `recency`, `frequency`, `adaptive`, `loop`, `optimal`…
    pub family: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Parameters with defaults.
    pub params: &'static [Param],
    /// It must know the future, so it can be simulated but not run.
    pub offline: bool,
    /// What it must be told of each reference.
    pub needs: Needs,
}

/// A replacement policy over slots.
///
/// Contract: at most `capacity` slots are resident after every call, or slots that weigh so much together. A slot is
/// *known* from the call that mentions it first until the policy calls [`Effects::forget`] on it; a host that numbers
/// blocks once for all ignores `forget`. Nothing allocates after `new`, except in `grow` and `resize`, when an
/// application or an object is met for the first time, and when a scheme divides its room anew.
pub trait Policy: Sized + Send {
    /// Name, parameters and texts.
    const INFO: Info;

    /// How the hits at every size can be had in one pass, if they can.
    const ONE_PASS: Option<OnePass> = None;

    /// Builds an empty cache.
    fn new(setup: &Setup) -> Result<Self, SpecError>;

    /// How a cache of `capacity` blocks with these arguments wants the requests to be shown to it. Fails where `new`
    /// would.
    fn view(_args: &Args, _capacity: u32) -> Result<View, SpecError> {
        Ok(View::default())
    }

    /// What a reference to a resident block asks of a policy with these arguments. Where that is less than
    /// [`Hits::Order`], a host may call [`access`](Policy::access) for blocks that are not resident alone: it sets
    /// the bit of each other block that is referenced, which the policy asks for by [`Effects::take_accessed`] and
    /// adds to what it knows itself. What leaves is the same either way.
    fn hits(_args: &Args) -> Hits {
        Hits::Order
    }

    /// How many blocks, resident and ghost, a cache of `capacity` blocks with these arguments, which `new` accepts, can
    /// know at once, the one being referenced included. Hosts that recycle slots need that many; `u64::MAX` says
    /// that only the trace bounds them.
    fn identities(_args: &Args, capacity: u32) -> u64 {
        u64::from(capacity) + 1
    }

    /// What a cache of `capacity` blocks with these arguments wants to know of each application beforehand. A host that
    /// cannot measure it leaves [`App::profile`] empty.
    fn profiling(_args: &Args, _capacity: u32) -> Option<Profiling> {
        None
    }

    /// True if capacity, shares of it and [`len`](Policy::len) are sums of [`Reference::weight`], so that blocks of
    /// many sizes share it by their sizes. Any other policy is told how many fit ([`Room`](crate::host::room::Room)).
    fn weighs(_args: &Args) -> bool {
        false
    }

    /// True if the host is to read ahead of sequential readers.
    fn reads_ahead(_args: &Args) -> bool {
        false
    }

    /// Parameters that have another default in this setting, with what stands for it there.
    fn defaults_in(_setting: Setting) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// The policy for hosts that choose it at run time, where it may be another structure: it is called as these are.
    fn boxed(setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError>
    where
        Self: 'static,
    {
        Ok(Box::new(Self::new(setup)?))
    }

    /// References the block in `slot`, evicting what must go.
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome;

    /// Asks the processor to fetch what [`access`](Policy::access) of `slot` will touch first.
    fn prefetch(&self, slot: Slot);

    /// The block in `slot` became invalid (deleted, truncated). Drops it from wherever it is, resident or ghost, and
    /// calls [`Effects::forget`], but not `evict`: its data is worthless. An unknown slot is ignored. Others are
    /// not touched, but where memory follows positions (`virtual`).
    fn remove(&mut self, slot: Slot, fx: &mut impl Effects);

    /// Changes the capacity, at least 1, evicting in the policy's own order until it fits.
    fn resize(&mut self, capacity: u32, fx: &mut impl Effects);

    /// Takes the arguments of `setup` in place of `before`, at the capacity that it has, and keeps what it has learnt.
    /// False, and nothing has changed, if only a new cache can have these arguments. [`Policy::new`] accepts `setup`.
    fn reconfigure(&mut self, _before: &Args, _setup: &Setup, _fx: &mut impl Effects) -> bool {
        false
    }

    /// Makes room for slots below `slots`.
    fn grow(&mut self, slots: u32);

    /// True if the block in `slot` is resident.
    fn contains(&self, slot: Slot) -> bool;

    /// Resident blocks; what they weigh together where the policy [`weighs`](Policy::weighs) them.
    fn len(&self) -> u32;

    /// True if nothing is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// False if a block that is not resident would be bypassed for its size by this reference: nobody need make room
    /// for it.
    fn keeps(&self, _reference: &Reference) -> bool {
        true
    }

    /// Begins to keep positions, while it is empty: afterwards [`position`](Policy::position) and [`at`](Policy::at)
    /// can be asked for, which count blocks: all of one weight. False if the policy has no order of all its resident
    /// blocks.
    fn keep_order(&mut self) -> bool {
        false
    }

    /// How many resident blocks the policy values more than `slot`; `None` if that is not resident, or no order is
    /// kept.
    fn position(&self, _slot: Slot) -> Option<u32> {
        None
    }

    /// The resident block at a position.
    fn at(&self, _position: u32) -> Option<Slot> {
        None
    }

    /// Blocks of data of `class` that fit. No limit unless a scheme says so.
    fn room(&self, _class: Class) -> u32 {
        u32::MAX
    }

    /// Blocks of the longest request for data of `class`; a longer one is as many requests. No limit unless a scheme
    /// says so.
    fn piece(&self, _class: Class) -> u32 {
        u32::MAX
    }

    /// Hands out what is to be computed while references go on, for a host that has a thread for it. One that never
    /// asks loses nothing but time: the policy computes it itself in the end.
    fn take_work(&mut self) -> Option<Work> {
        None
    }

    /// Takes what the work has given that this policy handed out last.
    fn finish_work(&mut self, _done: Done) {}

    /// What the policy has learnt, and what it does about it, the most important first. Empty if it has nothing to say.
    fn explain(&self) -> Vec<Explanation> {
        Vec::new()
    }

    /// Recounts every structure from scratch and panics on a broken invariant. For tests.
    fn validate(&self);
}
