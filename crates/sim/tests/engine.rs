//! The engine against a simulation that could not be simpler: requests of several blocks, reads and writes, several
//! applications and files, through both directories and any memory budget.

use std::collections::{HashSet, VecDeque};

use hotset_core::policy::PolicySpec;
use hotset_core::registry;
use hotset_core::request::{FLAG_CONTINUED, Op, Request};
use hotset_sim::grid::{self, Plan};
use hotset_sim::select::{Filter, Selected, Selection, Warmup};
use hotset_sim::{BlockSize, Counters, Maps, Options, Prepared, Silent, Tally, prepare};
use hotset_trace::{Addressing, Held, Meta, Tables};

/// A trace handed over in batches of an odd size.
fn made(requests: &[Request], batch: usize) -> Box<Held> {
    let meta = Meta {
        format: "made",
        addressing: Addressing::Bytes { unit: None },
        has_time: false,
        has_ops: true,
        sample: None,
    };
    Box::new(Held::new(meta, Tables::default(), requests.to_vec()).in_batches(batch))
}

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) % below
}

/// Requests of 0 to 40 blocks over three files and four applications, a third of them writes.
fn requests(seed: u64, count: usize) -> Vec<Request> {
    let mut state = seed;
    let mut next = |below| random(&mut state, below);
    let mut made: Vec<Request> = Vec::new();
    for _ in 0..count {
        let long = if next(50) == 0 { 160_000 } else { 9_000 };
        let op = [Op::Read, Op::Read, Op::Write, Op::Map, Op::Stat, Op::Sync][next(6) as usize];
        let request = Request {
            op: op as u8,
            offset: next(60) * 3_000,
            length: next(long) as u32,
            file: next(3) as u32,
            app: next(4) as u32,
            ..Request::default()
        };
        made.push(request);
        if next(20) == 0 {
            let length = 5_000;
            made.push(Request {
                offset: request.offset + u64::from(request.length),
                length,
                flags: FLAG_CONTINUED,
                ..request
            });
        }
    }
    made
}

/// LRU by the book, block by block.
fn by_the_book(requests: &[Request], capacity: usize) -> Tally {
    let mut cache: VecDeque<(u32, u64)> = VecDeque::new();
    let mut dirty = HashSet::new();
    let mut tally = Tally { apps: vec![Counters::default(); 4], ..Tally::default() };
    let mut counted_missed = false;
    let mut in_hand = [None; 4];
    for request in requests.iter().filter(|request| request.op().is_data() && request.length > 0) {
        let write = request.op() == Op::Write;
        let begins = request.flags & FLAG_CONTINUED == 0;
        let mut missed = false;
        let (first, last) = (request.offset / 4096, (request.offset + u64::from(request.length) - 1) / 4096);
        let mut counters = Counters::default();
        for block in (first..=last).map(|block| (request.file, block)) {
            counters.references += 1;
            counters.read_references += u64::from(!write);
            let repeats = in_hand[request.app as usize].replace(block) == Some(block) && !write;
            tally.repeats.references += u64::from(repeats);
            if let Some(at) = cache.iter().position(|&held| held == block) {
                cache.remove(at);
                counters.hits += 1;
                counters.read_hits += u64::from(!write);
                tally.repeats.hits += u64::from(repeats);
            } else {
                missed = true;
                if cache.len() == capacity {
                    let victim = cache.pop_front().unwrap();
                    tally.write_backs += u64::from(dirty.remove(&victim));
                }
            }
            cache.push_back(block);
            if write {
                dirty.insert(block);
            }
        }
        if begins {
            counters.requests = 1;
            counters.write_requests = u64::from(write);
            counters.read_requests = u64::from(!write);
            counted_missed = false;
        }
        if missed && !counted_missed {
            counted_missed = true;
            counters.request_misses = 1;
            counters.read_request_misses = u64::from(!write);
        }
        for sum in [&mut tally.total, &mut tally.apps[request.app as usize]] {
            *sum = add(sum, &counters);
        }
    }
    tally
}

