//! The same steps as in `modelled.rs`, through a mount. Needs /dev/fuse.

#[path = "../../cache/tests/model/mod.rs"]
mod model;
mod support;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hotset_core::policy::PolicySpec;
use hotset_mount::{Change, Mode, Options, PastCache, Staleness};

use model::{Subject, exercise, steps};
use support::memory;
use support::mounted::{MODES, Mount, can_mount, options};

/// A mount of a separate directory, the maximum age of its metadata, and the lock held where nothing may be dropped.
struct Mounted(Mount, Option<Duration>, Arc<Mutex<()>>);

impl Subject for Mounted {
    type Handle = File;

    fn open(&mut self, name: usize) -> File {
        let path = self.0.at(&name.to_string());
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        // The kernel asks for attributes again that were dropped while it asked, and until then reads as far as it
        // knew before: so it must have the new length of what was changed behind the mount before more is dropped.
        let _nothing_is_dropped = self.2.lock().unwrap();
        file.metadata().unwrap();
        file
    }

    fn read(&mut self, file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let (mut bytes, mut done) = (vec![0; length], 0);
        while done < length {
            match file.read_at(&mut bytes[done..], offset + done as u64)? {
                0 => break,
                more => done += more,
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    fn write(&mut self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        file.write_all_at(bytes, offset).map(|()| bytes.len())
    }

    /// It may have no name any more.
    fn append(&mut self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let again = File::options().append(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        io::Write::write_all(&mut &again, bytes).map(|()| bytes.len())
    }

    fn set_len(&mut self, file: &File, size: u64) -> io::Result<()> {
        file.set_len(size)
    }

    fn rename(&mut self, from: usize, to: usize) {
        fs::rename(self.0.at(&from.to_string()), self.0.at(&to.to_string())).unwrap();
    }

    fn unlink(&mut self, name: usize) {
        fs::remove_file(self.0.at(&name.to_string())).unwrap();
    }

    fn change_behind(&mut self, name: usize, bytes: &[u8]) {
        // Where writes wait both would be right otherwise.
        if let Some(cache) = &self.0.cache {
            cache.overdue(Duration::ZERO).into_iter().for_each(|file| cache.write_out(file).unwrap());
        }
        // Times of files have a grain.
        thread::sleep(Duration::from_millis(12));
        fs::write(self.0.source(&name.to_string()), bytes).unwrap();
        thread::sleep(self.1.unwrap_or_default());
    }

    fn reconfigure(&mut self, policy: Option<&str>, memory: Option<u64>) {
        let policy = policy.map(|policy| PolicySpec::parse(policy).unwrap());
        // Its blocks are larger than those of the cache alone. A scheme in parts may need more.
        if let Some(cache) = &self.0.cache {
            let _ = cache.reconfigure(memory.map(|memory| memory * 8), policy);
        }
    }

    fn validate(&mut self) {
        self.0.cache.iter().for_each(|cache| cache.validate());
    }
}

#[test]
fn a_mount_is_a_directory_of_byte_arrays() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        for seed in 1000..1010 {
            println!("{mode:?}, seed {seed}");
            let mut mounted = Mounted(Mount::new("lru", 8, options(mode)), None, Arc::default());
            exercise(&steps(seed, 300), &mut mounted);
            mounted.0.stop();
        }
    }
}

#[test]
fn so_is_one_in_which_writes_wait() {
    if !can_mount() {
        return;
    }
    for (mode, policy) in
        [(Mode::Strict, "lru"), (Mode::Fast, "lru"), (Mode::Strict, "render"), (Mode::Strict, "attribute")]
    {
        for (seed, millis) in (1020..1026).zip([3, 100_000].into_iter().cycle()) {
            println!("{mode:?}, {policy}, seed {seed}");
            let write_back = Some(Duration::from_millis(millis));
            // Some of them with cached attributes.
            let age = (seed % 3 == 0).then_some(Duration::from_millis(50));
            let staleness = age.map_or(Staleness::Open, Staleness::For);
            let options = Options { write_back, staleness, ..options(mode) };
            let mut mounted = Mounted(Mount::new(policy, 8, options), age, Arc::default());
            exercise(&steps(seed, 300), &mut mounted);
            mounted.0.stop();
            let risk = mounted.0.cache.as_ref().unwrap().at_risk().unwrap();
            assert_eq!(risk.waiting_bytes, 0, "all is closed");
        }
    }
}

#[test]
fn a_mount_that_believes_what_it_knows_is_one_after_that_time() {
    if !can_mount() {
        return;
    }
    let age = Duration::from_millis(50);
    for (mode, policy) in [(Mode::Strict, "lru"), (Mode::Fast, "lru"), (Mode::Strict, "attribute")] {
        for seed in 1010..1014 {
            println!("{mode:?}, {policy}, seed {seed}");
            let options = Options { staleness: Staleness::For(age), ..options(mode) };
            let mut mounted = Mounted(Mount::new(policy, 8, options), Some(age), Arc::default());
            exercise(&steps(seed, 300), &mut mounted);
            mounted.0.stop();
        }
    }
}

/// Pages are dropped anywhere at any time: of the reported files, within the reported sizes.
#[test]
fn so_is_one_whose_pages_are_dropped_while_it_is_used() {
    if !can_mount() {
        return;
    }
    for seed in 1030..1038 {
        println!("seed {seed}");
        let (tell, told) = channel();
        let options = Options { told: Some(tell), ..options(Mode::Steered) };
        let mount = Mount::with_store("lru", 0, options, Arc::new(PastCache));
        let (dropper, is_used) = (mount.dropper.clone(), Arc::<Mutex<()>>::default());
        let may_drop = is_used.clone();
        let dropping = thread::spawn(move || {
            let mut sizes = HashMap::new();
            for turn in 0.. {
                match told.recv_timeout(Duration::from_micros(200)) {
                    Ok(Change::Is { inode, bytes, .. }) => _ = sizes.insert(inode, bytes),
                    Ok(Change::Gone { inode }) => _ = sizes.remove(&inode),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return turn,
                }
                let _turn = may_drop.lock().unwrap();
                for (&inode, bytes) in &sizes {
                    let first = (turn * 2_654_435_761 + inode) % (bytes / 4096 + 1) * 4096;
                    // A drop that fails is repeated in a later turn.
                    let _ = dropper.drop_bytes(inode, first..first + 8192);
                }
            }
            unreachable!("events arrive until the mount ends")
        });
        let mut mounted = Mounted(mount, None, is_used);
        exercise(&steps(seed, 300), &mut mounted);
        mounted.0.stop();
        assert!(dropping.join().unwrap() > 10, "nothing was dropped");
    }
}
