//! The decisions: a policy, the blocks it knows, and the frames of those that are resident. No I/O, no lock.
//!
//! Requests are shown to the policy as the simulator shows a trace: the same cuts, the same numbers, the same order. So
//! the outcome of each reference is the one that the simulator finds when it replays the requests.

use std::ops::Range;

use hotset_core::classify::{FileFacts, Rules};
use hotset_core::counters::Counters;
use hotset_core::policy::{
    self, App, Args, Done, Explanation, Outcome, PolicySpec, Profiling, Reference, Requirements, Slot, Work,
    block_group, file_group,
};
use hotset_core::request::{Op, Request};
use hotset_core::storage::{Cost, StorageModel};
use hotset_core::view::{
    BlockSize, Blocks, Cutting, Former, MetadataObject, Piece, Segments, Space, Spaces, Step, View, Viewer,
};

use crate::arena::Arena;
use crate::arena::block_index::{Block, Entry};
use crate::counts::{Counts, Open};
use crate::decide::addresses::{AddressRange, pool_sizes};
use crate::decide::frames::Frames;
use crate::decide::prices::Prices;
use crate::decide::schedule::Schedule;
use crate::error::CacheError;
use crate::os::machine::Memory;
use crate::tier::{Lease, Tier};
use crate::transfer::busy::Busy;
use hotset_core::host::{Build, Hosted, Shadows};

/// Bytes that tables take for each block, about, ghosts left out.
const TABLES: u64 = 100;

/// The settings that a decider is built from.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub spec: PolicySpec,
    /// Bytes of a block where the policy does not say.
    pub block: u64,
    /// Bytes of memory.
    pub memory: u64,
    pub rules: Option<Rules>,
    pub seed: u64,
    /// The storage below, if it is known.
    pub store: Option<StorageModel>,
}

impl Plan {
    /// Blocks that fit.
    pub fn capacity(&self) -> Result<u32, CacheError> {
        let Plan { memory, block, .. } = *self;
        if !block.is_power_of_two() || !(512..=16 << 20).contains(&block) {
            return Err(CacheError::Block(block));
        }
        match u32::try_from(memory / block) {
            Ok(0) => Err(CacheError::TooSmall { memory, block }),
            Ok(blocks) if blocks <= 1 << 31 => self.have(blocks),
            _ => Err(CacheError::TooLarge { memory, block }),
        }
    }

    /// So many blocks, if there is memory for them. The system would give more than it has, and kill the process once
    /// that is used.
    fn have(&self, blocks: u32) -> Result<u32, CacheError> {
        let (there, tables) = (Memory::total(), u64::from(blocks) * TABLES);
        match there.least() {
            Some(bytes) if self.memory.saturating_add(tables) > bytes => {
                Err(CacheError::NoMemory { memory: self.memory, tables, there })
            }
            _ => Ok(blocks),
        }
    }

    fn args(&self) -> Args {
        self.spec.args(Some(self.block)).with_rules(self.rules.clone())
    }
}

/// The policy with all that it decides about.
pub(crate) struct Decider {
    hosted: Hosted<Frames>,
    viewer: Viewer,
    is_in_parts: bool,
    /// Writes do not go through, so that blocks are dirty.
    pub writes_back: bool,
    addresses: Addresses,
    /// By file, where addresses of its data are.
    ranges: Vec<Vec<AddressRange>>,
    open: Open,
    pub counts: Counts,
    /// Estimates for other sizes and policies, where they can be had.
    shadows: Option<Shadows>,
    /// Where the storage below is known, and the policy wants to know what it takes.
    prices: Option<Prices>,
    /// The announced order of files, if there is one.
    pub schedule: Option<Schedule>,
    /// Of the request that is decided, kept for their memory.
    steps: Vec<Step>,
    blocks: Vec<Block>,
}

/// Where a block is when it has been decided about.
pub(crate) struct Decided<'a> {
    pub block: &'a Block,
    /// Its slot, if it is kept.
    pub slot: Option<Slot>,
    /// It was resident before.
    pub hit: bool,
    /// It is in the tier, or was and goes to memory.
    pub below: Option<Lease>,
}

/// Called for each block of data as soon as it is decided.
pub(crate) type Serve<'a> = dyn FnMut(&mut Frames, Decided) + 'a;

