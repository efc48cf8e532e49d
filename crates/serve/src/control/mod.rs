//! The control protocol of mounts and of `hotset steer`. A socket is named after the mount's device, or after the
//! directory or control group that is steered. A request and its answer are one line of JSON each. Only root and the
//! user that started the server get answers.

pub(crate) mod metrics;
mod mounted;
mod pages;
mod place;
mod server;

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hotset_cache::OrderProgress;
use hotset_core::words::reason;
use hotset_mount::{Device, mount_line, mountpoint};
use hotset_steer::Hierarchy;
use rustix::process::{Uid, geteuid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use mounted::of_mount;
pub use pages::Listening;
pub use place::{Claim, Socket, claim};

use thiserror::Error;

/// The server that a client connects to.
pub trait Subject: Send + Sync {
    /// The status.
    fn status(&self) -> Result<Value, String>;
    /// The status in the text format of Prometheus.
    fn metrics(&self) -> String;
    /// The learnt state of the scheme.
    fn explain(&self) -> Result<Value, String>;
    /// Changes settings, given by key and value, all of them or none.
    fn set(&self, settings: &[(String, String)]) -> Result<Changed, String>;
    /// Announces the order in which files will be opened: a list of paths, one a line. `None` ends the order.
    fn expect(&self, list: Option<&Path>) -> Result<OrderProgress, String>;
}

/// Settings of a mount before and after a change.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// Policies before and after.
    pub policy: [String; 2],
    /// Bytes of memory before and after.
    pub memory_bytes: [u64; 2],
    /// False if the policy after the change starts without tables, curves, ghosts and recency.
    pub keeps_learnt: bool,
}

/// The answer with this value.
pub(crate) fn told(what: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(what).map_err(|error| error.to_string())
}

/// A client's request.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wish {
    /// The status.
    Status,
    /// The learnt state of the scheme.
    Explain,
    /// Changes of settings: key and value.
    Set(Vec<(String, String)>),
    /// The list of files that will be opened, in this order; `None` ends the announced order.
    Expect(Option<PathBuf>),
}

/// The answer to a request.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Done(Value),
    Refused(String),
}

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of the longest answer.
const LONGEST: u64 = 64 << 20;

/// The message for clients of another user.
const ONLY_OWNER: &str = "only root and the mounting user have access";

/// Answers clients of the mount with this device until the returned value is dropped.
///
/// # Errors
///
/// The socket or its thread cannot be made.
pub fn serve_mount(device: Device, subject: Arc<dyn Subject>) -> io::Result<Socket> {
    server::serve(place::of_mount(device), subject)
}

/// Answers clients of a steered directory or control group until the returned value is dropped.
///
/// # Errors
///
/// Those of [`serve_mount`], and of looking at the path.
pub fn serve_steered(path: &Path, subject: Arc<dyn Subject>) -> io::Result<Socket> {
    server::serve(place::of_steered(&fs::metadata(path)?), subject)
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// The process of the mount has ended without unmounting.
    #[error("the mount at {} is dead, because its process was killed; mount again to clear it", .0.display())]
    Dead(PathBuf),
    /// The path cannot be looked at.
    #[error("no mount at {}: {}", .0.display(), reason(.1))]
    Unreachable(PathBuf, io::Error),
    /// The server serves another user.
    #[error("the mount at {} does not answer: {ONLY_OWNER}", .0.display())]
    Denied(PathBuf),
    /// Nothing is mounted or steered there.
    #[error("neither `hotset mount` nor `hotset steer` serves {}; expected a mountpoint, or a directory or control group that this user steers", .0.display())]
    Unserved(PathBuf),
    /// Another user's process listens in place of the mount's.
    #[error("user {} answers for the mount at {}, but is neither root nor the mounting user", .1, .0.display())]
    Foreign(PathBuf, u32),
    /// The server refuses the request, for this reason.
    #[error("{0}")]
    Refused(String),
    /// The connection broke, or the answer is malformed.
    #[error("the mount at {} did not answer: {}", .0.display(), .1)]
    Broken(PathBuf, io::Error),
}

