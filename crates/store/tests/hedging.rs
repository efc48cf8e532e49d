//! A store that holds some answers back: a second request is made, of one read in twenty at most.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hotset_store::{Hedged, Limits, Location, Store, StoreError};
use hotset_testkit::s3::{Fault, Link, S3};

const LIMITS: Limits =
    Limits { requests: 64, timeout: Duration::from_secs(10), retries: 3, hedges: true, bandwidth: None };

/// Long enough that a busy machine does not make reads late.
const LATENCY: Duration = Duration::from_millis(30);

const HELD_BACK: Duration = Duration::from_secs(1);

const BYTES: usize = 128 << 10;

fn store(s3: &S3, limits: Limits) -> Store {
    s3.put("data/f", (0..4 * BYTES).map(|at| (at / 7) as u8).collect::<Vec<_>>());
    s3.set_link(Link { latency: LATENCY, ..Link::default() });
    let told = [("AWS_ENDPOINT_URL", &*s3.url()), ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let told = told.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Store::open_with(&Location::parse("s3://bucket/data").unwrap(), limits, told).unwrap()
}

/// From now on each so manyth request is held back.
fn hold_back(s3: &S3, every: usize) {
    let mut asked = 0;
    s3.fail(move |_| {
        asked += 1;
        (asked % every == 0).then_some(Fault::Late(HELD_BACK))
    });
}

/// Times of so many reads by eight readers, in order of length, and the requests that were made.
fn times(s3: &S3, store: &Store, reads: usize) -> (Vec<Duration>, usize) {
    let object = store.head("f").unwrap();
    s3.take_asked();
    let (next, times) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < reads {
                    let begun = Instant::now();
                    let bytes = store.read(&object, 100..100 + BYTES as u64).unwrap();
                    times.lock().unwrap().push(begun.elapsed());
                    assert!(bytes.len() == BYTES && bytes.iter().zip(100..).all(|(&byte, at)| byte == (at / 7) as u8));
                }
            });
        }
    });
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    (times, s3.take_asked().len())
}

#[test]
fn who_is_held_back_is_answered_by_a_second_request() {
    const READS: usize = 600;
    let tail = |hedges: bool| {
        let s3 = S3::start();
        let store = store(&s3, Limits { hedges, ..LIMITS });
        hold_back(&s3, 20);
        let (times, asked) = times(&s3, &store, READS);
        println!("hedges {hedges}: p50 {:?}, p99 {:?}, {asked} requests", times[READS / 2], times[READS * 99 / 100]);
        (times[READS * 99 / 100], asked, store.hedged())
    };
    let (late, asked, counted) = tail(false);
    assert!(late >= HELD_BACK && asked == READS, "{late:?}, {asked}");
    assert_eq!(counted, Hedged { reads: READS as u64, hedges: 0, hedges_won: 0 });
    let (late, asked, counted) = tail(true);
    assert!(late < HELD_BACK / 2, "{late:?}");
    assert!(asked > READS && asked <= READS + READS / 20, "{asked}");
    assert_eq!((counted.reads, counted.hedges), (READS as u64, (asked - READS) as u64));
    assert!(counted.hedges_won > 20 && counted.hedges_won <= counted.hedges, "{counted:?}");
}

#[test]
fn a_store_that_becomes_slow_is_not_asked_for_more_than_a_little() {
    const READS: usize = 400;
    let s3 = S3::start();
    let store = store(&s3, LIMITS);
    // So much is kept of what was not needed.
    times(&s3, &store, READS);
    let before = store.hedged();
    s3.set_link(Link { latency: 10 * LATENCY, ..Link::default() });
    let (_, asked) = times(&s3, &store, READS);
    assert!(asked <= READS + READS / 20 + 10, "{asked}");
    // It is what such a store takes, soon.
    let hedges = store.hedged().hedges - before.hedges;
    assert!((1..=20).contains(&hedges), "{hedges}");
}

#[test]
fn where_more_is_held_back_there_is_no_more_than_one_second_request_for_twenty_reads() {
    const READS: usize = 400;
    let s3 = S3::start();
    let store = store(&s3, LIMITS);
    hold_back(&s3, 13);
    let (_, asked) = times(&s3, &store, READS);
    assert!(asked <= READS + READS / 20, "{asked}");
    assert!(store.hedged().hedges >= 15, "{:?}", store.hedged());
}

#[test]
fn no_second_request_goes_beyond_those_that_may_be_under_way() {
    let s3 = S3::start();
    let store = store(&s3, Limits { requests: 1, ..LIMITS });
    hold_back(&s3, 20);
    let (times, asked) = times(&s3, &store, 65);
    assert!(times[64] > HELD_BACK, "{times:?}");
    assert_eq!((s3.take_most_under_way(), asked, store.hedged().hedges), (1, 65, 0));
}

#[test]
fn a_second_request_that_fails_harms_nobody_and_a_version_that_is_gone_is_told() {
    let s3 = S3::start();
    let store = store(&s3, Limits { retries: 0, ..LIMITS });
    let object = store.head("f").unwrap();
    times(&s3, &store, 60);
    for (first, second, expected) in [
        (Fault::Late(HELD_BACK), Fault::Status(500), Ok(())),
        (Fault::Late(HELD_BACK), Fault::Late(2 * HELD_BACK), Ok(())),
        (Fault::Late(HELD_BACK), Fault::Status(412), Ok(())),
    ] {
        let mut asked = 0;
        s3.fail(move |_| {
            asked += 1;
            Some(if asked == 1 { first } else { second })
        });
        assert_eq!(store.read(&object, 0..BYTES as u64).map(|_| ()), expected, "{second:?}");
    }
    assert_eq!(store.hedged().hedges, 3);
    assert_eq!(store.hedged().hedges_won, 0);
    let mut asked = 0;
    s3.fail(move |_| {
        asked += 1;
        (asked == 1).then_some(Fault::Late(HELD_BACK))
    });
    s3.put("data/f", vec![1; 4 * BYTES]);
    assert_eq!(store.read(&object, 0..BYTES as u64), Err(StoreError::Changed));
}
