//! The other commands: their output, and that they agree with each other.

mod support;

use serde_json::Value;
use support::{Folder, csv, hotset, hotset_fed, ids, keys};

#[test]
fn inspect_agrees_with_simulate_and_curve() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let seen = &hotset(&["inspect", &trace, "--json", "-"]).rows()[0];
    let row = &hotset(&["simulate", &trace, "-p", "lru", "-s", "100%", "--json", "-"]).rows()[0];
    assert_eq!((&seen["references"], &seen["distinct_blocks"]), (&row["references"], &row["distinct_blocks"]));
    assert_eq!(seen["reuse"]["first_uses"], row["misses"]);
    let bins = seen["reuse"]["bins"].as_array().unwrap();
    for bin in bins {
        let (from, to) = (bin["from"].as_u64().unwrap(), bin["to"].as_u64().unwrap());
        let size = format!("{to} blocks");
        let at = hotset(&["simulate", &trace, "-p", "lru", "-s", &size, "--json", "-"]).rows()[0]["hits"].as_u64();
        let below = bins.iter().filter(|other| other["to"].as_u64() <= Some(to));
        assert_eq!(at, Some(below.map(|bin| bin["references"].as_u64().unwrap()).sum()), "{from}..={to}");
    }
    assert_eq!(seen["requests"], 6000);
    assert_eq!(seen["time_span_s"], 59.99);
    let apps = row["apps"].as_array().unwrap();
    assert_eq!(seen["apps"]["total"], apps.len());
    for app in seen["apps"]["top"].as_array().unwrap() {
        let same = apps.iter().find(|other| other["name"] == app["name"]).expect("simulate names it too");
        assert_eq!((&app["references"], &app["requests"]), (&same["references"], &same["requests"]));
    }
    let reads = &seen["operations"][0];
    assert_eq!((&reads["name"], &reads["requests"]), (&Value::from("read"), &Value::from(4500)));
}

#[test]
fn inspect_of_ids_leaves_out_what_they_do_not_tell() {
    let run = hotset_fed(&["inspect", "-", "--format", "ids", "--json", "-"], b"5\n5\n7\n");
    let seen = &run.rows()[0];
    let expected =
        ["distinct_blocks", "failed_requests", "format", "references", "requests", "reuse", "trace", "version"];
    assert_eq!(keys(seen), expected);
    let page = hotset_fed(&["inspect", "-", "--format", "ids"], b"5\n5\n7\n").good().out;
    let expected = "\
- (ids)

requests    3
references  3 to blocks
footprint   2 blocks, each referenced 1.5 times on average

Reuse distances: distinct blocks since the last use of a block
   blocks       %   share                            LRU hits %
───────────────────────────────────────────────────────────────
      ≤ 1   33.33   ███████████████                       33.33
first use   66.67   ██████████████████████████████
";
    assert_eq!(page, expected);
}

#[test]
fn exact_curves_equal_simulation_at_every_point() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    for policy in ["lru", "opt"] {
        let curve = hotset(&["curve", &trace, "-p", policy, "--points", "30", "--json", "-"]).rows();
        let sizes: Vec<String> = curve.iter().map(|point| point["size_blocks"].to_string()).collect();
        assert!(sizes.len() > 25);
        let rows =
            hotset(&["simulate", &trace, "-p", policy, "-s", &(sizes.join(",") + " blocks"), "--json", "-"]).rows();
        for (point, row) in curve.iter().zip(&rows) {
            for field in keys(point) {
                assert_eq!(point[field], row[field], "{policy} at {}", point["size_blocks"]);
            }
        }
    }
}

#[test]
fn a_curve_of_another_policy_is_simulated() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let curve = hotset(&["curve", &trace, "-p", "lru,sieve", "--points", "10", "--json", "-"]).rows();
    let of = |policy: &str| curve.iter().filter(|point| point["policy"] == policy).count();
    assert_eq!((of("lru"), of("sieve")), (10, 10));
    let row = &hotset(&["simulate", &trace, "-p", "sieve", "-s", "100%", "--json", "-"]).rows()[0];
    assert_eq!(curve.last().unwrap()["hits"], row["hits"]);
}

