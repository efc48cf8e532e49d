//! The simulation matches the live cache: a recording of the live cache, replayed by the simulator at the same spec and
//! size, has the same hits and misses, for every scheme that can run: reference by reference where each request is one,
//! and after every request.

mod support;

use std::path::Path;

use hotset_cache::{Counts, FileCache, Recording, Settings};
use hotset_core::counters::Counters;
use hotset_core::policy::{PolicySpec, Setting};
use hotset_core::random::Rng;
use hotset_core::registry;
use hotset_core::request::{Op, Request};
use hotset_core::storage::StorageModel;
use hotset_sim::clock::ClockOptions as Clock;
use hotset_sim::grid::{self, Plan};
use hotset_sim::{BlockSize, Options, Silent, Tally, prepare};
use hotset_trace::{Batch, Meta, OpenOptions, Tables, TraceError, TraceReader, formats, open};

use support::{Opened, pattern, settings};

const BLOCK: u64 = 4096;
/// What lies below the scheme and how much it may hold.
#[derive(Clone, Copy)]
struct Ground {
    memory: u64,
    store: Option<&'static str>,
}

const GROUND: Ground = Ground { memory: 64 * BLOCK, store: None };

impl Ground {
    fn store(self) -> Option<StorageModel> {
        self.store.map(|text| StorageModel::parse(text).unwrap())
    }
}

/// Specs beyond the defaults: policies in policies, parts of several block sizes.
const MORE: [&str; 15] = [
    "bypass(2q,texture)",
    "bypass(arc,config)",
    "demote(arc,mru,client=30%)",
    "demote(s3-fifo,lirs)",
    "render(texture=50%,shadow=literal)",
    "render(adapt=off)",
    "attribute(16K/128 id, x/4K temporal, 128K/64K sequential)",
    "attribute(8K/512 id, x/16K general, lookup=full, atime=off)",
    "undivided(gdsf, id=256B, block=8K)",
    "undivided(auto(curves=inline), lookup=full)",
    "bypass(auto(curves=inline), output)",
    "unix(inodes=8K, block=8K)",
    "qos(lru, interval=100, blender=50%, cc1=20%)",
    "ucp(arc, interval=200)",
    "equal(lfu)",
];

fn specs() -> Vec<String> {
    let runs = |name: &str| !PolicySpec::parse(name).unwrap().is_offline();
    let named = registry::all().map(|entry| exact(entry.info.name));
    let served = |name: String| PolicySpec::parse(&name).unwrap().set_in(Setting::Serving).to_string();
    named.chain(MORE.map(str::to_owned)).filter(|spec| runs(spec)).map(served).collect()
}

/// The time of a background computation is arbitrary: the comparison is exact where each request runs it itself.
fn exact(name: &str) -> String {
    let served = PolicySpec::parse(name).unwrap().set_in(Setting::Serving).to_string();
    served.replace("curves=background", "curves=inline")
}

const FILES: [(&str, usize); 6] = [
    ("/data/wood.png", 90_000),
    ("/data/scene.blend", 30_001),
    ("/data/render.py", 700),
    ("/data/large.bin", 700_000),
    ("/data/grows.bin", 500_000),
    ("/out/frame.png", 0),
];

/// A cache at work, recorded, with what its files must hold.
struct Work<'a> {
    spec: &'a str,
    cache: FileCache,
    files: Vec<Opened>,
    models: Vec<Vec<u8>>,
    apps: [u32; 3],
    random: Rng,
    /// After each request, how many there were and what was counted.
    requests: usize,
    seen: Vec<(usize, Counts)>,
}

