use hotset_core::policy::PolicySpec;
use hotset_core::request::{FLAG_CONTINUED, Kind, Op, Request};
use hotset_core::storage::StorageModel;
use hotset_trace::{Addressing, Batch, FileInfo, Held, Meta, Tables};

use super::*;
use crate::clock;
use crate::grid::{self, Plan};
use crate::{Counters, Maps, Prepared, Silent, Tally, prepare};

const PATHS: [&str; 3] = ["/data/a.db", "/usr/include/stdio.h", "/tmp/log"];

/// 300 requests of two applications to three files, a second apart, every fourth a write, every ninth a mapping, every
/// tenth over three blocks and a further record.
fn trace(at_once: usize) -> Box<Held> {
    let meta = Meta {
        format: "test",
        addressing: Addressing::Bytes { unit: None },
        has_time: true,
        has_ops: true,
        sample: None,
    };
    let file = |path: &&str| FileInfo { path: (*path).into(), kind: Kind::Datafile, ..FileInfo::default() };
    let tables = Tables { files: PATHS.iter().map(file).collect(), apps: vec!["cc1".into(), "make".into()] };
    let request = |number: u64| {
        let op = match number {
            _ if number.is_multiple_of(9) => Op::Map,
            _ if number.is_multiple_of(4) => Op::Write,
            _ if number % 31 == 7 => Op::Stat,
            _ => Op::Read,
        };
        let blocks = if number.is_multiple_of(10) { 3 } else { 1 };
        let first = Request {
            time: 5_000_000_000 + number * 1_000_000_000,
            op: op as u8,
            app: u32::from(number % 7 > 4),
            file: (number % 3) as u32,
            kind: Kind::Datafile as u8,
            offset: number * number % 23 * 4096,
            length: blocks * 4096,
            ..Request::default()
        };
        let further = Request { flags: FLAG_CONTINUED, offset: first.offset + 12288, length: 4096, ..first };
        std::iter::once(first).chain((blocks > 1).then_some(further))
    };
    Box::new(Held::new(meta, tables, (0..300).flat_map(request).collect()).in_batches(at_once))
}

fn options() -> Options {
    Options { keep_times: true, keep_requests: true, ..Options::default() }
}

/// The requests that are left, and whether they count.
fn left(selection: &Selection) -> Vec<(Request, bool)> {
    let mut reader = Selected::new(trace(7), selection, &options()).unwrap();
    let (mut all, mut batch) = (Vec::new(), Batch::new());
    loop {
        reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            return all;
        }
        all.extend(batch.requests.iter().map(|request| (*request, request.is_counted())));
    }
}

fn only(text: &str) -> Selection {
    Selection { only: Filter::parse(text).unwrap(), ..Selection::default() }
}

fn counted(text: &str) -> Selection {
    Selection { count_only: Filter::parse(text).unwrap(), ..Selection::default() }
}

fn warm(warmup: Warmup) -> Selection {
    Selection { warmup: Some(warmup), ..Selection::default() }
}

#[test]
fn a_filter_leaves_what_it_admits_and_nothing_else() {
    let all = left(&Selection::default());
    let check = |text: &str, admits: &dyn Fn(&Request) -> bool| {
        let wanted: Vec<Request> = all.iter().map(|&(request, _)| request).filter(|request| admits(request)).collect();
        assert!(!wanted.is_empty() && wanted.len() < all.len(), "{text} chooses");
        let found: Vec<Request> = left(&only(text)).iter().map(|&(request, _)| request).collect();
        assert_eq!(found, wanted, "{text}");
        let flags: Vec<bool> = left(&counted(text)).iter().map(|&(_, is_counted)| is_counted).collect();
        assert_eq!(flags, all.iter().map(|(request, _)| admits(request)).collect::<Vec<_>>(), "count {text}");
    };
    check("app=make", &|request| request.app == 1);
    check("app=c*", &|request| request.app == 0);
    check("file=*.db", &|request| request.file == 0);
    check("file=*.{db,h}", &|request| request.file < 2);
    check("file=stdio.h,file=/tmp/**", &|request| request.file > 0);
    check("file=include", &|request| request.file == 1);
    check("exclude=/usr/**", &|request| request.file != 1);
    check("file=/**,exclude=*.h", &|request| request.file != 1);
    check("ops=writes", &|request| request.op() == Op::Write);
    check("ops=reads", &|request| matches!(request.op(), Op::Read | Op::Map));
    check("ops=write+stat", &|request| matches!(request.op(), Op::Write | Op::Stat));
    check("from=10s,to=20s", &|request| (15..25).contains(&(request.time / 1_000_000_000)));
    check("app=make,ops=reads,from=100s", &|request| {
        let is_read = matches!(request.op(), Op::Read | Op::Map);
        request.app == 1 && is_read && request.time >= 105_000_000_000
    });
}

