//! Threads use a region while it is paged. Every byte is verified, and faults are compared with a simulation.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hotset_core::policy::Object;
use hotset_core::random::Rng;
use hotset_pager::{Owned, Owners, PAGE, Pager, PagerSettings, PagingCounts, Region};
use hotset_testkit::inputs::skip;

/// One allocation of this many pages.
struct One(u32);

impl Owners for One {
    fn owners(&self, pages: &[u32], owned: &mut Vec<Owned>) {
        let object = Object { id: 1, bytes: u64::from(self.0) * PAGE as u64, is_global: false };
        owned.extend(pages.iter().map(|_| Some((object, 0..self.0))));
    }
}

/// A folder on a file system that the pager serves: that of the build, for temporary folders are often in memory.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned()
}

/// A region that works, or `None` with the reason on standard error.
fn region(pages: u32) -> Option<Region> {
    let made = Region::create(&folder(), pages).and_then(|mut region| region.try_out().map(|()| region));
    made.inspect_err(|error| skip(&error.to_string())).ok()
}

/// The words of a region, one a page, as its threads use them.
#[derive(Clone, Copy)]
struct Words(usize);

impl Words {
    fn at(self, page: u32) -> &'static AtomicU64 {
        // SAFETY: the tests join their threads before the region ends, and pass pages of it alone.
        unsafe { &*((self.0 + page as usize * PAGE) as *const AtomicU64) }
    }
}

/// Pages a region of `pages` pages under `policy` in `bytes` bytes of memory while `body` runs.
fn paged(
    policy: &str,
    bytes: u64,
    pages: u32,
    reads_ahead: bool,
    body: impl FnOnce(Words) + Send,
) -> Option<PagingCounts> {
    let settings = PagerSettings::new(bytes, policy, folder(), reads_ahead).unwrap();
    let mut pager = Pager::new(region(pages)?, settings).unwrap();
    pager.grow(pages).unwrap();
    let words = Words(pager.region().base());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let body = scope.spawn(|| body(words));
        let pager = scope.spawn(|| {
            Pager::prepare_thread();
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(pager.step(&One(pages)).unwrap());
            }
            // Written pages leave once the device has them.
            let until = Instant::now() + Duration::from_secs(20);
            while pager.counts().cached > bytes / PAGE as u64 && Instant::now() < until {
                thread::sleep(pager.step(&One(pages)).unwrap());
            }
        });
        let ended = body.join();
        is_over.store(true, Ordering::Relaxed);
        pager.join().unwrap();
        ended.unwrap();
    });
    Some(pager.counts())
}

const PAGES: u32 = 8192;
const MEMORY: u64 = 8 << 20;

/// Pages of skewed popularity, seeded.
fn skewed(seed: u64, count: usize) -> impl Iterator<Item = u32> {
    let mut random = Rng::new(seed);
    (0..count)
        .map(move |_| ((random.unit().powi(3) * f64::from(PAGES)) as u32).min(PAGES - 1).wrapping_mul(4099) % PAGES)
}

#[test]
fn no_policy_ever_gives_a_wrong_byte() {
    for policy in ["clock", "eta", "apr", "seq", "sieve", "fifo", "s3-fifo(promote=1)", "random"] {
        let run = |words: Words| {
            thread::scope(|scope| {
                for part in 0..4u32 {
                    scope.spawn(move || verify(words, part * PAGES / 4..(part + 1) * PAGES / 4, 12_000));
                }
            });
        };
        let Some(counts) = paged(policy, MEMORY, PAGES, true, run) else { return };
        assert!(counts.evictions > 6000 && counts.written > 4000, "{policy}: {counts:?}");
        assert!(counts.cached <= MEMORY / PAGE as u64, "{policy}: {counts:?}");
    }
}

/// Writes and verifies random words of pages; the first pass fills all.
fn verify(words: Words, pages: Range<u32>, count: u32) {
    let mut random = Rng::new(pages.start.into());
    let mut expected = vec![0u64; pages.len()];
    for step in 0..count {
        let at = if step < pages.len() as u32 { step } else { random.below(pages.len() as u32) };
        let word = words.at(pages.start + at);
        assert_eq!(word.load(Ordering::Relaxed), expected[at as usize], "page {}", pages.start + at);
        if random.below(2) == 0 {
            expected[at as usize] = random.bits();
            word.store(expected[at as usize], Ordering::Relaxed);
        }
    }
    for (page, expected) in pages.zip(expected) {
        assert_eq!(words.at(page).load(Ordering::Relaxed), expected, "page {page} at the end");
    }
}

#[test]
fn clock_faults_about_as_often_as_simulated() {
    let count = 60_000;
    let mut warm = 0;
    let run = |words: Words| {
        (0..PAGES).for_each(|page| words.at(page).store(1, Ordering::Relaxed));
        thread::sleep(Duration::from_millis(300));
        for page in skewed(3, count) {
            warm += words.at(page).load(Ordering::Relaxed);
        }
    };
    let Some(counts) = paged("clock", MEMORY, PAGES, false, run) else { return };
    assert_eq!(warm, count as u64);
    let faults = counts.faults as f64 - f64::from(PAGES);
    let frames = (MEMORY / PAGE as u64) as u32;
    // The policy has fifteen sixteenths of the memory.
    let expected = clock_faults(frames - frames / 16, (0..PAGES).chain(skewed(3, count))) as f64 - f64::from(PAGES);
    let ratio = faults / expected;
    assert!((0.8..1.2).contains(&ratio), "{faults} faults, {expected} simulated");
}

