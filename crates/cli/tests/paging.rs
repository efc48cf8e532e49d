//! Traces of memory through the command: simulating them, and experiments on them.

mod support;

use serde_json::Value;
use support::{Folder, hotset};

/// A `pgt` trace of references to these pages, one each.
fn pgt(pages: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), 0);
    for page in pages {
        let delta = page.wrapping_sub(before) as i64;
        let mut number = ((delta << 1) ^ (delta >> 63)) as u64;
        before = page;
        while number >= 128 {
            bytes.push(number as u8 | 128);
            number >>= 7;
        }
        bytes.extend([number as u8, 2]);
    }
    bytes
}

/// 30 laps over 300 pages.
fn looped() -> Vec<u8> {
    pgt((0..30).flat_map(|_| 0..300))
}

const OBJECTS: &str = "refno,op,addr,size,caller\n0,m,0x0,1228800,main\n9000,E,0x0,0,\n";

/// A folder with a loop in `loop.pgt`, all of whose pages are one object, and another copy of it.
fn folder() -> Folder {
    let folder = Folder::new();
    for name in ["loop", "other"] {
        folder.file(&format!("{name}.pgt"), looped());
        folder.file(&format!("{name}.obj.csv"), OBJECTS);
    }
    folder
}

#[test]
fn a_trace_of_memory_is_replayed_by_policies_that_a_bit_is_enough_for() {
    let folder = folder();
    let trace = folder.path("loop.pgt");
    let rows = hotset(&["simulate", &trace, "-p", "apr,clock,opt", "-s", "100 blocks", "--json", "-"]).rows();
    let hits: Vec<u64> = rows.iter().map(|row| row["hits"].as_u64().unwrap()).collect();
    assert_eq!(hits, [2842, 0, 2900], "as the published prototype counts");
    assert_eq!(rows[1]["faults_after_fill"], Value::from(8900));
    assert_eq!(rows[1]["faults_per_million_references"], Value::from(1e6), "every reference since faults");
    assert!(rows[1].get("faults_per_million_instructions").is_none(), "instructions were not counted");
    assert_eq!(rows[1]["refault_distance_to_clock"], Value::from(1.0));
    let table = hotset(&["simulate", &trace, "-p", "apr,clock", "-s", "10%,50%"]).good().out;
    assert!(table.contains("faults after memory was full") && table.contains("apr"), "{table}");
    let native = folder.path("loop.hst");
    hotset(&["import", &trace, "-o", &native]).good();
    let from_native = hotset(&["simulate", &native, "-p", "apr,clock,opt", "-s", "100 blocks", "--json", "-"]).rows();
    assert!(from_native.iter().zip(&rows).all(|(native, pgt)| native["hits"] == pgt["hits"]));
}

#[test]
fn policies_of_caches_run_on_memory_and_those_of_paging_on_requests() {
    let folder = folder();
    let trace = folder.path("loop.pgt");
    let of = |arguments: &[&str]| {
        hotset(&[&["simulate", &trace, "-s", "100 blocks", "--json", "-"], arguments].concat()).rows()
    };
    let rows = of(&["-p", "sieve,s3-fifo(promote=1),random,lifo"]);
    assert!(rows.len() == 4 && rows.iter().all(|row| row.get("faults_after_fill").is_some()), "{rows:?}");
    let all = of(&["-p", "all"]);
    assert!(all.len() >= 10 && all.iter().all(|row| row["policy"] != "lru"), "{all:?}");
    let file = folder.file("t.ids", "1\n2\n3\n1\n2\n3\n");
    let rows = hotset(&["simulate", &file, "-p", "apr,lifo+,opt", "-s", "2 blocks", "--json", "-"]).rows();
    assert!(rows.iter().all(|row| row["hits"].as_u64() <= rows[2]["hits"].as_u64()), "{rows:?}");
    let told = hotset(&["policies", "apr"]).good().out;
    assert!(told.contains("APR: CLOCK, unless") && told.contains("threshold"), "{told}");
}

#[test]
fn what_paging_cannot_do_is_refused_in_a_sentence() {
    let folder = folder();
    let (trace, file) = (folder.path("loop.pgt"), folder.file("t.ids", "1\n2\n"));
    let cases: [(&[&str], &str); 8] = [
        (&[&trace, "-p", "lru", "-s", "10 blocks"], "lru sees every reference"),
        (&[&trace, "-p", "clock,lirs", "-s", "10 blocks"], "clock,lirs\n        ^^^^"),
        (&[&trace, "-p", "s3-fifo", "-s", "10 blocks"], "`hotset policies s3-fifo` tells"),
        (&[&trace, "-p", "clock", "-s", "0 blocks"], "the size is less than one block"),
        (&[&trace, "-p", "apr(decay=2)", "-s", "10 blocks"], "expected"),
        (&[&trace, "-p", "apr(threshold=99999999999999999999T)", "-s", "10 blocks"], "threshold"),
        (&[&trace, &file, "-p", "clock", "-s", "10 blocks"], "is not a trace of memory"),
        (&[&trace, "-p", "clock", "-s", "10 blocks", "--block", "8K"], "cannot be cut into other blocks"),
    ];
    for (arguments, message) in cases {
        let run = hotset(&[&["simulate"], arguments].concat());
        assert!(run.status == 2 && run.err.contains(message), "{message}: {run:?}");
    }
}

