//! One cell on a clock: the application that is ready first makes the next request.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use hotset_core::policy::dynamic::DynPolicy;
use hotset_core::policy::{Object, Outcome, Reference, Slot};
use hotset_core::storage::{Cost, Device, Idle};

use super::ClockOptions;
use super::lanes::{Lane, Run, walk};
use super::read_ahead::Files;
use super::read_ahead::{ReadAhead, Reading};
use super::residents::Residents;
use super::series::Series;
use crate::bits::Bits;
use crate::engine::{AppTimes, Times};
use crate::engine::{Cell, Count, Counting, Directory, Ended, Host, Plan, Tally};
use crate::references::Trace;
use crate::window::{Event, Window, value_at};

/// What reads ahead, and what it is about to read.
pub(super) struct Ahead<'a> {
    readers: ReadAhead,
    files: &'a Files,
    /// Slots of blocks that the trace never refers to.
    others: HashMap<u64, Slot>,
    /// Windows of the request at hand.
    windows: Vec<Range<u32>>,
    /// The block at hand, and the windows that end before it: blocks of a request ascend.
    block: u32,
    passed: usize,
}

impl<'a> Ahead<'a> {
    pub fn new(readers: ReadAhead, files: &'a Files) -> Ahead<'a> {
        Ahead { readers, files, others: HashMap::new(), windows: Vec::new(), block: 0, passed: 0 }
    }

    /// The reader of a block that is there or not, and of so many behind it, may be read ahead of.
    fn look(&mut self, app: u32, address: u64, wanted: u32, is_resident: bool) {
        let (file, block) = ((address >> 32) as u32, address as u32);
        if block < self.block || self.passed > self.windows.len() {
            self.passed = 0;
        }
        self.block = block;
        self.passed += self.windows[self.passed..].iter().take_while(|window| window.end <= block).count();
        let is_present = is_resident || self.windows[self.passed..].iter().any(|window| window.contains(&block));
        let window = self.readers.look(Reading { app, file, block, wanted, is_present });
        let within = window.start..window.end.min(self.files.length(file));
        if !within.is_empty() {
            self.windows.push(within);
        }
    }
}

/// A policy on a clock.
pub(super) struct Replay<'a, D> {
    policy: Box<dyn DynPolicy>,
    /// Slots for which the policy has room.
    slots: u32,
    host: Host<D, Residents>,
    device: Option<Device>,
    /// Bytes of a block; where blocks differ, by the high half of their addresses.
    block_bytes: Option<u64>,
    bytes_of: &'a [u64],
    ahead: Option<Ahead<'a>>,
    /// The time of a request that hits.
    hit: u64,
    /// The store without other users, for policies that ask for the cost of blocks.
    idle: Option<Idle>,
    /// What each block of the request at hand would cost, and what it would on its own.
    cost: Cost,
    series: Series,
    count: Count,
    hits: Bits,
    /// Time of the first request; `None` before it.
    origin: Option<u64>,
    /// References so far, and those that were read ahead besides.
    now: u64,
    prefetches: u64,
    apps: Vec<AppTimes>,
    /// By application, its place among these.
    place: Vec<Option<usize>>,
    /// Blocks that the request at hand waits for, and when those that are on their way will be there.
    awaited: Vec<Slot>,
    under_way: u64,
}

impl<'a, D: Directory> Replay<'a, D> {
    pub fn new(policy: Box<dyn DynPolicy>, directory: D, plan: &Plan, options: &ClockOptions, trace: &Trace) -> Self {
        Replay {
            policy,
            slots: 0,
            host: Host::new(directory, Residents::before(options.store.is_some()), trace.classes),
            device: options.store.map(Device::new),
            block_bytes: plan.args.block_bytes(),
            bytes_of: &[],
            ahead: None,
            hit: options.store.map_or(0, |store| store.hit),
            idle: options.store.filter(|_| plan.entry.info.needs.cost).map(Idle::new),
            cost: Cost::default(),
            series: Series::new(options.every),
            count: Count::new(trace.classes, trace.has_apps),
            hits: Bits::default(),
            origin: None,
            now: 0,
            prefetches: 0,
            apps: Vec::new(),
            place: Vec::new(),
            awaited: Vec::new(),
            under_way: 0,
        }
    }

