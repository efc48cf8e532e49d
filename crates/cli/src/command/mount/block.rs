//! The default size of a block, by the facts of the source before anything is read.
//!
//! Measured with `benches/defaults.py` and `benches/stores.py`. The longer a read of the source takes, the larger the
//! block: larger blocks take the memory of random reads, smaller ones make more requests. On sources of 2 and 20 ms a
//! read these sizes are not slower than the source for large files that memory does not hold. A small file takes whole
//! blocks, so where files are small, large blocks waste memory. On object stores blocks of 128 KiB take 39 % of the
//! time of blocks of 16 KiB for random reads, and 56 % for a scan beside a hot set.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use walkdir::WalkDir;

use super::probe;
use crate::output::human;

/// Bytes of a block where a request costs little: pages of the kernel's.
pub(super) const LOCAL: u64 = 4 << 10;

/// Bytes of a block where a request takes a round trip, at most, by the time of a read.
fn remote(latency: Option<Duration>) -> u64 {
    match latency.map_or(0, |latency| latency.as_micros()) {
        ..1_000 => 16 << 10,
        1_000..10_000 => 32 << 10,
        _ => 64 << 10,
    }
}

/// Bytes of a block of objects, and of the largest one that is chosen for a large tier.
const LARGEST: u64 = 128 << 10;

/// Bytes of memory that the tables take for each block of the tier, about.
const TIER_ENTRY: u64 = 100;

/// Blocks that memory must hold at least.
const LEAST_BLOCKS: u64 = 64;

/// Part of the memory that the tables of the tier may take.
const TIER_SHARE: u64 = 16;

/// Files whose sizes are looked at, at most.
const FILES: usize = 1000;

/// Time for that. A source that is slower shows fewer files.
const TIME: Duration = Duration::from_millis(250);

/// The known facts of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'a> {
    /// It has objects of a store.
    pub is_store: bool,
    /// Each request takes a round trip.
    pub is_remote: bool,
    /// Its directory, whose files can be looked at.
    pub directory: Option<&'a Path>,
    /// Bytes of the tier on an SSD.
    pub tier: Option<u64>,
}

/// A default size of a block, and what it follows from.
pub(super) struct Chosen {
    /// Bytes.
    pub block: u64,
    /// The reason, if it is not the size for local directories.
    pub why: Option<String>,
    /// The time of a small read of the source, if it was measured.
    pub latency: Option<Duration>,
    /// Bytes of a file on average, of those that were looked at.
    pub mean: Option<u64>,
}

impl Chosen {
    /// A size that follows from no measurement.
    pub fn fixed(block: u64) -> Chosen {
        Chosen { block, why: None, latency: None, mean: None }
    }
}

/// The size of a block for a cache of `memory` bytes. Looks at files of the source and reads some of them.
pub(super) fn choose(known: Known, memory: u64) -> Chosen {
    if known.is_store {
        return Chosen::fixed(LARGEST);
    }
    if !known.is_remote && known.tier.is_none() {
        return Chosen::fixed(LOCAL);
    }
    // A tier keeps its blocks over restarts, so their size must not depend on the files or on what is measured.
    let files = known.directory.filter(|_| known.tier.is_none()).map(files).unwrap_or_default();
    let latency = probe::latency(&files.seen);
    let (block, why) = by_sizes(known, latency, memory, &files);
    Chosen { block, why, latency, mean: mean(&files.sizes()) }
}

fn by_sizes(known: Known, latency: Option<Duration>, memory: u64, files: &Files) -> (u64, Option<String>) {
    let sizes = files.sizes();
    if files.are_all && !sizes.is_empty() && memory / LARGEST >= LEAST_BLOCKS && wanted(LARGEST, &sizes) <= memory {
        return (LARGEST, Some("--memory holds all files that are here now".to_owned()));
    }
    let most = remote(latency);
    let fitting = fitting(most, &sizes);
    let mut block = fitting;
    while block > LOCAL && memory / block < LEAST_BLOCKS {
        block /= 2;
    }
    if block < fitting {
        return (block, (block > LOCAL).then(|| "--memory holds few blocks".to_owned()));
    }
    while block < LARGEST && known.tier.is_some_and(|tier| tier / block * TIER_ENTRY > memory / TIER_SHARE) {
        block *= 2;
    }
    let reason = if block > fitting {
        "smaller blocks of the SSD tier would need too much memory for its tables".to_owned()
    } else if block < most {
        format!("the files here have {} on average", human::bytes(mean(&sizes).unwrap_or(0)))
    } else if let Some(latency) = latency {
        format!("a read of this source takes {}", human::latency(latency.as_secs_f64()))
    } else if known.is_remote {
        "each request to this source takes a round trip".to_owned()
    } else {
        "--ssd reads and writes whole blocks".to_owned()
    };
    (block, Some(reason))
}

/// The largest block of at most `most` bytes that wastes at most a quarter of what the files need.
fn fitting(most: u64, sizes: &[u64]) -> u64 {
    let bytes: u64 = sizes.iter().sum();
    let wastes = |block: u64| wanted(block, sizes) > bytes / 4 * 5;
    let mut block = most;
    while block > LOCAL && bytes > 0 && wastes(block) {
        block /= 2;
    }
    block
}

/// The mean size of files, if there are some.
fn mean(sizes: &[u64]) -> Option<u64> {
    sizes.iter().sum::<u64>().checked_div(sizes.len() as u64)
}

/// The memory that files of these sizes take in blocks of this size.
fn wanted(block: u64, sizes: &[u64]) -> u64 {
    sizes.iter().map(|size| size.next_multiple_of(block)).sum()
}

/// Files below a directory, and their sizes.
#[derive(Debug, Default)]
struct Files {
    seen: Vec<(PathBuf, u64)>,
    /// There are no others.
    are_all: bool,
}

