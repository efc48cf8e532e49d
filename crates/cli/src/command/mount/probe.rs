//! The time of a small read of a source, measured before anything is served.
//!
//! The pages are dropped from the page cache first, and nothing is read ahead, so that each read reaches the source.
//! All takes [`TIME`] at most, and what is under way then.

use std::cmp::Reverse;
use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, Mode, OFlags, fadvise};

/// Bytes of a read.
const BYTES: u64 = 4 << 10;

/// Reads.
const READS: usize = 5;

/// After this time nothing more is read.
const TIME: Duration = Duration::from_millis(250);

/// The median time of some reads of the largest of these files, which have these sizes. `None` if nothing can be read.
pub(super) fn latency(files: &[(PathBuf, u64)]) -> Option<Duration> {
    let until = Instant::now() + TIME;
    let mut files: Vec<&(PathBuf, u64)> = files.iter().filter(|(_, size)| *size > 0).collect();
    files.sort_by_key(|(_, size)| Reverse(*size));
    let mut times = Vec::new();
    'files: for (path, size) in files {
        // Nothing is waited for that has taken the place of a file.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).map(File::from);
        let places = (size / (16 * BYTES)).clamp(1, READS as u64);
        for place in 0..places {
            if times.len() == READS || Instant::now() > until {
                break 'files;
            }
            let Ok(file) = &file else { break };
            times.extend(time_of(file, size / places * place / BYTES * BYTES));
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// The time of a read of the source at this offset.
fn time_of(file: &File, offset: u64) -> Option<Duration> {
    // Where these have no effect, the page cache of the source answers.
    let _ = fadvise(file, 0, None, Advice::Random);
    let _ = fadvise(file, offset, NonZeroU64::new(BYTES), Advice::DontNeed);
    let began = Instant::now();
    let read = file.read_at(&mut [0; BYTES as usize], offset).ok()?;
    (read > 0).then(|| began.elapsed())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_any_size_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        for sizes in [&[1][..], &[0, 5000, 70_000], &[3 << 20, 10], &[1 << 20; 20]] {
            let files = sizes.iter().enumerate().map(|(number, &size)| {
                let path = folder.path().join(number.to_string());
                fs::write(&path, vec![7; size]).unwrap();
                (path, size as u64)
            });
            let time = latency(&files.collect::<Vec<_>>()).unwrap();
            assert!(time > Duration::ZERO && time < TIME, "{time:?}");
        }
    }

    #[test]
    fn where_nothing_can_be_read_nothing_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let (empty, pipe) = (folder.path().join("empty"), folder.path().join("pipe"));
        fs::write(&empty, "").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        let none = folder.path().join("none");
        assert_eq!(latency(&[(empty, 0), (none, 9), (pipe, 9000)]), None);
        assert_eq!(latency(&[]), None);
    }
}