fn add(left: &Counters, right: &Counters) -> Counters {
    Counters {
        references: left.references + right.references,
        hits: left.hits + right.hits,
        read_references: left.read_references + right.read_references,
        read_hits: left.read_hits + right.read_hits,
        requests: left.requests + right.requests,
        request_misses: left.request_misses + right.request_misses,
        read_requests: left.read_requests + right.read_requests,
        read_request_misses: left.read_request_misses + right.read_request_misses,
        write_requests: left.write_requests + right.write_requests,
    }
}

fn replay(requests: &[Request], plans: &[Plan], batch: usize, memory_bytes: u64) -> Vec<Tally> {
    let options = Options { block: Some(BlockSize::Bytes(4096)), maps: Maps::All, memory_bytes, ..Options::default() };
    let (mut prepared, _) = prepare(made(requests, batch), &options, &Silent).unwrap();
    assert_eq!(matches!(prepared, Prepared::Held(_)), memory_bytes > 1 << 30);
    grid::run(&mut prepared, plans, &Silent).unwrap().tallies
}

fn plan(policy: &str, capacity: u32) -> Plan {
    let spec = PolicySpec::parse(policy).unwrap();
    Plan { entry: spec.entry(), args: spec.args(Some(4096)), capacity, bytes: None, seed: 7 }
}

#[test]
fn lru_counts_everything_as_the_book_does() {
    for seed in 0..8 {
        let requests = requests(seed, 3_000);
        let capacities = [30, 1, 2, 100, 7, 2, 1000];
        let expected = capacities.map(|capacity| by_the_book(&requests, capacity as usize));
        for (batch, memory) in [(1, u64::MAX), (777, u64::MAX), (100_000, u64::MAX), (64, 0), (1_000, 60_000)] {
            let plans = capacities.map(|capacity| plan("lru", capacity));
            let together = replay(&requests, &plans, batch, memory);
            for ((plan, expected), together) in plans.iter().zip(&expected).zip(together) {
                let alone = replay(&requests, std::slice::from_ref(plan), batch, memory).remove(0);
                let at = format!("seed {seed}, capacity {}, batch {batch}, memory {memory}", plan.capacity);
                assert_eq!(alone, *expected, "{at}");
                assert_eq!(together, *expected, "{at}, beside other sizes");
            }
        }
    }
}

/// From 32 sizes on, a trace that only reads is counted by stack depths: the same as each size alone, with parts that
/// are not counted, several windows, equal sizes and sizes beyond the footprint.
#[test]
fn many_sizes_of_a_trace_that_only_reads_count_as_each_alone() {
    let selection = Selection {
        warmup: Some(Warmup::References(2_000)),
        count_only: Filter::parse("from=3000").unwrap(),
        ..Selection::default()
    };
    let reads: Vec<Request> =
        requests(9, 60_000).into_iter().filter(|request| matches!(request.op(), Op::Read | Op::Map)).collect();
    let options = Options { block: Some(BlockSize::Bytes(4096)), maps: Maps::All, ..Options::default() };
    let run = |plans: &[Plan]| {
        let reader = Selected::new(made(&reads, 500), &selection, &options).unwrap();
        let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
        grid::run(&mut prepared, plans, &Silent).unwrap().tallies
    };
    let sizes = (1..40).rev().chain([7, 60, 61, 90, 300, 100_000]);
    let plans: Vec<Plan> = sizes.map(|capacity| plan("lru", capacity)).collect();
    let alone: Vec<Tally> = plans.iter().flat_map(|plan| run(std::slice::from_ref(plan))).collect();
    assert_eq!(run(&plans), alone);
    let hits: HashSet<u64> = alone.iter().map(|tally| tally.total.hits).collect();
    assert!(hits.len() > 30 && alone[0].repeats.hits > 0 && alone[0].apps.len() == 4);
    // Plans of other policies are unaffected.
    let mixed: Vec<Plan> = plans.iter().cloned().chain([plan("fifo", 20)]).collect();
    assert_eq!(run(&mixed)[..plans.len()], alone);
}

