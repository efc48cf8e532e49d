//! Data acknowledged as synced is on the disk however the machine stops, and the disk has no data that was never
//! written: images of the disk after every prefix of the calls (`crash/mod.rs`). Through a mount too, which needs
//! /dev/fuse and root.

#[allow(dead_code, reason = "nothing fails here")]
mod below;
mod crash;
mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hotset_cache::source::{Source, Stamp};
use hotset_cache::{Access, FileCache, Stream};
use hotset_core::random::Rng;
use hotset_core::request::Kind;
use hotset_mount::{Mode, Options};

use rustix::fs::OFlags;
use rustix::io::ReadWriteFlags;

use below::Stacked;
use crash::{Change, Inode, Journal, Names, Request, State, images_are_right};
use support::mounted::options;
use support::settings;

/// A file whose changes are written down.
struct Written {
    file: Inode,
    journal: Journal,
    bytes: Mutex<State>,
    version: AtomicU64,
}

impl Written {
    fn change(&self, change: Change) {
        self.bytes.lock().unwrap().apply(&change);
        self.version.fetch_add(1, Ordering::SeqCst);
        self.journal.changed(change);
    }
}

impl Source for Written {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = &self.bytes.lock().unwrap().bytes;
        let there = &bytes[bytes.len().min(offset as usize)..];
        let length = there.len().min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    /// No more than a page at a time.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let bytes = bytes[..bytes.len().min(4096)].to_vec();
        let length = bytes.len();
        self.change(Change::Write { file: self.file, offset, bytes });
        Ok(length)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.change(Change::SetLen { file: self.file, size });
        Ok(())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let version = self.version.load(Ordering::SeqCst);
        Ok(Stamp::new(self.bytes.lock().unwrap().bytes.len() as u64, version.into()))
    }

    /// Takes its time.
    fn sync(&self, _data_only: bool) -> io::Result<()> {
        thread::sleep(Duration::from_micros(200));
        self.journal.synced(self.file);
        Ok(())
    }
}

/// A file that is open in a cache, and what it must hold.
struct Open {
    file: Inode,
    number: u32,
    source: Arc<dyn Source>,
    stream: Stream,
    model: State,
}

impl Open {
    fn access(&self) -> Access<'_> {
        let Open { number, source, stream, .. } = self;
        Access { file: *number, app: 0, source, stream: Some(stream), executes: false }
    }

    /// Does something of which it is known that it changes the file so.
    fn change(&mut self, journal: &Journal, change: Change, call: impl FnOnce(&Access)) {
        journal.ask(|| {
            call(&self.access());
            (Request { changes: vec![change.clone()], ..Request::default() }, ())
        });
        self.model.apply(&change);
    }

    fn step(&mut self, cache: &FileCache, journal: &Journal, random: &mut Rng) {
        let (offset, length) = (u64::from(random.below(12_000)), random.below(9000) as usize);
        let (file, size) = (self.file, self.model.bytes.len() as u64);
        let bytes: Vec<u8> = (0..=length).map(|_| random.bits() as u8).collect();
        match random.below(10) {
            0..4 => self.change(journal, Change::Write { file, offset, bytes: bytes.clone() }, |access| {
                assert_eq!(cache.write(access, offset, &bytes).unwrap(), bytes.len());
            }),
            4 if size < 30_000 => {
                let bytes = &bytes[..bytes.len().min(4096)];
                self.change(journal, Change::Write { file, offset: size, bytes: bytes.to_vec() }, |access| {
                    assert_eq!(cache.append(access, bytes).unwrap(), (size, bytes.len()));
                });
            }
            5 => self.change(journal, Change::SetLen { file, size: offset }, |access| {
                cache.set_len(access, offset).unwrap();
            }),
            6 | 7 => journal.ask(|| {
                cache.sync(&self.access(), bytes[0] & 1 == 0).unwrap();
                (Request { syncs: vec![file], ..Request::default() }, ())
            }),
            _ => {
                let read = cache.read(&self.access(), offset, length).unwrap();
                let expected = &self.model.bytes[self.model.bytes.len().min(offset as usize)..];
                assert!(read == expected[..expected.len().min(length)]);
            }
        }
    }
}

