//! A mount with write-back: when data reaches the source, and which caller gets the error if it cannot. Needs
//! /dev/fuse, and root where calls fail.

#[allow(dead_code, reason = "a part is enough here")]
mod below;
#[allow(dead_code, reason = "nothing crashes here")]
mod crash;
mod support;

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hotset_mount::{Mode, Options, Staleness};
use rustix::fs::{OFlags, SeekFrom};

use below::Stacked;
use below::faults::{Call, EIO, ENOSPC};
use support::mounted::{MODES, Mount, can_mount, options};
use support::pattern;

/// Nothing is written for having waited.
const LONG: Duration = Duration::from_secs(3600);

/// A test that starts a program closes the open files in it, which writes: no two tests at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn later(mode: Mode) -> Options {
    Options { write_back: Some(LONG), ..options(mode) }
}

fn mounts() -> impl Iterator<Item = Mount> {
    let able = can_mount();
    MODES.into_iter().filter(move |_| able).map(|mode| {
        println!("{mode:?}");
        Mount::new("lru", 64, later(mode))
    })
}

fn close(file: File) -> io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

impl Mount {
    fn new_file(&self) -> File {
        File::options().read(true).write(true).create(true).truncate(true).open(self.at("f")).unwrap()
    }

    /// The content of the source.
    fn there(&self) -> Vec<u8> {
        fs::read(self.source("f")).unwrap()
    }

    fn bytes_written(&self) -> u64 {
        self.cache.as_ref().unwrap().counts().1.bytes_written
    }
}

#[test]
fn what_waits_is_in_the_source_once_somebody_asks_for_it() {
    let _alone = alone();
    type Ask = fn(&Mount, &File);
    let asks: [(&str, Ask); 8] = [
        ("fsync", |_, file| file.sync_all().unwrap()),
        ("fdatasync", |_, file| file.sync_data().unwrap()),
        ("fstat", |_, file| assert_eq!(file.metadata().unwrap().len(), 70_000)),
        ("stat", |mount, _| assert_eq!(fs::metadata(mount.at("f")).unwrap().len(), 70_000)),
        ("chmod", |mount, _| fs::set_permissions(mount.at("f"), Permissions::from_mode(0o444)).unwrap()),
        ("close of another handle", |mount, _| {
            close(File::options().write(true).open(mount.at("f")).unwrap()).unwrap();
        }),
        ("lseek", |_, file| assert_eq!(rustix::fs::seek(file, SeekFrom::Hole(0)).unwrap(), 70_000)),
        ("a synced write", |mount, _| {
            let flags = OFlags::DSYNC.bits() as i32;
            let synced = File::options().write(true).custom_flags(flags).open(mount.at("f")).unwrap();
            synced.write_all_at(&pattern(1, 10), 0).unwrap();
        }),
    ];
    for mut mount in mounts() {
        for (name, ask) in asks {
            let file = mount.new_file();
            for start in (0..70_000).step_by(700) {
                file.write_all_at(&pattern(1, 70_000)[start..start + 700], start as u64).unwrap();
            }
            assert!(mount.there().is_empty(), "{name}: it waits");
            let mut read = Vec::new();
            File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)))
                .unwrap()
                .read_to_end(&mut read)
                .unwrap();
            assert!(read == pattern(1, 70_000), "{name}: others read it");
            ask(&mount, &file);
            assert!(mount.there() == pattern(1, 70_000), "{name}");
            close(file).unwrap();
            fs::remove_file(mount.at("f")).unwrap();
        }
        mount.stop();
    }
}

#[test]
fn a_close_writes_and_times_that_are_set_stay() {
    let _alone = alone();
    for mut mount in mounts() {
        let file = mount.new_file();
        file.write_all_at(&pattern(1, 5000), 0).unwrap();
        let then = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        file.set_modified(then).unwrap();
        close(file).unwrap();
        assert!(mount.there() == pattern(1, 5000));
        for path in [mount.at("f"), mount.source("f")] {
            assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), then);
        }
        // A change of data is a change of its time, whichever handle asks for it first.
        let file = File::options().write(true).open(mount.at("f")).unwrap();
        file.write_all_at(&[1], 0).unwrap();
        assert!(fs::metadata(mount.at("f")).unwrap().modified().unwrap() > then);
        file.write_all_at(&[2], 1).unwrap();
        close(file).unwrap();
        let [told, is] = [mount.at("f"), mount.source("f")].map(|path| fs::metadata(path).unwrap());
        assert_eq!((told.mtime(), told.mtime_nsec()), (is.mtime(), is.mtime_nsec()));
        mount.stop();
    }
}

