//! Cached names of a store that are changed through a mount. Needs /dev/fuse; the test has a small store.

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hotset_mount::{Mode, Options, Staleness};
use hotset_testkit::s3::{Asked, Fault, S3};
use rustix::io::Errno;

use support::mounted::{can_mount, options};
use support::pattern;
use support::stored::{LIMITS, Mount, errno};

const LONG: Staleness = Staleness::For(Duration::from_secs(600));

fn mounted(s3: S3, staleness: Staleness) -> Mount {
    Mount::new(s3, 256, Options { staleness, ..options(Mode::Strict) }, LIMITS)
}

fn object(s3: &S3, key: &str) -> Option<Vec<u8>> {
    s3.objects().into_iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes)
}

fn write(path: &Path, bytes: &[u8], how: &mut OpenOptions) -> io::Result<()> {
    let mut file = how.write(true).open(path)?;
    file.write_all(bytes)?;
    Ok(nix::unistd::close(file)?)
}

fn count(asked: &[Asked], of: impl Fn(&Asked) -> bool) -> usize {
    asked.iter().filter(|asked| of(asked)).count()
}

fn run(program: &str, arguments: &[&Path]) {
    let done = Command::new(program).arg("-r").args(arguments).output().unwrap();
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Many small files cost a request each, and few requests more.
#[test]
fn who_makes_many_files_asks_for_none_of_them() {
    if !can_mount() {
        return;
    }
    let from = tempfile::TempDir::new().unwrap();
    for number in 0..60 {
        let directory = from.path().join(format!("tree/d{}", number % 2));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("f{number}")), pattern(number, 3000)).unwrap();
    }
    for staleness in [Staleness::Open, LONG] {
        let s3 = S3::start();
        (0..20).for_each(|number| s3.put(&format!("data/there/old{number}"), "old"));
        let mut mount = mounted(s3, staleness);
        let names = |directory: &str| {
            let names = fs::read_dir(mount.at(directory)).unwrap();
            let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let begun = Instant::now();
        run("cp", &[&from.path().join("tree"), &mount.at("new")]);
        let asked = mount.s3.take_asked();
        // With `open`, cached names are valid for a second.
        let least = 2 + begun.elapsed().as_secs() as usize;
        assert_eq!(count(&asked, |asked| asked.method == "PUT"), 60);
        assert!(asked.len() - 60 <= 4 * least, "{staleness:?}: {} beside 60, {least}", asked.len() - 60);
        if staleness == LONG {
            // Where others are already, by a listing.
            run("cp", &[&from.path().join("tree/d0/."), &mount.at("there")]);
            let asked = mount.s3.take_asked();
            let puts = count(&asked, |asked| asked.method == "PUT");
            assert!(puts == 30 && asked.len() - puts <= 6, "{} beside {puts}", asked.len() - puts);
            assert_eq!(names("there").len(), 50);
        }
        // The cached names are the real ones, and are opened without a request where the maximum age allows it.
        run("diff", &[&from.path().join("tree"), &mount.at("new")]);
        if staleness == LONG {
            assert_eq!(count(&mount.s3.take_asked(), |asked| asked.method == "HEAD"), 0);
        }
        assert_eq!((names("new"), names("new/d1").len()), (vec!["d0".to_owned(), "d1".to_owned()], 30));
        write(&mount.at("new/d0/f0"), b"longer than it was", OpenOptions::new().truncate(true)).unwrap();
        assert_eq!(fs::read(mount.at("new/d0/f0")).unwrap(), b"longer than it was");
        fs::remove_file(mount.at("new/d0/f2")).unwrap();
        fs::rename(mount.at("new/d0/f4"), mount.at("new/d1/moved")).unwrap();
        for name in ["d0/f2", "d0/f4"] {
            assert_eq!(errno(fs::metadata(mount.at("new").join(name))), Some(Errno::NOENT), "{name}");
        }
        assert!(fs::read(mount.at("new/d1/moved")).unwrap() == pattern(4, 3000));
        assert_eq!((names("new/d0").len(), names("new/d1").len()), (28, 31));
        // A file that another client has created meanwhile is not replaced by an exclusive create.
        mount.s3.put("data/new/d0/x", "another's");
        let made = write(&mount.at("new/d0/x"), b"mine", OpenOptions::new().create_new(true));
        assert_eq!(errno(made), Some(Errno::EXIST), "{staleness:?}");
        let appended = write(&mount.at("new/d0/x"), b", and mine", OpenOptions::new().append(true).create(true));
        appended.unwrap();
        assert_eq!(object(&mount.s3, "data/new/d0/x").unwrap(), b"another's, and mine");
        run("rm", &[&mount.at("new")]);
        assert!(mount.s3.objects().iter().all(|(key, _)| key.starts_with("data/there/")));
        assert_eq!(errno(fs::metadata(mount.at("new"))), Some(Errno::NOENT));
        mount.stop();
    }
}

/// A file that appears in a directory that was not created here is visible as soon as before.
#[test]
fn names_that_come_are_seen_in_time() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/d/f", "f");
    let mut mount = mounted(s3, Staleness::Open);
    for number in 0..5 {
        let name = format!("d/new{number}");
        assert_eq!(errno(fs::metadata(mount.at(&name))), Some(Errno::NOENT));
        mount.s3.put(&format!("data/{name}"), "x");
        assert_eq!(fs::read(mount.at(&name)).unwrap(), b"x");
    }
    mount.stop();
    let s3 = S3::start();
    // More than a part of a listing: it is not asked for again and again.
    (0..30).for_each(|number| s3.put(&format!("data/d/{number}"), "x"));
    s3.set_page(10);
    let mut mount = mounted(s3, LONG);
    let missing = |number: usize| errno(fs::metadata(mount.at(&format!("d/none{number}"))));
    assert!((0..20).all(|number| missing(number) == Some(Errno::NOENT)));
    let asked = mount.s3.take_asked();
    assert_eq!(count(&asked, |asked| asked.lists && asked.key == "data/d/"), 2, "who looks up, and once for all");
    mount.stop();
}

