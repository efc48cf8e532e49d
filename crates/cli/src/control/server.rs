//! The side of the mount: answers over the socket, and over HTTP if it is asked to.

use std::io::{self, BufRead, BufReader, Write};
use std::net;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hotset_core::policy::{App, Info};
use hotset_core::spec::{ParamKind, PolicySpec};
use hotset_live::fs::device_at;
use hotset_live::{Cache, Status};
use serde_json::Value;
use tiny_http::{Header, Response, Server};

use super::{Answer, Wish, address, metrics};
use crate::failure::Failure;
use crate::traces::parse_bytes;

/// Answers clients of `hotset ctl` and `hotset top` as long as the process lives. Without a name to listen under the mount serves all the same.
pub(crate) fn serve(mountpoint: &Path, cache: Arc<Cache>) {
    let listener = match device_at(mountpoint).and_then(address).and_then(|address| bind(&address)) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!(
                "hotset: {} is served, but `hotset ctl` and `hotset top` cannot reach it: {error}",
                mountpoint.display()
            );
            return;
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away misses its answer.
            let _ = converse(stream, &cache);
        }
    });
}

/// How long the server of a mount that has just been unmounted may take to end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Listens, as soon as the one before does not any more.
fn bind(address: &SocketAddr) -> io::Result<UnixListener> {
    let since = Instant::now();
    loop {
        match UnixListener::bind_addr(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && since.elapsed() < FAREWELL => {
                thread::sleep(Duration::from_millis(10));
            }
            bound => return bound,
        }
    }
}

fn converse(mut stream: UnixStream, cache: &Cache) -> io::Result<()> {
    // A client that says nothing does not keep the others waiting for long.
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let peer = rustix::net::sockopt::socket_peercred(&stream)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        _ if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() => {
            Answer::Refused("only root and the user who mounted may ask".to_owned())
        }
        Ok(Wish::Status) => Answer::Done(serde_json::to_value(Status::of(cache))?),
        Ok(Wish::Set(settings)) => match set(cache, &settings) {
            Ok(()) => Answer::Done(serde_json::to_value(Status::of(cache))?),
            Err(why) => Answer::Refused(why),
        },
        Err(error) => Answer::Refused(format!("the request cannot be understood: {error}")),
    };
    writeln!(stream, "{}", serde_json::to_string(&answer)?)
}

/// Changes what is asked for, all of it or nothing.
fn set(cache: &Cache, settings: &[(String, String)]) -> Result<(), String> {
    let (mut policy, mut memory) = (None, None);
    for (key, value) in settings {
        match (key.as_str(), key.split_once('.')) {
            ("policy", _) => policy = Some(PolicySpec::parse(value).map_err(|error| error.render(value))?),
            ("memory", _) => memory = Some(parse_bytes(value)?),
            (_, Some((scheme, parameter))) => {
                let now = policy.take().unwrap_or_else(|| cache.policy());
                policy = Some(with_parameter(now, scheme, parameter, value)?);
            }
            _ => return Err(format!("unknown setting {key:?}: known are policy, memory and SCHEME.PARAMETER")),
        }
    }
    cache.reconfigure(memory, policy).map_err(|error| error.to_string())
}

/// The scheme with another value of a parameter, or another promise to an application.
fn with_parameter(policy: PolicySpec, scheme: &str, parameter: &str, value: &str) -> Result<PolicySpec, String> {
    let Info { name, aliases, params, .. } = policy.info();
    if scheme != *name && aliases.iter().all(|alias| *alias != scheme) {
        return Err(format!(
            "{scheme}.{parameter} is no setting of {policy}: expected {name}.PARAMETER, or another policy=SPEC first"
        ));
    }
    let is_promise =
        params.iter().all(|param| param.key != parameter) && params.iter().any(|param| param.kind == ParamKind::Goals);
    let (key, value) = match (is_promise, value.parse::<f64>()) {
        // A hit rate as a share: 0.8 is 80%.
        (true, Ok(share)) if (0.0..=1.0).contains(&share) => {
            (App::spelt(parameter), format!("{}%", (share * 1e8).round() / 1e6))
        }
        (true, _) => (App::spelt(parameter), value.to_owned()),
        (false, _) => (parameter.to_owned(), value.to_owned()),
    };
    policy.with(&format!("{key}={value}")).map_err(|error| error.to_string())
}

/// Serves `/metrics` for Prometheus and `/status` in JSON at this address as long as the process lives.
pub(crate) fn listen(address: net::SocketAddr, cache: Arc<Cache>) -> Result<(), Failure> {
    let server = Server::http(address)
        .map_err(|error| Failure::Work(format!("--listen: cannot listen at {address}: {error}")))?;
    thread::spawn(move || {
        for request in server.incoming_requests() {
            let (status, kind, body) = page(request.url(), &cache);
            let header = Header::from_bytes("Content-Type", kind).expect("a header of letters");
            // A client that goes away misses its answer.
            let _ = request.respond(Response::from_string(body).with_status_code(status).with_header(header));
        }
    });
    Ok(())
}

fn page(path: &str, cache: &Cache) -> (u16, &'static str, String) {
    let status = Status::of(cache);
    match path {
        "/metrics" => (200, "text/plain; version=0.0.4", metrics::text(&status)),
        "/status" => {
            let value = serde_json::to_value(&status).unwrap_or(Value::Null);
            (200, "application/json", format!("{value}\n"))
        }
        _ => (404, "text/plain", "there is /metrics and /status\n".to_owned()),
    }
}