#[test]
fn what_is_appended_mapped_cut_or_renamed_is_what_it_is_anywhere() {
    let _alone = alone();
    for mut mount in mounts() {
        let file = mount.new_file();
        file.write_all_at(&[1; 1000], 0).unwrap();
        File::options().append(true).open(mount.at("f")).unwrap().write_all(&[2; 1000]).unwrap();
        file.write_all_at(&[3; 500], 1800).unwrap();
        file.set_len(2100).unwrap();
        file.write_all_at(&[4; 10], 3000).unwrap();
        fs::set_permissions(mount.at("f"), Permissions::from_mode(0o400)).unwrap();
        file.write_all_at(&[5; 10], 2500).unwrap();
        fs::rename(mount.at("f"), mount.at("g")).unwrap();
        file.write_all_at(&[6; 10], 0).unwrap();
        close(file).unwrap();
        let mut model = vec![0; 3010];
        for (range, byte) in
            [(0..1000, 1), (1000..1800, 2), (1800..2100, 3), (3000..3010, 4), (2500..2510, 5), (0..10, 6)]
        {
            model[range].fill(byte);
        }
        assert!(fs::read(mount.source("g")).unwrap() == model && fs::read(mount.at("g")).unwrap() == model);
        mount.stop();
    }
}

/// A rename removes the replaced file, so the dirty data of the new one must be written before.
#[test]
fn a_rename_writes_first() {
    let _alone = alone();
    for mut mount in mounts() {
        fs::write(mount.source("g"), "old").unwrap();
        let file = mount.new_file();
        file.write_all_at(&pattern(1, 5000), 0).unwrap();
        fs::rename(mount.at("f"), mount.at("g")).unwrap();
        assert!(fs::read(mount.source("g")).unwrap() == pattern(1, 5000));
        close(file).unwrap();
        mount.stop();
    }
}

/// The kernel believes that there is none.
#[test]
fn a_file_that_is_found_where_one_was_to_be_made_is_cut() {
    let _alone = alone();
    for mode in MODES.into_iter().filter(|_| can_mount()) {
        let options = Options { staleness: Staleness::For(Duration::MAX), ..later(mode) };
        let mut mount = Mount::new("lru", 64, options);
        let file = mount.new_file();
        assert!(!mount.at("found").exists());
        file.write_all_at(&pattern(2, 9000), 0).unwrap();
        fs::hard_link(mount.source("f"), mount.source("found")).unwrap();
        let found = File::create(mount.at("found")).unwrap();
        assert_eq!(fs::metadata(mount.at("found")).unwrap().len(), 0);
        close(file).unwrap();
        close(found).unwrap();
        assert!(mount.there().is_empty(), "{mode:?}");
        mount.stop();
    }
}

/// One of two names goes, and the source does not say that the other is left.
#[test]
fn what_waits_is_written_where_nobody_knows_whether_it_has_a_name() {
    let _alone = alone();
    for mode in MODES {
        let Some(stacked) = Stacked::new(64, later(mode)) else { return };
        let file = File::options().read(true).write(true).create_new(true).open(stacked.mount.at("f")).unwrap();
        fs::hard_link(stacked.mount.at("f"), stacked.mount.at("g")).unwrap();
        file.write_all_at(&pattern(1, 3000), 0).unwrap();
        stacked.below.faults().fail_after(Call::Unlink, Call::Stamp, EIO);
        fs::remove_file(stacked.mount.at("f")).unwrap();
        assert!(!stacked.below.faults().waits(), "it has been asked");
        close(file).unwrap();
        assert!(fs::read(stacked.mount.at("g")).unwrap() == pattern(1, 3000), "{mode:?}");
        stacked.stop();
    }
}

