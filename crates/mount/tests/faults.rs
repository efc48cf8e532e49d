//! Whichever call of the source fails, falters or takes long: no wrong bytes, no hang, no panic, and the caller gets
//! the error. The cache alone, and a mount of a file system in memory of which every call may fail, those for names and
//! attributes too (`below/mod.rs`; needs /dev/fuse and root). The seeds are printed.

#[allow(dead_code, reason = "nothing crashes here")]
mod below;
#[allow(dead_code, reason = "nothing crashes here")]
mod crash;
#[path = "../../cache/tests/model/mod.rs"]
mod model;
mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use hotset_cache::Status;
use hotset_cache::source::{Source, Stamp};
use hotset_core::random::Rng;
use hotset_mount::{Mode, Options, Staleness};

use below::faults::{Call, EIO, ENOSPC, ERRORS, Fault, Faults};
use below::{Below, Stacked};
use crash::{Inode, Names};
use model::cached::Cached;
use model::{exercise, steps};
use support::memory;
use support::mounted::{MODES, options};

/// So long nothing here takes, however busy the machine is.
const HANGS: Duration = Duration::from_secs(180);

/// So many seeds: always the same, or those from `HOTSET_SEED` on.
fn seeds(count: u64) -> Range<u64> {
    let first = std::env::var("HOTSET_SEED").map_or(0, |seed| seed.parse().expect("HOTSET_SEED is a number"));
    first..first + count
}

/// Does something that may hang.
fn watched(what: &str, work: impl FnOnce() + Send + 'static) {
    println!("{what}");
    let (tell, told) = channel();
    let working = thread::spawn(move || {
        work();
        tell.send(()).expect("somebody listens");
    });
    let hangs = told.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout);
    assert!(!hangs, "{what}: it hangs");
    if let Err(panic) = working.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A file of which every call may go wrong.
struct Disturbed(Arc<dyn Source>, Arc<Faults>);

impl Disturbed {
    /// How much of so many bytes is moved.
    fn length(&self, call: Call, length: usize) -> io::Result<usize> {
        match self.1.draw(call) {
            Some(Fault::Before(error) | Fault::After(error)) => Err(io::Error::from_raw_os_error(error)),
            Some(Fault::Short) => Ok(length.div_ceil(3)),
            None => Ok(length),
        }
    }
}

