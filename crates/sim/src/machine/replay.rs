//! One cell on a clock: who is ready first makes the next request.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use hotset_core::counters::Counters;
use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{Object, Outcome, Reference, Slot};

use super::Options;
use super::disk::Device;
use super::files::Files;
use super::host::Host;
use super::lanes::{Lane, Run};
use super::read_ahead::{ReadAhead, Reading};
use super::series::{Sample, Series};
use crate::cell::{Repeats, Tally};
use crate::references::References;

/// What a cell gave.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The counts.
    pub tally: Tally,
    /// One stretch after another, if they were asked for.
    pub samples: Vec<Sample>,
}

/// Times of a cell in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// From the first request to the end of the last.
    pub finish: u64,
    /// In which the disk worked; what it has to do at the end is included.
    pub disk_busy: u64,
    /// One for each application that occurs.
    pub apps: Vec<AppTimes>,
}

/// Times of an application in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppTimes {
    /// Its number.
    pub app: u32,
    /// Its requests.
    pub requests: u64,
    /// From the first request of all to the end of its last.
    pub finish: u64,
    /// From each of its requests to the end of it, in sum.
    pub service: u64,
}

/// What reads ahead, and what it is about to read.
pub(super) struct Ahead<'a> {
    readers: ReadAhead,
    files: &'a Files,
    /// Slots of blocks that the trace never refers to.
    others: HashMap<u64, Slot>,
    /// Windows of the request at hand.
    windows: Vec<Range<u32>>,
}

impl<'a> Ahead<'a> {
    pub fn new(readers: ReadAhead, files: &'a Files) -> Ahead<'a> {
        Ahead { readers, files, others: HashMap::new(), windows: Vec::new() }
    }

    /// The reader of a block that is there or not, and of so many behind it, may be read ahead of.
    fn look(&mut self, app: u32, address: u64, wanted: u32, is_resident: bool) {
        let (file, block) = ((address >> 32) as u32, address as u32);
        let is_present = is_resident || self.windows.iter().any(|window| window.contains(&block));
        let window = self.readers.look(Reading { app, file, block, wanted, is_present });
        if !window.is_empty() {
            self.windows.push(window.start..window.end.min(self.files.length(file)));
        }
    }
}

pub(super) struct Replay<'a> {
    references: &'a References,
    lanes: &'a [Lane],
    policy: Box<dyn DynPolicy>,
    /// Slots for which the policy has room.
    slots: u32,
    host: Host,
    device: Option<Device>,
    ahead: Option<Ahead<'a>>,
    /// What a request that hits takes.
    hit: u64,
    series: Series,
    /// References so far, and those that were read ahead besides.
    now: u64,
    prefetches: u64,
    counts_all: bool,
    repeats: Repeats,
    counters: Vec<Counters>,
    apps: Vec<AppTimes>,
    /// Blocks that the request at hand waits for, and when those that are on their way will be there.
    awaited: Vec<Slot>,
    under_way: u64,
}

