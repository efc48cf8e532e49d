//! Experiments on mixes of applications, through the command.

mod support;

use std::fs;

use hotset_testkit::inputs;
use serde_json::Value;
use support::{Folder, hotset};

/// Two programs that read a block every 10 ms: one loops over 20 blocks, the other over 300.
fn traces(folder: &Folder) {
    let trace = |blocks: u32| {
        let line = |step: u32| format!("{},R,/data/x,{},4096\n", f64::from(step) / 100.0, step % blocks * 4096);
        format!("time_s,op,file,offset,bytes\n{}", (0..1500).map(line).collect::<String>())
    };
    folder.file("loop.csv", trace(20));
    folder.file("scan.csv", trace(300));
}

const MIX: &str = r#"
title = "T"
source = "S"
policies = "lru,qos(lru,prefetch=off,loop=90%,scan=0%)"
sizes = "30,400 blocks"
applications = true

[[mix]]
name = "both"
apps = [{ name = "loop", trace = "./loop.csv" }, { name = "scan", trace = "./scan.csv", start = "5s", span = "30s" }]

[[compare]]
better = "qos(lru,prefetch=off,loop=90%,scan=0%)"
than = "lru"
app = "loop"
"#;

#[test]
fn mixes_are_made_as_they_run_and_applications_told_apart() {
    let folder = Folder::new();
    traces(&folder);
    let file = folder.file("mix.toml", MIX);
    let shown = hotset(&["experiment", &file]).good().out;
    assert!(shown.contains("both at 120K: hit ratio in %"), "{shown}");
    assert!(shown.contains("| policy") && shown.contains("loop") && shown.contains("98.67 in "), "{shown}");
    assert!(shown.contains("against lru for loop"), "{shown}");
    let rows = hotset(&["experiment", &file, "--json", "-"]).rows();
    assert_eq!((rows.len(), &rows[0]["trace"]), (4, &"both".into()));
    // The same as the mix in a file.
    let (out, apps) =
        (folder.path("mix.hst"), ["loop", "scan"].map(|app| format!("{app}={}", folder.path(&format!("{app}.csv")))));
    hotset(&["mix", &apps[0], &apps[1], "--start", "scan=5s", "--span", "scan=30s", "-o", &out]).good();
    let of_file = hotset(&["simulate", &out, "-p", "lru", "-s", "30 blocks", "--json", "-"]).rows();
    assert_eq!((&rows[0]["hits"], &rows[0]["references"]), (&of_file[0]["hits"], &of_file[0]["references"]));
}

#[test]
fn the_least_size_that_keeps_promises_is_shown() {
    let folder = Folder::new();
    traces(&folder);
    let mix = MIX.split("[[compare]]").next().unwrap();
    let mix = mix.replace("applications = true", "measure = \"promises_kept\"");
    let mix = mix.replace("name = \"both\"", "name = \"both\"\ngoals = \"loop=90%,scan=0%\"");
    let mix = mix.replace("lru,qos(lru,prefetch=off,loop=90%,scan=0%)", "lru,qos(lru,prefetch=off,least=1)");
    let cells = |sizes: &str| {
        let file = folder.file("least.toml", mix.replace("30,400", sizes));
        let shown = hotset(&["experiment", &file]).good().out;
        let table =
            shown.split_once("Least of the sizes at which a promise is kept").map(|(_, table)| table.to_owned());
        let words =
            |line: &str| line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("; ");
        table.map(|table| table.lines().filter(|line| line.contains("both")).map(words).collect::<Vec<_>>())
    };
    // Between two rounds of 20 blocks the scan reads 10 others, so one cache needs 30 blocks and a part 20.
    let expected = ["both; loop 90.00 %; 160K; 100K", "both; scan 0.00 %; 60K; 60K", "both; all; 160K; 100K"];
    assert_eq!(cells("15,25,40").unwrap(), expected);
    let too_small = ["both; loop 90.00 %; -; -", "both; scan 0.00 %; 40K; 40K", "both; all; -; -"];
    assert_eq!(cells("10,15").unwrap(), too_small);
    assert!(cells("25").is_none(), "a sweep has two sizes or more");
}

#[test]
fn an_experiment_may_have_a_disk() {
    let folder = Folder::new();
    traces(&folder);
    let head = MIX.replace(
        "applications = true",
        "applications = true\nstore = \"latency(time=5ms)\"\nmeasure = \"finish_seconds\"",
    );
    let shown = hotset(&["experiment", &folder.file("disk.toml", &head)]).good().out;
    assert!(shown.contains("seconds until the end") && shown.contains("% less"), "{shown}");
    let wrong = folder.file("wrong.toml", head.replace("latency", "tape"));
    assert!(hotset(&["experiment", &wrong]).err.contains("wrong.toml, store: unknown store \"tape\""));
}

