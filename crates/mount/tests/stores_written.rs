//! Objects of a store, written through a mount. Needs /dev/fuse; the test has a small store, which fails on request.

mod support;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hotset_mount::{Mode, Options, Staleness};
use hotset_store::{Limits, PART};
use hotset_testkit::s3::{Asked, Fault, S3};
use rustix::io::Errno;

use support::mounted::{MODES, can_mount, options};
use support::pattern;
use support::stored::{LIMITS, Mount, close, errno, object, write};

/// Runs a program, which has to succeed.
fn run(program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
}

fn sent_parts(asked: &[Asked]) -> usize {
    asked.iter().filter(|asked| asked.part.is_some()).count()
}

#[test]
fn what_is_copied_there_is_what_the_store_has() {
    if !can_mount() {
        return;
    }
    let from = tempfile::TempDir::new().unwrap();
    for (turn, length) in [0, 1, PART - 1, PART, PART + 1, 3 * PART].into_iter().enumerate() {
        let (bytes, source) = (pattern(turn as u64, length), from.path().join("f"));
        fs::write(&source, &bytes).unwrap();
        let mut mount = Mount::new(S3::start(), [64, 0, 4096][turn % 3], options(MODES[turn % 2]), LIMITS);
        mount.s3.take_asked();
        // Whole for all others as long as it is not closed.
        run("cp", [source.as_path(), &mount.at("new")]);
        if length == 0 {
            // The process that closed it has written nothing: the object is complete at the next look-up, or soon.
            assert_eq!(fs::read(mount.at("new")).unwrap(), b"");
        }
        assert!(object(&mount.s3, "data/new") == Some(bytes.clone()), "{length}");
        let asked = mount.s3.take_asked();
        let parts = if length > PART { length.div_ceil(PART) } else { 0 };
        assert_eq!((sent_parts(&asked), mount.s3.uploads()), (parts, 0), "{length}");
        assert_eq!(fs::metadata(mount.at("new")).unwrap().len(), length as u64);
        assert!(fs::read(mount.at("new")).unwrap() == bytes, "{length}");
        // Over it, and shorter.
        run("cp", ["/etc/hostname".as_ref(), mount.at("new").as_os_str()]);
        assert_eq!(object(&mount.s3, "data/new"), fs::read("/etc/hostname").ok());
        assert_eq!(fs::read(mount.at("new")).unwrap(), fs::read("/etc/hostname").unwrap());
        mount.stop();
    }
}

