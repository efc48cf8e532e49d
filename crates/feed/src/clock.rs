//! The clock of the events, `CLOCK_MONOTONIC` in nanoseconds, and waiting by it.

use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::{Error, Result};

/// Now, in nanoseconds of the clock that events have their times of (`CLOCK_MONOTONIC`).
pub fn now() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

/// Sleeps until then.
pub fn sleep_until(then: u64) {
    thread::sleep(Duration::from_nanos(then.saturating_sub(now())));
}

/// Waits until there is something to read, at most until `deadline`. A signal ends it early.
pub fn wait(fd: BorrowedFd, deadline: u64) -> Result<()> {
    let left = Duration::from_nanos(deadline.saturating_sub(now()));
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&left)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Error::Io { what: "wait for events".to_owned(), error: io::Error::from(error) }),
    }
}
