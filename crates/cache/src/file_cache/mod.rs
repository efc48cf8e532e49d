//! The cache as its users see it: files, applications, settings. Reading and writing are in files of their own.
//!
//! Every decision is made under one lock that is held for no I/O, so there is one order of decisions, and it is the
//! order in which they are recorded. Resident data is copied under that lock too: a hit is a copy of 4 KB, less than a
//! microsecond. Missing data is read without the lock, in runs of neighbours, and put into the frames afterwards; a
//! slow read never delays a hit.
//!
//! Writes go to the source before they are acknowledged; then the cached blocks are changed. Two writers of a file take
//! turns. Where they are to be written [later](FileCache::write_later) it is the other way round
//! ([`write_back`](crate::file_cache::write_back)).
//!
//! Memory: frames take exactly the given budget. Beyond it, data is held only in flight, at most a quarter of the
//! budget ([`in_flight`](crate::transfer::in_flight)); as read-ahead, at most
//! [`read_ahead::BUDGET`](crate::file_cache::read_ahead::BUDGET); and as dirty data without a frame, at most [an
//! eighth](crate::decide::unwritten::limit). Tables take some 100 bytes a block.
//!
//! The policy receives deletions and cuts of files: their blocks leave at once. It does not receive changes behind the
//! cache, nor new holes, as in the simulator: such a block is read again at its next reference, so that reference may
//! be a hit that still reads; [`Traffic::refills`] counts these.

mod announced;
pub(crate) mod read;
pub(crate) mod read_ahead;
pub(crate) mod recording;
mod runs;
mod shared;
pub(crate) mod state;
pub(crate) mod status;
mod write;
pub(crate) mod write_back;

use std::io;
use std::sync::mpsc::Sender;

use hotset_core::classify::Rules;
use hotset_core::policy::{PolicySpec, Repartition, Setting};
use hotset_core::request::{FLAG_FAILED, Kind, Op, Request};
use hotset_core::storage::StorageModel;

use crate::counts::applications::Applications;
use crate::counts::latency::Latencies;
use crate::counts::metadata::MetadataCounts;
use crate::counts::{Counts, Traffic};
use crate::decide::decider::{Decider, Plan};
use crate::decide::unwritten::limit;
use crate::error::CacheError;
use crate::file_cache::read_ahead::ReadAhead;
use crate::file_cache::recording::Recording;
use crate::file_cache::shared::Background;
use crate::file_cache::shared::Shared;
use crate::file_cache::state::State;
use crate::os::sync::{Arc, Mutex, MutexGuard, PoisonError};
use crate::source::files::FileNumber;
use crate::source::{Source, Stamp};
use crate::tier::Tier;
use crate::transfer::in_flight::InFlight;

/// What a change of settings has left of what the scheme has learnt: tables, curves, ghosts and recency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learnt {
    /// All of it.
    Kept,
    /// Nothing: a new scheme was shown the resident blocks, in the order of their addresses.
    Lost,
}

/// How a cache is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The scheme.
    pub policy: PolicySpec,
    /// Bytes of frames.
    pub memory: u64,
    /// Bytes of a block, a power of two from 512 to 16 MiB; schemes may cut parts into blocks of other sizes.
    pub block: u64,
    /// The user's classes.
    pub rules: Option<Rules>,
    /// Seed of the policy's random numbers.
    pub seed: u64,
    /// The storage below, if it is known: then policies that [go by costs](hotset_core::policy::Needs::cost) do so.
    pub store: Option<StorageModel>,
}

/// A cache of blocks of files.
pub struct FileCache {
    pub(crate) shared: Arc<Shared>,
    pub(crate) read_ahead: ReadAhead,
    pub(crate) background: Background,
    pub(crate) in_flight: InFlight,
    metadata: MetadataCounts,
    latencies: Latencies,
    plan: Mutex<Plan>,
    /// Held by the thread that changes the plan, from the first look at it on.
    changing: Mutex<()>,
}

