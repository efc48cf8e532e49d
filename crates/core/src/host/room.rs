//! Room that is measured by weight, for policies that count slots.
//!
//! Idea: a policy keeps as many as it is told. So before something heavier than what is free comes in, the policy is
//! told of one less until it fits, and lets go whom it values least; and it is told of one more where there is room for
//! that. Any policy so divides bytes, and shares of its capacity follow the number that is resident.
//!
//! Cost: a miss that needs room resizes the policy once for each that leaves, and once for itself.

/// What is kept by weight.
pub trait Weighed {
    /// What all that is resident weighs.
    fn weight(&self) -> u64;
    /// How much is resident.
    fn resident(&self) -> u32;
    /// The policy may keep so many from here on; what it lets go leaves.
    fn resize(&mut self, entries: u32);
    /// Lets something go, whatever it is; false if nothing is resident.
    fn drop_any(&mut self) -> bool;
}

/// So many entries a policy is told that it may keep before anything was weighed.
pub const FEW: u32 = 64;

/// How much may be resident by weight, and what the policy was told.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// What all may weigh together.
    pub capacity: u64,
    /// What the policy was told last that it may keep.
    entries: u32,
    /// So many it can be told of no fewer.
    least: u32,
}

impl Room {
    /// Room for `capacity`, under a policy that was told of [`FEW`] entries and `can_keep` others.
    pub fn new(capacity: u64, can_keep: impl Fn(u32) -> bool) -> Room {
        // A policy that takes so many takes fewer, too, but perhaps not one.
        let least = (1..FEW).find(|&fewer| can_keep(fewer)).unwrap_or(FEW);
        Room { capacity, entries: FEW, least }
    }

    /// Makes room for something of this weight, which is at most the capacity, that is to come in.
    pub fn make(&mut self, weight: u64, kept: &mut impl Weighed) {
        let is_full = self.shrink(weight, kept);
        let resident = kept.resident();
        if is_full || resident == self.entries {
            // Where all has fit so far more will; the next ones need not be told one by one.
            let spare = if is_full { 0 } else { resident / 64 };
            self.tell((resident + 1 + spare).max(self.least), kept);
        }
    }

    /// Has the policy let go until `weight` more fits; true if anything has left.
    pub fn shrink(&mut self, weight: u64, kept: &mut impl Weighed) -> bool {
        let mut has_left = false;
        while kept.weight() + weight > self.capacity {
            has_left = true;
            match kept.resident().saturating_sub(1) {
                fewer if fewer >= self.least => self.tell(fewer, kept),
                // So few that the policy cannot be told of fewer.
                _ if kept.drop_any() => {}
                _ => break,
            }
        }
        has_left
    }

    fn tell(&mut self, entries: u32, kept: &mut impl Weighed) {
        self.entries = entries;
        kept.resize(entries);
    }
}
