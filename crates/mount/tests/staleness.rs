//! For how long the source is not asked again, and what is noticed at once all the same. Needs /dev/fuse and root.

#[allow(dead_code, reason = "nothing fails here")]
mod below;
#[allow(dead_code, reason = "nothing crashes here")]
mod crash;
mod support;

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::Status;
use hotset_mount::{FILE_VALIDITY, Mode, Options, Staleness, VALIDITY};

use below::Stacked;
use support::mounted::{MODES, Mount, can_mount};
use support::pattern;

const FOREVER: Staleness = Staleness::For(Duration::MAX);

/// The maximum age in tests that wait until it has passed.
const SHORT: Duration = Duration::from_millis(300);

fn options(mode: Mode, staleness: Staleness) -> Options {
    Options { mode, staleness, ..Options::default() }
}

const FILES: usize = 20;

/// Looks at everything in the ways of programs: lists, stats, reads to the end, and looks for what does not exist.
fn look(at: &Path) {
    let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), FILES);
    for name in names {
        assert_eq!(fs::metadata(at.join(&name)).unwrap().len(), 3000);
        assert!(fs::metadata(at.join(&name).with_extension("none")).is_err());
        let mut file = File::open(at.join(&name)).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes.len(), file.metadata().unwrap().len()), (3000, 3000));
    }
}

/// Calls of the source that looking at everything once more costs.
fn again(mode: Mode, staleness: Staleness) -> Option<u64> {
    let stacked = Stacked::new(64, options(mode, staleness))?;
    for number in 0..FILES {
        fs::write(stacked.mount.at(&format!("f{number}")), pattern(number as u64, 3000)).unwrap();
    }
    if staleness == Staleness::Adaptive {
        // A file that was just changed is read again at each open.
        thread::sleep(Duration::from_secs(2));
    }
    // A file that was just written is checked once more, and so is one that was just read for the first time.
    look(&stacked.mount.at(""));
    let mut calls = None;
    for _ in 0..20 {
        let began = Instant::now();
        look(&stacked.mount.at(""));
        let before = stacked.below.faults().calls();
        look(&stacked.mount.at(""));
        calls = Some(stacked.below.faults().calls() - before);
        // On a busy machine what the first of the two has asked may be too old for the second.
        if staleness == FOREVER || began.elapsed() < VALIDITY {
            break;
        }
        calls = None;
    }
    let calls = calls.expect("two looks at a few files take less than a second once in twenty times");
    let counted = Status::of(stacked.mount.cache.as_ref().unwrap()).metadata;
    stacked.stop();
    if staleness == Staleness::Adaptive {
        // The first open in the third look is the second of its kind: one keeps what the next finds.
        assert!(counted.opens.known >= FILES as u64 && counted.kept_open > FILES as u64, "{counted:?}");
    } else if staleness == FOREVER {
        assert!(counted.opens.known >= FILES as u64 && counted.kept > FILES as u64, "{counted:?}");
        assert!(counted.kept_open > FILES as u64, "{counted:?}");
    } else {
        assert_eq!((counted.opens.known, counted.attributes.known, counted.kept), (0, 0, 0), "{counted:?}");
    }
    Some(calls)
}

#[test]
fn what_was_asked_is_not_asked_again() {
    for mode in MODES {
        let Some(calls) = again(mode, FOREVER) else { return };
        assert_eq!(calls, 0, "{mode:?}");
        let usual = again(mode, Staleness::Open).unwrap();
        assert!(
            usual >= 3 * FILES as u64,
            "{mode:?}: an open, its attributes, and a name that does not exist: {usual}"
        );
        // One for each open: the file's attributes, which say that it is what it was.
        let checks = again(mode, Staleness::Adaptive).unwrap();
        assert_eq!(checks, FILES as u64 + 1, "{mode:?}: an open of each file and of the directory");
        let each = again(mode, Staleness::Revalidate).unwrap();
        assert!(each > usual, "{mode:?}: {each} calls are not more than {usual}");
    }
}