    /// The policy has a capacity of so many slots; blocks have so many bytes by the high half of their addresses, if
    /// they differ.
    pub fn with_blocks(self, slots: u32, bytes_of: &'a [u64]) -> Self {
        Replay { slots, bytes_of, ..self }
    }

    /// Reads ahead.
    pub fn with_ahead(self, ahead: Option<Ahead<'a>>) -> Self {
        Replay { ahead, ..self }
    }

    /// Replays the applications of a whole trace: each makes its next request when the one before it is served, or
    /// without a disk in the order of the trace.
    pub fn run_lanes(&mut self, window: &Window<D::Key>, lanes: &[Lane]) {
        let origin = lanes.iter().filter_map(|lane| lane.runs.first()).map(|run| run.time).min().unwrap_or(0);
        self.origin = Some(origin);
        self.hits.reach(window.keys.len() as u64);
        let places: Vec<usize> = lanes.iter().map(|lane| self.join(lane.app)).collect();
        // What happens before a reference comes first.
        let in_trace = |run: &Run| run.first * 2 + u64::from(run.event.is_none());
        let mut ready: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
        for (number, lane) in lanes.iter().enumerate() {
            let first = &lane.runs[0];
            let key = if self.device.is_some() { first.time - origin } else { in_trace(first) };
            ready.push(Reverse((key, number, 0)));
        }
        while let Some(Reverse((key, lane, index))) = ready.pop() {
            let run = &lanes[lane].runs[index];
            let clock = if self.device.is_some() { key } else { run.time - origin.min(run.time) };
            let end = self.serve(window, places[lane], run, clock);
            if let Some(next) = lanes[lane].runs.get(index + 1) {
                let work = next.time.saturating_sub(run.time);
                let key = if self.device.is_some() { end.saturating_add(work) } else { in_trace(next) };
                ready.push(Reverse((key, lane, index + 1)));
            }
        }
    }