#[test]
fn a_sampled_curve_says_so_and_is_near() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let exact = hotset(&["curve", &trace, "-p", "lru", "--sample", "100%", "--json", "-"]).rows();
    let plain = hotset(&["curve", &trace, "-p", "lru", "--json", "-"]).rows();
    let hits = |rows: &[Value]| rows.iter().map(|row| row["hits"].clone()).collect::<Vec<_>>();
    assert_eq!(hits(&exact), hits(&plain), "a sample of everything is exact");
    assert_eq!((&exact[0]["sampling_rate"], exact[0].get("expected_error")), (&Value::from(1.0), None));

    let sampled = hotset(&["curve", &trace, "-p", "lru", "--sample-size", "800", "--json", "-"]).rows();
    assert!(sampled.iter().all(|row| row["sampled_blocks"].as_u64() <= Some(800) && row["expected_error"].is_f64()));
    let page = hotset(&["curve", &trace, "-p", "lru", "--sample", "0.3"]).good().out;
    assert!(page.contains("Estimated from") && page.contains("about"), "{page}");
    // A stream will do.
    let streamed =
        hotset(&["curve", &trace, "-p", "lru", "--sample-size", "800", "--memory", "1B", "--json", "-"]).rows();
    assert_eq!(streamed, sampled);
}

