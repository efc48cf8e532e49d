//! Going to the background: the same command starts once more, and this one ends when that one serves.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The message of the background process once it serves.
pub(super) const READY: &str = "ready";

/// Starts this command line in the background and waits until it serves, or fails as it does.
pub(super) fn start() -> Result<(), Failure> {
    let cannot = |error| Failure::Work(format!("cannot go to the background: {error}"));
    let arguments = env::args_os().skip(1).map(|word| if word == "--daemon" { "--detached".into() } else { word });
    let mut child = Command::new(env::current_exe().map_err(cannot)?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    let mut line = String::new();
    if let Some(said) = child.stdout.take() {
        BufReader::new(said).read_line(&mut line).map_err(cannot)?;
    }
    if line.trim_end() == READY {
        return Ok(());
    }
    // It has said why.
    let status = child.wait().map_err(cannot)?;
    Err(Failure::Status(status.code().map_or(1, |code| code as u8)))
}

/// Leaves the terminal, and says that it serves.
pub(super) fn leave() -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::Work(format!("cannot leave the terminal: {error}"));
    // A process that leads a group already cannot, and need not.
    let _ = rustix::process::setsid();
    println!("{READY}");
    let null = std::fs::File::options().read(true).write(true).open("/dev/null").map_err(cannot)?;
    rustix::stdio::dup2_stdout(&null).map_err(|error| cannot(error.into()))?;
    rustix::stdio::dup2_stderr(&null).map_err(|error| cannot(error.into()))?;
    Ok(())
}