    /// References so far that hit.
    pub fn hits(&self) -> u64 {
        self.hits.words().iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Counts a window that was replayed.
    pub fn count(&mut self, window: &Window<D::Key>) {
        let parts = self.policy.partitioned();
        self.count.add(window, self.hits.words(), |class| parts.map_or(u32::MAX, |parts| parts.piece(class)));
    }

    /// The place of an application, which may be a new one.
    fn join(&mut self, app: u32) -> usize {
        let index = app as usize;
        if index >= self.place.len() {
            self.place.resize(index + 1, None);
        }
        *self.place[index].get_or_insert_with(|| {
            self.apps.push(AppTimes { app, ..AppTimes::default() });
            self.series.join(app);
            self.apps.len() - 1
        })
    }

    /// Makes one request of the application in `place` at the time `clock`; gives when it is served.
    fn serve(&mut self, window: &Window<D::Key>, place: usize, run: &Run, clock: u64) -> u64 {
        if let Some(number) = run.event {
            self.remove(window, &window.events[number]);
            return clock;
        }
        let before = (!run.is_counted).then(|| (self.host.transfers, self.host.class_writes.clone()));
        let last = run.first + u64::from(run.references) - 1;
        self.look_up_cost(window, run);
        for position in run.first..=last {
            if self.refer(window, place, run, position, clock) {
                let index = position - window.first;
                self.hits.mark(index, index + 1);
            }
        }
        self.read_ahead(window, place, last, clock);
        let end = self.transfer(clock);
        let app = &mut self.apps[place];
        app.finish = app.finish.max(end);
        if run.is_counted {
            app.requests += 1;
            app.service = app.service.saturating_add(end - clock);
        }
        if let Some(before) = before {
            (self.host.transfers, self.host.class_writes) = before;
        }
        end
    }

    /// What each block of a request would cost, if nothing of it were resident.
    fn look_up_cost(&mut self, window: &Window<D::Key>, run: &Run) {
        let (Some(idle), Some(device)) = (&mut self.idle, &self.device) else { return };
        let first = (run.first - window.first) as usize;
        let keys = &window.keys[first..first + run.references as usize];
        let directory = &self.host.directory;
        let bytes = |address: u64| self.bytes_of.get((address >> 32) as usize).copied().or(self.block_bytes);
        let blocks = keys.iter().map(|&key| directory.address(key)).map(|address| (address, bytes(address)));
        self.cost = idle.cost(device.head(), blocks);
    }

    /// References one block; true if it hits.
    fn refer(&mut self, window: &Window<D::Key>, place: usize, run: &Run, position: u64, clock: u64) -> bool {
        self.series.reach(clock, self.now, &self.host.watch, &self.host.decisions);
        let key = window.keys[(position - window.first) as usize];
        let slot = self.host.directory.slot(key);
        self.make_room(slot);
        let (app, address) = (self.apps[place].app, self.host.directory.address(key));
        if let (Some(ahead), false) = (&mut self.ahead, run.is_write) {
            let wanted = (run.first + u64::from(run.references) - position) as u32;
            ahead.look(app, address, wanted, self.host.watch.is_resident(slot));
        }
        let class = value_at(&mut window.class_runs_at(position), position);
        let (write, Cost { together: cost, apart: cost_apart }) = (run.is_write, self.cost);
        let reference = Reference { write, class, cost, cost_apart, ..self.reference(window, app, address, clock) };
        self.now += 1;
        let hit = self.hits_elsewhere(window, position, slot, reference) || self.access(slot, reference);
        if run.is_counted {
            self.series.note(place, hit);
        }
        hit
    }

    /// Has the policy decide about one block; true if it hits.
    fn access(&mut self, slot: Slot, reference: Reference) -> bool {
        let outcome = self.policy.access(slot, reference, &mut Counting::<D, Residents, true>(&mut self.host));
        let hit = outcome == Outcome::Hit;
        if hit {
            self.under_way = self.under_way.max(self.host.watch.arrival(slot));
        } else {
            self.host.watch.miss(slot, reference.app, outcome == Outcome::Admitted);
        }
        match reference.write {
            true => self.host.write(slot, reference.class, outcome),
            false if hit => {}
            false => self.awaited.push(slot),
        }
        hit
    }

    /// True if the block in `slot` is not where it belongs now, but all its bytes are in blocks of the class that the
    /// file had before, which are referenced instead.
    fn hits_elsewhere(&mut self, window: &Window<D::Key>, position: u64, slot: Slot, reference: Reference) -> bool {
        let Some((class, event)) = window.elsewhere(position) else { return false };
        if self.policy.contains(slot) {
            return false;
        }
        let keys = &window.event_keys[event.keys.clone()];
        let Some(slots) = self.host.slots_if_all(keys, |slot| self.policy.contains(slot)) else { return false };
        for slot in slots {
            self.access(slot, Reference { class, ..reference });
        }
        true
    }

    /// Blocks become worth nothing.
    fn remove(&mut self, window: &Window<D::Key>, event: &Event) {
        for slot in self.host.directory.slots_of(window, event) {
            self.policy.remove(slot, &mut Counting::<D, Residents, true>(&mut self.host));
            self.host.invalidate(slot);
        }
    }

    fn reference(&self, window: &Window<D::Key>, app: u32, address: u64, clock: u64) -> Reference {
        let time = self.now + self.prefetches;
        let (file, block) = ((address >> 32) as u32, address as u32);
        let (group, object) = (window.group(address), Some(Object::of_file(file)));
        Reference { time, clock, file, block, group, app, object, ..Reference::default() }
    }

    fn make_room(&mut self, slot: Slot) {
        if slot >= self.slots {
            self.slots = slot.saturating_add(slot / 2).saturating_add(64);
            self.policy.grow(self.slots);
        }
    }

    /// After the request that ends at `last`: has the policy take in what is to be read ahead of it.
    fn read_ahead(&mut self, window: &Window<D::Key>, place: usize, last: u64, clock: u64) {
        let Some(mut ahead) = self.ahead.take() else { return };
        let app = self.apps[place].app;
        let class = value_at(&mut window.class_runs_at(last), last);
        let last = self.host.directory.address(window.keys[(last - window.first) as usize]);
        let file = last & !u64::from(u32::MAX);
        let mut first = None;
        for block in ahead.windows.drain(..).flatten() {
            // A part too small for what is read ahead would have it all read, and read again.
            if first.is_some_and(|first| !self.host.watch.is_resident(first)) {
                break;
            }
            let address = file | u64::from(block);
            let place = || *ahead.others.entry(address).or_insert_with(|| self.host.directory.place(address));
            let slot = ahead.files.slot(address).unwrap_or_else(place);
            if !self.host.watch.is_resident(slot) {
                self.take_in(slot, Reference { class, ..self.reference(window, app, address, clock) });
                first.get_or_insert(slot);
            }
        }
        ahead.readers.finish(app, (last >> 32) as u32, last as u32);
        self.ahead = Some(ahead);
    }

    fn take_in(&mut self, slot: Slot, reference: Reference) {
        self.make_room(slot);
        let reference = Reference { ahead: true, ..reference };
        self.prefetches += 1;
        // A policy that does not keep it does not have it read.
        let mut host = Counting::<D, Residents, true>(&mut self.host);
        if self.policy.access(slot, reference, &mut host) == Outcome::Admitted {
            self.host.watch.miss(slot, reference.app, true);
            self.host.watch.reads.push(slot);
            self.host.transfers.extra_reads += 1;
            self.host.transfers.extra.prefetch_reads += 1;
        }
    }

    /// Has the disk do what came of a request at the time `clock`; gives when that is served.
    fn transfer(&mut self, clock: u64) -> u64 {
        let mut end = clock.saturating_add(self.hit).max(self.under_way);
        self.under_way = 0;
        if let Some(device) = &mut self.device {
            let Host { directory, watch, .. } = &mut self.host;
            let bytes = |address: u64| self.bytes_of.get((address >> 32) as usize).copied().or(self.block_bytes);
            let mut read = |slot: Slot, reads: &mut Residents| {
                let address = directory.address_of(slot);
                let arrival = device.transfer(clock, address, bytes(address));
                reads.arrives(slot, arrival);
                arrival
            };
            for &slot in &self.awaited {
                end = end.max(read(slot, watch));
            }
            // Runs of neighbours are read and written at one go, whatever the order in which they were asked for.
            let mut reads = std::mem::take(&mut watch.reads);
            reads.sort_unstable_by_key(|&slot| directory.address_of(slot));
            watch.writes.sort_unstable();
            // No request waits for these, but they delay the next one.
            for &slot in &reads {
                read(slot, watch);
            }
            for &address in &watch.writes {
                device.transfer(clock, address, bytes(address));
            }
            watch.reads = reads;
            watch.storage_busy = Some(device.busy);
        }
        self.awaited.clear();
        self.host.watch.reads.clear();
        self.host.watch.writes.clear();
        end
    }

    /// What came of it.
    pub fn finish(mut self) -> Ended {
        self.series.finish(&self.host.watch, &self.host.decisions);
        let finish = self.apps.iter().map(|app| app.finish).max().unwrap_or(0);
        let apps = self.apps;
        let tally = Tally {
            decisions: self.host.decisions,
            times: self.device.map(|device| Times { finish, disk_busy: device.busy, apps }),
            ..self.count.tally(&self.host.transfers, &self.host.class_writes)
        };
        let explanations = self.policy.learning().map_or_else(Vec::new, |policy| policy.explain());
        Ended { tally, samples: self.series.samples, explanations, reference_nanoseconds: None }
    }
}

/// A stream has no disk: requests come in the order of the trace.
impl<D: Directory> Cell<D::Key> for Replay<'static, D> {
    fn run(&mut self, window: &Window<D::Key>) {
        self.hits.clear();
        self.hits.reach(window.keys.len() as u64);
        walk(window, |app, run| {
            let origin = *self.origin.get_or_insert(run.time);
            let place = self.join(app);
            self.serve(window, place, &run, run.time.saturating_sub(origin));
        });
        self.count(window);
    }

    fn end(self: Box<Self>) -> Vec<Ended> {
        vec![self.finish()]
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// One request of 64 GiB in blocks of 4 KiB. A search of all windows for each block would take hours.
    #[test]
    fn a_request_of_64_gib_is_read_ahead_of_in_linear_time() {
        let blocks = (64u64 << 30) / 4096;
        let files = Files::of(&[blocks - 1]);
        let mut ahead = Ahead::new(ReadAhead::new(Some(4096), 1 << 20), &files);
        let begun = Instant::now();
        for block in 0..blocks {
            ahead.look(0, block, (blocks - block) as u32, false);
            if block % (1 << 16) == 0 {
                assert!(begun.elapsed() < Duration::from_secs(60), "block {block} of {blocks}");
            }
        }
        assert_eq!(ahead.windows.len() as u64, blocks / 32);
    }
}