/// How blocks get their addresses.
enum Addresses {
    /// In the plain view.
    Plain(Segments),
    /// In views that classify.
    Shown(Spaces),
}

/// The inputs of the policy of `plan`.
fn build<'a>(plan: &'a Plan, args: &'a Args, capacity: u32, apps: &'a [App]) -> Build<'a> {
    let (costs, load) = (plan.store.is_some(), args.wants_load());
    Build { spec: &plan.spec, args, capacity, in_bytes: false, seed: plan.seed, apps, costs, load }
}

impl Decider {
    /// An empty cache. `apps` are the applications that are known so far.
    pub fn new(plan: &Plan, apps: &[App]) -> Result<Decider, CacheError> {
        let capacity = plan.capacity()?;
        let args = plan.args();
        let mut apps = apps.to_vec();
        let Requirements { view, profiling, .. } = build(plan, &args, capacity, &apps).requirements()?;
        if let Some(Profiling::Read { policy, file }) = profiling {
            hotset_trace::profile::read(&file, &policy, Some(plan.block), &mut apps)?;
        }
        let hosted = Hosted::new(&build(plan, &args, capacity, &apps), |policy| {
            let sizes = pool_sizes(&view, policy, plan.block, capacity);
            if let Some(size) = sizes.iter().find(|size| size.block > 16 << 20) {
                return Err(CacheError::Block(size.block));
            }
            let (index, division, inodes, unwritten, write_backs) = Default::default();
            Ok(Frames { index, arena: Arena::new(&sizes)?, division, inodes, unwritten, write_backs, tier: None })
        })?;
        // A cache whose shadows cannot be built runs without estimates.
        let shadows = Shadows::new(&build(plan, &args, capacity, &apps), plan.block).unwrap_or(None);
        let classes = view.rules.as_ref().map_or(0, |rules| rules.classes().len());
        Ok(Decider {
            hosted,
            shadows,
            is_in_parts: view.parts.is_some(),
            writes_back: false,
            viewer: Viewer::new(&view, Cutting::new(BlockSize::Bytes(plan.block), false)),
            ranges: Vec::new(),
            addresses: match view == View::default() {
                true => Addresses::Plain(Segments::default()),
                false => Addresses::Shown(Spaces::default()),
            },
            prices: plan.store.filter(|_| plan.spec.entry().info.needs.cost).map(Prices::new),
            schedule: None,
            open: Open::default(),
            counts: Counts { classes: vec![Default::default(); classes], ..Counts::default() },
            steps: Vec::new(),
            blocks: Vec::new(),
        })
    }

    /// Tells the policy how long the source was busy until now, if it follows that.
    pub fn tell_load(&mut self, busy: &Busy) {
        if let Some(told) = &mut self.hosted.host.storage_busy {
            *told = busy.nanoseconds();
        }
    }

    /// Where blocks are, and their data.
    pub fn frames(&self) -> &Frames {
        &self.hosted.host.payload
    }

    /// The same, to be changed.
    pub fn frames_mut(&mut self) -> &mut Frames {
        &mut self.hosted.host.payload
    }