#[test]
fn applications_are_shown_over_time() {
    let folder = Folder::new();
    traces(&folder);
    let text = MIX.replace("\"30,400 blocks\"", "\"30 blocks\"").replace("applications = true", "every = \"5s\"");
    let shown = hotset(&["experiment", &folder.file("time.toml", &text)]).good().out;
    assert!(shown.contains("both at 120K: hits in %, and room"), "{shown}");
    let line = shown.lines().find(|line| line.starts_with("| lru: scan")).expect("a line for the scan");
    assert!(line.split('|').nth(2).unwrap().trim() == "-", "it begins later: {line}");
    let wrong = folder.file("wrong.toml", text.replace("every = \"5s\"", "every = \"often\""));
    assert!(hotset(&["experiment", &wrong]).err.contains("wrong.toml, every: \"often\" is not an interval"));
}

#[test]
fn the_cache_saved_is_read_off_the_mean_curve() {
    let folder = Folder::new();
    traces(&folder);
    let text = "title = \"T\"\nsource = \"S\"\ntraces = [\"loop.csv\", \"loop.csv\"]\npolicies = \"lru,mru\"\nsizes = \"5,10,19,20 blocks\"\n\n\
                [[compare]]\nbetter = \"mru\"\nthan = \"lru\"\nsaved_from = 90\npaper_saved = 10\n";
    let shown = hotset(&["experiment", &folder.file("saved.toml", text), "--traces", &folder.path("")]).good().out;
    // LRU hits nothing until it holds the whole loop, and then as much as MRU.
    assert!(shown.contains("90 to 100 % |") && shown.contains("0.0 % | 10.0 % |"), "{shown}");
    assert!(shown.contains("± 0.0"), "{shown}");
    let none = folder.file("none.toml", "title = \"T\"\nsource = \"S\"\npolicies = \"lru\"\nsizes = \"5 blocks\"\n");
    assert!(hotset(&["experiment", &none]).err.contains("it has no traces"));
}

#[test]
fn a_comparison_may_be_of_one_trace_and_at_a_share_of_the_best() {
    let folder = Folder::new();
    traces(&folder);
    let text = "title = \"T\"\nsource = \"S\"\ntraces = [\"loop.csv\", \"scan.csv\"]\npolicies = \"lru,mru\"\nsizes = \"5,10,20 blocks\"\n\n\
                [[compare]]\nbetter = \"mru\"\nthan = \"lru\"\ntrace = \"loop\"\nsaved_best = 50\npaper_saved = 40\n";
    let file = folder.file("one.toml", text);
    let shown = hotset(&["experiment", &file, "--traces", &folder.path("")]).good().out;
    // All of the loop of 20 hits 1480 of 1500; half of that MRU reaches with some 10 blocks, LRU between 10 and 20,
    // where it hits nothing yet.
    assert!(shown.contains("mru against lru on loop") && shown.contains("50 % of its best |"), "{shown}");
    let alone = text.replace(", \"scan.csv\"", "").replace("trace = \"loop\"\n", "");
    let alone = hotset(&["experiment", &folder.file("alone.toml", alone), "--traces", &folder.path("")]).good().out;
    let saved = |text: &str| {
        text.lines()
            .find(|line| line.contains("% of its best"))
            .unwrap()
            .split('|')
            .nth(3)
            .map(str::trim)
            .map(str::to_owned)
    };
    assert_eq!(saved(&shown), saved(&alone), "{shown}");
    let wrong = folder.file("wrong.toml", text.replace("\"loop\"\n", "\"lap\"\n"));
    assert!(hotset(&["experiment", &wrong]).err.contains("found the trace \"lap\"; expected one of loop, scan"));
}

/// Experiments of the same work share a replay; nothing else is taken for it.
#[test]
fn experiments_run_together_show_what_each_shows_alone() {
    let folder = Folder::new();
    traces(&folder);
    let text =
        "title = \"T\"\nsource = \"S\"\ntraces = [\"loop.csv\"]\npolicies = \"lru,mru\"\nsizes = \"5,10 blocks\"\n";
    let files = [
        ("hits", text.to_owned()),
        ("moved", format!("{text}measure = \"transfers_per_reference\"\n")),
        ("cut", format!("{text}block = 512\n")),
        ("sizes", text.replace("5,10", "5,19")),
        ("trace", text.replace("loop.csv", "scan.csv")),
        ("policies", text.replace("lru,", "fifo,")),
        ("disk", format!("{text}store = \"latency(time=5ms)\"\nmeasure = \"finish_seconds\"\n")),
        ("again", text.to_owned()),
    ]
    .map(|(name, text)| folder.file(&format!("{name}.toml"), text));
    let traces = folder.path("");
    let shown = |files: &[&str]| hotset(&[&["experiment", "--traces", &traces][..], files].concat()).good().out;
    let apart: String = files.iter().map(|file| shown(&[file])).collect();
    assert_eq!(shown(&files.each_ref().map(String::as_str)), apart);
}

