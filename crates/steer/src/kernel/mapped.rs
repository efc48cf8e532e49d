//! Processes that have mapped steered files, what of them they have in their memory, and how it is paged out.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use hotset_feed::FileId;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::kernel::PAGE;

/// The maximum age of a list of mappings.
const FRESH: Duration = Duration::from_secs(1);
/// Processes of a file that are remembered; the pages of what more have mapped stay the kernel's anyway.
const MOST: usize = 16;

/// Which processes have mapped which files.
#[derive(Debug, Default)]
pub(crate) struct Mappers {
    processes: HashMap<FileId, Vec<u32>>,
    mappings: HashMap<u32, Mappings>,
}

/// The mappings of a process.
#[derive(Debug)]
struct Mappings {
    read: Instant,
    process: OwnedFd,
    /// What of its memory is there, a word for each page.
    pagemap: Option<File>,
    all: Vec<Mapping>,
}

/// A stretch of a file in a process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    file: FileId,
    pages: Range<u64>,
    address: u64,
}

impl Mappers {
    /// The process has mapped the file.
    pub fn note(&mut self, file: FileId, process: u32) {
        let known = self.processes.entry(file).or_default();
        if process != 0 && !known.contains(&process) {
            known.truncate(MOST - 1);
            known.insert(0, process);
        }
    }

    /// The file is gone.
    pub fn forget(&mut self, file: FileId) {
        self.processes.remove(&file);
    }

    /// True if one of them has this page of the file in its memory now.
    pub fn have(&mut self, file: FileId, page: u64) -> bool {
        let Mappers { processes, mappings } = self;
        processes.get(&file).into_iter().flatten().any(|&process| {
            fresh(mappings, process).is_ok_and(|found| {
                let mut places = found.all.iter().filter(|it| it.file == file && it.pages.contains(&page));
                places.any(|it| is_present(found.pagemap.as_ref(), it.address / PAGE + page - it.pages.start))
            })
        })
    }

    /// Pages a range of a file out of every process that has mapped it. Pages that cannot be paged out stay.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` of one of them.
    pub fn page_out(&mut self, file: FileId, pages: &Range<u64>) -> io::Result<()> {
        let Mappers { processes, mappings } = self;
        let mut done = Ok(());
        let Some(known) = processes.get_mut(&file) else { return done };
        known.retain(|&process| {
            let Ok(found) = fresh(mappings, process) else {
                mappings.remove(&process);
                return false;
            };
            let of_file: Vec<&Mapping> = found.all.iter().filter(|mapping| mapping.file == file).collect();
            for mapping in &of_file {
                let (from, to) = (pages.start.max(mapping.pages.start), pages.end.min(mapping.pages.end));
                if from < to {
                    let address = mapping.address + (from - mapping.pages.start) * PAGE;
                    let paged_out = page_out(&found.process, address, (to - from) * PAGE);
                    if let Err(error) = paged_out
                        && error.kind() == io::ErrorKind::PermissionDenied
                    {
                        done = Err(error);
                    }
                }
            }
            !of_file.is_empty()
        });
        done
    }
}

/// The mappings of a process, read again if they are old.
fn fresh(mappings: &mut HashMap<u32, Mappings>, process: u32) -> io::Result<&Mappings> {
    let is_fresh = mappings.get(&process).is_some_and(|known| known.read.elapsed() < FRESH);
    if !is_fresh {
        // Processes come and go; the descriptors of those that are gone do.
        mappings.retain(|_, known| known.read.elapsed() < FRESH);
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        let text = fs::read_to_string(format!("/proc/{process}/maps"))?;
        let all = text.lines().filter_map(parse).collect();
        let pagemap = File::open(format!("/proc/{process}/pagemap")).ok();
        mappings.insert(process, Mappings { read: Instant::now(), process: descriptor, pagemap, all });
    }
    mappings.get(&process).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// True if the page with this number is in a process's memory, as its page map says in the highest bit of a word.
fn is_present(pagemap: Option<&File>, number: u64) -> bool {
    let mut word = [0; 8];
    let read = pagemap.is_some_and(|pagemap| pagemap.read_exact_at(&mut word, number * 8).is_ok());
    read && u64::from_ne_bytes(word) >> 63 == 1
}

/// A line of `/proc/PID/maps` that maps a file: `7f00-7f10 r--s 00001000 fe:00 1234 /path`.
fn parse(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let (_, offset, device, inode) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (major, minor) = device.split_once(':')?;
    let inode = inode.parse().ok().filter(|&inode| inode != 0)?;
    let (from, to, first) = (hex(from)?, hex(to)?, hex(offset)? / PAGE);
    let st_dev = rustix::fs::makedev(hex(major)? as u32, hex(minor)? as u32);
    Some(Mapping { file: FileId::from_stat(st_dev, inode), pages: first..first + (to - from) / PAGE, address: from })
}

/// Pages a stretch of another process's memory out.
fn page_out(process: &OwnedFd, address: u64, bytes: u64) -> io::Result<()> {
    let stretch = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes as usize };
    // SAFETY: the call reads only the given range; the memory that it names is another process's, whose pages come back
    // from their file when they are touched. Pages that it refuses stay in memory, and are found there later.
    let done = unsafe {
        libc::syscall(libc::SYS_process_madvise, process.as_raw_fd(), &raw const stretch, 1, libc::MADV_PAGEOUT, 0)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_files_are_found_in_the_kernels_words() {
        let line = "7f5c4a000000-7f5c4a010000 r--s 00002000 fe:00 1234                       /srv/a file";
        let file = FileId::from_stat(rustix::fs::makedev(0xfe, 0), 1234);
        assert_eq!(parse(line), Some(Mapping { file, pages: 2..18, address: 0x7f5c_4a00_0000 }));
        assert_eq!(parse("7ffd0000-7ffd2000 rw-p 00000000 00:00 0                          [stack]"), None);
    }
}
