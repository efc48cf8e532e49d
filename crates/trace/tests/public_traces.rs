//! Every public trace gives the counts that its publishers and `traces/README.md` state, with its format recognised.

mod common;

use std::collections::HashSet;

use common::{open_trace, read_all, trace_path};
use hotset_core::request::{Op, Request};
use hotset_trace::Addressing;

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

#[test]
fn cloud_physics_ids() {
    check("public/formats/cloudPhysicsIO.txt.zst", &["ids"], 113_872, 48_974);
    check("public/formats/cloudPhysicsIO.oracleGeneral.bin.zst", &["oracle-general"], 113_872, 48_974);
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
