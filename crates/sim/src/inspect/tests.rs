use hotset_core::request::{FLAG_FAILED, Kind};
use hotset_trace::{Addressing, FileInfo, Held};

use super::*;
use crate::progress::Silent;
use hotset_core::view::Maps;

fn request(op: Op, file: u32, offset: u64, length: u32) -> Request {
    Request { op: op as u8, file, offset, length, kind: Kind::Datafile as u8, ..Request::default() }
}

/// A trace handed over in small batches.
fn told(addressing: Addressing, requests: Vec<Request>) -> Held {
    let file = |path: &str, label: &str| FileInfo { path: path.into(), label: label.into(), ..FileInfo::default() };
    let meta = Meta { format: "test", addressing, has_time: true, has_ops: true, sample: None };
    let tables = Tables { files: vec![file("a", ""), file("b", "texture")], apps: vec!["one".into(), "two".into()] };
    Held::new(meta, tables, requests).in_batches(3)
}

const BYTES: Addressing = Addressing::Bytes { unit: None };

fn look(requests: Vec<Request>) -> Inspection {
    inspect(
        &mut told(BYTES, requests),
        &Options { maps: Maps::All, ..Options::default() },
        &Ranking::default(),
        None,
        &Silent,
    )
    .unwrap()
}

#[test]
fn the_picture_has_every_reference_at_its_time_block_and_kind() {
    let mut requests =
        vec![request(Op::Read, 0, 0, 8192), request(Op::Read, 1, 0, 4096), request(Op::Read, 0, 4096, 1)];
    requests.push(Request { flags: FLAG_FAILED, ..request(Op::Read, 0, 0, 4096) });
    let mut pattern = Pattern::default();
    inspect(&mut told(BYTES, requests), &Options::default(), &Ranking::default(), Some(&mut pattern), &Silent).unwrap();
    let points = |name: &str| {
        let grid = pattern.kinds.iter().find(|grid| grid.name == name).expect("a grid a kind");
        let counted = grid.points.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(at, &count)| (at % pattern.columns, at / pattern.columns, count)).collect::<Vec<_>>()
    };
    // Reference, block in the order of first references, count.
    assert_eq!(points("datafile"), [(0, 0, 1), (1, 1, 1), (3, 1, 1)]);
    assert_eq!(points("texture"), [(2, 2, 1)]);
    assert!(pattern.is_whole() && pattern.references == 4 && pattern.blocks == 3);
    let places = pattern.places.unwrap();
    let (files, rows) = places.told();
    assert_eq!(
        (files, rows),
        (&["a".to_owned(), "b".to_owned()][..], [[0, 0, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1]].map(Vec::from).into())
    );
}

#[test]
fn everything_is_counted_once() {
    let mut requests = vec![
        Request { time: 5_000_000_000, ..request(Op::Read, 0, 0, 8192) },
        request(Op::Read, 0, 8192, 4096),
        Request { app: 1, ..request(Op::Write, 1, 100, 50) },
        request(Op::Map, 0, 0, 8192),
        Request { kind: Kind::Inode as u8, length: 0, ..request(Op::Stat, 1, 0, 0) },
        Request { flags: FLAG_FAILED, ..request(Op::Read, 0, 0, 4096) },
        request(Op::Read, 0, 4096, 4096),
    ];
    requests[6].time = 7_500_000_000;
    requests[1..6].iter_mut().for_each(|request| request.time = 6_000_000_000);
    let seen = look(requests);
    assert_eq!((seen.requests, seen.failed_requests, seen.references), (7, 1, 7));
    assert_eq!((seen.distinct_blocks, seen.footprint_bytes), (4, Some(16384)));
    assert_eq!(seen.time_span_s, Some(2.5));
    let operations: Vec<_> = seen.operations.iter().map(|op| (op.name, op.requests, op.failed, op.bytes)).collect();
    assert_eq!(
        operations,
        [("read", 4, 1, Some(16384)), ("write", 1, 0, Some(50)), ("map", 1, 0, Some(8192)), ("stat", 1, 0, None)]
    );
    let apps = seen.apps.unwrap();
    assert_eq!((apps.total, apps.top[0].name.as_str(), apps.top[0].references), (2, "one", 6));
    assert_eq!((apps.top[1].bytes_read, apps.top[1].bytes_written), (0, 50));
    let kinds: Vec<_> = seen.kinds.iter().map(|kind| (kind.name.as_str(), kind.requests, kind.references)).collect();
    assert_eq!(kinds, [("datafile", 4, 6), ("texture", 1, 1), ("inode", 1, 0)]);
    let files = seen.files.unwrap();
    let top: Vec<_> =
        files.top.iter().map(|file| (file.path.as_str(), file.references, file.distinct_blocks.unwrap())).collect();
    assert_eq!(top, [("a", 6, 3), ("b", 1, 1)]);
    assert_eq!((files.top[0].read_requests, files.top[1].write_requests), (4, 1));
}

