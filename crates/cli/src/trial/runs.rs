//! Runs of the command under each candidate.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hotset_core::policy::PolicySpec;
use hotset_steer::{Gain, Hierarchy, Made, Session, Settings, Telling, When, paired};
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::files::{self, Stamps};
use crate::failure::Failure;
use crate::record::status;
use crate::steer::feeding::{feed, naming};
use crate::steer::running::Asked;

/// Time between looks at the command.
const STEP: Duration = Duration::from_millis(20);
/// Bytes of a block of steered files, as by default in `hotset steer`.
const BLOCK: u64 = 65536;

/// A way to run the command.
#[derive(Clone, Debug)]
pub(super) enum Candidate {
    /// The kernel alone.
    Kernel,
    /// The kernel steered by a policy.
    Steered(PolicySpec),
    /// The kernel alone under this limit.
    Memory(u64),
}

/// What one run took.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Run {
    /// Wall time.
    pub seconds: f64,
    /// Bytes read from storage by the command and for it.
    pub read_bytes: u64,
}

/// All runs of a candidate, and its gain over the kernel alone.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub name: String,
    pub runs: Vec<Run>,
    /// Seconds.
    pub seconds: Option<Gain>,
    /// Bytes read from storage.
    pub read_bytes: Option<Gain>,
}

/// Runs the command.
pub(super) struct Runner<'a> {
    command: &'a [OsString],
    memory: u64,
    directories: Vec<PathBuf>,
    stamps: Stamps,
    deadline: Instant,
    asked: Asked,
    runs: Vec<Vec<Run>>,
    /// Digest of the output of the first run.
    output: Option<u64>,
    longest: Duration,
}

