//! Which blocks are in a tier: a policy, the blocks that it knows, and their frames. No I/O, under the cache's lock.
//!
//! Every step is that of the scheme `demote` (`hotset_core::schemes::demote`), so that a simulation of that scheme
//! predicts a tier: a block that memory admits leaves the tier, or is referenced there where levels are inclusive; a
//! block that memory evicts and that is not in the tier is referenced there.

use std::time::Instant;

use hotset_core::host::{Build, Hosted, Payload, Slots};
use hotset_core::policy::{Outcome, Reference, Slot};
use hotset_core::view::View;
use rustc_hash::FxHashMap;

use crate::arena::Frame;
use crate::arena::block_index::Block;
use crate::error::CacheError;
use crate::os::sync::atomic::Ordering;
use crate::os::sync::mpsc::{Sender, channel};
use crate::os::sync::{Arc, thread};
use crate::source::files::FileNumber;
use crate::source::{FileVersion, Stamp};
use crate::tier::pool::{Job, Lease, Pool};
use crate::tier::record::{Origin, Record};
use crate::tier::{Admit, Levels, TierError, TierSettings, TierStatus};

/// The second level of a cache.
pub struct Tier {
    hosted: Hosted<Held>,
    pool: Arc<Pool>,
    writer: Option<Writer>,
    /// By number of a file in the cache, what number that version of it has here.
    bound: Vec<Option<u32>>,
    numbers: FxHashMap<FileVersion, u32>,
    versions: Vec<Known>,
    unused: Vec<u32>,
    /// The device of which inodes are the same files for ever.
    device: Option<u64>,
    /// Blocks that memory has evicted, with their bytes, until the reference that evicted them is complete.
    leaving: Vec<Leaving>,
    leaving_bytes: u64,
    sequence: u64,
    admit: Admit,
    levels: Levels,
    budget: Option<Budget>,
    told: TierStatus,
    /// What keeps others off, as long as this is there.
    _lock: Box<dyn Send + Sync>,
}

/// The files of a tier, when they are taken into use.
pub(super) struct Begun {
    pub pool: Arc<Pool>,
    pub found: Vec<(Frame, Record)>,
    /// What keeps others off.
    pub lock: Box<dyn Send + Sync>,
}

/// A version of a file.
struct Known {
    version: FileVersion,
    /// Files of the cache that are this one.
    uses: u32,
}

struct Leaving {
    number: u32,
    origin: Origin,
    bytes: Arc<Vec<u8>>,
}

/// The thread that writes.
struct Writer {
    jobs: Sender<Job>,
    thread: thread::JoinHandle<()>,
}

/// The blocks that the policy knows, and their frames.
struct Held {
    slots: Slots<Option<Frame>>,
    pool: Arc<Pool>,
    /// Files of which a block is not known any more.
    loosened: Vec<u32>,
}

impl Payload for Held {
    /// It is given a frame when it is written.
    fn admit(&mut self, _slot: Slot) {}

    fn release(&mut self, slot: Slot) {
        if let Some(frame) = self.slots.value_mut(slot).take() {
            self.pool.free(frame);
        }
    }

    fn forget(&mut self, slot: Slot) {
        self.loosened.push((self.slots.address(slot) >> 32) as u32);
        self.slots.forget(slot);
    }
}

/// Bytes that may be written.
struct Budget {
    /// In a second.
    rate: f64,
    /// At once.
    most: f64,
    left: f64,
    since: Instant,
}

impl Budget {
    fn new(rate: u64, block: u64) -> Budget {
        let most = rate.max(block) as f64;
        Budget { rate: rate as f64, most, left: most, since: Instant::now() }
    }

    /// True if so many bytes may be written; then they are.
    fn spend(&mut self, bytes: usize) -> bool {
        let now = Instant::now();
        let earned = now.duration_since(std::mem::replace(&mut self.since, now)).as_secs_f64() * self.rate;
        self.left = (self.left + earned).min(self.most);
        let may = self.left >= bytes as f64;
        self.left -= if may { bytes as f64 } else { 0.0 };
        may
    }
}

/// The address of a block here.
fn address(number: u32, origin: &Origin) -> Option<u64> {
    u32::try_from(origin.number).ok().map(|block| u64::from(number) << 32 | u64::from(block))
}

