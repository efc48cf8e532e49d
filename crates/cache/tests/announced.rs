//! An announced order of files: hits are nearly those of OPT, readers that read again lose nothing, and readers that
//! deviate get the right bytes.

mod support;

use std::sync::Arc;

use hotset_cache::source::Source;
use hotset_cache::{CacheError, FileCache, OrderProgress, Recording};
use hotset_core::policy::{Future, NoEffects, Outcome, PolicySpec, Reference, Setup, Told};
use hotset_core::random::Rng;

use support::{Opened, pattern, settings};

const BLOCK: u64 = 4096;

/// `epochs` orders of `files` files, each shuffled anew.
fn epochs(files: usize, epochs: usize, seed: u64) -> Vec<usize> {
    let mut random = Rng::new(seed);
    let mut order: Vec<usize> = (0..files).collect();
    let mut all = Vec::new();
    for _ in 0..epochs {
        (1..files).rev().for_each(|last| order.swap(last, random.below(last as u32 + 1) as usize));
        all.extend(&order);
    }
    all
}

/// Hits of `opt` on an order of single blocks.
fn optimum(order: &[usize], files: usize, capacity: u32) -> u64 {
    let mut next_use = vec![Future::NEVER; order.len()];
    let mut seen = vec![Future::NEVER; files];
    for (position, &file) in order.iter().enumerate().rev() {
        next_use[position] = seen[file];
        seen[file] = position as u32;
    }
    let slots: Vec<u32> = order.iter().map(|&file| file as u32).collect();
    let future = Future::Told(Told { slots: Arc::new(slots.clone()), next_use: Arc::new(next_use) });
    let spec = PolicySpec::parse("opt").unwrap();
    let args = spec.args(None);
    let setup = Setup { future: Some(&future), ..Setup::new(&args, capacity, files as u32, 1) };
    let mut policy = spec.build(capacity, &setup).unwrap();
    let mut hit = |(time, &slot): (u64, &u32)| {
        let reference = Reference { time, ..Reference::default() };
        policy.access(slot, reference, &mut NoEffects) == Outcome::Hit
    };
    (0..).zip(&slots).filter(|&pair| hit(pair)).count() as u64
}

struct Dataset {
    cache: FileCache,
    files: Vec<Opened>,
}

impl Dataset {
    fn new(policy: &str, memory: u64, sizes: &[usize]) -> Dataset {
        let cache = FileCache::new(&settings(policy, memory), None).unwrap();
        let file = |(seed, &size): (u64, &usize)| Opened::new(&cache, &path(seed as usize), pattern(seed, size));
        let files = (0..).zip(sizes).map(file).collect();
        Dataset { cache, files }
    }

    fn announce(&self, order: &[usize]) {
        self.cache.announce(order.iter().map(|&file| path(file))).unwrap();
    }

    /// Opens a file and reads all of it, in pieces.
    fn read(&self, file: usize) {
        let opened = &self.files[file];
        self.cache.opened(opened.number, opened.store.as_ref()).unwrap();
        let upcoming = self.cache.started(opened.number, 1, || path(file));
        upcoming.iter().for_each(|_| self.cache.end_prefetch(false));
        let bytes = opened.store.bytes();
        for at in (0..bytes.len()).step_by(16 << 10) {
            let piece = &bytes[at..bytes.len().min(at + (16 << 10))];
            let read = self.cache.read(&opened.access(0), at as u64, piece.len()).unwrap();
            assert!(read == piece, "wrong bytes in file {file} at {at}");
        }
    }

    fn hits(&self) -> u64 {
        self.cache.counts().0.total.hits
    }

    fn progress(&self) -> Option<OrderProgress> {
        hotset_cache::Status::of(&self.cache).order
    }
}

fn path(file: usize) -> String {
    format!("/data/{file}.bin")
}

#[test]
fn hits_are_those_of_the_optimum_with_a_block_less() {
    for (policy, seed) in [("lru", 1), ("auto", 2), ("lirs", 3), ("s3-fifo", 4), ("arc", 5), ("w-tinylfu", 6)] {
        let order = epochs(100, 6, seed);
        let data = Dataset::new(policy, 20 * BLOCK, &[BLOCK as usize; 100]);
        data.announce(&order);
        order.iter().for_each(|&file| data.read(file));
        // The block that was referenced last stays.
        let [least, most] = [19, 20].map(|capacity| optimum(&order, 100, capacity));
        assert!((least..=most).contains(&data.hits()), "{policy}: {} of {least} to {most}", data.hits());
        data.cache.validate();
        let OrderProgress { uses, files, position, opened, others, is_over, .. } = data.progress().unwrap();
        assert_eq!((uses, files, position, opened, others, is_over), (600, 100, 600, 600, 0, true));
    }
}

