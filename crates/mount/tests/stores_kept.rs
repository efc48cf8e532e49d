//! Objects of a store that are written over through a mount, and what of them must stay. Needs /dev/fuse.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use hotset_mount::{Options, Staleness};
use hotset_store::PART;
use hotset_testkit::s3::{Fault, S3};
use rustix::io::Errno;

use support::mounted::{MODES, can_mount, options};
use support::pattern;
use support::stored::{LIMITS, Mount, close, errno, object, write};

/// Of a long object that is written anew from its begin what is not written yet is what it was, to the last byte.
#[test]
fn what_a_long_object_was_never_becomes_zeros() {
    if !can_mount() {
        return;
    }
    let (s3, long) = (S3::start(), 2 * PART + PART / 2);
    s3.put("data/f", pattern(1, long));
    let mut mount = Mount::new(s3, 0, options(MODES[0]), LIMITS);
    let open = || OpenOptions::new().read(true).write(true).open(mount.at("f")).unwrap();
    let is_old = || object(&mount.s3, "data/f").unwrap() == pattern(1, long);

    // Places in it, the last one included.
    let file = open();
    let written = (0..long).step_by(1 << 20).all(|at| file.write_all_at(&[7; 4096], at as u64).is_ok());
    assert!(!written && close(file).is_err() && is_old());
    // More than half, and then as long as it was: that changes nothing.
    let file = open();
    file.write_all_at(&pattern(2, 13 << 20), 0).unwrap();
    file.set_len(long as u64).unwrap();
    assert!(close(file).is_err() && is_old());
    // It keeps its length for the handle, and its previous content is not read as zeros.
    let mut file = open();
    file.write_all(&[7; 4096]).unwrap();
    assert_eq!(file.metadata().unwrap().len(), long as u64);
    assert!(file.read_at(&mut [0; 10], 1 << 20).is_err());
    assert_eq!(errno(file.set_len(long as u64 - 1)), Some(Errno::OPNOTSUPP));
    assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), long as u64);
    assert!(file.write_all(&pattern(3, PART)).is_err() && close(file).is_err() && is_old());
    // As a whole it can be written, and longer.
    let mut file = open();
    file.write_all(&pattern(4, long + 5)).unwrap();
    close(file).unwrap();
    assert!(object(&mount.s3, "data/f").unwrap() == pattern(4, long + 5));
    mount.stop();
}

/// A refused open has no later effect: the thread's next open has its own flags.
#[test]
fn what_was_replaced_behind_an_open_is_not_mixed_with_the_next() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/f", pattern(1, 6000));
    let mut mount = Mount::new(s3, 0, options(MODES[0]), LIMITS);
    fs::metadata(mount.at("f")).unwrap();
    mount.s3.put("data/f", pattern(2, 6000));
    let opened = OpenOptions::new().write(true).open(mount.at("f"));
    assert!(matches!(errno(opened), None | Some(Errno::STALE)));
    write(&mount.at("f"), b"ten bytes.").unwrap();
    assert_eq!(object(&mount.s3, "data/f").unwrap(), b"ten bytes.");
    assert_eq!(fs::read(mount.at("f")).unwrap(), b"ten bytes.");
    mount.stop();
}

/// It does not harm a writer that is not done either: only the opener takes the object over.
#[test]
fn an_open_that_is_refused_leaves_who_writes_alone() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/f", "old");
    let mut mount = Mount::new(s3, 0, options(MODES[0]), LIMITS);
    let mut file = File::create(mount.at("f")).unwrap();
    file.write_all(b"one ").unwrap();
    file.sync_all().unwrap();
    let read = File::open(mount.at("f")).unwrap();
    // The kernel looks no name up for such an open.
    let open_again = |file: &File| OpenOptions::new().append(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()));
    assert_eq!(errno(open_again(&read)), Some(Errno::STALE));
    file.write_all(b"two").unwrap();
    close(file).unwrap();
    assert_eq!(object(&mount.s3, "data/f").unwrap(), b"one two");
    // The thread's next look-up is for another file.
    ["data/g", "data/fresh"].into_iter().for_each(|name| mount.s3.put(name, "old"));
    let other = File::open(mount.at("g")).unwrap();
    mount.s3.put("data/g", "new");
    assert_eq!(errno(open_again(&other)), Some(Errno::STALE));
    assert_eq!(fs::read(mount.at("fresh")).unwrap(), b"old");
    drop((read, other));
    mount.stop();
}

