//! Objects that expire, against a slow model and by hand; and caches measured in bytes of objects.

use std::collections::HashMap;
use std::path::Path;

use hotset_core::random::Rng;
use hotset_results::Row;
use hotset_sim::curve::{ByteCurves, BytePoint, Curves, Points, Sample};
use hotset_sim::sweep::Sweep;
use hotset_sim::{Options, Silent, Ttl};
use hotset_trace::formats::{BUILTIN, OpenOptions};

/// One line of a trace: second, object, whether it writes, bytes and time to live in seconds.
type Line = (u64, u64, bool, u32, u64);

fn csv(lines: &[Line]) -> String {
    let row =
        |&(time, id, write, size, ttl): &Line| format!("{time},{id},{},{size},{ttl}\n", if write { 'W' } else { 'R' });
    format!("time_s,id,op,size,ttl\n{}", lines.iter().map(row).collect::<String>())
}

fn replay(lines: &[Line], policies: &str, sizes: &str, options: Options) -> Vec<Row> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, csv(lines)).unwrap();
    let open = || hotset_trace::open(Path::new(&path), BUILTIN, &OpenOptions::default());
    let sweep = Sweep { options, ..Sweep::parse(policies, sizes).unwrap() };
    sweep.run("t", open, &Silent).unwrap().rows
}

fn hits(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| row.counts.hits).collect()
}

fn random_lines(seed: u32, count: u64) -> Vec<Line> {
    let mut random = Rng::new(seed.into());
    let mut line = |number: u64| {
        let id = random.below(30).min(random.below(30));
        let ttl = [0, 0, 3, 20, 100][random.below(5) as usize];
        (number + u64::from(random.below(3)), id.into(), random.below(4) == 0, 1 + id % 7, ttl)
    };
    (0..count).map(&mut line).collect()
}

/// Hits of LRU by the book: a version ends by the last write or by the read that began it.
fn by_the_book(lines: &[Line], capacity: usize) -> u64 {
    let mut ends: HashMap<u64, u64> = HashMap::new();
    let (mut cache, mut hits) = (Vec::new(), 0);
    for &(time, id, write, _, ttl) in lines {
        let has_ended = ends.get(&id).is_some_and(|&end| end <= time);
        if has_ended {
            cache.retain(|&other| other != id);
            ends.remove(&id);
        }
        if write {
            ends.remove(&id);
        }
        if ttl > 0 {
            ends.entry(id).or_insert(time + ttl);
        }
        hits += u64::from(cache.contains(&id));
        cache.retain(|&other| other != id);
        cache.insert(0, id);
        cache.truncate(capacity);
    }
    hits
}

#[test]
fn a_version_ends_after_its_time() {
    // Written for 10 s at 0; read at 9 and 10; the read at 10 begins a version of 5 s, which the read at 14 does not
    // renew; a write without a time at 15 lasts.
    let lines = [(0, 1, true, 1, 10), (9, 1, false, 1, 5), (10, 1, false, 1, 5), (14, 1, false, 1, 5)];
    let more = [(15, 1, false, 1, 0), (16, 1, true, 1, 0), (999, 1, false, 1, 0)];
    let rows = replay(&[&lines[..], &more].concat(), "lru", "2 blocks", Options::default());
    assert_eq!(hits(&rows), [4], "at 9, 14, 16 and 999");
    let ignored =
        replay(&[&lines[..], &more].concat(), "lru", "2 blocks", Options { ttl: Ttl::Ignore, ..Options::default() });
    assert_eq!((hits(&ignored), ignored[0].choice.ttl.as_deref()), (vec![6], Some("ignore")));
}

#[test]
fn expiry_is_that_of_the_book_held_and_streamed() {
    for seed in 0..20 {
        let lines = random_lines(seed, 600);
        let held = replay(&lines, "lru,fifo,arc,s3-fifo,lirs", "3,8,20 blocks", Options::default());
        let book = [3, 8, 20].map(|capacity| by_the_book(&lines, capacity));
        assert_eq!(hits(&held)[..3], book, "seed {seed}");
        let streamed = Options { memory_bytes: 0, ..Options::default() };
        assert_eq!(
            hits(&held),
            hits(&replay(&lines, "lru,fifo,arc,s3-fifo,lirs", "3,8,20 blocks", streamed)),
            "seed {seed}"
        );
        let kept = Options { deletes: hotset_sim::Deletes::Ignore, ..Options::default() };
        assert_eq!(
            hits(&held),
            hits(&replay(&lines, "lru,fifo,arc,s3-fifo,lirs", "3,8,20 blocks", kept)),
            "deletes are others"
        );
    }
}

#[test]
fn the_curve_of_a_trace_that_expires_is_exact() {
    let lines = random_lines(77, 800);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, csv(&lines)).unwrap();
    let open = || hotset_trace::open(&path, BUILTIN, &OpenOptions::default());
    let drawn = Curves::parse("lru").unwrap().run("t", open, &Silent).unwrap();
    for capacity in [1, 3, 9, 30] {
        assert_eq!(drawn.lines[0].hits(capacity) as u64, by_the_book(&lines, capacity as usize), "{capacity}");
    }
}

