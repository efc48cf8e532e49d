//! The FIFO that the log comes through.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    thread,
    time::Duration,
};

use rustix::{
    fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, mkfifoat},
    pipe::fcntl_setpipe_size,
};
use tempfile::TempDir;

use super::RecordError;

/// So much of the log may wait while the recorder is busy; more of it would stop the program.
const WAITING_BYTES: usize = 1 << 20;

/// A read of less than this is followed by a pause.
const WORTH_WAKING: usize = 64 * 1024;

/// How long the log is left to grow.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads the log in large pieces. strace writes line by line and would wake a waiting reader for each of them, which
/// costs the program more time than the tracing; one that sleeps is not woken.
pub(crate) struct Unhurried {
    log: File,
    pause: bool,
}

impl Unhurried {
    /// Reads from `log`.
    pub(crate) fn new(log: File) -> Unhurried {
        Unhurried { log, pause: false }
    }
}

impl Read for Unhurried {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.pause {
            thread::sleep(PAUSE);
        }
        let count = self.log.read(buffer)?;
        self.pause = count < WORTH_WAKING;
        Ok(count)
    }
}

/// A FIFO with both ends open, so that neither side ever waits for the other to open it.
pub(crate) struct Channel {
    /// The end that is read.
    pub log: File,
    /// The other end; the log does not end before this is closed.
    pub hold: File,
    /// The directory that holds the FIFO; dropping it removes both.
    pub directory: TempDir,
}

impl Channel {
    /// Makes the FIFO.
    pub(crate) fn open() -> Result<Channel, RecordError> {
        Channel::make().map_err(|source| RecordError::System { doing: "cannot make a FIFO for the log", source })
    }

    /// Where the FIFO is.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn make() -> io::Result<Channel> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("log");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        // Opening to read would wait for a writer, unless asked not to.
        let nonblocking = OFlags::NONBLOCK.bits() as i32;
        let log = OpenOptions::new().read(true).custom_flags(nonblocking).open(&path)?;
        let hold = OpenOptions::new().write(true).open(&path)?;
        fcntl_setfl(&log, fcntl_getfl(&log)? - OFlags::NONBLOCK)?;
        // A system may allow less; then the program waits a little more often.
        fcntl_setpipe_size(&log, WAITING_BYTES).ok();
        Ok(Channel { log, hold, directory })
    }
}
