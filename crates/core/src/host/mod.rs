//! A policy and its host where requests are served as they come, whatever lies in the cache: frames of blocks, objects
//! of the program that embeds it, or what the kernel keeps. No I/O, no lock.

pub mod room;
mod slots;

use crate::policy::dynamic::DynPolicy;
use crate::policy::{App, Args, Effects, Extra, Note, Outcome, PolicySpec, Profiling, Reference, Setup, Slot};
use crate::spec::SpecError;
use crate::view::View;

pub use slots::Slots;

/// Why a policy cannot run on requests as they come.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It cannot be built with these arguments at this size.
    #[error("{0}")]
    Spec(#[from] SpecError),
    /// It, or a policy in it, must know the future.
    #[error("{policy} must know the future of all requests: it can be simulated, but not run; choose another policy")]
    Offline {
        /// The spec.
        policy: String,
    },
    /// It wants the applications to be measured before the cache is built.
    #[error(
        "{policy} wants each application to be measured alone beforehand, which cannot be done here: add profile=none, with which it learns as it runs, or profile=FILE with what `hotset curve --json` has measured"
    )]
    Profiling {
        /// The spec.
        policy: String,
    },
    /// It follows the load of the storage, which its host does not measure.
    #[error(
        "{policy} with quantum=auto follows the load of the storage, which is measured in simulations alone; give a quantum such as quantum=2000 or quantum=1s"
    )]
    Load {
        /// The spec.
        policy: String,
    },
    /// It wants sequential readers to be read ahead of, as a simulation does it.
    #[error("{policy} wants to be read ahead for, but a live cache reads ahead by itself: leave prefetch=linux out")]
    ReadsAhead {
        /// The spec.
        policy: String,
    },
}

/// What lies in a cache, by slot.
pub trait Payload {
    /// What is in `slot` stays: it has whatever it needs for that from here on.
    fn admit(&mut self, slot: Slot);
    /// Its data leaves; the policy may still know the slot.
    fn release(&mut self, slot: Slot);
    /// The policy knows nothing of the slot any more, which may stand for something else.
    fn forget(&mut self, slot: Slot);
    /// The policy tells something of itself.
    fn note(&mut self, _note: &Note) {}
}

/// What a policy's effects reach.
pub struct Host<P> {
    /// What lies in the cache.
    pub payload: P,
    /// How often data has left.
    pub evictions: u64,
    /// What the policy wants to have though nobody asked for it.
    wanted: Vec<Slot>,
    /// What of it is resident, but was not read yet.
    pub missing: Vec<Slot>,
    /// How much of it there was.
    pub extra_reads: u64,
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
        None
    }
}

/// What a policy is built from.
#[derive(Clone, Copy, Debug)]
pub struct Build<'a> {
    /// The policy,
    pub spec: &'a PolicySpec,
    /// and its arguments.
    pub args: &'a Args,
    /// Blocks that may be resident.
    pub capacity: u32,
    /// It was [`begun_with`](room::begun_with) so many bytes; nobody knows how many blocks these hold.
    pub in_bytes: bool,
    /// Seed of its random numbers.
    pub seed: u64,
    /// The applications that are known so far.
    pub apps: &'a [App],
    /// References tell what storage takes for blocks, where the policy [wants to know](crate::policy::Needs::cost).
    pub costs: bool,
}

