//! Every error is a sentence with its place, and an exit status: 1 for a failure, 2 for wrong usage.

mod support;

use support::{Folder, command, csv, exists, finish, gzip, hotset, hotset_fed, ids, zstd};

/// Runs and expects this status, nothing on standard output, and one message that holds all `parts`.
#[track_caller]
fn refused(arguments: &[&str], status: i32, parts: &[&str]) -> String {
    let run = hotset(arguments);
    assert_eq!((run.status, run.out.as_str()), (status, ""), "{arguments:?}: {}", run.err);
    for part in parts {
        assert!(run.err.contains(part), "{arguments:?}: {part:?} is not in {}", run.err);
    }
    assert!(!run.err.contains("panicked"), "{}", run.err);
    run.err
}

#[test]
fn traces_that_are_none() {
    let folder = Folder::new();
    let simulate = |path: &str| ["simulate", path, "-p", "lru", "-s", "10 blocks"].map(str::to_owned);
    let cases: [(String, &[&str]); 7] = [
        (folder.file("times.tsv", "1000\t5\n2000\t6\n3000\t5\n"), &["times.tsv: no known format fits", "--format"]),
        (folder.path("missing"), &["missing: no such file; expected the path of a trace"]),
        (folder.path("."), &["irectory"]),
        (folder.file("empty", ""), &["empty: the file is empty; expected a trace"]),
        (folder.file("garbage", [0u8, 1, 2, 255, 254, 3]), &["garbage: no known format fits", "--format"]),
        (folder.file("blank", "\n\n\n"), &["blank"]),
        (folder.file("binary.zst", zstd([7u8; 5000])), &["zstd data that unpacks to", "no known format fits"]),
    ];
    for (path, parts) in &cases {
        refused(&simulate(path).each_ref().map(String::as_str), 1, parts);
        for other in ["inspect", "curve"] {
            refused(&[other, path], 1, parts);
        }
        refused(&["import", path, "-o", &folder.path("out.hst")], 1, parts);
    }
    assert!(!exists(&folder.path("out.hst")));
}

#[test]
fn a_cut_or_damaged_trace_is_never_taken_for_whole() {
    let folder = Folder::new();
    let packed = zstd(ids());
    let cut = folder.file("cut.ids.zst", &packed[..packed.len() / 2]);
    refused(&["inspect", &cut, "--format", "ids"], 1, &["cut.ids.zst, byte", "truncated or corrupt after"]);

    let whole = folder.file("t.csv", csv());
    let native = folder.path("t.hst");
    hotset(&["import", &whole, "-o", &native]).good();
    let mut bytes = std::fs::read(&native).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let damaged = folder.file("damaged.hst", &bytes);
    refused(&["inspect", &damaged], 1, &["damaged.hst, byte"]);

    let packed = gzip(ids());
    let cut = folder.file("cut.ids.gz", &packed[..packed.len() / 2]);
    let skipping = hotset(&["inspect", &cut, "--format", "ids", "--skip-bad", "--json", "-"]);
    assert_eq!(skipping.status, 0, "{}", skipping.err);
    assert!(skipping.err.contains("truncated or corrupt"), "the loss is reported: {:?}", skipping.err);
}

#[test]
fn bad_records_name_their_line_or_are_counted() {
    let folder = Folder::new();
    let bad = folder.file("bad.csv", csv().replacen("72,R", "72,Q", 2));
    refused(&["inspect", &bad], 1, &["bad.csv, line", "Q"]);
    let run = hotset(&["inspect", &bad, "--skip-bad"]);
    assert_eq!(run.status, 0);
    assert!(run.err.contains("2 malformed records were skipped"), "{}", run.err);
    assert!(run.out.contains("requests    5,998"), "{}", run.out);

    let huge = folder.file("huge.ids", "1\n99999999999999999999999999\n");
    refused(&["inspect", &huge, "--format", "ids"], 1, &["huge.ids, line 2", "99999999999999999999999999"]);
}