/// A program that writes fresh memory faster than the device takes it is held back: without that, all pages would be in
/// memory at once.
#[test]
fn the_limit_holds_while_memory_is_filled() {
    let pages = 8 * PAGES;
    let run = |words: Words| (0..pages).for_each(|page| words.at(page).store(1, Ordering::Relaxed));
    let Some(counts) = paged("eta", MEMORY, pages, true, run) else { return };
    assert!(counts.holds > 0, "{counts:?}");
    assert!(counts.peak < u64::from(pages) / 2, "{counts:?}");
}

#[test]
fn a_page_is_touched_while_the_program_is_held_back_and_after() {
    let Some(mut region) = region(64) else { return };
    region.reserve(64).unwrap();
    let words = Words(region.base());
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let holder = scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                region.hold_back().unwrap();
            }
            region
        });
        for round in 1..200u64 {
            (0..64).for_each(|page| assert_eq!(words.at(page).swap(round, Ordering::Relaxed), round - 1));
        }
        is_over.store(true, Ordering::Relaxed);
        holder.join().unwrap();
    });
}

/// Faults of CLOCK with exact bits.
fn clock_faults(frames: u32, pages: impl Iterator<Item = u32>) -> u64 {
    let (mut ring, mut hand, mut faults) = (Vec::new(), 0, 0);
    let mut bits = vec![None; PAGES as usize];
    for page in pages {
        if let Some(bit) = &mut bits[page as usize] {
            *bit = true;
            continue;
        }
        faults += 1;
        bits[page as usize] = Some(false);
        if ring.len() < frames as usize {
            ring.push(page);
            continue;
        }
        while bits[ring[hand] as usize] == Some(true) {
            bits[ring[hand] as usize] = Some(false);
            hand = (hand + 1) % ring.len();
        }
        bits[ring[hand] as usize] = None;
        ring[hand] = page;
        hand = (hand + 1) % ring.len();
    }
    faults
}

#[test]
fn a_sweep_reads_ahead() {
    let run = |words: Words| {
        for round in 0..4 {
            for page in 0..PAGES {
                assert_eq!(words.at(page).load(Ordering::Relaxed), if round == 0 { 0 } else { 1 }, "page {page}");
                if round == 0 {
                    words.at(page).store(1, Ordering::Relaxed);
                }
            }
        }
    };
    let Some(counts) = paged("clock", MEMORY, PAGES, true, run) else { return };
    assert!(counts.read_ahead > u64::from(PAGES), "{counts:?}");
    let Some(counts) = paged("clock", MEMORY, PAGES, false, run) else { return };
    assert_eq!(counts.read_ahead, 0);
}

#[test]
fn system_calls_reach_pages_that_have_left() {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    let file = tempfile::tempfile_in(folder()).unwrap();
    file.write_all_at(&[7; PAGE], 0).unwrap();
    let run = |words: Words| {
        let page = |page: u32| {
            // SAFETY: as in `Words::at`; one thread uses the pages.
            unsafe { std::slice::from_raw_parts_mut((words.0 + page as usize * PAGE) as *mut u8, PAGE) }
        };
        for round in 0..3u8 {
            for number in 0..PAGES {
                File::read_exact_at(&file, page(number), 0).unwrap();
                page(number)[9] = round;
            }
            for number in (0..PAGES).step_by(3) {
                file.write_all_at(page(number), PAGE as u64).unwrap();
                let mut back = [0; PAGE];
                file.read_exact_at(&mut back, PAGE as u64).unwrap();
                assert!(back[9] == round && back[10..] == [7; PAGE - 10], "page {number}");
            }
        }
    };
    let Some(counts) = paged("clock", MEMORY, PAGES, true, run) else { return };
    assert!(counts.evictions > u64::from(PAGES), "{counts:?}");
}

#[test]
fn cleared_pages_are_zeros() {
    let Some(region) = region(PAGES) else { return };
    let settings = PagerSettings::new(MEMORY, "eta", folder(), true).unwrap();
    let mut pager = Pager::new(region, settings).unwrap();
    pager.grow(PAGES).unwrap();
    let words = Words(pager.region().base());
    for round in 1..5u64 {
        for page in 0..PAGES {
            words.at(page).store(round, Ordering::Relaxed);
            if page % 512 == 0 {
                pager.step(&One(PAGES)).unwrap();
            }
        }
        pager.clear(100..6000).unwrap();
        for page in 0..PAGES {
            let expected = if (100..6000).contains(&page) { 0 } else { round };
            assert_eq!(words.at(page).load(Ordering::Relaxed), expected, "page {page}");
        }
    }
    assert!(pager.counts().evictions > 1000, "{:?}", pager.counts());
}