#[test]
fn an_order_of_one_epoch_keeps_what_is_still_to_come() {
    // Without knowledge of the next epoch, a fifth of the files stays: LRU would keep hardly any.
    let mut hits = Vec::new();
    for is_announced in [false, true] {
        let data = Dataset::new("lru", 40 * BLOCK, &[2 * BLOCK as usize; 100]);
        for epoch in 0..6 {
            let order = epochs(100, 1, 10 + epoch);
            if is_announced {
                data.announce(&order);
            }
            order.iter().for_each(|&file| data.read(file));
        }
        hits.push(data.hits());
    }
    assert!(hits[1] >= 5 * 38 && hits[0] < 60, "{hits:?}");
}

#[test]
fn readers_may_deviate_from_the_order() {
    for policy in ["lru", "auto", "lirs", "2q", "clock-pro", "mq", "fifo"] {
        let mut random = Rng::new(9);
        let sizes: Vec<usize> = (0..60).map(|file| 1 + file * 700).collect();
        let data = Dataset::new(policy, 64 * BLOCK, &sizes);
        // Files beyond 50 are not in the order.
        let order = epochs(50, 8, 3);
        (0..60).for_each(|file| data.read(file));
        data.announce(&order);
        for (place, &file) in order.iter().enumerate() {
            match random.below(10) {
                0 => {}
                1 => data.read(random.below(60) as usize),
                2 => data.read(order[(place + 5).min(order.len() - 1)]),
                _ => data.read(file),
            }
            if place % 50 == 20 {
                // Beyond what the policy has tables for so far, too.
                data.cache.reconfigure(Some(u64::from(40 + random.below(600)) * BLOCK), None).unwrap();
            }
            if place == 200 {
                data.cache.reconfigure(None, Some(PolicySpec::parse("arc").unwrap())).unwrap();
            }
            data.cache.validate();
        }
        let left = data.cache.end_order().unwrap();
        assert!(left.opened > 250 && left.others > 20, "{policy}: {left:?}");
        let before = data.hits();
        data.read(55);
        data.read(55);
        assert!(data.hits() > before, "the policy decides again");
        data.cache.validate();
    }
}

#[test]
fn files_outside_of_the_order_keep_what_is_used_often() {
    let data = Dataset::new("lru", 50 * BLOCK, &[BLOCK as usize; 110]);
    let order = epochs(100, 4, 5);
    // Ten files were read long ago, ten are read again and again.
    data.announce(&order);
    let mut hot_hits = 0;
    for (place, &file) in order.iter().enumerate() {
        data.read(file);
        let before = data.hits();
        data.read(100 + place % 10);
        hot_hits += data.hits() - before;
    }
    assert!(hot_hits >= 380, "{hot_hits} of 400");
}

#[test]
fn what_comes_next_is_prefetched_unless_it_is_there() {
    let data = Dataset::new("lru", 20 * BLOCK, &[BLOCK as usize; 100]);
    let order: Vec<usize> = (0..100).collect();
    data.announce(&order);
    let started = |file: usize| -> Vec<String> {
        let upcoming = data.cache.started(data.files[file].number, 1, || path(file));
        upcoming.into_iter().map(|upcoming| upcoming.path.to_string()).collect()
    };
    assert_eq!(started(0), [path(1), path(2), path(3), path(4)]);
    assert_eq!(started(1), [""; 0], "so many are under way");
    (0..4).for_each(|_| data.cache.end_prefetch(true));
    assert_eq!(started(2), [path(5), path(6), path(7), path(8)]);
    assert_eq!(started(2), [""; 0], "an additional open");
    (0..4).for_each(|_| data.cache.end_prefetch(true));
    data.read(9);
    assert!(started(3).iter().all(|upcoming| *upcoming != path(9)));
    assert_eq!(data.progress().unwrap().prefetched, 8);
    assert!(data.cache.end_order().is_some_and(|left| !left.is_over));
    assert_eq!(started(4), [""; 0]);
}

#[test]
fn prefetching_stops_where_the_files_are_not_opened() {
    let data = Dataset::new("lru", 20 * BLOCK, &[BLOCK as usize; 800]);
    let order: Vec<usize> = (0..800).collect();
    data.announce(&order);
    let mut prefetched = 0;
    for &file in order.iter().step_by(8) {
        let upcoming = data.cache.started(data.files[file].number, 1, || path(file));
        upcoming.iter().for_each(|_| data.cache.end_prefetch(true));
        prefetched += upcoming.len();
    }
    assert!((16..100).contains(&prefetched), "{prefetched}");
}

#[test]
fn a_prefetch_does_not_hide_a_change_from_the_next_open() {
    let data = Dataset::new("lru", 20 * BLOCK, &[3 * BLOCK as usize; 2]);
    data.announce(&[0, 1]);
    data.read(1);
    let opened = &data.files[1];
    let source: Arc<dyn Source> = opened.store.clone();
    assert!(data.cache.opened(opened.number, source.as_ref()).unwrap());
    opened.store.write_at(b"changed behind the cache", 5).unwrap();
    data.cache.expect(opened.number, &source).unwrap();
    assert!(!data.cache.opened(opened.number, source.as_ref()).unwrap(), "the open must learn of it");
    assert!(data.cache.opened(opened.number, source.as_ref()).unwrap(), "once");
    data.read(1);
}

