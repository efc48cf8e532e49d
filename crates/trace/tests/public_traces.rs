//! Every public trace gives the counts that its publishers and `traces/README.md` state, with its format recognised.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use hotset_core::request::{Kind, Op, Request};
use hotset_testkit::inputs::trace_path;
use hotset_trace::{Addressing, Batch, OpenOptions, Trace, formats::BUILTIN, open};

/// Opens a trace whose format is recognised.
fn open_trace(path: &Path) -> Trace {
    open(path, BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// All requests of a trace.
fn read_all(trace: &mut Trace) -> Vec<Request> {
    let mut all = Vec::new();
    let mut batch = Batch::new();
    loop {
        trace.reader.read(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch.requests);
    }
}

/// References and distinct blocks at a block size; for objects each request is one reference.
fn counts(requests: &[Request], addressing: Addressing) -> (u64, usize) {
    let Addressing::Bytes { unit } = addressing else {
        return (requests.len() as u64, requests.iter().map(|request| request.offset).collect::<HashSet<_>>().len());
    };
    let unit = u64::from(unit.expect("a unit"));
    let mut references = 0;
    let mut distinct = HashSet::new();
    for request in requests {
        let blocks = request.offset / unit..(request.offset + u64::from(request.length)).div_ceil(unit);
        references += blocks.end - blocks.start;
        distinct.extend(blocks);
    }
    (references, distinct.len())
}

fn check(relative: &str, formats: &[&str], references: u64, distinct: usize) {
    let Some(path) = trace_path(relative) else { return };
    let mut trace = open_trace(&path);
    assert!(formats.contains(&trace.format), "{relative} was taken for {}", trace.format);
    let addressing = trace.meta().addressing;
    let requests = read_all(&mut trace);
    assert_eq!(counts(&requests, addressing), (references, distinct), "{relative}");
    assert_eq!(trace.reader.skipped(), 0, "{relative}");
    assert_eq!(Some(trace.progress.bytes()), trace.progress.total(), "{relative}");
}

#[test]
fn lirs_paper() {
    let traces = [
        ("cs", 6_781, 1_409),
        ("multi1", 15_858, 2_606),
        ("multi2", 26_311, 5_684),
        ("multi3", 30_241, 7_454),
        ("sprite", 133_996, 7_075),
        ("loop", 505_500, 1_011),
        ("scan", 50_025, 2_001),
        ("zigzag", 52_001, 2_001),
        ("backf", 9_000, 751),
    ];
    for (name, references, distinct) in traces {
        check(&format!("public/lirs/{name}.trace.gz"), &["lirs"], references, distinct);
    }
}

#[test]
fn arc_paper() {
    check("public/arc/OLTP.lis.zst", &["arc"], 914_145, 186_880);
    check("public/arc/P3.lis.zst", &["arc"], 3_912_296, 762_543);
    check("public/arc/P12.lis.zst", &["arc"], 13_208_930, 3_153_310);
}

/// The message for a column of the trace in CSV that has no fact of requests.
const UNUSED: &str = "column `version` is not known and not used; `columns` gives others of the known names";

/// One trace in four formats: where two of them tell the same fact, they tell it alike of every request. What
/// oracle-general calls a size is an object's: the length of the first request for it, 13,671 times another than the
/// request's own.
#[test]
fn cloud_physics_agrees_with_itself() {
    let read = |ending: &str, format: &str| {
        let mut trace = open_trace(&trace_path(&format!("public/formats/cloudPhysicsIO.{ending}.zst"))?);
        assert_eq!(trace.format, format);
        let all = read_all(&mut trace);
        let unused: &[&str] = if format == "csv" { &[UNUSED] } else { &[] };
        assert_eq!(trace.reader.remarks(), unused);
        Some(all)
    };
    let [Some(txt), Some(csv), Some(vscsi), Some(oracle)] =
        [("txt", "ids"), ("csv", "csv"), ("vscsi", "vscsi"), ("oracleGeneral.bin", "oracle-general")]
            .map(|(ending, format)| read(ending, format))
    else {
        return;
    };
    assert_eq!(counts(&txt, Addressing::Objects), (113_872, 48_974));
    assert_eq!([csv.len(), vscsi.len(), oracle.len()], [113_872; 3]);
    let writes = csv.iter().filter(|request| request.op() == Op::Write).count();
    assert_eq!((writes, csv.len() - writes), (66_898, 46_974));
    let seconds = |request: &Request| request.time / 1_000_000_000;
    let mut sizes = HashMap::new();
    let mut other_size = 0;
    for (((txt, csv), vscsi), oracle) in txt.iter().zip(&csv).zip(&vscsi).zip(&oracle) {
        assert_eq!([csv.offset / 512, vscsi.offset / 512, oracle.offset], [txt.offset; 3]);
        assert_eq!(vscsi.length, csv.length);
        assert_eq!(oracle.length, *sizes.entry(oracle.offset).or_insert(csv.length));
        other_size += usize::from(oracle.length != csv.length);
        assert_eq!(vscsi.op(), csv.op());
        assert_eq!([seconds(vscsi), seconds(oracle)], [seconds(csv); 2]);
    }
    assert_eq!(other_size, 13_671);
}

/// Rows, files and the letters of the operations as `awk` counts them.
#[test]
fn own_conversions() {
    type Counts = &'static [(char, usize)];
    let traces: [(&str, usize, usize, Counts); 5] = [
        (
            "blender_apothecary",
            108_819,
            1_426,
            &[('R', 78_551), ('W', 15_834), ('M', 2_852), ('O', 3_406), ('S', 8_029), ('D', 136), ('U', 4), ('X', 7)],
        ),
        ("ior_mix", 33_286, 456, &[('R', 17_004), ('W', 214), ('F', 4), ('T', 4)]),
        ("lu_ooc", 15_904, 390, &[('R', 9_789), ('W', 4_900)]),
        ("pg_pgbench", 62_724, 254, &[('R', 18_856), ('W', 25_636), ('F', 17_389), ('N', 12), ('T', 2)]),
        ("build_kernel", 5_125_576, 30_163, &[('R', 1_196_182), ('O', 1_829_956), ('S', 1_787_136), ('X', 20_343)]),
    ];
    for (name, rows, files, ops) in traces {
        let Some(path) = trace_path(&format!("own/converted/{name}.csv.zst")) else { return };
        let mut trace = open_trace(&path);
        assert_eq!(trace.format, "csv");
        let all = read_all(&mut trace);
        let tables = trace.reader.tables();
        assert_eq!((all.len(), tables.files.len()), (rows, files), "{name}");
        for (letter, count) in ops {
            assert_eq!(
                all.iter().filter(|request| request.op().letter() == *letter).count(),
                *count,
                "{name} {letter}"
            );
        }
        assert!(all.iter().all(|request| (request.file as usize) < files), "{name}");
        assert!(all.iter().all(|request| (request.app as usize) < tables.apps.len()), "{name}");
        assert!(trace.reader.remarks().is_empty(), "{name}");
    }
}

#[test]
fn the_table_beside_a_csv_tells_about_files() {
    let Some(path) = trace_path("own/converted/blender_apothecary.csv.zst") else { return };
    let mut trace = open_trace(&path);
    let all = read_all(&mut trace);
    let library = &trace.reader.tables().files[3];
    assert_eq!((library.path.as_str(), library.label.as_str()), ("/usr/lib/x86_64-linux-gnu/libtinfo.so.6.4", "lib"));
    assert_eq!((library.kind, library.size), (Kind::Executable, Some(204_088)));
    // 0.001138,2174,M,2,0,62671,62671,lib and the failed 0.000786,2174,S,1,,-1,,lib
    let map = all.iter().find(|request| request.op() == Op::Map).unwrap();
    assert_eq!((map.time, map.file, map.offset, map.length), (1_138_000, 2, 0, 62_671));
    let stat = &all[1];
    assert_eq!((stat.op(), stat.kind(), stat.failed(), stat.length), (Op::Stat, Kind::Inode, true, 0));
    assert_eq!(trace.reader.tables().apps[0], "2174");
}

#[test]
fn web07() {
    check("public/formats/web07.trace.xz", &["u32be"], 76_118, 20_484);
}

/// Requests, writes, reads, devices and sectors as `awk` counts them.
#[test]
fn disksim() {
    let traces = [
        ("tpcc-small.trace", [2_618, 4_381], 16, 116_638),
        ("wsrch-small.trace", [4, 24_779], 6, 746_324),
        ("example.ascii", [5_923, 4_077], 22, 107_967),
    ];
    for (name, [writes, reads], devices, sectors) in traces {
        let Some(path) = trace_path(&format!("public/formats/{name}.zst")) else { return };
        let mut trace = open_trace(&path);
        assert_eq!(trace.format, "disksim", "{name}");
        let all = read_all(&mut trace);
        let count = |op: Op| all.iter().filter(|request| request.op() == op).count();
        assert_eq!([count(Op::Write), count(Op::Read), all.len()], [writes, reads, writes + reads], "{name}");
        assert_eq!(trace.reader.tables().files.len(), devices, "{name}");
        assert_eq!(all.iter().map(|request| u64::from(request.length)).sum::<u64>(), sectors * 512, "{name}");
        assert!(all.is_sorted_by_key(|request| request.time), "{name}");
    }
}
