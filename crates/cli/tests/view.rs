//! Results written, read again and shown: JSON Lines, CSV and Parquet, and what is none of them.

mod support;

use std::thread;
use std::time::Duration;

use serde_json::Value;
use support::viewer::{Viewer, data_of};
use support::{Folder, csv, hotset, ids};

/// The rows of a file of JSON Lines.
fn lines_of(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn series_are_shown_in_reports_and_when_they_are_read_again() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let [json, series, page] = ["r.jsonl", "s.jsonl", "r.html"].map(|name| folder.path(name));
    let run = ["simulate", &trace, "-p", "equal(lru)", "-s", "20 blocks", "--json", &json, "--report", &page];
    hotset(&[&run[..], &["--series", &series, "--every", "5"]].concat()).good();
    let (rows, stretches) = (lines_of(&json), lines_of(&series));
    assert!(stretches.len() > 1 && stretches.iter().all(|row| row["kind"] == "series"), "{stretches:?}");
    let viewer = Viewer::of(&[&series, &json]);
    for data in [data_of(&std::fs::read_to_string(&page).unwrap()), viewer.data()] {
        assert_eq!((&data["rows"], &data["series"]), (&rows.clone().into(), &stretches.clone().into()));
    }
}

#[test]
fn results_of_every_kind_are_shown_as_they_were_written() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let [json, csv, parquet, packed] = ["r.jsonl", "r.csv", "r.parquet", "r.jsonl.zst"].map(|name| folder.path(name));
    let run = ["simulate", &trace, "-p", "lru,unix,opt", "-s", "64K,1M", "--json", &json, "--csv", &csv];
    hotset(&[&run[..], &["--parquet", &parquet]].concat()).good();
    std::fs::write(&packed, zstd::encode_all(&std::fs::read(&json).unwrap()[..], 3).unwrap()).unwrap();
    let rows = lines_of(&json);
    assert!(rows.len() == 6 && rows.iter().any(|row| row.get("classes").is_some()), "{rows:?}");
    for file in [&json, &parquet, &packed] {
        assert_eq!(Viewer::of(&[file]).rows(), Value::from(rows.clone()), "{file}");
    }
    let plain = |row: &Value| {
        let fields = row.as_object().unwrap().iter().filter(|(_, value)| !value.is_array());
        fields.map(|(name, value)| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>()
    };
    let expected: Vec<Value> = rows.iter().map(|row| Value::Object(plain(row))).collect();
    assert_eq!(Viewer::of(&[&csv]).rows(), Value::from(expected), "CSV has all but what is nested");
    assert_eq!(Viewer::of(&[&json, &csv]).rows().as_array().unwrap().len(), 12);
}

#[test]
fn the_server_answers_this_machine_alone_and_ends_on_interrupt() {
    let folder = Folder::new();
    let (trace, json) = (folder.file("t.ids", ids()), folder.path("r.jsonl"));
    hotset(&["simulate", &trace, "-p", "lru", "-s", "3 blocks", "--json", &json]).good();
    let viewer = Viewer::of(&[&json]);
    let own = viewer.address.clone();
    let (place, port) = (viewer.place.as_str(), own.split(':').nth(1).unwrap());
    let asked = [
        ("GET", place, own.as_str(), "200"),
        ("GET", place, "evil.example", "403"),
        ("POST", place, &own, "405"),
        ("GET", "/", &own, "404"),
        ("GET", &place[..place.len() - 2], &own, "404"),
    ];
    for (method, path, host, status) in asked {
        assert!(viewer.ask(method, path, host).0.contains(status), "{method} {path} of {host}");
    }
    assert!(viewer.ask("GET", place, &format!("localhost:{port}")).0.contains("200"));
    assert_eq!(viewer.interrupt(), 0);
}

/// The JSON at a place below the page's.
fn told(viewer: &Viewer, method: &str, path: &str) -> Value {
    let (status, body) = viewer.ask(method, &format!("{}{path}", viewer.place), &viewer.address);
    assert!(status.contains("200"), "{method} {path}: {status}");
    serde_json::from_str(&body).unwrap()
}

