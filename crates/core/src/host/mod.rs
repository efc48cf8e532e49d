//! A policy with its host, where requests are served as they arrive. The cached items may be frames of blocks,
//! objects of an embedding program, or pages of the kernel. No I/O, no lock.

pub mod room;
mod shadow;
mod slots;

use crate::policy::dynamic::DynPolicy;
use crate::policy::{
    App, Args, Effects, Extra, Note, Outcome, PolicySpec, Profiling, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

pub use shadow::{Ages, Estimate, Shadows};
pub use slots::Slots;

/// Why a policy cannot run on requests as they arrive.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It cannot be built with these arguments and this size.
    #[error("{0}")]
    Spec(#[from] SpecError),
    /// It, or a policy in it, requires the future.
    #[error("{policy} must know the future of all requests: it can be simulated, but not run; choose another policy")]
    Offline {
        /// The spec.
        policy: String,
    },
    /// It requires measurements of the applications before the cache is built.
    #[error(
        "{policy} requires measurements of each application alone, which a live cache cannot make; set profile=none to learn while running, or profile=FILE with the JSON of `hotset curve`"
    )]
    Profiling {
        /// The spec.
        policy: String,
    },
    /// It follows the load of the storage, which the host does not measure.
    #[error(
        "{policy}: quantum=auto follows the load of the storage, which is not measured here; set a fixed quantum such as quantum=2000 or quantum=1s"
    )]
    Load {
        /// The spec.
        policy: String,
    },
    /// It requires simulated read-ahead for sequential readers.
    #[error("{policy}: simulated read-ahead is not available in a live cache; set prefetch=off")]
    ReadsAhead {
        /// The spec.
        policy: String,
    },
}

/// The owner of the data of resident blocks.
pub trait Payload {
    /// Keeps the data of `slot`: allocates what it needs for that.
    fn admit(&mut self, slot: Slot);
    /// Drops the data of `slot`. The policy may still track the slot.
    fn release(&mut self, slot: Slot);
    /// Ends the identity of `slot`, which may be reused for another block.
    fn forget(&mut self, slot: Slot);
    /// Takes a note of the policy.
    fn note(&mut self, _note: &Note) {}
}

/// The receiver of a policy's effects.
pub struct Host<P> {
    /// The owner of the data of resident blocks.
    pub payload: P,
    /// Number of evictions.
    pub evictions: u64,
    /// Slots that the policy has prefetched, not yet admitted.
    wanted: Vec<Slot>,
    /// Prefetched slots that are resident but not yet read.
    pub missing: Vec<Slot>,
    /// Number of prefetches.
    pub extra_reads: u64,
    /// Nanoseconds in which the storage was busy; `None` if the owner does not measure that.
    pub storage_busy: Option<u64>,
}

impl<P: Payload> Effects for Host<P> {
    fn evict(&mut self, slot: Slot) {
        self.evictions += 1;
        self.payload.release(slot);
    }

    fn forget(&mut self, slot: Slot) {
        self.payload.release(slot);
        self.payload.forget(slot);
    }

    fn fetch(&mut self, slot: Slot, _why: Extra) {
        self.wanted.push(slot);
    }

    fn note(&mut self, note: &Note) {
        self.payload.note(note);
    }

    #[inline(always)]
    fn take_accessed(&mut self, _slot: Slot) -> bool {
        false
    }

    fn storage_busy(&self) -> Option<u64> {
        self.storage_busy
    }
}

/// The inputs of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The policy.
    pub spec: &'a PolicySpec,
    /// Its arguments.
    pub args: &'a Args,
    /// Maximum number of resident blocks.
    pub capacity: u32,
    /// True if `capacity` came from [`begun_with`](room::begun_with) of a size in bytes. The
    /// number of blocks that fit is then unknown.
    pub in_bytes: bool,
    /// Seed of its random numbers.
    pub seed: u64,
    /// The applications known so far.
    pub apps: &'a [App],
    /// True if references have storage costs, if the policy [needs](crate::policy::Needs::cost) them.
    pub costs: bool,
    /// True if the owner sets [`Host::storage_busy`] before each reference, if the policy follows it.
    pub load: bool,
}