impl<'a> Runner<'a> {
    pub fn new(
        command: &'a [OsString],
        memory: u64,
        directories: Vec<PathBuf>,
        deadline: Instant,
    ) -> Result<Runner<'a>, Failure> {
        let stamps = files::stamps(&directories)?;
        let asked = Asked::new()?;
        let (runs, output, longest) = (Vec::new(), None, Duration::ZERO);
        Ok(Runner { command, memory, directories, stamps, deadline, asked, runs, output, longest })
    }

    /// Time of the longest round so far.
    pub fn longest_round(&self) -> Duration {
        self.longest
    }

    /// Runs each candidate once, in reverse order if asked for.
    pub fn round(&mut self, candidates: &[Candidate], reverse: bool) -> Result<(), Failure> {
        let began = Instant::now();
        self.runs.resize(candidates.len(), Vec::new());
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        if reverse {
            order.reverse();
        }
        for at in order {
            let run = self.once(&candidates[at])?;
            self.runs[at].push(run);
        }
        self.longest = self.longest.max(began.elapsed());
        Ok(())
    }

    /// Gains over the first candidate.
    pub fn outcomes(&self, candidates: &[Candidate]) -> Vec<Outcome> {
        let gain = |runs: &[Run], figure: &dyn Fn(&Run) -> f64| {
            let pairs = self.runs[0].iter().zip(runs).map(|(kernel, run)| (figure(kernel), figure(run)));
            paired(&pairs.collect::<Vec<_>>())
        };
        let outcome = |(candidate, runs): (&Candidate, &Vec<Run>)| Outcome {
            name: match candidate {
                Candidate::Kernel => "as it is".to_owned(),
                Candidate::Steered(policy) => format!("steer {policy}"),
                Candidate::Memory(bytes) => format!("memory {}", crate::output::human::bytes(*bytes)),
            },
            runs: runs.clone(),
            seconds: gain(runs, &|run| run.seconds),
            read_bytes: gain(runs, &|run| run.read_bytes as f64),
        };
        candidates.iter().zip(&self.runs).map(outcome).collect()
    }

    fn once(&mut self, candidate: &Candidate) -> Result<Run, Failure> {
        files::drop_from_page_cache(&self.stamps)?;
        let limit = if let Candidate::Memory(bytes) = candidate { *bytes } else { self.memory };
        let made = Hierarchy::find()?.make(&format!("hotset-try-{}", std::process::id()), limit)?;
        let ran = self.within(&made, candidate);
        // The command may have left processes: then the group cannot go, and that is the message.
        let left = made.processes();
        let folder = made.group().folder().display().to_string();
        if left > 0 {
            ran?;
            return Err(Failure::Work(format!(
                "the command left {left} processes running in {folder}; try a command that ends with all it starts"
            )));
        }
        made.remove()?;
        let (run, ended, output) = ran?;
        self.check(ended, output)?;
        Ok(run)
    }

    /// One run in its group.
    fn within(&self, made: &Made, candidate: &Candidate) -> Result<(Run, ExitStatus, u64), Failure> {
        let mut session = match candidate {
            Candidate::Steered(policy) => Some(self.session(policy, made)?),
            _ => None,
        };
        let output = tempfile::tempfile().map_err(failed)?;
        let (program, arguments) = self.command.split_first().ok_or_else(|| Failure::Usage("no command".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?);
        let before = read_bytes()?;
        let began = Instant::now();
        let mut child = made
            .start(&mut command)
            .map_err(|error| Failure::Work(format!("cannot run {}: {error}", program.display())))?;
        let ended = self.wait(&mut child, session.as_mut())?;
        let seconds = began.elapsed().as_secs_f64();
        drop(session);
        let run = Run { seconds, read_bytes: read_bytes()?.saturating_sub(before) };
        Ok((run, ended, digest(output).map_err(failed)?))
    }

    fn session(&self, policy: &PolicySpec, made: &Made) -> Result<Session, Failure> {
        let feed =
            feed(policy, BLOCK, false).map_err(|why| Failure::Work(format!("steering cannot be tried: {why}")))?;
        let program = std::env::current_exe().map(OsString::from);
        let fetcher = program.map_or(Vec::new(), |program| vec![program, "steer".into(), "--fetcher".into()]);
        let settings = Settings {
            policy: policy.clone(),
            block: BLOCK,
            memory: None,
            group: Some(made.group().clone()),
            directories: self.directories.clone(),
            when: When::Pays,
            fetcher,
        };
        let telling = Telling { rules: None, naming: naming(policy, hotset_mount::AppBy::Exe) };
        Ok(Session::new(settings, telling, feed)?)
    }

    /// Waits for the command; ends it when the budget is used up or a signal asks for it.
    fn wait(&self, child: &mut Child, mut session: Option<&mut Session>) -> Result<ExitStatus, Failure> {
        loop {
            match session.as_mut() {
                Some(session) => {
                    if let Err(error) = session.step(STEP) {
                        end(child);
                        return Err(error.into());
                    }
                }
                None => thread::sleep(STEP),
            }
            if let Some(ended) = child.try_wait().map_err(failed)? {
                return Ok(ended);
            }
            if self.asked.take().is_some() {
                end(child);
                return Err(Failure::Work("interrupted; the command was ended".to_owned()));
            }
            if Instant::now() > self.deadline {
                end(child);
                return Err(Failure::Work(
                    "--budget: it is used up before every candidate has run; give more, or a shorter command"
                        .to_owned(),
                ));
            }
        }
    }

    /// Refuses a command whose runs cannot be compared.
    fn check(&mut self, ended: ExitStatus, output: u64) -> Result<(), Failure> {
        let shown = self.command[0].display();
        if !ended.success() {
            eprintln!(
                "hotset: {shown} failed with exit status {}; only a command that succeeds can be tried",
                status(ended)
            );
            return Err(Failure::Status(status(ended)));
        }
        let now = files::stamps(&self.directories)?;
        if let Some(path) = files::changed(&self.stamps, &now) {
            let path = path.display();
            return Err(Failure::Work(format!(
                "{shown} changes {path}, so its runs differ; have it write outside of the directories, or try a copy"
            )));
        }
        if *self.output.get_or_insert(output) != output {
            return Err(Failure::Work(format!(
                "{shown} has another output in each run, so it cannot be shown that a candidate leaves it alone; redirect what varies"
            )));
        }
        Ok(())
    }
}

fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
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

fn digest(mut output: File) -> io::Result<u64> {
    use std::io::Seek;
    output.rewind()?;
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 16]);
    loop {
        match output.read(&mut buffer)? {
            0 => return Ok(hash.finish()),
            read => hash.write(&buffer[..read]),
        }
    }
}