impl Source for Disturbed {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.length(Call::Read, buffer.len())?;
        self.0.read_at(&mut buffer[..length], offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let length = self.length(Call::Write, bytes.len())?;
        self.0.write_at(&bytes[..length], offset)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.length(Call::SetLen, 0)?;
        self.0.set_len(size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        self.length(Call::Stamp, 0)?;
        self.0.stamp()
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        self.length(Call::Sync, 0)?;
        self.0.sync(data_only)
    }
}

#[test]
fn the_cache_is_a_directory_of_byte_arrays_whatever_call_of_the_source_fails() {
    for seed in seeds(120) {
        watched(&format!("seed {seed}"), move || {
            let faults = Arc::new(Faults::default());
            faults.draw_from(seed, 4 + seed as u32 % 20, false);
            let disturbed = faults.clone();
            let mut cached = Cached::through(move |file| Arc::new(Disturbed(file, disturbed.clone())));
            exercise(&steps(seed, 400), &mut cached);
            assert!(faults.errors() > 3, "too little has failed");
        });
    }
}

#[test]
fn so_is_one_in_which_writes_wait() {
    for seed in seeds(120) {
        watched(&format!("seed {seed}"), move || {
            let faults = Arc::new(Faults::default());
            faults.draw_from(seed, 4 + seed as u32 % 20, false);
            let disturbed = faults.clone();
            let mut cached = Cached::through(move |file| Arc::new(Disturbed(file, disturbed.clone()))).later();
            exercise(&steps(seed, 400), &mut cached);
            cached.check_source();
            assert!(faults.errors() > 3, "too little has failed");
        });
    }
}

fn is(done: &io::Result<()>, error: i32) -> bool {
    done.as_ref().is_err_and(|found| found.raw_os_error() == Some(error))
}

/// Closes a file and tells what came of it.
fn close(file: File) -> io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

#[test]
fn each_call_that_fails_is_told_to_who_asked_for_it() {
    type Act = fn(&Path) -> io::Result<()>;
    let open = |at: &Path| File::options().read(true).write(true).open(at.join("f"));
    let acts: [(Call, Act); 16] = [
        (Call::LookUp, |at| fs::metadata(at.join("not looked at")).map(drop)),
        (Call::Create, |at| File::create_new(at.join("new")).map(drop)),
        (Call::MakeDirectory, |at| fs::create_dir(at.join("new directory"))),
        (Call::Link, |at| fs::hard_link(at.join("f"), at.join("linked"))),
        (Call::Rename, |at| fs::rename(at.join("f"), at.join("g"))),
        (Call::Unlink, |at| fs::remove_file(at.join("f"))),
        (Call::Unlink, |at| fs::remove_dir(at.join("d"))),
        (Call::List, |at| fs::read_dir(at)?.try_for_each(|entry| entry.map(drop))),
        (Call::SyncDirectory, |at| File::open(at)?.sync_all()),
        (Call::Open, |at| File::open(at.join("f")).map(drop)),
        (Call::Stamp, |at| File::open(at.join("f")).map(drop)),
        (Call::Read, |at| File::open(at.join("f"))?.read_exact_at(&mut [0; 9000], 5000)),
        (Call::Write, |at| File::options().write(true).open(at.join("f"))?.write_all_at(&[2; 9000], 5000)),
        (Call::Write, |at| File::options().append(true).open(at.join("f"))?.write_all(&[2; 9000])),
        (Call::SetLen, |at| File::options().write(true).open(at.join("f"))?.set_len(100)),
        (Call::SetLen, |at| File::options().write(true).truncate(true).open(at.join("f")).map(drop)),
    ];
    for (mode, blocks) in [(Mode::Strict, 16), (Mode::Fast, 16), (Mode::Strict, 0), (Mode::Steered, 0)] {
        let Some(stacked) = Stacked::new(blocks, options(mode)) else { return };
        let (at, faults) = (stacked.mount.at(""), stacked.below.faults());
        fs::write(at.join("f"), [1; 20_000]).unwrap();
        fs::create_dir(at.join("d")).unwrap();
        for error in [EIO, ENOSPC] {
            let check = |call: Call, done: io::Result<()>| {
                assert!(!faults.waits(), "{mode:?}, {blocks} blocks, {call:?}: it has not failed");
                // The kernel repeats a read for which its read-ahead failed.
                let may_succeed = call == Call::Read && mode != Mode::Strict && done.is_ok();
                assert!(
                    may_succeed || is(&done, error),
                    "{mode:?}, {blocks} blocks, {call:?}: {done:?} is not {error}"
                );
            };
            // Without a cache, an open does not read the file's stamp.
            for (call, act) in acts.into_iter().filter(|(call, _)| blocks > 0 || *call != Call::Stamp) {
                faults.fail_next(call, error);
                check(call, act(&at));
            }
            let file = open(&at).unwrap();
            for data_only in [true, false] {
                faults.fail_next(Call::Sync, error);
                check(Call::Sync, if data_only { file.sync_data() } else { file.sync_all() });
            }
            let flush = |file: File| {
                faults.fail_next(Call::Flush, error);
                close(file)
            };
            // A program that another test starts has the file, too, until it begins, and may receive the error instead.
            let again = (0..20).map(|_| flush(open(&at).unwrap()));
            let told = [flush(file)].into_iter().chain(again).find(|done| done.is_err());
            check(Call::Flush, told.unwrap_or(Ok(())));
        }
        assert_eq!(fs::read(at.join("f")).unwrap(), [1; 20_000], "nothing was done");
        assert_eq!(stacked.below.names(below::ROOT).into_keys().collect::<Vec<_>>(), ["d", "f"]);
        stacked.stop();
    }
}

/// A directory of a mount that one thread uses, and what is in it. What fails may have been done: then the file system
/// below knows.
struct Worker {
    at: PathBuf,
    below: Below,
    inode: Inode,
    /// Names whose last change failed are not used again: for a second the kernel may believe that they are what they
    /// were.
    names: Names,
    spoilt: Vec<String>,
    files: BTreeMap<Inode, Vec<u8>>,
    open: Vec<(File, Inode)>,
    random: Rng,
    named: u32,
    /// True if no other process uses the mount.
    is_alone: bool,
}

impl Worker {
    fn new(stacked: &Stacked, seed: u64, number: u64, is_alone: bool) -> Worker {
        let (at, below) = (stacked.mount.at(&number.to_string()), stacked.below.clone());
        fs::create_dir(&at).unwrap();
        let inode = fs::metadata(&at).unwrap().ino();
        let random = Rng::new(seed << 8 | number);
        let (names, spoilt, files, open) = Default::default();
        Worker { at, below, inode, names, spoilt, files, open, random, named: 0, is_alone }
    }

