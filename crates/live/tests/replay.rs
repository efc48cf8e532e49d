//! What is simulated is what runs: a recording of the live cache, replayed by the simulator at the same spec and size, gives the same
//! hits and misses after every request, for every scheme that can run.

mod support;

use std::path::Path;

use hotset_core::counters::Counters;
use hotset_core::parts::random::Random;
use hotset_core::registry;
use hotset_core::request::{Op, Request};
use hotset_core::spec::PolicySpec;
use hotset_live::{Cache, Counts, Recording};
use hotset_sim::grid::{self, Plan};
use hotset_sim::{BlockSize, Options, Silent, Tally, prepare};
use hotset_trace::{Batch, Meta, OpenOptions, Tables, TraceError, TraceReader, formats, open};

use support::{Opened, pattern, settings};

const BLOCK: u64 = 4096;
const MEMORY: u64 = 64 * BLOCK;

/// Specs beyond the defaults: policies in policies, parts of several block sizes.
const MORE: [&str; 12] = [
    "bypass(2q,texture)",
    "bypass(arc,config)",
    "demote(arc,mru,client=30%)",
    "demote(s3-fifo,lirs)",
    "render(texture=50%,shadow=literal)",
    "render(adapt=off)",
    "attribute(16K/128 id, x/4K temporal, 128K/64K sequential)",
    "attribute(8K/512 id, x/16K general, lookup=full, atime=off)",
    "unix(inodes=8K, block=8K)",
    "qos(lru, interval=100, blender=50%, cc1=20%)",
    "ucp(arc, interval=200)",
    "equal(lfu)",
];

fn specs() -> Vec<String> {
    let runs = |name: &str| !PolicySpec::parse(name).unwrap().is_offline();
    let named = registry::all().map(|entry| entry.info.name.to_owned());
    let served = |name: String| PolicySpec::parse(&name).unwrap().serving().to_string();
    named.chain(MORE.map(str::to_owned)).filter(|spec| runs(spec)).map(served).collect()
}

const FILES: [(&str, usize); 6] = [
    ("/data/wood.png", 90_000),
    ("/data/scene.blend", 30_001),
    ("/data/render.py", 700),
    ("/data/large.bin", 700_000),
    ("/data/grows.bin", 500_000),
    ("/out/frame.png", 0),
];

/// Reads, writes, cuts and calls that move no data; after each, how many requests there were and what was counted.
fn work(spec: &str, recording: &Path) -> Vec<(usize, Counts)> {
    let recording = Recording::create(recording, BLOCK, spec).unwrap();
    let cache = Cache::new(&settings(spec, MEMORY), Some(recording)).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let apps = ["blender", "cc1", "cp"].map(|name| cache.app(name));
    let files: Vec<Opened> =
        (0..).zip(FILES).map(|(seed, (path, size))| Opened::new(&cache, path, pattern(seed, size))).collect();
    let mut models: Vec<Vec<u8>> = files.iter().map(|file| file.store.bytes()).collect();
    let mut random = Random::new(7);
    let (mut requests, mut seen) = (0, Vec::new());
    for step in 0..2500u64 {
        let number = random.below(files.len() as u32) as usize;
        let (file, model) = (&files[number], &mut models[number]);
        let access = file.access(apps[random.below(3) as usize]);
        // Loops and sequences, with places drawn at random between them.
        let span = model.len().max(1) as u64;
        let offset = if random.below(3) == 0 { u64::from(random.below(span as u32)) } else { step * 6000 % span };
        let most = if random.below(8) == 0 { 200_000 } else { 9_000 };
        let length = 1 + random.below(most) as usize;
        match random.below(20) {
            0..14 => {
                let read = cache.read(&access, offset, length).unwrap();
                let end = model.len().min(offset as usize + length);
                assert!(read == model[(offset as usize).min(end)..end], "{spec}: wrong bytes at step {step}");
                requests += usize::from(!read.is_empty());
            }
            14..17 => {
                let bytes = pattern(step, length.min(20_000));
                assert_eq!(cache.write(&access, offset, &bytes).unwrap(), bytes.len());
                model.resize(model.len().max(offset as usize + bytes.len()), 0);
                model[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
                requests += 1;
            }
            17 if random.below(4) == 0 => {
                let size = model.len() as u64 * 3 / 4;
                cache.set_len(&access, size).unwrap();
                model.truncate(size as usize);
                requests += 1;
            }
            18 if random.below(30) == 0 => {
                cache.note(Op::Unlink, file.number, 0, 0, false);
                requests += 1;
            }
            _ => {
                let op = [Op::Open, Op::Stat, Op::List, Op::Exec][random.below(4) as usize];
                let length = if op == Op::List { 512 } else { 0 };
                cache.note(op, file.number, access.app, length, random.below(9) == 0);
                requests += 1;
            }
        }
        seen.push((requests, cache.counts().0));
        if step % 100 == 0 {
            cache.validate();
        }
    }
    for (file, model) in files.iter().zip(&models) {
        assert!(file.store.bytes() == *model, "{spec}: what was written is not in the store");
    }
    cache.finish().unwrap();
    seen
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
    fn simulate(&self, specs: &[String], requests: usize) -> Vec<Tally> {
        let batch = Batch {
            requests: self.all.requests[..requests].to_vec(),
            file_sizes: self.all.file_sizes[..requests].to_vec(),
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
                Plan { info: spec.info(), args: spec.args(Some(BLOCK)), capacity: (MEMORY / BLOCK) as u32, seed: 1 }
            })
            .collect();
        grid::run(&mut prepared, &plans, &Silent).unwrap().tallies
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
    let folder = tempfile::tempdir().unwrap();
    let specs = specs();
    assert!(specs.len() > 45, "every scheme that can run");
    let path = |number: usize| folder.path().join(format!("{number}.hst"));
    let seen: Vec<Vec<(usize, Counts)>> =
        specs.iter().enumerate().map(|(number, spec)| work(spec, &path(number))).collect();
    let recording = Held::read(&path(0));
    for (number, spec) in specs.iter().enumerate() {
        assert!(Held::read(&path(number)).timeless() == recording.timeless(), "{spec} was asked something else");
    }
    let steps = seen[0].len();
    // Every request at first, then now and then, and the last.
    let checks = (0..100).chain((100..steps).step_by(61)).chain([steps - 1]);
    for step in checks.filter(|&step| seen[0][step].0 > 0) {
        let requests = seen[0][step].0;
        let tallies = recording.simulate(&specs, requests);
        for ((spec, seen), tally) in specs.iter().zip(&seen).zip(&tallies) {
            assert_eq!(seen[step].0, requests);
            assert_same(spec, requests, &seen[step].1, tally);
        }
    }
    let last = &seen[0][steps - 1];
    assert_eq!(last.0, recording.all.len());
    assert!(last.1.total.hits > 500 && last.1.total.misses() > 500, "{:?}", last.1.total);
}
