//! undivided(P): inodes, directories and data in one cache under one policy, with a block size for each kind.
//!
//! Idea: a part for each kind of data must be sized beforehand, and what a part does not need is lost to the others.
//! Here all share the bytes, and the policy decides whose blocks leave. `auto` weighs the hits that a block gives
//! against the bytes that it takes, and inodes and directories are flows of their own to it; `gdsf` goes by bytes too.
//!
//! Paper: none; the references are those of the attribute caches (Richardson, WRL; POLICIES 1.2), their blocks of 128
//! bytes for inodes and directories are the report's.
//!
//! Deviations and readings: a policy that counts blocks learns how many fit as they come, as in a cache of objects. A
//! request longer than the whole cache is cut as in [`attribute`](super::attribute). Directories lie in small blocks,
//! as there, not in those of data, as in [`unix`](super::unix).
//!
//! Cost: that of P, which gets another size at most misses; memory: that of P and 4 bytes a slot.
//!
//! When not to use it: under a policy that does not look at bytes (`lru`, `arc`): a block of data then counts for no
//! more than an inode, and pushes out many.

use crate::classify::{Class, builtin};
use crate::host::room::{self, Room, Weighed};
use crate::policy::dynamic::{DynPolicy, forward};
use crate::policy::{
    Args, Around, Effects, Info, Needs, Nested, Outcome, Param, ParamKind, Partitioned, Policy, Reference,
    Requirements, Setup, Slot,
};
use crate::schemes::of_plain;
use crate::schemes::parted::{PartSize, metadata, total_bytes};
use crate::spec::SpecError;
use crate::view::{Parts, View};

/// The scheme.
pub struct Undivided {
    policy: Box<dyn DynPolicy>,
    room: Room,
    kept: Kept,
    kinds: Parts,
    /// Bytes of a block of the run.
    block: u64,
}

/// The resident blocks.
struct Kept {
    /// By slot: bytes of the block that is resident there; 0 for none.
    of: Vec<u32>,
    /// Of all together.
    bytes: u64,
    blocks: u32,
}

impl Kept {
    fn set(&mut self, slot: Slot, bytes: u32) {
        let before = std::mem::replace(&mut self.of[slot as usize], bytes);
        self.bytes = self.bytes - u64::from(before) + u64::from(bytes);
        self.blocks = self.blocks - u32::from(before > 0) + u32::from(bytes > 0);
    }
}

/// The policy, and what its effects reach.
struct Watched<'a, E> {
    policy: &'a mut dyn DynPolicy,
    fx: Watch<'a, E>,
}

/// Notes what leaves.
struct Watch<'a, E> {
    kept: &'a mut Kept,
    /// A block that is about to be referenced, for which others are evicted: its host still knows it if its ghost goes.
    entering: Option<Slot>,
    fx: &'a mut E,
}

impl<E: Effects> Nested for Watch<'_, E> {
    type Host = E;

    #[inline(always)]
    fn host(&self) -> &E {
        self.fx
    }

    #[inline(always)]
    fn host_mut(&mut self) -> &mut E {
        self.fx
    }

    fn on_evict(&mut self, slot: Slot) {
        self.kept.set(slot, 0);
        self.fx.evict(slot);
    }

    fn on_forget(&mut self, slot: Slot) {
        if self.entering != Some(slot) {
            self.fx.forget(slot);
        }
    }
}

impl<E: Effects> Weighed for Watched<'_, E> {
    fn weight(&self) -> u64 {
        self.fx.kept.bytes
    }

    fn resident(&self) -> u32 {
        self.fx.kept.blocks
    }

    fn resize(&mut self, entries: u32) {
        self.policy.resize(entries, &mut self.fx);
    }

    fn drop_any(&mut self) -> bool {
        let Some(slot) = self.fx.kept.of.iter().position(|&bytes| bytes > 0) else { return false };
        self.fx.evict(slot as Slot);
        self.policy.remove(slot as Slot, &mut self.fx);
        true
    }
}

impl Undivided {
    /// Blocks of a class that fit where there is nothing else.
    fn fitting(&self, class: Class) -> u32 {
        u32::try_from(self.room.capacity / self.kinds.block_bytes_of(class)).unwrap_or(u32::MAX)
    }

    fn watched<'a, E>(&'a mut self, fx: &'a mut E, entering: Option<Slot>) -> Watched<'a, E> {
        Watched { policy: self.policy.as_mut(), fx: Watch { kept: &mut self.kept, entering, fx } }
    }
}

/// The part of inodes and directories.
const METADATA: u8 = 0;

/// Blocks of metadata, and all others.
fn kinds(args: &Args) -> Parts {
    let of_class = builtin::attribute(builtin::DEFAULT_CUTOFF);
    let is_data = |class: &String| u8::from(!["inode", "directory"].contains(&class.as_str()));
    Parts {
        of_class: of_class.classes().iter().map(is_data).collect(),
        block_bytes: vec![args.bytes("id"), args.bytes("block")],
    }
}

