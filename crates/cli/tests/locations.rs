//! Traces that lie in stores and on web servers, by every command that takes a trace. The store is a small one of our
//! own, which is a web server, too.

mod support;

use std::process::Command;
use std::time::Duration;

use hotset_testkit::s3::{Fault, Link, S3};
use serde_json::Value;

use support::{Folder, Run, command, csv, finish, hotset, ids};

const KEY: &str = "AKIAKEYOFTHETEST";
const SECRET: &str = "wJalrSecretOfTheTest";

/// The command with credentials of the store in its environment, and none of its user's.
fn asking(s3: &S3, arguments: &[&str]) -> Command {
    let mut command = command(arguments);
    command.env_clear().env("AWS_ENDPOINT_URL", s3.url());
    command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

/// Runs it; its output has no secret in it.
fn run(s3: &S3, arguments: &[&str]) -> Run {
    checked(asking(s3, arguments))
}

fn checked(command: Command) -> Run {
    let run = finish(command);
    for secret in [KEY, SECRET, "Signature="] {
        assert!(!run.out.contains(secret) && !run.err.contains(secret), "{secret}: {run:?}");
    }
    run
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// Rows without the names of their traces, and these names.
fn told(run: Run) -> (Vec<Value>, Vec<String>) {
    let mut rows = run.rows();
    let name = |row: &mut Value| row.as_object_mut().unwrap().remove("trace").unwrap().as_str().unwrap().to_owned();
    let names = rows.iter_mut().map(name).collect();
    (rows, names)
}

/// Many times [`ids`], so that the trace has several parts.
fn long() -> Vec<u8> {
    ids().repeat(30).into_bytes()
}

#[test]
fn counts_are_those_of_the_file_whatever_the_trace_lies_in() {
    let (s3, folder) = (S3::start(), Folder::new());
    let long = long();
    assert!(long.len() > 3 << 20);
    s3.set_link(Link { latency: Duration::from_millis(5), ..Link::default() });
    for (name, bytes) in
        [("long.ids", long.clone()), ("long.ids.zst", zstd(&long)), ("app.csv.zst", zstd(csv().as_bytes()))]
    {
        let file = folder.file(name, &bytes);
        s3.put(&format!("traces/{name}"), bytes);
        let simulate = |trace: &str| {
            told(run(&s3, &["simulate", trace, "-p", "lru,opt", "-s", "5%,20%", "--warmup", "20%", "--json", "-"]))
        };
        let (expected, _) = simulate(&file);
        for trace in [format!("s3://bucket/traces/{name}"), format!("{}/bucket/traces/{name}", s3.url())] {
            let (rows, names) = simulate(&trace);
            assert_eq!(rows, expected, "{trace}");
            assert!(names.iter().all(|name| *name == trace), "{names:?}");
        }
    }
    // The name of a format stands before a location as before a path.
    let (rows, names) =
        told(run(&s3, &["simulate", "ids:s3://bucket/traces/long.ids", "-p", "lru", "-s", "9 blocks", "--json", "-"]));
    let (expected, _) =
        told(hotset(&["simulate", &folder.path("long.ids"), "-p", "lru", "-s", "9 blocks", "--json", "-"]));
    assert_eq!((rows, &*names[0]), (expected, "ids:s3://bucket/traces/long.ids"));
}

#[test]
fn every_command_that_takes_a_trace_takes_it_from_a_store() {
    let (s3, folder) = (S3::start(), Folder::new());
    let file = folder.file("app.csv.zst", zstd(csv().as_bytes()));
    s3.put("app.csv.zst", std::fs::read(&file).unwrap());
    let stored = "s3://bucket/app.csv.zst";
    for arguments in [
        &["inspect", "TRACE"][..],
        &["inspect", "TRACE", "--json", "-"],
        &["curve", "TRACE", "--json", "-"],
        &["advise", "TRACE"],
        &["simulate", "TRACE", "TRACE", "-s", "10%"],
        &["import", "TRACE", "-o", "OUT"],
        &["mix", "a=TRACE", "b=TRACE", "--loops", "b=2", "-o", "OUT"],
        &["experiment", "EXPERIMENT", "--json", "-"],
    ] {
        let out = folder.path("out.hst");
        let outcome = |trace: &str| {
            let text = format!(
                "title = \"t\"\nsource = \"a test\"\nclaim = \"\"\ntraces = [\"{trace}\"]\npolicies = \"lru,arc\"\nsizes = \"10%,20%\"\n"
            );
            let experiment = folder.file("e.toml", text);
            let words = arguments
                .iter()
                .map(|word| word.replace("TRACE", trace).replace("OUT", &out).replace("EXPERIMENT", &experiment));
            let words: Vec<String> = words.collect();
            let run = run(&s3, &words.iter().map(String::as_str).collect::<Vec<_>>()).good();
            assert!(run.out.contains(trace) || arguments.contains(&"OUT"), "{run:?}");
            let written = std::fs::read(&out).unwrap_or_default();
            let _ = std::fs::remove_file(&out);
            (words_of(&run.out.replace(trace, "TRACE")), written.len(), written)
        };
        let (of_file, of_store) = (outcome(&file), outcome(stored));
        assert_eq!(of_file.0, of_store.0, "{arguments:?}");
        // A mix has the names of its parts in it.
        assert!(of_file.2 == of_store.2 || arguments[0] == "mix", "{arguments:?}: another file was written");
    }
}

/// The words of a text, however its lines are broken.
fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_trace_that_is_replaced_while_it_is_read_is_an_error_also_on_the_second_pass() {
    let s3 = std::sync::Arc::new(S3::start());
    let long = long();
    s3.put("t.ids", long.clone());
    for (change, options) in [(3, &["--skip-bad"][..]), (3, &[]), (3 + long.len() / (1 << 20), &["--warmup", "20%"])] {
        let (server, bytes, mut asked) = (s3.clone(), long.clone(), 0);
        s3.fail(move |_| {
            asked += 1;
            if asked == change {
                server.put("t.ids", bytes.clone());
            }
            None
        });
        let run =
            run(&s3, &[&["simulate", "s3://bucket/t.ids", "-p", "lru", "-s", "5%", "--json", "-"], options].concat());
        let sentence = "cannot read the trace: the object is another version by now: read it again";
        assert!(run.status == 1 && run.err.contains(sentence) && run.out.is_empty(), "{options:?}: {run:?}");
        assert!(run.err.starts_with("hotset: s3://bucket/t.ids"), "{run:?}");
    }
}

#[test]
fn answers_that_are_cut_or_refused_at_first_change_nothing() {
    let (s3, folder) = (S3::start(), Folder::new());
    let packed = zstd(&long());
    let file = folder.file("t.ids.zst", &packed);
    s3.put("t.ids.zst", packed);
    let simulate = |trace: &str| told(run(&s3, &["simulate", trace, "-p", "lru", "-s", "5%", "--json", "-"])).0;
    let expected = simulate(&file);
    for fault in [Fault::Cut(10_000), Fault::Short(10_000), Fault::Closed, Fault::Status(503), Fault::Status(500)] {
        let mut asked = 0;
        s3.fail(move |_| {
            asked += 1;
            (asked % 2 == 0).then_some(fault)
        });
        assert_eq!(simulate("s3://bucket/t.ids.zst"), expected, "{fault:?}");
    }
}

#[test]
fn what_cannot_be_read_is_told_in_a_sentence_without_secrets() {
    let (s3, folder) = (S3::start(), Folder::new());
    s3.put("there/t.ids", "1\n2\n");
    let web = format!("{}/bucket/there/gone.ids", s3.url());
    for (trace, words) in [
        (
            "s3://bucket/there/gone.ids",
            "s3://bucket/there/gone.ids: cannot open the trace: the object or bucket does not exist",
        ),
        (&web, "cannot open the trace: the object or bucket does not exist"),
        ("s3://bucket", "this is all of a bucket: expected an object in it"),
        ("ftp://host/t", "unknown scheme ftp://: expected s3://, gs:// or az://"),
        ("s3://u:PASSWORD@bucket/t", "must not have a user or a password"),
        ("https://host/t?X-Amz-Signature=PASSWORD", "expected an address without ? and #"),
        ("az://container/t", "a setting of the store is missing or malformed: check AZURE_STORAGE_ACCOUNT_NAME"),
    ] {
        let run = run(&s3, &["simulate", trace, "-p", "lru", "-s", "5%"]);
        assert!(run.status == 1 && run.err.contains(words) && !run.err.contains("PASSWORD"), "{trace}: {run:?}");
        assert_eq!(run.err.lines().count(), 1, "{run:?}");
    }
    let there = ["simulate", "s3://bucket/there/t.ids", "-p", "lru", "-s", "1 blocks"];
    s3.fail(|_| Some(Fault::Status(403)));
    let refused = run(&s3, &there);
    assert!(refused.status == 1 && refused.err.contains("the store refuses it (401 or 403)"), "{refused:?}");
    let refused = run(&s3, &["simulate", &format!("{}/bucket/there/t.ids", s3.url())]);
    assert!(refused.status == 1 && refused.err.contains("web servers are given none"), "{refused:?}");
    let mut half = asking(&s3, &there);
    half.env_remove("AWS_SECRET_ACCESS_KEY");
    let half = checked(half);
    assert!(half.status == 1 && half.err.contains("check AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY"), "{half:?}");
    let mut gone = asking(&s3, &there);
    gone.env("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    let gone = checked(gone);
    assert!(gone.status == 1 && gone.err.contains("cannot be reached: Connection refused"), "{gone:?}");
    // A file is one, whatever stands before it.
    let file = folder.file("t.ids", "1\n2\n1\n");
    let run = run(&s3, &["simulate", &format!("file://{file}"), "-p", "lru", "-s", "2 blocks", "--json", "-"]);
    assert_eq!(run.rows()[0]["hits"], 1);
}

#[test]
fn a_web_server_that_gives_no_parts_is_refused_in_a_sentence() {
    let s3 = S3::start();
    s3.put("t.ids", ids());
    s3.ignore_ranges();
    let run = run(&s3, &["simulate", &format!("{}/bucket/t.ids", s3.url()), "-p", "lru", "-s", "5%"]);
    assert!(run.status == 1 && run.err.contains("the server gives no parts of a file (HTTP ranges)"), "{run:?}");
}