/// A warm-up and writes that are not counted fall between counted references.
#[test]
fn sizes_beside_others_leave_out_what_each_alone_leaves_out() {
    let selection = Selection {
        warmup: Some(Warmup::References(2_000)),
        count_only: Filter::parse("ops=reads").unwrap(),
        ..Selection::default()
    };
    for memory_bytes in [0, u64::MAX] {
        let options =
            Options { block: Some(BlockSize::Bytes(4096)), maps: Maps::All, memory_bytes, ..Options::default() };
        let run = |plans: &[Plan]| {
            let reader = Selected::new(made(&requests(5, 8_000), 500), &selection, &options).unwrap();
            let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
            grid::run(&mut prepared, plans, &Silent).unwrap().tallies
        };
        let plans = [1, 3, 8, 20, 60, 61, 90, 300].map(|capacity| plan("lru", capacity));
        let alone: Vec<Tally> = plans.iter().flat_map(|plan| run(std::slice::from_ref(plan))).collect();
        assert_eq!(run(&plans), alone);
        assert!(alone.iter().all(|tally| tally.total.write_requests == 0 && tally.total.hits > 0));
        assert!(alone[0].write_backs > 0 && alone[0].repeats.hits > 0);
    }
}

#[test]
fn every_policy_counts_the_same_held_and_streamed() {
    let requests = requests(99, 20_000);
    let online = registry::ENTRIES.iter().filter(|entry| !entry.info.offline);
    let plans: Vec<Plan> = online
        .flat_map(|entry| {
            [1, 5, 60, 500].map(|capacity| Plan {
                entry,
                args: entry.defaults(Some(4096)),
                capacity,
                bytes: None,
                seed: 7,
            })
        })
        .collect();
    let held = replay(&requests, &plans, 5_000, u64::MAX);
    for memory in [0, 200_000] {
        for ((plan, held), streamed) in plans.iter().zip(&held).zip(replay(&requests, &plans, 333, memory)) {
            assert_eq!(*held, streamed, "{} at {}", plan.entry.info.name, plan.capacity);
        }
    }
}

#[test]
fn offline_policies_are_bounds_and_are_refused_on_streams() {
    let requests = requests(5, 5_000);
    let offline = registry::ENTRIES.iter().filter(|entry| entry.info.offline);
    for entry in offline {
        let capacity = 50;
        let bound = replay(&requests, &[plan(entry.info.name, capacity)], 100, u64::MAX).remove(0);
        let lru = replay(&requests, &[plan("lru", capacity)], 100, u64::MAX).remove(0);
        if entry.info.family == "optimal" {
            assert!(bound.total.hits >= lru.total.hits, "{}", entry.info.name);
        }
        let options = Options { maps: Maps::All, memory_bytes: 0, ..Options::default() };
        let (mut prepared, _) = prepare(made(&requests, 100), &options, &Silent).unwrap();
        let refused = grid::run(&mut prepared, &[plan(entry.info.name, capacity)], &Silent).unwrap_err();
        assert!(refused.to_string().contains("raise `memory`"), "{refused}");
    }
}

/// Also where the policy is inside of another one.
#[test]
fn a_quantum_that_follows_the_load_needs_a_storage_model() {
    let requests = requests(6, 100);
    for policy in ["virtual(lru,quantum=auto)", "equal(virtual(lru,quantum=auto),prefetch=off)"] {
        let (mut prepared, _) = prepare(made(&requests, 100), &Options::default(), &Silent).unwrap();
        let refused = grid::run(&mut prepared, &[plan(policy, 50)], &Silent).unwrap_err();
        assert!(refused.to_string().contains("set a storage model"), "{refused}");
    }
}