impl Tier {
    /// A tier of so many frames, with what was found in them. Its files are not touched before the policy is there.
    pub(super) fn new(
        settings: &TierSettings,
        frames: u32,
        begin: impl FnOnce() -> Result<Begun, TierError>,
    ) -> Result<Tier, TierError> {
        let TierSettings { policy, block, admit, levels, writes, seed, device, .. } = settings;
        // Some are read or written while another block has taken the place of theirs.
        let capacity = frames - (frames / 16).clamp(1, 256);
        let args = policy.args(Some(*block));
        let build = Build {
            spec: policy,
            args: &args,
            capacity,
            in_bytes: false,
            seed: *seed,
            apps: &[],
            costs: false,
            load: false,
        };
        if build.requirements().map_err(CacheError::from)?.view != View::default() {
            return Err(TierError::Policy(policy.to_string()));
        }
        let mut begun = None;
        let hosted = Hosted::new::<TierError>(&build, |_| {
            let Begun { pool, .. } = begun.insert(begin()?);
            Ok(Held { slots: Slots::default(), pool: pool.clone(), loosened: Vec::new() })
        })?;
        let Begun { pool, found, lock } = begun.expect("the policy has its host");
        let told = TierStatus {
            policy: policy.to_string(),
            size_bytes: u64::from(capacity) * block,
            capacity_blocks: capacity,
            ..TierStatus::default()
        };
        let mut tier = Tier {
            hosted,
            writer: Some(Writer::new(pool.clone())),
            pool,
            bound: Vec::new(),
            numbers: FxHashMap::default(),
            versions: Vec::new(),
            unused: Vec::new(),
            device: *device,
            leaving: Vec::new(),
            leaving_bytes: 0,
            sequence: found.last().map_or(0, |(_, record)| record.sequence),
            admit: *admit,
            levels: *levels,
            budget: writes.map(|rate| Budget::new(rate, *block)),
            told,
            _lock: lock,
        };
        found.iter().for_each(|(frame, record)| tier.restore(*frame, &record.origin));
        tier.told.restored_blocks = tier.hosted.policy.len();
        Ok(tier)
    }

    /// Takes in what an earlier process has written.
    fn restore(&mut self, frame: Frame, origin: &Origin) {
        let number = self.number(origin.version);
        let address = address(number, origin).filter(|_| origin.length(self.pool.block).is_some());
        let kept = address.and_then(|address| {
            let slot = self.hosted.host.payload.slots.slot(address, Some(number), || None);
            self.access(slot, 0).then_some(slot)
        });
        // An older one of the same block is not needed any more.
        let free = match kept {
            Some(slot) => self.hosted.host.payload.slots.value_mut(slot).replace(frame),
            None => Some(frame),
        };
        free.into_iter().for_each(|frame| self.pool.free(frame));
        self.hosted.host.payload.loosened.push(number);
        self.tidy();
    }

    /// References the block in `slot`; true if it stays. The policy's prefetches cannot be served.
    fn access(&mut self, slot: Slot, time: u64) -> bool {
        // The policy learns nothing of the block but its slot.
        let (_, kept) = self.hosted.access(slot, Reference { time, ..Reference::default() });
        self.drop_missing();
        kept && self.hosted.policy.contains(slot)
    }

    /// The block in `slot` is no longer valid, or is in memory.
    fn drop_slot(&mut self, slot: Slot) {
        self.hosted.remove(slot);
        self.drop_missing();
    }

    fn drop_missing(&mut self) {
        while let Some(slot) = self.hosted.host.missing.pop() {
            let is_here = self.hosted.host.payload.slots.value(slot).is_some();
            if self.hosted.policy.contains(slot) && !is_here {
                self.hosted.remove(slot);
            }
        }
    }

    /// The number that a version of a file has here.
    fn number(&mut self, version: FileVersion) -> u32 {
        let Tier { numbers, versions, unused, .. } = self;
        *numbers.entry(version).or_insert_with(|| {
            let known = Known { version, uses: 0 };
            match unused.pop() {
                Some(number) => {
                    versions[number as usize] = known;
                    number
                }
                None => {
                    versions.push(known);
                    (versions.len() - 1) as u32
                }
            }
        })
    }

    /// Numbers of files of which nothing is known any more may be given to others.
    fn tidy(&mut self) {
        while let Some(number) = self.hosted.host.payload.loosened.pop() {
            let Known { version, uses } = &self.versions[number as usize];
            if *uses == 0 && !self.hosted.host.payload.slots.has(number) && self.numbers.remove(version).is_some() {
                self.unused.push(number);
            }
        }
    }

