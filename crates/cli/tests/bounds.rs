//! Bounds whatever a trace contains: no sound record makes the command panic or hold more than its limit.

mod support;

use std::process::{Command, Stdio};

use hotset_core::registry::SCHEMES;
use support::{Folder, Run, finish, hotset};

/// Reads and writes of 8 KiB all over a disk, as SPC writes them.
fn spc() -> String {
    let op = |number: u64| if number.is_multiple_of(3) { "W" } else { "R" };
    (0..500).map(|number| format!("0,{},8192,{},{number}\n", number * number * 7 % 20_000, op(number))).collect()
}

/// Runs `hotset` with so many MiB of addresses; a run that needs more is killed or says so.
fn within(mebibytes: u64, arguments: &[&str]) -> Run {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {}; exec \"$0\" \"$@\"", mebibytes << 10), env!("CARGO_BIN_EXE_hotset")]);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Every thread takes separate addresses.
    command.env("RAYON_NUM_THREADS", "2").env("MALLOC_ARENA_MAX", "2");
    finish(command)
}

/// At 4 and 40 KiB the blocks of `attribute` for such data are others than those of the run, at 400 KiB and 4 MiB they
/// are the same.
#[test]
fn a_scheme_whose_blocks_are_its_own_at_some_sizes_only_is_shown_whole() {
    let folder = Folder::new();
    let trace = folder.file("t.spc", spc());
    let out = hotset(&["simulate", &trace, "-p", "lru,attribute", "-s", "1..1000*10 blocks"]).good().out;
    let (plain, aware) = out.split_once("in blocks of the schemes' own sizes").expect("two tables");
    assert!(plain.contains("\nlru ") && !plain.contains("\nattribute "), "{out}");
    assert_eq!(aware.matches("\nattribute ").count(), 4, "{out}");
}

#[test]
fn every_sample_is_simulated_or_refused_at_every_tiny_size() {
    let folder = Folder::new();
    let of_registry: Vec<&str> = SCHEMES.iter().map(|entry| entry.info.name).collect();
    for format in hotset_capture::all_formats() {
        let trace = format!("{}:{}", format.name, folder.file(format.name, format.sample));
        for policies in of_registry.iter().map(|name| format!("lru,{name}")).chain(["all".to_owned()]) {
            for sizes in ["1 block", "1,2,3,4,5,6,7,8,9,10 blocks", "3,40,300,4000 blocks"] {
                let run = hotset(&["simulate", &trace, "-p", &policies, "-s", sizes]);
                let told = run.status == 0 || run.err.starts_with("hotset: ");
                assert!(told && [0, 1, 2].contains(&run.status), "{trace} {policies} {sizes}: {run:?}");
                assert!(!run.err.contains("panicked"), "{trace} {policies} {sizes}: {run:?}");
            }
        }
    }
}

#[test]
fn who_cannot_be_built_is_named_with_its_size() {
    let folder = Folder::new();
    let trace = folder.file("t.spc", spc());
    let run = hotset(&["simulate", &trace, "-p", "lru,unix", "-s", "10 blocks,1 blocks"]);
    assert_eq!(run.status, 2);
    assert!(run.err.starts_with("hotset: unix of 1 block: 2K are left for everything but inodes"), "{}", run.err);
}

/// A record that claims a TiB, the second of its trace, with the format's name and a sound record around it.
const CLAIMS: [(&str, &str, &str); 7] = [
    ("arc", "0 8 0 0\n", "8 2147483648 0 1\n"),
    ("spc", "0,0,4096,R,0\n", "0,0,1099511627776,R,1\n"),
    ("msr", "128166372003061629,hm,1,Read,0,4096,413\n", "128166372003061630,hm,1,Read,0,1099511627776,413\n"),
    ("csv", "0,R,1,0,4096\n", "1,R,1,0,1099511627776\n"),
    ("disksim", "1 0 0 8 1\n", "2 0 0 2147483648 1\n"),
    ("blkparse", "8,0 3 1 0.0 697 Q R 0 + 8 [a]\n", "8,0 3 2 0.1 697 Q R 0 + 2147483648 [a]\n"),
    (
        "strace",
        "7  1.000001 openat(AT_FDCWD</>, \"/a\", O_RDWR) = 3</a>\n7  1.000002 read(3</a>, \"\"..., 4096) = 4096\n",
        "7  1.000003 read(3</a>, \"\"..., 1099511627776) = 1099511627776\n",
    ),
];

#[test]
fn a_record_that_claims_a_tebibyte_is_refused_with_its_line() {
    let folder = Folder::new();
    for (format, sound, claim) in CLAIMS {
        let header = if format == "csv" { "time_s,op,file,offset,bytes\n" } else { "" };
        let trace = format!("{format}:{}", folder.file(format, format!("{header}{sound}{claim}{sound}")));
        let line = format!("{header}{sound}{claim}").lines().count();
        let out = folder.path("out.hst");
        let commands: [&[&str]; 4] = [
            &["simulate", &trace, "-p", "lru", "-s", "10 blocks"],
            &["curve", &trace],
            &["inspect", &trace],
            &["import", &trace, "-o", &out],
        ];
        for arguments in commands {
            let run = within(1024, arguments);
            assert_eq!(run.status, 1, "{arguments:?}: {}", run.err);
            let told = [format!("line {line}"), "found 1099511627776 bytes from byte".to_owned(), "16 GiB".to_owned()];
            assert!(told.iter().all(|part| run.err.contains(part.as_str())), "{arguments:?}: {}", run.err);
            let run = within(1024, &[arguments, &["--skip-bad"]].concat());
            assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
            assert!(run.err.contains("1 malformed records were skipped"), "{arguments:?}: {}", run.err);
        }
    }
}

