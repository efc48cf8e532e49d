//! Running the built command, and folders with traces for it.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod mounted;
pub mod viewer;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The result of a run of `hotset`.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The run itself if it succeeded without a word on standard error.
    #[track_caller]
    pub fn good(self) -> Run {
        assert!(self.status == 0 && self.err.is_empty(), "{self:?}");
        self
    }

    /// The rows of JSON Lines on standard output.
    #[track_caller]
    pub fn rows(self) -> Vec<Value> {
        let run = self.good();
        run.out.lines().map(|line| serde_json::from_str(line).expect("every line is a JSON object")).collect()
    }
}

/// The command, not run yet.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotset"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `hotset` with these arguments.
pub fn hotset(arguments: &[&str]) -> Run {
    finish(command(arguments))
}

/// Runs it to its end.
pub fn finish(mut command: Command) -> Run {
    let output = command.output().expect("the command can be started");
    Run {
        status: output.status.code().expect("the command was not killed"),
        out: String::from_utf8(output.stdout).expect("output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Runs `hotset` with `input` on standard input.
pub fn hotset_fed(arguments: &[&str], input: &[u8]) -> Run {
    let mut folder = tempfile::tempfile().expect("a temporary file can be made");
    folder.write_all(input).unwrap();
    std::io::Seek::rewind(&mut folder).unwrap();
    let mut command = command(arguments);
    command.stdin(folder);
    finish(command)
}

/// A new folder that is removed in the end.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(TempDir::new().expect("a temporary folder can be made"))
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("temporary paths are UTF-8").to_owned()
    }

    /// A file with these contents; returns its path.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, contents).expect("the folder can be written");
        path
    }

    /// Names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

/// Ids, one a line: mostly a skewed choice among 300, now and then a loop over 2000.
pub fn ids() -> String {
    let mut state = 12345u64;
    let mut draw = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    let mut text = String::new();
    for step in 0..30_000u64 {
        let id = if step % 3 == 0 { 1000 + step / 3 % 2000 } else { (draw() % 300) * (draw() % 300) / 300 };
        text += &format!("{id}\n");
    }
    text
}

/// Reads and writes of three applications to two files, with a header.
pub fn csv() -> String {
    let mut text = "time_s,pid,op,file,offset,bytes,filesize,kind\n".to_owned();
    for (index, id) in ids().lines().enumerate().take(6000) {
        let (op, file, bytes) = (if index % 4 == 0 { "W" } else { "R" }, index % 2, 1000 + index * 7 % 9000);
        let offset = id.parse::<usize>().unwrap() * 4096;
        text += &format!("{:.3},{},{op},{file},{offset},{bytes},,data\n", index as f64 / 100.0, 70 + index % 3);
    }
    text
}

pub fn zstd(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::encode_all(bytes.as_ref(), 3).unwrap()
}

pub fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// The names in a JSON object, in order.
pub fn keys(row: &Value) -> Vec<&str> {
    row.as_object().expect("a row is an object").keys().map(String::as_str).collect()
}

pub fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Runs `hotset` where the kernel's events are hidden; says so where they cannot be.
pub fn hotset_without_events(arguments: &str) -> Option<Run> {
    let binary = env!("CARGO_BIN_EXE_hotset");
    let script = format!(
        "mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug || exit 99; exec {binary} {arguments}"
    );
    let mut hidden = Command::new("unshare");
    hidden.args(["-m", "sh", "-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = finish(hidden);
    if run.status == 99 || run.err.contains("unshare") {
        println!("NOT RUN: tracing cannot be hidden here: {}", run.err);
        return None;
    }
    Some(run)
}

/// Asks a server for a page.
pub fn page(address: &str, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
