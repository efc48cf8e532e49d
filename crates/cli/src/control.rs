//! Talking to a running mount: a socket named after the mountpoint, one line of JSON there, one line back.
//!
//! The name is in the abstract space, so nothing is left behind when the process ends. Only root and the user who mounted are answered.

mod metrics;
mod server;

use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

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

/// The name that the server of a mountpoint listens under.
fn address(mountpoint: &Path) -> std::io::Result<SocketAddr> {
    let path = mountpoint.as_os_str().as_bytes();
    // A name has room for some hundred bytes.
    let name = match path.len() {
        ..=90 => [b"hotset:", path].concat(),
        _ => format!("hotset::{:032x}", xxh3_128(path)).into_bytes(),
    };
    SocketAddr::from_abstract_name(name)
}

/// Asks the server of a mountpoint.
pub(crate) fn ask(mountpoint: &Path, wish: &Wish) -> Result<Value, Failure> {
    let shown = mountpoint.display();
    let full = std::fs::canonicalize(mountpoint)
        .map_err(|error| Failure::Work(format!("there is no mount at {shown}: {error}")))?;
    let stream = address(&full).and_then(|address| UnixStream::connect_addr(&address)).map_err(|error| {
        Failure::Work(format!(
            "no `hotset mount` answers for {shown} ({error}): expected the mountpoint of one with a cache"
        ))
    })?;
    match exchange(stream, wish) {
        Ok(Answer::Done(value)) => Ok(value),
        Ok(Answer::Refused(why)) => Err(Failure::Work(why)),
        Err(error) => Err(Failure::Work(format!("the mount at {shown} gave no answer: {error}"))),
    }
}

fn exchange(mut stream: UnixStream, wish: &Wish) -> std::io::Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    writeln!(stream, "{}", serde_json::to_string(wish)?)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_have_names_of_their_own() {
        let name = |first: &str| address(Path::new(&format!("/{first}/{}", "deep/".repeat(50)))).unwrap();
        assert_eq!(format!("{:?}", name("a")), format!("{:?}", name("a")));
        assert_ne!(format!("{:?}", name("a")), format!("{:?}", name("b")));
    }
}