#[test]
fn what_is_deleted_before_it_is_written_never_is() {
    let _alone = alone();
    // In fast mode the kernel asks for attributes before it reads, which writes.
    for mut mount in mounts().take(1) {
        let before = mount.bytes_written();
        let file = mount.new_file();
        file.write_all_at(&pattern(1, 50_000), 0).unwrap();
        fs::remove_file(mount.at("f")).unwrap();
        let mut read = vec![0; 50_000];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == pattern(1, 50_000));
        close(file).unwrap();
        let cut = mount.new_file();
        cut.write_all_at(&pattern(1, 50_000), 0).unwrap();
        drop(mount.new_file());
        drop(cut);
        assert_eq!((mount.bytes_written(), mount.there().len()), (before, 0));
        mount.stop();
    }
}

#[test]
fn what_has_waited_for_long_enough_is_written() {
    let _alone = alone();
    if !can_mount() {
        return;
    }
    let options = Options { write_back: Some(Duration::from_millis(50)), ..options(Mode::Strict) };
    let mut mount = Mount::new("lru", 64, options);
    let file = mount.new_file();
    file.write_all_at(&pattern(1, 5000), 0).unwrap();
    while mount.there() != pattern(1, 5000) {
        thread::sleep(Duration::from_millis(5));
    }
    drop(file);
    mount.stop();
}

/// Each sync or close gets the error until the data is written, and the data is there afterwards.
#[test]
fn what_cannot_be_written_is_told_by_writes_syncs_and_closes() {
    let _alone = alone();
    for mode in MODES {
        let Some(stacked) = Stacked::new(64, later(mode)) else { return };
        let (at, faults) = (stacked.mount.at("f"), stacked.below.faults());
        let file = File::options().read(true).write(true).create_new(true).open(&at).unwrap();
        let other = File::options().write(true).open(&at).unwrap();
        for error in [ENOSPC, EIO] {
            let is = |done: io::Result<()>| assert_eq!(done.unwrap_err().raw_os_error(), Some(error), "{mode:?}");
            file.write_all_at(&pattern(1, 3000), 0).unwrap();
            faults.fail_next(Call::Write, error);
            is(file.sync_all());
            let length = fs::metadata(&at).unwrap().len();
            assert_eq!(length, if error == ENOSPC { 3000 } else { 4010 }, "it is written by now");
            file.write_all_at(&pattern(2, 3000), 0).unwrap();
            faults.fail_next(Call::Write, error);
            is(close(other.try_clone().unwrap()));
            faults.fail_next(Call::Write, error);
            is(file.write_all_at(&[7; 10], 4000));
            let mut read = vec![0; 3000];
            file.read_exact_at(&mut read, 0).unwrap();
            assert!(read == pattern(2, 3000));
            file.write_all_at(&[7; 10], 4000).unwrap();
            file.sync_all().unwrap();
        }
        close(file).unwrap();
        close(other).unwrap();
        assert!(fs::read(&at).unwrap() == [pattern(2, 3000), vec![0; 1000], vec![7; 10]].concat());
        stacked.stop();
    }
}

/// It would run with rights that the write takes away.
#[test]
fn what_cannot_be_written_is_not_executed() {
    let _alone = alone();
    for mode in MODES {
        let Some(stacked) = Stacked::new(64, later(mode)) else { return };
        let (at, faults) = (stacked.mount.at("f"), stacked.below.faults());
        let file = File::create_new(&at).unwrap();
        file.write_all_at(&[&b"#!/bin/true\n"[..], &[0; 9000]].concat(), 0).unwrap();
        file.sync_all().unwrap();
        // Data read first is present.
        file.write_all_at(&[1; 10], 8192).unwrap();
        faults.fail_each(Call::Write, ENOSPC);
        assert_eq!(close(file).unwrap_err().raw_os_error(), Some(ENOSPC));
        let run = || Command::new(&at).status();
        assert_eq!(run().unwrap_err().raw_os_error(), Some(ENOSPC), "{mode:?}");
        faults.end();
        assert!(run().unwrap().success());
        stacked.stop();
    }
}
