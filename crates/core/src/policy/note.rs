//! Notes of a policy besides its decisions.

use super::Slot;

/// A note of a policy. Informational: decisions must not depend on it.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// The next eviction is of the block in this slot, and no other block needs the space.
    Unforced(Slot),
    /// The cache was repartitioned among applications.
    Division(&'a Repartition),
    /// The recent value of each range of an application's blocks.
    Worth(&'a Worth<'a>),
    /// The hit rates of an application by quota, as estimated so far.
    HitRates(&'a HitRates<'a>),
}

/// Why a policy prefetches a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// The policy fetches back a block that it evicted.
    Refetch,
    /// The quota grew, and the block's position in the policy's order is now resident.
    Allocation,
    /// The block moved to a position that is resident.
    Moved,
}

/// The values of an application's blocks, in ranges of equal length. The most valued blocks come first.
#[derive(Clone, Copy, Debug)]
pub struct Worth<'a> {
    /// The application.
    pub app: u32,
    /// The value of each range. Later ranges have the value 0.
    pub values: &'a [f64],
    /// Blocks in a range.
    pub unit: u32,
    /// Ranges of all blocks that are monitored.
    pub units: usize,
}

/// The hit rates of an application by quota.
#[derive(Clone, Copy, Debug)]
pub struct HitRates<'a> {
    /// The application.
    pub app: u32,
    /// Numbers of blocks, ascending, with the measured hit rate in percent. Rates between them are interpolated
    /// linearly.
    pub points: &'a [(u32, f64)],
}

/// A change of the quotas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repartition {
    /// [`Reference::time`](super::Reference::time) of the reference before which it takes effect.
    pub time: u64,
    /// [`Reference::clock`](super::Reference::clock) of that reference.
    pub clock: u64,
    /// One quota for each application, in the order of their first references.
    pub parts: Vec<PartRoom>,
    /// The state of each application's target, for applications that have one.
    pub targets: Vec<Target>,
}

/// The state of an application's target at a repartition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The application's number.
    pub app: u32,
    /// Blocks with which the target is expected to be met; `None` if no known size is sufficient.
    pub needs: Option<u32>,
    /// Start of the current run of missed targets, as [`Reference::time`](super::Reference::time) and
    /// [`Reference::clock`](super::Reference::clock); `None` if the last repartition met the target.
    pub below_since: Option<(u64, u64)>,
}

/// The quota of one application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartRoom {
    /// The application's number.
    pub app: u32,
    /// Blocks that it may have resident from now on.
    pub blocks: u32,
    /// The hit ratio that it should reach, in millionths, if it has a target.
    pub target: Option<u32>,
    /// True if no size reaches the target.
    pub is_infeasible: bool,
}
