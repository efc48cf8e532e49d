//! Experiments that another program replays: the requests that it receives, and that its rows are used unchanged.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use support::{Folder, Run, command, finish, hotset};

const EXPERIMENT: &str = r#"
title = "T"
source = "S"
traces = ["./loop.csv", "./scan.csv"]
policies = "lru,2q(kin=30%),opt"
sizes = "30 blocks,50%"
only = "app=one,ops=reads"
warmup = "10%"
deletes = "ignore"
ttl = "ignore"
"#;

/// An experiment, and its rows as this machine has them.
fn experiment(folder: &Folder) -> (String, Vec<Value>) {
    let line = |step: u32, blocks: u32| format!("{},read,one,/x,{},4096\n", step, step * 7 % blocks * 4096);
    for (name, blocks) in [("loop.csv", 20), ("scan.csv", 300)] {
        let lines: String = (0..1500).map(|step| line(step, blocks)).collect();
        folder.file(name, format!("time_s,op,app,file,offset,bytes\n{lines}"));
    }
    let file = folder.file("experiment.toml", EXPERIMENT);
    let rows = hotset(&["experiment", &file, "--json", "-"]).rows();
    assert_eq!(rows.len(), 12);
    (file, rows)
}

/// Runs an experiment with this script in place of Python.
fn with_script(folder: &Folder, script: &str, arguments: &[&str]) -> Run {
    let path = folder.file("python", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(arguments);
    command.env("HOTSET_PYTHON", path);
    finish(command)
}

#[test]
fn rows_of_another_program_are_as_good_as_those_of_this_one() {
    let folder = Folder::new();
    let (file, rows) = experiment(&folder);
    let [local, other] = ["local", "other"].map(|name| folder.path(&format!("{name}.parquet")));
    hotset(&["experiment", &file, "--parquet", &local]).good();
    let answer: String = rows.chunks(6).map(|rows| format!("{}\n", serde_json::json!({ "rows": rows }))).collect();
    let (answers, asked) = (folder.file("answers", answer), folder.path("asked"));
    let script = format!("IFS= read -r line; echo \"$line\" > {asked}; cat {answers}; echo \"$@\" >> {asked}");
    let run =
        with_script(&folder, &script, &["experiment", &file, "--on", "ray://a:1", "--keep", "k", "--parquet", &other]);
    assert!(run.good().out.contains("2q(kin=30%)"));
    assert_eq!(fs::read(local).unwrap(), fs::read(other).unwrap());
    let told = fs::read_to_string(asked).unwrap();
    let (asked, module) = told.split_at(told.rfind('}').unwrap() + 1);
    assert_eq!(module.trim(), "-m hotset._on_cluster");
    let asked: Value = serde_json::from_str(asked).unwrap();
    assert_eq!((&asked["policies"], &asked["sizes"]), (&"lru,2q(kin=30%),opt".into(), &"30 blocks,50%".into()));
    let expected = serde_json::json!({
        "on": "ray://a:1", "keep": "k", "maps": "auto", "deletes": "ignore", "ttl": "ignore", "app": ["one"], "file": [],
        "exclude": [], "ops": "reads", "warmup": "10%",
    });
    assert_eq!(asked["options"], expected);
    assert!(asked["traces"][1].as_str().unwrap().ends_with("scan.csv"));
}

#[test]
fn whatever_the_other_program_does_is_a_sentence() {
    let folder = Folder::new();
    let (file, rows) = experiment(&folder);
    let half = folder.file("half", format!("{}\n", serde_json::json!({ "rows": &rows[..6] })));
    let ways = [
        ("exit 1", "needs the package hotset for Python and Ray"),
        ("echo \"python: No module named hotset\" >&2; exit 1", "expected what pip install 'hotset[ray]' gives"),
        (&format!("read -r line; cat {half}; exit 0"), "before all rows were there"),
        (&format!("read -r line; cat {half}; kill -9 $$"), "before all rows were there"),
        ("echo '{\"error\": \"no such cluster\"}'; exit 0", "hotset: no such cluster"),
        ("echo nonsense", "returned something other than rows"),
        ("echo '{\"rows\": [{\"version\": 2}]}'", "returned something other than rows"),
    ];
    for (script, sentence) in ways {
        let run = with_script(&folder, script, &["experiment", &file, "--on", "ray"]);
        assert!(run.status != 0 && run.err.contains(sentence), "{script}: {run:?}");
    }
    let mut nowhere = command(&["experiment", &file, "--on", "ray"]);
    nowhere.env("HOTSET_PYTHON", folder.path("nowhere"));
    assert!(finish(nowhere).err.contains("cannot be started"));
    let said = hotset(&["experiment", &file, "--on", "cloud"]).err;
    assert!(said.contains("expected local, ray or ray://HOST:PORT"), "{said}");
    let said = hotset(&["experiment", &file, "--keep", "k"]).err;
    assert!(said.contains("add --on ray"), "{said}");
    let every = folder.file("every.toml", format!("every = \"100\"\n{EXPERIMENT}"));
    let said = hotset(&["experiment", &every, "--on", "ray"]).err;
    assert!(said.contains("has a series over time, which one machine replays"), "{said}");
}