/// A writer that is killed does not complete its object; one that ends does.
#[test]
fn what_a_killed_program_has_written_replaces_nothing() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/f", "the old one");
    let mut mount = Mount::new(s3, 64, options(MODES[0]), LIMITS);
    let path = mount.at("f");
    for (end, left) in [("kill -9 $$", "the old one"), ("kill -TERM $$", "the old one"), ("exit 3", "half")] {
        let script = format!("exec >{}; printf half; {end}", path.display());
        assert!(!Command::new("sh").args(["-c", &script]).status().unwrap().success());
        // The handle is closed a moment after the program has ended.
        assert_eq!(fs::read_to_string(&path).unwrap(), left, "{end}");
        assert_eq!(object(&mount.s3, "data/f").unwrap(), left.as_bytes(), "{end}");
    }
    mount.stop();
}

#[test]
fn what_has_no_name_is_one_of_those_that_can_be_open_and_in_nobodys_way() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 0, options(MODES[0]), LIMITS);
    let path = mount.at("log");
    let nameless = || {
        let mut file = File::create(&path)?;
        file.write_all(b"1")?;
        file.sync_all()?;
        fs::remove_file(&path)?;
        file.write_all(b"2").map(|()| file)
    };
    let open: Vec<File> = (0..128).map(|_| nameless().unwrap()).collect();
    assert_eq!(errno(nameless()), Some(Errno::MFILE));
    drop(open);
    while errno(nameless()) == Some(Errno::MFILE) {
        thread::sleep(Duration::from_millis(5));
    }
    let rotated = nameless().unwrap();
    write(&path, b"the next log").unwrap();
    close(rotated).unwrap();
    assert_eq!(object(&mount.s3, "data/log").unwrap(), b"the next log");
    mount.stop();
}

#[test]
fn the_first_write_that_is_refused_is_told_at_the_end_too() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/f", "1111111111");
    let mut mount = Mount::new(s3, 0, options(MODES[0]), LIMITS);
    let file = OpenOptions::new().read(true).write(true).open(mount.at("f")).unwrap();
    mount.s3.fail(|asked| (asked.method == "GET").then_some(Fault::Status(403)));
    assert_eq!(errno(file.write_all_at(b"AAAA", 0)), Some(Errno::ACCESS));
    mount.s3.fail(|_| None);
    assert!(file.write_all_at(b"BBBB", 4).is_err());
    let mut read = [0; 10];
    file.read_exact_at(&mut read, 0).unwrap();
    assert!(close(file).is_err() && &read == b"1111111111");
    assert_eq!(object(&mount.s3, "data/f").unwrap(), b"1111111111");
    mount.stop();
}

#[test]
fn what_was_sent_can_be_cut_to_nothing_and_written_anew() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 64, options(MODES[0]), LIMITS);
    let mut file = File::create(mount.at("f")).unwrap();
    file.write_all(&pattern(1, 2 * PART)).unwrap();
    file.sync_all().unwrap();
    assert!(object(&mount.s3, "data/f").unwrap() == pattern(1, 2 * PART));
    file.set_len(0).unwrap();
    file.write_all_at(b"anew", 0).unwrap();
    close(file).unwrap();
    assert_eq!(fs::read(mount.at("f")).unwrap(), b"anew");
    assert_eq!(object(&mount.s3, "data/f").unwrap(), b"anew");
    mount.stop();
}

/// An append to an object that is cached as missing makes the kernel look it up again, and opens it.
#[test]
fn what_another_program_has_just_made_is_appended_to() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/d/other", "1");
    let staleness = Staleness::For(Duration::from_secs(60));
    let mut mount = Mount::new(s3, 0, Options { staleness, ..options(MODES[0]) }, LIMITS);
    assert_eq!(fs::read_dir(mount.at("d")).unwrap().count(), 1);
    mount.s3.put("data/d/log", "1\n");
    let mut log = OpenOptions::new().append(true).create(true).open(mount.at("d/log")).unwrap();
    log.write_all(b"2\n").unwrap();
    close(log).unwrap();
    assert_eq!(object(&mount.s3, "data/d/log").unwrap(), b"1\n2\n");
    mount.stop();
}
