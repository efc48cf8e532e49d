//! One file, changed and read through a mount in every way and in random order, held against an array of bytes: reads,
//! writes, cuts, holes, mappings, several opens. The blocks are few, so that they come and go all the time. Needs
//! /dev/fuse.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hotset_core::random::Rng;
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use support::mounted::{Mount, can_mount, pattern};

/// The file is never longer.
const LONGEST: u32 = 256 << 10;

/// The file, and what it must hold.
struct Exerciser {
    path: PathBuf,
    file: File,
    model: Vec<u8>,
    random: Rng,
    /// The last operation, for the message of a failure.
    log: Vec<String>,
}

impl Exerciser {
    fn new(path: PathBuf, seed: u64) -> Exerciser {
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        Exerciser { path, file, model: Vec::new(), random: Rng::new(seed), log: Vec::new() }
    }

    /// Some bytes of the file, perhaps beyond its end, within what it may hold.
    fn range(&mut self) -> (usize, usize) {
        let most = if self.random.below(4) == 0 { 100_000 } else { 9_000 };
        let offset = self.random.below(LONGEST);
        let length = 1 + self.random.below(most.min(LONGEST - offset));
        (offset as usize, length as usize)
    }

    /// The same within the file; `None` if that is empty.
    fn range_within(&mut self) -> Option<(usize, usize)> {
        let (offset, length) = self.range();
        let size = self.model.len();
        let offset = offset % size.max(1);
        (size > 0).then(|| (offset, length.min(size - offset)))
    }

    fn step(&mut self, number: u64) {
        match self.random.below(20) {
            0..7 => self.read(),
            7..11 => self.write(number),
            11 => self.cut(),
            12 => self.hole(),
            13 => self.room(),
            14 => self.copy(),
            15 | 16 => self.read_mapped(),
            17 => self.write_mapped(number),
            18 => self.open_again(),
            // Disks take their time.
            _ if self.random.below(5) == 0 => self.file.sync_data().unwrap(),
            _ => {}
        }
        let size = self.file.metadata().unwrap().len();
        assert_eq!(size, self.model.len() as u64, "the size after {:#?}", self.lately());
    }

    fn note(&mut self, done: &str, offset: usize, length: usize) {
        self.log.push(format!("{done} {offset}..{} of {}", offset + length, self.model.len()));
    }

    fn lately(&self) -> &[String] {
        &self.log[self.log.len().saturating_sub(20)..]
    }

    fn check(&self, found: &[u8], offset: usize) {
        let expected = self.model.get(offset..offset + found.len()).expect("not beyond the end");
        if let Some(at) = found.iter().zip(expected).position(|(found, expected)| found != expected) {
            panic!("byte {}: {} is not {} after {:#?}", offset + at, found[at], expected[at], self.lately());
        }
    }

    fn read(&mut self) {
        let (offset, length) = self.range();
        self.note("read", offset, length);
        let mut bytes = vec![0; length];
        let read = self.file.read_at(&mut bytes, offset as u64).unwrap();
        assert_eq!(read, length.min(self.model.len().saturating_sub(offset)), "after {:#?}", self.lately());
        if read > 0 {
            self.check(&bytes[..read], offset);
        }
    }

    fn write(&mut self, number: u64) {
        let (offset, length) = self.range();
        self.note("write", offset, length);
        let bytes = pattern(number, length);
        self.file.write_all_at(&bytes, offset as u64).unwrap();
        self.model.resize(self.model.len().max(offset + length), 0);
        self.model[offset..offset + length].copy_from_slice(&bytes);
    }

    fn cut(&mut self) {
        let size = self.random.below(LONGEST) as usize;
        self.note("cut", size, 0);
        self.file.set_len(size as u64).unwrap();
        self.model.resize(size, 0);
    }

    fn hole(&mut self) {
        let Some((offset, length)) = self.range_within() else { return };
        self.note("hole", offset, length);
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(&self.file, flags, offset as u64, length as u64).unwrap();
        self.model[offset..offset + length].fill(0);
    }

    fn room(&mut self) {
        let (offset, length) = self.range();
        self.note("room", offset, length);
        rustix::fs::fallocate(&self.file, FallocateFlags::empty(), offset as u64, length as u64).unwrap();
        self.model.resize(self.model.len().max(offset + length), 0);
    }

    fn copy(&mut self) {
        let Some((from, length)) = self.range_within() else { return };
        let (to, _) = self.range();
        let length = length.min(LONGEST as usize - to).min(from.abs_diff(to));
        self.note(&format!("copy to {to}"), from, length);
        let (mut source, mut sink) = (from as u64, to as u64);
        let mut left = length;
        while left > 0 {
            let done =
                rustix::fs::copy_file_range(&self.file, Some(&mut source), &self.file, Some(&mut sink), left).unwrap();
            assert!(done > 0, "nothing was copied after {:#?}", self.lately());
            left -= done;
        }
        let bytes = self.model[from..from + length].to_vec();
        self.model.resize(self.model.len().max(to + length), 0);
        self.model[to..to + length].copy_from_slice(&bytes);
    }