/// A mapping is in each table, or in none but that of operations.
#[test]
fn a_mapping_that_is_no_reference_is_no_read_in_any_table() {
    let program = Request { kind: Kind::Executable as u8, ..request(Op::Map, 1, 0, 1 << 20) };
    let requests = vec![request(Op::Read, 0, 0, 4096), request(Op::Map, 0, 0, 65536), program];
    let seen = |maps| {
        let options = Options { maps, ..Options::default() };
        inspect(&mut told(BYTES, requests.clone()), &options, &Ranking::default(), None, &Silent).unwrap()
    };
    let figures = |seen: &Inspection| {
        let apps = &seen.apps.as_ref().unwrap().top[0];
        let reads = seen.files.as_ref().unwrap().top.iter().map(|file| file.read_requests).sum::<u64>();
        let kinds = seen.kinds.iter().map(|kind| kind.bytes_read).sum::<u64>();
        (apps.bytes_read, kinds, reads, seen.request_sizes.as_ref().unwrap().max, seen.references)
    };
    let auto = seen(Maps::Auto);
    assert_eq!(figures(&auto), (4096, 4096, 1, 4096, 1));
    let unseen = auto.unseen.unwrap();
    assert_eq!((unseen.files, unseen.bytes, unseen.referenced_bytes, unseen.largest.as_str()), (1, 65536, 4096, "a"));
    let whole = 4096 + 65536 + (1 << 20);
    assert_eq!(figures(&seen(Maps::All)), (whole, whole, 3, 1 << 20, 1 + 16 + 256));
}

#[test]
fn runs_are_found_file_by_file() {
    let interleaved = (0..10).flat_map(|step| [request(Op::Read, 0, step * 10, 10), request(Op::Read, 1, step * 5, 5)]);
    let mut requests: Vec<Request> = interleaved.collect();
    requests.push(request(Op::Read, 0, 3, 1));
    let runs = look(requests).sequences.unwrap();
    assert_eq!((runs.requests, runs.sequential, runs.runs), (21, 18, 3));
    assert_eq!((runs.mean_run_requests, runs.mean_run_bytes), (7.0, 151.0 / 3.0));
}

#[test]
fn sizes_are_those_of_whole_requests() {
    let mut requests: Vec<Request> = [512, 8192, 8192, 12288].map(|length| request(Op::Read, 0, 0, length)).into();
    requests.push(Request { flags: FLAG_CONTINUED, ..request(Op::Read, 0, 12288, 4096) });
    let sizes = look(requests).request_sizes.unwrap();
    assert_eq!((sizes.min, sizes.median, sizes.max), (512, 8192, 16384));
    assert_eq!(sizes.mean, 8320.0);
    let bins: Vec<_> = sizes.bins.iter().map(|bin| (bin.from, bin.to, bin.requests)).collect();
    assert_eq!(bins, [(512, 1024, 1), (8192, 16384, 2), (16384, 32768, 1)]);
}

#[test]
fn reuse_distances_fall_into_bins() {
    // Blocks 0 1 2 0 0 2: distances 3, 1 and 2.
    let requests = [0, 1, 2, 0, 0, 2].map(|block| request(Op::Read, 0, block * 4096, 1)).into();
    let reuse = look(requests).reuse.unwrap();
    let bins: Vec<_> = reuse.bins.iter().map(|bin| (bin.from, bin.to, bin.references)).collect();
    assert_eq!((reuse.first_uses, bins), (3, vec![(1, 1, 1), (2, 3, 2)]));
}

