//! Room that is measured in bytes, for any policy.
//!
//! Idea: a policy that [`weighs`](crate::policy::Policy::weighs) what it keeps is told the bytes, so that shares of its
//! capacity follow them, and makes room itself. Any other counts slots, and keeps as many as it is told: so before
//! something larger than what is free comes in, it is told of one less until that fits, and lets go whom it values
//! least; and it is told of one more where there is room for that. Then shares of its capacity follow the number that
//! is resident.
//!
//! Cost: a miss that needs room resizes a policy that does not weigh once for each that leaves, and once for itself.

/// What is kept by weight.
pub trait Weighed {
    /// Bytes of all that is resident.
    fn weight(&self) -> u64;
    /// How much is resident.
    fn resident(&self) -> u32;
    /// The policy may keep so many from here on; what it lets go leaves.
    fn resize(&mut self, entries: u32);
    /// Lets something go, whatever it is; false if nothing is resident.
    fn drop_any(&mut self) -> bool;
}

/// So many entries a policy is told that it may keep before anything was weighed.
const FEW: u32 = 64;
/// The greatest capacity that a policy which weighs is told of.
const MOST: u64 = (1 << 31) - 1;

/// How many bytes may be resident, and what the policy was told.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes of all together.
    pub capacity: u64,
    told: Told,
}

/// What the capacity of a policy counts.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// So many entries. It can be told of no fewer than `least`.
    Entries { entries: u32, least: u32 },
    /// Units of so many bytes.
    Units(u64),
}

/// The capacity with which a policy of so many bytes is built; `weighs` as its `Policy::weighs` says.
pub fn begun_with(capacity: u64, weighs: bool) -> u32 {
    if weighs { (capacity / unit(capacity)) as u32 } else { FEW }
}

/// The bytes that a policy which weighs is told as one.
fn unit(capacity: u64) -> u64 {
    capacity.div_ceil(MOST).max(1)
}

impl Room {
    /// Room of so many bytes, under a policy that was built with [`begun_with`] and `can_keep` other numbers of
    /// entries.
    pub fn new(capacity: u64, weighs: bool, can_keep: impl Fn(u32) -> bool) -> Room {
        let told = if weighs {
            Told::Units(unit(capacity))
        } else {
            // A policy that takes so many takes fewer, too, but perhaps not one.
            let least = (1..FEW).find(|&fewer| can_keep(fewer)).unwrap_or(FEW);
            Told::Entries { entries: FEW, least }
        };
        Room { capacity, told }
    }

    /// What the policy is told that so many bytes weigh.
    pub fn weight(&self, bytes: u64) -> u32 {
        match self.told {
            Told::Entries { .. } => 1,
            Told::Units(unit) => bytes.div_ceil(unit).clamp(1, MOST) as u32,
        }
    }

    /// The most bytes that the policy can be told of.
    pub fn most(&self) -> u64 {
        match self.told {
            Told::Entries { .. } => u64::MAX,
            Told::Units(unit) => unit * MOST,
        }
    }

    /// True if so many bytes fit where nothing else is.
    pub fn admits(&self, bytes: u64) -> bool {
        match self.told {
            Told::Entries { .. } => bytes <= self.capacity,
            Told::Units(unit) => u64::from(self.weight(bytes)) <= self.capacity / unit,
        }
    }

    /// Makes room for so many bytes, which it admits and which are to come in.
    pub fn make(&mut self, bytes: u64, kept: &mut impl Weighed) {
        let Told::Entries { entries, least } = self.told else { return };
        let is_full = self.shrink(bytes, kept);
        let resident = kept.resident();
        if is_full || resident == entries {
            // Where all has fit so far more will; the next ones need not be told one by one.
            let spare = if is_full { 0 } else { resident / 64 };
            self.tell((resident + 1 + spare).max(least), kept);
        }
    }

    /// Has a policy that does not weigh let go until so many bytes more fit; true if anything has left.
    pub fn shrink(&mut self, bytes: u64, kept: &mut impl Weighed) -> bool {
        let Told::Entries { least, .. } = self.told else { return false };
        let mut has_left = false;
        while kept.weight() + bytes > self.capacity {
            has_left = true;
            match kept.resident().saturating_sub(1) {
                fewer if fewer >= least => self.tell(fewer, kept),
                // So few that the policy cannot be told of fewer.
                _ if kept.drop_any() => {}
                _ => break,
            }
        }
        has_left
    }

    /// Changes how many bytes may be resident, and lets go what no longer fits. False, and nothing is changed, if that
    /// is more than the units of a policy that weighs can tell.
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
