//! From mounted to unmounted.

use std::env;
use std::io::{self, ErrorKind, Write, stderr};
use std::os::unix::net::UnixDatagram;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::{FileCache, Status, Unsaved};
use hotset_mount::{Mounted, Stopper, write_all};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::detached;
use crate::failure::Failure;
use crate::output::{human, note};

/// Files that are reported by name.
const NAMED: usize = 20;

/// Serves until it is unmounted, by a signal or from outside.
pub(super) fn serve(
    mounted: Mounted,
    source: &Path,
    mountpoint: &Path,
    cache: Option<&Arc<FileCache>>,
    is_detached: bool,
    patience: Duration,
) -> Result<(), Failure> {
    let (unmount, stopper) = (mounted.unmounter(), mounted.stopper());
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::Work(format!("cannot wait for signals: {error}")))?;
    let handle = signals.handle();
    let shown = mountpoint.display().to_string();
    let (tell, asked) = channel();
    let waiting = thread::spawn(move || {
        for _ in signals.forever() {
            // Without a listener it ends already.
            let _ = tell.send(());
        }
    });
    thread::spawn(move || stop(&asked, unmount, &stopper, &shown, patience));
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
    let served = served.map_err(|error| Failure::Work(format!("serving {} has failed: {error}", mountpoint.display())));
    let Some(cache) = cache else { return served };
    // All data is saved before anything is printed, since printing may fail.
    let saved = save(cache, patience);
    let Status { total, traffic, tier, .. } = Status::of(cache);
    cache.end_tier();
    let finished = cache.finish();
    served?;
    saved?;
    if !is_detached {
        let below = tier.map_or(String::new(), |tier| format!(", {} in the SSD tier", human::count(tier.hits)));
        // The terminal may be closed.
        let _ = writeln!(
            stderr(),
            "hotset: {} of {} references hit{below}, {} read from the source",
            human::count(total.hits),
            human::count(total.references),
            human::bytes(traffic.bytes_read)
        );
    }
    Ok(finished?)
}

/// Ends the mount when it is asked for: at once if nothing is open there, else with the last close, after `patience`,
/// or when it is asked for again.
fn stop(
    asked: &Receiver<()>,
    unmount: impl Fn() -> io::Result<()>,
    stopper: &Stopper,
    shown: &str,
    patience: Duration,
) {
    if asked.recv().is_err() {
        return;
    }
    stopper.refuse();
    let started = Instant::now();
    let unmounted = unmount();
    if let Err(error) = &unmounted {
        let limit = human::duration(patience.as_secs_f64());
        let hint = if error.kind() == ErrorKind::ResourceBusy { ", files are open there" } else { "" };
        note(format_args!(
            "cannot unmount {shown} yet: {error}{hint}. No more files can be opened; it ends at the last close, after {limit}, or when \
             Ctrl-C is pressed or the signal sent again"
        ));
    }
    loop {
        match asked.recv_timeout(POLL) {
            // It was unmounted.
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) if started.elapsed() < patience => {
                if unmounted.is_err() && stopper.is_idle() {
                    break;
                }
            }
            _ => {
                note(format_args!("{shown} ends while files are open there; they fail from now on"));
                break;
            }
        }
    }
    if let Err(error) = stopper.detach() {
        note(format_args!("{shown} ends, but cannot be detached: {error}"));
    }
}

/// So often it is looked whether anything is open.
const POLL: Duration = Duration::from_millis(20);

/// A panic is reported in words, too.
pub(super) fn explain_panics(source: &Path) {
    let (shown, before) = (source.display().to_string(), panic::take_hook());
    panic::set_hook(Box::new(move |panic| {
        before(panic);
        // The terminal may be closed.
        let _ = writeln!(
            stderr(),
            "hotset: this is a bug in hotset; the current request fails, and if it was a file request, {shown} is served without a cache \
             from now on; mount again to restore the cache, and please report the bug"
        );
    }));
}

/// Tells the manager of services, if one has asked for it.
fn notify_ready() {
    if let (Some(path), Ok(socket)) = (env::var_os("NOTIFY_SOCKET"), UnixDatagram::unbound()) {
        // A service manager that does not listen need not know.
        let _ = socket.send_to(b"READY=1", path);
    }
}

/// Every file that the kernel knows is held by a descriptor.
pub(super) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Fewer files will do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Writes all that waits, for `patience` at most. An error tells what is lost.
fn save(cache: &Arc<FileCache>, patience: Duration) -> Result<(), Failure> {
    let written = write_all(cache, patience);
    let unsaved = cache.unsaved();
    if unsaved.is_empty() {
        return Ok(());
    }
    let why = written.err().map_or_else(String::new, |error| format!(": {error}"));
    let names: Vec<String> = unsaved.iter().take(NAMED).map(name).collect();
    let more = unsaved.len().saturating_sub(NAMED);
    let others = if more > 0 { format!(", and {more} others") } else { String::new() };
    Err(Failure::Work(format!("delayed writes could not be saved and are lost{why}; {}{others}", names.join(", "))))
}

fn name(Unsaved { path, bytes }: &Unsaved) -> String {
    format!("{} of {path}", human::bytes(*bytes))
}