#[test]
fn metadata_alone_makes_a_page() {
    let seen = look(vec![Request { kind: Kind::Inode as u8, ..request(Op::Stat, 1, 0, 0) }]);
    assert_eq!((seen.requests, seen.references, seen.distinct_blocks), (1, 0, 0));
    assert!(seen.request_sizes.is_none() && seen.sequences.is_none() && seen.reuse.is_none());
    assert!(seen.files.unwrap().top.is_empty());
    assert_eq!(look(Vec::new()).requests, 0);
}

#[test]
fn objects_have_no_neighbours_and_perhaps_no_size() {
    let requests = vec![request(Op::Read, 0, 1, 0), request(Op::Read, 0, 1, 0)];
    let seen =
        inspect(&mut told(Addressing::Objects, requests), &Options::default(), &Ranking::default(), None, &Silent)
            .unwrap();
    assert_eq!((seen.references, seen.distinct_blocks, seen.footprint_bytes), (2, 1, None));
    assert!(seen.sequences.is_none() && seen.request_sizes.is_none());
}

#[test]
fn too_many_blocks_are_estimated_from_a_sample() {
    let twice = (0..100_000).chain(0..100_000);
    let requests: Vec<Request> = twice.map(|block| request(Op::Read, 0, block * 4096, 4096)).collect();
    let options = Options { memory_bytes: 1 << 20, ..Options::default() };
    let mut pattern = Pattern::default();
    let seen = inspect(&mut told(BYTES, requests), &options, &Ranking::default(), Some(&mut pattern), &Silent).unwrap();
    assert!(!pattern.is_whole());
    assert_eq!(seen.references, 200_000);
    assert!(seen.sampling_rate.unwrap() < 0.1);
    // 8192 blocks of the sample: the estimate's standard error is about 1 %.
    assert!(seen.distinct_blocks.abs_diff(100_000) < 5_000, "{}", seen.distinct_blocks);
    let reuse = seen.reuse.unwrap();
    let far: u64 = reuse.bins.iter().filter(|bin| bin.to > 90_000).map(|bin| bin.references).sum();
    assert!(far.abs_diff(100_000) < 10_000, "{reuse:?}");
    assert!(seen.files.unwrap().top[0].distinct_blocks.is_none());
}

#[test]
fn rankings_are_what_was_asked_for() {
    let file = |path: &str| FileInfo { path: path.into(), ..FileInfo::default() };
    let tables =
        Tables { files: ["/usr/a", "/usr/b", "/c", "d"].map(file).to_vec(), apps: vec!["one".into(), "two".into()] };
    let requests = vec![
        request(Op::Read, 0, 0, 8192),
        request(Op::Read, 1, 0, 4096),
        Request { app: 1, ..request(Op::Write, 2, 0, 4096) },
        request(Op::Read, 3, 7, 8192),
        request(Op::Read, 3, 7, 8192),
    ];
    let ranked = |addressing, by, top| {
        let meta = Meta { format: "test", addressing, has_time: true, has_ops: true, sample: None };
        let mut trace = Held::new(meta, tables.clone(), requests.clone());
        let seen = inspect(&mut trace, &Options::default(), &Ranking { top, by: Some(by) }, None, &Silent)?;
        let ranked = seen.ranked.expect("it was asked for").groups;
        Ok((ranked.total, ranked.top.into_iter().map(|group| (group.name, group.references)).collect::<Vec<_>>()))
    };
    let told = |total, top: &[(&str, u64)]| {
        Ok((total, top.iter().map(|&(name, references)| (name.to_owned(), references)).collect::<Vec<_>>()))
    };
    let same = |found: Result<_, SimError>, expected: Result<_, SimError>| assert_eq!(found.ok(), expected.ok());
    same(ranked(BYTES, By::File, 2), told(4, &[("d", 6), ("/usr/a", 2)]));
    same(ranked(BYTES, By::Dir, 9), told(3, &[(".", 6), ("/usr", 3), ("/", 1)]));
    same(ranked(BYTES, By::App, 1), told(2, &[("one", 9)]));
    same(ranked(BYTES, By::Class, 9), told(1, &[("datafile", 10)]));
    same(ranked(Addressing::Objects, By::Object, 1), told(2, &[("0", 3)]));
    let refused = ranked(BYTES, By::Object, 1).unwrap_err().to_string();
    assert!(refused.starts_with("`by=object`: the trace has offsets in files"), "{refused}");
}