/// Works on three files of a cache, with writes that may wait or not; gives how many images were looked at.
fn images_of_cache(seed: u64, policy: &str, waits: bool) -> u64 {
    println!("seed {seed}, {policy}");
    let (cache, journal) = (FileCache::new(&settings(policy, 8 * 4096), None).unwrap(), Journal::default());
    if waits {
        cache.write_later();
    }
    let open = |file: Inode| {
        let source = Written { file, journal: journal.clone(), bytes: Mutex::default(), version: AtomicU64::new(0) };
        let number = cache.file(&format!("/{file}"), Kind::Datafile);
        cache.opened(number, &source).unwrap();
        Open { file, number, source: Arc::new(source), stream: Stream::default(), model: State::default() }
    };
    let (mut files, mut random) = ([1, 2, 3].map(open), Rng::new(seed));
    for _ in 0..60 {
        let file = &mut files[random.below(3) as usize];
        file.step(&cache, &journal, &mut random);
        if random.below(12) == 0 {
            journal.ask(|| {
                cache.write_out(file.number).unwrap();
                (Request { written: vec![file.file], ..Request::default() }, ())
            });
        }
    }
    images_are_right(&journal, 20, waits)
}

const POLICIES: [&str; 4] = ["lru", "arc", "virtual(lru)", "bypass(lru,output)"];

#[test]
fn what_the_cache_has_acknowledged_as_synced_is_there_after_every_end() {
    let images: u64 =
        (0..30).zip(POLICIES.iter().cycle()).map(|(seed, policy)| images_of_cache(seed, policy, false)).sum();
    println!("{images} images");
    assert!(images > 50_000, "only {images} images");
}

/// Data that was synced, or acknowledged as written, is present; each byte written later is an old one or a new one.
#[test]
fn so_it_is_where_writes_may_wait() {
    let images: u64 =
        (0..60).zip(POLICIES.iter().cycle()).map(|(seed, policy)| images_of_cache(seed, policy, true)).sum();
    println!("{images} images");
    assert!(images > 50_000, "only {images} images");
}

/// Two directories of a mount, and what they must hold.
struct Directories<'a> {
    at: [PathBuf; 2],
    inodes: [Inode; 2],
    names: [Names; 2],
    files: BTreeMap<Inode, State>,
    open: Vec<(File, Inode)>,
    journal: &'a Journal,
    random: Rng,
}

/// Files open at once.
const MOST_OPEN: usize = 4;

