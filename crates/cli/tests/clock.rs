//! `hotset simulate --store` and `--series`, as a user runs them.

mod support;

use serde_json::Value;
use support::{Folder, hotset};

/// Two applications: `loop` reads four blocks over and over, a second apart; `scan` reads on and on, half a second
/// apart.
fn mixed(folder: &Folder) -> String {
    let line = |time: f64, app: &str, block: u32| format!("{time},{app},R,/{app},{},4096\n", block * 4096);
    let header = "time_s,app,op,file,offset,bytes\n";
    let looping: String = (0..20).map(|step| line(f64::from(step), "loop", step % 4)).collect();
    let scanning: String = (0..40).map(|step| line(f64::from(step) / 2.0, "scan", step)).collect();
    let (one, other) =
        (folder.file("loop.csv", format!("{header}{looping}")), folder.file("scan.csv", format!("{header}{scanning}")));
    let out = folder.path("mix.hst");
    hotset(&["mix", &format!("loop={one}"), &format!("scan={other}"), "-o", &out]).good();
    out
}

#[test]
fn a_disk_gives_times() {
    let folder = Folder::new();
    let trace = mixed(&folder);
    let line =
        ["simulate", &trace, "-p", "lru", "-s", "4,64 blocks", "--store", "latency(time=100ms,hit=1ms)", "--json", "-"];
    let rows = hotset(&line).rows();
    let apps = |row: usize| {
        let app = |app: usize| rows[row]["apps"][app]["finish_seconds"].as_f64().expect("a finish");
        (app(0), app(1))
    };
    // 19 s between the first and the last request of `loop`, which also waits for 4 misses of 100 ms and 16 hits of 1
    // ms in a cache that holds all. Blocks 1, 2, ... of a scan follow on the ones before, but a second later: each is a
    // separate access.
    let (looping, scanning) = apps(1);
    assert!((looping - 19.416).abs() < 0.2, "{looping}: waits for the other's accesses come on top");
    assert!((scanning - (19.5 + 40.0 * 0.1)).abs() < 0.4, "{scanning}");
    assert!(apps(0).0 > looping, "a smaller cache keeps it longer");
    assert_eq!(rows[1]["disk_busy_seconds"].as_f64(), Some(4.4), "44 misses");
    assert_eq!(rows[1]["hits"], 16);
    let shown =
        hotset(&["simulate", &trace, "-p", "lru", "-s", "64 blocks", "--store", "latency(time=100ms)"]).good().out;
    assert!(shown.contains("seconds") && shown.contains("lru, application by application"), "{shown}");
}

#[test]
fn series_say_what_each_application_hits_and_holds() {
    let folder = Folder::new();
    let trace = mixed(&folder);
    let line =
        ["simulate", &trace, "-p", "qos(lru,loop=50%,interval=10)", "-s", "8 blocks", "--series", "-", "--every", "5s"];
    let rows = hotset(&line).rows();
    assert_eq!(rows.len(), 8, "4 stretches of two applications: {rows:?}");
    assert!(rows.iter().all(|row| row["kind"] == "series" && row["policy"].as_str().unwrap().starts_with("qos")));
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().expect("a count")).sum::<u64>();
    assert_eq!(sum("references"), 60);
    let held = |key: &str| rows[6..].iter().map(|row| row[key].as_u64().expect("a count")).sum::<u64>();
    assert!((1..=8).contains(&held("resident_blocks")), "{rows:?}");
    assert_eq!(held("room_blocks"), 8, "{rows:?}");
    assert!(sum("repartitions") > 0);
    // Results measured beforehand at 1, 4 and 8 blocks, and those of this run.
    let table = rows[6]["table"].as_array().expect("the table of an application");
    assert!(table.len() >= 3 && table[0][0] == 1 && table.iter().all(|point| point[1].as_f64().unwrap() <= 1.0));
    let counted = ["simulate", &trace, "-p", "lru", "-s", "8 blocks", "--series", "-", "--every", "30"];
    assert_eq!(hotset(&counted).rows().len(), 4, "two stretches of 30 references");
}

#[test]
fn what_cannot_be_timed_is_said() {
    let folder = Folder::new();
    let trace = mixed(&folder);
    let ids = folder.file("t.ids", "1\n2\n1\n");
    let refused = |trace: &str, more: &[&str]| hotset(&[&["simulate", trace, "-s", "8 blocks"], more].concat()).err;
    assert!(refused(&trace, &["-p", "opt", "--store", "disk"]).contains("opt"));
    assert!(refused(&trace, &["-p", "lru", "--store", "tape"]).contains("unknown store \"tape\""));
    assert!(refused(&trace, &["-p", "lru", "--series", "-", "--every", "soon"]).contains("expected a time such as 2s"));
    assert!(refused(&ids, &["-p", "lru", "--store", "disk"]).contains("times"));
}

/// Two sizes, and every store by its name.
#[test]
fn times_are_told_at_every_size_and_for_every_store() {
    let folder = Folder::new();
    let trace = mixed(&folder);
    let line = |store: &str| {
        hotset(&["simulate", &trace, "-p", "lru,fifo", "-s", "4,64,128 blocks", "--store", store]).good().out
    };
    let shown = line("latency(time=100ms)");
    assert!(shown.contains("seconds until the end by cache size"), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("At 256K, lru is quickest: ") && !words.contains("save 0.00 s"), "{words}");
    assert!(!shown.contains("time saved"), "both take as long: {shown}");
    let render = format!("{}/../../workloads/render.hst", env!("CARGO_MANIFEST_DIR"));
    let words = ["simulate", &render, "--maps", "none", "-p", "mru,lru", "-s", "4M", "--store", "latency(time=100ms)"];
    let seconds = |row: &Value| row["finish_seconds"].as_f64().unwrap();
    let rows = hotset(&[&words[..], &["--json", "-"]].concat()).rows();
    let saved = format!("{:.2}", seconds(&rows[1]) - seconds(&rows[0]));
    let shown = hotset(&words).good().out;
    let cells = shown.lines().find(|line| line.starts_with("mru ")).unwrap().split_whitespace();
    assert_eq!(cells.last(), Some(saved.as_str()), "{shown}");
    assert!(shown.contains("time saved"), "{shown}");
    for store in ["nvme", "ssd", "hdd", "nfs", "s3", "disk", "5ms,100M,8", "nvme(latency=1ms,parallel=2)"] {
        assert!(line(store).contains("seconds until the end"), "{store}");
    }
}
