//! Choosing requests of a trace: filters, warm-up and what counts, on every command that reads one; mapped files.

mod support;

use support::{Folder, csv, hotset, hotset_fed};

const MAPPED: &str = "\
time_s,pid,op,file,offset,bytes,filesize,kind
0,1,R,1,0,4096,,x
0,1,M,1,0,81920,,x
0,1,W,1,0,1,,x
";

/// The first row of `simulate --policy lru`.
fn row(trace: &str, more: &[&str]) -> serde_json::Value {
    hotset(&[&["simulate", trace, "-p", "lru", "-s", "64 blocks", "--json", "-"], more].concat()).rows().swap_remove(0)
}

#[test]
fn every_command_that_replays_or_inspects_chooses_alike() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let whole = row(&trace, &[]);
    assert!(whole.get("filter").is_none() && whole.get("warmup").is_none());
    let chosen = ["--ops", "reads", "--app", "7[01]", "--from", "10s", "--to", "5000"];
    let reads = row(&trace, &chosen);
    assert_eq!(reads["filter"], "app=7[01],ops=reads,from=10s,to=5000");
    assert_eq!(reads["write_requests"], 0);
    let references = &reads["references"];
    assert!(references.as_u64() < whole["references"].as_u64());
    let inspected = hotset(&[&["inspect", &trace, "--json", "-"], &chosen[..]].concat()).rows().swap_remove(0);
    assert_eq!((&inspected["references"], &inspected["filter"]), (references, &reads["filter"]));
    let curve = ["curve", &trace, "--policy", "lru", "--points", "3", "--json", "-"];
    let point = hotset(&[&curve, &chosen[..]].concat()).rows().swap_remove(0);
    assert_eq!((&point["references"], &point["filter"]), (references, &reads["filter"]));
}

/// A trace written with a filter equals the filter in every other command; a mix filters each of its traces.
#[test]
fn what_is_imported_or_mixed_is_chosen_alike() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let chosen = ["--ops", "reads", "--app", "7[01]", "--from", "10s", "--to", "5000"];
    let counts = |row: serde_json::Value| {
        ["references", "hits", "read_requests", "write_requests"].map(|key| row[key].as_u64().unwrap())
    };
    let expected = counts(row(&trace, &chosen));
    let out = folder.path("reads.hst");
    hotset(&[&["import", &trace, "-o", &out], &chosen[..]].concat()).good();
    assert_eq!(counts(row(&out, &[])), expected);
    let (both, twice) = (folder.path("both.hst"), ["a", "b"].map(|app| format!("{app}={trace}")));
    hotset(&[&["mix", &twice[0], &twice[1], "-o", &both], &chosen[..]].concat()).good();
    for app in ["a", "b"] {
        let [references, _, requests, _] = counts(row(&both, &["--app", app]));
        assert_eq!([references, requests], [expected[0], expected[2]], "{app}");
    }
    let text = "title = \"T\"\nsource = \"S\"\ntraces = [\"./t.csv\"]\npolicies = \"lru\"\nsizes = \"64 blocks\"\n";
    let experiment =
        |more: &str| hotset(&["experiment", &folder.file("e.toml", format!("{text}{more}")), "--json", "-"]);
    let only = "only = \"ops=reads,app=7[01],from=10s,to=5000\"\n";
    assert_eq!(counts(experiment(only).rows().swap_remove(0)), expected);
    let warm = experiment(&format!("{only}warmup = \"20%\"\ncount_only = \"app=70\"\n")).rows().swap_remove(0);
    assert_eq!((&warm["warmup"], &warm["count_only"]), (&"20%".into(), &"app=70".into()));
    let shown = hotset(&["experiment", &folder.path("e.toml")]).good().out;
    assert!(shown.contains("Of each trace: only ops=reads,app=7[01],from=10s,to=5000, warm-up 20%"), "{shown}");
    let refused = experiment("warmup = \"x\"\n");
    assert!(refused.err.contains("e.toml, warmup: \"x\" is not a warm-up: expected a share (20%)"), "{refused:?}");
    let nothing = hotset(&["import", &trace, "-o", &out, "--file", "["]);
    assert!(nothing.err.contains("--file: the pattern \"[\" cannot be read"), "{nothing:?}");
}

#[test]
fn inspect_tells_what_is_referenced_most() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let rows = hotset(&["inspect", &trace, "--by", "app", "--top", "2", "--json", "-"]).rows();
    let ranked = &rows[0]["ranked"];
    assert_eq!((&ranked["by"], ranked["top"].as_array().unwrap().len()), (&"app".into(), 2));
    let first = ranked["top"][0]["name"].as_str().unwrap();
    let alone = hotset(&["inspect", &trace, "--app", first, "--json", "-"]).rows();
    assert_eq!(ranked["top"][0]["references"], alone[0]["references"]);
    let out = hotset(&["inspect", &trace, "--by", "app", "--top", "2"]).good().out;
    let total = &ranked["total"];
    assert!(out.contains(&format!("By app (the first 2 of {total})")) && !out.contains("Operations"), "{out}");
    let refused = hotset(&["inspect", &trace, "--by", "object"]);
    assert!(refused.status > 0 && refused.err.contains("--by object: the trace has offsets"), "{refused:?}");
}

