//! Talking to a running mount: a socket named after its device, one line of JSON there, one line back.
//!
//! The name is in the abstract space, so nothing is left behind when the process ends. Only root and the user who mounted are answered.

mod metrics;
mod server;

use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

use hotset_live::fs::{Device, mount_line};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use server::{listen, serve};

use crate::failure::Failure;

/// What a client wants.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Wish {
    /// The status.
    Status,
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

/// The name that the server of a mount listens under: mounts one above the other, or at one path for different programs, have their own.
fn address((major, minor): Device) -> std::io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("hotset:{major}:{minor}"))
}

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
    let stream = address(device).and_then(|address| UnixStream::connect_addr(&address)).map_err(|error| {
        Failure::Work(format!(
            "no `hotset mount` answers for {shown} ({error}): expected the mountpoint of one with a cache"
        ))
    })?;
    check_server(&stream, device, &shown.to_string())?;
    match exchange(stream, wish) {
        Ok(Answer::Done(value)) => Ok(value),
        Ok(Answer::Refused(why)) => Err(Failure::Work(why)),
        Err(error) => Err(Failure::Work(format!("the mount at {shown} gave no answer: {error}"))),
    }
}

/// Anybody may listen under a name. Only root, the user who asks and the one who mounted are believed.
fn check_server(stream: &UnixStream, device: Device, shown: &str) -> Result<(), Failure> {
    let server = rustix::net::sockopt::socket_peercred(stream).map_err(std::io::Error::from)?.uid;
    let owner = mount_line(device)?.and_then(|line| line.rsplit_once("user_id=")?.1.split(',').next()?.parse().ok());
    if server.is_root() || server == rustix::process::geteuid() || Some(server.as_raw()) == owner {
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
    writeln!(stream, "{}", serde_json::to_string(wish)?)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
