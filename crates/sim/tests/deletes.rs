//! Files that are deleted or cut lose their blocks at once, in every policy: cells, held and streamed, against a
//! simulation that could not be simpler, and curves against cells.

use std::collections::{HashSet, VecDeque};

use hotset_core::policy::PolicySpec;
use hotset_core::registry;
use hotset_core::request::{Op, Request};
use hotset_sim::curve::{LruCurve, OptCurve, SampledCurve, Shards};
use hotset_sim::grid::{self, Plan};
use hotset_sim::{BlockSize, Deletes, Options, Prepared, References, Silent, Tally, prepare, scan};
use hotset_trace::{Addressing, Held, Meta, Tables};

const BLOCK: u64 = 4096;

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) % below
}

fn requests(seed: u64, count: usize) -> Vec<Request> {
    requests_to(seed, count, 4)
}

/// Reads and writes of one to four blocks of files of up to 40 blocks, one request in ten a delete or a cut.
fn requests_to(seed: u64, count: usize, files: u64) -> Vec<Request> {
    let mut state = seed;
    let mut next = |below| random(&mut state, below);
    let mut request = || {
        let op = match next(20) {
            0 => Op::Unlink,
            1 => Op::Truncate,
            2..=7 => Op::Write,
            _ => Op::Read,
        };
        let offset = next(36) * BLOCK + next(2) * 100;
        let length = (next(3) * BLOCK + 1 + next(BLOCK)) as u32;
        Request { op: op as u8, offset, length, file: next(files) as u32, ..Request::default() }
    };
    (0..count).map(|_| request()).collect()
}

fn reader(requests: &[Request]) -> Box<Held> {
    let meta = Meta {
        format: "made",
        addressing: Addressing::Bytes { unit: None },
        has_time: false,
        has_ops: true,
        sample: None,
    };
    Box::new(Held::new(meta, Tables::default(), requests.to_vec()).in_batches(77))
}

fn prepared(requests: &[Request], deletes: Deletes, memory_bytes: u64) -> Prepared {
    let options = Options { block: Some(BlockSize::Bytes(BLOCK)), deletes, memory_bytes, ..Options::default() };
    prepare(reader(requests), &options, &Silent).unwrap().0
}

fn held(requests: &[Request]) -> References {
    match prepared(requests, Deletes::Apply, 1 << 30) {
        Prepared::Held(references) => references,
        Prepared::Stream(_) => panic!("it is small"),
    }
}

fn tallies(mut prepared: Prepared, policy: &str, sizes: impl Iterator<Item = u32>) -> Vec<Tally> {
    let spec = PolicySpec::parse(policy).unwrap();
    let args = spec.args(Some(BLOCK));
    let plan = |capacity| Plan { entry: spec.entry(), args: args.clone(), capacity, bytes: None, seed: 7 };
    grid::run(&mut prepared, &sizes.map(plan).collect::<Vec<_>>(), &Silent).unwrap().tallies
}

/// LRU by the book, block by block: hits, and blocks written back.
fn by_the_book(requests: &[Request], capacity: usize) -> (u64, u64) {
    let mut cache: VecDeque<(u32, u64)> = VecDeque::new();
    let mut dirty = HashSet::new();
    let (mut hits, mut write_backs) = (0, 0);
    for request in requests {
        let from = match request.op() {
            Op::Unlink => Some(0),
            Op::Truncate => Some(request.offset),
            _ => None,
        };
        if let Some(from) = from {
            let is_dead = |&(file, block): &(u32, u64)| file == request.file && block * BLOCK >= from;
            cache.retain(|block| !is_dead(block));
            dirty.retain(|block| !is_dead(block));
            continue;
        }
        let last = (request.offset + u64::from(request.length) - 1) / BLOCK;
        for block in (request.offset / BLOCK..=last).map(|block| (request.file, block)) {
            if let Some(at) = cache.iter().position(|&held| held == block) {
                cache.remove(at);
                hits += 1;
            } else if cache.len() == capacity {
                let victim = cache.pop_front().unwrap();
                write_backs += u64::from(dirty.remove(&victim));
            }
            cache.push_back(block);
            if request.op() == Op::Write {
                dirty.insert(block);
            }
        }
    }
    (hits, write_backs)
}

const SIZES: [u32; 6] = [1, 2, 7, 30, 100, 200];

#[test]
fn lru_loses_deleted_blocks_as_the_book_does() {
    for seed in 0..8 {
        let requests = requests(seed, 2_000);
        for memory in [1 << 30, 30_000, 0] {
            let counted = tallies(prepared(&requests, Deletes::Apply, memory), "lru", SIZES.into_iter());
            for (tally, size) in counted.iter().zip(SIZES) {
                let expected = by_the_book(&requests, size as usize);
                assert_eq!((tally.total.hits, tally.write_backs), expected, "seed {seed}, {size} blocks, {memory}");
            }
        }
    }
}

