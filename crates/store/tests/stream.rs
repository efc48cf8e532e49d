//! An object read in order, from a store of our own that answers wrongly.

use std::io::{self, Read};
use std::time::Duration;

use hotset_store::{Limits, Location, StoreError, Stored};
use hotset_testkit::s3::{Fault, Link, S3};

const LIMITS: Limits =
    Limits { requests: 64, timeout: Duration::from_secs(4), retries: 3, hedges: false, bandwidth: None };

/// Nine parts and a little more.
const LONG: usize = (9 << 20) + 1234;

fn pattern(seed: u32, length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| ((at ^ seed << 20).wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// A file of the server, as any web server would give it.
fn open(s3: &S3, key: &str) -> Result<Stored, StoreError> {
    Stored::open(&Location::parse(&format!("{}/bucket/{key}", s3.url())).unwrap(), LIMITS)
}

fn stored(bytes: &[u8]) -> (S3, Stored) {
    let s3 = S3::start();
    s3.put("data/a b", bytes);
    let stored = open(&s3, "data/a%20b").unwrap();
    assert_eq!(stored.size(), bytes.len() as u64);
    (s3, stored)
}

fn why(error: &io::Error) -> Option<&StoreError> {
    error.get_ref()?.downcast_ref()
}

#[test]
fn all_bytes_come_once_and_in_order_with_a_bounded_number_of_requests_under_way() {
    for length in [0, 1, 1 << 20, (1 << 20) + 1, 60 << 20] {
        let bytes = pattern(1, length);
        let (s3, stored) = stored(&bytes);
        s3.set_link(Link { latency: Duration::from_millis(50), ..Link::default() });
        s3.take_asked();
        let mut read = Vec::new();
        stored.stream().read_to_end(&mut read).unwrap();
        assert!(read == bytes, "{length}: {} bytes", read.len());
        let mut ranges: Vec<_> = s3.take_asked().iter().map(|asked| asked.range.unwrap()).collect();
        ranges.sort_unstable();
        assert_eq!(ranges.len(), length.div_ceil(1 << 20), "{length}");
        assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{length}: {ranges:?}");
        let most = s3.take_most_under_way();
        assert!(most <= 16 && (length < 32 << 20 || most >= 12), "{length}: {most} under way");
    }
}

#[test]
fn who_looks_at_the_beginning_asks_for_the_beginning() {
    let (s3, stored) = stored(&pattern(2, LONG));
    s3.take_asked();
    let mut head = [0; 6];
    stored.stream().read_exact(&mut head).unwrap();
    assert_eq!(head[..], pattern(2, LONG)[..6]);
    // One part is asked for, and with its bytes the next two.
    assert!((1..=3).contains(&s3.take_asked().len()));
}

#[test]
fn a_version_that_is_replaced_is_an_error_and_never_a_mixture() {
    for ignores in [false, true] {
        let (old, new) = (pattern(3, LONG), pattern(4, LONG));
        let (s3, stored) = stored(&old);
        if ignores {
            s3.ignore_conditions();
        }
        s3.set_link(Link { latency: Duration::from_millis(5), ..Link::default() });
        let mut stream = stored.stream();
        let mut read = vec![0; 1 << 20];
        stream.read_exact(&mut read).unwrap();
        s3.put("data/a b", new);
        let error = stream.read_to_end(&mut read).unwrap_err();
        assert_eq!(why(&error), Some(&StoreError::Changed));
        assert!(read.len() < LONG && old.starts_with(&read));
        // It has no end that could be taken for that of the object, and a second pass is of the old one, too.
        assert_eq!(why(&stream.read(&mut [0; 10]).unwrap_err()), Some(&StoreError::Changed));
        assert_eq!(why(&stored.stream().read(&mut [0; 10]).unwrap_err()), Some(&StoreError::Changed));
    }
}

#[test]
fn what_is_cut_or_busy_is_asked_for_again_and_in_vain_told() {
    let bytes = pattern(5, LONG);
    let (s3, stored) = stored(&bytes);
    let read = || {
        let mut read = Vec::new();
        stored.stream().read_to_end(&mut read).map(|_| read)
    };
    for fault in [Fault::Cut(300_000), Fault::Short(300_000), Fault::Closed, Fault::Status(503)] {
        let mut asked = 0;
        s3.fail(move |_| {
            asked += 1;
            (asked % 5 == 2).then_some(fault)
        });
        assert!(read().unwrap() == bytes, "{fault:?}");
    }
    for (fault, error) in [
        (Fault::Status(503), StoreError::Answer(Some(503))),
        (Fault::Status(403), StoreError::Denied),
        (Fault::Status(404), StoreError::Missing),
        (Fault::Short(10), StoreError::Truncated),
        (Fault::Endless, StoreError::Answer(None)),
    ] {
        s3.fail(move |asked| asked.range.is_some_and(|(first, _)| first >= 4 << 20).then_some(fault));
        assert_eq!(why(&read().unwrap_err()), Some(&error), "{fault:?}");
    }
}

#[test]
fn what_cannot_be_read_is_told_when_it_is_opened() {
    let s3 = S3::start();
    s3.put("f", "x");
    assert_eq!(open(&s3, "g").err(), Some(StoreError::Missing));
    s3.fail(|_| Some(Fault::Status(403)));
    let said = open(&s3, "f").err().expect("it is refused").to_string();
    assert!(said.contains("web servers are given none"), "{said}");
    let bucket = Location::parse("s3://bucket").unwrap();
    let said = Stored::open(&bucket, LIMITS).err().expect("it is refused").to_string();
    assert!(said.contains("all of a bucket"), "{said}");
}
