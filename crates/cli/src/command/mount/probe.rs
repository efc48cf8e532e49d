//! The times of reads of a source, measured before anything is served.
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

/// Bytes of a small read.
const BYTES: u64 = 4 << 10;

/// Small reads.
const READS: usize = 5;

/// Bytes of a long read: FUSE cuts longer ones into requests that wait for each other.
const LONG: u64 = 128 << 10;

/// Long reads.
const LONG_READS: u64 = 3;

/// Bytes a second that no source exceeds: what a read takes beyond the time of a small one may be nothing at all.
const FASTEST: u64 = 10 << 30;

/// The measured times of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// The median time of a small read.
    pub latency: Duration,
    /// Bytes a second, by a long read; not known if no file is as long.
    pub bandwidth: Option<u64>,
}

/// After this time nothing more is read.
const TIME: Duration = Duration::from_millis(250);

/// Reads the largest of these files, which have these sizes. `None` if nothing can be read.
pub(super) fn pace(files: &[(PathBuf, u64)]) -> Option<Pace> {
    let until = Instant::now() + TIME;
    let mut files: Vec<&(PathBuf, u64)> = files.iter().filter(|(_, size)| *size > 0).collect();
    files.sort_by_key(|(_, size)| Reverse(*size));
    let (mut times, mut long) = (Vec::new(), Vec::new());
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
            times.extend(time_of(file, size / places * place / BYTES * BYTES, BYTES));
        }
        // The largest files are the first ones.
        for place in 0..(size / LONG).min(LONG_READS) {
            if let Some(file) = file.as_ref().ok().filter(|_| Instant::now() < until) {
                long.extend(time_of(file, place * LONG, LONG));
            }
        }
    }
    times.sort_unstable();
    let latency = times.get(times.len() / 2).copied()?;
    // The shortest of either kind: what disturbs a read makes it longer.
    let bandwidth = long.iter().min().zip(times.first()).map(|(long, small)| {
        let nanos = long.saturating_sub(*small).as_nanos().max(1);
        u64::try_from(u128::from(LONG) * 1_000_000_000 / nanos).unwrap_or(FASTEST).clamp(1, FASTEST)
    });
    Some(Pace { latency, bandwidth })
}

/// The time of a read of so many bytes of the source at this offset.
fn time_of(file: &File, offset: u64, bytes: u64) -> Option<Duration> {
    // Where these have no effect, the page cache of the source answers.
    let _ = fadvise(file, 0, None, Advice::Random);
    let _ = fadvise(file, offset, NonZeroU64::new(bytes), Advice::DontNeed);
    let began = Instant::now();
    let read = file.read_at(&mut vec![0; bytes as usize], offset).ok()?;
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
            let Pace { latency, bandwidth } = pace(&files.collect::<Vec<_>>()).unwrap();
            assert!(latency > Duration::ZERO && latency < TIME, "{latency:?}");
            let is_long = sizes.iter().any(|&size| size >= LONG as usize);
            assert_eq!(bandwidth.is_some(), is_long);
            assert!(bandwidth.is_none_or(|bandwidth| bandwidth > 1 << 20), "{bandwidth:?}");
        }
    }

    #[test]
    fn where_nothing_can_be_read_nothing_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let (empty, pipe) = (folder.path().join("empty"), folder.path().join("pipe"));
        fs::write(&empty, "").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        let none = folder.path().join("none");
        assert_eq!(pace(&[(empty, 0), (none, 9), (pipe, 9000)]), None);
        assert_eq!(pace(&[]), None);
    }
}