impl Files {
    fn sizes(&self) -> Vec<u64> {
        self.seen.iter().map(|(_, size)| *size).collect()
    }
}

/// Looks at files below a directory. Those below an unreadable directory are others.
fn files(directory: &Path) -> Files {
    let until = Instant::now() + TIME;
    let mut files = Files { seen: Vec::new(), are_all: true };
    for entry in WalkDir::new(directory).same_file_system(true) {
        if files.seen.len() == FILES || Instant::now() >= until {
            files.are_all = false;
            break;
        }
        match entry.and_then(|entry| Ok((entry.metadata()?, entry.into_path()))) {
            Ok((about, path)) if about.is_file() => files.seen.push((path, about.len())),
            Ok(_) => {}
            Err(_) => files.are_all = false,
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Files of these sizes, and others.
    fn some(sizes: &[u64]) -> Files {
        Files { seen: sizes.iter().map(|&size| (PathBuf::new(), size)).collect(), are_all: false }
    }

    fn block(known: Known, memory: u64, sizes: &[u64]) -> (u64, String) {
        measured(known, None, memory, sizes)
    }

    /// The same, where a read takes so many microseconds.
    fn measured(known: Known, micros: impl Into<Option<u64>>, memory: u64, sizes: &[u64]) -> (u64, String) {
        let latency = micros.into().map(Duration::from_micros);
        let (block, reason) = by_sizes(known, latency, memory, &some(sizes));
        (block >> 10, reason.unwrap())
    }

    #[test]
    fn large_files_have_blocks_of_16_kib_and_small_ones_smaller_blocks() {
        let remote = Known { is_remote: true, ..Known::default() };
        assert_eq!(
            block(remote, 16 * MIB, &[MIB; 9]),
            (16, "each request to this source takes a round trip".to_owned())
        );
        assert_eq!(block(remote, 16 * MIB, &[]).0, 16);
        assert_eq!(block(remote, 16 * MIB, &[0, 0]).0, 16);
        assert_eq!(block(remote, 16 * MIB, &[8192; 9]), (8, "the files here have 8K on average".to_owned()));
        assert_eq!(block(remote, 16 * MIB, &[700; 9]).0, 4);
        // A database and a few small files.
        assert_eq!(block(remote, 16 * MIB, &[700, 700, 900 * MIB]).0, 16);
        assert_eq!(measured(remote, 2500, 16 * MIB, &[MIB; 9]), (32, "a read of this source takes 2.5 ms".to_owned()));
        assert_eq!(measured(remote, 20_000, 16 * MIB, &[MIB; 9]).0, 64);
        assert_eq!(measured(remote, 20_000, 16 * MIB, &[8192; 9]).0, 8);
        assert_eq!(measured(remote, 300, 16 * MIB, &[]).0, 16);
        let chosen = |known| (choose(known, MIB).block, choose(known, MIB).why);
        assert_eq!(chosen(Known::default()), (4096, None));
        assert_eq!(chosen(Known { is_store: true, ..remote }), (128 << 10, None));
        assert_eq!(by_sizes(remote, None, MIB / 4, &some(&[MIB; 9])), (4096, None));
        assert_eq!(block(remote, MIB / 2, &[MIB; 9]), (8, "--memory holds few blocks".to_owned()));
    }

    #[test]
    fn files_that_all_fit_have_the_largest_blocks() {
        let remote = Known { is_remote: true, ..Known::default() };
        let all = |sizes| Files { are_all: true, ..some(sizes) };
        let block = |memory, files: &Files| by_sizes(remote, None, memory, files).0 >> 10;
        assert_eq!(block(16 * MIB, &all(&[MIB; 16])), 128);
        assert_eq!(block(16 * MIB, &some(&[MIB; 16])), 16, "there may be others");
        assert_eq!(block(16 * MIB, &all(&[MIB; 17])), 16);
        assert_eq!(block(16 * MIB, &all(&[8192; 128])), 128, "small ones, which fit in such blocks");
        assert_eq!(block(16 * MIB, &all(&[8192; 129])), 8);
        assert_eq!(block(7 * MIB, &all(&[MIB])), 16, "few blocks");
        assert_eq!(block(16 * MIB, &all(&[])), 16);
    }

    #[test]
    fn the_tables_of_a_tier_leave_memory_for_data() {
        let tier = |bytes| Known { tier: Some(bytes), ..Known::default() };
        assert_eq!(block(tier(256 * MIB), 32 * MIB, &[]), (16, "--ssd reads and writes whole blocks".to_owned()));
        let (blocks, reason) = block(tier(100 << 30), 2 << 30, &[]);
        assert!(blocks == 128 && reason.contains("too much memory"), "{blocks} {reason}");
    }

    #[test]
    fn files_of_a_directory_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
        std::fs::write(folder.path().join("in/a"), [0; 5000]).unwrap();
        std::fs::write(folder.path().join("b"), [0; 3]).unwrap();
        let found = files(folder.path());
        let mut sizes: Vec<u64> = found.seen.into_iter().map(|(_, size)| size).collect();
        sizes.sort_unstable();
        assert_eq!((sizes, found.are_all), (vec![3, 5000], true));
        let none = files(Path::new("/nowhere"));
        assert_eq!((none.seen.len(), none.are_all), (0, false));
        let remote = Known { is_remote: true, directory: Some(folder.path()), ..Known::default() };
        assert_eq!(choose(remote, 16 * MIB).block, 128 << 10, "all fit");
        assert_eq!(choose(remote, MIB).block, 4 << 10);
        let with_tier = Known { tier: Some(MIB), ..remote };
        assert_eq!(choose(with_tier, 16 * MIB).block, 16 << 10, "the next mount reads the tier, too");
    }
}