/// Waits until no cached metadata is valid.
fn wait() {
    thread::sleep(SHORT + Duration::from_millis(20));
}

#[test]
fn what_was_asked_is_asked_again_after_a_while() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("lru", 64, options(mode, Staleness::For(SHORT)));
        fs::create_dir(mount.source("d")).unwrap();
        fs::write(mount.source("d/f"), pattern(1, 10_000)).unwrap();
        let names = || fs::read_dir(mount.at("d")).unwrap().count();
        let size = |name: &str| fs::metadata(mount.at(name)).map(|about| about.len()).map_err(|error| error.kind());
        assert_eq!(fs::read(mount.at("d/f")).unwrap(), pattern(1, 10_000));
        assert_eq!((names(), size("d/new")), (1, Err(ErrorKind::NotFound)));
        fs::write(mount.source("d/f"), pattern(2, 20_000)).unwrap();
        fs::write(mount.source("d/new"), "new").unwrap();
        wait();
        assert_eq!((size("d/f"), size("d/new"), names()), (Ok(20_000), Ok(3), 2), "{mode:?}");
        assert!(fs::read(mount.at("d/f")).unwrap() == pattern(2, 20_000), "{mode:?}");
        // As large as before, so that only times tell.
        fs::write(mount.source("d/f"), pattern(3, 20_000)).unwrap();
        fs::remove_file(mount.source("d/new")).unwrap();
        wait();
        assert!(fs::read(mount.at("d/f")).unwrap() == pattern(3, 20_000), "{mode:?}");
        assert_eq!((size("d/new"), names()), (Err(ErrorKind::NotFound), 1), "{mode:?}");
        mount.stop();
    }
}

/// Waits until a name that was looked up is checked again.
fn until_checked() {
    thread::sleep(VALIDITY + Duration::from_millis(20));
}

/// A mount whose names are checked at each open, and files `f` and `g` in it that have been opened twice.
fn adaptive(mode: Mode) -> Mount {
    let mount = Mount::new("lru", 64, options(mode, Staleness::Adaptive));
    for name in ["f", "g"] {
        fs::write(mount.source(name), pattern(1, 9000)).unwrap();
    }
    // A file that was just changed is read again at each open.
    thread::sleep(Duration::from_secs(2));
    for name in ["f", "g", "f", "g"] {
        assert_eq!(fs::read(mount.at(name)).unwrap(), pattern(1, 9000));
    }
    mount
}

/// Another file gets this name behind the mount.
fn replace(mount: &Mount, name: &str, bytes: &[u8]) {
    fs::write(mount.source("new"), bytes).unwrap();
    fs::rename(mount.source("new"), mount.source(name)).unwrap();
}

/// An open finds what another program has changed, replaced or moved away, though the name and attributes are valid.
/// So does an open for appending, and what changes attributes.
#[test]
fn an_open_sees_what_is_there_though_attributes_are_adaptive() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = adaptive(mode);
        fs::write(mount.source("f"), pattern(2, 12_000)).unwrap();
        let mut both = File::options().read(true).write(true).open(mount.at("f")).unwrap();
        assert_eq!(both.seek(SeekFrom::End(0)).unwrap(), 12_000, "{mode:?}: the size at an open for writing");
        drop(both);
        assert!(fs::read(mount.at("f")).unwrap() == pattern(2, 12_000), "{mode:?}: a change in place");
        until_checked();
        replace(&mount, "f", &pattern(3, 9000));
        assert!(fs::read(mount.at("f")).unwrap() == pattern(3, 9000), "{mode:?}: another file");
        replace(&mount, "g", b"other ");
        File::options().append(true).open(mount.at("g")).unwrap().write_all(b"and more").unwrap();
        assert_eq!(fs::read(mount.source("g")).unwrap(), b"other and more", "{mode:?}");
        // Moved away, so that it still has a name.
        until_checked();
        fs::rename(mount.source("f"), mount.source("f.1")).unwrap();
        fs::write(mount.source("f"), "new log").unwrap();
        assert_eq!(fs::read(mount.at("f")).unwrap(), b"new log", "{mode:?}");
        until_checked();
        replace(&mount, "g", b"rights");
        fs::set_permissions(mount.at("g"), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(fs::metadata(mount.source("g")).unwrap().mode() & 0o777, 0o600, "{mode:?}");
        until_checked();
        fs::remove_file(mount.source("g")).unwrap();
        assert_eq!(fs::read(mount.at("g")).unwrap_err().kind(), ErrorKind::NotFound, "{mode:?}");
        mount.stop();
    }
}

