//! A policy that follows what is read, without data: what it would hold, what it misses, what it lets go.

use hotset_core::host::{Build, Hosted, Payload, Refusal, Slots};
use hotset_core::policy::{Object, Outcome, PolicySpec, Reference, Slot};
use hotset_core::view::View;

use crate::error::SteerError;

/// The address of a block: its file above, its number in the file below.
pub(crate) type Address = u64;

/// The address of a block.
pub(crate) fn address(file: u32, block: u32) -> Address {
    u64::from(file) << 32 | u64::from(block)
}

/// The file and the number of the block at an address.
pub(crate) fn place(address: Address) -> (u32, u32) {
    ((address >> 32) as u32, address as u32)
}

/// What the policy knows, and what it has let go since that was taken.
#[derive(Default)]
struct Known {
    slots: Slots<()>,
    released: Vec<Address>,
}

impl Payload for Known {
    fn admit(&mut self, _slot: Slot) {}

    fn release(&mut self, slot: Slot) {
        self.released.push(self.slots.address(slot));
    }

    fn forget(&mut self, slot: Slot) {
        self.slots.forget(slot);
    }
}

/// A policy on blocks of files.
pub(crate) struct Follower {
    hosted: Hosted<Known>,
    capacity: u32,
    pub references: u64,
    pub misses: u64,
}

impl Follower {
    /// An empty cache of `capacity` blocks of `block` bytes.
    pub fn new(spec: &PolicySpec, capacity: u32, block: u64) -> Result<Follower, SteerError> {
        let args = spec.args(Some(block));
        let build = Build { spec, args: &args, capacity, in_bytes: false, seed: 1, apps: &[] };
        let needs = spec.info().needs;
        let policy = || spec.to_string();
        if build.view()? != View::default() || needs.class {
            return Err(SteerError::Kinds { policy: policy() });
        }
        if needs.app || !spec.apps().is_empty() {
            return Err(SteerError::Applications { policy: policy() });
        }
        if needs.write {
            return Err(SteerError::Writes { policy: policy() });
        }
        let hosted = Hosted::new(&build, |_| Ok::<Known, Refusal>(Known::default()))?;
        Ok(Follower { hosted, capacity, references: 0, misses: 0 })
    }

    /// A reference to a block at `at` nanoseconds.
    pub fn access(&mut self, address: Address, at: u64) -> Outcome {
        let (file, block) = place(address);
        let slot = self.hosted.host.payload.slots.slot(address, Some(file), || ());
        let reference = Reference {
            time: self.hosted.tick(),
            clock: at,
            file,
            block,
            object: Some(Object::of_file(file)),
            ..Reference::default()
        };
        let (outcome, _) = self.hosted.access(slot, reference);
        self.hosted.do_work();
        self.references += 1;
        self.misses += u64::from(outcome != Outcome::Hit);
        outcome
    }

    /// A block that was resident before anybody looked; it is not counted.
    pub fn seed(&mut self, address: Address, at: u64) {
        let counted = (self.references, self.misses);
        self.access(address, at);
        (self.references, self.misses) = counted;
    }

    /// True if the policy holds the block.
    pub fn holds(&self, address: Address) -> bool {
        let slot = self.hosted.host.payload.slots.find(address);
        slot.is_some_and(|slot| self.hosted.policy.contains(slot))
    }

    /// Blocks that the policy holds.
    pub fn len(&self) -> u32 {
        self.hosted.policy.len()
    }

    /// Blocks that it may hold.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Changes how many it may hold.
    pub fn resize(&mut self, capacity: u32) {
        if capacity != self.capacity {
            self.hosted.resize(capacity);
            self.capacity = capacity;
        }
    }

    /// The file is gone.
    pub fn forget(&mut self, file: u32) {
        let slots = &self.hosted.host.payload.slots;
        let mut gone = slots.of_file(file);
        // The simulator's order: what a policy does next may depend on it.
        gone.sort_unstable_by_key(|&slot| slots.address(slot));
        gone.into_iter().for_each(|slot| self.hosted.remove(slot));
    }

    /// What has left since this was asked last.
    pub fn take_released(&mut self) -> Vec<Address> {
        std::mem::take(&mut self.hosted.host.payload.released)
    }

    /// What the policy wants to have though nobody asked for it.
    pub fn take_wanted(&mut self) -> Vec<Address> {
        let missing = std::mem::take(&mut self.hosted.host.missing);
        missing.into_iter().map(|slot| self.hosted.host.payload.slots.address(slot)).collect()
    }
}
