//! The state of the cache under one lock: each decision, in the order in which they are recorded.

use std::ops::Range;
use std::time::Instant;

use hotset_core::counters::Counters;
use hotset_core::policy::PolicySpec;
use hotset_core::request::{FLAG_EXECUTABLE, Op, Request};

use crate::arena::block_index::Entry;
use crate::counts::Traffic;
use crate::counts::applications::Applications;
use crate::decide::decider::{Decider, Serve};
use crate::decide::schedule::OrderProgress;
use crate::file_cache::recording::Recording;
use crate::os::sync::Arc;
use crate::read_ahead::stream::Stream;
use crate::source::files::{FileNumber, Files};
use crate::source::{Source, Stamp};
use crate::transfer::busy::Busy;
use crate::transfer::transfers::{Staged, Transfers};

/// The reader or writer of a file.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// The file, by [`crate::FileCache::file`].
    pub file: FileNumber,
    /// The application, by [`crate::FileCache::app`].
    pub app: u32,
    /// The open file.
    pub source: &'a Arc<dyn Source>,
    /// The reads through this open so far, if the cache is to read ahead.
    pub stream: Option<&'a Stream>,
    /// The file is being executed.
    pub executes: bool,
}

pub(crate) struct State {
    pub decider: Decider,
    /// How many policies there were before this one.
    pub policies: u64,
    pub transfers: Transfers,
    pub staged: Staged,
    pub files: Files,
    pub traffic: Traffic,
    pub apps: Applications,
    /// Their counts when the scheme was set.
    pub apps_before: Vec<Counters>,
    /// The counts of applications that have ended.
    pub apps_ended: Counters,
    pub recording: Option<Recording>,
    /// What became of the announced order that ended last.
    pub order: Option<OrderProgress>,
    /// The busy time of the source.
    pub busy: Busy,
    started: Instant,
}

impl State {
    /// An empty cache that begins to serve now.
    pub fn new(decider: Decider, apps: Applications, recording: Option<Recording>) -> State {
        State {
            decider,
            policies: 0,
            transfers: Transfers::default(),
            staged: Staged::default(),
            files: Files::default(),
            traffic: Traffic::default(),
            apps,
            apps_before: Vec::new(),
            apps_ended: Counters::default(),
            recording,
            order: None,
            busy: Busy::default(),
            started: Instant::now(),
        }
    }

    /// Records a request and decides about its blocks.
    pub fn decide(&mut self, access: &Access, op: Op, range: &Range<u64>, size: u64, serve: &mut Serve) {
        let request = self.request(access.file, access.app, op, range);
        let flags = if access.executes { FLAG_EXECUTABLE } else { 0 };
        self.pass_on(&Request { flags, ..request }, size, serve);
    }

    pub fn request(&self, file: FileNumber, app: u32, op: Op, range: &Range<u64>) -> Request {
        let length = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let time = self.elapsed();
        let kind = self.files[file as usize].kind as u8;
        Request { time, offset: range.start, length, file, app, op: op as u8, kind, flags: 0 }
    }

    /// Nanoseconds since the cache was built.
    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn pass_on(&mut self, request: &Request, size: u64, serve: &mut Serve) {
        if let Some(recording) = &mut self.recording {
            recording.push(request, size);
        }
        let facts = self.files[request.file as usize].facts(self.apps.name(request.app));
        self.decider.tell_load(&self.busy);
        self.decider.decide(request, Some(size), &facts, serve);
    }

    /// The number of an application.
    pub fn app(&mut self, name: &str) -> u32 {
        let (number, new) = self.apps.number(name);
        if let (Some(recording), Some(new)) = (&mut self.recording, new) {
            recording.app(new);
        }
        number
    }

    /// The numbers of the applications that a spec names, in its order.
    pub fn numbers(&mut self, spec: &PolicySpec) -> Vec<u32> {
        spec.apps().into_iter().map(|name| self.app(name)).collect()
    }

