//! A cache in parts, each with a separate size, block size and LRU list; the class of a block says which part it
//! is in. The body of [`attribute`](super::attribute) and [`unix`](super::unix).

use crate::setting::SettingName;
use std::marker::PhantomData;

use crate::classify::{Class, Rules};
use crate::policies::lru::Lru;
use crate::policy::{Args, Effects, Info, Needs, Outcome, Partitioned, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::{SpecError, Value};
use crate::view::{AccessTimes, Metadata, Parts, View};

/// What tells one parted scheme from another.
pub trait Scheme: Send + 'static {
    /// Name, parameters and texts.
    const INFO: Info;
    /// The parts of a cache of `bytes`.
    fn layout(args: &Args, bytes: u64) -> Result<Layout, SpecError>;
}

/// The parts of one cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The classes.
    pub rules: Rules,
    /// The part of each class.
    pub of_class: Vec<u8>,
    /// Bytes of a block and count of blocks, by part.
    pub parts: Vec<PartSize>,
}

/// One part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSize {
    /// Bytes of a block.
    pub block: u64,
    /// Blocks that fit.
    pub blocks: u32,
}

impl PartSize {
    /// As many blocks of `block` bytes as fit into `bytes`; `what` is named if none fits.
    pub fn fitting(bytes: u64, block: u64, what: &str) -> Result<PartSize, SpecError> {
        let blocks = u32::try_from(bytes / block).unwrap_or(u32::MAX);
        if blocks == 0 {
            let (bytes, block) = (Value::Size(bytes), Value::Size(block));
            return Err(SpecError::new(format!(
                "{bytes} are left for {what}, which does not hold one block of {block}: give a larger size"
            )));
        }
        Ok(PartSize { block, blocks })
    }

    /// Bytes of all blocks.
    pub fn bytes(self) -> u64 {
        self.block * u64::from(self.blocks)
    }
}

/// The scheme.
pub struct Parted<S> {
    base: Layout,
    base_capacity: u32,
    parts: Vec<Lru>,
    /// Bytes of a block of the run.
    block: u64,
    /// Bytes of the whole cache.
    bytes: u64,
    /// A request is cut by those, and not by its part.
    cuts_by_total: bool,
    scheme: PhantomData<S>,
}

/// Bytes of a cache of `capacity` blocks of the run's size.
pub(super) fn total_bytes(args: &Args, name: &str, capacity: u32) -> Result<u64, SpecError> {
    let block = args.block_bytes().ok_or_else(|| {
        SpecError::new(format!(
            "{name} divides a cache by bytes, but blocks of this trace have no size in bytes: give {}",
            SettingName("block")
        ))
    })?;
    Ok(block * u64::from(capacity))
}

/// What naming a file touches, by the parameters that say so.
pub(super) fn metadata(args: &Args) -> Metadata {
    let access_times = match args.word("atime") {
        "strict" => AccessTimes::Strict,
        "relatime" => AccessTimes::Relatime,
        _ => AccessTimes::Off,
    };
    Metadata { full_lookup: args.word("lookup") == "full", access_times }
}

impl<S: Scheme> Policy for Parted<S> {
    const INFO: Info = Info { needs: Needs { class: true, ..Needs::NOTHING }, ..S::INFO };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let bytes = total_bytes(setup.args, S::INFO.name, setup.capacity)?;
        let base = S::layout(setup.args, bytes)?;
        let part = |size: &PartSize| Lru::new(&Setup { capacity: size.blocks, ..setup.clone() });
        let parts = base.parts.iter().map(part).collect::<Result<_, _>>()?;
        let block = bytes / u64::from(setup.capacity);
        let cuts_by_total = setup.args.word("pieces") == "total";
        Ok(Parted { base, base_capacity: setup.capacity, parts, block, bytes, cuts_by_total, scheme: PhantomData })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let layout = S::layout(args, total_bytes(args, S::INFO.name, capacity)?)?;
        let block_bytes = layout.parts.iter().map(|part| part.block).collect();
        let view = View {
            rules: Some(layout.rules),
            parts: Some(Parts { of_class: layout.of_class, block_bytes }),
            metadata: Some(metadata(args)),
        };
        let blocks: u64 = layout.parts.iter().map(|part| u64::from(part.blocks)).sum();
        Ok(Requirements { view, identities: blocks + 1, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let part = self.base.of_class[usize::from(reference.class)];
        self.parts[usize::from(part)].access(slot, reference, fx)
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.parts.iter().for_each(|part| part.prefetch(slot));
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.parts.iter_mut().for_each(|part| part.remove(slot, fx));
    }

    /// Parts keep their block sizes and their proportions, each of one block at least.
    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        let scale = |blocks: u32| u64::from(blocks) * u64::from(capacity) / u64::from(self.base_capacity);
        for (part, size) in self.parts.iter_mut().zip(&self.base.parts) {
            part.resize(u32::try_from(scale(size.blocks)).unwrap_or(u32::MAX).max(1), fx);
        }
        self.bytes = self.block * u64::from(capacity);
    }

    fn grow(&mut self, slots: u32) {
        self.parts.iter_mut().for_each(|part| part.grow(slots));
    }

    fn contains(&self, slot: Slot) -> bool {
        self.parts.iter().any(|part| part.contains(slot))
    }

    fn len(&self) -> u32 {
        self.parts.iter().map(Lru::len).sum()
    }

    fn validate(&self) {
        self.parts.iter().for_each(Lru::validate);
    }
}

impl<S: Scheme> Partitioned for Parted<S> {
    fn room(&self, class: Class) -> u32 {
        self.base.parts[usize::from(self.base.of_class[usize::from(class)])].blocks
    }

    fn piece(&self, class: Class) -> u32 {
        let part = self.base.parts[usize::from(self.base.of_class[usize::from(class)])];
        match self.cuts_by_total {
            true => u32::try_from(self.bytes / part.block).unwrap_or(u32::MAX).max(1),
            false => part.blocks,
        }
    }
}
