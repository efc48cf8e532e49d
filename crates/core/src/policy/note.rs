//! What a policy tells of itself besides what it decides.

use super::Slot;

/// Something that a policy tells. Nothing depends on it.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// The block in this slot is evicted next although nobody asked for its room.
    Unforced(Slot),
    /// Room was divided anew among applications.
    Division(&'a Repartition),
    /// What each stretch of an application's blocks was worth lately.
    Worth(&'a Worth<'a>),
    /// What an application hits by its room, as far as is known by now.
    HitRates(&'a HitRates<'a>),
}

/// Why a block is read though nobody asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// A policy wants a block back that it gave up.
    Refetch,
    /// Room was given to where the block stands in the policy's order.
    Allocation,
    /// The block moved to where there is room.
    Fragment,
}

/// What the blocks of an application are worth, from the most valued on in stretches of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Worth<'a> {
    /// The application.
    pub app: u32,
    /// By stretch; those behind are worth nothing.
    pub values: &'a [f64],
    /// Blocks of a stretch.
    pub unit: u32,
    /// Stretches of all blocks that are watched.
    pub units: usize,
}

/// What an application hits by its room.
#[derive(Clone, Copy, Debug)]
pub struct HitRates<'a> {
    /// The application.
    pub app: u32,
    /// Blocks, ascending, and the hit rate in percent that was seen with so many. Lines between them are straight.
    pub points: &'a [(u32, f64)],
}

/// How room was divided anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repartition {
    /// [`Reference::time`](super::Reference::time) of the reference before which it takes effect.
    pub time: u64,
    /// [`Reference::clock`](super::Reference::clock) of that reference.
    pub clock: u64,
    /// One for each application that there is, in the order in which they came.
    pub parts: Vec<PartRoom>,
    /// How promises to them stand, one for each that was promised something.
    pub promises: Vec<Promise>,
}

/// How a promise to an application stood when room was divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// The application's number.
    pub app: u32,
    /// Blocks with which it is taken to be kept; `None` if no size is known to do.
    pub needs: Option<u32>,
    /// [`Reference::time`](super::Reference::time) and [`Reference::clock`](super::Reference::clock) of the first of
    /// the latest divisions in a row that found less reached than was promised; `None` if the last did not.
    pub below_since: Option<(u64, u64)>,
}

/// The room of one application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartRoom {
    /// The application's number.
    pub app: u32,
    /// Blocks that it may have resident from here on.
    pub blocks: u32,
    /// The hit rate that it is to reach, in millionths, if there is one.
    pub target: Option<u32>,
    /// That cannot be reached.
    pub is_infeasible: bool,
}