impl FileCache {
    /// Builds an empty cache. Whatever it serves is written to `recording`.
    pub fn new(settings: &Settings, recording: Option<Recording>) -> Result<FileCache, CacheError> {
        let Settings { policy, memory, block, rules, seed, store } = settings.clone();
        let plan = Plan { spec: policy.set_in(Setting::Serving), memory, block, rules, seed, store };
        let apps = Applications::new(plan.spec.apps().into_iter().map(str::to_owned));
        let mut recording = recording;
        recording.iter_mut().for_each(|recording| apps.known().iter().for_each(|app| recording.app(&app.name)));
        let mut decider = Decider::new(&plan, apps.known())?;
        decider.frames_mut().unwritten.limit = limit(memory);
        let shared = Arc::new(Shared::new(State::new(decider, apps, recording)));
        let in_flight = InFlight::new(memory);
        let read_ahead = ReadAhead::new(shared.clone(), in_flight.clone());
        let background = Background::new(shared.clone());
        Ok(FileCache {
            shared,
            read_ahead,
            background,
            in_flight,
            metadata: MetadataCounts::default(),
            latencies: Latencies::default(),
            plan: Mutex::new(plan),
            changing: Mutex::new(()),
        })
    }

    /// A number for a file that the cache has not met. `path` is what classes go by.
    pub fn file(&self, path: &str, kind: Kind) -> FileNumber {
        let mut state = self.shared.lock();
        if let Some(recording) = &mut state.recording {
            recording.file(path, kind);
        }
        let number = state.files.add(path, kind);
        state.decider.schedule.iter_mut().for_each(|schedule| schedule.add(number, path));
        number
    }

    /// Forgets a file that is not open, unless one of its blocks is resident, a ghost or being read; its number may
    /// then be reused. During a recording nothing is forgotten: there a number means one file. True if it was
    /// forgotten.
    pub fn forget(&self, file: FileNumber) -> bool {
        let mut state = self.shared.lock();
        if state.recording.is_some() || state.decider.knows(file) || state.transfers.knows(file) {
            return false;
        }
        state.decider.forget(file);
        state.files.forget(file);
        true
    }

    /// Files that the cache has numbers for.
    pub fn files(&self) -> usize {
        self.shared.lock().files.len()
    }

    /// The number of an application.
    pub fn app(&self, name: &str) -> u32 {
        self.shared.lock().app(name)
    }

    /// Names of the applications, by number.
    pub fn apps(&self) -> Vec<String> {
        self.shared.look().apps.known().iter().map(|app| app.name.clone()).collect()
    }

    /// Folds applications that have ended into one entry of the counts; their numbers may then be reused. Applications
    /// that the scheme names stay, and during a recording all do: there a number means one application.
    pub fn fold(&self, ended: impl IntoIterator<Item = u32>) {
        let plan = self.plan();
        let mut state = self.shared.lock();
        if state.recording.is_some() {
            return;
        }
        for app in ended {
            let known = state.apps.known().get(app as usize);
            if known.is_some_and(|known| !plan.spec.apps().iter().any(|name| known.is_called(name))) {
                state.fold(app);
            }
        }
    }

    /// True if [`note`](FileCache::note) has any use for such a call; `file` is its number if it has one.
    pub fn wants(&self, op: Op, file: Option<FileNumber>) -> bool {
        let state = self.shared.lock();
        state.recording.is_some() || state.decider.wants(op, file)
    }

    /// Records a call that moves no data: an open, a look-up of attributes, a listing (`length` bytes), a deletion, a
    /// rename.
    pub fn note(&self, op: Op, file: FileNumber, app: u32, length: u64, failed: bool) {
        let mut state = self.shared.lock();
        let request = state.request(file, app, op, &(0..length));
        let flags = if failed { FLAG_FAILED } else { 0 };
        let size = state.files[file as usize].size();
        state.pass_on(&Request { flags, ..request }, size, &mut |_, _| {});
        if op == Op::Unlink && !failed {
            state.discard(file, 0);
        }
        self.read_ahead.bring(&mut state);
    }

    /// Begins to collect the inodes that the scheme evicts, for [`inodes_left`](FileCache::inodes_left).
    pub fn follow_inodes(&self) {
        self.shared.lock().decider.frames_mut().inodes.follow();
    }

    /// Takes the files whose inodes the scheme has evicted since the last call; the host drops their metadata, too. A
    /// file may occur more than once, and its number may have been reused by now.
    pub fn inodes_left(&self) -> Vec<FileNumber> {
        self.shared.lock().decider.frames_mut().inodes.take()
    }

    /// True if the scheme decides which inodes are kept.
    pub fn keeps_inodes(&self) -> bool {
        self.shared.lock().decider.keeps_inodes()
    }

    /// The times of reads, which the host notes.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// Where requests are counted that move no data.
    pub fn metadata(&self) -> &MetadataCounts {
        &self.metadata
    }