impl Build<'_> {
    /// Returns what the policy requires. Fails for a policy that cannot run on requests as they arrive.
    pub fn requirements(&self) -> Result<Requirements, Refusal> {
        let policy = || self.spec.to_string();
        if self.spec.is_offline() {
            return Err(Refusal::Offline { policy: policy() });
        }
        let requirements = self.spec.entry().requirements(self.args, self.capacity)?;
        if let Some(Profiling::Alone { .. }) = requirements.profiling {
            return Err(Refusal::Profiling { policy: policy() });
        }
        if self.args.wants_load() && !self.load {
            return Err(Refusal::Load { policy: policy() });
        }
        if requirements.reads_ahead {
            return Err(Refusal::ReadsAhead { policy: policy() });
        }
        Ok(requirements)
    }

    /// Builds the policy. Also returns the number of slots that it has memory for.
    fn policy(&self) -> Result<(Box<dyn DynPolicy>, u32), Refusal> {
        let known = self.spec.requirements(self.capacity, self.args)?.identities;
        let blocks = if self.in_bytes { 0 } else { u64::from(self.capacity) };
        let slots = known.min(blocks * 4 + 1024).min(1 << 31) as u32;
        Ok((self.spec.build(self.capacity, &self.setup(slots))?, slots))
    }

    fn setup(&self, slots: u32) -> Setup<'_> {
        let Build { args, capacity, in_bytes, seed, apps, costs, .. } = *self;
        Setup { apps, weighs: in_bytes, costs, ..Setup::new(args, capacity, slots, seed) }
    }
}

/// A policy with its host.
pub struct Hosted<P> {
    /// The policy.
    pub policy: Box<dyn DynPolicy>,
    /// The receiver of its effects.
    pub host: Host<P>,
    /// Number of slots that the policy has memory for.
    slots: u32,
    /// Number of the next reference.
    time: u64,
}

impl<P: Payload> Hosted<P> {
    /// Builds an empty cache. `payload` gets the policy, because the owner of the data may depend on it.
    pub fn new<E: From<Refusal>>(
        build: &Build,
        payload: impl FnOnce(&dyn DynPolicy) -> Result<P, E>,
    ) -> Result<Self, E> {
        let (policy, slots) = build.policy()?;
        let payload = payload(policy.as_ref())?;
        let storage_busy = build.load.then_some(0);
        let host =
            Host { payload, evictions: 0, wanted: Vec::new(), missing: Vec::new(), extra_reads: 0, storage_busy };
        Ok(Hosted { policy, host, slots, time: 0 })
    }

    /// Returns the number of the next reference, and advances it.
    pub fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time - 1
    }

    /// References the item in `slot`. Returns the outcome, and true if the item is resident now.
    pub fn access(&mut self, slot: Slot, reference: Reference) -> (Outcome, bool) {
        if slot >= self.slots {
            self.slots = slot.saturating_add(slot / 2).saturating_add(64);
            self.policy.grow(self.slots);
        }
        let outcome = self.policy.access(slot, reference, &mut self.host);
        // The policy may evict a block at the reference that hits it.
        let kept = outcome != Outcome::Bypassed && self.policy.contains(slot);
        if kept {
            self.host.payload.admit(slot);
        }
        self.admit_wanted();
        (outcome, kept)
    }

    /// Does the pending computation of the policy here, for hosts without a thread for it.
    pub fn do_work(&mut self) {
        if let Some(policy) = self.policy.learning_mut()
            && let Some(work) = policy.take_work()
        {
            policy.finish_work(work());
        }
    }

    /// Invalidates the item in `slot`. The policy may prefetch another item in its place.
    pub fn remove(&mut self, slot: Slot) {
        self.policy.remove(slot, &mut self.host);
        self.admit_wanted();
    }

    /// Changes the capacity. Items that no longer fit leave in the policy's own order.
    pub fn resize(&mut self, capacity: u32) {
        self.policy.resize(capacity, &mut self.host);
    }

    /// Replaces the policy's arguments `before` by those of `build`, with the same capacity. Returns true if the
    /// policy has taken them and keeps its state, and false without a change if only a new cache can have them.
    pub fn reconfigure(&mut self, before: &Args, build: &Build) -> bool {
        let view = |args| build.spec.entry().requirements(args, build.capacity).map(|requirements| requirements.view);
        let is_shown_alike = view(before).is_ok_and(|shown| view(build.args).is_ok_and(|wanted| shown == wanted));
        let is_taken = is_shown_alike
            && self
                .policy
                .reconfigurable()
                .is_some_and(|policy| policy.reconfigure(before, &build.setup(self.slots), &mut self.host));
        self.admit_wanted();
        is_taken
    }

    /// Admits the slots that the policy has prefetched.
    pub fn admit_wanted(&mut self) {
        while let Some(wanted) = self.host.wanted.pop() {
            self.host.extra_reads += 1;
            if self.policy.contains(wanted) {
                self.host.payload.admit(wanted);
                self.host.missing.push(wanted);
            }
        }
    }
}