/// A directory that was deleted and made again behind the mount is listed, and takes files.
#[test]
fn a_directory_that_was_replaced_is_looked_up_again() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("lru", 64, options(mode, Staleness::Adaptive));
        for place in ["d", "e"] {
            fs::create_dir(mount.source(place)).unwrap();
            assert_eq!(fs::read_dir(mount.at(place)).unwrap().count(), 0);
        }
        until_checked();
        for place in ["d", "e"] {
            fs::remove_dir(mount.source(place)).unwrap();
            fs::create_dir(mount.source(place)).unwrap();
            fs::write(mount.source(&format!("{place}/f")), "text").unwrap();
        }
        assert_eq!(fs::read_dir(mount.at("d")).unwrap().count(), 1, "{mode:?}");
        fs::write(mount.at("e/g"), "more").unwrap();
        assert_eq!(fs::read(mount.source("e/g")).unwrap(), b"more", "{mode:?}");
        assert_eq!(fs::read(mount.at("e/f")).unwrap(), b"text", "{mode:?}");
        mount.stop();
    }
}

/// A file that is open is opened again by its descriptor, whatever became of its name.
#[test]
fn a_file_without_its_name_is_opened_by_its_descriptor() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = adaptive(mode);
        let again = |file: &File| fs::read(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let (replaced, deleted) = (File::open(mount.at("f")).unwrap(), File::open(mount.at("g")).unwrap());
        until_checked();
        replace(&mount, "f", b"other");
        assert!(again(&replaced) == pattern(1, 9000), "{mode:?}: replaced behind the mount");
        fs::remove_file(mount.at("g")).unwrap();
        until_checked();
        assert!(again(&deleted) == pattern(1, 9000), "{mode:?}: deleted in the mount");
        drop((replaced, deleted));
        mount.stop();
    }
}

/// However often a file is replaced, an open finds one.
#[test]
fn an_open_never_fails_because_a_file_is_replaced() {
    if !can_mount() {
        return;
    }
    for (mode, policy) in [(Mode::Strict, "lru"), (Mode::Fast, "lru"), (Mode::Strict, "unix(inodes=64K, block=8K)")] {
        let mut mount = Mount::new(policy, 256, options(mode, Staleness::Adaptive));
        replace(&mount, "f", b"first");
        let until = Instant::now() + Duration::from_millis(2500);
        thread::scope(|scope| {
            scope.spawn(|| {
                while Instant::now() < until {
                    replace(&mount, "f", b"again");
                }
            });
            while Instant::now() < until {
                assert_eq!(fs::read(mount.at("f")).map(|bytes| bytes.len()).map_err(|error| error.to_string()), Ok(5));
            }
        });
        mount.stop();
    }
}

/// A file of which the kernel keeps pages is changed behind the mount, and opened by a name that is created.
#[test]
fn a_file_opened_by_creating_a_name_is_what_it_is() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = adaptive(mode);
        assert!(!mount.at("h").exists());
        fs::write(mount.source("f"), pattern(2, 9000)).unwrap();
        fs::hard_link(mount.source("f"), mount.source("h")).unwrap();
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(mount.at("h")).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert!(bytes == pattern(2, 9000), "{mode:?}");
        drop(file);
        mount.stop();
    }
}