    /// The number of the version that a file of the cache is, if it is known.
    fn bound(&self, file: FileNumber) -> Option<u32> {
        self.bound.get(file as usize).copied().flatten()
    }

    /// Sets the stamp of a file of the cache, or that it is unknown. Blocks of its previous version are dropped.
    pub(crate) fn bind(&mut self, file: FileNumber, stamp: Option<Stamp>) {
        let version = stamp.and_then(|stamp| stamp.version(self.device));
        let before = self.bound(file);
        if before.map(|number| self.versions[number as usize].version) == version {
            return;
        }
        self.remove(file, 0);
        self.unbind(file);
        if let Some(version) = version {
            let number = self.number(version);
            self.versions[number as usize].uses += 1;
            if file as usize >= self.bound.len() {
                self.bound.resize(file as usize + 1, None);
            }
            self.bound[file as usize] = Some(number);
        }
    }

    /// The number of a file in the cache may be reused. Its blocks stay here.
    pub(crate) fn unbind(&mut self, file: FileNumber) {
        if let Some(number) = self.bound.get_mut(file as usize).and_then(Option::take) {
            self.versions[number as usize].uses -= 1;
            self.hosted.host.payload.loosened.push(number);
            self.tidy();
        }
    }

    /// True if something of the file is here.
    pub(crate) fn has(&self, file: FileNumber) -> bool {
        self.bound(file).is_some_and(|number| self.hosted.host.payload.slots.has(number))
    }

    /// The blocks of a file that begin at `from` or later are worth nothing any more.
    pub(crate) fn remove(&mut self, file: FileNumber, from: u64) {
        let Some(number) = self.bound(file) else { return };
        let slots = &self.hosted.host.payload.slots;
        let first = from.div_ceil(self.pool.block);
        let mut gone: Vec<Slot> = slots.of_file(number);
        gone.retain(|&slot| u64::from(slots.address(slot) as u32) >= first);
        gone.sort_unstable_by_key(|&slot| slots.address(slot));
        for slot in gone {
            self.told.invalidated += u64::from(self.hosted.policy.contains(slot));
            self.drop_slot(slot);
        }
        self.tidy();
    }

    /// Which block it is here.
    fn origin(&self, file: FileNumber, start: u64) -> Option<(u32, Origin)> {
        let number = self.bound(file)?;
        let origin = Origin { version: self.versions[number as usize].version, number: start / self.pool.block };
        Some((number, origin)).filter(|_| !self.pool.is_off())
    }

    /// The slot of a block that is here.
    fn find(&self, block: &Block) -> Option<(Slot, Frame, Origin)> {
        let (number, origin) = self.origin(block.file?, block.start)?;
        let slots = &self.hosted.host.payload.slots;
        let slot = slots.find(address(number, &origin)?)?;
        Some((slot, (*slots.value(slot))?, origin))
    }

    fn lease(&self, frame: Frame, origin: Origin) -> Option<Lease> {
        Some(self.pool.lease(frame, origin, origin.length(self.pool.block)?))
    }

    /// The block, if it is here, to be read though memory was not asked for it.
    pub(crate) fn peek(&self, block: &Block) -> Option<Lease> {
        let (_, frame, origin) = self.find(block)?;
        self.lease(frame, origin)
    }

    /// Follows memory's reference to a block. Returns the block if it is or was here, and memory lacks it: from
    /// exclusive levels a block leaves that memory admits, from inclusive ones a block that is written there. Blocks
    /// that memory has evicted meanwhile enter.
    pub(crate) fn follow(&mut self, block: &Block, outcome: Outcome, reference: &Reference) -> Option<Lease> {
        let is_hit = outcome == Outcome::Hit;
        // What memory has is here, too, only where levels are inclusive.
        let may_be_here = !is_hit || (self.levels == Levels::Inclusive && reference.write);
        let found = if may_be_here { self.find(block) } else { None };
        let lease = found.and_then(|(_, frame, origin)| if is_hit { None } else { self.lease(frame, origin) });
        if let Some((slot, ..)) = found {
            self.told.hits += u64::from(!is_hit);
            self.told.promotions += u64::from(outcome == Outcome::Admitted);
            match outcome {
                Outcome::Hit | Outcome::Admitted if self.levels == Levels::Exclusive || reference.write => {
                    self.drop_slot(slot);
                }
                _ => drop(self.access(slot, reference.time)),
            }
        }
        self.settle(reference.time);
        lease
    }

