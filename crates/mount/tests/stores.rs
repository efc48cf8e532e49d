//! Mounted objects of a store. Needs /dev/fuse; the test has a small store, which fails on request.

mod support;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hotset_mount::{Mode, Options, Staleness};
use hotset_store::Limits;
use hotset_testkit::s3::{Asked, Fault, Link, S3};
use rustix::io::Errno;

use support::mounted::{MODES, can_mount};
use support::pattern;
use support::stored::{self, LIMITS, Mount, errno, options};

/// Of a mount in which nothing can be changed.
/// A fault of every `every`th request.
fn now_and_then(every: usize, fault: Fault) -> impl FnMut(&Asked) -> Option<Fault> + Send + 'static {
    let mut asked = 0;
    move |_| {
        asked += 1;
        (asked % every == 0).then_some(fault)
    }
}

fn tree() -> BTreeMap<String, Vec<u8>> {
    stored::tree(|number| format!("d{}/é {}/file {number}+&.txt", number % 3, number % 2))
}

#[test]
fn what_is_read_is_what_the_store_has_however_it_fails() {
    if !can_mount() {
        return;
    }
    let faults = [
        None,
        Some(Fault::Status(503)),
        Some(Fault::Status(500)),
        Some(Fault::Cut(700)),
        Some(Fault::Short(900)),
        Some(Fault::Closed),
        Some(Fault::Late(Duration::from_millis(20))),
    ];
    for (turn, fault) in faults.into_iter().enumerate() {
        let (s3, files) = (S3::start(), tree());
        files.iter().for_each(|(name, bytes)| s3.put(&format!("data/{name}"), bytes.clone()));
        s3.put("database", "not below the prefix");
        s3.set_page(2);
        if let Some(fault) = fault {
            // A short answer without an error is not a listing, and is reported as an error.
            let mut fault = now_and_then(7, fault);
            s3.fail(move |asked| {
                fault(asked).filter(|fault| asked.range.is_some() || !matches!(fault, Fault::Short(_)))
            });
        }
        let blocks = [0, 4, 64][turn % 3];
        let mut mount = Mount::new(s3, blocks, options(MODES[turn % 2]), LIMITS);
        for _ in 0..2 {
            for (name, bytes) in &files {
                assert!(fs::read(mount.at(name)).unwrap() == *bytes, "{fault:?}: {name}");
            }
        }
        let (name, bytes) = files.last_key_value().unwrap();
        let file = File::open(mount.at(name)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), bytes.len() as u64);
        for step in 0..100usize {
            let (at, mut read) = (step * 7919 % bytes.len(), vec![0; 1 + step * 53 % 9000]);
            let done = file.read_at(&mut read, at as u64).unwrap();
            assert!(read[..done] == bytes[at..(at + read.len()).min(bytes.len())], "{fault:?}: {step}");
        }
        assert_eq!(file.read_at(&mut [0; 10], bytes.len() as u64).unwrap(), 0);
        drop(file);
        let found = Command::new("grep").args(["-rac", "needle"]).arg(mount.at("")).output().unwrap();
        assert!(found.stderr.is_empty(), "{fault:?}: {}", String::from_utf8_lossy(&found.stderr));
        let found = String::from_utf8(found.stdout).unwrap();
        assert_eq!(found.lines().filter(|line| line.ends_with(":1")).count(), files.len(), "{fault:?}: {found}");
        mount.stop();
    }
}