    fn read_mapped(&mut self) {
        let Some((offset, length)) = self.range_within() else { return };
        self.note("read mapped", offset, length);
        // SAFETY: the file is not changed or cut while it is mapped.
        let map = unsafe { memmap2::MmapOptions::new().offset(offset as u64).len(length).map(&self.file) }.unwrap();
        self.check(&map, offset);
    }

    fn write_mapped(&mut self, number: u64) {
        let Some((offset, length)) = self.range_within() else { return };
        self.note("write mapped", offset, length);
        let bytes = pattern(number, length);
        // SAFETY: as above.
        let mut map =
            unsafe { memmap2::MmapOptions::new().offset(offset as u64).len(length).map_mut(&self.file) }.unwrap();
        map.copy_from_slice(&bytes);
        if self.random.below(8) == 0 {
            map.flush().unwrap();
        }
        self.model[offset..offset + length].copy_from_slice(&bytes);
    }

    fn open_again(&mut self) {
        self.note("open", 0, 0);
        self.file = File::options().read(true).write(true).open(&self.path).unwrap();
    }
}

/// Schemes that are different kinds of hosts to their blocks, bytes of a block, and memory. Without memory there is no
/// cache.
const WAYS: [[&str; 3]; 9] = [
    ["lru", "4K", "96K"],
    ["arc", "512", "12K"],
    ["s3-fifo", "64K", "128K"],
    ["2q", "4K", "4K"],
    ["render", "4K", "96K"],
    ["bypass(lirs,texture)", "4K", "96K"],
    ["attribute(8K/512 id, x/16K general)", "4K", "96K"],
    ["lru", "1M", "4M"],
    ["lru", "4K", "0"],
];

#[test]
fn a_file_is_what_was_done_to_it() {
    if !can_mount() {
        return;
    }
    for (seed, [policy, block, memory]) in (1..).zip(WAYS) {
        for mode in ["strict", "fast"] {
            let mut mount = Mount::new(&["--policy", policy, "--block", block, "--memory", memory, "--mode", mode]);
            let mut exerciser = Exerciser::new(mount.at("exercised.png"), seed);
            for number in 0..400 {
                exerciser.step(number);
            }
            let Exerciser { file, model, .. } = exerciser;
            file.sync_all().unwrap();
            assert!(fs::read(mount.at("exercised.png")).unwrap() == model, "{mode}, {policy}");
            drop(file);
            assert!(fs::read(mount.source("exercised.png")).unwrap() == model, "{mode}, {policy}");
            mount.stop();
        }
    }
}

/// `lseek` for data and holes sees what a mapping has changed and the kernel has not yet written, on every descriptor
/// of the file; without a mapping, holes are found.
#[test]
fn seeking_sees_what_a_mapping_has_changed() {
    if !can_mount() {
        return;
    }
    const SIZE: u64 = 1 << 20;
    const CHANGED: u64 = SIZE / 2;
    for (mode, more) in [("strict", &[][..]), ("fast", &[]), ("strict", &["--write-back", "60s"])] {
        let mut mount = Mount::new(&[&["--policy", "lru", "--memory", "1M", "--mode", mode], more].concat());
        let path = mount.at("sparse");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(SIZE).unwrap();
        let other = File::open(&path).unwrap();
        // SAFETY: no other program changes or cuts the file while it is mapped.
        let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
        map[CHANGED as usize..][..100].copy_from_slice(&pattern(1, 100));
        for (name, file) in [("the mapped descriptor", &file), ("another descriptor", &other)] {
            let data = rustix::fs::seek(file, SeekFrom::Data(0)).unwrap();
            assert!(data <= CHANGED, "{mode} {more:?}: {name}: data begins at {data}");
            let hole = rustix::fs::seek(file, SeekFrom::Hole(CHANGED)).unwrap();
            assert!(hole >= CHANGED + 100, "{mode} {more:?}: {name}: a hole begins at {hole}");
            assert_eq!(rustix::fs::seek(file, SeekFrom::Data(SIZE)), Err(Errno::NXIO));
            assert_eq!(rustix::fs::seek(file, SeekFrom::Hole(SIZE)), Err(Errno::NXIO));
        }
        drop((map, file));
        // The kernel reports the last close of a descriptor a little later.
        let begun = Instant::now();
        let found = || rustix::fs::seek(&other, SeekFrom::Data(0)).unwrap();
        while found() == 0 && begun.elapsed() < Duration::from_secs(10) {
            sleep(Duration::from_millis(5));
        }
        assert!(found() > 0 && found() <= CHANGED, "{mode} {more:?}: data begins at {}", found());
        drop(other);
        mount.stop();
    }
}
