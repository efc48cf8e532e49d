//! The side of the mount: answers over the socket.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::{FileCache, Status};
use hotset_core::policy::{App, Info, ParamKind, PolicySpec};
use hotset_core::spec::Value as Size;
use hotset_mount::device_at;
use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use super::{Answer, ONLY_OWNER, Wish};

/// Clients at once.
const MOST_CLIENTS: usize = 16;

/// Bytes of a request.
const LONGEST: usize = 64 << 10;

/// How long a request may take to come, and a client to take a piece of the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The wait when the system has no descriptor for one more client.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers clients of `hotset ctl` and `hotset top` as long as the process lives; they find it as long as what is
/// returned does. Without a place to listen at the mount serves all the same.
pub(crate) fn serve(mountpoint: &Path, cache: Arc<FileCache>) -> Option<impl Drop> {
    let taken = device_at(mountpoint).and_then(Place::take).and_then(|(place, listener)| {
        thread::Builder::new().name("control".to_owned()).spawn(move || accept(&listener, &cache))?;
        Ok(place)
    });
    let explain = |error| {
        let shown = mountpoint.display();
        eprintln!("hotset: {shown} is served, but `hotset ctl` and `hotset top` cannot reach it: {error}");
    };
    taken.map_err(explain).ok()
}

/// Gives each client a thread. Who may not ask is told so and read nothing of.
fn accept(listener: &UnixListener, cache: &Arc<FileCache>) {
    let clients = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        let place = clients.clone();
        let refused = match rustix::net::sockopt::socket_peercred(&stream) {
            Ok(peer) if peer.uid.is_root() || peer.uid == rustix::process::geteuid() => {
                (Arc::strong_count(&place) > MOST_CLIENTS + 1).then_some("too many ask at once: try again")
            }
            _ => Some(ONLY_OWNER),
        };
        if let Some(why) = refused {
            let _ = answer(&stream, &Answer::Refused(why.to_owned()));
            continue;
        }
        let cache = cache.clone();
        // Without a thread, or once it has gone away, a client misses its answer.
        let _ = thread::Builder::new().name("client".to_owned()).spawn(move || {
            let _ = answer(&stream, &converse(&stream, &cache));
            drop(place);
        });
    }
}

fn answer(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{}\n", serde_json::to_string(answer)?).as_bytes())
}

fn converse(stream: &UnixStream, cache: &FileCache) -> Answer {
    let line = match request(stream) {
        Ok(line) => line,
        Err(error) => return Answer::Refused(format!("no request has come: {error}")),
    };
    let done = match serde_json::from_slice(&line) {
        Ok(Wish::Status) => told(&Status::of(cache)),
        Ok(Wish::Explain) => told(&cache.explain()),
        Ok(Wish::Set(settings)) => set(cache, &settings).and_then(|()| told(&Status::of(cache))),
        Err(error) => Err(format!("the request cannot be understood: {error}")),
    };
    match done {
        Ok(status) => Answer::Done(status),
        Err(why) => Answer::Refused(why),
    }
}

fn told(what: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(what).map_err(|error| error.to_string())
}

/// One line, limited in length and time.
fn request(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let since = Instant::now();
    let (mut line, mut piece) = (Vec::new(), [0; 4096]);
    while !line.ends_with(b"\n") {
        let left = PATIENCE.checked_sub(since.elapsed()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        let length = stream.read(&mut piece)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.extend_from_slice(&piece[..length]);
        if line.len() > LONGEST {
            return Err(io::Error::other(format!("expected a line of {} bytes at most", LONGEST)));
        }
    }
    Ok(line)
}

/// Changes what is asked for, all of it or nothing.
fn set(cache: &FileCache, settings: &[(String, String)]) -> Result<(), String> {
    let (mut policy, mut memory) = (None, None);
    for (key, value) in settings {
        match (key.as_str(), key.split_once('.')) {
            ("policy", _) => policy = Some(PolicySpec::parse(value).map_err(|error| error.render(value))?),
            ("memory", _) => memory = Some(Size::bytes(value)?),
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