/// A request belongs to the place of its first reference, with all that goes on from it.
#[test]
fn places_in_references_cut_between_requests() {
    let all = left(&Selection::default());
    let cutting = options().cutting(trace(1).meta());
    for place in [0, 1, 2, 3, 17, 50, 200, 1_000_000] {
        let mut position = 0;
        let mut is_before = Vec::new();
        for (request, _) in &all {
            let same = request.flags & FLAG_CONTINUED != 0;
            is_before.push(if same { *is_before.last().unwrap() } else { position < place });
            position += cutting.references(request);
        }
        let wanted = is_before.iter().filter(|is_before| **is_before).count();
        assert_eq!(left(&only(&format!("to={place}"))).len(), wanted, "to {place}");
        assert_eq!(left(&only(&format!("from={place}"))).len(), all.len() - wanted, "from {place}");
        let flags: Vec<bool> = left(&warm(Warmup::References(place))).iter().map(|&(_, counts)| !counts).collect();
        assert_eq!(flags, is_before, "warm-up {place}");
    }
}

#[test]
fn a_share_is_of_what_is_left() {
    let selection = Selection { warmup: Some(Warmup::Share(0.25)), ..only("app=make,ops=reads") };
    assert!(selection.needs_length());
    assert!(matches!(Selected::new(trace(5), &selection, &options()), Err(SimError::UnknownLength)));
    let resolved = selection.resolve(trace(5).as_mut(), &options()).unwrap();
    let cutting = options().cutting(trace(1).meta());
    let references: u64 = left(&resolved).iter().map(|(request, _)| cutting.references(request)).sum();
    assert_eq!(resolved.warmup, Some(Warmup::References((references as f64 / 4.0).round() as u64)));
}

/// The tally of each policy, held and streamed.
fn tallies(selection: &Selection, policies: &str, memory_bytes: u64) -> Vec<Tally> {
    let reader = Selected::new(trace(11), selection, &options()).unwrap();
    let options = Options { memory_bytes, maps: Maps::All, ..options() };
    let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
    assert_eq!(matches!(prepared, Prepared::Stream(_)), memory_bytes == 1);
    grid::run(&mut prepared, &plans(policies), &Silent).unwrap().tallies
}

fn plans(policies: &str) -> Vec<Plan> {
    let plan = |policy: &PolicySpec| Plan {
        entry: policy.entry(),
        args: policy.args(Some(4096)),
        capacity: 20,
        bytes: None,
        seed: 1,
    };
    PolicySpec::parse_list(policies).unwrap().iter().map(plan).collect()
}

/// The counts up to a place and those behind it add up to those of the whole, in every figure.
#[test]
fn a_warm_up_takes_away_what_it_counts() {
    let check = |counts: &dyn Fn(&Selection) -> Vec<Tally>| {
        let whole = counts(&Selection::default());
        for place in [1, 30, 64, 100, 250] {
            let head = counts(&counted(&format!("to={place}")));
            let tail = counts(&warm(Warmup::References(place)));
            for ((whole, head), tail) in whole.iter().zip(&head).zip(&tail) {
                let mut sum = head.total;
                sum.add(&tail.total);
                assert_eq!(sum, whole.total, "{place}");
                assert!(tail.total.references > 0 && tail.total.references < whole.total.references);
                assert_eq!(head.write_backs + tail.write_backs, whole.write_backs, "{place}");
                assert_eq!(head.extra_reads + tail.extra_reads, whole.extra_reads, "{place}");
                let apps = |tally: &Tally, app: usize| tally.apps.get(app).copied().unwrap_or_default();
                for app in 0..2 {
                    let mut sum = apps(head, app);
                    sum.add(&apps(tail, app));
                    assert_eq!(sum, apps(whole, app), "{place}");
                }
            }
        }
    };
    check(&|selection| tallies(selection, "lru,arc,opt,virtual(lru,unit=4)", 1 << 30));
    check(&|selection| tallies(selection, "lru,arc", 1));
    check(&|selection| tallies(selection, "unix,render", 1 << 30));
    let disk =
        clock::ClockOptions { store: Some(StorageModel::parse("disk").unwrap()), ..clock::ClockOptions::default() };
    check(&|selection| {
        let reader = Selected::new(trace(11), selection, &options()).unwrap();
        let (mut prepared, _) = prepare(Box::new(reader), &Options { maps: Maps::All, ..options() }, &Silent).unwrap();
        let plans = plans("lru,shared(lru)");
        grid::run_timed(&mut prepared, &plans, &disk, &Silent).unwrap().tallies
    });
}

/// Excluded requests do not reach the cache: the same as a trace without them.
#[test]
fn what_is_taken_out_does_not_reach_the_cache() {
    let reads = &tallies(&only("ops=reads"), "lru", 1 << 30)[0];
    let counted_reads = &tallies(&counted("ops=reads"), "lru", 1 << 30)[0];
    assert_eq!(reads.write_backs, 0);
    assert_eq!(reads.total.references, counted_reads.total.references);
    assert_ne!(reads.total.hits, counted_reads.total.hits, "writes fill the cache where they are only not counted");
    assert_eq!(Counters { write_requests: 0, ..reads.total }, reads.total);
}