#[test]
fn what_was_overwritten_is_seen_at_once_and_by_nobody_before() {
    if !can_mount() {
        return;
    }
    let times = [Staleness::Open, Staleness::Revalidate, Staleness::For(Duration::MAX), Staleness::For(SECOND)];
    for (turn, staleness) in times.into_iter().enumerate() {
        for (mode, blocks) in [(Mode::Strict, 4096), (Mode::Fast, 4096), (Mode::Strict, 8)] {
            let s3 = S3::start();
            let [old, new] = [PART + 5000, 2 * PART + 77].map(|length| pattern((turn + length) as u64, length));
            s3.put("data/d/f", old.clone());
            let mut mount = Mount::new(s3, blocks, Options { staleness, ..options(mode) }, LIMITS);
            let path = mount.at("d/f");
            let names = || {
                let names = fs::read_dir(mount.at("d")).unwrap();
                names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
            };
            assert!(fs::read(&path).unwrap() == old && names() == ["f"]);
            assert_eq!(errno(fs::metadata(mount.at("d/g"))), Some(Errno::NOENT));
            let before = File::open(&path).unwrap();
            let mut file = File::create(&path).unwrap();
            file.write_all(&new[..2 * PART]).unwrap();
            // Others have the old one.
            assert_eq!(fs::metadata(&path).unwrap().len(), old.len() as u64, "{mode:?} {staleness:?}");
            assert!(fs::read(&path).unwrap() == old, "{mode:?} {staleness:?}");
            assert!(object(&mount.s3, "data/d/f").unwrap() == old);
            file.write_all(&new[2 * PART..]).unwrap();
            assert_eq!(file.metadata().unwrap().len(), new.len() as u64);
            close(file).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().len(), new.len() as u64, "{mode:?} {staleness:?}");
            assert!(fs::read(&path).unwrap() == new, "{mode:?} {staleness:?}");
            // Who had the old one open never reads bytes of the new one.
            let mut read = vec![0; 4096];
            for at in (0..old.len() as u64 - 4096).step_by(1 << 20) {
                if before.read_exact_at(&mut read, at).is_ok() {
                    assert!(read == old[at as usize..][..4096], "{mode:?} {staleness:?} at {at}");
                }
            }
            write(&mount.at("d/g"), b"a new one").unwrap();
            assert_eq!(fs::read(mount.at("d/g")).unwrap(), b"a new one");
            assert_eq!(names(), ["f", "g"]);
            fs::rename(mount.at("d/g"), mount.at("d/h")).unwrap();
            assert_eq!(fs::read(mount.at("d/h")).unwrap(), b"a new one");
            assert_eq!(errno(fs::metadata(mount.at("d/g"))), Some(Errno::NOENT));
            fs::remove_file(&path).unwrap();
            assert_eq!(errno(fs::metadata(&path)), Some(Errno::NOENT));
            assert_eq!(names(), ["h"]);
            drop(before);
            mount.stop();
        }
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// The written blocks become the cached data of the new version, as with a file of a directory.
#[test]
fn what_was_written_is_in_the_cache() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 4096, options(Mode::Strict), LIMITS);
    let bytes = pattern(3, PART + 100_000);
    write(&mount.at("f"), &bytes).unwrap();
    mount.s3.take_asked();
    assert!(fs::read(mount.at("f")).unwrap() == bytes);
    assert_eq!(mount.s3.take_asked().iter().filter(|asked| asked.range.is_some()).count(), 0);
    let (counts, traffic) = mount.cache.as_ref().unwrap().counts();
    assert_eq!((traffic.bytes_taken, traffic.bytes_read), (bytes.len() as u64, 0), "{traffic:?}");
    assert!(counts.total.hits > 0);
    mount.stop();
}

#[test]
fn what_fails_for_a_while_is_sent_again() {
    if !can_mount() {
        return;
    }
    for fault in [Fault::Status(500), Fault::Status(503), Fault::Closed, Fault::Late(Duration::from_millis(30))] {
        let mut mount = Mount::new(S3::start(), 64, options(Mode::Strict), LIMITS);
        let mut asked = 0;
        mount.s3.fail(move |_| {
            asked += 1;
            (asked % 3 == 0).then_some(fault)
        });
        for length in [1000, 3 * PART + 9] {
            let bytes = pattern(length as u64, length);
            write(&mount.at("f"), &bytes).unwrap_or_else(|error| panic!("{fault:?} {length}: {error}"));
            assert!(object(&mount.s3, "data/f") == Some(bytes), "{fault:?} {length}");
        }
        mount.stop();
    }
}

#[test]
fn what_fails_for_good_is_told_and_the_old_object_stays() {
    if !can_mount() {
        return;
    }
    let limits = Limits { timeout: Duration::from_millis(1500), retries: 1, ..LIMITS };
    for (fault, expected) in [
        (Fault::Status(500), Errno::IO),
        (Fault::Status(403), Errno::ACCESS),
        (Fault::Status(507), Errno::NOSPC),
        (Fault::Late(Duration::from_secs(4)), Errno::TIMEDOUT),
    ] {
        for length in [1000, 2 * PART] {
            let s3 = S3::start();
            s3.put("data/f", "the old one");
            let mut mount = Mount::new(s3, 64, options(Mode::Strict), limits);
            let is_about_data = move |asked: &Asked| asked.method == "PUT";
            mount.s3.fail(move |asked| is_about_data(asked).then_some(fault));
            let mut file = File::create(mount.at("f")).unwrap();
            let written = file.write_all(&pattern(1, length));
            let synced = file.sync_all();
            let closed = close(file);
            // Once a part has failed, every later call reports the error.
            let told = [errno(written), errno(synced), errno(closed)];
            assert!(told[1..] == [Some(expected); 2], "{fault:?} {length}: {told:?}");
            assert!(fs::read(mount.at("f")).unwrap() == b"the old one");
            assert!(mount.s3.uploads() == 0 || matches!(fault, Fault::Late(_)), "{fault:?} {length}");
            mount.s3.fail(|_| None);
            // It does not come later.
            mount.stop();
            assert_eq!(object(&mount.s3, "data/f").unwrap(), b"the old one", "{fault:?} {length}");
        }
    }
}