/// Hits without an order and with one, of a work that is done on both.
fn with_and_without(memory: u64, sizes: &[usize], order: &[usize], work: impl Fn(&Dataset)) -> [u64; 2] {
    [false, true].map(|is_announced| {
        let data = Dataset::new("lru", memory, sizes);
        if is_announced {
            data.announce(order);
        }
        work(&data);
        data.cache.validate();
        data.hits()
    })
}

#[test]
fn files_that_are_read_again_at_once_are_hits() {
    let order: Vec<usize> = (0..100).collect();
    let sizes = [8 * BLOCK as usize; 100];
    for times in [2, 3] {
        let twice = |data: &Dataset| order.iter().for_each(|&file| (0..times).for_each(|_| data.read(file)));
        let [without, with] = with_and_without(128 * BLOCK, &sizes, &order, twice);
        assert!(with >= without, "{with} hits, without an order {without}");
        // Two files at a time, a quarter of what the cache holds.
        let batches = |data: &Dataset| {
            order.chunks(2).for_each(|batch| (0..times).for_each(|_| batch.iter().for_each(|&file| data.read(file))))
        };
        let [without, with] = with_and_without(128 * BLOCK, &sizes, &order, batches);
        assert!(with * 20 >= without * 19, "{with} hits, without an order {without}");
    }
}

#[test]
fn small_reads_of_one_file_are_hits_while_others_are_still_to_come() {
    // The cache is full of files that come later.
    let order: Vec<usize> = (0..64).chain(0..64).collect();
    let work = |data: &Dataset| {
        let mut random = Rng::new(4);
        for &file in &order {
            let opened = &data.files[file];
            data.cache.opened(opened.number, opened.store.as_ref()).unwrap();
            let upcoming = data.cache.started(opened.number, 1, || path(file));
            upcoming.iter().for_each(|_| data.cache.end_prefetch(false));
            for _ in 0..200 {
                let at = u64::from(random.below(8 * 4096));
                data.cache.read(&opened.access(0), at, 64).unwrap();
            }
        }
    };
    let [without, with] = with_and_without(128 * BLOCK, &[8 * BLOCK as usize; 64], &order, work);
    assert!(with >= without, "{with} hits, without an order {without}");
}

#[test]
fn opens_far_ahead_do_not_end_the_order() {
    let order = epochs(100, 6, 1);
    // Now and then a file from the end of the epoch; and a backup, which reads all files backwards meanwhile.
    for (every, least) in [(20, 570), (1, 400)] {
        let data = Dataset::new("lru", 20 * BLOCK, &[BLOCK as usize; 100]);
        data.announce(&order);
        for (place, &file) in order.iter().enumerate() {
            data.read(file);
            if place < 100 && place % every == 0 {
                data.read(order[99 - place]);
            }
        }
        let OrderProgress { opened, is_over, .. } = data.progress().unwrap();
        assert!(opened >= least && is_over, "{opened} {is_over}");
        let [optimum, hits] = [optimum(&order, 100, 19), data.hits()];
        assert!(hits * 10 >= optimum * 9, "{hits} of {optimum}");
    }
}

#[test]
fn a_renamed_file_is_found_by_its_name_now() {
    let data = Dataset::new("lru", 20 * BLOCK, &[BLOCK as usize; 2]);
    data.cache.announce(["/data/new".to_owned(), path(1)]).unwrap();
    data.cache.started(data.files[0].number, 1, || "/data/new".to_owned());
    let OrderProgress { opened, others, position, .. } = data.progress().unwrap();
    assert_eq!((opened, others, position), (1, 0, 1));
}

#[test]
fn an_order_is_refused_where_it_cannot_be_followed() {
    let parts = FileCache::new(&settings("attribute", 1 << 20), None).unwrap();
    assert!(matches!(parts.announce([path(0)]), Err(CacheError::Order(_))));
    let folder = tempfile::tempdir().unwrap();
    let recording = Recording::create(&folder.path().join("r.hst"), BLOCK, "lru").unwrap();
    let recorded = FileCache::new(&settings("lru", 1 << 20), Some(recording)).unwrap();
    assert!(matches!(recorded.announce([path(0)]), Err(CacheError::OrderRecorded)));
    let plain = FileCache::new(&settings("lru", 1 << 20), None).unwrap();
    plain.announce([path(0)]).unwrap();
    let attribute = PolicySpec::parse("attribute").unwrap();
    assert!(matches!(plain.reconfigure(None, Some(attribute)), Err(CacheError::Order(_))));
    recorded.finish().unwrap();
}
