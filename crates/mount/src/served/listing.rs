//! Listing a directory: in the source's order and by the source's positions, so that a program may go back to any
//! position that it received. Only the result of one call of the source is stored.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, RawDir, SeekFrom};

/// Bytes of entries that the source is asked for at once.
const BUFFER: usize = 32 << 10;

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    pub descriptor: OwnedFd,
    ahead: Mutex<Ahead>,
}

/// Entries read from the source and not yet returned.
#[derive(Debug, Default)]
struct Ahead {
    /// The place of the first of them; where there are none, of what comes next.
    place: u64,
    entries: VecDeque<Listed>,
}

/// An entry of a directory.
#[derive(Debug)]
pub(crate) struct Listed {
    pub inode: u64,
    pub kind: FileType,
    pub name: OsString,
    /// The place of the entry behind it.
    pub next: u64,
}

impl OpenDirectory {
    pub fn new(descriptor: OwnedFd) -> OpenDirectory {
        OpenDirectory { descriptor, ahead: Mutex::default() }
    }

    /// Shows `take` the entries from `place` on, until it takes one no more or there are no more. 0 is the beginning,
    /// from where all is read anew; other places are those of entries. An error behind entries that were taken is
    /// that of the next call.
    pub fn list(&self, place: u64, mut take: impl FnMut(&Listed) -> bool) -> io::Result<()> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if place == 0 || place != ahead.place {
            rustix::fs::seek(&self.descriptor, SeekFrom::Start(place))?;
            *ahead = Ahead { place, entries: VecDeque::new() };
        }
        let mut taken = false;
        loop {
            while let Some(listed) = ahead.entries.pop_front() {
                if !take(&listed) {
                    ahead.entries.push_front(listed);
                    return Ok(());
                }
                (ahead.place, taken) = (listed.next, true);
            }
            match read(&self.descriptor) {
                Ok(entries) if entries.is_empty() => return Ok(()),
                Ok(entries) => ahead.entries = entries,
                Err(_) if taken => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// The next entries; none at the end.
fn read(descriptor: &OwnedFd) -> io::Result<VecDeque<Listed>> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut directory = RawDir::new(descriptor, buffer.spare_capacity_mut());
    let mut entries = VecDeque::new();
    while let Some(entry) = directory.next() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let (inode, kind, next) = (entry.ino(), entry.file_type(), entry.next_entry_cookie());
        entries.push_back(Listed { inode, kind, name, next });
        if directory.is_buffer_empty() {
            break;
        }
    }
    Ok(entries)
}
