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
use rustix::fs::{Advice as Advise, OFlags};

use crate::fetcher::Fetcher;
use crate::mapped::Mappers;
use crate::steering::PAGE;

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
    /// What is fetched is fetched by a process in a control group that `command` starts (see
    /// [`serve_fetches`](crate::serve_fetches)).
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

    /// Lets go of what is open. To be called when there is nothing to do for now.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// The pages of a file that are resident now, and all its bytes.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or mapped, or is another one by now; `PermissionDenied` if it is another user's, of
    /// whose files the kernel calls every page resident.
    pub fn resident(&mut self, file: FileId) -> io::Result<Vec<Range<u64>>> {
        let opened = self.opened(file)?;
        let bytes = opened.metadata()?.len();
        may_be_asked(opened)?;
        resident(opened, bytes)
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
        // What is paged out cannot be dropped before, and what is not mapped can be though nothing may be paged out.
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

/// The resident pages of an open file of so many bytes.
fn resident(file: &File, bytes: u64) -> io::Result<Vec<Range<u64>>> {
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: nothing is read through the mapping, so it does not matter what becomes of the file meanwhile.
    let map = unsafe { memmap2::MmapOptions::new().len(bytes as usize).map(file)? };
    let mut pages = vec![0u8; bytes.div_ceil(PAGE) as usize];
    // SAFETY: the mapping covers `bytes`, and `pages` has a byte for each page of it, which the call writes.
    if unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), pages.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found: Vec<Range<u64>> = Vec::new();
    for page in (0..pages.len() as u64).filter(|&page| pages[page as usize] & 1 == 1) {
        match found.last_mut().filter(|last| last.end == page) {
            Some(last) => last.end += 1,
            None => found.push(page..page + 1),
        }
    }
    Ok(found)
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
}
