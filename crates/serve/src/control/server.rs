//! The answering side of the socket.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::place::Socket;
use super::{Answer, ONLY_OWNER, Subject, Wish};

/// Clients at once.
const MOST_CLIENTS: usize = 16;

/// Bytes of a request.
const LONGEST: usize = 64 << 10;

/// How long a request may take to come, and a client to take a piece of the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The wait when the system has no descriptor for one more client.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers clients of `hotset ctl` and `hotset top` as long as the process lives; they find it under this name as long
/// as what is returned does.
pub(super) fn serve(name: String, subject: Arc<dyn Subject>) -> io::Result<Socket> {
    let (place, listener) = Socket::take(name)?;
    thread::Builder::new().name("control".to_owned()).spawn(move || accept(&listener, &subject))?;
    Ok(place)
}

/// Gives each client a thread. A client without permission gets a refusal, and its request is not read.
fn accept(listener: &UnixListener, subject: &Arc<dyn Subject>) {
    let clients = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        let place = clients.clone();
        let refused = match rustix::net::sockopt::socket_peercred(&stream) {
            Ok(peer) if peer.uid.is_root() || peer.uid == rustix::process::geteuid() => {
                (Arc::strong_count(&place) > MOST_CLIENTS + 1).then_some("too many clients; try again")
            }
            _ => Some(ONLY_OWNER),
        };
        if let Some(why) = refused {
            let _ = answer(&stream, &Answer::Refused(why.to_owned()));
            continue;
        }
        let subject = subject.clone();
        // Without a thread, or once it has gone away, a client misses its answer.
        let _ = thread::Builder::new().name("client".to_owned()).spawn(move || {
            let _ = answer(&stream, &converse(&stream, subject.as_ref()));
            drop(place);
        });
    }
}

fn answer(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{}\n", serde_json::to_string(answer)?).as_bytes())
}

fn converse(stream: &UnixStream, subject: &dyn Subject) -> Answer {
    let line = match request(stream) {
        Ok(line) => line,
        Err(error) => return Answer::Refused(format!("no request received: {error}")),
    };
    let done = match serde_json::from_slice(&line) {
        Ok(Wish::Status) => subject.status(),
        Ok(Wish::Explain) => subject.explain(),
        Ok(Wish::Expect(list)) => subject.expect(list.as_deref()).and_then(|expected| super::told(&expected)),
        Ok(Wish::Set(settings)) => subject.set(&settings).and_then(|changed| super::told(&changed)),
        Err(error) => Err(format!("malformed request: {error}")),
    };
    match done {
        Ok(status) => Answer::Done(status),
        Err(why) => Answer::Refused(why),
    }
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
