//! The files that a trial reads: dropped from the page cache before each run, and watched for changes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hotset_steer::resident_bytes;
use rustix::fs::{Advice, fadvise};

use crate::failure::Failure;

/// Files below the directories, at most.
const MOST: usize = 200_000;

/// Identifies the contents of a file, short of reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub bytes: u64,
    modified: (i64, i64),
    inode: u64,
}

pub(super) type Stamps = BTreeMap<PathBuf, Stamp>;

/// Stamps of the regular files below the directories. Symbolic links are not followed.
pub(super) fn stamps(directories: &[PathBuf]) -> Result<Stamps, Failure> {
    let mut stamps = Stamps::new();
    let mut open: Vec<PathBuf> = directories.to_vec();
    while let Some(folder) = open.pop() {
        let failed = |error: io::Error| Failure::Work(format!("{}: {error}", folder.display()));
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let about = entry.metadata().map_err(failed)?;
            if about.is_dir() {
                open.push(entry.path());
            } else if about.is_file() {
                let modified = (about.mtime(), about.mtime_nsec());
                stamps.insert(entry.path(), Stamp { bytes: about.size(), modified, inode: about.ino() });
            }
            if stamps.len() > MOST {
                return Err(Failure::Usage(format!(
                    "{}: more than {MOST} files; name the directories that the command reads",
                    folder.display()
                )));
            }
        }
    }
    Ok(stamps)
}

/// True if the kernel counts what is read from storage of all these directories. It does not where a program or the
/// host of a virtual machine serves them.
pub(super) fn is_counted(directories: &[PathBuf]) -> Result<bool, Failure> {
    const FUSE: u64 = 0x6573_5546;
    const NINE_P: u64 = 0x0102_1997;
    for directory in directories {
        let system = rustix::fs::statfs(directory)
            .map_err(|error| Failure::Work(format!("{}: {error}", directory.display())))?;
        if [FUSE, NINE_P].contains(&(system.f_type as u64)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Drops the files from the page cache. Returns the bytes that stay, since another process has them mapped or locked.
pub(super) fn drop_from_page_cache(stamps: &Stamps) -> Result<u64, Failure> {
    let mut stay = 0;
    for path in stamps.keys() {
        let failed = |error: io::Error| {
            Failure::Work(format!("{}: cannot drop it from the page cache: {error}", path.display()))
        };
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path);
        let file = file.map_err(failed)?;
        // Dirty pages stay. A file system that cannot write has none.
        let _ = file.sync_data();
        fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| failed(error.into()))?;
        stay += resident_bytes(&file).map_err(failed)?;
    }
    Ok(stay)
}

/// A file that differs.
pub(super) fn changed<'a>(before: &'a Stamps, after: &'a Stamps) -> Option<&'a Path> {
    let gone = before.iter().find(|(path, stamp)| after.get(*path) != Some(stamp));
    let new = after.keys().find(|path| !before.contains_key(*path));
    gone.map(|(path, _)| path.as_path()).or(new.map(PathBuf::as_path))
}