#[test]
fn what_moves_is_stacked() {
    let folder = Folder::new();
    traces(&folder);
    let text = "title = \"T\"\nsource = \"S\"\ntraces = [\"loop.csv\"]\npolicies = \"lru,virtual(lru,unit=4K,quantum=20,queue=256K)\"\nsizes = \"8,10 blocks\"\n\
                measure = \"transfers_per_reference\"\nstacked = true\n";
    let file = folder.file("stack.toml", text);
    let shown = hotset(&["experiment", &file, "--traces", &folder.path("")]).good().out;
    let cell = |name: &str| -> f64 {
        let line = shown.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {shown}"));
        line.split('|').nth(2).unwrap().trim().parse().unwrap()
    };
    let rows = hotset(&["experiment", &file, "--traces", &folder.path(""), "--json", "-"]).rows();
    let count = |name: &str| rows[2][name].as_f64().unwrap();
    let parts = [count("misses"), count("allocation_reads"), count("fragment_reads")];
    let names = ["): misses", "): + allocation", "): + fragments"];
    let mut sum = 0.0;
    for (part, name) in parts.into_iter().zip(names) {
        assert!(part > 0.0, "{name}");
        sum += part;
        assert!((cell(name) - 100.0 * sum / count("references")).abs() < 0.006, "{name}: {shown}");
    }
    assert!(!shown.contains("lru: + ") && !shown.contains("+ written back"), "{shown}");
    let wrong = folder.file("wrong.toml", text.replace("transfers_per_reference", "hit_ratio"));
    assert!(hotset(&["experiment", &wrong]).err.contains("wrong.toml: stacked: found another measure"));
}

/// The counts of an independent simulation of the same mix, written from the papers: hit rates in percent of the two
/// applications and of both, at 64 MB.
#[test]
fn partitions_hit_what_was_counted_independently() {
    let names = ["own/strace/pg_tpcc.strace.zst", "own/strace/mplayer.strace.zst"];
    let [Some(tpcc), Some(mplayer)] = names.map(inputs::trace_path) else { return };
    let folder = Folder::new();
    let out = folder.path("mix.hst");
    let (tpcc, mplayer) = (format!("tpcc=strace:{}", tpcc.display()), format!("mplayer=strace:{}", mplayer.display()));
    let made = hotset(&["mix", &tpcc, &mplayer, "--span", "tpcc=120s", "--span", "mplayer=120s", "-o", &out]);
    assert_eq!(made.status, 0, "{}", made.err);
    let qos = "qos(lru,prefetch=off,interval=2s,least=1,tpcc=70%,mplayer=0.5%)";
    let specs = &format!("shared(lru,prefetch=off),equal(lru,prefetch=off),{qos}");
    let rows = hotset(&["simulate", &out, "-p", specs, "-s", "64M", "--maps", "none", "--json", "-"]).rows();
    for (row, expected) in rows.iter().zip([[57.5, 0.7, 55.0], [40.6, 0.7, 38.8], [59.2, 0.7, 56.5]]) {
        let percent =
            |counts: &Value| 100.0 * counts["hits"].as_f64().unwrap() / counts["references"].as_f64().unwrap();
        let rates = [percent(&row["apps"][0]), percent(&row["apps"][1]), percent(row)];
        assert_eq!(rates.map(|rate| (rate * 10.0).round() / 10.0), expected, "{}", row["policy"]);
    }
}

/// Workload III at the paper's ratios: 7.4 blocks are streamed for each block of the data of the application in need.
/// At 37 MB a partition by promises keeps both, one cache keeps only the film's.
#[test]
fn promises_are_kept_at_the_ratios_of_the_paper_by_partitions_alone() {
    let folder = Folder::new();
    let experiments = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/qos");
    let text = fs::read_to_string(format!("{experiments}/least-III.toml")).unwrap();
    let line = |line: &str| match line.split(" = ").next() {
        Some("policies") => "policies = \"shared(lru),qos(lru,points=9,least=1)\"".to_owned(),
        Some("sizes") => "sizes = \"37M\"".to_owned(),
        _ => line.replace("../../workloads", &format!("{experiments}/../../workloads")),
    };
    let file = folder.file("III.toml", text.lines().map(line).collect::<Vec<_>>().join("\n"));
    let rows = hotset(&["experiment", &file, "--json", "-"]).rows();
    let kept = |row: &Value| {
        let apps = row["apps"].as_array().unwrap();
        apps.iter().filter(|app| app["promise_met"] == true).count()
    };
    assert_eq!(rows.iter().map(kept).collect::<Vec<_>>(), [1, 2], "{rows:?}");
}