#[test]
fn parts_that_are_complete_may_still_be_no_object() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 64, options(Mode::Strict), Limits { retries: 1, ..LIMITS });
    mount.s3.put("data/f", "the old one");
    mount.s3.fail(|asked| {
        let completes = asked.method == "POST" && asked.length > 0;
        completes.then_some(Fault::Status(500))
    });
    assert_eq!(errno(write(&mount.at("f"), &pattern(1, 2 * PART))), Some(Errno::IO));
    assert_eq!(object(&mount.s3, "data/f").unwrap(), b"the old one");
    mount.stop();
    assert_eq!(mount.s3.uploads(), 0);
}

#[test]
fn one_writes_an_object_at_a_time() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 64, options(Mode::Strict), LIMITS);
    for name in ["new", "old"] {
        let path = mount.at(name);
        mount.s3.put("data/old", "old");
        let mut first = File::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        assert_eq!(errno(File::create(&path)), Some(Errno::BUSY), "{name}");
        assert_eq!(errno(OpenOptions::new().append(true).open(&path)), Some(Errno::BUSY), "{name}");
        assert_eq!(errno(fs::rename(&path, mount.at("other"))), Some(Errno::BUSY), "{name}");
        // A complete object can be read, and the next handle can write it.
        first.sync_all().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        first.write_all(b", and more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        first.sync_all().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first, and more");
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(errno(first.write_all(b"!")), Some(Errno::STALE), "it is another's");
        close(first).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }
    // Two that make the same object: the store tells.
    let mut file = OpenOptions::new().write(true).create_new(true).open(mount.at("x")).unwrap();
    file.write_all(b"mine").unwrap();
    mount.s3.put("data/x", "another's");
    assert_eq!(errno(close(file)), Some(Errno::EXIST));
    assert_eq!(object(&mount.s3, "data/x").unwrap(), b"another's");
    let mut file = OpenOptions::new().write(true).create_new(true).open(mount.at("y")).unwrap();
    file.write_all(&pattern(1, 2 * PART)).unwrap();
    mount.s3.put("data/y", "another's");
    assert_eq!(errno(close(file)), Some(Errno::EXIST));
    assert_eq!((object(&mount.s3, "data/y").unwrap().as_slice(), mount.s3.uploads()), (&b"another's"[..], 0));
    mount.stop();
}

/// Up to a part anything may be changed in any order; beyond that objects are written from their begin to their end.
#[test]
fn what_is_in_memory_is_written_in_any_order_and_the_rest_in_one() {
    if !can_mount() {
        return;
    }
    for (turn, mode) in MODES.into_iter().enumerate() {
        let mut mount = Mount::new(S3::start(), 4096, options(mode), LIMITS);
        let path = mount.at("f");
        // Any order, with what was there before.
        write(&path, b"0123456789").unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        file.write_all_at(b"AB", 4).unwrap();
        let mut read = [0; 10];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(&read, b"0123AB6789");
        file.write_all_at(b"end", 20).unwrap();
        file.set_len(22).unwrap();
        close(file).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"0123AB6789\0\0\0\0\0\0\0\0\0\0en");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"!").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"0123AB6789\0\0\0\0\0\0\0\0\0\0en!");
        run("truncate", ["-s".as_ref(), "5".as_ref(), path.as_os_str()]);
        assert_eq!(fs::read(&path).unwrap(), b"0123A");
        // Opened for writing and not written: nothing happens.
        mount.s3.take_asked();
        close(OpenOptions::new().write(true).open(&path).unwrap()).unwrap();
        assert!(mount.s3.take_asked().iter().all(|asked| asked.method == "HEAD"));

        let bytes = pattern(turn as u64, 2 * PART + 10);
        let anew = || OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let mut file = anew();
        file.write_all(&bytes).unwrap();
        assert_eq!(errno(file.write_all_at(b"x", 5)), Some(Errno::OPNOTSUPP));
        assert!(close(file).is_err(), "it would lack that");
        assert_eq!(fs::read(&path).unwrap(), b"0123A");
        let mut file = anew();
        file.write_all(&bytes).unwrap();
        assert_eq!(errno(file.set_len(77)), Some(Errno::OPNOTSUPP));
        // Sent data is cached only by the kernel.
        let is_read = file.read_exact_at(&mut read, 0).is_ok();
        assert!(!is_read || (mode == Mode::Fast && read == bytes[..10]), "{mode:?}");
        file.write_all_at(b"0123456789", 2 * PART as u64).unwrap();
        file.sync_all().unwrap();
        assert_eq!(errno(file.write_all_at(b"x", bytes.len() as u64)), Some(Errno::OPNOTSUPP));
        close(file).unwrap();
        assert!(fs::read(&path).unwrap() == [&bytes[..2 * PART], b"0123456789"].concat());

        // A long one that is there is written anew or not at all.
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(errno(file.write_all_at(b"x", 100)), Some(Errno::OPNOTSUPP));
        assert_eq!(errno(file.write_all(b"it would lack that")), Some(Errno::OPNOTSUPP));
        assert_eq!(errno(close(file)), Some(Errno::OPNOTSUPP));
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(b"shorter").unwrap();
        assert_eq!(errno(close(file)), Some(Errno::OPNOTSUPP));
        assert_eq!(fs::metadata(&path).unwrap().len(), bytes.len() as u64);
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all(b"shorter").unwrap();
        file.set_len(7).unwrap();
        close(file).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"shorter");
        mount.stop();
    }
}

