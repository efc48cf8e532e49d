//! Recorded memory against programs whose pages are known: under valgrind, and with the runtime in place of the thread
//! sanitizer's.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hotset_capture::memory::record;
use hotset_testkit::inputs::skip;
use hotset_trace::formats::BUILTIN;
use hotset_trace::memory::{MemoryBatch, ObjectEvent, ObjectOp, PageRun};
use hotset_trace::{OpenOptions, open};

const PAGES: u64 = 64;
const LAPS: u64 = 3;

/// True if the program can be started; otherwise the test is left out, and says so.
fn has(program: &str) -> bool {
    let tried = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let there = tried.is_ok_and(|status| status.success());
    if !there {
        skip(&format!("{program} is missing"));
    }
    there
}

fn cc(arguments: &[&str]) {
    let output = Command::new("cc").args(arguments).output().unwrap();
    assert!(output.status.success(), "cc {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn source(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The whole of a trace of memory.
fn read(path: &Path) -> MemoryBatch {
    let mut trace = open(path, BUILTIN, &OpenOptions::default()).unwrap();
    let reader = trace.reader.memory().expect("a trace of memory");
    let (mut all, mut batch) = (MemoryBatch::default(), MemoryBatch::default());
    loop {
        reader.read_memory(&mut batch).unwrap();
        if batch.is_empty() {
            assert!(trace.reader.remarks().is_empty(), "{:?}", trace.reader.remarks());
            return all;
        }
        all.runs.append(&mut batch.runs);
        all.events.append(&mut batch.events);
        all.instructions = batch.instructions;
    }
}

/// The program prints the first of its arrays, and the first whole page of it.
fn said(text: &str) -> (u64, u64) {
    let (address, page) = text.trim().split_once(' ').expect("an address and a page");
    (u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap(), page.parse().unwrap())
}

/// The runs of references to the pages that the program goes over.
fn known(trace: &MemoryBatch, first: u64) -> Vec<PageRun> {
    trace.runs.iter().copied().filter(|run| (first..first + PAGES).contains(&run.page)).collect()
}

fn expected(first: u64) -> Vec<PageRun> {
    (0..LAPS * PAGES).map(|at| PageRun { page: first + at % PAGES, references: 2, writes: 1 }).collect()
}

/// What happened to the object that covers `address`: its events from its allocation to its end.
fn story(events: &[ObjectEvent], address: u64) -> Vec<ObjectOp> {
    let begin = events.iter().find(|event| (event.address..event.address + event.bytes).contains(&address));
    let begin = begin.expect("the array was allocated").address;
    events.iter().filter(|event| event.address == begin).map(|event| event.op).collect()
}

/// A separate process for [`as_recorder`], whose standard output is that of the recorded program.
fn recorded(program: &Path, trace: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "as_recorder", "--nocapture", "--quiet"]);
    command.env("HOTSET_TEST_PROGRAM", program).env("HOTSET_TEST_TRACE", trace).output().unwrap()
}

/// A helper, not a test: [`recorded`] runs it. Ends with the recorded program's status.
#[test]
fn as_recorder() {
    let (Some(program), Some(trace)) = (std::env::var_os("HOTSET_TEST_PROGRAM"), std::env::var_os("HOTSET_TEST_TRACE"))
    else {
        return;
    };
    match record(&[program], Path::new(&trace), |_| {}) {
        Ok(summary) => std::process::exit(summary.status.code().unwrap_or(98)),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(99);
        }
    }
}

#[test]
fn an_unmodified_program_gives_exactly_its_pages_in_order() {
    if !has("valgrind") || !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, trace) = (folder.path().join("laps"), folder.path().join("laps.hst"));
    cc(&["-O1", "-pthread", "-o", program.to_str().unwrap(), &source("tests/memory/laps.c")]);
    let output = recorded(&program, &trace);
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let (address, first) = said(told.lines().find(|line| line.starts_with("0x")).unwrap());
    let trace = read(&trace);
    assert_eq!(known(&trace, first), expected(first));
    assert!(trace.instructions > 2 * LAPS * PAGES);
    assert_eq!(story(&trace.events, address), [ObjectOp::Allocate, ObjectOp::Free]);
}

#[test]
fn without_valgrind_or_program_one_sentence_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.hst");
    let error = record(&[OsString::from("no-such-program")], &trace, |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("cannot record `no-such-program`"), "{error}");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "as_recorder", "--nocapture", "--quiet"]);
    command.env("HOTSET_TEST_PROGRAM", "/bin/sh").env("HOTSET_TEST_TRACE", &trace).env("PATH", folder.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(99));
    assert!(said.contains("needs valgrind, which is not installed: install the package `valgrind`"), "{said}");
    assert!(!trace.exists());
}

/// The program built with the thread sanitizer's calls and the runtime, in `folder`.
fn instrumented(folder: &Path) -> PathBuf {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (object, runtime, program) = (path("laps.o"), path("pagetrace.o"), path("laps"));
    cc(&["-O1", "-fsanitize=thread", "-c", "-o", &object, &source("tests/memory/laps.c")]);
    cc(&["-O2", "-Wall", "-Wextra", "-Werror", "-c", "-o", &runtime, &source("runtime/pagetrace.c")]);
    cc(&["-pthread", "-o", &program, &object, &runtime]);
    program.into()
}

#[test]
fn the_runtime_records_a_program_that_links_it() {
    if !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = instrumented(folder.path());
    for threads in [1, 2] {
        let trace = folder.path().join("laps.pgt");
        let mut command = Command::new(&program);
        let command = command.env("HOTSET_PAGETRACE", &trace).args((threads == 2).then_some("two"));
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(7), &b""[..]));
        let (address, first) = said(std::str::from_utf8(&output.stdout).unwrap());
        let trace = read(&trace);
        // Two threads may cut each other's runs, but not lose or reorder them.
        assert_eq!(known(&trace, first), expected(first), "{threads} threads");
        let references: u64 = trace.runs.iter().map(|run| run.references).sum();
        assert!(references >= threads * 2 * LAPS * PAGES);
        let of_array: Vec<&ObjectEvent> = trace.events.iter().filter(|event| event.address == address).collect();
        assert_eq!((of_array[0].op, of_array[0].bytes), (ObjectOp::Allocate, (PAGES + 1) * 4096));
        assert!(of_array[0].caller.starts_with("0x"));
        let frees = trace.events.iter().filter(|event| event.op == ObjectOp::Free).count();
        assert!(frees >= 2, "{:?}", trace.events);
    }
}

#[test]
fn the_runtime_says_once_why_it_does_not_record() {
    if !has("cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = instrumented(folder.path());
    for (name, message) in
        [("laps.txt", "must be the name of a file that ends in .pgt"), ("no/where.pgt", "No such file")]
    {
        let output = Command::new(&program).env("HOTSET_PAGETRACE", folder.path().join(name)).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert!(said.contains(message) && said.lines().count() == 1, "{said}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}
