//! Recording real programs: streams, status and signals pass through, and the trace is whole.

mod support;

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use hotset_capture::{RecordError, Recorder};
use hotset_core::request::Op;
use hotset_trace::formats::hst;
use hotset_trace::{Batch, OpenOptions, Tables};

/// The references of a trace as `app OP path offset length`, its tables and what it says of itself.
fn read(trace: &Path) -> (Vec<String>, Tables, Vec<String>) {
    let mut trace = hotset_trace::open(trace, &[hst::FORMAT], &OpenOptions::default()).unwrap();
    let mut batch = Batch::new();
    let mut requests = Vec::new();
    loop {
        trace.reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        requests.extend_from_slice(&batch.requests);
    }
    let tables = trace.reader.tables().clone();
    let line = |request: &hotset_core::request::Request| {
        let (app, path) = (&tables.apps[request.app as usize], &tables.files[request.file as usize].path);
        format!("{app} {} {path} {} {}", request.op().letter(), request.offset, request.length)
    };
    (requests.iter().map(line).collect(), tables.clone(), trace.reader.remarks())
}

/// Runs [`as_recorder`] in a separate process: `script` is recorded into `trace`.
fn record(script: &str, trace: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "as_recorder", "--nocapture", "--quiet"]);
    command.env("HOTSET_TEST_SCRIPT", script).env("HOTSET_TEST_TRACE", trace);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A helper, not a test: [`record`] runs it. Ends with the recorded program's status.
#[test]
fn as_recorder() {
    let (Ok(script), Ok(trace)) = (std::env::var("HOTSET_TEST_SCRIPT"), std::env::var("HOTSET_TEST_TRACE")) else {
        return;
    };
    match Recorder::new(["sh", "-c", &script]).run(Path::new(&trace), |_| {}) {
        Ok(_) if std::env::var_os("HOTSET_TEST_LINGER").is_some() => {
            File::create(Path::new(&trace).with_extension("done")).unwrap();
            std::thread::sleep(Duration::from_secs(60));
        }
        Ok(summary) => std::process::exit(summary.status.code().unwrap_or(128 + summary.status.signal().unwrap_or(0))),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(99);
        }
    }
}

#[test]
fn a_script_and_its_programs_are_recorded() {
    if !support::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let (trace, input, output) = (place.join("t.hst"), place.join("in"), place.join("out"));
    fs::write(&input, "0123456789").unwrap();
    fs::write(&output, "before ").unwrap();
    let script = "read -r line; cat extra | cat; exit 3";
    fs::write(place.join("extra"), "extra").unwrap();
    let mut open_output = fs::OpenOptions::new().append(true).open(&output).unwrap();
    let status = record(script, &trace)
        .current_dir(&place)
        .stdin(File::open(&input).unwrap())
        .stdout(open_output.try_clone().unwrap())
        .status()
        .unwrap();
    std::io::Write::flush(&mut open_output).unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(fs::read_to_string(&output).unwrap().contains("extra"));

    let (references, tables, remarks) = read(&trace);
    assert!(remarks.is_empty(), "{remarks:?}");
    let name = |file: &Path| file.to_str().unwrap().to_owned();
    let has = |line: String| assert!(references.contains(&line), "{line}\n{}", references.join("\n"));
    has(format!("sh R {} 0 1", name(&input)));
    has(format!("cat R {} 0 5", name(&place.join("extra"))));
    let appended = references.iter().find(|line| line.starts_with(&format!("cat W {} ", name(&output)))).unwrap();
    let offset: u64 = appended.rsplit(' ').nth(1).unwrap().parse().unwrap();
    assert!(offset >= 7, "{appended}: the file held 7 bytes before");
    assert!(appended.ends_with(" 5"));
    assert_eq!(tables.apps[0], "sh");
    let program = references.iter().find(|line| line.starts_with("cat X ")).unwrap();
    assert!(!program.ends_with(" 0 0"), "{program}: the size of a program that is there is known");
    let own = |path: &str| path.ends_with("/log") || path.contains("strace") || path.ends_with("t.hst");
    assert!(!tables.files.iter().any(|file| own(&file.path)), "the recorder's own files are in the trace");
}