const EXPERIMENT: &str = "title = \"T\"\nsource = \"S\"\ntraces = [\"loop.pgt\", \"other.pgt\"]\npolicies = \"clock,apr\"\n\
                          sizes = \"10%,50%\"\nmeasure = \"faults_per_million_references\"\n\
                          [[compare]]\nbetter = \"apr\"\nthan = \"clock\"\npaper_mean = 22.0\npaper_worse = [\"other\"]\n";

#[test]
fn an_experiment_on_memory_prints_means_and_directions_beside_the_papers() {
    let folder = folder();
    let base = folder.path("");
    let file = folder.file("e.toml", EXPERIMENT);
    let shown = hotset(&["experiment", &file, "--traces", &base]).good().out;
    for part in
        ["loop.pgt: faults per million references after memory first filled", "1000000.00", "+22.0", "at least as much"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let line = |name: &str| shown.lines().rfind(|line| line.starts_with(&format!("| {name}"))).unwrap().to_owned();
    assert!(line("loop").ends_with(" yes |") && line("other").ends_with(" no |"), "{shown}");
    let rows = hotset(&["experiment", &file, "--traces", &base, "--json", "-"]).rows();
    assert!(rows.len() == 8 && rows[0].get("faults_after_fill").is_some());
    let csv = hotset(&["experiment", &file, "--traces", &base, "--csv", "-"]).good().out;
    assert!(csv.starts_with("version,trace,policy,") && csv.contains(",refault_distance_to_clock,"), "{csv}");
}

#[test]
fn at_one_size_traces_share_a_table_and_what_was_not_measured_is_a_dash() {
    let folder = folder();
    let text = EXPERIMENT.replace("10%,50%", "50%");
    let one = folder.file("one.toml", text.replace("faults_per_million_references", "refault_distance_to_clock"));
    let shown = hotset(&["experiment", &one, "--traces", &folder.path("")]).good().out;
    let line = shown.lines().find(|line| line.starts_with("| loop ")).unwrap();
    assert!(line.contains("| 1.000 |") && shown.contains("| trace | clock |"), "{shown}");
    let none = folder.file("none.toml", text.replace("_references", "_instructions"));
    let shown = hotset(&["experiment", &none, "--traces", &folder.path("")]).good().out;
    assert!(shown.contains("| loop  |     - |   - |"), "{shown}");
}

#[test]
fn an_experiment_is_refused_where_its_traces_and_policies_are_of_other_kinds() {
    let folder = folder();
    let base = folder.path("");
    folder.file("t.ids", "1\n2\n1\n");
    let file = folder.file("e.toml", EXPERIMENT);
    let refused = |text: String, status: i32, message: &str| {
        let run = hotset(&["experiment", &folder.file("w.toml", text), "--traces", &base]);
        assert!(run.status == status && run.err.contains(message), "{message}: {run:?}");
    };
    refused(EXPERIMENT.replace("clock,apr", "clock,lru"), 2, "lru sees every reference");
    refused(EXPERIMENT.replace("[\"other\"]", "[\"others\"]"), 2, "found \"others\"; expected one of loop, other");
    refused(EXPERIMENT.replace("other.pgt", "other.pgt\", \"t.ids"), 2, "t.ids is not a trace of memory");
    let of_requests = EXPERIMENT.replace("\"faults_per_million_references\"", "\"hit_ratio\"");
    hotset(&["experiment", &folder.file("h.toml", of_requests), "--traces", &base]).good();
    let text = "title = \"T\"\nsource = \"S\"\ntraces = [\"t.ids\"]\npolicies = \"lru\"\nsizes = \"1 blocks\"\n";
    let caches = folder.file("c.toml", text);
    let both = |more: &[&str]| hotset(&[&["experiment", &file, &caches, "--traces", &base], more].concat());
    assert_eq!(both(&["--json", "-"]).rows().len(), 9);
    let table = both(&["--csv", "-"]).good().out;
    let columns = table.lines().map(|line| line.split(',').count()).collect::<Vec<_>>();
    assert!(columns.len() == 10 && columns.iter().all(|&count| count == columns[0]), "{table}");
}