/// A stream looks blocks up by files; a held trace has their numbers.
#[test]
fn every_policy_loses_the_same_held_and_streamed() {
    let requests = requests(99, 6_000);
    for entry in registry::ENTRIES.iter().filter(|entry| !entry.info.offline) {
        let name = entry.info.name;
        let [held, streamed, kept] = [(Deletes::Apply, 1 << 30), (Deletes::Apply, 20_000), (Deletes::Ignore, 1 << 30)]
            .map(|(deletes, memory)| tallies(prepared(&requests, deletes, memory), name, [3, 20, 90].into_iter()));
        for (held, streamed) in held.iter().zip(streamed) {
            assert_eq!(*held, Tally { apps: Vec::new(), ..streamed }, "{name}");
        }
        assert_ne!(held, kept, "{name} is not told");
    }
}

/// One pass gives what a cell at each size gives.
#[test]
fn curves_agree_with_cells() {
    for seed in 0..6 {
        let requests = requests(seed, 1_200);
        let references = held(&requests);
        let (lru, opt) = (LruCurve::of(&references), OptCurve::of(&references).unwrap());
        let distinct = references.distinct();
        assert_eq!((lru.distinct, opt.distinct), (distinct.into(), distinct.into()));
        for (curve, policy) in [(&lru, "lru"), (&opt, "opt")] {
            let counted = tallies(prepared(&requests, Deletes::Apply, 1 << 30), policy, 1..=distinct + 1);
            for (tally, size) in counted.iter().zip(1..) {
                assert_eq!(tally.total.hits, curve.hits(size), "seed {seed}, {policy} of {size} blocks");
            }
        }
        assert!((1..200).all(|size| opt.hits(size) >= lru.hits(size)), "seed {seed}");
    }
}

fn sampled(requests: &[Request], mut shards: Shards) -> SampledCurve {
    let options = Options { block: Some(BlockSize::Bytes(BLOCK)), ..Options::default() };
    scan(&mut *reader(requests), &options, &Silent, |scanned| shards.take(scanned)).unwrap();
    shards.curve()
}

/// A sample of everything is exact, also where blocks were dropped from it, and one of many blocks is near.
#[test]
fn samples_agree_with_curves() {
    for seed in 0..6 {
        let requests = requests(seed, 1_200);
        let exact = LruCurve::of(&held(&requests));
        for shards in [Shards::fixed_rate(1.0, 3).unwrap(), Shards::fixed_size(1 << 20, 3)] {
            let sampled = sampled(&requests, shards);
            for size in 1..=exact.distinct + 1 {
                assert_eq!(sampled.curve.hits(size), exact.hits(size) as f64, "seed {seed}, {size} blocks");
            }
            assert_eq!(sampled.curve.distinct, exact.distinct as f64);
        }
    }
    let long = requests_to(1, 60_000, 300);
    let exact = LruCurve::of(&held(&long));
    let error = |shards| {
        let sampled = sampled(&long, shards);
        let sizes = (sampled.resolution..exact.distinct).step_by(97);
        let errors = sizes.map(|size| (sampled.curve.hit_ratio(size) - exact.hit_ratio(size)).abs());
        errors.fold(0.0, f64::max)
    };
    let kept = LruCurve::of(&match prepared(&long, Deletes::Ignore, 1 << 30) {
        Prepared::Held(references) => references,
        Prepared::Stream(_) => panic!("it is small"),
    });
    let told = (1..exact.distinct).map(|size| (kept.hit_ratio(size) - exact.hit_ratio(size)).abs()).fold(0.0, f64::max);
    for shards in [Shards::fixed_rate(0.3, 5).unwrap(), Shards::fixed_size(3_000, 5)] {
        let error = error(shards);
        assert!(error < told / 3.0, "{error} where deletes make {told}");
    }
}

/// Counts of the literature are of traces without deletes.
#[test]
fn ignoring_deletes_is_a_trace_without_them() {
    let requests = requests(5, 3_000);
    let data: Vec<Request> = requests.iter().copied().filter(|request| request.op().is_data()).collect();
    for policy in ["lru", "arc", "opt"] {
        let ignored = tallies(prepared(&requests, Deletes::Ignore, 1 << 30), policy, SIZES.into_iter());
        assert_eq!(ignored, tallies(prepared(&data, Deletes::Apply, 1 << 30), policy, SIZES.into_iter()), "{policy}");
    }
}
