//! The table of all pairs of what a replay can be asked for: each runs and agrees with what is known of it, or is
//! refused with a sentence that says why it makes no sense.

use hotset_core::policy::PolicySpec;
use hotset_core::request::{Op, Request};
use hotset_core::storage::StorageModel;
use hotset_sim::clock::{ClockOptions as Clock, Every};
use hotset_sim::grid::{self, Plan, Replayed};
use hotset_sim::{BlockSize, Deletes, Options, Silent, Tally, prepare};
use hotset_trace::{Addressing, FileInfo, Held, Meta, Tables};

/// The options of a replay besides a policy and a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feature {
    /// A disk and the clock that goes with it.
    OnDisk,
    /// A series over time.
    Series,
    /// A view that classifies.
    View,
    /// A trace longer than memory.
    Stream,
    /// A policy that knows the future.
    Future,
    /// Reading ahead.
    Ahead,
    /// Deleted files lose their blocks.
    Delete,
}

use Feature::{Ahead, Delete, Future, OnDisk, Series, Stream, View};

/// What becomes of a pair.
enum Known {
    /// The counts are those of the second feature without the first.
    SameAsWithoutTheFirst,
    /// The counts are those of the first feature without the second.
    SameAsWithoutTheSecond,
    /// It hits more than LRU does with the second feature alone.
    MoreThanLru,
    /// It hits fewer than the first feature does without the second.
    FewerThanWithoutTheSecond,
    /// It is refused in these words.
    Refused(&'static str),
}

use Known::{FewerThanWithoutTheSecond, MoreThanLru, Refused, SameAsWithoutTheFirst, SameAsWithoutTheSecond};

/// Every pair, in the order of the features.
const TABLE: [(Feature, Feature, Known); 21] = [
    (OnDisk, Series, SameAsWithoutTheFirst),
    (OnDisk, View, SameAsWithoutTheFirst),
    (
        OnDisk,
        Stream,
        Refused(
            "on a disk one application may get ahead of another by any length of the trace, of which the 0 MiB of memory allowed holds a part: raise `memory`, or leave `store` out",
        ),
    ),
    (OnDisk, Future, SameAsWithoutTheFirst),
    (OnDisk, Ahead, SameAsWithoutTheFirst),
    (OnDisk, Delete, SameAsWithoutTheFirst),
    (Series, View, SameAsWithoutTheFirst),
    (Series, Stream, SameAsWithoutTheSecond),
    (Series, Future, SameAsWithoutTheFirst),
    (Series, Ahead, SameAsWithoutTheFirst),
    (Series, Delete, SameAsWithoutTheFirst),
    (View, Stream, SameAsWithoutTheSecond),
    // Nothing of the trace is of the class that is bypassed.
    (View, Future, SameAsWithoutTheFirst),
    (View, Ahead, SameAsWithoutTheFirst),
    // What sees inodes is always told.
    (View, Delete, SameAsWithoutTheSecond),
    (
        Stream,
        Future,
        Refused(
            "opt must know the future of the whole trace, of which the 0 MiB of memory allowed holds a part: raise `memory`, or leave the policy out",
        ),
    ),
    (
        Stream,
        Ahead,
        Refused(
            "reading ahead ends where a file ends in the trace, of which the 0 MiB of memory allowed holds a part: raise `memory`, or give prefetch=off",
        ),
    ),
    (Stream, Delete, SameAsWithoutTheFirst),
    (Future, Ahead, Refused("shared must know the future, which reading ahead changes: give prefetch=off")),
    // A future in which files are deleted is another one; no cache hits more than one that knows it.
    (Future, Delete, MoreThanLru),
    // A block that was hit after its file was deleted is not any more.
    (Ahead, Delete, FewerThanWithoutTheSecond),
];

fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) % below
}

/// Requests of so many applications to twenty files: data, names, deletes and cuts, a millisecond apart.
fn requests(apps: u64) -> Vec<Request> {
    let mut state = 9;
    let mut next = |below| random(&mut state, below);
    let ops = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Open, Op::Stat, Op::Unlink, Op::Truncate];
    let request = |time: u64| Request {
        time: time * 1_000_000,
        op: ops[next(if time.is_multiple_of(9) { 8 } else { 5 }) as usize] as u8,
        offset: next(12) * 5_000,
        length: next(30_000) as u32,
        file: next(20) as u32,
        app: next(apps) as u32,
        ..Request::default()
    };
    (0..4_000).map(request).collect()
}

fn policy(features: &[Feature]) -> &'static str {
    let has = |feature| features.contains(&feature);
    match (has(View), has(Future), has(Ahead)) {
        (false, false, false) => "lru",
        (false, true, false) => "opt",
        (false, false, true) => "shared(lru)",
        (false, true, true) => "shared(opt)",
        (true, false, false) => "unix",
        (true, true, _) => "bypass(opt,inode)",
        (true, false, true) => "bypass(shared(lru),inode)",
    }
}