#[test]
fn wrong_usage_points_at_the_place() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let simulate = |policy: &str, size: &str| {
        let run = hotset(&["simulate", &trace, "-p", policy, "-s", size]);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{policy} {size}: {}", run.err);
        run.err
    };
    let unknown = simulate("fifo,siev", "10");
    assert!(unknown.contains("unknown policy") && unknown.contains("did you mean sieve"), "{unknown}");
    let lines: Vec<&str> = unknown.lines().collect();
    let (text, caret) = (lines[lines.len() - 2], lines[lines.len() - 1]);
    assert_eq!(caret.find('^'), text.find("siev"), "{unknown}");
    assert!(simulate("2q(kim=30%)", "10").contains("kin"));
    for size in ["ten", "0", "10,,20", "1..2", "64M..16M*2", "-5", "64M"] {
        assert!(simulate("lru", size).contains("--size"), "{size}");
    }
    for block in ["0", "x", "-1"] {
        refused(&["simulate", &trace, "-p", "lru", "-s", "10 blocks", &format!("--block={block}")], 2, &["block"]);
    }
    refused(&["inspect", &trace, "--format", "idz"], 2, &["unknown format `idz`", "expected one of: ", "ids"]);
    refused(&["policies", "siev"], 2, &["unknown policy", "did you mean sieve"]);
    refused(&["curve", &trace, "--sample", "2"], 2, &["more than 0 and at most 1"]);
    refused(&["curve", &trace, "--sample", "0.5"], 2, &["of lru only, not of opt"]);
    refused(&["curve", &trace, "--points", "1"], 2, &["2 to 1000, or `all`"]);
    refused(&["curve", &trace, "-p", "fifo", "--points", "all"], 2, &["fifo must be simulated at every size"]);
    refused(&["frobnicate"], 2, &["unrecognized subcommand"]);
    refused(&[], 2, &["hotset demo"]);
}

#[test]
fn messages_of_libraries_name_options() {
    let folder = Folder::new();
    let (trace, store, places) = (folder.file("t.ids", ids()), folder.file("s.csv", "offset,lba\n5,6\n"), "p.csv");
    let places = folder.file(places, "host,disk id,offset,size\n1,2,3,4\n");
    let told = |arguments: &[&str], part: &str| {
        let run = hotset(arguments);
        assert!(run.status > 0 && run.err.contains(part), "{arguments:?}: {part:?} is not in {}", run.err);
    };
    told(&["curve", &trace, "--sample", "0.5"], "of lru only, not of opt: expected --policy lru\n");
    told(&["curve", &trace, "-p", "fifo", "--points", "all"], "hotset: --points all: fifo must be simulated");
    told(
        &["curve", &trace, "--format", "ids", "--memory", "1B"],
        "raise --memory, or estimate it with --sample-size 10000\n",
    );
    told(&["inspect", &store], "accept the loss of one with --ignore-columns lba\n");
    told(&["inspect", &places], "are one object (--columns 'host:app,disk id,offset,size')");
}

#[test]
fn results_for_programs_do_not_interleave_and_a_full_disk_names_the_file() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let simulate = ["simulate", &trace, "--format", "ids", "-p", "lru", "-s", "10 blocks"];
    for (one, other) in [("--json", "--csv"), ("--csv", "--parquet"), ("--json", "--series")] {
        let both = [&simulate[..], &[one, "-", other, "-"]].concat();
        refused(&both, 2, &[&format!("{one} - and {other} - would both write to standard output")]);
    }
    let curve = ["curve", &trace, "--format", "ids", "--json", "-", "--csv", "-"];
    refused(&curve, 2, &["--json - and --csv -"]);
    for option in ["--json", "--csv", "--parquet", "--report"] {
        let full = hotset(&[&simulate[..], &[option, "/dev/full"]].concat());
        assert!(full.status == 1 && full.err.contains("cannot write /dev/full: No space left"), "{full:?}");
    }
}

#[test]
fn a_stream_says_what_it_cannot_give() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let simulate = ["simulate", &trace, "--format", "ids", "--memory", "1B", "-p", "lru", "-s", "10%"];
    refused(&simulate, 1, &["a size in percent", "raise --memory", "sizes in blocks"]);
    refused(&["curve", &trace, "--format", "ids", "--memory", "1B"], 1, &["an exact curve", "--sample-size"]);
}

