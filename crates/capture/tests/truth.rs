//! A recorded program's trace agrees with what the program says it did, reference by reference.

mod support;

use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use hotset_capture::record::{KernelRecorder, Subject};
use hotset_capture::strace::{Apps, Inherited, StraceOptions, StraceReader};
use hotset_core::request::{FLAG_EXECUTABLE, FLAG_FAILED};
use hotset_trace::formats::hst;
use hotset_trace::{Batch, OpenOptions, TraceReader, input::Input};

/// `OP LABEL OFFSET LENGTH flags`, and what `P` and `Z` lines tell.
struct Truth {
    references: Vec<(String, String)>,
    paths: HashMap<String, String>,
    sizes: HashMap<String, u64>,
}

impl Truth {
    fn parse(told: &str) -> Truth {
        let mut truth = Truth { references: Vec::new(), paths: HashMap::new(), sizes: HashMap::new() };
        for line in told.lines() {
            let (op, rest) = line.split_once(' ').unwrap();
            let (label, rest) = rest.split_once(' ').unwrap();
            match op {
                "P" => _ = truth.paths.insert(label.into(), rest.into()),
                "Z" => _ = truth.sizes.insert(label.into(), rest.parse().unwrap()),
                _ => truth.references.push((label.into(), format!("{op} {rest}"))),
            }
        }
        truth
    }

    /// Paths as seen from above the directory that the program worked in.
    fn below_work(&self) -> Truth {
        let below = |(label, path): (&String, &String)| (label.clone(), format!("work/{path}"));
        Truth {
            references: self.references.clone(),
            paths: self.paths.iter().map(below).collect(),
            sizes: self.sizes.clone(),
        }
    }
}

/// The references of a log to files in `directory`.
fn references(log: &[u8], options: StraceOptions, directory: &str) -> (Vec<(u32, String)>, StraceReader) {
    let input = Input::from_reader(Path::new("log"), std::io::Cursor::new(log.to_vec()), None).unwrap();
    references_of(StraceReader::new(input, options).unwrap(), directory)
}

/// The references to files in `directory`: file number, and the rest as the program tells it.
fn references_of<R: TraceReader>(mut reader: R, directory: &str) -> (Vec<(u32, String)>, R) {
    let mut batch = Batch::new();
    let mut found = Vec::new();
    let below = format!("{directory}/");
    loop {
        reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            return (found, reader);
        }
        for request in &batch.requests {
            if reader.tables().files[request.file as usize].path.starts_with(&below) {
                let failed = if request.flags & FLAG_FAILED != 0 { " failed" } else { "" };
                let executable = if request.flags & FLAG_EXECUTABLE != 0 { " executable" } else { "" };
                let (op, offset, length) = (request.op().letter(), request.offset, request.length);
                found.push((request.file, format!("{op} {offset} {length}{failed}{executable}")));
            }
        }
    }
}

/// Compares reference by reference; every label is one file and every file one label.
fn compare(truth: &Truth, found: &[(u32, String)], reader: &dyn TraceReader, directory: &str) {
    let mut labels: HashMap<u32, String> = HashMap::new();
    let mut files: HashMap<String, u32> = HashMap::new();
    for (index, ((label, told), (file, seen))) in truth.references.iter().zip(found).enumerate() {
        let path = &reader.tables().files[*file as usize].path;
        assert_eq!(told, seen, "reference {index}, to {label} ({path})");
        assert_eq!(labels.entry(*file).or_insert_with(|| label.clone()), label, "reference {index}: {path}");
        assert_eq!(files.entry(label.clone()).or_insert(*file), file, "reference {index}: {path}");
    }
    assert_eq!(truth.references.len(), found.len(), "{:?}", found.get(truth.references.len()));
    for (label, path) in &truth.paths {
        assert_eq!(reader.tables().files[files[label] as usize].path, format!("{directory}/{path}"), "{label}");
    }
    for (label, size) in &truth.sizes {
        assert_eq!(reader.tables().files[files[label] as usize].size, Some(*size), "{label}");
    }
}

struct Run {
    directory: tempfile::TempDir,
    log: Vec<u8>,
    truth: Truth,
    program_size: u64,
}

/// Builds the program, runs it under strace with `flags` and returns its log and what it told.
fn run(flags: &[&str]) -> Run {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = directory.path().join("program");
    support::compile(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/truth/truth.c")), &program);
    let program_size = fs::metadata(&program).unwrap().len();
    let work = directory.path().join("work");
    fs::create_dir(&work).unwrap();
    let log = directory.path().join("log");
    let output = Command::new("strace")
        .args(flags)
        .arg("-o")
        .arg(&log)
        .arg(&program)
        .arg(&work)
        .arg(program_size.to_string())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7), "the program's own status");
    let truth = Truth::parse(&String::from_utf8(output.stdout).unwrap());
    Run { log: fs::read(&log).unwrap(), directory, truth, program_size }
}