impl Work<'_> {
    fn new<'a>(spec: &'a str, ground: Ground, recording: &Path) -> Work<'a> {
        let recording = Recording::create(recording, BLOCK, spec).unwrap();
        let settings = Settings { store: ground.store(), ..settings(spec, ground.memory) };
        let cache = FileCache::new(&settings, Some(recording)).unwrap_or_else(|error| panic!("{spec}: {error}"));
        let apps = ["blender", "cc1", "cp"].map(|name| cache.app(name));
        let files: Vec<Opened> =
            (0..).zip(FILES).map(|(seed, (path, size))| Opened::new(&cache, path, pattern(seed, size))).collect();
        let models = files.iter().map(|file| file.store.bytes()).collect();
        Work { spec, cache, files, models, apps, random: Rng::new(7), requests: 0, seen: Vec::new() }
    }

    fn note(&mut self, is_request: bool) {
        self.requests += usize::from(is_request);
        self.seen.push((self.requests, self.cache.counts().0));
    }

    fn read(&mut self, file: usize, app: u32, offset: u64, length: usize) {
        let model = &self.models[file];
        let read = self.cache.read(&self.files[file].access(app), offset, length).unwrap();
        let end = model.len().min(offset as usize + length);
        assert!(
            read == model[(offset as usize).min(end)..end],
            "{}: wrong bytes after {} requests",
            self.spec,
            self.requests
        );
        self.note(!read.is_empty());
    }

    fn write(&mut self, file: usize, app: u32, offset: u64, bytes: &[u8]) {
        let model = &mut self.models[file];
        assert_eq!(self.cache.write(&self.files[file].access(app), offset, bytes).unwrap(), bytes.len());
        model.resize(model.len().max(offset as usize + bytes.len()), 0);
        model[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        self.note(true);
    }

    fn cut(&mut self, file: usize, app: u32) {
        let size = self.models[file].len() * 3 / 4;
        self.cache.set_len(&self.files[file].access(app), size as u64).unwrap();
        self.models[file].truncate(size);
        self.note(true);
    }

    /// Reads, writes, cuts and calls that move no data; loops and sequences, with places drawn at random between them.
    fn everything(&mut self, step: u64) {
        let file = self.random.below(self.files.len() as u32) as usize;
        let app = self.apps[self.random.below(3) as usize];
        let span = self.models[file].len().max(1) as u64;
        let offset =
            if self.random.below(3) == 0 { u64::from(self.random.below(span as u32)) } else { step * 6000 % span };
        let most = if self.random.below(8) == 0 { 200_000 } else { 9_000 };
        let length = 1 + self.random.below(most) as usize;
        match self.random.below(20) {
            0..14 => self.read(file, app, offset, length),
            14..17 => self.write(file, app, offset, &pattern(step, length.min(20_000))),
            17 if self.random.below(4) == 0 => self.cut(file, app),
            18 if self.random.below(30) == 0 => {
                // It is read again afterwards.
                self.cache.write_out(self.files[file].number).unwrap();
                self.cache.note(Op::Unlink, self.files[file].number, 0, 0, false);
                self.note(true);
            }
            _ => {
                let op = [Op::Open, Op::Stat, Op::List, Op::Exec][self.random.below(4) as usize];
                let length = if op == Op::List { 512 } else { 0 };
                self.cache.note(op, self.files[file].number, app, length, self.random.below(9) == 0);
                self.note(true);
            }
        }
    }

    /// Reads of one application, of one block or many, some in a loop and some at random.
    fn reads(&mut self, step: u64) {
        let file = self.random.below(5) as usize;
        let span = self.models[file].len() as u64;
        let (offset, length) = match self.random.below(3) {
            0 => (u64::from(self.random.below(span as u32)), 1 + self.random.below(3000) as usize),
            1 => (u64::from(self.random.below(span as u32)) / 4 / BLOCK * BLOCK, 4 * BLOCK as usize),
            _ => (step * 60_000 % span, 60_000),
        };
        self.read(file, self.apps[0], offset, length);
    }

    /// A read or write within 512 bytes, which are in one block whatever the scheme: one reference to data.
    fn one_reference(&mut self, step: u64) {
        let file = self.random.below(self.files.len() as u32) as usize;
        let app = self.apps[self.random.below(3) as usize];
        let sectors = self.models[file].len().div_ceil(512).max(1) as u64;
        let sector =
            if self.random.below(3) == 0 { self.random.below(sectors as u32) as u64 } else { step * 5 % sectors };
        let within = self.random.below(500);
        let length = 1 + self.random.below(512 - within) as usize;
        let offset = sector * 512 + u64::from(within);
        match self.random.below(5) {
            0 => self.write(file, app, offset, &pattern(step, length)),
            _ => self.read(file, app, offset, length),
        }
    }

    /// The end of it; gives what was seen.
    fn finish(self) -> Vec<(usize, Counts)> {
        for (file, model) in self.files.iter().zip(&self.models) {
            self.cache.write_out(file.number).unwrap();
            assert!(file.store.bytes() == *model, "{}: written data is not in the store", self.spec);
        }
        self.cache.finish().unwrap();
        self.seen
    }
}

