//! How much of files is in the page cache.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use walkdir::WalkDir;

use crate::kernel::PAGE;
use crate::kernel::actuate::{resident, resident_bytes};

/// A file and its pages in the page cache, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedFile {
    /// The path, with the directory that was given.
    pub path: PathBuf,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of it in the page cache, at most `file_bytes`.
    pub cached_bytes: u64,
    /// Bytes of them that the disk does not have yet. Absent before Linux 6.5.
    pub dirty_bytes: Option<u64>,
    /// Bytes that were evicted and not read again, as far as the kernel remembers. Absent before Linux 6.5.
    pub evicted_bytes: Option<u64>,
    /// When the file was last read or changed, as far as its inode tells, in seconds since 1970. Mounts with `relatime`
    /// update the time of reads once a day.
    pub used_at: i64,
}

/// The files of some directories.
#[derive(Debug, Default)]
pub struct CachedFiles {
    /// Regular files, ordered by path. A file with several names is there once.
    pub files: Vec<CachedFile>,
    /// Files and directories that could not be opened, and why.
    pub failed: Vec<(PathBuf, io::Error)>,
}

/// The pages of files that were in the page cache at some moment.
#[derive(Debug)]
pub struct CachedPages(Vec<FilePages>);

#[derive(Debug)]
struct FilePages {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    /// Resident pages, in order.
    resident: Vec<Range<u64>>,
}

impl CachedPages {
    /// The cached pages of the files at `paths` and in the directories among them, which are searched as
    /// [`cached_files`] does. Files that cannot be opened do not count.
    ///
    /// # Errors
    ///
    /// One of `paths` does not exist.
    pub fn of(paths: &[PathBuf]) -> io::Result<CachedPages> {
        let found = find(paths, &mut Vec::new())?;
        let pages = found.into_par_iter().filter_map(|found| {
            let (file, identity) = open(&found.path).ok()?;
            let resident = resident(&file).ok().filter(|ranges| !ranges.is_empty())?;
            Some(FilePages { path: found.path, identity, resident })
        });
        Ok(CachedPages(pages.collect()))
    }

    /// Bytes of these pages, in whole pages.
    pub fn bytes(&self) -> u64 {
        self.0.iter().flat_map(|file| &file.resident).map(|range| (range.end - range.start) * PAGE).sum()
    }

    /// Bytes of these pages that are in the page cache now. A file that was replaced or removed has none.
    pub fn still_cached_bytes(&self) -> u64 {
        let still = self.0.par_iter().map(|before| {
            let opened = open(&before.path).ok().filter(|(_, identity)| *identity == before.identity);
            opened.and_then(|(file, _)| resident(&file).ok()).map_or(0, |now| common(&before.resident, &now) * PAGE)
        });
        still.sum()
    }
}

/// Opens a file, and tells its device and inode. A file that another process holds a lease on does not make this one
/// wait.
fn open(path: &Path) -> io::Result<(File, (u64, u64))> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    let about = file.metadata()?;
    Ok((file, (about.dev(), about.ino())))
}

/// Pages that two ordered lists of ranges have in common.
fn common(one: &[Range<u64>], other: &[Range<u64>]) -> u64 {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut pages = 0;
    while let (Some(left), Some(right)) = (one.peek(), other.peek()) {
        pages += left.end.min(right.end).saturating_sub(left.start.max(right.start));
        if left.end < right.end {
            one.next()
        } else {
            other.next()
        };
    }
    pages
}

/// A regular file that was found.
struct Found {
    path: PathBuf,
    bytes: u64,
    used_at: i64,
}

/// Looks up the files at `paths` and in the directories among them. It follows no symbolic links and stays on the file
/// system of each path. No file is read.
///
/// # Errors
///
/// One of `paths` does not exist, or the kernel refuses to tell.
pub fn cached_files(paths: &[PathBuf]) -> io::Result<CachedFiles> {
    let mut all = CachedFiles::default();
    let found = find(paths, &mut all.failed)?;
    let lacks_cachestat = AtomicBool::new(false);
    let looked: Vec<(PathBuf, io::Result<CachedFile>)> =
        found.into_par_iter().map(|found| (found.path.clone(), look(found, &lacks_cachestat))).collect();
    for (path, looked) in looked {
        match looked {
            Ok(file) => all.files.push(file),
            Err(error) => all.failed.push((path, error)),
        }
    }
    all.files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all)
}

