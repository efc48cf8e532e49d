use hotset_core::policy::PolicySpec;
use hotset_core::request::{Op, Request};
use hotset_core::storage::StorageModel;
use hotset_trace::{Addressing, Held, Meta, Tables};

use super::*;
use crate::engine::Plan;
use crate::engine::Tally;
use crate::expand::options::Options;
use crate::grid::run_timed;
use crate::references::prepare::{self, Prepared};
use crate::{BlockSize, Silent};

const META: Meta =
    Meta { format: "test", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

const MS: u64 = 1_000_000;

fn references(requests: &[Request]) -> References {
    let apps = ["a", "b", "c"].map(str::to_owned).to_vec();
    let reader = Held::new(META, Tables { apps, ..Tables::default() }, requests.to_vec());
    let options = Options { block: Some(BlockSize::Bytes(4096)), keep_times: true, ..Default::default() };
    match prepare::prepare(Box::new(reader), &options, &Silent).unwrap().0 {
        Prepared::Held(references) => references,
        Prepared::Stream(_) => unreachable!("it is small"),
    }
}

fn plan(spec: &str, capacity: u32) -> Plan {
    let spec = PolicySpec::parse(spec).unwrap();
    Plan { entry: spec.entry(), args: spec.args(Some(4096)), capacity, bytes: None, seed: 1 }
}

/// A read of one block at so many milliseconds.
fn read(app: u32, time: u64, block: u64) -> Request {
    Request { time: time * MS, app, file: app, offset: block * 4096, length: 4096, ..Request::default() }
}

/// Three applications: loops of different lengths, some writes, some long requests.
fn mixed() -> Vec<Request> {
    (0..6000u64)
        .map(|step| {
            let app = (step % 7 % 3) as u32;
            let length = if step % 11 == 0 { 5 * 4096 } else { 4096 };
            let op = if step % 5 == 0 { Op::Write } else { Op::Read } as u8;
            Request { op, length, ..read(app, step, step * step % (40 + 90 * u64::from(app))) }
        })
        .collect()
}

/// The results of a replay.
struct Replayed {
    tally: Tally,
    samples: Vec<IntervalSample>,
}

fn run_one(requests: &[Request], spec: &str, capacity: u32, disk: Option<&str>, every: Option<Every>) -> Replayed {
    let options =
        ClockOptions { store: disk.map(|disk| StorageModel::parse(disk).unwrap()), every, ..ClockOptions::default() };
    let mut held = Prepared::Held(references(requests));
    let mut replayed = run_timed(&mut held, &[plan(spec, capacity)], &options, &Silent).unwrap();
    Replayed { tally: replayed.tallies.remove(0), samples: replayed.samples.remove(0) }
}

#[test]
fn without_a_disk_it_counts_as_the_grid_does() {
    for spec in [
        "lru",
        "arc",
        "s3-fifo",
        "qos(lru,prefetch=off,a=50%,profile=none,interval=500)",
        "virtual(lru,queue=300,quantum=100)",
    ] {
        let mut prepared = Prepared::Held(references(&mixed()));
        let expected = crate::grid::run(&mut prepared, &[plan(spec, 50)], &Silent).unwrap().tallies.remove(0);
        let timed = run_one(&mixed(), spec, 50, None, Some(Every::References(1000)));
        assert_eq!(timed.tally, expected, "{spec}");
        let hits: u64 = timed.samples.iter().flat_map(|sample| &sample.points).map(|point| point.hits).sum();
        assert_eq!(hits, expected.total.hits, "{spec}");
        assert!(timed.samples[..6].iter().all(|sample| {
            sample.points.iter().map(|point| point.references).sum::<u64>() == 1000
                && sample.points.iter().map(|point| point.resident).sum::<u32>() <= 50
        }));
        assert_eq!(timed.samples.last().unwrap().points.iter().any(|point| point.room.is_some()), spec.contains('('));
    }
}

/// Worked by hand: a read that misses takes 10 ms, one that hits 1 ms; the time between requests is work.
#[test]
fn who_hits_finishes_earlier() {
    let alone = [read(0, 5, 1), read(0, 7, 1), read(0, 8, 2), read(0, 20, 1)];
    let timed = run_one(&alone, "lru", 2, Some("latency(time=10ms,hit=1ms)"), None);
    // 0 to 10, work 2, 12 to 13, work 1, 14 to 24, work 12, 36 to 37.
    let times = timed.tally.times.unwrap();
    assert_eq!((times.finish, times.disk_busy), (37 * MS, 20 * MS));
    assert_eq!(times.apps, [AppTimes { app: 0, requests: 4, finish: 37 * MS, service: 22 * MS }]);
    let small = run_one(&alone, "lru", 1, Some("latency(time=10ms,hit=1ms)"), None).tally.times.unwrap();
    assert_eq!(small.finish, 46 * MS, "the last one misses too");
}

/// One disk: later requests wait.
#[test]
fn misses_queue() {
    let both = [read(0, 0, 1), read(1, 2, 1)];
    let times = run_one(&both, "lru", 9, Some("latency(time=10ms,hit=1ms)"), None).tally.times.unwrap();
    assert_eq!(times.apps.iter().map(|app| app.finish).collect::<Vec<_>>(), [10 * MS, 20 * MS]);
    assert_eq!(times.apps[1].service, 18 * MS);
}

/// Blocks that are written back occupy the disk; only the next request waits for them.
#[test]
fn what_nobody_waits_for_delays_the_next() {
    let write = Request { op: Op::Write as u8, ..read(0, 0, 1) };
    let requests = [write, read(0, 10, 2), read(1, 12, 3)];
    let times = run_one(&requests, "lru", 1, Some("latency(time=10ms,hit=1ms)"), None).tally.times.unwrap();
    // The write takes 1; the read at 11 waits until 21, the write-back of block 1 goes on until 31, the other's read
    // until 41.
    assert_eq!(times.apps.iter().map(|app| app.finish).collect::<Vec<_>>(), [21 * MS, 41 * MS]);
    assert_eq!(times.disk_busy, 30 * MS);
}

#[test]
fn what_has_no_time_is_refused() {
    let refused = |spec: &str, disk: Option<&str>, every| {
        let options = ClockOptions {
            store: disk.map(|disk| StorageModel::parse(disk).unwrap()),
            every,
            ..ClockOptions::default()
        };
        let mut held = Prepared::Held(References::from_ids(vec![0, 1, 0]));
        run_timed(&mut held, &[plan(spec, 2)], &options, &Silent).unwrap_err().to_string()
    };
    assert!(refused("lru", Some("disk"), None).starts_with("the trace has no times"));
    assert!(refused("lru", None, Some(Every::Time(1))).starts_with("the trace has no times"));
}

/// A reader of 100 blocks in order, one a millisecond, who starts at the beginning of a file.
fn sequential() -> Vec<Request> {
    (0..100).map(|block| read(0, block, block)).collect()
}

#[test]
fn sequential_readers_are_read_ahead_of() {
    let sequential = sequential();
    let counts = |spec: &str, capacity: u32| {
        let tally = run_one(&sequential, spec, capacity, None, None).tally;
        (tally.total.hits, tally.extra_reads, tally.extra.prefetch_reads)
    };
    assert_eq!(
        counts("shared(lru)", 64),
        (99, 99, 99),
        "only the first block is waited for; the file ends with the last"
    );
    assert_eq!(counts("shared(lru,prefetch=off)", 64), (0, 0, 0));
    assert_eq!(counts("shared(lru)", 1), (0, 0, 0), "it does not fit");
    assert_eq!(counts("equal(shared(lru),prefetch=off)", 64), (99, 99, 99), "a policy inside asks for it");
    let mut held = Prepared::Held(references(&self::sequential()));
    let tallies = crate::grid::run(&mut held, &[plan("shared(lru)", 64), plan("lru", 64)], &Silent).unwrap().tallies;
    assert_eq!([tallies[0].total.hits, tallies[1].total.hits], [99, 0], "a grid runs such cells on a machine");
    let backwards = (0..100).map(|step| read(0, step, 99 - step)).collect::<Vec<_>>();
    assert_eq!(run_one(&backwards, "shared(lru)", 64, None, None).tally.extra_reads, 0);
}

/// Blocks between those that the trace refers to are read, too, and take room.
#[test]
fn holes_are_read_ahead_as_well() {
    let holes: Vec<Request> = [0, 1, 2, 3, 4, 40].iter().zip(0..).map(|(&block, time)| read(0, time, block)).collect();
    let tally = run_one(&holes, "shared(lru)", 128, None, None).tally;
    assert_eq!(tally.extra.prefetch_reads, 27, "windows 1..4, 4..12, 12..28; block 0 is a miss");
    assert_eq!(tally.total.hits, 4);
}

/// Worked by hand: a request for blocks in transfer waits for them, and no longer.
#[test]
fn a_block_that_is_on_its_way_is_waited_for() {
    let requests = [read(0, 0, 0), read(0, 1, 1), read(0, 30, 2), read(0, 31, 3)];
    let time = |spec: &str| {
        let times = run_one(&requests, spec, 64, Some("latency(time=10ms,hit=1ms)"), None).tally.times.unwrap();
        (times.apps[0].service / MS, times.disk_busy / MS)
    };
    // Block 0 until 10, and block 1 in the same run. Three hits of 1, of which the first has blocks 2 and 3 read.
    assert_eq!(time("shared(lru)"), (13, 20));
    // Block 1 is requested at 11, and is a separate run, since the disk was idle for 1.
    assert_eq!(time("shared(lru,prefetch=off)"), (40, 40));
    // A turning disk (seek 5, half a turn 3, 1 a block) has blocks 1 to 3 at 10, 11, 12. Block 1 is asked for at 10.
    let disk = Some("disk(seek=5ms,rotation=6ms,transfer=4000K,hit=1ms)");
    let times = run_one(&requests, "shared(lru)", 64, disk, None).tally.times.unwrap();
    assert_eq!((times.apps[0].service / MS, times.disk_busy / MS), (9 + 1 + 1 + 1, 12));
}

/// Every policy takes blocks that are read ahead, evicts for them, and grows for those that the trace never refers to.
#[test]
fn every_policy_can_be_read_ahead_for() {
    let requests: Vec<Request> = (0..3000u64)
        .map(|step| {
            let scan = read(1, step, step / 2 * 3 % 500);
            if step % 2 == 0 { read(0, step, step * step % 90) } else { Request { length: 3 * 4096, ..scan } }
        })
        .collect();
    for entry in hotset_core::registry::all() {
        let spec = format!("shared({})", entry.info.name);
        let Ok(resolved) = PolicySpec::parse(&spec) else { continue };
        if resolved.is_offline() || resolved.entry().requirements(&resolved.args(Some(4096)), 64).is_err() {
            continue;
        }
        let timed = run_one(&requests, &spec, 64, None, Some(Every::References(100)));
        let resident = |sample: &IntervalSample| sample.points.iter().map(|point| point.resident).sum::<u32>();
        assert!(timed.samples.iter().all(|sample| resident(sample) <= 64), "{spec}");
        assert!(timed.tally.extra.prefetch_reads > 100, "{spec}");
        let reads = timed.tally.total.references - timed.tally.total.hits + timed.tally.extra_reads;
        assert!(reads >= u64::from(references(&requests).distinct()), "{spec}");
    }
}

/// A share of the run is that much of its time, or of its references where it has no times.
#[test]
fn intervals_may_be_shares_of_the_run() {
    let of = |requests: &[Request], spec: &str| run_one(requests, spec, 60, None, None).tally;
    let spec = |interval: &str| format!("qos(lru,a=50%,b=30%,interval={interval})");
    let (timed, last) = (mixed(), mixed().last().unwrap().time);
    assert_eq!(of(&timed, &spec("20%")), of(&timed, &spec(&format!("{}ns", last / 5))));
    assert_ne!(of(&timed, &spec("20%")).decisions, of(&timed, &spec("2%")).decisions);
    let timeless: Vec<Request> = timed.iter().map(|request| Request { time: 0, ..*request }).collect();
    // A share is rounded to the nearest number of references.
    let fifth = (references(&timeless).len() + 2) / 5;
    assert_eq!(of(&timeless, &spec("20%")), of(&timeless, &spec(&fifth.to_string())));
}

/// The rates of an application alone are measured with read-ahead, as it will run.
#[test]
fn profiles_are_read_ahead_for() {
    let both: Vec<Request> =
        (0..200).map(|step| read((step % 2) as u32, step, if step % 2 == 0 { step / 2 } else { step % 7 })).collect();
    let references = references(&both);
    let clock = Clock::new(&references);
    let rates = |spec: &str| apps(&clock, &plan(spec, 64)).unwrap().remove(0).profile;
    assert_eq!(rates("qos(lru)"), [(1, 0.0), (32, 99.0), (64, 99.0)]);
    assert_eq!(rates("qos(lru,prefetch=off)"), [(1, 0.0), (32, 0.0), (64, 0.0)]);
    assert_eq!(rates("qos(lru,points=5)").iter().map(|point| point.0).collect::<Vec<_>>(), [1, 16, 32, 48, 64]);
}

/// `best` has the hits of the best fixed division, except for those before both applications have come.
#[test]
fn the_best_division_is_as_good_as_any() {
    let requests: Vec<Request> = (0..4000u64)
        .map(|step| match step % 3 {
            0 => read(0, step, step / 3 % 30),
            _ => read(1, step, step * step % 7919 % 97),
        })
        .collect();
    let references = references(&requests);
    let clock = Clock::new(&references);
    let around = plan("best(lru,prefetch=off,steps=40)", 40);
    let lru = PolicySpec::parse("lru").unwrap();
    let alone = |app: u32, blocks: u32| match blocks {
        0 => 0,
        _ => clock.alone(app, &lru, blocks, &around).unwrap().unwrap().hits,
    };
    let most = (0..=40).map(|one| alone(0, one) + alone(1, 40 - one)).max().unwrap();
    let hits = |spec: &str| run_one(&requests, spec, 40, None, None).tally.total.hits;
    let best = hits("best(lru,prefetch=off,steps=40)");
    assert!((most - 40..=most).contains(&best), "{best} of {most}");
    assert!(best > hits("equal(lru,prefetch=off)"), "{best}");
    assert_eq!(hits("best(lru,prefetch=off,profile=none)"), hits("equal(lru,prefetch=off)"));
}

/// A loop of 200 blocks hits position 199 of its queue, which is in the eighth of 16 parts of 400.
#[test]
fn the_queue_is_shown_where_it_is_hit() {
    let requests: Vec<Request> = (0..2000).map(|step| read(0, step, step % 200)).collect();
    let timed = run_one(&requests, "virtual(lru,queue=400,quantum=100)", 32, None, Some(Every::References(1000)));
    let heat = timed.samples[1].points[0].queue.as_ref().expect("it has a queue");
    assert_eq!((heat.blocks, heat.bands.len()), (400, BANDS));
    let hottest = (0..BANDS).max_by(|&a, &b| heat.bands[a].total_cmp(&heat.bands[b])).unwrap();
    assert_eq!(hottest, 199 * BANDS / 400);
    assert!(run_one(&requests, "lru", 32, None, Some(Every::References(1000))).samples[1].points[0].queue.is_none());
}