    pub fn fold(&mut self, app: u32) {
        self.apps.forget(app);
        self.apps_ended.add(&self.decider.fold(app));
        if let Some(before) = self.apps_before.get_mut(app as usize) {
            *before = Counters::default();
        }
    }

    /// Goes on with another policy, which is referred to each block that is resident.
    pub fn change_policy(&mut self, fresh: Decider) {
        let other = std::mem::replace(&mut self.decider, fresh);
        self.decider.tell_load(&self.busy);
        self.policies += 1;
        // Addresses mean other blocks now: reads in flight would be taken for them.
        (self.transfers, self.staged) = Default::default();
        self.apps_before.clone_from(&other.counts.apps);
        let (files, apps, time) = (&self.files, &self.apps, self.elapsed());
        self.decider.adopt(other, |decider, Entry { block, app, .. }, serve| {
            let Some(file) = block.file else { return };
            let known = &files[file as usize];
            let length = block.range().end.min(known.size()).saturating_sub(block.start) as u32;
            let kind = known.kind as u8;
            let request = Request { time, file, app: *app, offset: block.start, length, kind, ..Request::default() };
            decider.decide(&request, Some(known.size()), &known.facts(apps.name(*app)), serve);
        });
    }

    /// The bytes `range` of a file are not what they were: whatever is cached or being read of them is invalidated.
    pub fn invalidate(&mut self, file: FileNumber, range: &Range<u64>) {
        self.transfers.cancel(file, range);
        for slot in self.decider.frames().index.of_file(file) {
            self.decider.frames_mut().invalidate(slot, range);
        }
    }

    /// Records a file's stamp at an open. Cached data is invalidated if it may have changed behind the cache, also at
    /// the very time of a write here. True if it cannot have changed.
    pub fn reopen(&mut self, file: FileNumber, stamp: Stamp) -> bool {
        let same = self.reconcile(file, stamp);
        let known = &mut self.files[file as usize];
        if !known.in_doubt {
            return same;
        }
        known.in_doubt = known.writers > 0 || stamp.is_fresh;
        self.invalidate(file, &(0..u64::MAX));
        self.tell_version(file);
        false
    }

    /// Takes note of what a file is like now. If it was changed behind the cache all its blocks are invalidated. True
    /// if it is as it was.
    pub fn reconcile(&mut self, file: FileNumber, stamp: Stamp) -> bool {
        let known = &mut self.files[file as usize];
        // During a write here, a change by another process cannot be distinguished.
        if known.writers > 0 {
            return true;
        }
        let before = known.stamp.replace(stamp);
        let same = before.is_some_and(|before| stamp.is_same(&before));
        // A file that has just changed may change once more with the same times. Present readers continue with the
        // cached data; the next open reads the file again, and until then its version is uncertain.
        known.in_doubt |= stamp.is_fresh;
        if !same && before.is_some() {
            self.invalidate(file, &(0..u64::MAX));
        }
        self.tell_version(file);
        same
    }

    /// Takes note of what a file is like after its inode was changed here, which was [reconciled](State::reconcile)
    /// right before.
    pub fn restamp(&mut self, file: FileNumber, now: Stamp) {
        let known = &mut self.files[file as usize];
        match known.stamp.and_then(|before| before.after_own_change(now)) {
            Some(stamp) => {
                known.stamp = Some(stamp);
                known.in_doubt |= stamp.is_fresh;
                self.tell_version(file);
            }
            None => drop(self.reconcile(file, now)),
        }
    }

    /// Passes the version of a file to the tier, if it is certain: the file is not being written, was not written since
    /// its last open, and has no dirty data.
    pub fn tell_version(&mut self, file: FileNumber) {
        let known = &self.files[file as usize];
        let frames = self.decider.frames_mut();
        let Some(tier) = &mut frames.tier else { return };
        let is_certain = !known.in_doubt && known.writers == 0 && frames.unwritten.of(file).is_none();
        tier.bind(file, known.stamp.filter(|_| is_certain));
    }
}