#[test]
fn the_page_of_a_curve() {
    let folder = Folder::new();
    let trace = folder.file("loop.ids", "1\n2\n3\n4\n".repeat(100));
    let out = hotset(&["curve", &trace, "--format", "ids"]).good().out;
    assert!(out.contains(" 100 % ┤") && out.contains("• lru   ○ opt"), "{out}");
    let text = out.replace('\n', " ");
    assert!(text.contains("lru: 25 % needs 4 blocks; 50 % needs 4 blocks;"), "{out}");
    assert!(text.contains("; at most 99.00 %, from 4 blocks on."), "{out}");
    assert!(text.contains("opt: 25 % needs 2 blocks; 50 % needs 3 blocks;"), "{out}");
    assert!(out.lines().skip(1).all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn all_points_are_the_whole_curve() {
    let run = hotset_fed(
        &["curve", "-", "--format", "ids", "-p", "lru", "--points", "all", "--json", "-"],
        b"1\n2\n1\n1\n3\n2\n",
    );
    let points: Vec<(u64, u64)> =
        run.rows().iter().map(|row| (row["size_blocks"].as_u64().unwrap(), row["hits"].as_u64().unwrap())).collect();
    assert_eq!(points, [(1, 1), (2, 2), (3, 3)]);
}

#[test]
fn import_puts_traces_together() {
    let folder = Folder::new();
    let (first, out) = (folder.file("a.csv", csv()), folder.path("out.hst"));
    let run = hotset(&["import", &first, &first, "-o", &out, "--as", "db"]).good();
    assert!(
        run.out.ends_with(": 12,000 requests (9,000 reads, 3,000 writes) to 2 files by 1 application in 60.0 s\n"),
        "{}",
        run.out
    );
    let seen = &hotset(&["inspect", &out, "--json", "-"]).rows()[0];
    let once = &hotset(&["inspect", &first, "--json", "-"]).rows()[0];
    assert_eq!(seen["distinct_blocks"], once["distinct_blocks"], "the same files");
    assert_eq!(seen["apps"]["top"][0]["name"], "db");
    assert_eq!(folder.names(), ["a.csv", "out.hst"], "nothing else is left");

    let other = folder.file("b.ids", "1\n2\n");
    let refused = hotset(&["import", &first, &other, "-o", &out]);
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.contains("addressed by objects") && refused.err.contains("import it separately"),
        "{}",
        refused.err
    );
    assert_eq!(hotset(&["inspect", &out, "--json", "-"]).rows()[0], *seen, "the earlier file has not changed");
}

/// A trace written for libCacheSim replays as its source; files become objects of a block each.
#[test]
fn import_writes_lcs() {
    let folder = Folder::new();
    let lines: String =
        (0..2000u64).map(|at| format!("{at},{},{}\n", at * at % 203, ["R", "W"][at as usize % 2])).collect();
    let keys = folder.file("k.csv", format!("time_s,key,op\n{lines}"));
    let blocks = folder.file("b.csv", csv());
    for (trace, told) in [(keys, "2,000 requests to "), (blocks, " objects of 4096 bytes each")] {
        let out = folder.path("out.lcs");
        let run = hotset(&["import", &trace, "-o", &out]).good();
        assert!(run.out.contains(told), "{}", run.out);
        let counts = |path: &str| {
            let args =
                ["simulate", path, "-p", "lru,opt,s3-fifo", "-s", "10%,50%", "--deletes", "ignore", "--json", "-"];
            hotset(&args)
                .rows()
                .iter()
                .map(|row| [row["references"].clone(), row["hits"].clone(), row["read_hits"].clone()])
                .collect::<Vec<_>>()
        };
        assert_eq!(counts(&out), counts(&trace));
    }
    let device = folder.path("null.lcs");
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    let refused = hotset(&["import", &folder.path("out.lcs"), "-o", &device]);
    assert!(refused.status == 2 && refused.err.contains("a pipe or device does not allow"), "{}", refused.err);
    let bad = folder.file("late.csv", "time_s,key\n1,a\n9999999999,b\n");
    let refused = hotset(&["import", &bad, "-o", &folder.path("late.lcs")]);
    assert!(refused.status == 1 && refused.err.contains("less than 2^32"), "{}", refused.err);
    assert!(!folder.names().contains(&"late.lcs".to_owned()));
}

/// A sample has all requests of its objects, tells its size and error, and is named as one wherever it is read.
#[test]
fn import_samples_objects() {
    let folder = Folder::new();
    let lines: String = (0..40_000u64).map(|at| format!("{at},{},100\n", at * at % 2003)).collect();
    let (whole, out) = (folder.file("w.csv", format!("time_s,key,size\n{lines}")), folder.path("s.hst"));
    let run = hotset(&["import", &whole, "--sample", "25%", "-o", &out]);
    assert!(
        run.err.contains(": the sample has ") && run.err.contains(" of 40000 references; the curve of lru"),
        "{}",
        run.err
    );
    // One object has nearly all references: a sample without it tells little, and says so.
    let lines: String = (0..4000u64).map(|at| format!("{at},{},100\n", if at % 8 == 0 { at } else { 7 })).collect();
    let skewed = folder.file("skewed.csv", format!("time_s,key,size\n{lines}"));
    let run = hotset(&["import", &skewed, "--sample", "25%", "-o", &folder.path("skewed.hst")]);
    assert!(run.err.contains("a replay may be off by up to") && run.err.contains("use curve --sample"), "{}", run.err);
    let run = hotset(&["simulate", &out, "-p", "lru", "-s", "10%,50%", "--json", "-"]);
    assert!(run.err.contains("this is a sample of 0.25 of the objects"), "{}", run.err);
    let replayed: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_whole = hotset(&["simulate", &whole, "-p", "lru", "-s", "10%,50%", "--json", "-"]).rows();
    for (one, other) in replayed.iter().zip(&of_whole) {
        let (sampled, exact) = (one["hit_ratio"].as_f64().unwrap(), other["hit_ratio"].as_f64().unwrap());
        assert!((sampled - exact).abs() < 0.06, "{sampled} {exact}");
    }
    let distinct = |row: &Value| row["distinct_blocks"].as_f64().unwrap();
    let share = distinct(&replayed[0]) / distinct(&of_whole[0]);
    assert!((0.18..0.32).contains(&share), "{share}");
    // Sizes in bytes and objects are those of a cache for the whole trace.
    for size in ["40000b", "800 objects"] {
        let run = hotset(&["simulate", &out, "-p", "lru", "-s", size, "--json", "-"]);
        assert!(
            run.err.contains("sizes are of a cache for the whole trace; the sample is replayed in 0.25"),
            "{}",
            run.err
        );
        let sampled: Value = serde_json::from_str(run.out.trim()).unwrap();
        let exact = hotset(&["simulate", &whole, "-p", "lru", "-s", size, "--json", "-"]).rows().remove(0);
        assert_eq!((&sampled["size_blocks"], &sampled["size_bytes"]), (&exact["size_blocks"], &exact["size_bytes"]));
        let (sampled, exact) = (sampled["hit_ratio"].as_f64().unwrap(), exact["hit_ratio"].as_f64().unwrap());
        assert!((sampled - exact).abs() < 0.06 && exact > 0.2, "{size}: {sampled} {exact}");
    }
    // A copy is still a sample, and a sample is not sampled again.
    let copy = folder.path("copy.hst");
    assert_eq!(hotset(&["import", &out, "-o", &copy]).status, 0);
    let run = hotset(&["simulate", &copy, "-p", "lru", "-s", "10%"]);
    assert!(run.err.contains("this is a sample of 0.25"), "{}", run.err);
    let again = folder.path("again.hst");
    for refused in [hotset(&["import", &out, "--sample", "25%", "-o", &again]), hotset(&["curve", &out])] {
        assert!(refused.status == 2 && refused.err.contains("the trace is a sample already"), "{}", refused.err);
    }
    let refused = hotset(&["import", &whole, &out, "-o", &again]);
    assert!(refused.status != 0 && refused.err.contains("not samples of the same share"), "{}", refused.err);
    let refused = hotset(&["import", &whole, "--sample", "2", "-o", &out]);
    assert!(refused.status == 2 && refused.err.contains("at most 1"), "{}", refused.err);
}

#[test]
fn lists_and_explanations() {
    let formats = hotset(&["formats"]).good().out;
    let policies = hotset(&["policies"]).good().out;
    for name in ["hst", "strace", "csv", "arc", "oracle-general"] {
        assert!(formats.lines().any(|line| line.starts_with(name)), "{name}: {formats}");
    }
    for entry in hotset_core::registry::all() {
        assert!(policies.contains(entry.info.summary));
        let page = hotset(&["policies", entry.info.name]).good().out;
        assert!(page.contains("Example: hotset simulate"), "{page}");
    }
    assert_eq!(hotset(&["policies", "BELADY"]).good().out, hotset(&["policies", "opt"]).good().out);
    let help = hotset(&["--help"]).good().out;
    for command in ["demo", "record", "inspect", "simulate", "curve", "import", "policies", "formats"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{command}: {help}");
        assert!(hotset(&[command, "--help"]).good().out.contains("Usage: hotset"));
    }
}

#[test]
fn generated_traces_are_known_exactly() {
    let folder = Folder::new();
    let out = folder.path("loop.hst");
    hotset(&["generate", "loop", "objects=100", "laps=10", "-o", &out]).good();
    let rows = hotset(&["simulate", &out, "-p", "lru", "-s", "99 blocks,100 blocks", "--json", "-"]).rows();
    let hits: Vec<u64> = rows.iter().map(|row| row["hits"].as_u64().unwrap()).collect();
    assert_eq!((hits, &rows[0]["distinct_blocks"]), (vec![0, 900], &Value::from(100)));

    let kinds = hotset(&["generate"]).good().out;
    assert!(kinds.contains("zipf") && kinds.contains("parameter"), "{kinds}");
    let unknown = hotset(&["generate", "zipfy", "-o", &out]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("did you mean zipf"), "{}", unknown.err);
    assert_eq!(hotset(&["generate", "zipf"]).status, 2, "no output named");
    assert_eq!(hotset(&["generate", "zipf", "s", "-o", &out]).status, 2, "no value");
}

#[test]
fn the_page_cache_of_files_is_shown_and_compared() {
    let folder = support::Folder::new();
    let file = folder.file("data", "x".repeat(10_000));
    let rows = support::hotset(&["cached", &file, "--json", "-"]).rows();
    assert_eq!((rows.len(), rows[0]["file_bytes"].as_u64()), (1, Some(10_000)));
    let before = folder.path("before.jsonl");
    support::hotset(&["cached", &file, "--json", &before]).good();
    let text = support::hotset(&["cached", &file, "--diff", &before]).good().out;
    assert!(text.starts_with("Before: ") && text.contains("0B came"), "{text}");
    let twice = support::hotset(&["cached", &file, "--json", &file]);
    assert!(twice.status == 2 && twice.err.contains("the same file as the input"), "{}", twice.err);
    let absent = support::hotset(&["cached", &folder.path("absent")]);
    assert!(absent.status == 1 && absent.err.contains("it does not exist"), "{}", absent.err);
}

mod recording {
    use super::support::{Folder, hotset};
    use hotset_testkit::inputs;

    /// Recording needs strace, and a system that lets it trace.
    fn can_record() -> bool {
        let folder = Folder::new();
        let run = hotset(&["record", "-o", &folder.path("x.hst"), "--", "true"]);
        if run.status != 0 {
            inputs::skip(&run.err);
        }
        run.status == 0
    }

    #[test]
    fn a_program_keeps_its_output_and_its_status() {
        if !can_record() {
            return;
        }
        let folder = Folder::new();
        let (input, out) = (folder.file("input", "x".repeat(10_000)), folder.path("x.hst"));
        let script = format!("cat {input} | wc -c; echo oops >&2; exit 7");
        let run = hotset(&["record", "-o", &out, "--", "sh", "-c", &script]);
        assert_eq!((run.status, run.out.as_str()), (7, "10000\n"), "{}", run.err);
        assert!(run.err.contains("oops\n") && run.err.contains("x.hst: "), "{}", run.err);
        let kept = folder.file("kept.hst", "a trace of hours");
        let again = hotset(&["record", "-o", &kept, "--", "true"]);
        assert_eq!(again.status, 2);
        assert!(again.err.contains("exists; choose another name, or replace it with --force"), "{}", again.err);
        let failed = hotset(&["record", "--force", "-o", &kept, "--", "/no/such/program"]);
        assert_eq!((failed.status, std::fs::read_to_string(&kept).unwrap().as_str()), (127, "a trace of hours"));
        assert_eq!(hotset(&["record", "--force", "-o", &kept, "--", "true"]).status, 0);
        assert_eq!(hotset(&["inspect", &kept]).status, 0);
        let seen = &hotset(&["inspect", &out, "--maps", "none", "--json", "-"]).rows()[0];
        let files = seen["files"]["top"].as_array().unwrap();
        let read = files.iter().find(|file| file["path"].as_str() == Some(&input)).expect("what cat read is there");
        assert_eq!((read["references"].as_u64(), read["size_bytes"].as_u64()), (Some(3), Some(10_000)));
        let names: Vec<&str> =
            seen["apps"]["top"].as_array().unwrap().iter().filter_map(|app| app["name"].as_str()).collect();
        assert!(names.contains(&"cat"), "{names:?}");
    }

    #[test]
    fn a_killed_program_gives_the_status_of_a_shell() {
        if !can_record() {
            return;
        }
        let folder = Folder::new();
        let run = hotset(&["record", "-o", &folder.path("x.hst"), "sh", "-c", "kill -9 $$"]);
        assert_eq!(run.status, 128 + 9, "{}", run.err);
    }
}