#[test]
fn filters_print_as_they_are_read() {
    for text in
        ["", "app=cc1", "file=*.{c,h},file=/x/**,exclude=*.o", "ops=reads+writes", "ops=data", "from=10s,to=20000"]
    {
        let filter = Filter::parse(text).unwrap();
        assert_eq!(Filter::parse(&filter.to_string()).unwrap().to_string(), filter.to_string());
        assert_eq!(filter.is_everything(), text.is_empty());
    }
    assert_eq!(Filter::parse("ops=write+map+read , app=x").unwrap().to_string(), "app=x,ops=data");
    for text in ["20%", "10s", "500"] {
        assert_eq!(Warmup::parse(text).unwrap().to_string(), text);
    }
    let refused = |text: &str| Filter::parse(text).unwrap_err();
    assert!(refused("reads").contains("expected one such as ops=reads"));
    assert!(refused("op=reads").contains("expected app, file"));
    assert!(refused("ops=reed").contains("\"reed\" is not an operation"));
    assert!(refused("from=1,from=2").contains("given twice"));
    assert!(refused("file=[").contains("cannot be read"));
    assert!(refused("to=5%").contains("no place"));
    assert!(Warmup::parse("100%").unwrap_err().contains("less than 100%"));
    assert!(Warmup::parse("x").unwrap_err().contains("not a warm-up"));
}

#[test]
fn what_cannot_be_chosen_is_refused_and_what_matches_nothing_is_told() {
    let timeless = || {
        let meta = Meta { has_time: false, ..trace(1).meta().clone() };
        Held::new(meta, Tables::default(), Vec::new())
    };
    for selection in [only("from=1s"), counted("to=1s"), warm(Warmup::Time(5))] {
        assert!(matches!(Selected::new(timeless(), &selection, &options()), Err(SimError::NoTimeToSelect)));
    }
    assert!(Selected::new(timeless(), &only("from=7"), &options()).is_ok());
    let remarks = |selection: &Selection, maps: Maps| {
        let mut reader = Selected::new(trace(9), selection, &Options { maps, ..options() }).unwrap();
        let mut batch = Batch::new();
        while reader.read(&mut batch).is_ok() && !batch.is_empty() {}
        reader.remarks()
    };
    assert!(remarks(&only("file=/usr/include/*.c"), Maps::All)[0].contains("matches no file"));
    assert!(remarks(&only("app=gcc"), Maps::All)[0].contains("no application"));
    // 34 mappings of a block, 4 of three and one more.
    let told = &remarks(&Selection::default(), Maps::Auto)[0];
    assert!(told.starts_with("mappings of 184K are left out") && told.contains("`maps=all`"), "{told}");
    assert!(remarks(&only("ops=read"), Maps::Auto).is_empty());
    assert!(
        remarks(&Selection::default(), Maps::None).is_empty() && remarks(&Selection::default(), Maps::All).is_empty()
    );
}

/// `a SET 82, a GET 0, b SET 82, a GET 0, b GET 0` as a trace of objects.
fn key_value() -> Trace {
    let meta = Meta { format: "test", addressing: Addressing::Objects, has_time: false, has_ops: true, sample: None };
    let request = |(offset, op, length): (u64, Op, u32)| Request { op: op as u8, offset, length, ..Request::default() };
    let rows = [(1, Op::Write, 82), (1, Op::Read, 0), (2, Op::Write, 82), (1, Op::Read, 0), (2, Op::Read, 0)];
    let reader = Box::new(Held::new(meta, Tables::default(), rows.map(request).to_vec()).in_batches(2));
    Trace { format: "test", reader, progress: hotset_trace::input::Progress::default() }
}

#[test]
fn reads_keep_the_sizes_of_writes_that_are_left_out() {
    let lengths = |selection: &Selection, options: &Options| {
        let mut trace = selection.open("t", || Ok(key_value()), options).unwrap();
        let (mut lengths, mut batch) = (Vec::new(), Batch::new());
        loop {
            trace.reader.read(&mut batch).unwrap();
            if batch.is_empty() {
                return lengths;
            }
            lengths.extend(batch.requests.iter().map(|request| request.length));
        }
    };
    let sized = Options { keep_sizes: true, ..Options::default() };
    assert_eq!(lengths(&Selection::default(), &sized), [82; 5]);
    assert_eq!(lengths(&only("ops=reads"), &sized), [82; 3]);
    assert_eq!(lengths(&only("from=3"), &sized), [82; 2]);
    let blocks = Options { block: Some(hotset_core::view::BlockSize::Bytes(64)), ..Options::default() };
    assert_eq!(lengths(&only("ops=reads"), &blocks), [82; 3]);
    assert_eq!(lengths(&only("ops=reads"), &Options::default()), [0; 3]);
}

#[test]
fn a_cache_in_bytes_hits_alike_with_and_without_the_writes() {
    for (text, reads) in [("", 5), ("ops=reads", 3)] {
        let mut sweep = crate::sweep::Sweep::parse("lru", "100B").unwrap();
        sweep.selection = only(text);
        let swept = sweep.run("t", || Ok(key_value()), &Silent).unwrap();
        let rows = swept.rows;
        assert_eq!(
            (rows[0].counts.references, rows[0].counts.hits, rows[0].object_bytes_hit),
            (reads, 1, Some(82)),
            "{text}"
        );
    }
}