/// A descriptor goes to the programs that one starts, and each of them closes it.
#[test]
fn shells_write_as_they_do_elsewhere() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 64, options(Mode::Strict), LIMITS);
    let from = tempfile::TempDir::new().unwrap();
    let big = pattern(8, PART + 70_000);
    fs::write(from.path().join("big"), &big).unwrap();
    let sh = |script: &str| run("sh", ["-ec", &format!("cd {}; {script}", mount.at("").display())]);
    let big_path = from.path().join("big");
    mount.s3.put("data/old", "old");
    sh(&format!("(cat {0}; cat {0}) > twice", big_path.display()));
    assert!(fs::read(mount.at("twice")).unwrap() == [&big[..], &big].concat());
    // The shell has closed it once before anything is written, until when the old one is there.
    sh("(sleep 0.2; cat old; echo) > old");
    assert_eq!(fs::read(mount.at("old")).unwrap(), b"old\n");
    sh(
        "cat > f << x\none\nx\necho two >> f; : > empty; cat empty f > g; printf 3 > f; printf 4 > f; : > f; printf 5 > f",
    );
    assert_eq!(fs::read(mount.at("f")).unwrap(), b"5");
    assert_eq!(fs::read(mount.at("g")).unwrap(), b"one\ntwo\n");
    sh(
        "mkdir -p a/b/c; printf x > a/b/c/f; test -d a/b; mv a/b/c/f a/g; rmdir a/b/c a/b; test \"$(ls a)\" = g; rm -r a; test ! -e a",
    );
    sh(
        "mkdir t; cp -p f t/one; cp -r t u; tar cf - t | (mkdir v; cd v; tar xf -); test \"$(cat v/t/one)\" = 5; rm -r t u v",
    );
    sh("test \"$(ls | tr '\\n' ' ')\" = 'empty f g old twice '");
    mount.stop();
}

/// One thread writes while another one syncs: a reader finds the store's version, not the next one.
#[test]
fn what_is_written_during_a_sync_is_part_of_the_next_version() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 4096, options(Mode::Strict), LIMITS);
    let (path, length) = (mount.at("f"), 64 << 10);
    let file = File::create(&path).unwrap();
    file.write_all_at(&vec![0; length], 0).unwrap();
    file.sync_all().unwrap();
    mount.s3.fail(|_| Some(Fault::Late(Duration::from_millis(1))));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for value in 1..=200 {
                file.write_all_at(&vec![value; length], 0).unwrap();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                file.sync_all().unwrap();
            }
        });
        while !is_over.load(Ordering::SeqCst) {
            // Another version may come between the look-up and the read.
            let Ok(read) = fs::read(&path) else { continue };
            let stored = object(&mount.s3, "data/f").unwrap();
            assert!(read.iter().all(|&value| value == read[0]) && read[0] <= stored[0], "{} {}", read[0], stored[0]);
        }
    });
    close(file).unwrap();
    assert!(fs::read(&path).unwrap() == vec![200; length]);
    mount.stop();
}