#[test]
fn bytes_of_two_versions_are_never_mixed() {
    if !can_mount() {
        return;
    }
    for (mode, staleness, blocks) in [
        (Mode::Strict, Staleness::Open, 64),
        (Mode::Fast, Staleness::Open, 64),
        (Mode::Strict, Staleness::For(Duration::MAX), 64),
        (Mode::Strict, Staleness::Revalidate, 4),
        (Mode::Strict, Staleness::Open, 0),
    ] {
        let s3 = S3::start();
        let [old, new] = [1, 2].map(|seed| pattern(seed, 1_000_000));
        s3.put("data/f", old.clone());
        let mut mount = Mount::new(s3, blocks, Options { staleness, ..options(mode) }, LIMITS);
        let path = mount.at("f");
        let before = File::open(&path).unwrap();
        let mut read = vec![0; 8192];
        before.read_exact_at(&mut read, 0).unwrap();
        assert!(read == old[..8192]);
        let inode = before.metadata().unwrap().ino();
        mount.s3.put("data/f", new.clone());
        // A file opened before reads as the old version, or fails.
        let mut stale = 0;
        for at in (0..old.len() as u64 - 8192).step_by(65_536) {
            match before.read_exact_at(&mut read, at) {
                Ok(()) => assert!(read == old[at as usize..][..8192], "{mode:?}: other bytes at {at}"),
                Err(error) => {
                    // For pages that it could not fill, the kernel reports only this error.
                    let expected = if mode == Mode::Fast { [Errno::STALE, Errno::IO] } else { [Errno::STALE; 2] };
                    let errno = Errno::from_io_error(&error).unwrap();
                    assert!(expected.contains(&errno), "{mode:?} {staleness:?} at {at}: {error}");
                    stale += 1;
                }
            }
        }
        assert!(stale > 8, "{mode:?}: only {stale} reads have failed");
        // A file opened now has the new version at any maximum age: the change was detected.
        assert!(fs::read(&path).unwrap() == new, "{mode:?} {staleness:?}");
        assert_ne!(fs::metadata(&path).unwrap().ino(), inode);
        drop(before);
        mount.s3.remove("data/f");
        if staleness == Staleness::Revalidate {
            assert_eq!(errno(fs::metadata(&path)), Some(Errno::NOENT));
        }
        mount.stop();
    }
}

#[test]
fn errors_are_told_as_what_they_are() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    for name in ["f", "g", "h", "i", "j", "dir/f"] {
        s3.put(&format!("data/{name}"), pattern(3, 20_000));
    }
    let limits = Limits { timeout: Duration::from_millis(700), retries: 2, ..LIMITS };
    let mut mount = Mount::new(s3, 16, options(Mode::Strict), limits);
    let fail = |fault: Option<Fault>| mount.s3.fail(move |_| fault);
    assert_eq!(errno(fs::read(mount.at("nothing"))), Some(Errno::NOENT));
    assert_eq!(errno(fs::read(mount.at("f/below"))), Some(Errno::NOTDIR));
    assert_eq!(errno(fs::read(mount.at("dir"))), Some(Errno::ISDIR));
    assert_eq!(errno(fs::write(mount.at("f"), "x")), Some(Errno::ROFS));
    assert_eq!(errno(fs::write(mount.at("new"), "x")), Some(Errno::ROFS));
    assert_eq!(errno(fs::remove_file(mount.at("f"))), Some(Errno::ROFS));
    assert_eq!(errno(fs::create_dir(mount.at("new"))), Some(Errno::ROFS));
    assert_eq!(errno(fs::rename(mount.at("f"), mount.at("new"))), Some(Errno::ROFS));
    for (name, fault, expected) in [
        ("f", Fault::Status(403), Errno::ACCESS),
        ("g", Fault::Status(500), Errno::IO),
        ("h", Fault::Short(100), Errno::IO),
        ("i", Fault::Cut(100), Errno::IO),
        ("j", Fault::Late(Duration::from_secs(3)), Errno::TIMEDOUT),
    ] {
        let file = File::open(mount.at(name)).unwrap();
        fail(Some(fault));
        let begun = Instant::now();
        assert_eq!(errno(file.read_at(&mut [0; 5000], 0)), Some(expected), "{fault:?}");
        assert!(begun.elapsed() < Duration::from_millis(2500), "{fault:?}: {:?}", begun.elapsed());
        fail(None);
        // The error was not cached.
        let mut read = vec![0; 5000];
        file.read_exact_at(&mut read, 0).unwrap();
        assert!(read == pattern(3, 20_000)[..5000]);
    }
    fail(Some(Fault::Status(403)));
    assert_eq!(errno(fs::metadata(mount.at("unseen"))), Some(Errno::ACCESS));
    assert_eq!(
        errno(fs::read_dir(mount.at("")).and_then(|mut entries| entries.next().transpose())),
        Some(Errno::ACCESS)
    );
    fail(None);
    mount.stop();
}