impl Build<'_> {
    /// How the policy wants requests to be shown to it. What cannot run on requests as they come is refused.
    pub fn view(&self) -> Result<View, Refusal> {
        let (policy, asks) = (|| self.spec.to_string(), self.spec.entry().asks);
        if self.spec.is_offline() {
            return Err(Refusal::Offline { policy: policy() });
        }
        if let Some(Profiling::Alone { .. }) = asks.profiling(self.args, self.capacity) {
            return Err(Refusal::Profiling { policy: policy() });
        }
        if self.args.wants_load() {
            return Err(Refusal::Load { policy: policy() });
        }
        if asks.reads_ahead(self.args) {
            return Err(Refusal::ReadsAhead { policy: policy() });
        }
        Ok(asks.view(self.args, self.capacity)?)
    }

    /// The policy and the slots that it has room for.
    fn policy(&self) -> Result<(Box<dyn DynPolicy>, u32), Refusal> {
        let Build { spec, args, capacity, in_bytes, seed, apps, costs } = *self;
        let known = spec.identities(capacity, args);
        let blocks = if in_bytes { 0 } else { u64::from(capacity) };
        let slots = known.min(blocks * 4 + 1024).min(1 << 31) as u32;
        let (future, addresses, weighs) = (None, None, in_bytes);
        let setup = Setup { capacity, slots, seed, args, future, addresses, apps, weighs, costs };
        Ok((spec.build(capacity, &setup)?, slots))
    }
}

/// A policy with its host.
pub struct Hosted<P> {
    /// The policy,
    pub policy: Box<dyn DynPolicy>,
    /// and what its effects reach.
    pub host: Host<P>,
    /// Slots that the policy has room for.
    slots: u32,
    /// Number of the next reference.
    time: u64,
}

impl<P: Payload> Hosted<P> {
    /// An empty cache. What lies in it may depend on the policy.
    pub fn new<E: From<Refusal>>(
        build: &Build,
        payload: impl FnOnce(&dyn DynPolicy) -> Result<P, E>,
    ) -> Result<Self, E> {
        let (policy, slots) = build.policy()?;
        let payload = payload(policy.as_ref())?;
        let host = Host { payload, evictions: 0, wanted: Vec::new(), missing: Vec::new(), extra_reads: 0 };
        Ok(Hosted { policy, host, slots, time: 0 })
    }

    /// The number of the next reference.
    pub fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time - 1
    }

    /// References what is in `slot`; true with the outcome if it is kept.
    pub fn access(&mut self, slot: Slot, reference: Reference) -> (Outcome, bool) {
        if slot >= self.slots {
            self.slots = slot.saturating_add(slot / 2).saturating_add(64);
            self.policy.grow(self.slots);
        }
        let outcome = self.policy.access(slot, reference, &mut self.host);
        // It may also leave by the very reference that hits it.
        let kept = outcome != Outcome::Bypassed && self.policy.contains(slot);
        if kept {
            self.host.payload.admit(slot);
        }
        self.admit_wanted();
        (outcome, kept)
    }

    /// Computes here what the policy has handed out, for hosts where nobody waits for that.
    pub fn do_work(&mut self) {
        if let Some(work) = self.policy.take_work() {
            self.policy.finish_work(work());
        }
    }

    /// What is in `slot` is worth nothing any more. Something else may come in for it.
    pub fn remove(&mut self, slot: Slot) {
        self.policy.remove(slot, &mut self.host);
        self.admit_wanted();
    }

    /// Changes how much may be resident. What no longer fits leaves in the policy's own order.
    pub fn resize(&mut self, capacity: u32) {
        self.policy.resize(capacity, &mut self.host);
    }

    /// Gives the policy the arguments of `build` in place of `before`; the capacity stays. True if the policy has taken
    /// them and keeps its state. False, and nothing has changed, if only a new cache can have them.
    pub fn reconfigure(&mut self, before: &Args, build: &Build) -> bool {
        let Build { spec, args, capacity, in_bytes, seed, apps, costs } = *build;
        let asks = spec.entry().asks;
        let (shown, wanted) = (asks.view(before, capacity), asks.view(args, capacity));
        let is_shown_alike = shown.is_ok_and(|shown| wanted.is_ok_and(|wanted| shown == wanted));
        let (slots, future, addresses, weighs) = (self.slots, None, None, in_bytes);
        let setup = Setup { capacity, slots, seed, args, future, addresses, apps, weighs, costs };
        let is_taken = is_shown_alike && self.policy.reconfigure(before, &setup, &mut self.host);
        self.admit_wanted();
        is_taken
    }

    /// Admits what the policy has fetched though nobody asked for it.
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