#[test]
fn what_cannot_be_done_is_refused() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 64, options(Mode::Strict), LIMITS);
    mount.s3.put("data/f", "f");
    mount.s3.put("data/d/f", "f");
    mount.s3.put("data/marked/", "");
    let at = |name: &str| mount.at(name);
    assert_eq!(errno(symlink("f", at("link"))), Some(Errno::PERM));
    assert_eq!(errno(fs::hard_link(at("f"), at("link"))), Some(Errno::PERM));
    assert_eq!(errno(fs::rename(at("d"), at("e"))), Some(Errno::XDEV));
    assert_eq!(errno(fs::rename(at("f"), at("d"))), Some(Errno::ISDIR));
    assert_eq!(errno(fs::remove_dir(at("d"))), Some(Errno::NOTEMPTY));
    assert_eq!(errno(fs::remove_dir(at("marked"))), Some(Errno::OPNOTSUPP));
    assert_eq!(errno(fs::remove_file(at("none"))), Some(Errno::NOENT));
    assert_eq!(errno(fs::create_dir(at("d"))), Some(Errno::EXIST));
    assert_eq!(errno(File::create(at("d"))), Some(Errno::ISDIR));
    assert_eq!(errno(File::create(at("a\u{7}b"))), Some(Errno::INVAL));
    assert_eq!(errno(File::create(at(&"n".repeat(1020)))), Some(Errno::NAMETOOLONG));
    assert_eq!(errno(OpenOptions::new().write(true).create_new(true).open(at("f"))), Some(Errno::EXIST));
    // These are the store's, and stay; who copies with them is not disturbed.
    let before = fs::metadata(at("f")).unwrap();
    fs::set_permissions(at("f"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    File::open(at("f")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    std::os::unix::fs::chown(at("f"), Some(7), Some(7)).unwrap();
    let after = fs::metadata(at("f")).unwrap();
    let about = |stat: &fs::Metadata| (stat.mode(), stat.uid(), stat.gid(), stat.mtime());
    assert_eq!(about(&after), about(&before));
    assert_eq!(after.mode() & 0o777, 0o644);
    // An object that is removed right after its close is gone, though the kernel may report the last close later.
    mount.s3.fail(|asked| (asked.method == "PUT").then_some(Fault::Late(Duration::from_millis(20))));
    for _ in 0..50 {
        drop(OpenOptions::new().write(true).create_new(true).open(at("lock")).unwrap());
        fs::remove_file(at("lock")).unwrap();
    }
    mount.s3.fail(|_| None);
    // One that is removed while it is written is gone.
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(at("gone")).unwrap();
    file.write_all(b"for a while").unwrap();
    fs::remove_file(at("gone")).unwrap();
    let mut read = [0; 11];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(&read, b"for a while");
    close(file).unwrap();
    assert_eq!(errno(fs::metadata(at("gone"))), Some(Errno::NOENT));
    mount.stop();
    assert_eq!(object(&mount.s3, "data/gone"), None);
}

#[test]
fn a_copy_that_did_not_happen_deletes_nothing() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 64, options(Mode::Strict), Limits { retries: 0, ..LIMITS });
    mount.s3.put("data/from", "the one");
    mount.s3.put("data/to", "another");
    // A store may say that it has copied what it has not.
    mount.s3.skip_copies();
    assert_eq!(errno(fs::rename(mount.at("from"), mount.at("to"))), Some(Errno::IO));
    assert_eq!(errno(fs::rename(mount.at("from"), mount.at("nowhere"))), Some(Errno::IO));
    assert_eq!(object(&mount.s3, "data/from").unwrap(), b"the one");
    mount.stop();
}

#[test]
fn a_handle_whose_object_another_has_opened_is_stale() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 0, options(MODES[0]), LIMITS);
    let append = || OpenOptions::new().append(true).create(true).open(mount.at("log")).unwrap();
    let mut first = append();
    first.write_all(b"one ").unwrap();
    first.sync_all().unwrap();
    let mut second = append();
    second.write_all(b"two ").unwrap();
    second.sync_all().unwrap();
    assert_eq!(errno(first.write_all(b"three ")), Some(Errno::STALE));
    close(second).unwrap();
    assert_eq!(object(&mount.s3, "data/log").unwrap(), b"one two ");
    fs::remove_file(mount.at("log")).unwrap();
    assert_eq!(errno(first.write_all(b"three ")), Some(Errno::STALE));
    let _ = close(first);
    assert_eq!(object(&mount.s3, "data/log"), None);
    mount.stop();
}

