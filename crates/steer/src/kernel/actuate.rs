//! What makes the kernel drop pages and read them: `posix_fadvise` on descriptors of our own, and for pages that
//! processes have mapped `process_madvise(MADV_PAGEOUT)` on each mapping first, since `posix_fadvise` leaves mapped
//! pages alone.
//!
//! No descriptor stays open: one that does keeps a deleted file's room, and its file system from being unmounted. The
//! kernel does not page out what two processes have mapped; such pages stay its own.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hotset_feed::FileId;
use rustix::fs::{Advice as Advise, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::kernel::PAGE;
use crate::kernel::fetcher::Fetcher;
use crate::kernel::mapped::Mappers;

/// Acts on the page cache.
pub trait Actuator {
    /// Asks for pages of a file to leave, in whole folios.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or is another one by now; a process that has mapped it may not be acted on.
    fn drop(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()>;

    /// Asks for pages to be read.
    ///
    /// # Errors
    ///
    /// As of [`drop`](Actuator::drop).
    fn fetch(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()>;

    /// A process has mapped the file.
    fn is_mapped(&mut self, _file: FileId, _process: u32) {}

    /// True if a process that has mapped the file has this page in its memory now.
    fn has_mapped(&mut self, _file: FileId, _page: u64) -> bool {
        false
    }
}

/// Acts on the kernel's page cache.
#[derive(Debug, Default)]
pub struct Advice {
    paths: HashMap<FileId, PathBuf>,
    /// The file that was used last, open until [`close`](Advice::close).
    open: Option<(FileId, File)>,
    mappers: Mappers,
    /// Who fetches at the expense of the control group.
    fetcher: Option<Fetcher>,
}

impl Advice {
    /// Prefetches by a process in a control group that `command` starts (see [`serve_fetches`](crate::serve_fetches)).
    pub fn fetching_in(group: &Path, command: Vec<OsString>) -> Advice {
        Advice { fetcher: Some(Fetcher::new(command, group)), ..Advice::default() }
    }

    /// Where a file is to be found.
    pub fn know(&mut self, file: FileId, path: PathBuf) {
        self.paths.insert(file, path);
    }

    /// The file is gone.
    pub fn forget(&mut self, file: FileId) {
        self.close();
        self.paths.remove(&file);
        self.mappers.forget(file);
    }

    /// Closes the open files. Call it when there is nothing to do for now.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The pages of a file that are resident now, of its first [`MOST`] bytes of data. Pages of holes are left out: it
    /// costs nothing to have them again.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or mapped, or is another one by now; `PermissionDenied` if it is another user's, of
    /// whose files the kernel calls every page resident.
    pub fn resident(&mut self, file: FileId) -> io::Result<Vec<Range<u64>>> {
        let opened = self.opened(file)?;
        may_be_asked(opened)?;
        resident(opened)
    }

    fn opened(&mut self, file: FileId) -> io::Result<&File> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            let path = self.paths.get(&file).ok_or(io::ErrorKind::NotFound)?;
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let opened = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
            if FileId::of(&opened)? != file {
                return Err(io::Error::new(io::ErrorKind::NotFound, "another file has taken its name"));
            }
            self.open = Some((file, opened));
        }
        self.open.as_ref().map(|(_, opened)| opened).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn advise(&mut self, file: FileId, pages: &Range<u64>, advice: Advise) -> io::Result<()> {
        let length = NonZeroU64::new((pages.end - pages.start) * PAGE);
        Ok(rustix::fs::fadvise(self.opened(file)?, pages.start * PAGE, length, advice)?)
    }
}

impl Actuator for Advice {
    fn drop(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        // A mapped page must be paged out before it can be dropped; an unmapped one can be dropped even if paging out
        // is not permitted.
        let paged_out = self.mappers.page_out(file, &pages);
        self.advise(file, &pages, Advise::DontNeed).and(paged_out)
    }

    fn fetch(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        match (&mut self.fetcher, self.paths.get(&file)) {
            (Some(fetcher), Some(path)) => fetcher.fetch(file, path, &pages),
            _ => self.advise(file, &pages, Advise::WillNeed),
        }
    }

    fn is_mapped(&mut self, file: FileId, process: u32) {
        self.mappers.note(file, process);
    }

    fn has_mapped(&mut self, file: FileId, page: u64) -> bool {
        self.mappers.have(file, page)
    }
}

/// Finds out whether the kernel tells the truth about this file's pages: to its owner, or with CAP_FOWNER, which is
/// also what this flag needs.
fn may_be_asked(file: &File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    Ok(rustix::fs::fcntl_setfl(file, flags | OFlags::NOATIME)?)
}

/// The most bytes of data of a file that are examined: any user can create a long file, and few of them fit in memory.
const MOST: u64 = 256 << 30;

/// So much of a file is looked at at once.
const WINDOW: u64 = 1 << 30;

/// Counts the bytes of an open file that are in the page cache.
///
/// # Errors
///
/// The file cannot be mapped.
pub fn resident_bytes(file: &File) -> io::Result<u64> {
    Ok(resident(file)?.iter().map(|range| (range.end - range.start) * PAGE).sum())
}

/// The resident pages of an open file, in order.
pub(crate) fn resident(file: &File) -> io::Result<Vec<Range<u64>>> {
    let bytes = file.metadata()?.len();
    let (mut found, mut at, mut left) = (Vec::new(), 0, MOST);
    while let Some(data) = next_data(file, at)?.filter(|data| *data < bytes && left > 0) {
        let from = data / PAGE * PAGE;
        let length = WINDOW.min(bytes - from).min(left);
        add_resident(file, from..from + length, &mut found)?;
        (at, left) = (from + length, left - length);
    }
    Ok(found)
}

/// Where the next data of a file lie, from a place on; none if there is only a hole.
fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(data) => Ok(Some(data)),
        Err(Errno::NXIO) => Ok(None),
        // A file system that does not know of holes has none.
        Err(Errno::INVAL) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

/// Adds the resident pages of a part of a file that begins with a page.
fn add_resident(file: &File, part: Range<u64>, found: &mut Vec<Range<u64>>) -> io::Result<()> {
    let length = (part.end - part.start) as usize;
    // SAFETY: nothing is read through the mapping, so it does not matter what becomes of the file meanwhile.
    let map = unsafe { memmap2::MmapOptions::new().offset(part.start).len(length).map(file)? };
    let mut pages = vec![0u8; length.div_ceil(PAGE as usize)];
    // SAFETY: the mapping covers the part, and `pages` has a byte for each page of it, which the call writes.
    if unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), pages.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let resident = (part.start / PAGE..).zip(&pages).filter(|(_, page)| **page & 1 == 1).map(|(page, _)| page);
    for page in resident {
        match found.last_mut().filter(|last| last.end == page) {
            Some(last) => last.end += 1,
            None => found.push(page..page + 1),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// The file system of the test may keep no pages (tmpfs keeps all): then there is nothing to see.
    #[test]
    fn pages_of_a_file_come_and_go_and_no_descriptor_stays() {
        let mut file = tempfile::Builder::new().tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        let id = FileId::of(file.as_file()).unwrap();
        let mut advice = Advice::default();
        advice.know(id, file.path().to_owned());
        File::open(file.path()).unwrap().read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(advice.resident(id).unwrap().pop(), Some(0..256));
        assert_eq!(resident_bytes(file.as_file()).unwrap(), 1 << 20);
        advice.drop(id, 0..128).unwrap();
        let left: u64 = advice.resident(id).unwrap().iter().map(|range| range.end - range.start).sum();
        if left == 256 {
            println!("NOT RUN: this file system keeps what it is told to drop");
            return;
        }
        assert_eq!(advice.resident(id).unwrap().pop(), Some(128..256));
        advice.close();
        let opened = std::fs::read_dir("/proc/self/fd").unwrap();
        let ours = opened.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok()).filter(|to| to == file.path());
        assert_eq!(ours.count(), 1, "the test's own");
    }

    #[test]
    fn a_file_that_was_replaced_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let id = FileId::of(&File::open(&path).unwrap()).unwrap();
        let mut advice = Advice::default();
        advice.know(id, path.clone());
        std::fs::write(folder.path().join("other"), "two").unwrap();
        std::fs::rename(folder.path().join("other"), &path).unwrap();
        assert_eq!(advice.drop(id, 0..1).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(advice.drop(id, 0..1).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_of_holes_takes_no_longer_than_its_data() {
        let mut file = tempfile::Builder::new().tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&[1; 4096]).unwrap();
        file.as_file().set_len(4 << 40).unwrap();
        std::os::unix::fs::FileExt::write_all_at(file.as_file(), &[1; 8192], 3 << 40).unwrap();
        file.as_file().sync_all().unwrap();
        let started = std::time::Instant::now();
        let found = resident(file.as_file()).unwrap();
        let page = (3 << 40) / PAGE;
        assert_eq!((found.first(), found.last()), (Some(&(0..1)), Some(&(page..page + 2))));
        // A byte for each page of its length would be a gigabyte.
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}