fn find(paths: &[PathBuf], failed: &mut Vec<(PathBuf, io::Error)>) -> io::Result<Vec<Found>> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    for path in paths {
        std::fs::metadata(path)?;
        // A link that the user names is followed; those inside are not.
        for entry in WalkDir::new(path).follow_root_links(true).same_file_system(true) {
            let about = entry.and_then(|entry| entry.metadata().map(|about| (entry.into_path(), about)));
            match about {
                Ok((path, about)) if about.is_file() && known.insert((about.dev(), about.ino())) => {
                    let used_at = about.atime().max(about.mtime());
                    found.push(Found { path, bytes: about.len(), used_at });
                }
                Ok(_) => {}
                Err(error) => {
                    let path = error.path().unwrap_or(Path::new("")).to_owned();
                    failed.push((path, error.into()));
                }
            }
        }
    }
    Ok(found)
}

fn look(found: Found, lacks_cachestat: &AtomicBool) -> io::Result<CachedFile> {
    let Found { path, bytes, used_at } = found;
    let mut file =
        CachedFile { path, file_bytes: bytes, cached_bytes: 0, dirty_bytes: Some(0), evicted_bytes: Some(0), used_at };
    if bytes == 0 {
        return Ok(file);
    }
    let (opened, _) = open(&file.path)?;
    if !lacks_cachestat.load(Ordering::Relaxed) {
        match cachestat(&opened) {
            Ok(pages) => {
                file.cached_bytes = (pages.cached * PAGE).min(bytes);
                file.dirty_bytes = Some(((pages.dirty + pages.writeback) * PAGE).min(bytes));
                file.evicted_bytes = Some((pages.evicted * PAGE).min(bytes));
                return Ok(file);
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => lacks_cachestat.store(true, Ordering::Relaxed),
            Err(error) => return Err(error),
        }
    }
    file.cached_bytes = resident_bytes(&opened)?.min(bytes);
    (file.dirty_bytes, file.evicted_bytes) = (None, None);
    Ok(file)
}

/// The kernel's `struct cachestat`: counts of pages.
#[repr(C)]
#[derive(Debug, Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// The kernel's `struct cachestat_range`; a length of 0 stands for the end of the file.
#[repr(C)]
struct ByteRange {
    offset: u64,
    length: u64,
}

/// The number of cachestat(2), which is the same on all architectures (Linux 6.5).
const CACHESTAT: libc::c_long = 451;

fn cachestat(file: &File) -> io::Result<Pages> {
    let (whole, mut pages) = (ByteRange { offset: 0, length: 0 }, Pages::default());
    // SAFETY: both structures have the kernel's layout and live during the call, which reads one and writes the other.
    let done = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const whole, &raw mut pages, 0u32) };
    if done == 0 { Ok(pages) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;

    #[test]
    fn pages_are_counted_as_mincore_counts_them() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (some, none, link) = (folder.path().join("some"), folder.path().join("none"), folder.path().join("link"));
        fs::write(&some, vec![1; 100_000]).unwrap();
        fs::write(&none, "").unwrap();
        fs::hard_link(&some, folder.path().join("same")).unwrap();
        std::os::unix::fs::symlink(&some, &link).unwrap();
        let file = File::open(&some).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        // Without read-ahead: cachestat counts pages that are still being read, mincore does not.
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
        (&file).take(5000).read_to_end(&mut Vec::new()).unwrap();
        let all = cached_files(&[folder.path().to_owned()]).unwrap();
        assert!(all.failed.is_empty(), "{:?}", all.failed);
        let names: Vec<_> = all.files.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let found = &all.files[1];
        assert_eq!((found.file_bytes, all.files[0].cached_bytes), (100_000, 0));
        assert_eq!(found.cached_bytes, resident_bytes(&file).unwrap().min(100_000));
        assert!(found.cached_bytes >= 5000);
        let lacking = look(Found { path: some, bytes: 100_000, used_at: 0 }, &AtomicBool::new(true));
        assert_eq!(
            lacking.unwrap(),
            CachedFile {
                dirty_bytes: None,
                evicted_bytes: None,
                used_at: 0,
                path: folder.path().join("some"),
                ..found.clone()
            }
        );
        let pages = CachedPages::of(&[folder.path().to_owned()]).unwrap();
        assert_eq!(pages.bytes(), resident_bytes(&file).unwrap());
        assert_eq!(pages.still_cached_bytes(), pages.bytes());
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        assert_eq!(pages.still_cached_bytes(), resident_bytes(&file).unwrap());
        assert_eq!(common(&[0..4, 6..9, 20..30], &[2..7, 8..21]), 2 + 1 + 1 + 1);
        fs::remove_file(folder.path().join("some")).unwrap();
        fs::remove_file(folder.path().join("same")).unwrap();
        assert_eq!(pages.still_cached_bytes(), 0);
        assert_eq!(cached_files(&[folder.path().join("absent")]).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