#[test]
fn directories_are_what_keys_have_between_slashes() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    for (key, bytes) in [
        ("data/", ""),
        ("data/marked/", ""),
        ("data/a/b/c", "1"),
        ("data/a-file", "22"),
        ("data/both", "333"),
        ("data/both/below", "4444"),
        ("data/z", ""),
    ] {
        s3.put(key, bytes);
    }
    for page in [1, 2, 1000] {
        s3.set_page(page);
        let mut mount = Mount::new(copy_of(&s3, page), 16, options(Mode::Strict), LIMITS);
        let mut names: Vec<_> = fs::read_dir(mount.at("")).unwrap().map(|entry| entry.unwrap()).collect();
        names.sort_by_key(|entry| entry.file_name());
        let shown: Vec<_> = names
            .iter()
            .map(|entry| {
                let about = entry.metadata().unwrap();
                (entry.file_name().into_string().unwrap(), about.is_dir(), about.len())
            })
            .collect();
        // An entry keeps its directory open.
        drop(names);
        let expected = [("a", true, 0), ("a-file", false, 2), ("both", false, 3), ("marked", true, 0), ("z", false, 0)];
        assert_eq!(shown, expected.map(|(name, is_directory, size)| (name.to_owned(), is_directory, size)), "{page}");
        assert_eq!(fs::read(mount.at("a/b/c")).unwrap(), b"1");
        assert_eq!(fs::read_dir(mount.at("marked")).unwrap().count(), 0);
        assert_eq!(fs::read(mount.at("z")).unwrap(), b"");
        assert_eq!(fs::metadata(mount.at("a")).unwrap().mode() & 0o777, 0o555);
        mount.stop();
    }
}

/// Another store with the same objects.
fn copy_of(s3: &S3, page: usize) -> S3 {
    let copy = S3::start();
    s3.objects().into_iter().for_each(|(key, bytes)| copy.put(&key, bytes));
    copy.set_page(page);
    copy
}

#[test]
fn the_store_is_asked_as_often_as_staleness_says() {
    if !can_mount() {
        return;
    }
    let counts = |staleness: Staleness| {
        let s3 = S3::start();
        (0..20).for_each(|number| s3.put(&format!("data/d/{number}"), pattern(number, 5000)));
        let mut mount = Mount::new(s3, 256, Options { staleness, ..options(Mode::Strict) }, LIMITS);
        let grep = || {
            let done = Command::new("grep").args(["-rL", "none"]).arg(mount.at("d")).output().unwrap();
            assert_eq!(done.stdout.iter().filter(|&&byte| byte == b'\n').count(), 20);
            mount.s3.take_asked()
        };
        let (first, again) = (grep(), grep());
        mount.stop();
        let count = |asked: &[Asked], of: fn(&Asked) -> bool| asked.iter().filter(|asked| of(asked)).count();
        let counts = |asked: &[Asked]| {
            let heads = count(asked, |asked| asked.method == "HEAD");
            (heads, count(asked, |asked| asked.lists), count(asked, |asked| asked.range.is_some()))
        };
        (counts(&first), counts(&again))
    };
    // One listing tells all names, and opens believe it; nothing is asked again.
    let ((heads, lists, reads), again) = counts(Staleness::For(Duration::from_secs(60)));
    assert_eq!((heads, again), (1, (0, 0, 0)), "{lists} lists, {reads} reads");
    assert!((1..=2).contains(&lists) && reads >= 20);
    // Each open asks, and no data is read twice.
    let ((heads, ..), (again, _, reads)) = counts(Staleness::Open);
    assert!(heads >= 20 && again >= 20 && reads == 0, "{heads}, {again}, {reads}");
    let ((heads, ..), _) = counts(Staleness::Revalidate);
    assert!(heads >= 40, "{heads}");
}

