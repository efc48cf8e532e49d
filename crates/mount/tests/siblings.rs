//! Files of a directory of a store that are opened one after the other. Needs /dev/fuse.

mod support;

use std::ffi::OsString;
use std::fs;
use std::thread;
use std::time::Duration;

use hotset_mount::{Mode, Options, Staleness};
use hotset_store::Limits;
use hotset_testkit::s3::{Asked, Fault, Link, S3};

use support::mounted::{can_mount, options};
use support::pattern;
use support::stored::{LIMITS, Mount};

/// A directory of small files, as [`pattern`] of their numbers; gives their names as listings have them.
fn put_small(s3: &S3, files: u64) -> Vec<String> {
    let names: Vec<String> = (0..files).map(|number| format!("{number:03}")).collect();
    names.iter().zip(0..).for_each(|(name, number)| s3.put(&format!("data/d/{name}"), pattern(number, 9000)));
    names
}

/// The keys of which bytes were asked for, in their order; none twice.
fn asked_keys(asked: &[Asked]) -> Vec<String> {
    let mut keys: Vec<_> = asked.iter().filter(|asked| asked.range.is_some()).map(|asked| asked.key.clone()).collect();
    keys.sort();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "asked for twice: {keys:?}");
    keys
}

#[test]
fn who_opens_the_files_of_a_directory_in_order_has_the_next_ones_read() {
    if !can_mount() {
        return;
    }
    const FILES: u64 = 120;
    // Where each open asks, there are no more than come during that.
    for (mode, staleness, least) in [
        (Mode::Strict, Staleness::For(Duration::from_secs(60)), 10),
        (Mode::Fast, Staleness::For(Duration::from_secs(60)), 10),
        (Mode::Strict, Staleness::Open, 3),
    ] {
        let s3 = S3::start();
        let names = put_small(&s3, FILES);
        s3.set_link(Link { latency: Duration::from_millis(20), ..Link::default() });
        let mut mount = Mount::new(s3, 4096, Options { staleness, ..options(mode) }, LIMITS);
        let listed = fs::read_dir(mount.at("d")).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(listed.eq(names.iter().map(OsString::from)));
        mount.s3.take_asked();
        mount.s3.take_most_under_way();
        for (name, number) in names.iter().zip(0..) {
            assert!(fs::read(mount.at("d").join(name)).unwrap() == pattern(number, 9000), "{name}");
        }
        assert_eq!(asked_keys(&mount.s3.take_asked()).len(), FILES as usize, "{mode:?}");
        let most = mount.s3.take_most_under_way();
        assert!(most >= least, "{mode:?}, {staleness:?}: {most} under way");
        // The counts are those of the requests, as if nothing had been read ahead.
        let (counts, traffic) = mount.cache.as_ref().unwrap().counts();
        assert_eq!((counts.total.references, counts.total.hits), (3 * FILES, 0), "{mode:?}");
        assert!(traffic.reads_ahead >= FILES - 5 && traffic.errors == 0, "{traffic:?}");
        for (name, number) in names.iter().zip(0..) {
            assert!(fs::read(mount.at("d").join(name)).unwrap() == pattern(number, 9000), "{name}");
        }
        assert_eq!(asked_keys(&mount.s3.take_asked()).len(), 0, "{mode:?}: they are cached");
        mount.stop();
    }
}

#[test]
fn who_opens_some_files_of_a_directory_has_no_others_read() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    let names = put_small(&s3, 120);
    let staleness = Staleness::For(Duration::from_secs(60));
    let mut mount = Mount::new(s3, 4096, Options { staleness, ..options(Mode::Strict) }, LIMITS);
    let places = (0..120).step_by(2).chain((1..120).step_by(2).rev());
    let mut opened: Vec<String> = Vec::new();
    fs::read_dir(mount.at("d")).unwrap().for_each(drop);
    for place in places {
        assert!(fs::read(mount.at("d").join(&names[place])).unwrap() == pattern(place as u64, 9000));
        opened.push(format!("data/d/{}", names[place]));
        if place == 118 {
            let mut expected = opened.clone();
            expected.sort();
            assert_eq!(asked_keys(&mount.s3.take_asked()), expected);
        }
    }
    // Who stops after a few has cost little.
    mount.stop();
    let s3 = S3::start();
    let names = put_small(&s3, 120);
    let mut mount = Mount::new(s3, 4096, Options { staleness, ..options(Mode::Strict) }, LIMITS);
    fs::read_dir(mount.at("d")).unwrap().for_each(drop);
    for (name, number) in names[20..24].iter().zip(20..) {
        assert!(fs::read(mount.at("d").join(name)).unwrap() == pattern(number, 9000));
    }
    mount.stop();
    assert!((4..=12).contains(&asked_keys(&mount.s3.take_asked()).len()));
}

#[test]
fn files_that_are_replaced_or_fail_while_they_are_read_beforehand_are_read_as_they_are() {
    if !can_mount() {
        return;
    }
    let s3 = S3::start();
    let names = put_small(&s3, 60);
    s3.set_link(Link { latency: Duration::from_millis(10), ..Link::default() });
    let mut mount = Mount::new(s3, 4096, options(Mode::Strict), Limits { retries: 0, ..LIMITS });
    fs::read_dir(mount.at("d")).unwrap().for_each(drop);
    let read = |name: &String| fs::read(mount.at("d").join(name));
    for (name, number) in names[..20].iter().zip(0..) {
        assert!(read(name).unwrap() == pattern(number, 9000), "{name}");
    }
    // Of these some are read by now, some on their way, and some were not asked for.
    names[20..]
        .iter()
        .zip(1000..)
        .for_each(|(name, seed)| mount.s3.put(&format!("data/d/{name}"), pattern(seed, 7000)));
    for (name, seed) in names[20..40].iter().zip(1000..) {
        let was_open = read(name);
        // Looked up anew it is the new one.
        let now = was_open.or_else(|_| {
            thread::sleep(Duration::from_millis(1100));
            read(name)
        });
        assert!(now.unwrap() == pattern(seed, 7000), "{name}");
    }
    mount.s3.fail(|asked| asked.range.is_some().then_some(Fault::Status(500)));
    let failed = names[40..].iter().filter(|name| read(name).is_err()).count();
    assert!(failed > 0);
    mount.s3.fail(|_| None);
    for (name, seed) in names[40..].iter().zip(1020..) {
        assert!(read(name).unwrap() == pattern(seed, 7000), "{name}");
    }
    mount.stop();
}
