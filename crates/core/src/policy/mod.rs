//! The interface between a replacement policy and its host.
//!
//! A policy orders *slots*. A slot is a small number that identifies one block while the policy tracks it, as a
//! resident block or as a ghost. Policies never see keys, data, files or locks. The host maps blocks to slots, owns
//! the data and learns from [`Effects`] which blocks leave. The simulator's host counts; the live cache's host frees
//! frames.

mod args;
mod argument;
pub(crate) mod bind;
mod capabilities;
pub mod dynamic;
mod effects;
mod entry;
mod explanation;
mod group;
mod info;
mod note;
mod param;
mod requirements;
mod setup;
mod spec;

pub use args::{Args, Interval, Quantum, Run};
pub use argument::{Argument, Part};
pub use capabilities::{Around, Capabilities, Done, Learning, Partitioned, Ranked, Reconfigure, Selective, Work};
pub use effects::{Discard, Effects, Nested, NoEffects};
pub use entry::{Catalog, Entry};
pub use explanation::{Came, Explained, Explanation, Flow, Names, Treatment};
pub use group::{block_group, file_group};
pub use info::{Info, Needs, OnePass, Setting};
pub use note::{Extra, HitRates, Note, PartRoom, Repartition, Target, Worth};
pub use param::{Param, ParamKind};
pub use requirements::{Hits, Profiling, Requirements};
pub use setup::{App, Column, Future, NextUses, Setup, Told};
pub use spec::PolicySpec;

use crate::classify::Class;
use crate::spec::SpecError;

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
    /// The class of the block by the rules of the policy's [view](Requirements::view).
    pub class: Class,
    /// The object that contains the block, if known.
    pub object: Option<Object>,
    /// True for a prefetch by the host, which is not a demand reference and is excluded from hit counts.
    pub ahead: bool,
    /// The block's share of the capacity: at least 1, at most the whole capacity. Above 1 only if the policy
    /// [weighs](Requirements::weighs) blocks and the host has blocks of many sizes ([`Setup::weighs`]).
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

/// A replacement policy over slots.
///
/// Contract: after every call, at most `capacity` slots are resident, or slots of that total weight. A policy tracks
/// a slot from the first call with it until the policy calls [`Effects::forget`]. A host that numbers all blocks once
/// ignores `forget`. Policies allocate only in `new`, `grow` and `resize`, at the first reference of an application
/// or object, and when a scheme repartitions.
#[expect(clippy::len_without_is_empty, reason = "a host that asks compares the length")]
pub trait Policy: Sized + Send {
    /// Name, parameters and descriptions.
    const INFO: Info;

    /// Builds an empty cache.
    fn new(setup: &Setup) -> Result<Self, SpecError>;

    /// Returns what a cache of `capacity` blocks with these arguments requires of its host. Fails only if `new` would
    /// fail.
    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity))
    }

    /// References the block in `slot`. Evicts blocks to make space for it.
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome;

    /// Prefetches the memory that [`access`](Policy::access) of `slot` touches first into the processor's cache.
    fn prefetch(&self, slot: Slot);

    /// Invalidates the block in `slot`, because it was deleted or truncated. Removes it, resident or ghost, and calls
    /// [`Effects::forget`] but not `evict`, because the data is worthless. Ignores an unknown slot. Does not change
    /// other blocks, unless they are resident by their position in an order.
    fn remove(&mut self, slot: Slot, fx: &mut impl Effects);

    /// Changes the capacity, at least 1. Evicts in the policy's own order until the blocks fit.
    fn resize(&mut self, capacity: u32, fx: &mut impl Effects);

    /// Allocates memory for slots below `slots`.
    fn grow(&mut self, slots: u32);

    /// True if the block in `slot` is resident.
    fn contains(&self, slot: Slot) -> bool;

    /// Returns the number of resident blocks; their total weight if the policy [weighs](Requirements::weighs) them.
    fn len(&self) -> u32;

    /// Recomputes every structure from scratch. Panics if an invariant is broken. For tests.
    fn validate(&self);
}