impl Policy for Undivided {
    const INFO: Info = Info {
        name: "undivided",
        family: "file-aware",
        summary: "inodes, directories and data in blocks of their own sizes, all in one cache under one policy",
        params: &[
            Param {
                key: "policy",
                kind: ParamKind::Policy,
                default: "auto",
                doc: "whose blocks leave, whatever they are",
            },
            Param {
                key: "id",
                kind: ParamKind::Bytes,
                default: "128B",
                doc: "bytes of a block of inodes and directories",
            },
            Param { key: "block", kind: ParamKind::Bytes, default: "4K", doc: "bytes of every other block" },
            super::LOOKUP,
            super::ACCESS_TIMES,
        ],
        needs: Needs::EVERYTHING,
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let (spec, bytes) = (setup.args.policy("policy"), total_bytes(setup.args, Self::INFO.name, setup.capacity)?);
        if spec.is_offline() {
            return Err(SpecError::new(format!(
                "{} knows when each block is used again, which does not say which of two blocks of different sizes should leave: choose another policy",
                spec.info().name
            )));
        }
        let kinds = kinds(setup.args);
        for &block in &kinds.block_bytes {
            PartSize::fitting(bytes, block, "everything")?;
        }
        let requirements = |capacity| spec.requirements(capacity, setup.args);
        let (capacity, weighs) = room::begun_with(bytes, requirements)?;
        let build = |capacity| spec.build(capacity, &Setup { weighs: true, ..setup.clone() });
        Ok(Undivided {
            policy: build(capacity)?,
            room: Room::new(bytes, weighs, |entries| build(entries).is_ok()),
            kept: Kept { of: vec![0; setup.slots as usize], bytes: 0, blocks: 0 },
            kinds,
            block: bytes / u64::from(setup.capacity),
        })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let inner = of_plain(Self::INFO.name, args.policy("policy"), args, capacity)?;
        total_bytes(args, Self::INFO.name, capacity)?;
        let view = View {
            rules: Some(builtin::attribute(builtin::DEFAULT_CUTOFF)),
            parts: Some(kinds(args)),
            metadata: Some(metadata(args)),
        };
        let (identities, reads_ahead) = (u64::MAX, inner.reads_ahead);
        Ok(Requirements { view, identities, reads_ahead, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let bytes = self.kinds.block_bytes_of(reference.class);
        let mut room = self.room;
        let reference = Reference { bytes: bytes as u32, weight: room.weight(bytes), ..reference };
        if !self.policy.contains(slot) && self.policy.selective().is_none_or(|policy| policy.keeps(&reference)) {
            room.make(bytes, &mut self.watched(fx, Some(slot)));
        }
        let mut watched = self.watched(fx, None);
        let outcome = watched.policy.access(slot, reference, &mut watched.fx);
        if outcome != Outcome::Bypassed && self.policy.contains(slot) {
            self.kept.set(slot, bytes as u32);
        }
        room.shrink(0, &mut self.watched(fx, None));
        self.room = room;
        outcome
    }

    forward!(policy: prefetch contains);

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.kept.set(slot, 0);
        let mut watched = self.watched(fx, None);
        watched.policy.remove(slot, &mut watched.fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        let largest = self.kinds.block_bytes.iter().max().copied().unwrap_or(1);
        let bytes = (self.block * u64::from(capacity)).clamp(largest, self.room.most());
        let mut room = self.room;
        room.resize(bytes, &mut self.watched(fx, None));
        self.room = room;
    }

    fn grow(&mut self, slots: u32) {
        self.kept.of.resize(self.kept.of.len().max(slots as usize), 0);
        self.policy.grow(slots);
    }

    fn len(&self) -> u32 {
        self.kept.blocks
    }

    fn validate(&self) {
        self.policy.validate();
        let Kept { of, bytes, blocks } = &self.kept;
        let resident = |(slot, &bytes): (usize, &u32)| (bytes > 0) == self.policy.contains(slot as Slot);
        assert!(of.iter().enumerate().all(resident), "resident blocks have sizes");
        assert_eq!(of.iter().map(|&bytes| u64::from(bytes)).sum::<u64>(), *bytes);
        assert_eq!(of.iter().filter(|&&bytes| bytes > 0).count(), *blocks as usize);
        assert!(self.kept.bytes <= self.room.capacity, "more than fits");
    }
}

impl Around for Undivided {
    fn policy(&self) -> &dyn DynPolicy {
        self.policy.as_ref()
    }

    fn policy_mut(&mut self) -> &mut dyn DynPolicy {
        self.policy.as_mut()
    }
}

impl Partitioned for Undivided {
    fn room(&self, class: Class) -> u32 {
        if self.kinds.of_class[usize::from(class)] == METADATA { 0 } else { self.fitting(class) }
    }

    fn piece(&self, class: Class) -> u32 {
        self.fitting(class)
    }
}
