//! For how long the source is not asked again, and what is noticed at once all the same. Needs /dev/fuse and root.

#[allow(dead_code, reason = "nothing fails here")]
mod below;
#[allow(dead_code, reason = "nothing crashes here")]
mod crash;
mod support;

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::Status;
use hotset_mount::{Mode, Options, Staleness, VALIDITY};

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
        if staleness != Staleness::Open || began.elapsed() < VALIDITY {
            break;
        }
        calls = None;
    }
    let calls = calls.expect("two looks at a few files take less than a second once in twenty times");
    let counted = Status::of(stacked.mount.cache.as_ref().unwrap()).metadata;
    stacked.stop();
    if staleness == FOREVER {
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

/// An open for writing learns the size of a file that was changed behind the mount, and an open that would create a
/// file shows the bytes that are there.
#[test]
fn an_open_for_writing_sees_what_is_there() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("lru", 64, options(mode, FOREVER));
        fs::write(mount.source("f"), pattern(1, 9000)).unwrap();
        assert!(fs::read(mount.at("f")).unwrap() == pattern(1, 9000) && !mount.at("g").exists());
        fs::write(mount.source("f"), pattern(2, 12_000)).unwrap();
        let mut both = File::options().read(true).write(true).open(mount.at("f")).unwrap();
        assert_eq!(both.seek(SeekFrom::End(0)).unwrap(), 12_000, "{mode:?}");
        drop(both);
        fs::write(mount.source("f"), pattern(3, 12_000)).unwrap();
        fs::hard_link(mount.source("f"), mount.source("g")).unwrap();
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(mount.at("g")).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        assert!(bytes == pattern(3, 12_000), "{mode:?}");
        drop(file);
        mount.stop();
    }
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