#[test]
fn a_warm_up_fills_the_cache_and_does_not_count() {
    let folder = Folder::new();
    let trace = folder.file("loop.ids", "1\n2\n3\n4\n".repeat(25));
    let ids = |more: &[&str]| row(&trace, &[&["--format", "ids"], more].concat());
    let counts = |row: &serde_json::Value| (row["references"].as_u64(), row["hits"].as_u64());
    assert_eq!(counts(&ids(&[])), (Some(100), Some(96)));
    for warmup in ["20%", "20"] {
        let warm = ids(&["--warmup", warmup]);
        assert_eq!((counts(&warm), warm["warmup"].as_str()), ((Some(80), Some(80)), Some(warmup)));
    }
    assert_eq!(counts(&ids(&["--from", "20"])), (Some(80), Some(76)), "an excluded request fills nothing");
    let curve = ["curve", &trace, "--format", "ids", "--policy", "lru,opt", "--points", "3", "--json", "-"];
    let points = hotset(&[&curve, &["--warmup", "20%"][..]].concat()).rows();
    let last: Vec<_> = points.iter().filter(|point| point["size_blocks"] == 4).map(counts).collect();
    assert_eq!(last, [(Some(80), Some(80)); 2]);
}

#[test]
fn the_heading_tells_what_was_chosen() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let more = ["--exclude", "1", "--warmup", "10s", "--count-only", "ops=reads"];
    let out = hotset(&[&["simulate", &trace, "-p", "lru", "-s", "64 blocks"], &more[..]].concat()).good().out;
    assert!(out.contains("t.csv (csv) [only exclude=1; warm-up 10s; counted ops=reads]: "), "{out}");
    let out = hotset(&["inspect", &trace, "--ops", "writes"]).good().out;
    assert!(out.contains("t.csv (csv) [only ops=writes]"), "{out}");
    let out = hotset(&["curve", &trace, "--maps", "all"]).good().out;
    assert!(out.contains("t.csv (csv) [mapped ranges as reads]: "), "{out}");
}

#[test]
fn what_cannot_be_chosen_is_refused_in_words() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let refused = |arguments: &[&str]| {
        let run = hotset(&[&["simulate", &trace, "-p", "lru", "-s", "64 blocks"], arguments].concat());
        assert!(run.status > 0 && run.out.is_empty(), "{run:?}");
        run.err
    };
    assert!(refused(&["--ops", "reed"]).contains("\"reed\" is not an operation: expected reads, writes"));
    assert!(refused(&["--file", "["]).contains("--file: the pattern \"[\" cannot be read"));
    assert!(refused(&["--count-only", "reads"]).contains("such as ops=reads"));
    let nothing = refused(&["--app", "postgres"]);
    assert!(nothing.contains("app=postgres is the name of no application"), "{nothing}");
    assert!(nothing.contains("no request of those chosen (only app=postgres) reads or writes data"), "{nothing}");
    assert!(refused(&["--warmup", "1000000"]).contains("expected a shorter --warmup"));
    let piped = hotset_fed(&["simulate", "-", "-p", "lru", "-s", "64 blocks", "--warmup", "20%"], csv().as_bytes());
    assert!(piped.err.contains("expected a time or a number of references"), "{piped:?}");
    let timeless = folder.file("t.ids", "1\n2\n");
    let run = hotset(&["simulate", &timeless, "--format", "ids", "-p", "lru", "-s", "1 blocks", "--from", "1s"]);
    assert!(run.err.contains("the trace has no times"), "{run:?}");
}

/// A gcc recording has 64,938 references with mappings and 1,220 without: they decided the result, and nothing said so.
#[test]
fn mapped_files_are_left_out_and_said_to_be() {
    let folder = Folder::new();
    let trace = folder.file("m.csv", MAPPED);
    let run = hotset(&["simulate", &trace, "-p", "lru", "-s", "9 blocks", "--json", "-"]);
    assert_eq!(
        run.err,
        format!(
            "hotset: {trace}: mappings of 80K are left out, since nothing tells what was touched of them (--maps all counts each as a read of its whole range)\n"
        )
    );
    let row: serde_json::Value = serde_json::from_str(run.out.trim()).unwrap();
    assert_eq!((&row["references"], &row["maps"]), (&2.into(), &"touched".into()));
    let references = |maps: &str| {
        let rows = hotset(&["simulate", &trace, "-p", "lru", "-s", "9 blocks", "--maps", maps, "--json", "-"]).rows();
        (rows[0]["references"].as_u64(), rows[0]["read_requests"].as_u64(), rows[0]["write_requests"].as_u64())
    };
    assert_eq!(references("all"), (Some(22), Some(2), Some(1)));
    assert_eq!(references("none"), (Some(2), Some(1), Some(1)));
    assert!(hotset(&["inspect", &trace]).err.contains("mappings of 80K"));
    assert!(hotset(&["curve", &trace]).err.contains("mappings of 80K"));
}