/// The longest legal record has 33,554,432 blocks of 512 bytes: their keys alone would take 256 MiB, their numbers a
/// GiB.
#[test]
fn the_longest_record_is_never_held_as_blocks() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", "time_s,op,file,offset,bytes\n0,R,1,0,17179869184\n");
    let bounded = |arguments: &[&str]| within(512, &[arguments, &["--block", "512", "--memory", "16M"]].concat());
    let rows = bounded(&["simulate", &trace, "-p", "lru,arc", "-s", "100 blocks", "--json", "-"]).rows();
    assert_eq!(rows.iter().map(|row| row["misses"].as_u64()).collect::<Vec<_>>(), [Some(1 << 25); 2]);
    assert_eq!(rows[0]["requests"], 1);
    let text = bounded(&["simulate", &trace, "-p", "lru", "-s", "100 blocks"]).good().out;
    assert!(text.contains("to blocks of 512B, streamed because the trace does not fit in --memory;"), "{text}");
    // By default the limit of the process decides.
    let default = within(512, &["simulate", &trace, "-p", "lru", "-s", "100 blocks", "--block", "512"]).good().out;
    assert_eq!(default, text);
    let inspected = bounded(&["inspect", &trace, "--json", "-"]).good();
    assert!(inspected.out.contains("\"references\":33554432"), "{}", inspected.out);
    bounded(&["curve", &trace, "--policy", "lru", "--sample-size", "1000"]).good();
    bounded(&["simulate", &trace, "-p", "attribute", "-s", "100 blocks"]).good();
    let needs_all = bounded(&["simulate", &trace, "-p", "opt", "-s", "100 blocks"]);
    assert!(needs_all.status == 1 && needs_all.err.contains("raise --memory"), "{needs_all:?}");
}

/// Cut into blocks of 1 MiB the trace is small, in the parts of the scheme it is not.
#[test]
fn a_view_is_bounded_too() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", "time_s,op,file,offset,bytes\n0,R,1,0,17179869184\n");
    let policy = "attribute(1M/128 id, x/512 general)";
    let run = within(1024, &["simulate", &trace, "-p", policy, "-s", "100 blocks", "--block", "1M", "--memory", "64M"]);
    assert_eq!(run.status, 1, "{run:?}");
    assert!(
        run.err.contains("attribute needs every distinct block numbered") && run.err.contains("64 MiB"),
        "{}",
        run.err
    );
}

#[test]
fn what_an_experiment_says_is_checked_before_it_runs() {
    let folder = Folder::new();
    let trace = folder.file("t.spc", spc());
    let head = "title = \"t\"\nsource = \"s\"\npolicies = \"lru\"\nsizes = \"10 blocks\"\n";
    let app = |more: &str| format!("{{name = \"a\", trace = {trace:?}{more}}}");
    let mix = |apps: &str| format!("{head}[[mix]]\nname = \"m\"\napps = [{apps}]\n");
    let cases = [
        (format!("{head}traces = [{trace:?}]\nblock = 0\n"), "block: blocks of 0 bytes are not supported"),
        (mix(""), "mix \"m\": found no apps; expected at least one"),
        (mix(&[app(""), app("")].join(", ")), "mix \"m\": the application \"a\" is there twice; expected it once"),
        (mix(&app(", loops = 0")), "mix \"m\": \"a\" has 0 loops; expected 1 or more"),
        (" ".repeat(2 << 20), "it is longer than 1 MiB"),
    ];
    for (text, message) in cases {
        let run = within(1024, &["experiment", &folder.file("e.toml", text)]);
        assert!([1, 2].contains(&run.status) && run.err.contains(message), "{message}: {run:?}");
    }
    let run = within(1024, &["simulate", &trace, "-p", "lru", "-s", "10 blocks", "--classes", "/dev/zero"]);
    assert!(run.status == 1 && run.err.contains("/dev/zero: it is longer than 1 MiB"), "{run:?}");
    let run = hotset(&["mix", &format!("a={trace}"), "--loops", "a=0", "-o", &folder.path("m.hst")]);
    assert!(run.status == 2 && run.err.contains("a would not occur with 0 passes: expected 1 or more"), "{run:?}");
}

/// The trace has times: only a curve did not keep them.
#[test]
fn a_curve_of_a_scheme_that_looks_at_the_clock() {
    let folder = Folder::new();
    let trace = folder.file("t.spc", spc());
    let rows = hotset(&["curve", &trace, "-p", "qos", "--points", "2", "--json", "-"]).rows();
    assert_eq!(rows.len(), 2);
}

#[test]
fn a_disk_may_be_as_slow_as_can_be_written() {
    let folder = Folder::new();
    let disk = "disk(seek=18446744073s,rotation=18446744073s)";
    hotset(&["simulate", &folder.file("t.spc", spc()), "-p", "lru", "-s", "10 blocks", "--store", disk]).good();
}