/// The program's file has to be known to belong to the directory, and its size is not in the log.
fn options(run: &Run) -> StraceOptions {
    let program = run.directory.path().join("program").into_os_string().into_encoded_bytes();
    let inherited = vec![Inherited { path: program, offset: 0, append: false, size: run.program_size }];
    StraceOptions { inherited, ..StraceOptions::default() }
}

fn check(flags: &[&str]) -> StraceReader {
    let run = run(flags);
    let directory = run.directory.path().to_str().unwrap();
    let (found, reader) = references(&run.log, options(&run), directory);
    compare(&run.truth.below_work(), &found, &reader, directory);
    reader
}

/// The kernel reports the same references of the same program.
#[test]
fn what_the_kernel_tells_is_what_the_program_did() {
    if !support::can_ask_kernel() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (program, work) = (directory.path().join("program"), directory.path().join("work"));
    support::compile(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/truth/truth.c")), &program);
    fs::create_dir(&work).unwrap();
    // The program prints none of the files that it uses.
    let told = tempfile::NamedTempFile::new().unwrap();
    let script = r#"exec "$0" "$1" "$2" | cat > "$3""#;
    let size = fs::metadata(&program).unwrap().len().to_string();
    let command = ["bash", "-o", "pipefail", "-c", script].map(Into::into).into_iter().chain([
        program.clone().into_os_string(),
        work.into_os_string(),
        size.into(),
        told.path().into(),
    ]);
    let trace = directory.path().join("t.hst");
    let summary = KernelRecorder::new(Subject::Command(command.collect())).run(&trace, |_| {}).unwrap();
    assert_eq!((summary.status.code(), summary.lost), (Some(7), 0), "the program's own status");
    let remarks = summary.remarks.join("\n");
    for surprise in ["turned out", "before the log", "unknown origin", "shared a position"] {
        assert!(!remarks.contains(surprise), "{remarks}");
    }

    let truth = Truth::parse(&fs::read_to_string(told.path()).unwrap());
    let reader = hotset_trace::open(&trace, &[hst::FORMAT], &OpenOptions::default()).unwrap().reader;
    let place = directory.path().canonicalize().unwrap();
    let (found, reader) = references_of(reader, place.to_str().unwrap());
    compare(&truth.below_work(), &found, &reader, place.to_str().unwrap());
}

#[test]
fn every_reference_of_a_known_program_is_found() {
    if !support::can_trace() {
        return;
    }
    let reader = check(&hotset_capture::record::FLAGS);
    let remarks = reader.remarks().join("\n");
    for told in [" calls on pipes moved ", "/dev/null", "/proc", "anonymous memory", "1 reads, writes and maps failed"]
    {
        assert!(remarks.contains(told), "{told}: {remarks}");
    }
    for surprise in ["turned out", "could have had several", "began before the log", "unknown origin"] {
        assert!(!remarks.contains(surprise), "{remarks}");
    }
    assert_eq!(reader.tables().apps, ["program"]);
}

/// Without `-y` the log shows no file behind a descriptor: the model has to know.
#[test]
fn the_model_needs_no_help_from_the_log() {
    if !support::can_trace() {
        return;
    }
    let flags: Vec<&str> = hotset_capture::record::FLAGS.into_iter().filter(|flag| *flag != "-y").collect();
    check(&flags);
}

/// Every call on two lines: as if another process had been heard in the middle of it.
#[test]
fn calls_on_two_lines_are_put_together() {
    if !support::can_trace() {
        return;
    }
    let run = run(&hotset_capture::record::FLAGS);
    let directory = run.directory.path().to_str().unwrap();
    let mut split = Vec::new();
    for line in String::from_utf8_lossy(&run.log).lines() {
        split.write_all(split_line(line).as_bytes()).unwrap();
    }
    let (whole, _) = references(&run.log, options(&run), directory);
    let (joined, _) = references(&split, options(&run), directory);
    assert_eq!(whole, joined);
}

/// Cuts a line behind the call's last argument.
fn split_line(line: &str) -> String {
    let (Some(open), Some(close)) = (line.find('('), line.rfind(") ")) else {
        return format!("{line}\n");
    };
    let name = line[..open].rsplit(' ').next().unwrap();
    if line.contains("unfinished") || line.contains("resumed") || line.contains("+++") || close < open {
        return format!("{line}\n");
    }
    let columns = &line[..open - name.len()];
    format!("{} <unfinished ...>\n{columns}<... {name} resumed>{}\n", &line[..close], &line[close..])
}

#[test]
fn processes_can_count_as_applications() {
    if !support::can_trace() {
        return;
    }
    let run = run(&hotset_capture::record::FLAGS);
    let by_process = StraceOptions { apps: Apps::Process, ..options(&run) };
    let (_, reader) = references(&run.log, by_process, run.directory.path().to_str().unwrap());
    // The program, the one it forks, and the one it executes; its thread does not count as another program.
    let apps = &reader.tables().apps;
    assert_eq!(apps.iter().filter(|name| name.starts_with("program ")).count(), 3, "{apps:?}");
}
