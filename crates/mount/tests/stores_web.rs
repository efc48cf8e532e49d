//! Mounted files of a web server with WebDAV. Needs /dev/fuse; the test has a small server, which fails on request.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::{Duration, Instant};

use hotset_mount::{Mode, Options, Staleness};
use hotset_store::Limits;
use hotset_testkit::s3::{Fault, S3, Tags};
use rustix::io::Errno;

use support::mounted::{MODES, can_mount};
use support::pattern;
use support::stored::{self, LIMITS, Mount, errno, options};

const TAGS: [Tags; 5] = [Tags::Strong, Tags::Weak, Tags::WeakListings, Tags::WithBytes, Tags::None];

fn tree() -> BTreeMap<String, Vec<u8>> {
    stored::tree(|number| format!("d{}/100% ü {}/#{number} x&y?.txt", number % 3, number % 2))
}

#[test]
fn what_is_read_is_what_the_server_has_however_it_fails() {
    if !can_mount() {
        return;
    }
    let faults = [None, Some(Fault::Status(503)), Some(Fault::Cut(400)), Some(Fault::Closed), Some(Fault::Status(429))];
    for (turn, (fault, tags)) in faults.into_iter().zip(TAGS).enumerate() {
        let (s3, files) = (S3::start(), tree());
        files.iter().for_each(|(name, bytes)| s3.put(&format!("data/{name}"), bytes.clone()));
        s3.put("database", "not in the directory");
        s3.set_tags(tags);
        let mut asked = 0;
        s3.fail(move |_| {
            asked += 1;
            fault.filter(|_| asked % 7 == 0)
        });
        let mut mount = Mount::of_web(s3, [0, 4, 64][turn % 3], options(MODES[turn % 2]), LIMITS);
        for _ in 0..2 {
            for (name, bytes) in &files {
                let read =
                    fs::read(mount.at(name)).unwrap_or_else(|error| panic!("{fault:?}, {tags:?}: {name}: {error}"));
                assert!(read == *bytes, "{fault:?}: {name}");
            }
        }
        let found = Command::new("grep").args(["-rac", "needle"]).arg(mount.at("")).output().unwrap();
        assert!(found.stderr.is_empty(), "{fault:?}: {}", String::from_utf8_lossy(&found.stderr));
        let found = String::from_utf8(found.stdout).unwrap();
        assert_eq!(found.lines().filter(|line| line.ends_with(":1")).count(), files.len(), "{fault:?}: {found}");
        assert_eq!(errno(fs::read(mount.at("d0"))), Some(Errno::ISDIR));
        assert_eq!(errno(fs::metadata(mount.at("d0/none"))), Some(Errno::NOENT));
        assert_eq!(errno(fs::write(mount.at("new"), "x")), Some(Errno::ROFS));
        mount.stop();
    }
}

#[test]
fn bytes_of_two_versions_are_never_mixed() {
    if !can_mount() {
        return;
    }
    for tags in TAGS {
        for ignores in [false, true] {
            let s3 = S3::start();
            let [old, new] = [1, 2].map(|seed| pattern(seed, 1_000_000));
            s3.set_tags(tags);
            s3.put("data/f", old.clone());
            let staleness = Staleness::For(Duration::MAX);
            let mut mount = Mount::of_web(s3, 64, Options { staleness, ..options(Mode::Strict) }, LIMITS);
            let path = mount.at("f");
            let before = File::open(&path).unwrap();
            let mut read = vec![0; 8192];
            before.read_exact_at(&mut read, 0).unwrap();
            assert!(read == old[..8192]);
            mount.s3.put("data/f", new.clone());
            if ignores {
                mount.s3.ignore_conditions();
            }
            let mut stale = 0;
            for at in (0..old.len() as u64 - 8192).step_by(65_536) {
                match before.read_exact_at(&mut read, at) {
                    Ok(()) => assert!(read == old[at as usize..][..8192], "{tags:?}: other bytes at {at}"),
                    error => {
                        assert_eq!(errno(error), Some(Errno::STALE), "{tags:?} at {at}");
                        stale += 1;
                    }
                }
            }
            assert!(stale > 8, "{tags:?}: only {stale} reads have failed");
            assert!(fs::read(&path).unwrap() == new, "{tags:?}: an open returns the new version");
            drop(before);
            mount.stop();
        }
    }
}

#[test]
fn errors_are_told_as_what_they_are() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    ["f", "g", "h", "i", "j"].iter().for_each(|name| s3.put(&format!("data/d/{name}"), pattern(3, 20_000)));
    // The longest listing takes four seconds where nothing else runs.
    let limits = Limits { timeout: Duration::from_secs(120), retries: 1, ..LIMITS };
    let staleness = Staleness::Revalidate;
    let mut mount = Mount::of_web(s3, 16, Options { staleness, ..options(Mode::Strict) }, limits);
    let list = || -> io::Result<usize> {
        let entries: io::Result<Vec<_>> = fs::read_dir(mount.at(""))?.collect();
        Ok(entries?.len())
    };
    let head = "<multistatus><response><href>/bucket/data/</href><propstat><prop><resourcetype><collection/></resourcetype></prop>\
                <status>HTTP/1.1 200 OK</status></propstat></response>";
    let entry = "<response><href>/bucket/data/f</href><propstat><prop><getcontentlength>1</getcontentlength>\
                 <getetag>\"1\"</getetag></prop><status>HTTP/1.1 200 OK</status></propstat></response>";
    for (fault, expected) in [
        (Fault::Text("no XML"), Errno::IO),
        (Fault::Text("<multistatus><response></multistatus>"), Errno::IO),
        (Fault::Text(head), Errno::IO),
        (Fault::Endless, Errno::IO),
        (Fault::Repeated(head, entry), Errno::FBIG),
        (Fault::Repeated(head, "<a>"), Errno::IO),
        (Fault::Status(405), Errno::IO),
        (Fault::Status(403), Errno::ACCESS),
        (Fault::Status(500), Errno::IO),
    ] {
        mount.s3.fail(move |_| Some(fault));
        let begun = Instant::now();
        assert_eq!(errno(list()), Some(expected), "{fault:?}");
        assert!(begun.elapsed() < limits.timeout, "{fault:?}: {:?}", begun.elapsed());
        mount.s3.fail(|_| None);
        assert_eq!(list().unwrap(), 1, "the error was cached");
    }
    // Against the order of the listing: a user that opens files in that order has the next ones read ahead.
    for (name, fault, expected) in [
        ("j", Fault::Short(100), Errno::IO),
        ("i", Fault::Cut(100), Errno::IO),
        ("h", Fault::Endless, Errno::IO),
        ("g", Fault::Text("a page"), Errno::IO),
        ("f", Fault::Status(403), Errno::ACCESS),
    ] {
        let file = File::open(mount.at("d").join(name)).unwrap();
        mount.s3.fail(move |asked| asked.range.is_some().then_some(fault));
        assert_eq!(errno(file.read_at(&mut [0; 5000], 0)), Some(expected), "{fault:?}");
        mount.s3.fail(|_| None);
        let mut read = vec![0; 5000];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == pattern(3, 20_000)[..5000]);
    }
    mount.stop();
}
