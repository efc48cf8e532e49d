//! From the first event to the last word.

use std::ffi::OsString;
use std::io::{Write, stderr};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hotset_serve::steering::Shown;
use hotset_steer::{Made, Over, Report};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::words;
use crate::failure::Failure;
use crate::options::results;
use crate::output::human;

/// So long it is waited for events before a signal, or the end of the command, is noticed.
const STEP: Duration = Duration::from_millis(100);

/// The signals that ask for an end, the last of them.
pub(crate) struct Asked(Arc<AtomicUsize>);

impl Asked {
    pub(crate) fn new() -> Result<Asked, Failure> {
        let asked = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(signal, asked.clone(), signal as usize)
                .map_err(|error| Failure::Work(format!("cannot wait for signals: {error}")))?;
        }
        Ok(Asked(asked))
    }

    pub(crate) fn take(&self) -> Option<i32> {
        Some(self.0.swap(0, Ordering::Relaxed) as i32).filter(|signal| *signal != 0)
    }
}

/// Steers until it is asked to end, or the control group is removed.
pub(super) fn watch(mut shown: Shown, json: Option<&Path>) -> Result<(), Failure> {
    let asked = Asked::new()?;
    writeln!(
        stderr(),
        "hotset: watching {}; Ctrl-C ends it",
        human::counted(shown.session.report().files as u64, "file")
    )?;
    while asked.take().is_none() {
        if let Some(Over::GroupGone) = shown.step(STEP)? {
            writeln!(stderr(), "hotset: the control group was removed; steering ends")?;
            break;
        }
    }
    tell(&shown.session.finish(), json)
}

/// Steers as long as a command runs in its group.
pub(super) fn run(shown: Shown, made: Made, command: &[OsString], json: Option<&Path>) -> Result<(), Failure> {
    let asked = Asked::new()?;
    let (program, arguments) = command.split_first().ok_or_else(|| Failure::Usage("no command".to_owned()))?;
    let started = made.start(Command::new(program).args(arguments));
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            made.remove()?;
            return Err(Failure::not_started(program, &error));
        }
    };
    let mut shown = Some(shown);
    let ended = loop {
        // The command goes on whatever becomes of steering.
        match shown.as_mut().map(|shown| shown.step(STEP)) {
            Some(Ok(None)) => {}
            Some(Ok(Some(Over::GroupGone))) => give_up(&mut shown, "the control group was removed"),
            Some(Err(error)) => give_up(&mut shown, &error.to_string()),
            None => thread::sleep(STEP),
        }
        if let Some(ended) = child.try_wait().map_err(waiting)? {
            break ended;
        }
        if let Some(signal) = asked.take() {
            pass_on(&child, signal);
        }
    };
    let told = shown.map_or(Ok(()), |mut shown| tell(&shown.session.finish(), json));
    remove(made)?;
    told?;
    end(ended)
}

fn waiting(error: std::io::Error) -> Failure {
    Failure::Work(format!("cannot wait for the command: {error}"))
}

fn give_up(shown: &mut Option<Shown>, why: &str) {
    shown.take().into_iter().for_each(|shown| shown.give_up(why));
    // The command may have taken the terminal with it.
    let _ = writeln!(stderr(), "hotset: {why}; the command continues without steering");
}

/// A signal that was meant for all. Ctrl-C has reached the command already.
pub(crate) fn pass_on(child: &Child, signal: i32) {
    let signal = if signal == SIGHUP { Signal::HUP } else { Signal::TERM };
    if let Some(pid) = Pid::from_raw(child.id() as i32) {
        // It may have ended already.
        let _ = kill_process(pid, signal);
    }
}

/// Removes the group of a command that has ended, unless it has left processes behind.
pub(crate) fn remove(made: Made) -> Result<(), Failure> {
    let folder = made.group().folder().display().to_string();
    let left = made.processes() as u64;
    if left > 0 {
        let processes = human::counted_as(
            left,
            "process that the command has started still runs",
            "processes that the command has started still run",
        );
        writeln!(stderr(), "hotset: {processes}, so {folder} stays, with its limit: remove it when they have ended")?;
        return Ok(());
    }
    Ok(made.remove()?)
}

/// Ends as the command did.
pub(crate) fn end(ended: ExitStatus) -> Result<(), Failure> {
    match (ended.code(), ended.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Status(code as u8)),
        (None, signal) => Err(Failure::Status(128 + signal.unwrap_or_default() as u8)),
    }
}

/// A summary.
fn tell(report: &Report, json: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = json {
        results::write(path, |out| {
            serde_json::to_writer(&mut *out, report).map_err(Into::into).and_then(|()| writeln!(out))
        })?;
        if path == Path::new("-") {
            return Ok(());
        }
    }
    let mut err = stderr().lock();
    for line in words::lines(report) {
        writeln!(err, "hotset: {line}")?;
    }
    Ok(())
}
