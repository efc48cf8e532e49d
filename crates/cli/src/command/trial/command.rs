//! One run of the command in a separate control group.

use std::ffi::OsString;
use std::fs;
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use hotset_steer::{Made, Report, Session};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::mounted::Running;
use super::runs::Stop;
use crate::command::record::status;
use crate::command::steer::running::Asked;
use crate::failure::Failure;
use crate::output::note;

/// Time between looks at the command.
const STEP: Duration = Duration::from_millis(10);
/// Time in which processes that the command has started may end after it.
const STRAGGLE: Duration = Duration::from_secs(1);
/// Bytes of standard error that are kept.
const KEPT: usize = 4096;

/// What one run took.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    /// Wall time.
    pub seconds: f64,
    /// Bytes read from storage by the command, and by prefetches for it; absent where the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// The most memory that its processes themselves had, by a look every 10 ms.
    pub own_bytes: u64,
    /// Seconds in which the kernel was steered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_steered: Option<f64>,
    /// Why the kernel was steered at the end, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a run ended.
pub(super) struct Ended {
    pub run: Run,
    pub status: u8,
    /// Digest of standard output.
    pub output: u64,
    /// The end of standard error.
    pub errors: Vec<u8>,
    /// Processes that were still there a second after the command, and were killed.
    pub left: usize,
}

/// What runs beside the command.
pub(super) enum Beside {
    Nothing,
    /// Steers the kernel.
    Session(Box<Session>),
    /// Serves the directory.
    Mount(Running),
}

impl Beside {
    fn step(&mut self) -> Result<(), Failure> {
        match self {
            Beside::Session(session) => drop(session.step(STEP).map_err(Failure::from)?),
            Beside::Nothing | Beside::Mount(_) => thread::sleep(STEP),
        }
        Ok(())
    }

    /// Ends, and returns the report of a session.
    fn end(self) -> Option<Report> {
        match self {
            Beside::Session(mut session) => Some(session.finish()),
            // A mount ends when it is dropped.
            Beside::Nothing | Beside::Mount(_) => None,
        }
    }
}

/// Runs the command in the group, which has no process afterwards.
pub(super) fn run(
    command: &[OsString],
    made: &Made,
    mut beside: Beside,
    deadline: Instant,
    asked: &Asked,
) -> Result<Ended, Stop> {
    let (program, arguments) = command.split_first().ok_or_else(|| Failure::Usage("no command".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // In a separate process group, which the terminal stops if the command reads from it.
    command.process_group(0);
    let before = read_bytes()?;
    let began = Instant::now();
    let mut child = made.start(&mut command).map_err(|error| Failure::not_started(program, &error))?;
    let output = in_background(child.stdout.take(), digest);
    let errors = in_background(child.stderr.take(), tail);
    let ended = wait(&mut child, made, &mut beside, deadline, asked);
    let seconds = began.elapsed().as_secs_f64();
    if ended.is_err() {
        made.kill();
        child.wait().map_err(failed)?;
    }
    let report = beside.end();
    let left = left(made);
    made.kill();
    let (ended, own_bytes) = ended?;
    let status = status(ended);
    let run = Run {
        seconds,
        read_bytes: Some(read_bytes()?.saturating_sub(before)),
        own_bytes,
        seconds_steered: report.as_ref().map(|report| report.seconds_steered),
        reason: report.map(|report| report.reason),
    };
    Ok(Ended { run, status, output: closed(&output)?, errors: closed(&errors)?, left })
}

/// Waits for the command until the budget is used up, a signal asks for the end, or the terminal stops the command.
/// Returns also the most memory that the processes in the group themselves had.
fn wait(
    child: &mut Child,
    made: &Made,
    beside: &mut Beside,
    deadline: Instant,
    asked: &Asked,
) -> Result<(ExitStatus, u64), Stop> {
    let pid = Pid::from_raw(child.id() as i32);
    let mut own_bytes = 0;
    loop {
        own_bytes = own_bytes.max(made.own_bytes().map_err(failed)?);
        beside.step()?;
        if let Some(ended) = child.try_wait().map_err(failed)? {
            return Ok((ended, own_bytes));
        }
        let stopped = pid.map(|pid| waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG));
        if let Some(Ok(Some(_))) = stopped {
            let message = "the command was stopped: it needs a terminal, which it does not have here";
            return Err(Failure::Work(format!("{message}; try one that reads files alone")).into());
        }
        if let Some(signal) = asked.take() {
            note("interrupted; the command was ended");
            return Err(Failure::Status(128 + signal as u8).into());
        }
        if Instant::now() > deadline {
            return Err(Stop::Budget);
        }
    }
}

/// Processes that do not end by themselves.
fn left(made: &Made) -> usize {
    let until = Instant::now() + STRAGGLE;
    while made.processes() > 0 && Instant::now() < until {
        thread::sleep(STEP);
    }
    made.processes()
}

/// Reads a stream to its end in a thread.
fn in_background<T: Send + 'static>(
    stream: Option<impl Read + Send + 'static>,
    read: impl FnOnce(&mut dyn Read) -> io::Result<T> + Send + 'static,
) -> Receiver<io::Result<T>> {
    let (send, receive) = channel();
    if let Some(mut stream) = stream {
        // Without a receiver the run has failed otherwise.
        thread::spawn(move || drop(send.send(read(&mut stream))));
    }
    receive
}

/// The result of reading a stream that a process outside of the group may keep open.
fn closed<T>(stream: &Receiver<io::Result<T>>) -> Result<T, Failure> {
    let read = stream.recv_timeout(STRAGGLE).map_err(|_| {
        let message = "a process that the command started outside of its control group keeps its output open";
        Failure::Work(format!("{message}; try a command that ends with all it starts"))
    })?;
    read.map_err(failed)
}

fn digest(stream: &mut dyn Read) -> io::Result<u64> {
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 16]);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(hash.finish()),
            read => hash.write(&buffer[..read]),
        }
    }
}

fn tail(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; KEPT]);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(kept),
            read => kept.extend_from_slice(&buffer[..read]),
        }
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::Work(format!("cannot run the command: {error}"))
}

/// Bytes that this process and the children it has waited for read from storage.
fn read_bytes() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/self/io").map_err(failed)?;
    let bytes = text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    bytes.ok_or_else(|| Failure::Work("/proc/self/io: no read_bytes; the kernel lacks I/O accounting".to_owned()))
}
