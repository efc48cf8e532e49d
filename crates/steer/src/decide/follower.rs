//! A policy that follows reads, without data: its resident blocks, misses and evictions.

use hotset_core::classify::Rules;
use hotset_core::host::{Build, Hosted, Payload, Refusal, Shadows, Slots};
use hotset_core::policy::{Needs, Object, Outcome, PolicySpec, Profiling, Reference, Requirements, Slot};

use crate::decide::marks::{Mark, Marks, Naming, tells_applications};
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

/// The policy's slots, and the blocks evicted since they were last taken.
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

/// True if the policy, or one in it, treats writes apart.
fn tells_writes(spec: &PolicySpec, block: u64) -> bool {
    match spec.info().needs {
        // It passes everything on to the policies in it.
        Needs::EVERYTHING => spec.args(Some(block)).policies().any(|inner| tells_writes(inner, block)),
        needs => needs.write,
    }
}

/// A policy on blocks of files.
pub(crate) struct Follower {
    hosted: Hosted<Known>,
    capacity: u32,
    /// Estimates for other sizes and policies, where they can be had.
    pub shadows: Option<Shadows>,
    pub references: u64,
    pub misses: u64,
}

impl Follower {
    /// An empty cache of `capacity` blocks of `block` bytes, with the marks of each block.
    pub fn new(
        spec: &PolicySpec,
        capacity: u32,
        block: u64,
        rules: Option<Rules>,
        naming: Option<Naming>,
    ) -> Result<(Follower, Marks), SteerError> {
        let args = spec.args(Some(block)).with_rules(rules);
        let build =
            Build { spec, args: &args, capacity, in_bytes: false, seed: 1, apps: &[], costs: false, load: false };
        let Requirements { view, profiling, .. } = build.requirements()?;
        let policy = || spec.to_string();
        if view.parts.is_some() || view.metadata.is_some() {
            return Err(SteerError::Parts { policy: policy() });
        }
        if tells_applications(spec) && naming.is_none() {
            return Err(SteerError::Applications { policy: policy() });
        }
        if tells_writes(spec, block) {
            return Err(SteerError::Writes { policy: policy() });
        }
        if let Some(Profiling::Read { .. }) = profiling {
            return Err(SteerError::Profile { policy: policy() });
        }
        let marks = Marks::new(spec, &view, naming);
        let build = Build { apps: marks.known(), ..build };
        let hosted = Hosted::new(&build, |_| Ok::<Known, Refusal>(Known::default()))?;
        // A policy whose shadows cannot be built steers without estimates.
        let shadows = Shadows::new(&build, block).unwrap_or(None);
        Ok((Follower { hosted, capacity, shadows, references: 0, misses: 0 }, marks))
    }

    /// A reference to a block at `at` nanoseconds.
    pub fn access(&mut self, address: Address, mark: Mark, at: u64) -> Outcome {
        let (file, block) = place(address);
        let slot = self.hosted.host.payload.slots.slot(address, Some(file), || ());
        let reference = Reference {
            time: self.hosted.tick(),
            clock: at,
            file,
            block,
            object: Some(Object::of_file(file)),
            group: mark.group,
            class: mark.class,
            app: mark.app,
            ..Reference::default()
        };
        let (outcome, _) = self.hosted.access(slot, reference);
        self.hosted.do_work();
        let is_hit = outcome == Outcome::Hit;
        self.shadows.iter_mut().for_each(|shadows| shadows.reference(address, &reference, is_hit));
        self.references += 1;
        self.misses += u64::from(outcome != Outcome::Hit);
        outcome
    }

    /// Adds a block that was resident before the start; it is not counted.
    pub fn seed(&mut self, address: Address, mark: Mark, at: u64) {
        let counted = (self.references, self.misses);
        self.access(address, mark, at);
        (self.references, self.misses) = counted;
    }

    /// True if the policy holds the block.
    pub fn holds(&self, address: Address) -> bool {
        let slot = self.hosted.host.payload.slots.find(address);
        slot.is_some_and(|slot| self.hosted.policy.contains(slot))
    }

    /// The blocks of a file that the policy holds.
    pub fn held(&self, file: u32) -> impl Iterator<Item = u32> {
        let slots = &self.hosted.host.payload.slots;
        let held = slots.of_file(file).into_iter().filter(|&slot| self.hosted.policy.contains(slot));
        held.map(|slot| place(slots.address(slot)).1)
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
            self.shadows.iter_mut().for_each(|shadows| shadows.resize(capacity));
            self.capacity = capacity;
        }
    }

    /// The file is gone.
    pub fn forget(&mut self, file: u32) {
        self.shadows.iter_mut().for_each(|shadows| shadows.remove_file(file));
        let slots = &self.hosted.host.payload.slots;
        let mut gone = slots.of_file(file);
        // The simulator's order: the policy's later decisions may depend on it.
        gone.sort_unstable_by_key(|&slot| slots.address(slot));
        gone.into_iter().for_each(|slot| self.hosted.remove(slot));
    }

    /// Takes the blocks evicted since the last call.
    pub fn take_released(&mut self) -> Vec<Address> {
        std::mem::take(&mut self.hosted.host.payload.released)
    }

    /// Takes the blocks that the policy has prefetched.
    pub fn take_wanted(&mut self) -> Vec<Address> {
        let missing = std::mem::take(&mut self.hosted.host.missing);
        missing.into_iter().map(|slot| self.hosted.host.payload.slots.address(slot)).collect()
    }
}
