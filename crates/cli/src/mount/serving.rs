//! From mounted to unmounted.

use std::env;
use std::io::{ErrorKind, Write, stderr};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::thread;

use hotset_live::fs::Mounted;
use hotset_live::{Cache, Status};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::detached;
use crate::failure::Failure;
use crate::output::human;

/// Serves until it is unmounted, by a signal or from outside.
pub(super) fn serve(
    mounted: Mounted,
    source: &Path,
    mountpoint: &Path,
    cache: Option<&Cache>,
    is_detached: bool,
) -> Result<(), Failure> {
    let unmount = mounted.unmounter();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::Work(format!("cannot wait for signals: {error}")))?;
    let handle = signals.handle();
    let shown = mountpoint.display().to_string();
    let waiting = thread::spawn(move || {
        for _ in signals.forever() {
            if let Err(error) = unmount() {
                let hint = if error.kind() == ErrorKind::ResourceBusy {
                    ": press Ctrl-C again, or send the signal again, once nothing is open there"
                } else {
                    ""
                };
                eprintln!("hotset: cannot unmount {shown}: {error}{hint}");
            }
        }
    });
    if is_detached {
        detached::leave()?;
    } else {
        let (from, to) = (source.display(), mountpoint.display());
        writeln!(stderr(), "hotset: {from} is served at {to}; Ctrl-C unmounts it")?;
    }
    notify_ready();
    let served = mounted.serve();
    handle.close();
    // It has nothing more to do.
    let _ = waiting.join();
    served.map_err(|error| Failure::Work(format!("serving {} has failed: {error}", mountpoint.display())))?;
    let Some(cache) = cache else { return Ok(()) };
    let Status { total, traffic, .. } = Status::of(cache);
    if !is_detached {
        writeln!(
            stderr(),
            "hotset: {} of {} references hit, {} read from the source",
            human::count(total.hits),
            human::count(total.references),
            human::bytes(traffic.bytes_read)
        )?;
    }
    Ok(cache.finish()?)
}

/// Tells the manager of services, if one has asked for it.
fn notify_ready() {
    if let (Some(path), Ok(socket)) = (env::var_os("NOTIFY_SOCKET"), UnixDatagram::unbound()) {
        // Whoever does not listen need not know.
        let _ = socket.send_to(b"READY=1", path);
    }
}

/// Every file that the kernel knows is held by a descriptor.
pub(super) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Fewer files will do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