/// A replay of the only trace, once it has ended.
fn replayed(viewer: &Viewer, query: &str) -> Value {
    let number = told(viewer, "POST", &format!("run?{query}"))["number"].as_u64().unwrap();
    loop {
        let run = told(viewer, "GET", &format!("run?number={number}"));
        if run["state"] != "waiting" && run["state"] != "running" {
            return run;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_directory_is_looked_through_and_its_traces_are_replayed_as_the_command_does() {
    let folder = Folder::new();
    let (trace, json) = (folder.file("t r&ce.csv", csv()), folder.path("r.jsonl"));
    folder.file("readme.md", "Nothing to see here.\n");
    let run = ["simulate", &trace, "-p", "lru,s3-fifo", "-s", "64K,1M", "--json", &json];
    hotset(&run).good();
    let viewer = Viewer::of(&[&folder.path("")]);
    let items = told(&viewer, "GET", "items");
    let found = |item: &Value| (item["name"].clone(), item["kind"].clone());
    let items: Vec<_> = items["items"].as_array().unwrap().iter().map(found).collect();
    assert_eq!(items, [("r.jsonl".into(), "results".into()), ("t r&ce.csv".into(), "trace".into())]);
    let shown = viewer.ask("GET", &format!("{}results?name=r.jsonl", viewer.place), &viewer.address).1;
    assert_eq!(data_of(&shown)["rows"], Value::from(lines_of(&json)));

    let run = replayed(&viewer, "trace=t+r%26ce.csv&policies=lru,s3-fifo&sizes=64K,1M");
    assert_eq!((&run["state"], &run["rows"]), (&"done".into(), &Value::from(lines_of(&json))), "{run}");
    // A scheme that cannot run says why, and the others go on.
    let run = replayed(&viewer, "trace=t+r%26ce.csv&policies=qos(lru,absent=80%25),lru&sizes=64K&ops=reads");
    assert_eq!((&run["done"], run["rows"].as_array().unwrap().len()), (&2.into(), 1), "{run}");
    assert!(run["words"][0].as_str().unwrap().contains("absent"), "{run}");
    for (query, why) in [
        ("trace=readme.md&policies=lru", "no such trace"),
        ("trace=../../etc/passwd&policies=lru", "no such trace"),
        ("trace=t+r%26ce.csv&policies=lrv", "did you mean lru"),
        ("trace=t+r%26ce.csv&policies=lru&sizes=--help", "sizes:"),
        ("trace=t+r%26ce.csv&policies=lru&ops=--json", "requests:"),
    ] {
        let refused = told(&viewer, "POST", &format!("run?{query}"));
        assert!(refused["error"].as_str().is_some_and(|said| said.contains(why)), "{query}: {refused}");
    }
    for path in ["results?name=../r.jsonl", "results?name=readme.md"] {
        let (_, said) = viewer.ask("GET", &format!("{}{path}", viewer.place), &viewer.address);
        assert!(said.contains("no such file; reload the page"), "{path}: {said}");
    }
    assert!(viewer.ask("GET", &format!("{}run?number=99", viewer.place), &viewer.address).0.contains("404"));
    assert_eq!(viewer.interrupt(), 0);
}

#[test]
fn a_replay_that_is_stopped_ends_and_keeps_what_it_has() {
    let folder = Folder::new();
    let many: String = (0..3_000_000_u64).map(|at| format!("{}\n", at * at % 1_000_003)).collect();
    folder.file("long.ids", &many);
    let viewer = Viewer::of(&[&folder.path("")]);
    let query = "run?trace=long.ids&policies=all&sizes=1%25..90%25*1.1";
    let begun = [0, 1].map(|_| told(&viewer, "POST", query)["number"].as_u64().unwrap());
    let run = |number: u64| told(&viewer, "GET", &format!("run?number={number}"));
    while run(begun[0])["state"] == "waiting" {
        thread::sleep(Duration::from_millis(5));
    }
    for number in begun {
        told(&viewer, "POST", &format!("stop?number={number}"));
        assert_eq!(run(number)["state"], "stopped", "{}", run(number));
    }
    let next = told(&viewer, "POST", "run?trace=long.ids&policies=lru&sizes=1%25")["number"].as_u64().unwrap();
    while run(next)["state"] != "done" {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(run(begun[0])["done"], 0, "a stopped job has no rows: {}", run(begun[0]));
    assert!((0..16).all(|_| told(&viewer, "POST", query)["number"].is_u64()), "those that have ended make room");
    let refused = told(&viewer, "POST", query);
    assert!(refused["error"].as_str().unwrap().contains("wait already"), "{refused}");
    assert_eq!(viewer.interrupt(), 0, "running jobs end with it");
}

#[test]
fn what_is_no_result_of_this_version_is_refused_with_its_place() {
    let folder = Folder::new();
    let good = r#"{"version":1,"trace":"t","policy":"lru","size_blocks":1,"seed":1,"references":2,"hits":1,"misses":1,"hit_ratio":0.5}"#;
    let [old, other] = ["\"version\":0", "\"version\":9"].map(|version| good.replace("\"version\":1", version));
    let cases = [
        (
            "old.jsonl",
            format!("{good}\n{old}\n"),
            "old.jsonl, line 2: the row is of version 0 of the schema, and this hotset reads versions 1 to 3",
        ),
        ("new.jsonl", other, "line 1: the row is of version 9"),
        (
            "none.jsonl",
            "{\"a\":1}\n".to_owned(),
            "line 1: found {\"a\":1}, which names no version; expected a row of results",
        ),
        ("half.jsonl", format!("{good}\n{}", &good[..50]), "line 2: found no JSON"),
        ("lacks.jsonl", good.replace("\"hits\":1,", ""), "line 1: found an object without hits"),
        ("text.jsonl", good.replace("\"lru\"", "7"), "line 1: found an object without policy"),
        ("list.jsonl", format!("{good}\n[1]"), "line 2: found [1], which names no version"),
        ("kind.jsonl", good.replace("\"trace\"", "\"kind\":\"x\",\"trace\""), "line 1: found a row of the kind \"x\""),
        (
            "series.jsonl",
            good.replace("\"trace\"", "\"kind\":\"series\",\"trace\""),
            "line 1: found an object without app",
        ),
        ("empty.csv", String::new(), "found nothing: the file is empty"),
        ("foreign.csv", "time,file\n1,2\n".to_owned(), "line 1: found \"time,file\""),
        (
            "field.csv",
            "version,trace,policy,hits\n1,t,lru,many\n".to_owned(),
            "line 2: hits: found \"many\"; expected a number",
        ),
        ("short.csv", "version,trace,policy\n1,t\n".to_owned(), "found no CSV"),
    ];
    for (name, text, message) in cases {
        let run = hotset(&["view", "--no-open", &folder.file(name, text)]);
        assert!(run.status == 1 && run.out.is_empty() && run.err.contains(message), "{name}: {run:?}");
    }
    let run = hotset(&["view", "--no-open", &folder.file("bytes", [b'{', 0xff])]);
    assert!(run.status == 1 && run.err.contains("byte 1: found bytes that are not text"), "{run:?}");
    let run = hotset(&["view", "--no-open", &folder.file("cut.parquet", "PAR1")]);
    assert!(run.status == 1 && run.err.contains("cut.parquet: found Parquet that cannot be read"), "{run:?}");
}