    /// Does something; gives what came of it, if it succeeded.
    fn call<T>(&self, what: &str, call: impl FnOnce() -> io::Result<T>) -> Option<T> {
        let before = self.below.faults().errors();
        let done = call();
        if let Err(error) = &done {
            // The standard library tries again what was interrupted; it may have been done.
            let is_repeated = what == "create" && error.kind() == io::ErrorKind::AlreadyExists;
            let is_ours = is_repeated || error.raw_os_error().is_some_and(|number| ERRORS.contains(&number));
            assert!(is_ours, "{what}: {error} is none of the source's");
            assert!(!self.is_alone || self.below.faults().errors() > before, "{what}: {error}, but nothing has failed");
        }
        done.ok()
    }

    fn any_name(&mut self) -> Option<(String, Inode)> {
        let number = self.random.below(self.names.len().max(1) as u32) as usize;
        self.names.iter().nth(number).map(|(name, inode)| (name.clone(), *inode))
    }

    fn new_name(&mut self) -> String {
        self.named += 1;
        format!("n{}", self.named)
    }

    /// Changes a name, or several.
    fn name(&mut self, what: &str, changed: &[(&str, Option<Inode>)], call: impl FnOnce() -> io::Result<()>) {
        let done = self.call(what, call);
        for &(name, inode) in changed {
            match (done, inode) {
                (Some(()), Some(inode)) => drop(self.names.insert(name.to_owned(), inode)),
                (Some(()), None) => drop(self.names.remove(name)),
                (None, _) => {
                    self.names.remove(name);
                    self.spoilt.push(name.to_owned());
                }
            }
        }
        let mut there = self.below.names(self.inode);
        there.retain(|name, _| !self.spoilt.contains(name));
        assert_eq!(there, self.names, "{what} {changed:?}");
    }

    fn keep_open(&mut self, file: File, inode: Inode) {
        if self.open.len() == 4 {
            let (file, _) = self.open.remove(0);
            self.call("close", || close(file));
        }
        self.open.push((file, inode));
    }

    fn create(&mut self) {
        let name = self.new_name();
        let path = self.at.join(&name);
        let made = self.call("create", || File::options().read(true).write(true).create_new(true).open(path));
        let Some(file) = made else { return self.spoilt.push(name) };
        let inode = self.below.names(self.inode)[&name];
        self.names.insert(name, inode);
        self.files.insert(inode, Vec::new());
        self.keep_open(file, inode);
    }

    fn open(&mut self) {
        let Some((name, inode)) = self.any_name() else { return };
        let path = self.at.join(name);
        let opened = self.call("open", || File::options().read(true).write(true).open(path));
        opened.into_iter().for_each(|file| self.keep_open(file, inode));
    }

    fn change_names(&mut self) {
        let (Some((name, inode)), new) = (self.any_name(), self.new_name()) else { return };
        let [old_path, new_path] = [self.at.join(&name), self.at.join(&new)];
        match self.random.below(4) {
            0 => self.name("unlink", &[(&name, None)], || fs::remove_file(old_path)),
            1 => self.name("link", &[(&new, Some(inode))], || fs::hard_link(old_path, new_path)),
            2 => {
                let target = self.any_name().filter(|(_, target)| *target != inode);
                let (target, _) = target.unwrap_or((new, inode));
                let path = self.at.join(&target);
                self.name("rename", &[(&name, None), (&target, Some(inode))], || fs::rename(old_path, path));
            }
            _ => {
                self.spoilt.push(new);
                self.name("mkdir", &[], || fs::create_dir(&new_path));
            }
        }
    }