/// Curves over bytes of lines, at 12 sizes, and the rows of a sweep at these sizes.
fn by_bytes(lines: &[Line], policies: &str) -> (Vec<Vec<BytePoint>>, Vec<Row>, Vec<BytePoint>, u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, csv(lines)).unwrap();
    let open = || hotset_trace::open(&path, BUILTIN, &OpenOptions::default());
    let curves = Curves { points: Points::Some(12), ..Curves::parse(policies).unwrap() };
    let (drawn, _) = curves.run_bytes("t", open, &Silent).unwrap();
    let sizes: Vec<String> = drawn.bounds.iter().map(|bound| format!("{}B", bound.size)).collect();
    let rows = replay(lines, policies, &sizes.join(","), Options::default());
    let exact_from = drawn.lines[0].exact_from;
    (drawn.lines.into_iter().map(|line| line.points).collect(), rows, drawn.bounds, exact_from)
}

#[test]
fn the_curve_over_bytes_is_that_of_cells_and_below_the_bound() {
    for seed in 0..10 {
        let plain: Vec<Line> =
            random_lines(seed, 500).into_iter().map(|line| (line.0, line.1, line.2, line.3, 0)).collect();
        let (lines, rows, bounds, exact_from) = by_bytes(&plain, "lru,fifo,s3-fifo");
        assert_eq!(exact_from, 7, "one pass gives it from the largest object on");
        let of_cells = rows.iter().map(|row| (row.counts.hits, row.object_bytes_hit.unwrap()));
        let of_curve = lines.iter().flatten().map(|point| (point.hits, point.bytes_hit));
        assert!(of_cells.eq(of_curve), "seed {seed}");
        for line in &lines {
            let is_below = |(point, bound): (&BytePoint, &BytePoint)| {
                point.hits <= bound.hits && point.bytes_hit <= bound.bytes_hit
            };
            assert!(line.iter().zip(&bounds).all(is_below), "seed {seed}");
        }
    }
}

/// Objects that shrink, or expire, are not those of one pass.
#[test]
fn what_one_pass_does_not_give_is_replayed() {
    let shrinking: Vec<Line> =
        (0..400).map(|number| (number, number * number % 23, false, 1 + (number * 7 % 11) as u32, 0)).collect();
    for lines in [shrinking, random_lines(5, 500)] {
        let (curve, rows, _, exact_from) = by_bytes(&lines, "lru");
        assert_eq!(exact_from, u64::MAX);
        assert!(rows.iter().map(|row| row.counts.hits).eq(curve[0].iter().map(|point| point.hits)));
    }
}

/// A sample of everything gives the same curves; one of a quarter of the objects is as near as it says.
#[test]
fn a_sample_of_objects_gives_the_curves_over_bytes() {
    let mut random = Rng::new(9);
    let sizes: Vec<u32> = (0..4000).map(|_| 1 + random.below(2000)).collect();
    let lines: Vec<Line> = (0..60_000)
        .map(|at| {
            let key = random.below(4000).min(random.below(4000)).min(random.below(4000));
            (at, key.into(), false, sizes[key as usize], 0)
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, csv(&lines)).unwrap();
    let open = || hotset_trace::open(&path, BUILTIN, &OpenOptions::default());
    let drawn = |sample| {
        let curves = Curves { points: Points::Some(12), sample, ..Curves::parse("lru,s3-fifo").unwrap() };
        curves.run_bytes("t", open, &Silent).unwrap().0
    };
    let (exact, all, quarter) = (drawn(None), drawn(Some(Sample::Rate(1.0))), drawn(Some(Sample::Rate(0.25))));
    let points = |curves: &ByteCurves| curves.lines.iter().map(|line| line.points.clone()).collect::<Vec<_>>();
    assert_eq!((points(&exact), exact.bounds.clone()), (points(&all), all.bounds.clone()));
    assert_eq!((all.sampling.unwrap().expected_error, exact.sampling.is_none()), (None, true));

    let sampling = quarter.sampling.unwrap();
    assert_eq!((quarter.references, quarter.bytes), (exact.references, exact.bytes));
    let error = sampling.expected_error.unwrap();
    assert!((0.001..0.03).contains(&error), "{error}");
    // At the sizes of the sample, whose sizes differ a little from those of the whole.
    let at = |curves: &ByteCurves, line: usize, size: u64| {
        let points = &curves.lines[line].points;
        let behind = points.partition_point(|point| point.size < size).clamp(1, points.len() - 1);
        let (low, high) = (points[behind - 1], points[behind]);
        let share = (size.saturating_sub(low.size)) as f64 / (high.size - low.size) as f64;
        (low.hits as f64 + share.min(1.0) * (high.hits as f64 - low.hits as f64)) / curves.references as f64
    };
    let mean = exact.footprint / exact.distinct;
    for line in 0..2 {
        let resolved =
            quarter.lines[line].points.iter().filter(|point| point.size >= sampling.resolution_blocks * mean);
        let off: Vec<f64> =
            resolved.map(|point| (at(&quarter, line, point.size) - at(&exact, line, point.size)).abs()).collect();
        assert!(off.len() > 3 && off.iter().sum::<f64>() / (off.len() as f64) < 4.0 * error, "{off:?} {error}");
    }
    let refused = Curves { sample: Some(Sample::Blocks(100)), ..Curves::parse("lru").unwrap() };
    assert!(refused.run_bytes("t", open, &Silent).unwrap_err().to_string().contains("`sample=0.01`"));
}