    /// Takes the slots that the policy has prefetched and that were not reported yet.
    pub fn take_missing(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.hosted.host.missing)
    }

    /// True if a request that moves no data matters to the policy; `file` is its number if it has one.
    pub fn wants(&self, op: Op, file: Option<u32>) -> bool {
        let is_below = |file| self.frames().tier.as_ref().is_some_and(|tier| tier.has(file));
        let is_known = || file.is_some_and(|file| self.knows(file) || is_below(file));
        self.keeps_inodes() || (op == Op::Unlink && is_known())
    }

    /// True if the policy decides about inodes, too.
    pub fn keeps_inodes(&self) -> bool {
        self.viewer.metadata().is_some()
    }

    /// Names of the classes; none if the policy does not tell them apart.
    pub fn classes(&self) -> Vec<String> {
        self.viewer.rules().map_or(Vec::new(), |rules| rules.classes().to_vec())
    }

    /// Bytes that the frames take.
    pub fn frame_bytes(&self) -> u64 {
        self.frames().arena.bytes()
    }

    /// Parts of the cache cut files into blocks of their own.
    pub fn is_in_parts(&self) -> bool {
        self.is_in_parts
    }

    /// True if all blocks have one size and no class: then there can be a second level, and an announced order.
    pub fn is_plain(&self) -> bool {
        matches!(self.addresses, Addresses::Plain(_))
    }

    /// Bytes of the largest block.
    pub fn largest_block(&self) -> u64 {
        self.frames().arena.largest()
    }

    /// The policy's computation that may run while requests continue.
    pub fn take_work(&mut self) -> Option<Work> {
        self.hosted.policy.learning_mut()?.take_work()
    }

    /// Passes the result of a computation to the policy.
    pub fn finish_work(&mut self, done: Done) {
        self.hosted.policy.learning_mut().expect("it gave the work").finish_work(done);
    }

    /// Explains what the policy has learnt.
    pub fn explain(&self) -> Vec<Explanation> {
        self.hosted.policy.learning().map_or_else(Vec::new, |policy| policy.explain())
    }

    /// The file whose blocks have addresses with this high half.
    pub fn file_of(&self, high: u32) -> Option<u32> {
        let has = |ranges: &Vec<AddressRange>| ranges.iter().any(|range| range.high == u64::from(high));
        self.ranges.iter().position(has).map(|file| file as u32)
    }

    /// Estimates for other sizes and policies, if there are any.
    pub fn shadows(&self) -> Option<&Shadows> {
        self.shadows.as_ref()
    }

    /// Resident blocks.
    pub fn resident(&self) -> u32 {
        self.hosted.policy.len()
    }

    /// Decides about all blocks of `request`. `serve` is called for each before the next decision may evict it.
    pub fn decide(&mut self, request: &Request, size: Option<u64>, facts: &FileFacts, serve: &mut Serve) {
        let group = file_group(facts.path, facts.kind);
        let mut steps = std::mem::take(&mut self.steps);
        self.viewer.show(request, size, facts, &mut steps);
        for step in steps.drain(..) {
            match step {
                Step::Touch(piece) => self.touch(request, group, &piece, serve),
                Step::Invalidate { file, from } => self.remove(file, from),
            }
        }
        self.steps = steps;
    }

    /// The blocks that the bytes `range` of a space are in. Addresses are given out in the order of asking.
    fn blocks(&mut self, space: Space, bytes: u64, range: Range<u64>) -> impl Iterator<Item = Block> {
        let blocks = Blocks::of(bytes, range.start, range.end.saturating_sub(range.start));
        blocks.numbers().filter_map(move |number| self.block(space, bytes, number))
    }

    fn block(&mut self, space: Space, bytes: u64, number: u64) -> Option<Block> {
        let file = match space.object {
            MetadataObject::File(file) => Some(file),
            MetadataObject::Directory(_) => None,
        };
        let address = match &mut self.addresses {
            // Files of 2^60 blocks are beyond what a file system holds.
            Addresses::Plain(segments) => segments.address(file?, number).ok()?,
            Addresses::Shown(spaces) => spaces.address(space, number),
        };
        let pool = (file.is_some() && !space.inode).then_some(space.part);
        if let (Some(file), Some(pool)) = (file, pool) {
            let range = AddressRange { high: address >> 32, first: number >> 32 << 32, bytes, pool };
            let ranges = self.ranges_of(file);
            if !ranges.contains(&range) {
                ranges.push(range);
            }
        }
        Some(Block { address, file, start: number * bytes, bytes: bytes as u32, pool })
    }

    fn ranges_of(&mut self, file: u32) -> &mut Vec<AddressRange> {
        let file = file as usize;
        if file >= self.ranges.len() {
            self.ranges.resize(file + 1, Vec::new());
        }
        &mut self.ranges[file]
    }

    /// True if the policy knows a block of the file, or something of it waits to be written.
    pub fn knows(&self, file: u32) -> bool {
        self.frames().index.has(file) || self.frames().unwritten.of(file).is_some()
    }

    /// The number of a file of which no block is known may be another file's.
    pub fn forget(&mut self, file: u32) {
        if let Some(ranges) = self.ranges.get_mut(file as usize) {
            for range in std::mem::take(ranges) {
                self.shadows.iter_mut().for_each(|shadows| shadows.remove_file(range.high as u32));
            }
        }
        self.viewer.forget_file(file);
        self.frames_mut().tier.iter_mut().for_each(|tier| tier.unbind(file));
    }

    /// The number of an application may be another one's; gives what was counted of it.
    pub fn fold(&mut self, app: u32) -> Counters {
        self.viewer.forget_app(app);
        self.counts.apps.get_mut(app as usize).map(std::mem::take).unwrap_or_default()
    }

    /// The known blocks that the bytes `range` of a file are in, in whatever part of the cache.
    pub fn overlapping(&self, file: u32, range: &Range<u64>) -> Vec<Slot> {
        let ranges = self.ranges.get(file as usize).map_or(&[][..], Vec::as_slice);
        let found = ranges.iter().flat_map(|known| known.blocks(file, range));
        found.filter_map(|block| self.frames().index.find(block.address)).collect()
    }

    /// Reports the blocks of an unread file of `size` bytes to the policy, where they do not depend on the reader and
    /// its requests.
    pub fn expect(&mut self, file: u32, size: u64) {
        if let Addresses::Plain(_) = self.addresses {
            let space = Space { object: MetadataObject::File(file), inode: false, part: 0 };
            let bytes = self.viewer.block_bytes(0);
            self.blocks(space, bytes, 0..size).for_each(drop);
        }
    }

    /// The blocks that the bytes `range` of a file will be in if it is read on as it was last.
    pub fn ahead(&self, file: u32, range: &Range<u64>) -> Vec<Block> {
        let last = self.ranges.get(file as usize).and_then(|ranges| ranges.last());
        last.map_or(Vec::new(), |known| known.blocks(file, range).collect())
    }

    fn touch(&mut self, request: &Request, group: u32, piece: &Piece, serve: &mut Serve) {
        let bytes = piece.offset..piece.offset.saturating_add(piece.length);
        let mut blocks = std::mem::take(&mut self.blocks);
        blocks.extend(self.blocks(piece.space, piece.block, bytes.clone()));
        let elsewhere: Vec<(Former, Vec<Block>)> = match piece.former {
            None => Vec::new(),
            Some(former) => {
                let within = |block: &Block| block.start.max(bytes.start)..block.range().end.min(bytes.end);
                let ranges: Vec<Range<u64>> = blocks.iter().map(within).collect();
                let former_blocks = |range| (former, self.blocks(former.space, former.block, range).collect());
                ranges.into_iter().map(former_blocks).collect()
            }
        };
        let priced = self.prices.as_mut().map(|prices| prices.of(&blocks));
        let Cost { together: cost, apart: cost_apart } = priced.unwrap_or_default();
        for (index, block) in blocks.iter().enumerate() {
            let reference = Reference {
                time: self.hosted.tick(),
                clock: request.time,
                file: (block.address >> 32) as u32,
                block: block.address as u32,
                group: block_group(&piece.space, group),
                app: request.app,
                write: piece.write,
                class: piece.class,
                object: Some(policy::Object::of_file((block.address >> 32) as u32)),
                cost,
                cost_apart,
                ..Reference::default()
            };
            let hit = match elsewhere.get(index) {
                Some((former, others)) if self.is_elsewhere(block, others) => {
                    let reference = Reference { class: former.class, ..reference };
                    for other in others {
                        self.access(other, reference, serve);
                    }
                    true
                }
                _ => self.access(block, reference, serve),
            };
            if let (Some(prices), false) = (&mut self.prices, hit) {
                prices.head = Some(block.address.wrapping_add(1));
            }
            let class = self.viewer.rules().map(|_| piece.class);
            let begins = index == 0 && !piece.continues;
            self.counts.note(&mut self.open, begins, piece.write, hit, request.app, class);
        }
        self.count_host();
        blocks.clear();
        self.blocks = blocks;
    }

    /// Adds the host's counts.
    fn count_host(&mut self) {
        self.counts.evictions = self.hosted.host.evictions;
        self.counts.extra_reads = self.hosted.host.extra_reads;
        self.counts.write_backs = self.frames().write_backs.data;
        self.counts.metadata_write_backs = self.frames().write_backs.metadata;
    }

    /// True if the block is not where it belongs now, but all its bytes are in blocks of the class that the file had
    /// before.
    fn is_elsewhere(&self, block: &Block, others: &[Block]) -> bool {
        let resident = |block: &Block| {
            self.frames().index.find(block.address).is_some_and(|slot| self.hosted.policy.contains(slot))
        };
        !resident(block) && others.iter().all(resident)
    }

    /// References one block; true if it was resident.
    fn access(&mut self, block: &Block, reference: Reference, serve: &mut Serve) -> bool {
        let slot = self.frames_mut().index.slot(block);
        self.make_space(slot, block);
        let (outcome, kept) = self.hosted.access(slot, reference);
        let hit = outcome == Outcome::Hit;
        self.shadows.iter_mut().for_each(|shadows| shadows.reference(block.address, &reference, hit));
        let below = self.frames_mut().tier.as_mut().and_then(|tier| tier.follow(block, outcome, &reference));
        let entry = self.frames_mut().index.entry_mut(slot);
        entry.is_reused = hit || below.is_some();
        if !hit {
            entry.app = reference.app;
        }
        if reference.write && self.writes_back {
            self.frames_mut().note_write(slot, outcome == Outcome::Bypassed);
        }
        if block.pool.is_some() {
            serve(self.frames_mut(), Decided { block, slot: kept.then_some(slot), hit, below });
        }
        if let Some(schedule) = self.schedule.as_mut().filter(|_| kept) {
            let capacity = self.hosted.host.payload.arena.size(0).frames;
            schedule.touch(slot, block.address, block.file, capacity);
        }
        hit
    }

    /// Evicts a block for the one in `slot` by the announced order, if the cache is full.
    fn make_space(&mut self, slot: Slot, block: &Block) {
        let Some(schedule) = &mut self.schedule else { return };
        let frames = &self.hosted.host.payload;
        let (capacity, is_resident) =
            (frames.arena.size(0).frames, |slot: Slot| frames.index.entry(slot).frame.is_some());
        if is_resident(slot) || self.hosted.policy.len() < capacity {
            return;
        }
        if let Some(victim) = schedule.victim(block.file, capacity, is_resident) {
            self.hosted.remove(victim);
            self.hosted.host.evictions += 1;
        }
    }

    /// Follows another order from now on, or none.
    pub fn announce(&mut self, schedule: Option<Schedule>) {
        self.schedule = schedule;
        let capacity = self.frames().arena.size(0).frames;
        let frames = &self.hosted.host.payload;
        let block = |slot: Slot| (slot, frames.index.address(slot), frames.index.entry(slot).block.file);
        self.schedule.iter_mut().for_each(|schedule| {
            schedule.restart(capacity, frames.resident().into_iter().map(block));
        });
    }

    /// Takes the blocks of a file from a byte on, or all and its inode, out of the cache.
    fn remove(&mut self, file: u32, from: Option<u64>) {
        let index = &self.frames().index;
        let block = |&slot: &Slot| index.entry(slot).block;
        let mut slots = index.of_file(file);
        slots.retain(|slot| from.is_none_or(|from| block(slot).pool.is_some() && block(slot).start >= from));
        // The simulator's order: the policy's later decisions may depend on it.
        slots.sort_unstable_by_key(|slot| block(slot).address);
        for slot in slots {
            let address = self.frames().index.entry(slot).block.address;
            self.shadows.iter_mut().for_each(|shadows| shadows.remove(address));
            self.frames_mut().clean(slot);
            self.hosted.remove(slot);
        }
        if let Some(tier) = &mut self.frames_mut().tier {
            tier.remove(file, from.unwrap_or(0));
            tier.settle(0);
        }
    }

    /// Changes the memory of a cache that is not [in parts](Decider::is_in_parts), to one with which it could be built.
    /// Blocks that no longer fit leave in the policy's own order.
    pub fn resize(&mut self, plan: &Plan) -> Result<(), CacheError> {
        let capacity = plan.capacity()?;
        self.hosted.resize(capacity);
        self.shadows.iter_mut().for_each(|shadows| shadows.resize(capacity));
        self.frames_mut().resize(0, capacity)?;
        self.hosted.admit_wanted();
        self.frames_mut().tier.iter_mut().for_each(|tier| tier.settle(0));
        self.count_host();
        Ok(())
    }

    /// Gives the scheme the arguments of `plan`, which has the memory and the rules of `before`. True if the scheme has
    /// taken them and keeps what it has learnt; false, and nothing has changed, if only a new scheme can have them.
    pub fn reconfigure(&mut self, before: &Plan, plan: &Plan, apps: &[App]) -> Result<bool, CacheError> {
        if before.spec.info().name != plan.spec.info().name {
            return Ok(false);
        }
        let (args, capacity) = (plan.args(), plan.capacity()?);
        let (known, wanted) = (before.args(), build(plan, &args, capacity, apps));
        let is_taken = self.hosted.reconfigure(&known, &wanted);
        if is_taken {
            self.shadows.iter_mut().for_each(|shadows| shadows.reconfigure(&known, &wanted));
            self.hosted.host.storage_busy = args.wants_load().then_some(self.hosted.host.storage_busy.unwrap_or(0));
        }
        self.frames_mut().tier.iter_mut().for_each(|tier| tier.settle(0));
        self.count_host();
        Ok(is_taken)
    }

    /// Takes over the frames of another decider, if they are as many and as large, and its counts. `refer` references a
    /// block of the other one here. What this policy does not keep is lost.
    pub fn adopt(&mut self, mut other: Decider, mut refer: impl FnMut(&mut Decider, &Entry, &mut Serve)) {
        self.writes_back = other.writes_back;
        let (ours, others) = (self.frames_mut(), other.frames_mut());
        ours.division.changes = others.division.changes;
        ours.division.listener = others.division.listener.take();
        ours.tier = others.tier.take();
        others.release_inodes();
        std::mem::swap(&mut ours.inodes, &mut others.inodes);
        others.stage_all();
        std::mem::swap(&mut ours.unwritten, &mut others.unwritten);
        ours.write_backs = others.write_backs;
        if ours.arena.is_like(&others.arena) {
            std::mem::swap(&mut ours.arena, &mut others.arena);
            let entry = |slot: Slot| others.index.entry(slot).clone();
            let mut framed: Vec<Entry> =
                others.index.slots().map(entry).filter(|entry| entry.frame.is_some()).collect();
            framed.sort_unstable_by_key(|entry| entry.block.address);
            for entry in framed {
                let (Some(frame), Some(pool)) = (entry.frame, entry.block.pool) else { continue };
                // The frame is not reused before its bytes have moved on: space is made before a block is admitted.
                self.frames_mut().arena.release(pool, frame);
                refer(self, &entry, &mut |frames, decided| {
                    if let Some(slot) = decided.slot {
                        frames.move_in(slot, pool, frame, entry.valid.clone());
                    }
                });
            }
        }
        self.announce(other.schedule);
        self.counts = Counts { classes: vec![Default::default(); self.classes().len()], ..other.counts };
        self.hosted.host.evictions = self.counts.evictions;
        self.hosted.host.extra_reads = self.counts.extra_reads;
    }

    /// Panics on a broken invariant. For tests.
    pub fn validate(&self) {
        self.hosted.policy.validate();
        let (mut resident, mut waiting) = (0, 0);
        let mut taken = std::collections::HashSet::new();
        for slot in self.frames().index.slots() {
            let entry = self.frames().index.entry(slot);
            let here = self.hosted.policy.contains(slot);
            resident += u32::from(here);
            assert_eq!(
                here && entry.block.pool.is_some(),
                entry.frame.is_some(),
                "frames are those of resident blocks"
            );
            assert!(entry.frame.is_none_or(|frame| taken.insert((entry.block.pool, frame))), "two blocks in a frame");
            assert!(entry.valid.end <= entry.block.bytes);
            let Range { start, end } = entry.waiting;
            assert!(start == end || (entry.valid.start <= start && end <= entry.valid.end && entry.frame.is_some()));
            waiting += u64::from(end - start);
        }
        self.frames().tier.iter().for_each(Tier::validate);
        assert_eq!(waiting, self.frames().unwritten.in_frames);
        self.frames().unwritten.validate();
        assert_eq!(resident, self.hosted.policy.len(), "every resident block has a slot");
    }
}