/// Work of every scheme, which is the same for all; gives what each saw, and the recording.
fn recorded(
    specs: &[String],
    ground: Ground,
    steps: u64,
    step: impl Fn(&mut Work, u64),
) -> (Vec<Vec<(usize, Counts)>>, Held) {
    let folder = tempfile::tempdir().unwrap();
    let mut first: Option<Held> = None;
    let seen = specs.iter().map(|spec| {
        let path = folder.path().join("work.hst");
        let mut work = Work::new(spec, ground, &path);
        for number in 0..steps {
            step(&mut work, number);
            if number % 100 == 0 {
                work.cache.validate();
            }
        }
        let seen = work.finish();
        let recording = Held::read(&path);
        let first = first.get_or_insert_with(|| Held::read(&path));
        assert!(recording.timeless() == first.timeless(), "{spec} was asked something else");
        seen
    });
    let seen = seen.collect();
    (seen, first.expect("there are schemes"))
}

/// A recording, held.
struct Held {
    meta: Meta,
    tables: Tables,
    all: Batch,
}

impl Held {
    fn read(path: &Path) -> Held {
        let mut reader = open(path, formats::BUILTIN, &OpenOptions::default()).unwrap().reader;
        let (mut all, mut batch) = (Batch::new(), Batch::new());
        loop {
            reader.read(&mut batch).unwrap();
            if batch.is_empty() {
                return Held { meta: reader.meta().clone(), tables: reader.tables().clone(), all };
            }
            all.requests.extend(&batch.requests);
            all.file_sizes.extend(&batch.file_sizes);
        }
    }

    /// The requests without their times.
    fn timeless(&self) -> Vec<Request> {
        self.all.requests.iter().map(|request| Request { time: 0, ..*request }).collect()
    }

    /// The tallies of all specs over the first requests.
    fn simulate(&self, specs: &[String], ground: Ground, requests: usize) -> Vec<Tally> {
        let batch = Batch {
            requests: self.all.requests[..requests].to_vec(),
            file_sizes: self.all.file_sizes[..requests].to_vec(),
            ..Batch::default()
        };
        let reader = Prefix { meta: self.meta.clone(), tables: self.tables.clone(), batch };
        let options = Options {
            block: Some(BlockSize::Bytes(BLOCK)),
            keep_requests: true,
            keep_times: true,
            ..Options::default()
        };
        let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
        let plans: Vec<Plan> = specs
            .iter()
            .map(|spec| {
                let spec = PolicySpec::parse(spec).unwrap();
                Plan {
                    entry: spec.entry(),
                    args: spec.args(Some(BLOCK)),
                    capacity: (ground.memory / BLOCK) as u32,
                    bytes: None,
                    seed: 1,
                }
            })
            .collect();
        let clock = Clock { store: ground.store(), ..Clock::default() };
        grid::run_timed(&mut prepared, &plans, &clock, &Silent).unwrap().tallies
    }
}

struct Prefix {
    meta: Meta,
    tables: Tables,
    batch: Batch,
}

impl TraceReader for Prefix {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        *batch = std::mem::take(&mut self.batch);
        Ok(())
    }
}

fn without_trailing_zeros(counters: &[Counters]) -> &[Counters] {
    let end = counters.iter().rposition(|one| *one != Counters::default()).map_or(0, |last| last + 1);
    &counters[..end]
}

fn assert_same(spec: &str, requests: usize, live: &Counts, simulated: &Tally) {
    let at = format!("{spec} after {requests} requests");
    assert_eq!(live.total, simulated.total, "{at}");
    assert_eq!(live.extra_reads, simulated.extra_reads, "{at}");
    if !simulated.apps.is_empty() {
        let (live, simulated) = (without_trailing_zeros(&live.apps), without_trailing_zeros(&simulated.apps));
        assert_eq!(live, simulated, "{at}, by application");
    }
    let classes: Vec<Counters> = simulated.classes.iter().map(|class| class.counters).collect();
    assert_eq!(live.classes, classes, "{at}, by class");
}

