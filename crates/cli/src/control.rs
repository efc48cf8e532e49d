//! Talking to a running mount: a socket named after its device, one line of JSON there, one line back. Only root and
//! the user who mounted are answered.

mod metrics;
mod pages;
mod place;
mod server;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use hotset_mount::{Device, mount_line};
use rustix::process::{Uid, geteuid};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use pages::listen;
pub(crate) use place::{Claim, claim};
pub(crate) use server::serve;

use crate::failure::Failure;

/// What a client wants.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Wish {
    /// The status.
    Status,
    /// What the scheme has learnt.
    Explain,
    /// Settings to be changed: key and value.
    Set(Vec<(String, String)>),
}

/// What it gets.
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

/// What others are told.
const ONLY_OWNER: &str = "only root and the user who mounted may ask";

/// Asks the server of a mountpoint.
pub(crate) fn ask(mountpoint: &Path, wish: &Wish) -> Result<Value, Failure> {
    let shown = mountpoint.display();
    let about = std::fs::metadata(mountpoint).map_err(|error| match error.raw_os_error() {
        Some(NOT_CONNECTED | ABORTED) => Failure::Work(format!(
            "the mount at {shown} is dead: its process was killed; mounting there again clears it away"
        )),
        _ => Failure::Work(format!("there is no mount at {shown}: {error}")),
    })?;
    let device = (rustix::fs::major(about.dev()), rustix::fs::minor(about.dev()));
    let owner = owner(device)?.unwrap_or_else(geteuid);
    let stream = place::connect(device, owner).map_err(|error| {
        Failure::Work(match error.kind() {
            std::io::ErrorKind::PermissionDenied => format!("the mount at {shown} does not answer: {ONLY_OWNER}"),
            _ => {
                format!("no `hotset mount` answers for {shown} ({error}): expected the mountpoint of one with a cache")
            }
        })
    })?;
    check_server(&stream, owner, &shown.to_string())?;
    match exchange(stream, wish) {
        Ok(Answer::Done(value)) => Ok(value),
        Ok(Answer::Refused(why)) => Err(Failure::Work(why)),
        Err(error) => Err(Failure::Work(format!("the mount at {shown} gave no answer: {error}"))),
    }
}

/// Who has mounted it.
fn owner(device: Device) -> std::io::Result<Option<Uid>> {
    let line = mount_line(device)?;
    let number = line.and_then(|line| line.rsplit_once("user_id=")?.1.split(',').next()?.parse().ok());
    Ok(number.map(Uid::from_raw))
}

/// Only root, the user who asks and the one who mounted are believed.
fn check_server(stream: &UnixStream, owner: Uid, shown: &str) -> Result<(), Failure> {
    let server = rustix::net::sockopt::socket_peercred(stream).map_err(std::io::Error::from)?.uid;
    if server.is_root() || server == geteuid() || server == owner {
        return Ok(());
    }
    Err(Failure::Work(format!(
        "user {} listens in place of the mount at {shown}, and is neither root nor who mounted it",
        server.as_raw()
    )))
}

/// What calls into a mount without a server fail with; the first one after its end with the second.
const NOT_CONNECTED: i32 = rustix::io::Errno::NOTCONN.raw_os_error();
const ABORTED: i32 = rustix::io::Errno::CONNABORTED.raw_os_error();

fn exchange(mut stream: UnixStream, wish: &Wish) -> std::io::Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    // Who is refused need not have been heard out.
    let asked = writeln!(stream, "{}", serde_json::to_string(wish)?);
    let mut line = String::new();
    if BufReader::new(stream.take(LONGEST)).read_line(&mut line)? == 0 {
        asked?;
    }
    Ok(serde_json::from_str(&line)?)
}