    /// Memory evicts a block, which is complete and equal to the source's if these are all its bytes. It enters when
    /// [settled](Tier::settle).
    pub(crate) fn leave(&mut self, file: FileNumber, start: u64, bytes: &[u8], is_reused: bool) {
        let Some((number, origin)) = self.origin(file, start) else { return };
        let is_whole = origin.length(self.pool.block).is_some_and(|length| length as usize == bytes.len());
        if !is_whole || (self.admit == Admit::Reused && !is_reused) {
            return;
        }
        let here = address(number, &origin).and_then(|address| self.hosted.host.payload.slots.find(address));
        let is_here = here.is_some_and(|slot| self.hosted.host.payload.slots.value(slot).is_some());
        if is_here && self.levels == Levels::Inclusive {
            return;
        }
        let leaving = self.leaving_bytes + bytes.len() as u64;
        let mut may_be_written =
            || self.pool.has_room(leaving) && self.budget.as_mut().is_none_or(|budget| budget.spend(bytes.len()));
        if is_here || may_be_written() {
            self.leaving_bytes = leaving;
            self.leaving.push(Leaving { number, origin, bytes: Arc::new(bytes.to_vec()) });
        } else {
            self.told.skipped += 1;
        }
    }

    /// Blocks that memory has evicted enter, as far as the policy admits them.
    pub(crate) fn settle(&mut self, time: u64) {
        self.leaving_bytes = 0;
        for Leaving { number, origin, bytes } in std::mem::take(&mut self.leaving) {
            let Some(address) = address(number, &origin) else { continue };
            let slot = self.hosted.host.payload.slots.slot(address, Some(number), || None);
            if !self.access(slot, time) || self.hosted.host.payload.slots.value(slot).is_some() {
                continue;
            }
            match (self.pool.take(&bytes), &self.writer) {
                (Some(frame), Some(writer)) => {
                    *self.hosted.host.payload.slots.value_mut(slot) = Some(frame);
                    self.sequence += 1;
                    self.told.demotions += 1;
                    // It ends after this has ended.
                    let _ = writer.jobs.send(Job { frame, origin, sequence: self.sequence, bytes });
                }
                _ => {
                    self.told.skipped += 1;
                    self.drop_slot(slot);
                }
            }
        }
        self.tidy();
    }

    /// Waits until a block more may wait to be written, without the cache's lock.
    pub(crate) fn room(&self) -> impl FnOnce() + use<> {
        let pool = self.pool.clone();
        move || pool.wait_for_room()
    }

    /// The status to report.
    pub(crate) fn status(&self) -> TierStatus {
        let moved = &self.pool.moved;
        TierStatus {
            resident_blocks: self.hosted.policy.len(),
            blocks_read: moved.blocks_read.load(Ordering::Relaxed),
            bytes_read: moved.bytes_read.load(Ordering::Relaxed),
            blocks_written: moved.blocks_written.load(Ordering::Relaxed),
            bytes_written: moved.bytes_written.load(Ordering::Relaxed),
            damaged: moved.damaged.load(Ordering::Relaxed),
            off: self.pool.why(),
            ..self.told.clone()
        }
    }

    /// Panics on a broken invariant. For tests.
    pub(crate) fn validate(&self) {
        self.hosted.policy.validate();
        let slots = &self.hosted.host.payload.slots;
        let mut taken = std::collections::HashSet::new();
        for slot in slots.slots() {
            let frame = *slots.value(slot);
            assert_eq!(self.hosted.policy.contains(slot), frame.is_some(), "frames are those of blocks that are here");
            assert!(frame.is_none_or(|frame| taken.insert(frame)), "two blocks in a frame");
        }
        assert_eq!(taken.len(), self.hosted.policy.len() as usize);
        self.pool.validate(taken.len());
        let is_known = |number: &u32| slots.has(*number) || self.versions[*number as usize].uses > 0;
        assert!(self.numbers.values().all(is_known), "a file of which nothing is known has a number");
    }
}

impl Writer {
    fn new(pool: Arc<Pool>) -> Writer {
        let (jobs, told) = channel::<Job>();
        let thread = thread::spawn(move || {
            while let Ok(job) = told.recv() {
                pool.write(&job);
            }
            pool.finish();
        });
        Writer { jobs, thread }
    }
}

impl Drop for Tier {
    /// Waits until all is written.
    fn drop(&mut self) {
        if let Some(Writer { jobs, thread }) = self.writer.take() {
            drop(jobs);
            // Work that a panic has left undone there is only missing.
            let _ = thread.join();
        }
    }
}