    /// Reads, writes, cuts, syncs one of the open files.
    fn use_file(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let number = self.random.below(self.open.len() as u32) as usize;
        let (offset, length) = (u64::from(self.random.below(50_000)), 1 + self.random.below(40_000) as usize);
        let bytes: Vec<u8> = (0..length).map(|_| self.random.bits() as u8).collect();
        let kind = self.random.below(12);
        let (file, inode) = &self.open[number];
        let model = &self.files[inode];
        let mut after = model.clone();
        // What follows in what was to be written when less was.
        let mut unknown = 0..0;
        let mut write = |offset: usize, done: usize| {
            after.resize(after.len().max(offset + done), 0);
            after[offset..offset + done].copy_from_slice(&bytes[..done]);
            unknown = offset + done..offset + bytes.len();
        };
        let done = match kind {
            0..5 => {
                let mut read = vec![0; length];
                let expected = &model[model.len().min(offset as usize)..];
                let expected = &expected[..expected.len().min(length)];
                match self.call("read", || read_full(file, &mut read, offset)) {
                    Some(done) if read[..done] == *expected => {}
                    Some(done) => panic!("{done} bytes from {offset} on are not the {} of the file", expected.len()),
                    None => {}
                }
                return;
            }
            5..8 => {
                let done = self.call("write", || FileExt::write_at(file, &bytes, offset));
                done.iter().for_each(|&done| write(offset as usize, done));
                done.map(drop)
            }
            8 => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                let open = self.call("open", || File::options().append(true).open(path));
                let done = open.and_then(|mut open| self.call("append", || open.write(&bytes)));
                done.iter().for_each(|&done| write(model.len(), done));
                done.map(drop)
            }
            9 => {
                after.resize(offset as usize, 0);
                self.call("cut", || file.set_len(offset))
            }
            10 => self.call("sync", || file.sync_data()),
            _ => self.call("list", || fs::read_dir(&self.at)?.try_for_each(|entry| entry.map(drop))),
        };
        let there = self.below.bytes(*inode);
        let known = |bytes: &[u8]| {
            let [from, end] = [unknown.start, unknown.end].map(|place| place.min(bytes.len()));
            if unknown.is_empty() { bytes.to_vec() } else { [&bytes[..from], &bytes[end..]].concat() }
        };
        if done.is_some() {
            let sizes = (there.len(), after.len());
            assert!(known(&there) == known(&after), "{sizes:?} bytes, below and told, differ outside of {unknown:?}");
        }
        let inode = *inode;
        self.files.insert(inode, there);
    }

    fn work(mut self, count: u32) {
        for _ in 0..count {
            match self.random.below(12) {
                0 => self.create(),
                1 => self.open(),
                2 | 3 => self.change_names(),
                _ => self.use_file(),
            }
        }
    }
}

/// Reads until there is no more.
fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match FileExt::read_at(file, &mut buffer[done..], offset + done as u64)? {
            0 => break,
            more => done += more,
        }
    }
    Ok(done)
}

/// Has so many workers use a mount of which one call in `one_in` goes wrong.
fn disturb(seed: u64, options: Options, blocks: u64, workers: u64, one_in: u32) {
    let Some(stacked) = Stacked::new(blocks, options) else { return };
    let ready: Vec<Worker> = (0..workers).map(|number| Worker::new(&stacked, seed, number, workers == 1)).collect();
    // A write or cut that is reported as failed, but was performed, leaves the kernel below with an old size, at which
    // it appends. The cache asks for the size before.
    stacked.below.faults().draw_from(seed, one_in, blocks > 0);
    let working: Vec<_> = ready.into_iter().map(|worker| thread::spawn(|| worker.work(250))).collect();
    let ended: Vec<_> = working.into_iter().map(thread::JoinHandle::join).collect();
    stacked.below.faults().end();
    assert!(ended.iter().all(Result::is_ok), "a worker has found something");
    assert!(stacked.below.faults().errors() > 5, "too little has failed");
    if let Some(cache) = &stacked.mount.cache {
        assert!(!Status::of(cache).broken, "a thread has panicked");
    }
    stacked.stop();
}

#[test]
fn a_mount_is_a_directory_of_byte_arrays_whatever_call_of_the_source_fails() {
    for (workers, blocks) in [(1, 16), (4, 64), (1, 0)] {
        for mode in MODES {
            for seed in seeds(4) {
                let what = format!("seed {seed}, {mode:?}, {blocks} blocks, {workers} workers");
                watched(&what, move || disturb(seed, options(mode), blocks, workers, 12));
            }
        }
    }
}

#[test]
fn a_mount_that_believes_what_it_knows_is_one_too() {
    for (workers, blocks) in [(1, 16), (4, 64)] {
        for mode in MODES {
            for seed in seeds(3) {
                let what = format!("seed {seed}, {mode:?}, {blocks} blocks, {workers} workers, forever");
                let options = Options { staleness: Staleness::For(Duration::MAX), ..options(mode) };
                watched(&what, move || disturb(seed, options, blocks, workers, 12));
            }
        }
    }
}
