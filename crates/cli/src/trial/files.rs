//! The files that a trial reads: dropped from the page cache before each run, and watched for changes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

use crate::failure::Failure;

/// Files below the directories, at most.
const MOST: usize = 200_000;

/// Size, modification time in nanoseconds and inode of each file.
pub(super) type Stamps = BTreeMap<PathBuf, (u64, i64, i64, u64)>;

/// The directories by their canonical paths; the working directory where none is given.
pub(super) fn directories(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let here = [PathBuf::from(".")];
    let given = if given.is_empty() { &here[..] } else { given };
    let canonical = given.iter().map(|directory| {
        let shown = directory.display();
        let found = fs::canonicalize(directory).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
        match found.is_dir() {
            true => Ok(found),
            false => Err(Failure::Usage(format!("{shown}: not a directory; name the one whose files are read"))),
        }
    });
    canonical.collect()
}

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
                stamps.insert(entry.path(), (about.size(), about.mtime(), about.mtime_nsec(), about.ino()));
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

/// Drops the files from the page cache.
pub(super) fn drop_from_page_cache(stamps: &Stamps) -> Result<(), Failure> {
    for path in stamps.keys() {
        let failed =
            |error: io::Error| Failure::Work(format!("{}: cannot drop it from memory: {error}", path.display()));
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path);
        let file = file.map_err(failed)?;
        // Dirty pages do not leave.
        file.sync_data().map_err(failed)?;
        fadvise(&file, 0, None, Advice::DontNeed).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

/// A file that differs.
pub(super) fn changed<'a>(before: &'a Stamps, after: &'a Stamps) -> Option<&'a Path> {
    let gone = before.iter().find(|(path, stamp)| after.get(*path) != Some(stamp));
    let new = after.keys().find(|path| !before.contains_key(*path));
    gone.map(|(path, _)| path.as_path()).or(new.map(PathBuf::as_path))
}
