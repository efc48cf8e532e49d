//! Reading what a policy wants, at the expense of the control group whose memory it is.
//!
//! The kernel charges a page to the group of the process that reads it, and only whole processes are in a group of
//! memory: version 1 goes by the owner of the memory, version 2 has no threads apart. So a small process of our own
//! goes into the group while there is something to fetch, and ends when there was nothing for a second: it never keeps
//! the group from being removed for longer. It ends with this process, however that ends, since its input does.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use hotset_feed::FileId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::kernel::actuate::{Actuator, Advice};

/// So long the process waits for something to fetch.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Bytes of a request; the kernel writes so many into a pipe at once or not at all.
const LONGEST: usize = 4096;
/// Bytes of a request in front of the path: file, pages, and how long the path is.
const HEAD: usize = 40;

/// The process, and how it is started.
#[derive(Debug)]
pub(crate) struct Fetcher {
    command: Vec<OsString>,
    group: PathBuf,
    running: Option<(Child, ChildStdin)>,
}

impl Fetcher {
    /// One that starts `command`, which is to call [`serve_fetches`], in the control group.
    pub fn new(command: Vec<OsString>, group: &Path) -> Fetcher {
        Fetcher { command, group: group.to_owned(), running: None }
    }

    /// Sends a request to read pages of the file at `path`. A request that does not fit in the pipe now is dropped.
    pub fn fetch(&mut self, file: FileId, path: &Path, pages: &Range<u64>) -> io::Result<()> {
        let path = path.as_os_str().as_bytes();
        let numbers = [file.device, file.inode, pages.start, pages.end, path.len() as u64];
        let mut request: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        request.extend(path);
        if request.len() > LONGEST {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        if let Some((_, input)) = &mut self.running {
            match input.write(&request) {
                // It has ended since it had nothing to do.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.end(),
                written => return written.map(|_| ()),
            }
        }
        let (_, input) = self.running.insert(start(&self.command, &self.group)?);
        input.write(&request).map(|_| ())
    }

    fn end(&mut self) {
        if let Some((mut child, input)) = self.running.take() {
            drop(input);
            // It may already have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.end();
    }
}

fn start(command: &[OsString], group: &Path) -> io::Result<(Child, ChildStdin)> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let silent = || Stdio::null();
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(silent()).stderr(silent()).spawn()?;
    let entered = fs::write(group.join("cgroup.procs"), child.id().to_string());
    let input = entered.and_then(|()| {
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        // The steering process never waits for it.
        rustix::fs::fcntl_setfl(&input, OFlags::NONBLOCK)?;
        Ok(input)
    });
    match input {
        Ok(input) => Ok((child, input)),
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// The other side: reads the pages that standard input requests, until it ends or requests nothing.
///
/// # Errors
///
/// The input cannot be read, or is not from a steering process.
pub fn serve_fetches() -> io::Result<()> {
    // Nothing is read ahead of what is waited for.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut advice = Advice::default();
    loop {
        let is_asked = poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&PATIENCE))?;
        if is_asked == 0 {
            return Ok(());
        }
        // A request is written at once: what there is are whole ones.
        let mut bytes = [0; LONGEST];
        match input.read_exact(&mut bytes[..HEAD]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let number = |at: usize| {
            let word = bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes");
            u64::from_ne_bytes(word)
        };
        let (device, inode, first, end, length) = (number(0), number(1), number(2), number(3), number(4) as usize);
        if length > LONGEST - HEAD || first >= end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        input.read_exact(&mut bytes[..length])?;
        let file = FileId { device, inode };
        advice.know(file, PathBuf::from(OsStr::from_bytes(&bytes[..length])));
        // A file that is gone needs not be read.
        let _ = advice.fetch(file, first..end);
        advice.forget(file);
    }
}