#[test]
fn no_more_requests_are_under_way_than_were_allowed() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    (0..40).for_each(|number| s3.put(&format!("data/{number}"), pattern(number, 100_000)));
    s3.fail(|_| Some(Fault::Late(Duration::from_millis(10))));
    let mut mount = Mount::new(s3, 64, options(Mode::Strict), Limits { requests: 5, ..LIMITS });
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 40 {
                        return;
                    }
                    let read = fs::read(mount.at(&number.to_string())).unwrap();
                    assert!(read == pattern(number as u64, 100_000));
                }
            });
        }
    });
    assert_eq!(mount.s3.take_most_under_way(), 5);
    mount.stop();
}

/// Bytes that requests for data have asked for, in order; none of them twice.
fn asked_once(asked: &[Asked]) -> Vec<(u64, u64)> {
    let mut ranges: Vec<_> = asked.iter().filter_map(|asked| asked.range).collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(pair[0].1 < pair[1].0, "asked for twice: {pair:?}");
    }
    ranges
}

/// Reads of 128K from `from` on, until one fails.
fn read_on(file: &File, expected: &[u8], from: usize) -> (usize, io::Result<()>) {
    let (mut at, mut buffer) = (from, vec![0; 128 << 10]);
    while at < expected.len() {
        match file.read_at(&mut buffer, at as u64) {
            Ok(done) => {
                assert!(done > 0 && buffer[..done] == expected[at..at + done], "other bytes at {at}");
                at += done;
            }
            Err(error) => return (at, Err(error)),
        }
    }
    (at, Ok(()))
}

const LONG: usize = 24 << 20;

#[test]
fn a_long_read_has_many_requests_under_way_and_asks_for_nothing_twice() {
    if !can_mount() {
        return;
    }
    // Long enough that it ends only when there are many.
    let bytes = pattern(5, 2 * LONG);
    for (mode, requests, least) in [(Mode::Strict, 64, 5), (Mode::Strict, 3, 2), (Mode::Fast, 64, 5)] {
        let s3 = S3::start();
        s3.put("data/f", bytes.clone());
        // So late that a busy machine, which takes in less meanwhile, needs as many on their way.
        s3.set_link(Link { latency: Duration::from_millis(300), ..Link::default() });
        // A larger budget for reads in flight than the size of the file.
        let mut mount = Mount::new(s3, 65536, options(mode), Limits { requests, ..LIMITS });
        let file = File::open(mount.at("f")).unwrap();
        mount.s3.take_asked();
        mount.s3.take_most_under_way();
        let (_, done) = read_on(&file, &bytes, 0);
        done.unwrap();
        let most = mount.s3.take_most_under_way();
        assert!((least..=requests).contains(&most), "{mode:?}, {requests}: {most}");
        let ranges = asked_once(&mount.s3.take_asked());
        let asked: u64 = ranges.iter().map(|(first, last)| last + 1 - first).sum();
        assert_eq!(asked, bytes.len() as u64, "{mode:?}, {requests}: {ranges:?}");
        let (counts, traffic) = mount.cache.as_ref().unwrap().counts();
        // The readers that requested it have missed, as if nothing had been read ahead.
        assert_eq!((counts.total.references, counts.total.hits), (bytes.len() as u64 / 4096, 0), "{mode:?}");
        assert!(traffic.reads_ahead > 10, "{traffic:?}");
        drop(file);
        mount.stop();
    }
}

#[test]
fn what_is_read_of_a_few_places_is_not_read_ahead_far() {
    if !can_mount() {
        return;
    }
    let (s3, bytes) = (S3::start(), pattern(6, LONG));
    s3.put("data/f", bytes.clone());
    let mut mount = Mount::new(s3, 16384, options(Mode::Strict), LIMITS);
    let file = File::open(mount.at("f")).unwrap();
    let (mut read, mut buffer) = (0, vec![0; 64 << 10]);
    // Three consecutive reads each.
    for place in (0..LONG as u64 - (1 << 20)).step_by(2 << 20) {
        for step in 0..3 {
            let at = place + step * (64 << 10);
            file.read_exact_at(&mut buffer, at).unwrap();
            assert!(buffer[..] == bytes[at as usize..][..buffer.len()]);
            read += buffer.len() as u64;
        }
    }
    drop(file);
    mount.stop();
    let asked: u64 = asked_once(&mount.s3.take_asked()).iter().map(|(first, last)| last + 1 - first).sum();
    assert!(asked <= read + 12 * (1 << 20), "{asked} bytes for {read}");
}