    /// Looks whether a file that has been opened is still what the cache knows. If that is not certain its blocks are
    /// dropped. True if it is.
    pub fn opened(&self, file: FileNumber, source: &dyn Source) -> io::Result<bool> {
        let stamp = source.stamp()?;
        let mut state = self.shared.lock();
        let is_same = state.reopen(file, stamp);
        Ok(!std::mem::take(&mut state.files[file as usize].changed_unseen) && is_same)
    }

    /// Reads a file ahead that is likely to be opened soon; of a large one the start. Cached data of another version
    /// is dropped. A scheme that cuts files by their class learns the class at the first read, so such files are not
    /// read ahead. False if the budget does not allow it.
    pub fn expect(&self, file: FileNumber, source: &Arc<dyn Source>) -> io::Result<bool> {
        let stamp = source.stamp()?;
        let mut state = self.shared.lock();
        if !state.reopen(file, stamp) {
            state.files[file as usize].changed_unseen = true;
        }
        Ok(self.read_ahead.expect(&mut state, file, source))
    }

    /// Tells what a file is like. If it was changed behind the cache its blocks are dropped. To be called right before
    /// a change of its inode by the cache's owner, which would hide that.
    pub fn reconcile(&self, file: FileNumber, stamp: Stamp) {
        self.shared.lock().reconcile(file, stamp);
    }

    /// All data written to a file here is now a separate version in the source, with these bytes and this stamp.
    pub fn published(&self, file: FileNumber, stamp: Stamp) {
        let mut state = self.shared.lock();
        let known = &mut state.files[file as usize];
        if known.writers == 0 {
            (known.stamp, known.in_doubt) = (Some(stamp), stamp.is_fresh);
        }
        state.tell_version(file);
    }

    /// Tells what a file is like after a change of its inode that was made by the cache's owner.
    pub fn restamp(&self, file: FileNumber, stamp: Stamp) {
        self.shared.lock().restamp(file, stamp);
    }

    /// The counts so far.
    pub fn counts(&self) -> (Counts, Traffic) {
        let state = self.shared.look();
        (state.decider.counts.clone(), state.traffic)
    }

    /// Bytes of the frames, and blocks that are resident.
    pub fn memory(&self) -> (u64, u32) {
        let state = self.shared.look();
        (state.decider.frame_bytes(), state.decider.resident())
    }

    /// The scheme, its memory in bytes, and the bytes of a block where the scheme does not say, as they are now.
    pub(crate) fn settings(&self) -> (PolicySpec, u64, u64) {
        let plan = self.plan();
        (plan.spec.clone(), plan.memory, plan.block)
    }

    /// The scheme.
    pub fn policy(&self) -> PolicySpec {
        self.plan().spec.clone()
    }

    /// Changes memory or scheme or both while the cache serves. `None` leaves one unchanged, and an error leaves all
    /// unchanged. Blocks that no longer fit are evicted in the policy's order. A scheme keeps what it has learnt if it
    /// can take the new arguments ([`Reconfigure`](hotset_core::policy::Reconfigure)). Another scheme
    /// starts without learnt state, and so does a scheme with partitions under another budget, because they depend on
    /// it. Blocks stay resident if both cut files alike. The new scheme is built before the cache is locked, so hits go
    /// on meanwhile.
    pub fn reconfigure(&self, memory: Option<u64>, spec: Option<PolicySpec>) -> Result<Learnt, CacheError> {
        if self.is_broken() {
            return Err(CacheError::Broken);
        }
        self.shared.contain(|| self.adapt(memory, spec)).unwrap_or(Err(CacheError::Broken))
    }

