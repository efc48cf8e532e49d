//! The messages of a mount of which the kernel keeps the pages that a policy says.

use std::io::{Write, stderr};
use std::path::Path;

use hotset_core::classify::Rules;
use hotset_core::policy::PolicySpec;
use hotset_mount::{AppBy, Mounted, device_at};
use hotset_serve::control::Listening;
use hotset_serve::steering::{PrepareError, Prepared, Shown, Steering};

use crate::command::steer::{feed, words};
use crate::failure::Failure;
use crate::options::control::{serve_mount, serve_status};

/// Finds out whether a mount at `mountpoint` can be steered, as [`Prepared::new`] does.
pub(super) fn prepare(
    policy: &PolicySpec,
    memory: u64,
    block: u64,
    mountpoint: &Path,
    rules: Option<Rules>,
    by: AppBy,
) -> Result<Prepared, Failure> {
    let open = || feed(policy, block, false);
    Prepared::new(policy, memory, block, mountpoint, rules, by, open).map_err(|error| match error {
        PrepareError::Settings(error) => Failure::from(error),
        PrepareError::NoFeed(why) => Failure::Work(format!(
            "--mode steered needs reports of reads from the kernel, but {why}; --mode strict does not need them"
        )),
    })
}

/// Begins to decide about a mount of `source`, which need not answer yet.
pub(super) fn start(
    prepared: Prepared,
    mounted: &Mounted,
    mountpoint: &Path,
    source: &Path,
    listening: Option<Listening>,
) -> Result<Steering, Failure> {
    let device = device_at(mountpoint)
        .map_err(|error| Failure::Work(format!("cannot look at {}: {error}", mountpoint.display())))?;
    let mut shown = Shown::new(prepared.session(mounted, device, source)?, "unmount and mount anew");
    serve_mount(Ok(device), shown.subject()).into_iter().for_each(|place| shown.keep(place));
    listening.map_or(Ok(()), |listening| serve_status(listening, shown.subject()))?;
    Ok(Steering::start(shown, |error| {
        // The terminal may be closed.
        let _ = writeln!(stderr(), "hotset: {error}; the mount continues without steering");
    }))
}

/// Ends steering, and prints a summary if the terminal is open.
pub(super) fn finish(steering: Steering, is_silent: bool) -> Result<(), Failure> {
    let report = steering.finish().filter(|_| !is_silent);
    for line in report.iter().flat_map(words::lines) {
        writeln!(stderr(), "hotset: {line}")?;
    }
    Ok(())
}