fn run_apps(features: &[Feature], apps: u64) -> Result<Replayed, String> {
    let has = |feature| features.contains(&feature);
    let meta = Meta {
        format: "made",
        addressing: Addressing::Bytes { unit: None },
        has_time: true,
        has_ops: true,
        sample: None,
    };
    let file = |number: u32| FileInfo { path: format!("/d{}/{number}", number % 3), ..FileInfo::default() };
    let tables = Tables { files: (0..20).map(file).collect(), apps: (0..apps).map(|app| app.to_string()).collect() };
    let options = Options {
        block: Some(BlockSize::Bytes(4096)),
        memory_bytes: if has(Stream) { 50_000 } else { 1 << 30 },
        deletes: if has(Delete) { Deletes::Apply } else { Deletes::Ignore },
        keep_requests: true,
        keep_times: true,
        ..Options::default()
    };
    let reader = Held::new(meta, tables, requests(apps)).in_batches(100);
    let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).map_err(|error| error.to_string())?;
    let clock = Clock {
        store: has(OnDisk).then(|| StorageModel::parse("disk").unwrap()),
        every: has(Series).then_some(Every::References(500)),
        ..Clock::default()
    };
    let spec = PolicySpec::parse(policy(features)).unwrap();
    let plan = Plan { entry: spec.entry(), args: spec.args(Some(4096)), capacity: 60, bytes: None, seed: 7 };
    grid::run_timed(&mut prepared, &[plan], &clock, &Silent).map_err(|error| error.to_string())
}

fn run(features: &[Feature]) -> Result<Replayed, String> {
    run_apps(features, 1)
}

/// Counts that do not depend on time. A stream counts a single application, too.
fn counts(replayed: &Replayed) -> Tally {
    Tally { times: None, apps: Vec::new(), ..replayed.tallies[0].clone() }
}

/// The same of a view in which nothing is of another class than in the plain one.
fn plain(tally: Tally) -> Tally {
    Tally { classes: Vec::new(), ..tally }
}

#[test]
fn every_pair_runs_or_says_why_not() {
    let features = [OnDisk, Series, View, Stream, Future, Ahead, Delete];
    let pairs = (0..7).flat_map(|one| (one + 1..7).map(move |other| (features[one], features[other])));
    assert!(pairs.eq(TABLE.iter().map(|&(one, other, _)| (one, other))), "the table has every pair");
    for (one, other, known) in TABLE {
        let both = run(&[one, other]);
        let expected = match known {
            Refused(words) => {
                assert_eq!(both.unwrap_err(), words, "{one:?} and {other:?}");
                continue;
            }
            MoreThanLru | FewerThanWithoutTheSecond => {
                let hits = |replayed: Result<Replayed, String>| replayed.unwrap().tallies[0].total.hits;
                let (more, less) = match known {
                    MoreThanLru => (hits(both), hits(run(&[other]))),
                    _ => (hits(run(&[one])), hits(both)),
                };
                assert!(more > less, "{one:?} and {other:?}: {more} and {less}");
                continue;
            }
            SameAsWithoutTheFirst => run(&[other]).unwrap(),
            SameAsWithoutTheSecond => run(&[one]).unwrap(),
        };
        let both = both.unwrap_or_else(|error| panic!("{one:?} and {other:?}: {error}"));
        assert!(both.tallies[0].total.hits > 1_000, "{one:?} and {other:?}");
        let shown = |replayed| {
            if policy(&[one, other]).starts_with("bypass") { plain(counts(replayed)) } else { counts(replayed) }
        };
        assert_eq!(shown(&both), shown(&expected), "{one:?} and {other:?}");
        assert_eq!(both.tallies[0].times.is_some(), one == OnDisk);
        let sampled: u64 = both.samples[0].iter().flat_map(|sample| &sample.points).map(|point| point.hits).sum();
        let has_series = one == Series || other == Series;
        assert_eq!(sampled, if has_series { both.tallies[0].total.hits } else { 0 }, "{one:?} and {other:?}");
        if !expected.samples[0].is_empty() {
            assert_eq!(both.samples, expected.samples, "{one:?} and {other:?}");
        }
    }
}

/// Several applications on a disk come in an order that follows from who hits, which a policy cannot know beforehand;
/// without a disk they come as in the trace.
#[test]
fn a_future_that_is_made_as_it_goes_is_refused() {
    let refused = run_apps(&[OnDisk, Future], 3).unwrap_err();
    assert!(refused.starts_with("opt must know the future, but which application comes next on a disk"), "{refused}");
    assert_eq!(counts(&run_apps(&[Series, Future], 3).unwrap()), counts(&run_apps(&[Future], 3).unwrap()));
    let held = run_apps(&[Series, View], 3).unwrap();
    let streamed = run_apps(&[Series, View, Stream], 3).unwrap();
    assert_eq!(held.tallies, streamed.tallies);
}