#[test]
fn what_came_meanwhile_is_not_replaced_by_who_appends() {
    if !can_mount() {
        return;
    }
    let options = Options { staleness: Staleness::For(Duration::from_secs(60)), ..options(MODES[0]) };
    let mut mount = Mount::new(S3::start(), 0, options, LIMITS);
    assert_eq!(errno(fs::metadata(mount.at("res"))), Some(Errno::NOENT));
    mount.s3.put("data/res", "1\n2\n");
    let mut file = OpenOptions::new().append(true).create(true).open(mount.at("res")).unwrap();
    file.write_all(b"3\n").unwrap();
    close(file).unwrap();
    assert_eq!(object(&mount.s3, "data/res").unwrap(), b"1\n2\n3\n");
    mount.stop();
}

#[test]
fn what_lacks_a_write_that_was_refused_replaces_nothing() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    s3.put("data/z", "old");
    let mut mount = Mount::new(s3, 0, options(MODES[0]), LIMITS);
    let file = File::create(mount.at("z")).unwrap();
    file.write_all_at(&pattern(1, 2 * PART + 5), 0).unwrap();
    assert_eq!(errno(file.write_all_at(b"header", 0)), Some(Errno::OPNOTSUPP));
    assert!(close(file).is_err());
    assert_eq!((object(&mount.s3, "data/z").unwrap(), mount.s3.uploads()), (b"old".to_vec(), 0));
    mount.stop();
}

#[test]
fn unmounting_waits_for_what_is_sent_and_no_longer_than_was_said() {
    if !can_mount() {
        return;
    }
    for (late, is_sent) in [(Duration::from_millis(500), true), (Duration::from_secs(8), false)] {
        let options = Options { stop_timeout: Some(Duration::from_secs(2)), ..options(MODES[0]) };
        let mut mount = Mount::new(S3::start(), 0, options, LIMITS);
        mount.s3.put("data/f", "before");
        let mut file = File::create(mount.at("f")).unwrap();
        file.write_all(b"after").unwrap();
        mount.s3.fail(move |asked| (asked.method == "PUT").then_some(Fault::Late(late)));
        mount.s3.take_asked();
        let closing = thread::spawn(|| close(file));
        while mount.s3.take_asked().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        let begun = Instant::now();
        let ended = mount.end();
        assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
        if is_sent {
            ended.unwrap();
            assert_eq!(object(&mount.s3, "data/f").unwrap(), b"after");
        } else {
            let told = ended.unwrap_err().to_string();
            assert!(told.starts_with("data written to f was not sent to the store in time"), "{told}");
        }
        // The error arrives when the store has answered, though the mount is already gone.
        let _ = closing.join().unwrap();
    }
}

/// Each line that was synced is in the object, by whichever name that is.
#[test]
fn what_is_synced_while_it_is_moved_is_not_lost() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new(S3::start(), 0, options(MODES[0]), LIMITS);
    mount.s3.set_link(hotset_testkit::s3::Link { latency: Duration::from_millis(5), ..Default::default() });
    for turn in 0..10 {
        let [from, to] = ["from", "to"].map(|name| format!("{name}{turn}"));
        let file = File::create(mount.at(&from)).unwrap();
        file.write_all_at(b"v000", 0).unwrap();
        file.sync_all().unwrap();
        let (moved, last) = thread::scope(|scope| {
            let moving = scope.spawn(|| fs::rename(mount.at(&from), mount.at(&to)));
            let mut last = 0;
            for version in 1..20 {
                let is_written = file.write_all_at(format!("v{version:03}").as_bytes(), 0).is_ok();
                if is_written && file.sync_all().is_ok() {
                    last = version;
                }
            }
            (moving.join().unwrap(), last)
        });
        let _ = close(file);
        let name = if moved.is_ok() { to } else { from };
        let there = object(&mount.s3, &format!("data/{name}")).unwrap();
        assert_eq!(String::from_utf8(there).unwrap(), format!("v{last:03}"), "turn {turn}: {moved:?}");
    }
    mount.stop();
}