/// The kernel knows a file that was moved as what it was before.
#[test]
fn what_was_moved_or_replaced_can_be_written_at_once() {
    if !can_mount() {
        return;
    }
    for staleness in [LONG, Staleness::Open] {
        let s3 = S3::start();
        s3.name_bytes();
        let mut mount = mounted(s3, staleness);
        let at = |name: &str| mount.at(name);
        let truncate = |name: &str, bytes: &[u8]| write(&at(name), bytes, OpenOptions::new().truncate(true));
        let append = |name: &str, bytes: &[u8]| write(&at(name), bytes, OpenOptions::new().append(true));
        mount.s3.put("data/other", "12345");
        fs::write(at("a"), "one").unwrap();
        fs::rename(at("a"), at("b")).unwrap();
        truncate("b", b"two").unwrap();
        assert_eq!(fs::read(at("b")).unwrap(), b"two");
        fs::rename(at("b"), at("c")).unwrap();
        fs::rename(at("c"), at("d")).unwrap();
        append("d", b" three").unwrap();
        assert_eq!(fs::read(at("d")).unwrap(), b"two three", "{staleness:?}");
        // There and back: it is the version that it was.
        fs::rename(at("d"), at("e")).unwrap();
        fs::rename(at("e"), at("d")).unwrap();
        assert_eq!(fs::read(at("d")).unwrap(), b"two three", "{staleness:?}");
        let keys: Vec<_> = mount.s3.objects().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["data/d", "data/other"]);
        // By another client, behind the mount: the name was not looked up since.
        fs::metadata(at("d")).unwrap();
        mount.s3.put("data/d", "another's");
        if staleness == Staleness::Open {
            append("d", b", and ours").unwrap();
            assert_eq!(object(&mount.s3, "data/d").unwrap(), b"another's, and ours");
        }
        // The next look-up returns the new state.
        fs::rename(at("d"), at("f")).unwrap();
        append("f", b"").unwrap();
        assert_eq!(fs::metadata(at("other")).unwrap().len(), 5);
        mount.stop();
    }
}

#[test]
fn others_may_read_if_they_are_let_in_and_never_write() {
    if !can_mount() || !rustix::process::geteuid().is_root() {
        return;
    }
    for allow_other in [false, true] {
        let s3 = S3::start();
        s3.put("data/f", "for all");
        let mut mount = Mount::new(s3, 16, Options { allow_other, ..options(Mode::Strict) }, LIMITS);
        let by_other = |script: &str| {
            let shell = format!("cd / && {script}").replace("@", &mount.at("f").display().to_string());
            Command::new("sh").args(["-c", &shell]).uid(65534).gid(65534).output().unwrap()
        };
        assert_eq!(by_other("cat @").stdout == b"for all", allow_other);
        for script in ["echo x > @", "echo x > @-new", "rm -f @", "mv @ @-moved", "mkdir @-made"] {
            assert!(!by_other(script).status.success(), "{script}");
        }
        assert_eq!(mount.s3.objects(), [("data/f".to_owned(), b"for all".to_vec())]);
        mount.stop();
    }
}

/// An answer that was under way while a new version was completed describes the old one.
#[test]
fn what_the_store_has_said_before_a_change_is_not_believed_after_it() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/f", "old");
    let mut mount = mounted(s3, LONG);
    let path = mount.at("f");
    assert_eq!(fs::metadata(&path).unwrap().len(), 3);
    let mut file = File::create(&path).unwrap();
    file.write_all(b"the new one").unwrap();
    // The kernel knows the old one by that name again.
    assert_eq!(fs::metadata(&path).unwrap().len(), 3);
    mount.s3.fail(|asked| (asked.method == "HEAD").then_some(Fault::Old(Duration::from_millis(400))));
    mount.s3.take_asked();
    thread::scope(|scope| {
        let asking = scope.spawn(|| fs::metadata(&path).unwrap().len());
        while mount.s3.take_asked().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        nix::unistd::close(file).unwrap();
        asking.join().unwrap();
    });
    assert_eq!(fs::metadata(&path).unwrap().len(), 11);
    mount.stop();
}

/// Who goes on in a directory of which another program has deleted all, and writes into it, finds the file by its path.
#[test]
fn a_directory_that_was_gone_comes_back_with_what_is_written_into_it() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/d/e/f", "f");
    let mount = mounted(s3, LONG);
    let held = File::open(mount.at("d/e")).unwrap();
    mount.s3.remove("data/d/e/f");
    mount.s3.put("data/other", "o");
    // The listing no longer has it, and is valid for long.
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 1);
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    let new = rustix::fs::openat(&held, "g", flags, rustix::fs::Mode::RUSR).unwrap();
    let mut new = File::from(new);
    new.write_all(b"new").unwrap();
    nix::unistd::close(new).unwrap();
    assert_eq!(fs::read(mount.at("d/e/g")).unwrap(), b"new");
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 2);
}