    fn adapt(&self, memory: Option<u64>, spec: Option<PolicySpec>) -> Result<Learnt, CacheError> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = self.plan().clone();
        let sized = Plan { memory: memory.unwrap_or(plan.memory), ..plan.clone() };
        let changed = Plan {
            spec: spec.map_or_else(|| plan.spec.clone(), |spec| spec.set_in(Setting::Serving)),
            ..sized.clone()
        };
        let (is_resized, is_other) = (sized.memory != plan.memory, changed.spec != plan.spec);
        let (fresh, could_be_sized, mut current, mut state) = loop {
            let (numbers, apps) = {
                let mut state = self.shared.lock();
                (state.numbers(&changed.spec), state.apps.known().to_vec())
            };
            // What could not be built so is refused, also where it only gets another size.
            let fresh = Decider::new(&changed, &apps)?;
            let could_be_sized = !is_resized || !is_other || Decider::new(&sized, &apps).is_ok();
            let (current, mut state) = (self.plan(), self.shared.lock());
            // An application that ended meanwhile has given its number away.
            if state.numbers(&changed.spec) == numbers {
                break (fresh, could_be_sized, current, state);
            }
        };
        if state.decider.frames().tier.is_some() && !fresh.is_plain() {
            return Err(CacheError::Tier(changed.spec.to_string()));
        }
        if state.decider.schedule.is_some() && !fresh.is_plain() {
            return Err(CacheError::Order(changed.spec.to_string()));
        }
        let fits = !state.decider.is_in_parts() && could_be_sized;
        if is_resized
            && fits
            && let Err(error) = state.decider.resize(&sized)
        {
            // Restoring the previous size cannot fail.
            let _ = state.decider.resize(&plan);
            return Err(error);
        }
        let is_kept = (!is_resized || fits)
            && (!is_other || {
                let State { decider, apps, .. } = &mut *state;
                decider.reconfigure(&sized, &changed, apps.known())?
            });
        self.in_flight.set_memory(changed.memory);
        state.decider.frames_mut().unwritten.limit = limit(changed.memory);
        *current = changed;
        if !is_kept {
            state.change_policy(fresh);
        }
        self.read_ahead.bring(&mut state);
        Ok(if is_kept { Learnt::Kept } else { Learnt::Lost })
    }

    /// True once a thread has panicked while it served: from then on calls end without an answer, and the host serves
    /// the source itself if it can.
    pub fn is_broken(&self) -> bool {
        self.shared.is_broken()
    }

    /// Runs a call that holds nothing that the cache could leave half done. A panic ends only this call, and the use of
    /// the cache; `None` then.
    pub fn contain<T>(&self, serve: impl FnOnce() -> T) -> Option<T> {
        self.shared.contain(serve)
    }

    /// The same file; when one of its calls panics the cache is broken.
    pub fn watch(&self, source: Arc<dyn Source>) -> Arc<dyn Source> {
        self.shared.watch(source)
    }

    /// From now on tells `listener` of each decision by which a scheme divides its room anew, until
    /// [`finish`](FileCache::finish).
    pub fn tell(&self, listener: Sender<Repartition>) {
        self.shared.lock().decider.frames_mut().division.listener = Some(listener);
    }

    /// Attaches the tier: memory's evicted blocks go to it from now on; they have the same size in both. Schemes that
    /// cut or classify blocks differently are refused, now and later.
    pub fn put_on(&self, tier: Tier) -> Result<(), CacheError> {
        self.check_takes_tier()?;
        self.shared.lock().decider.frames_mut().tier = Some(tier);
        Ok(())
    }

    /// An error if there can be no tier below the scheme.
    pub fn check_takes_tier(&self) -> Result<(), CacheError> {
        let policy = self.policy();
        let is_plain = self.shared.lock().decider.is_plain();
        if is_plain { Ok(()) } else { Err(CacheError::Tier(policy.to_string())) }
    }

    /// Sends the resident blocks to the tier, as far as it admits them, and waits until all are written. Another
    /// process may then use the tier. Call it when no request is served any longer.
    pub fn end_tier(&self) {
        // Of a broken cache, only blocks written earlier are valid.
        self.shared.contain(|| self.send_down());
        let tier = self.shared.look().decider.frames_mut().tier.take();
        drop(tier);
    }

    fn send_down(&self) {
        let resident = self.shared.lock().decider.frames().resident();
        for slot in resident {
            let mut state = self.shared.lock();
            let frames = state.decider.frames_mut();
            frames.send_down(slot);
            let Some(tier) = &mut frames.tier else { return };
            tier.settle(0);
            let wait_for_room = tier.room();
            drop(state);
            wait_for_room();
        }
    }

    /// Writes the end of the recording, if there is one, and stops reporting decisions. The recording of a broken cache
    /// has no end.
    pub fn finish(&self) -> Result<(), CacheError> {
        let mut state = self.shared.look();
        state.decider.frames_mut().division.listener = None;
        let recording = state.recording.take();
        drop(state);
        if self.is_broken() {
            return Err(CacheError::Broken);
        }
        recording.map_or(Ok(()), Recording::finish)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recounts every structure from scratch and panics on a broken invariant. For tests.
    pub fn validate(&self) {
        self.shared.lock().decider.validate();
    }
}