#[test]
fn nothing_to_cache_is_no_result() {
    let folder = Folder::new();
    let metadata = folder.file("m.csv", "time_s,pid,op,file,offset,bytes,filesize,kind\n0.5,1,S,1,0,0,,inode\n");
    refused(
        &["simulate", &metadata, "-p", "lru", "-s", "10 blocks"],
        1,
        &["no request in the trace reads or writes data"],
    );
    refused(&["curve", &metadata], 1, &["nothing to cache"]);
    let page = hotset(&["inspect", &metadata]).good().out;
    assert!(page.contains("references  none") && page.contains("stat"), "{page}");
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let nowhere = folder.path("no/where");
    refused(
        &["simulate", &trace, "-p", "lru", "-s", "10 blocks", "--json", &nowhere, "--csv", "-"],
        1,
        &["cannot write", "does not exist; create it first"],
    );
    refused(&["import", &trace, "-o", &nowhere], 1, &["cannot write", "does not exist; create it first"]);
    refused(&["record", "-o", &nowhere, "--", "true"], 1, &["cannot write"]);
    refused(&["import", &trace, "-o", &folder.path(".")], 1, &["is a directory"]);
    refused(&["import", &trace, "-o", &trace], 2, &["the same file as the input"]);
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), ids(), "the input is as it was");
    refused(&["import", &trace], 2, &["--output"]);
}

/// An error of usage shows how it is done.
#[test]
fn errors_of_mix_have_an_example() {
    refused(&["mix", "app.hst", "-o", "x.hst"], 2, &["expected an application's name", "db=sqlite.hst"]);
}

#[test]
fn arguments_in_the_wrong_order_are_recognised() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    refused(&["simulate", "lru", &trace], 2, &["no such file", "use --policy lru"]);
    refused(&["curve", "lru", &trace], 2, &["unexpected argument", "`lru` is a policy: use --policy lru"]);
    refused(&["curve", &trace, "arc"], 2, &["unexpected argument", "`arc` is a policy: use --policy arc"]);
    let other = refused(&["curve", &trace, "-p", "lru", "--bogus"], 2, &["unexpected argument '--bogus'"]);
    assert!(!other.contains("is a policy"), "{other}");
    refused(&["advise", "sh", "x.sh"], 2, &["`sh` is a program", "put `--` in front of a command"]);
    refused(&["simulate", &folder.path(".")], 1, &["it is a directory; expected the path of a trace"]);
    refused(&["curve", &trace, "-s", "64M"], 2, &["a curve covers all sizes", "hotset simulate"]);
    refused(&["simulate", &trace, "-p", "lru", "-s", "9 blocks", "--csv", &trace], 2, &["the same file as the input"]);
    let one = folder.path("one");
    refused(&["simulate", &trace, "--csv", &one, "--json", &one], 2, &["would both write to", "two files"]);
}

/// Errors of the parser have the form of all others, and help is not an error.
#[test]
fn every_error_begins_with_the_name_of_the_command() {
    for arguments in [&["simulate"][..], &["bogus"], &["simulate", "--bogus"], &["simulate", "x", "--seed", "-"]] {
        let said = refused(arguments, 2, &["--help"]);
        assert!(said.starts_with("hotset: ") && !said.contains("error: "), "{said}");
    }
    assert!(hotset(&["simulate", "-h"]).good().out.contains("Usage: hotset simulate"));
    assert!(hotset(&["--version"]).good().out.starts_with("hotset "));
}

#[test]
fn a_reader_of_messages_that_has_gone_changes_nothing() {
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    for (arguments, status) in [(&["inspect", "nothing"][..], 1), (&["inspect"], 2), (&["inspect", &trace], 0)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut unread = command(arguments);
        unread.stderr(writer);
        assert_eq!(finish(unread).status, status, "{arguments:?}");
    }
}

#[test]
fn programs_that_cannot_be_recorded() {
    let folder = Folder::new();
    let out = folder.path("x.hst");
    refused(
        &["record", "-o", &out, "--", "/no/such/program"],
        127,
        &["/no/such/program", "the program does not exist"],
    );
    refused(&["record", "-o", &out], 2, &["COMMAND"]);
    let mut without = command(&["record", "-o", &out, "--", "true"]);
    without.env("PATH", folder.path("."));
    let run = finish(without);
    assert_eq!(run.status, 127);
    assert!(!exists(&out), "nothing was recorded, so nothing is left");
}

#[test]
fn standard_input_is_named_in_errors() {
    let run = hotset_fed(&["inspect", "-", "--format", "arc"], b"1 1 0 0\nx\n");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("-, line 2"), "{}", run.err);
    assert!(hotset_fed(&["inspect", "-"], b"").err.contains("empty"));
}