impl Directories<'_> {
    fn new(stacked: &Stacked, seed: u64) -> Directories<'_> {
        let at = ["a", "b"].map(|name| stacked.mount.at(name));
        let journal = stacked.below.journal();
        let inodes = [0, 1].map(|number: usize| {
            journal.ask(|| {
                fs::create_dir(&at[number]).unwrap();
                let (inode, name) = (inode(&at[number]), ["a", "b"][number].to_owned());
                (names(below::ROOT, &[(name, Some(inode))]), inode)
            })
        });
        let (names, files) = Default::default();
        Directories { at, inodes, names, files, open: Vec::new(), journal, random: Rng::new(seed) }
    }

    /// A change of names in one of the directories.
    fn name(&mut self, directory: usize, changed: &[(String, Option<Inode>)]) -> Request {
        for (name, inode) in changed.iter().cloned() {
            match inode {
                Some(inode) => drop(self.names[directory].insert(name, inode)),
                None => drop(self.names[directory].remove(&name)),
            }
        }
        names(self.inodes[directory], changed)
    }

    /// A directory, and one of its names, if it has one.
    fn any_name(&mut self) -> (usize, Option<String>) {
        let directory = self.random.below(2) as usize;
        let names = &self.names[directory];
        let number = self.random.below(names.len().max(1) as u32) as usize;
        (directory, names.keys().nth(number).cloned())
    }

    fn create(&mut self) {
        let (directory, name) = (self.random.below(2) as usize, format!("n{}", self.random.below(6)));
        if self.names[directory].contains_key(&name) {
            return;
        }
        let (journal, path) = (self.journal, self.at[directory].join(&name));
        if self.random.below(5) == 0 {
            return journal.ask(|| {
                fs::create_dir(&path).unwrap();
                (self.name(directory, &[(name, Some(inode(&path)))]), ())
            });
        }
        let (file, inode) = journal.ask(|| {
            let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
            let inode = inode(&path);
            (self.name(directory, &[(name, Some(inode))]), (file, inode))
        });
        self.files.insert(inode, State::default());
        if self.open.len() == MOST_OPEN {
            self.close();
        }
        self.open.push((file, inode));
    }

    /// Closes the file that was opened first: data written to it has then reached the source, unless the file is gone.
    fn close(&mut self) {
        let (file, inode) = self.open.remove(0);
        let has_name = self.names.iter().any(|names| names.values().any(|&named| named == inode));
        self.journal.ask(|| {
            drop(file);
            (Request { written: has_name.then_some(inode).into_iter().collect(), ..Request::default() }, ())
        });
    }

    fn rename_or_link(&mut self, links: bool) {
        let ((from, Some(name)), to) = (self.any_name(), self.random.below(2) as usize) else { return };
        let (journal, new) = (self.journal, format!("n{}", self.random.below(6)));
        let inode = self.names[from][&name];
        let target = self.names[to].get(&new).copied();
        let is_file = |inode| self.files.contains_key(&inode);
        if !is_file(inode) || target == Some(inode) || target.is_some_and(|target| links || !is_file(target)) {
            return;
        }
        let [old, at] = [self.at[from].join(&name), self.at[to].join(&new)];
        journal.ask(|| {
            let given = (new, Some(inode));
            if links {
                fs::hard_link(old, at).unwrap();
                return (self.name(to, &[given]), ());
            }
            fs::rename(old, at).unwrap();
            if from == to {
                return (self.name(to, &[(name, None), given]), ());
            }
            let [mut both, taken] = [self.name(to, &[given]), self.name(from, &[(name, None)])];
            both.changes.extend(taken.changes);
            (both, ())
        });
    }

    fn remove(&mut self) {
        let (directory, Some(name)) = self.any_name() else { return };
        let (journal, path) = (self.journal, self.at[directory].join(&name));
        let is_file = self.files.contains_key(&self.names[directory][&name]);
        journal.ask(|| {
            if is_file {
                fs::remove_file(path).unwrap()
            } else {
                fs::remove_dir(path).unwrap()
            }
            (self.name(directory, &[(name, None)]), ())
        });
    }

    fn sync_names(&mut self) {
        let directory = self.random.below(2) as usize;
        self.journal.ask(|| {
            File::open(&self.at[directory]).unwrap().sync_all().unwrap();
            (Request { syncs: vec![self.inodes[directory]], ..Request::default() }, ())
        });
    }

    /// Something is done to a file that is open.
    fn use_file(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let random = &mut self.random;
        let (open, file) = &self.open[random.below(self.open.len() as u32) as usize];
        let (file, path) = (*file, format!("/proc/self/fd/{}", open.as_raw_fd()));
        let model = self.files.get_mut(&file).unwrap();
        let (offset, length) = (u64::from(random.below(20_000)), 1 + random.below(40_000) as usize);
        let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        let write = Change::Write { file, offset, bytes: bytes.clone() };
        let one = |change: Change, is_synced: bool| Request {
            changes: vec![change],
            syncs: is_synced.then_some(file).into_iter().collect(),
            written: Vec::new(),
        };
        let request = match random.below(10) {
            0..3 => self.journal.ask(|| {
                open.write_all_at(&bytes, offset).unwrap();
                (one(write.clone(), false), Some(write))
            }),
            // One write that is synced, and a file that is opened for such.
            3 => self.journal.ask(|| {
                let done = rustix::io::pwritev2(open, &[IoSlice::new(&bytes)], offset, ReadWriteFlags::DSYNC);
                assert_eq!(done, Ok(length));
                (one(write.clone(), true), Some(write))
            }),
            4 => {
                let flags = if length & 1 == 0 { OFlags::SYNC } else { OFlags::DSYNC };
                let synced = File::options().write(true).custom_flags(flags.bits() as i32).open(path).unwrap();
                self.journal.ask(|| {
                    synced.write_all_at(&bytes, offset).unwrap();
                    (one(write.clone(), true), Some(write))
                })
            }
            5 if model.bytes.len() < 100_000 => {
                let mut end = File::options().append(true).open(path).unwrap();
                let change = Change::Write { file, offset: model.bytes.len() as u64, bytes: bytes.clone() };
                self.journal.ask(|| {
                    end.write_all(&bytes).unwrap();
                    (one(change.clone(), false), Some(change))
                })
            }
            6 => {
                let change = Change::SetLen { file, size: offset };
                self.journal.ask(|| {
                    open.set_len(offset).unwrap();
                    (one(change.clone(), false), Some(change))
                })
            }
            // A close through a handle without writes, too.
            7 | 8 => {
                let other = File::open(path).unwrap();
                self.journal.ask(|| {
                    let synced = if length & 1 == 0 { open.sync_data() } else { other.sync_all() };
                    synced.unwrap();
                    (Request { syncs: vec![file], ..Request::default() }, None)
                })
            }
            _ => {
                let mut read = vec![0; length];
                let done = FileExt::read_at(open, &mut read, offset).unwrap();
                let expected = &model.bytes[model.bytes.len().min(offset as usize)..];
                assert!(read[..done] == expected[..expected.len().min(length)]);
                None
            }
        };
        request.iter().for_each(|change| model.apply(change));
    }

    fn step(&mut self) {
        match self.random.below(14) {
            0 | 1 => self.create(),
            2 => self.rename_or_link(false),
            3 => self.rename_or_link(true),
            4 => self.remove(),
            5 | 6 => self.sync_names(),
            _ => self.use_file(),
        }
    }
}