/// Attributes are valid for three seconds at first, and no longer.
#[test]
fn attributes_of_a_file_that_changes_are_asked_for_again_soon() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 64, options(Mode::Strict, Staleness::Adaptive));
    fs::write(mount.source("f"), "one").unwrap();
    let size = || fs::metadata(mount.at("f")).unwrap().len();
    let began = Instant::now();
    assert_eq!(size(), 3);
    fs::write(mount.source("f"), "three").unwrap();
    if size() != 3 {
        assert!(began.elapsed() >= FILE_VALIDITY, "attributes are valid for {FILE_VALIDITY:?}");
    }
    thread::sleep(FILE_VALIDITY + Duration::from_millis(50));
    assert_eq!(size(), 5);
    mount.stop();
}

/// A change detected by reads and attributes is remembered: a later open asks the source.
#[test]
fn a_change_that_is_noticed_is_believed_at_once() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("lru", 64, options(mode, FOREVER));
        fs::write(mount.source("f"), pattern(1, 9000)).unwrap();
        assert_eq!(fs::read(mount.at("f")).unwrap(), pattern(1, 9000));
        // Nothing was read of what lies further on, so the source is asked, and it ends before.
        fs::write(mount.source("g"), pattern(2, 90_000)).unwrap();
        let file = File::open(mount.at("g")).unwrap();
        fs::write(mount.source("g"), pattern(3, 5000)).unwrap();
        let mut bytes = [0; 4096];
        assert_eq!(file.read_at(&mut bytes, 80_000).unwrap(), 0);
        assert!(fs::read(mount.at("g")).unwrap() == pattern(3, 5000), "{mode:?}");
        drop(file);
        mount.stop();
    }
}

#[test]
fn what_is_changed_through_the_mount_is_seen_at_once() {
    if !can_mount() {
        return;
    }
    for (mode, policy) in [(Mode::Strict, "lru"), (Mode::Fast, "lru"), (Mode::Strict, "attribute")] {
        let mut mount = Mount::new(policy, 256, options(mode, FOREVER));
        let at = |name: &str| mount.at(name);
        let names = |place: &str| fs::read_dir(at(place)).unwrap().count();
        fs::create_dir(at("d")).unwrap();
        for turn in 1..4 {
            assert!(!at("d/f").exists(), "{mode:?} {policy}");
            fs::write(at("d/f"), pattern(turn, 7000)).unwrap();
            assert!(fs::read(at("d/f")).unwrap() == pattern(turn, 7000) && names("d") == 1);
            File::options().append(true).open(at("d/f")).unwrap().write_at(b"more", 7000).unwrap();
            assert_eq!((fs::metadata(at("d/f")).unwrap().len(), fs::read(at("d/f")).unwrap().len()), (7004, 7004));
            fs::hard_link(at("d/f"), at("d/g")).unwrap();
            assert_eq!((fs::metadata(at("d/f")).unwrap().nlink(), names("d")), (2, 2));
            fs::rename(at("d/f"), at("d/h")).unwrap();
            assert!(!at("d/f").exists() && at("d/h").exists() && names("d") == 2);
            fs::set_permissions(at("d/h"), Permissions::from_mode(0o640)).unwrap();
            assert_eq!(fs::metadata(at("d/g")).unwrap().mode() & 0o777, 0o640);
            fs::remove_file(at("d/g")).unwrap();
            assert_eq!((fs::metadata(at("d/h")).unwrap().nlink(), names("d")), (1, 1));
            fs::remove_file(at("d/h")).unwrap();
            assert_eq!(names("d"), 0, "{mode:?} {policy}");
        }
        mount.stop();
    }
}

/// A deleted file must not occupy space for the maximum age.
#[test]
fn a_file_that_is_deleted_is_not_kept_open() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 64, options(Mode::Strict, FOREVER));
    for number in 0..50 {
        fs::write(mount.at(&number.to_string()), pattern(number, 5000)).unwrap();
        assert_eq!(fs::read(mount.at(&number.to_string())).unwrap().len(), 5000);
        fs::remove_file(mount.at(&number.to_string())).unwrap();
    }
    let kept = || Status::of(mount.cache.as_ref().unwrap()).metadata.kept_open;
    assert_eq!(kept(), 0, "files that are gone are kept open");
    mount.stop();
}