/// Asks the server of a mountpoint, or of a directory or control group that is steered.
///
/// # Errors
///
/// Nothing serves the path, or the server does not answer this user.
pub fn ask(path: &Path, wish: &Wish) -> Result<Value, AskError> {
    let place = || path.to_owned();
    let broken = |error| AskError::Broken(place(), error);
    let about =
        fs::metadata(path).or_else(|error| group(path).ok_or(error)).map_err(|error| match error.raw_os_error() {
            Some(NOT_CONNECTED | ABORTED) => AskError::Dead(place()),
            _ => AskError::Unreachable(place(), error),
        })?;
    let device = (rustix::fs::major(about.dev()), rustix::fs::minor(about.dev()));
    let owner = owner(device).map_err(broken)?.unwrap_or_else(geteuid);
    let steered = |error: io::Error| {
        let mut found = [owner, Uid::ROOT].into_iter();
        found.find_map(|owner| place::connect(&place::of_steered(&about), owner).ok()).ok_or(error)
    };
    let connected = place::connect(&place::of_mount(device), owner).or_else(steered);
    let stream = connected.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => AskError::Denied(place()),
        _ => AskError::Unserved(place()),
    })?;
    let server = rustix::net::sockopt::socket_peercred(&stream).map_err(|error| broken(error.into()))?.uid;
    if !server.is_root() && server != geteuid() && server != owner {
        return Err(AskError::Foreign(place(), server.as_raw()));
    }
    match exchange(stream, wish).map_err(broken)? {
        Answer::Done(value) => Ok(value),
        Answer::Refused(why) => Err(AskError::Refused(why)),
    }
}

/// A control group by its path in the hierarchy.
fn group(path: &Path) -> Option<fs::Metadata> {
    fs::metadata(Hierarchy::find().ok()?.group(path).ok()?.folder()).ok()
}

/// Returns the status of each mount and each `hotset steer` of this user, with their paths.
pub fn everyone() -> Vec<(String, Value)> {
    let ask = |name: String| {
        let stream = place::connect(&name, geteuid()).ok()?;
        let Ok(Answer::Done(status)) = exchange(stream, &Wish::Status) else { return None };
        Some((known_by(&name, &status)?, status))
    };
    let mut told: Vec<(String, Value)> = place::names().into_iter().filter_map(ask).collect();
    told.sort_by(|(one, _), (other, _)| one.cmp(other));
    // `hotset steer` listens for each directory and for the group.
    told.dedup_by(|(one, _), (other, _)| one == other);
    told
}

fn known_by(name: &str, status: &Value) -> Option<String> {
    match place::device_of(name) {
        Some(device) => Some(mountpoint(device).ok()??.display().to_string()),
        None => {
            let paths: Vec<&str> = status["directories"].as_array()?.iter().filter_map(Value::as_str).collect();
            Some(paths.join(", "))
        }
    }
}

/// The user that has mounted it.
fn owner(device: Device) -> io::Result<Option<Uid>> {
    let line = mount_line(device)?;
    let number = line.and_then(|line| line.rsplit_once("user_id=")?.1.split(',').next()?.parse().ok());
    Ok(number.map(Uid::from_raw))
}

/// Errors of calls into a mount without a server. `ABORTED` is that of the first call after the server's end.
const NOT_CONNECTED: i32 = rustix::io::Errno::NOTCONN.raw_os_error();
const ABORTED: i32 = rustix::io::Errno::CONNABORTED.raw_os_error();

fn exchange(mut stream: UnixStream, wish: &Wish) -> io::Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    // A server may refuse a client before it has read the whole request.
    let asked = writeln!(stream, "{}", serde_json::to_string(wish)?);
    let mut line = String::new();
    if BufReader::new(stream.take(LONGEST)).read_line(&mut line)? == 0 {
        asked?;
    }
    Ok(serde_json::from_str(&line)?)
}