#[test]
fn a_recording_replayed_gives_the_same_hits_request_by_request() {
    let specs = specs();
    assert!(specs.len() > 45, "every scheme that can run");
    let (seen, recording) = recorded(&specs, GROUND, 2500, |work, step| work.everything(step));
    let steps = seen[0].len();
    // Every request at first, then now and then, and the last.
    let checks = (0..100).chain((100..steps).step_by(61)).chain([steps - 1]);
    for step in checks.filter(|&step| seen[0][step].0 > 0) {
        let requests = seen[0][step].0;
        let tallies = recording.simulate(&specs, GROUND, requests);
        for ((spec, seen), tally) in specs.iter().zip(&seen).zip(&tallies) {
            assert_eq!(seen[step].0, requests);
            assert_same(spec, requests, &seen[step].1, tally);
        }
    }
    let last = &seen[0][steps - 1];
    assert_eq!(last.0, recording.all.len());
    assert!(last.1.total.hits > 500 && last.1.total.misses() > 500, "{:?}", last.1.total);
}

/// Blocks that go to the source because the scheme sends them away or does not keep them are those of the simulation,
/// where nothing else has them written: no sync, no close, no lack of room.
#[test]
fn what_a_scheme_has_written_back_is_what_it_has_in_a_simulation() {
    let specs = specs();
    let (seen, recording) = recorded(&specs, GROUND, 800, |work, step| {
        work.cache.write_later();
        work.everything(step);
    });
    let steps = seen[0].len();
    for step in (0..steps).step_by(83).chain([steps - 1]).filter(|&step| seen[0][step].0 > 0) {
        let requests = seen[0][step].0;
        let tallies = recording.simulate(&specs, GROUND, requests);
        for ((spec, seen), tally) in specs.iter().zip(&seen).zip(&tallies) {
            let Counts { write_backs, metadata_write_backs, .. } = seen[step].1;
            assert_same(spec, requests, &seen[step].1, tally);
            assert_eq!(write_backs + metadata_write_backs, tally.write_backs, "{spec} after {requests} requests");
        }
    }
    let fewest = seen.iter().map(|seen| seen[steps - 1].1.write_backs).min();
    assert!(fewest.is_some_and(|fewest| fewest > 50), "{fewest:?}");
}

/// Times are those of the recording, so what is divided every few milliseconds is divided at the same places.
#[test]
fn what_is_decided_by_the_clock_is_decided_again() {
    for spec in [
        "qos(lru,prefetch=off,interval=1ms,profile=none,rate=interval,blender=60%,cc1=20%)",
        "qos(arc,prefetch=off,interval=3ms,profile=none,cp=90%)",
    ] {
        let specs = [spec.to_owned()];
        let (seen, recording) = recorded(&specs, GROUND, 2500, |work, step| work.everything(step));
        for (requests, counts) in seen[0].iter().filter(|(requests, _)| *requests > 0).step_by(250) {
            assert_same(spec, *requests, counts, &recording.simulate(&specs, GROUND, *requests)[0]);
        }
    }
}

/// Each request is one reference to data, and the counts are compared after each: so are the outcomes of all
/// references.
#[test]
fn a_recording_replayed_gives_the_same_hits_reference_by_reference() {
    let specs = specs();
    let (seen, recording) = recorded(&specs, GROUND, 700, |work, step| work.one_reference(step));
    for step in (0..seen[0].len()).filter(|&step| seen[0][step].0 > 0) {
        let requests = seen[0][step].0;
        let tallies = recording.simulate(&specs, GROUND, requests);
        for ((spec, seen), tally) in specs.iter().zip(&seen).zip(&tallies) {
            assert_same(spec, requests, &seen[step].1, tally);
        }
    }
    let last = &seen[0].last().expect("there are steps").1.total;
    assert!(last.references == last.requests && last.hits > 100 && last.misses() > 200, "{last:?}");
}

/// Where it is known what storage takes, a policy that goes by it decides live as it does on a simulated clock; and
/// otherwise than without.
#[test]
fn what_storage_takes_weighs_as_it_does_in_a_simulation() {
    let specs = [exact("auto")];
    let seen_on = |store| {
        let ground = Ground { store, ..GROUND };
        let (seen, recording) = recorded(&specs, ground, 4000, |work, step| work.reads(step));
        for (requests, counts) in seen[0].iter().filter(|(requests, _)| *requests > 0).step_by(397) {
            assert_same(&specs[0], *requests, counts, &recording.simulate(&specs, ground, *requests)[0]);
        }
        let total = seen[0].last().expect("there are steps").1.total;
        assert!(total.hits > 1000 && total.misses() > 1000, "{total:?}");
        total
    };
    let without = seen_on(None);
    for store in ["latency(time=2ms)", "ssd", "1ms,50M,2", "hdd"] {
        assert_ne!(seen_on(Some(store)), without, "{store}");
    }
}