/// Reads of this many bytes each at one distance, as of a column of a table: the bytes and requests, and the time.
fn read_apart(places: impl Iterator<Item = u64>, length: usize, bytes: &[u8]) -> (u64, usize, Duration) {
    let s3 = S3::start();
    s3.put("data/f", bytes);
    s3.set_link(Link { latency: Duration::from_millis(40), ..Link::default() });
    let mut mount = Mount::new(s3, 4096, options(Mode::Strict), LIMITS);
    let file = File::open(mount.at("f")).unwrap();
    mount.s3.take_asked();
    let (begun, mut page) = (Instant::now(), vec![0; length]);
    for at in places {
        file.read_exact_at(&mut page, at).unwrap();
        assert!(page == bytes[at as usize..][..length]);
    }
    let took = begun.elapsed();
    drop(file);
    mount.stop();
    let ranges = asked_once(&mount.s3.take_asked());
    (ranges.iter().map(|(first, last)| last + 1 - first).sum(), ranges.len(), took)
}

#[test]
fn who_reads_at_one_distance_has_the_next_places_read_and_nothing_between() {
    if !can_mount() {
        return;
    }
    let bytes = pattern(12, LONG);
    // 100 pages: one after the other they take 4 s.
    let (asked, requests, took) = read_apart((0..100).map(|place| place * 200_704), 4096, &bytes);
    assert!(took < Duration::from_millis(1600), "{took:?}");
    assert!((100..=150).contains(&requests) && asked == requests as u64 * 4096, "{requests} requests, {asked} bytes");
    let (asked, requests, took) = read_apart((0..100).rev().map(|place| place * 200_704), 4096, &bytes);
    assert!(took < Duration::from_millis(1600) && requests == 100, "{took:?}, {requests} requests, {asked} bytes");
    // Random reads cause no read-ahead.
    let (_, requests, _) = read_apart((0..20).map(|place: u64| place * place * 40_960), 4096, &bytes);
    assert_eq!(requests, 20);
    // Data beyond the budget is not read only to be dropped.
    let (_, requests, _) = read_apart((0..62).map(|place| place * 401_408), 1 << 17, &bytes);
    assert!((62..=63).contains(&requests), "{requests} requests");
}

#[test]
fn a_range_that_fails_fails_who_reads_it_and_nothing_else() {
    if !can_mount() {
        return;
    }
    let (s3, bytes) = (S3::start(), pattern(7, LONG));
    s3.put("data/f", bytes.clone());
    const BAD: u64 = 9 << 20;
    let fail = |s3: &S3| {
        s3.fail(|asked| {
            let is_bad = asked.range.is_some_and(|(first, last)| (first..=last).contains(&BAD));
            Some(if is_bad { Fault::Status(500) } else { Fault::Late(Duration::from_millis(5)) })
        });
    };
    fail(&s3);
    let limits = Limits { retries: 0, ..LIMITS };
    let mut mount = Mount::new(s3, 16384, options(Mode::Strict), limits);
    let file = File::open(mount.at("f")).unwrap();
    let (at, done) = read_on(&file, &bytes, 0);
    assert_eq!(errno(done), Some(Errno::IO));
    // Its part of what was read ahead has failed with it.
    assert!(at as u64 <= BAD && at as u64 > BAD - (2 << 20), "failed at {at}");
    let (end, done) = read_on(&file, &bytes, BAD as usize + (2 << 20));
    assert!(done.is_ok() && end == LONG);
    mount.s3.fail(|_| None);
    let (end, done) = read_on(&file, &bytes, at);
    assert!(done.is_ok() && end == LONG, "{done:?} at {end}");
    drop(file);
    mount.stop();
}

