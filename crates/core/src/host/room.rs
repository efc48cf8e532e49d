//! A capacity in bytes, for any policy.
//!
//! Idea: a policy that [weighs](crate::policy::Requirements::weighs) blocks gets their bytes as weights, so that shares
//! of its capacity are shares of bytes, and it makes space itself. Any other policy counts entries, and its host sets
//! an entry limit. To make space, the limit is lowered one at a time, evicting in policy order, until the new item
//! fits. The limit is raised by one if the item fits beside all others. Shares of the capacity then follow the number
//! of resident entries.
//!
//! Cost: for a policy that does not weigh, a miss that needs space causes one resize for each eviction and one for
//! the new item.

use crate::policy::Requirements;
use crate::spec::SpecError;

/// Resident items with sizes in bytes.
pub trait Weighed {
    /// Returns the bytes of all resident items.
    fn weight(&self) -> u64;
    /// Returns the number of resident items.
    fn resident(&self) -> u32;
    /// Sets the policy's entry limit. Items above the limit are evicted.
    fn resize(&mut self, entries: u32);
    /// Removes any one item. Returns false if nothing is resident.
    fn drop_any(&mut self) -> bool;
}

/// The entry limit before any item has been weighed.
const FEW: u32 = 64;
/// The greatest capacity in units for a policy that weighs.
const MOST: u64 = (1 << 31) - 1;

/// The maximum bytes of all resident items, and the capacity as the policy counts it.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Maximum bytes of all items together.
    pub capacity: u64,
    told: Told,
}

/// The unit of a policy's capacity.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// Entries. `least` is the smallest entry limit that the policy accepts.
    Entries { entries: u32, least: u32 },
    /// Units of this many bytes.
    Units(u64),
}

/// Returns the capacity with which a policy for this many bytes is built, and true if the policy weighs blocks.
/// `requirements` returns those of the policy at a capacity.
pub fn begun_with(
    capacity: u64,
    requirements: impl Fn(u32) -> Result<Requirements, SpecError>,
) -> Result<(u32, bool), SpecError> {
    let units = (capacity / unit(capacity)) as u32;
    let weighs = requirements(units.max(1))?.weighs;
    Ok((if weighs { units } else { FEW }, weighs))
}

/// Returns the bytes of one unit for a policy that weighs.
fn unit(capacity: u64) -> u64 {
    capacity.div_ceil(MOST).max(1)
}

impl Room {
    /// A capacity in bytes, for a policy that was built with [`begun_with`]. `can_keep` tells whether the policy
    /// accepts an entry limit.
    pub fn new(capacity: u64, weighs: bool, can_keep: impl Fn(u32) -> bool) -> Room {
        let told = if weighs {
            Told::Units(unit(capacity))
        } else {
            // A policy that accepts this many accepts fewer, but perhaps not 1.
            let least = (1..FEW).find(|&fewer| can_keep(fewer)).unwrap_or(FEW);
            Told::Entries { entries: FEW, least }
        };
        Room { capacity, told }
    }

    /// Returns the policy's weight for this many bytes.
    pub fn weight(&self, bytes: u64) -> u32 {
        match self.told {
            Told::Entries { .. } => 1,
            Told::Units(unit) => bytes.div_ceil(unit).clamp(1, MOST) as u32,
        }
    }

    /// Returns the greatest capacity in bytes that the policy can have.
    pub fn most(&self) -> u64 {
        match self.told {
            Told::Entries { .. } => u64::MAX,
            Told::Units(unit) => unit * MOST,
        }
    }

    /// True if this many bytes fit into an empty cache.
    pub fn admits(&self, bytes: u64) -> bool {
        match self.told {
            Told::Entries { .. } => bytes <= self.capacity,
            Told::Units(unit) => u64::from(self.weight(bytes)) <= self.capacity / unit,
        }
    }

    /// Makes space for an item of this many bytes, which must fit into an empty cache.
    pub fn make(&mut self, bytes: u64, kept: &mut impl Weighed) {
        let Told::Entries { entries, least } = self.told else { return };
        let is_full = self.shrink(bytes, kept);
        let resident = kept.resident();
        if is_full || resident == entries {
            // If everything has fitted so far, more items will fit: raise the limit by several at once.
            let spare = if is_full { 0 } else { resident / 64 };
            self.tell((resident + 1 + spare).max(least), kept);
        }
    }

    /// Makes a policy that does not weigh evict until this many more bytes fit. Returns true if any item has left.
    pub fn shrink(&mut self, bytes: u64, kept: &mut impl Weighed) -> bool {
        let Told::Entries { least, .. } = self.told else { return false };
        let mut has_left = false;
        while kept.weight() + bytes > self.capacity {
            has_left = true;
            match kept.resident().saturating_sub(1) {
                fewer if fewer >= least => self.tell(fewer, kept),
                // The policy does not accept a smaller limit.
                _ if kept.drop_any() => {}
                _ => break,
            }
        }
        has_left
    }

    /// Changes the maximum bytes, and evicts items that no longer fit. Returns false without a change if the units of
    /// a policy that weighs cannot express the capacity.
    pub fn resize(&mut self, capacity: u64, kept: &mut impl Weighed) -> bool {
        if let Told::Units(unit) = self.told {
            let units = capacity / unit;
            if !(1..=MOST).contains(&units) {
                return false;
            }
            kept.resize(units as u32);
        }
        self.capacity = capacity;
        self.shrink(0, kept);
        true
    }

    fn tell(&mut self, entries: u32, kept: &mut impl Weighed) {
        let Told::Entries { least, .. } = self.told else { return };
        self.told = Told::Entries { entries, least };
        kept.resize(entries);
    }
}