fn inode(path: &Path) -> Inode {
    fs::metadata(path).unwrap().ino()
}

fn names(directory: Inode, names: &[(String, Option<Inode>)]) -> Request {
    Request { changes: vec![Change::Name { directory, names: names.to_vec() }], ..Request::default() }
}

/// Works in two directories of a mount; gives how many images were looked at, none where nothing can be mounted.
fn images_of_mount(seed: u64, blocks: u64, options: &Options) -> Option<u64> {
    println!("seed {seed}, {:?}, {blocks} blocks", options.mode);
    let stacked = Stacked::new(blocks, options.clone())?;
    let mut directories = Directories::new(&stacked, seed);
    for _ in 0..120 {
        directories.step();
    }
    drop(directories);
    let images = images_are_right(stacked.below.journal(), 8, options.write_back.is_some());
    stacked.stop();
    Some(images)
}

#[test]
fn what_a_mount_has_acknowledged_as_synced_is_there_after_every_end() {
    let mut images = 0;
    for (mode, blocks) in [(Mode::Strict, 16), (Mode::Fast, 16), (Mode::Strict, 0), (Mode::Steered, 0)] {
        for seed in 0..6 {
            let Some(more) = images_of_mount(seed, blocks, &options(mode)) else { return };
            images += more;
        }
    }
    println!("{images} images");
    assert!(images > 20_000, "only {images} images");
}

/// Write-back does not lose it either; data written before a close has reached the source with the close.
#[test]
fn so_has_one_in_which_writes_wait() {
    let mut images = 0;
    for mode in [Mode::Strict, Mode::Fast] {
        for (seed, millis) in (0..10).zip([2, 30, 5000].into_iter().cycle()) {
            let options = Options { write_back: Some(Duration::from_millis(millis)), ..options(mode) };
            let Some(more) = images_of_mount(seed, 16, &options) else { return };
            images += more;
        }
    }
    println!("{images} images");
    assert!(images > 10_000, "only {images} images");
}