#[test]
fn a_version_that_goes_while_it_is_read_ahead_is_never_mixed_with_the_next() {
    if !can_mount() {
        return;
    }
    let (s3, old, new) = (S3::start(), pattern(8, LONG), pattern(9, LONG));
    s3.put("data/f", old.clone());
    s3.set_link(Link { latency: Duration::from_millis(5), ..Link::default() });
    let mut mount = Mount::new(s3, 16384, options(Mode::Strict), LIMITS);
    let file = File::open(mount.at("f")).unwrap();
    let (at, done) = read_on(&file, &old[..8 << 20], 0);
    done.unwrap();
    mount.s3.put("data/f", new.clone());
    let (end, done) = read_on(&file, &old, at);
    assert_eq!(errno(done), Some(Errno::STALE));
    assert!(end < LONG);
    let now = File::open(mount.at("f")).unwrap();
    let (end, done) = read_on(&now, &new, 0);
    assert!(done.is_ok() && end == LONG);
    drop((file, now));
    mount.stop();
}

#[test]
fn who_closes_while_much_is_on_its_way_leaves_nothing_behind() {
    if !can_mount() {
        return;
    }
    let (s3, bytes) = (S3::start(), pattern(10, LONG));
    s3.put("data/f", bytes.clone());
    s3.set_link(Link { latency: Duration::from_millis(30), ..Link::default() });
    let mut mount = Mount::new(s3, 16384, options(Mode::Strict), LIMITS);
    for turn in 1..6 {
        let file = File::open(mount.at("f")).unwrap();
        let (_, done) = read_on(&file, &bytes[..turn << 20], 0);
        done.unwrap();
        // Much of it is still to come.
        drop(file);
    }
    let file = File::open(mount.at("f")).unwrap();
    let (end, done) = read_on(&file, &bytes, 0);
    assert!(done.is_ok() && end == LONG);
    drop(file);
    // The remaining file was found.
    asked_once(&mount.s3.take_asked());
    mount.stop();
}

#[test]
fn a_listing_without_end_ends() {
    if !can_mount() {
        return;
    }
    let entry = "<Contents><Key>data/same</Key><LastModified>2026-01-05T10:00:00.000Z</LastModified>\
                 <ETag>&quot;1&quot;</ETag><Size>1</Size></Contents>";
    // The same token again and again, and others for ever with no entry, or the same one.
    let ways = [("", false, 2..=3), ("", true, 50..=200), (entry, true, 50..=200)];
    let mut mount = Mount::new(S3::start(), 0, options(MODES[0]), LIMITS);
    for (entry, is_new, expected) in ways {
        let mut parts = 0;
        mount.s3.fail(move |_| {
            parts += usize::from(is_new);
            let text = format!(
                "<ListBucketResult>{entry}<IsTruncated>true</IsTruncated>\
                 <NextContinuationToken>{parts}</NextContinuationToken></ListBucketResult>"
            );
            Some(Fault::Text(text.leak()))
        });
        mount.s3.take_asked();
        let listed: io::Result<Vec<_>> = fs::read_dir(mount.at("")).and_then(Iterator::collect);
        assert_eq!(errno(listed), Some(Errno::IO), "{entry} {is_new}");
        let asked = mount.s3.take_asked().len();
        assert!(expected.contains(&asked), "{asked}: {entry} {is_new}");
    }
    // New names for ever, of a kilobyte each: 64 MiB hold 55,000 of them.
    let mut parts = 0;
    mount.s3.fail(move |_| {
        parts += 1;
        let entry = |number: usize| {
            let name = format!("{parts}-{number}-{}", "x".repeat(900));
            format!("<CommonPrefixes><Prefix>data/{name}/</Prefix></CommonPrefixes>")
        };
        let entries: String = (0..1000).map(entry).collect();
        let text = format!(
            "<ListBucketResult>{entries}<IsTruncated>true</IsTruncated>\
             <NextContinuationToken>{parts}</NextContinuationToken></ListBucketResult>"
        );
        Some(Fault::Text(text.leak()))
    });
    mount.s3.take_asked();
    let listed: io::Result<Vec<_>> = fs::read_dir(mount.at("")).and_then(Iterator::collect);
    assert_eq!(errno(listed), Some(Errno::FBIG));
    let asked = mount.s3.take_asked().len();
    assert!((55..70).contains(&asked), "{asked}");
    mount.s3.fail(|_| None);
    mount.s3.put("data/f", "x");
    assert_eq!(fs::read_dir(mount.at("")).unwrap().count(), 1);
    mount.stop();
}