impl<'a> Replay<'a> {
    /// `policy` has room for the blocks of the trace, which have so many bytes.
    pub fn new(
        references: &'a References,
        lanes: &'a [Lane],
        policy: Box<dyn DynPolicy>,
        options: &Options,
        block_bytes: Option<u64>,
        ahead: Option<Ahead<'a>>,
    ) -> Replay<'a> {
        let apps = lanes.iter().map(|lane| lane.app as usize + 1).max().unwrap_or(0);
        let numbers: Vec<u32> = lanes.iter().map(|lane| lane.app).collect();
        Replay {
            references,
            lanes,
            policy,
            slots: references.distinct(),
            host: Host::new(references.addresses.clone(), apps),
            device: options.disk.map(|disk| Device::new(disk, block_bytes)),
            ahead,
            hit: options.disk.map_or(0, |disk| disk.hit),
            series: Series::new(options.every, &numbers),
            now: 0,
            prefetches: 0,
            counts_all: false,
            repeats: Repeats::default(),
            counters: vec![Counters::default(); lanes.len()],
            apps: numbers.iter().map(|&app| AppTimes { app, ..AppTimes::default() }).collect(),
            awaited: Vec::new(),
            under_way: 0,
        }
    }

    /// Counts also what is not to be counted: what a policy is told of an application does not depend on what a user
    /// wants to know.
    pub fn counting_all(self) -> Replay<'a> {
        Replay { counts_all: true, ..self }
    }

    pub fn run(mut self) -> Replayed {
        let origin = self.lanes.iter().filter_map(|lane| lane.runs.first()).map(|run| run.time).min().unwrap_or(0);
        let mut ready: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
        for (number, lane) in self.lanes.iter().enumerate() {
            let first = lane.runs[0];
            ready.push(Reverse((if self.device.is_some() { first.time - origin } else { first.first }, number, 0)));
        }
        while let Some(Reverse((key, lane, index))) = ready.pop() {
            let run = self.lanes[lane].runs[index];
            let clock = if self.device.is_some() { key } else { run.time - origin.min(run.time) };
            let end = self.serve(lane, &run, clock);
            if let Some(next) = self.lanes[lane].runs.get(index + 1) {
                let work = next.time.saturating_sub(run.time);
                let key = if self.device.is_some() { end.saturating_add(work) } else { next.first };
                ready.push(Reverse((key, lane, index + 1)));
            }
        }
        self.end()
    }

    /// Makes one request at the time `clock`; gives when it is served.
    fn serve(&mut self, lane: usize, run: &Run, clock: u64) -> u64 {
        let before = self.host.transfers;
        let (mut hits, mut first_hit) = (0, false);
        let last = run.first + u64::from(run.references) - 1;
        for position in run.first..=last {
            let hit = self.refer(lane, run, position, clock);
            hits += u64::from(hit);
            first_hit |= hit && position == run.first;
        }
        self.read_ahead(lane, last, clock);
        let end = self.transfer(clock);
        self.apps[lane].finish = self.apps[lane].finish.max(end);
        if run.is_counted || self.counts_all {
            self.count(lane, run, hits);
            if run.repeats {
                self.repeats.note(first_hit);
            }
            self.apps[lane].requests += 1;
            self.apps[lane].service = self.apps[lane].service.saturating_add(end - clock);
        } else {
            self.host.transfers = before;
        }
        end
    }

    /// Counts a request of which so many references hit.
    fn count(&mut self, lane: usize, run: &Run, hits: u64) {
        let (references, has_missed) = (u64::from(run.references), hits < u64::from(run.references));
        self.counters[lane].add(&Counters {
            references,
            hits,
            read_references: if run.is_write { 0 } else { references },
            read_hits: if run.is_write { 0 } else { hits },
            requests: 1,
            request_misses: has_missed.into(),
            read_requests: (!run.is_write).into(),
            read_request_misses: (!run.is_write && has_missed).into(),
            write_requests: run.is_write.into(),
        });
    }

    /// References one block; true if it hits.
    fn refer(&mut self, lane: usize, run: &Run, position: u64, clock: u64) -> bool {
        self.series.reach(clock, self.now, &self.host);
        let slot = self.references.ids()[position as usize];
        let (app, address) = (self.lanes[lane].app, self.host.address(slot));
        if let (Some(ahead), false) = (&mut self.ahead, run.is_write) {
            let wanted = (run.first + u64::from(run.references) - position) as u32;
            ahead.look(app, address, wanted, self.host.is_resident(slot));
        }
        let reference = Reference { write: run.is_write, ..self.reference(app, address, clock) };
        self.now += 1;
        let outcome = self.policy.access(slot, reference, &mut self.host);
        let hit = outcome == Outcome::Hit;
        if hit {
            self.under_way = self.under_way.max(self.host.arrival(slot));
        } else {
            self.host.miss(slot, app, outcome == Outcome::Admitted);
        }
        match (run.is_write, outcome) {
            (true, Outcome::Bypassed) => self.host.write(slot),
            (true, _) => self.host.mark_dirty(slot),
            (false, Outcome::Hit) => {}
            (false, _) => self.awaited.push(slot),
        }
        if run.is_counted {
            self.series.note(lane, hit);
        }
        hit
    }

    fn reference(&self, app: u32, address: u64, clock: u64) -> Reference {
        let time = self.now + self.prefetches;
        let (file, block) = ((address >> 32) as u32, address as u32);
        Reference { time, clock, file, block, app, object: Some(Object::of_file(file)), ..Reference::default() }
    }

    /// After the request that ends at `last`: has the policy take in what is to be read ahead of it.
    fn read_ahead(&mut self, lane: usize, last: u64, clock: u64) {
        let Some(mut ahead) = self.ahead.take() else { return };
        let app = self.lanes[lane].app;
        let last = self.host.address(self.references.ids()[last as usize]);
        let file = last & !u64::from(u32::MAX);
        let mut first = None;
        for block in ahead.windows.drain(..).flatten() {
            // A part too small for what is read ahead would have it all read, and read again.
            if first.is_some_and(|first| !self.host.is_resident(first)) {
                break;
            }
            let address = file | u64::from(block);
            let known = ahead.files.slot(address);
            let slot = known.unwrap_or_else(|| *ahead.others.entry(address).or_insert_with(|| self.host.add(address)));
            if !self.host.is_resident(slot) {
                self.take_in(app, slot, address, clock);
                first.get_or_insert(slot);
            }
        }
        ahead.readers.finish(app, (last >> 32) as u32, last as u32);
        self.ahead = Some(ahead);
    }

    fn take_in(&mut self, app: u32, slot: Slot, address: u64, clock: u64) {
        if slot >= self.slots {
            self.slots = slot.saturating_add(slot / 2).saturating_add(64);
            self.policy.grow(self.slots);
        }
        let reference = Reference { ahead: true, ..self.reference(app, address, clock) };
        self.prefetches += 1;
        // A policy that does not keep it does not have it read.
        if self.policy.access(slot, reference, &mut self.host) == Outcome::Admitted {
            self.host.prefetch(slot, app);
        }
    }

    /// Has the disk do what came of a request at the time `clock`; gives when that is served.
    fn transfer(&mut self, clock: u64) -> u64 {
        let mut end = clock.saturating_add(self.hit).max(self.under_way);
        self.under_way = 0;
        let (awaited, mut reads) = (std::mem::take(&mut self.awaited), std::mem::take(&mut self.host.reads));
        if let Some(device) = &mut self.device {
            for &slot in &awaited {
                let arrival = device.transfer(clock, self.host.address(slot));
                self.host.arrives(slot, arrival);
                end = end.max(arrival);
            }
            // Runs of neighbours are read and written at one go, whatever the order in which they were asked for.
            reads.sort_unstable_by_key(|&slot| self.host.address(slot));
            self.host.writes.sort_unstable();
            // Nobody waits for these, but whoever comes next.
            for &slot in &reads {
                let arrival = device.transfer(clock, self.host.address(slot));
                self.host.arrives(slot, arrival);
            }
            for &address in &self.host.writes {
                device.transfer(clock, address);
            }
        }
        (self.awaited, self.host.reads) = (cleared(awaited), cleared(reads));
        self.host.writes.clear();
        end
    }

    fn end(mut self) -> Replayed {
        self.series.finish(&self.host);
        let mut tally = Tally {
            repeats: self.repeats,
            write_backs: self.host.transfers.write_backs,
            extra_reads: self.host.transfers.extra_reads,
            extra: self.host.transfers.extra,
            decisions: self.host.decisions,
            ..Tally::default()
        };
        for (lane, counters) in self.lanes.iter().zip(&self.counters) {
            tally.total.add(counters);
            let app = lane.app as usize;
            if self.references.has_apps() {
                tally.apps.resize(tally.apps.len().max(app + 1), Counters::default());
                tally.apps[app] = *counters;
            }
        }
        let finish = self.apps.iter().map(|app| app.finish).max().unwrap_or(0);
        let apps = self.apps;
        tally.times = self.device.map(|device| Times { finish, disk_busy: device.busy, apps });
        Replayed { tally, samples: self.series.samples }
    }
}

/// The same memory, empty.
fn cleared(mut slots: Vec<Slot>) -> Vec<Slot> {
    slots.clear();
    slots
}