#[test]
fn the_summary_tells_what_was_recorded_and_what_not() {
    if !support::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.hst");
    let script = "echo hello | cat > /dev/null; kill -TERM $$";
    let summary = Recorder::new(["sh", "-c", script]).run(&trace, |_| {}).unwrap();
    assert_eq!(summary.status.signal(), Some(15));
    assert!(summary.stats.requests > 0 && summary.stats.count(Op::Exec) >= 2 && summary.seconds > 0.0);
    assert_eq!(summary.skipped, 0);
    assert!(summary.remarks.iter().any(|remark| remark.contains("on pipes moved 12 bytes")), "{:?}", summary.remarks);
    assert_eq!(read(&trace).0.len() as u64, summary.stats.requests);
}

/// Waits until `file` is there.
fn wait_for(file: &Path) {
    let started = Instant::now();
    while !file.exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "{} does not appear", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_signal_to_the_recorder_reaches_the_program_and_the_trace_is_finished() {
    if !support::can_trace() {
        return;
    }
    for (name, status) in [("INT", 42), ("TERM", 43)] {
        let directory = tempfile::tempdir().unwrap();
        let (trace, ready) = (directory.path().join("t.hst"), directory.path().join("ready"));
        let last = directory.path().join("last");
        let script = format!(
            "trap 'cat {1} > {2}; exit 42' INT; trap 'cat {1} > {2}; exit 43' TERM; echo 1 > {0}/new; mv {0}/new {1}; while :; do sleep 0.02; done",
            directory.path().display(),
            ready.display(),
            last.display()
        );
        let mut recorder = record(&script, &trace).spawn().unwrap();
        wait_for(&ready);
        signal(&recorder, name);
        assert_eq!(recorder.wait().unwrap().code(), Some(status), "{name}");
        let (references, _, remarks) = read(&trace);
        assert!(remarks.is_empty(), "{remarks:?}");
        let written = format!("cat W {} 0 2", last.canonicalize().unwrap().display());
        assert!(references.contains(&written), "the calls after the signal are recorded as well");
    }
}

#[test]
fn after_a_recording_a_signal_ends_the_recorder_as_usual() {
    if !support::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.hst");
    let mut recorder = record("true", &trace).env("HOTSET_TEST_LINGER", "1").spawn().unwrap();
    wait_for(&trace.with_extension("done"));
    signal(&recorder, "INT");
    assert_eq!(recorder.wait().unwrap().signal(), Some(2));
}

#[test]
fn what_cannot_be_recorded_is_said_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("t.hst");
    let nothing: [&str; 0] = [];
    let error = Recorder::new(nothing).run(&trace, |_| {}).unwrap_err();
    assert!(matches!(error, RecordError::NoCommand), "{error}");
    let error = Recorder::new(["no-such-program"]).run(&trace, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "cannot record `no-such-program`: the program does not exist or may not be executed");
    assert!(!trace.exists());

    // A `PATH` with a shell and no strace.
    std::os::unix::fs::symlink("/bin/sh", directory.path().join("sh")).unwrap();
    let output = record("true", &trace).env("PATH", directory.path()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(99));
    assert!(said.contains("recording needs strace, which is not installed: install the package `strace`"), "{said}");

    // One that may not trace.
    let denied = "#!/bin/sh\necho 'strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted' >&2\nexit 1\n";
    let fake = directory.path().join("strace");
    fs::write(&fake, denied).unwrap();
    fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = record("true", &trace).env("PATH", directory.path()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("does not let strace trace programs") && said.contains("SYS_PTRACE"), "{said}");
}

#[test]
fn a_trace_that_cannot_be_written_does_not_stop_the_program() {
    if !support::can_trace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let done = directory.path().join("done");
    let script = format!(
        "i=0; while [ $i -lt 300 ]; do read -r x < /etc/hostname; i=$((i+1)); done; echo 1 > {}",
        done.display()
    );
    let error = Recorder::new(["sh", "-c", &script]).run(Path::new("/dev/full"), |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("/dev/full: cannot"), "{error}");
    assert!(done.exists());
}
