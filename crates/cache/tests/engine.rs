//! The cache between readers, writers and a store that is slow, fails, and is changed by others.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::source::Source;
use hotset_cache::{CacheError, FileCache, Read, Settings, Stream};
use hotset_core::host::Refusal;
use hotset_core::policy::PolicySpec;
use hotset_core::random::Rng;

use support::{Opened, pattern, settings};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

fn cache(policy: &str, blocks: u64) -> FileCache {
    FileCache::new(&settings(policy, blocks * 4096), None).unwrap()
}

#[test]
fn what_was_read_once_is_not_read_again() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", pattern(1, 20_000));
    for _ in 0..3 {
        assert_eq!(cache.read(&file.access(0), 0, 1 << 20).unwrap(), pattern(1, 20_000));
        assert_eq!(cache.read(&file.access(0), 19_999, 5).unwrap(), pattern(1, 20_000)[19_999..]);
        assert!(cache.read(&file.access(0), 20_000, 5).unwrap().is_empty());
    }
    assert_eq!(file.store.reads.load(Ordering::SeqCst), 1, "neighbours are read at once");
    let (counts, traffic) = cache.counts();
    assert_eq!((counts.total.references, counts.total.hits, counts.total.request_misses), (18, 13, 1));
    assert_eq!((traffic.bytes_read, traffic.refills), (20_000, 0));
}

#[test]
fn errors_reach_the_reader_and_are_not_cached() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", pattern(1, 10_000));
    file.store.fail_with(&[Some(EIO)]);
    let error = cache.read(&file.access(0), 0, 10_000).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(EIO));
    assert_eq!(cache.read(&file.access(0), 0, 10_000).unwrap(), pattern(1, 10_000));
    // The policy took the blocks in at the first reference.
    let (counts, traffic) = cache.counts();
    assert_eq!((counts.total.hits, traffic.errors, traffic.refills), (3, 1, 3));
}

#[test]
fn short_reads_are_gone_on_with() {
    let cache = cache("arc", 8);
    let file = Opened::new(&cache, "/f", pattern(1, 30_000));
    file.store.most.store(777, Ordering::SeqCst);
    for _ in 0..2 {
        assert_eq!(cache.read(&file.access(0), 100, 29_000).unwrap(), pattern(1, 30_000)[100..29_100]);
    }
}

#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", pattern(1, 8192));
    cache.read(&file.access(0), 0, 8192).unwrap();
    file.store.fail_with(&[Some(ENOSPC)]);
    let error = cache.write(&file.access(0), 100, &[7; 5000]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(ENOSPC));
    assert_eq!(cache.read(&file.access(0), 0, 8192).unwrap(), pattern(1, 8192));
    // Some is written, then the disk is full.
    file.store.most.store(3000, Ordering::SeqCst);
    file.store.fail_with(&[None, Some(ENOSPC)]);
    assert_eq!(cache.write(&file.access(0), 100, &[7; 5000]).unwrap(), 3000);
    file.store.most.store(0, Ordering::SeqCst);
    assert_eq!(cache.read(&file.access(0), 0, 8192).unwrap(), file.store.bytes());
}

#[test]
fn a_file_that_was_changed_behind_the_cache_is_read_anew() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", pattern(1, 8192));
    cache.read(&file.access(0), 0, 8192).unwrap();
    assert!(cache.opened(file.number, file.store.as_ref()).unwrap());
    file.store.change(|bytes| bytes.fill(9));
    assert!(!cache.opened(file.number, file.store.as_ref()).unwrap());
    assert_eq!(cache.read(&file.access(0), 0, 8192).unwrap(), [9; 8192]);
    // It grows while it is open.
    file.store.change(|bytes| bytes.resize(10_000, 8));
    assert_eq!(cache.read(&file.access(0), 0, 20_000).unwrap(), file.store.bytes());
    // It shrinks while it is open: cached data is served until the next check.
    file.store.change(|bytes| bytes.truncate(5000));
    assert_eq!(cache.read(&file.access(0), 0, 20_000).unwrap(), file.store.bytes());
}

#[test]
fn a_file_that_vanished_in_part_gives_what_is_left() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", pattern(1, 16_384));
    file.store.change(|bytes| bytes.truncate(5000));
    assert_eq!(cache.read(&file.access(0), 0, 16_384).unwrap(), pattern(1, 5000));
    assert_eq!(cache.read(&file.access(0), 4096, 16_384).unwrap(), pattern(1, 5000)[4096..]);
}

/// A concurrent write by another process cannot be distinguished, so the next open reads the file again; as long as it
/// is open, nothing is read twice.
#[test]
fn a_file_that_was_written_here_is_read_anew_once_it_is_opened_again() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", vec![1; 8192]);
    let reads = || {
        assert_eq!(cache.read(&file.access(0), 0, 8192).unwrap(), file.store.bytes());
        file.store.reads.load(Ordering::SeqCst)
    };
    reads();
    cache.write(&file.access(0), 10, &[2; 10]).unwrap();
    cache.write(&file.access(0), 5000, &[3; 10]).unwrap();
    assert_eq!(reads(), 1);
    assert!(!cache.opened(file.number, file.store.as_ref()).unwrap());
    assert_eq!(reads(), 2);
    assert!(cache.opened(file.number, file.store.as_ref()).unwrap());
    assert_eq!(reads(), 2);
}

/// Its time of change is then that of our write, or that of the other one, and either way one of the two is hidden.
#[test]
fn a_change_behind_the_cache_during_a_write_is_seen_at_the_next_open() {
    type Change = fn(&FileCache, &hotset_cache::Access);
    let ways: [Change; 3] = [
        |cache, access| assert_eq!(cache.write(access, 0, &[7; 4096]).unwrap(), 4096),
        |cache, access| assert_eq!(cache.append(access, &[7; 10]).unwrap(), (8192, 10)),
        |cache, access| {
            let write = || access.source.write_at(&[7; 4096], 0);
            assert_eq!(cache.change(access, &(0..4096), write).unwrap(), 4096);
        },
    ];
    for change in ways {
        let cache = cache("lru", 8);
        let file = Opened::new(&cache, "/f", vec![1; 8192]);
        cache.read(&file.access(0), 0, 8192).unwrap();
        thread::scope(|scope| {
            let held = file.store.writing.lock().unwrap();
            scope.spawn(|| change(&cache, &file.access(0)));
            while file.store.bytes() == [1; 8192] {
                thread::yield_now();
            }
            file.store.change(|bytes| bytes[4096..8192].fill(9));
            drop(held);
        });
        assert!(!cache.opened(file.number, file.store.as_ref()).unwrap());
        assert!(cache.read(&file.access(0), 0, 10_000).unwrap() == file.store.bytes());
    }
}

/// Where times are coarse it has the time of that write, also after an open in the same moment.
#[test]
fn a_change_behind_the_cache_just_after_a_write_is_seen_at_the_next_open() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", vec![1; 8192]);
    file.store.stand_still();
    cache.write(&file.access(0), 10, &[2; 10]).unwrap();
    for change in [3, 4] {
        assert!(!cache.opened(file.number, file.store.as_ref()).unwrap());
        assert!(cache.read(&file.access(0), 0, 8192).unwrap() == file.store.bytes());
        file.store.change(|bytes| bytes.fill(change));
    }
}

#[test]
fn a_slow_read_delays_no_hit_and_is_made_once() {
    let cache = Arc::new(cache("lru", 64));
    let slow = Opened::new(&cache, "/slow", pattern(1, 8192));
    let quick = Opened::new(&cache, "/quick", pattern(2, 4096));
    cache.read(&quick.access(0), 0, 4096).unwrap();
    slow.store.hang_from(4096);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(cache.read(&slow.access(0), 4096, 4096).unwrap(), pattern(1, 8192)[4096..]));
        }
        while slow.store.reads.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let (tell, told) = channel();
        let (cache, quick) = (&cache, quick.access(0));
        scope.spawn(move || tell.send(cache.read(&quick, 0, 4096).unwrap()).unwrap());
        let hit = told.recv_timeout(Duration::from_secs(60));
        slow.store.go_on();
        assert_eq!(hit.expect("a hit waits for no read"), pattern(2, 4096));
    });
    assert_eq!(slow.store.reads.load(Ordering::SeqCst), 1);
}

/// The disk has dropped what it could not keep, and says nothing of it later.
#[test]
fn what_could_not_be_synced_is_not_served_from_the_cache() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", pattern(1, 8192));
    assert_eq!(cache.write(&file.access(0), 0, &pattern(2, 8192)).unwrap(), 8192);
    cache.sync(&file.access(0), true).unwrap();
    assert!(cache.read(&file.access(0), 0, 8192).unwrap() == pattern(2, 8192));
    assert_eq!(file.store.reads.load(Ordering::SeqCst), 0, "written data stays cached");
    file.store.lose(pattern(1, 8192));
    file.store.fail_with(&[Some(EIO)]);
    assert_eq!(cache.sync(&file.access(0), false).unwrap_err().raw_os_error(), Some(EIO));
    assert!(cache.read(&file.access(0), 0, 8192).unwrap() == pattern(1, 8192));
    assert_eq!(cache.counts().1.errors, 1);
}

#[test]
fn a_read_that_a_write_overtakes_does_not_reach_the_cache() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", vec![1; 4096]);
    file.store.delay_us.store(100_000, Ordering::SeqCst);
    thread::scope(|scope| {
        scope.spawn(|| cache.read(&file.access(0), 0, 4096).unwrap());
        while file.store.reads.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        cache.write(&file.access(0), 0, &[2; 100]).unwrap();
    });
    file.store.delay_us.store(0, Ordering::SeqCst);
    assert_eq!(cache.read(&file.access(0), 0, 4096).unwrap(), file.store.bytes());
}

/// Read-ahead up to the end no longer reaches the end once the file has grown.
#[test]
fn a_file_that_grows_while_its_end_is_read_ahead_has_no_old_end() {
    type Growth = fn(&FileCache, &hotset_cache::Access);
    let ways: [Growth; 2] = [
        |cache, access| cache.set_len(access, 120_000).unwrap(),
        |cache, access| assert_eq!(cache.write(access, 110_000, &[7; 10_000]).unwrap(), 10_000),
    ];
    for grow in ways {
        let cache = cache("lru", 64);
        let file = Opened::new(&cache, "/f", pattern(1, 100_000));
        let (stream, source): (_, Arc<dyn Source>) = (Stream::default(), file.store.clone());
        let access = hotset_cache::Access { stream: Some(&stream), source: &source, ..file.access(0) };
        for offset in [0, 4096, 8192] {
            cache.read(&access, offset, 4096).unwrap();
        }
        while cache.counts().1.reads_ahead == 0 {
            thread::yield_now();
        }
        grow(&cache, &access);
        assert!(cache.read(&access, 50_000, 100_000).unwrap() == file.store.bytes()[50_000..]);
    }
}

/// It grows while a read is under way, behind which there is more to be read ahead.
#[test]
fn a_file_that_grows_during_a_read_is_read_ahead_to_its_new_end() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", pattern(1, 100_000));
    let (stream, source): (_, Arc<dyn Source>) = (Stream::default(), file.store.clone());
    let access = hotset_cache::Access { stream: Some(&stream), source: &source, ..file.access(0) };
    cache.read(&access, 0, 4096).unwrap();
    let Some(Read::Missing(missing)) = cache.begin_read(&access, 4096, 4096, &mut Vec::new()) else {
        panic!("it is not there")
    };
    cache.set_len(&access, 120_000).unwrap();
    cache.finish_read(&access, missing).unwrap();
    assert!(cache.read(&access, 50_000, 100_000).unwrap() == file.store.bytes()[50_000..]);
}

#[test]
fn what_comes_next_is_asked_for_while_a_read_is_waited_for() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", pattern(1, 100_000));
    let (stream, source): (_, Arc<dyn Source>) = (Stream::default(), file.store.clone());
    let access = hotset_cache::Access { stream: Some(&stream), source: &source, ..file.access(0) };
    file.store.at_once.store(8, Ordering::SeqCst);
    cache.read(&access, 0, 4096).unwrap();
    file.store.hang_from(1);
    thread::scope(|scope| {
        let second = scope.spawn(|| cache.read(&access, 4096, 4096).unwrap());
        let begun = Instant::now();
        // The first, the second, which hangs, and what lies behind it.
        while file.store.reads.load(Ordering::SeqCst) < 3 && begun.elapsed() < Duration::from_secs(30) {
            thread::yield_now();
        }
        let (is_waiting, reads) = (!second.is_finished(), file.store.reads.load(Ordering::SeqCst));
        file.store.go_on();
        assert!(second.join().unwrap() == pattern(1, 100_000)[4096..8192]);
        assert_eq!((is_waiting, reads), (true, 3));
    });
}

/// In a loop each reference has the scheme bring in the block that is referenced next but one. Here the loop goes
/// backwards, the file ends in that block, and the reference is the write that makes it longer. The scheme is not told
/// of the cut, as of one behind the mount, so its queue is still the loop's.
#[test]
fn what_a_scheme_wants_at_a_write_is_brought_to_the_new_end() {
    const BLOCKS: u64 = 96;
    let cache = cache("virtual(lru,quantum=200)", 64);
    let file = Opened::new(&cache, "/f", pattern(1, BLOCKS as usize * 4096));
    let refer = |block: u64| assert_eq!(cache.read(&file.access(0), block * 4096, 4096).unwrap().len(), 4096);
    let loops = |count: u32| (0..count).for_each(|_| (0..BLOCKS).rev().for_each(refer));
    loops(10);
    let is_brought = |block: u64| {
        (block + 1..BLOCKS).rev().for_each(refer);
        let last = block - 2;
        let end = last * 4096 + 100;
        cache.change(&file.access(0), &(end..u64::MAX), || file.store.set_len(end)).unwrap();
        let waits = cache.counts().1.waits;
        file.store.hang_from(1);
        assert_eq!(cache.write(&file.access(0), block * 4096, &[7; 4096]).unwrap(), 4096);
        let read = cache.begin_read(&file.access(0), last * 4096, 4096, &mut Vec::new());
        file.store.go_on();
        let Some(Read::Missing(missing)) = read else { panic!("block {last} was there") };
        assert_eq!(cache.finish_read(&file.access(0), missing).unwrap().len(), 4096, "block {last}");
        let is_brought = cache.counts().1.waits > waits;
        cache.set_len(&file.access(0), BLOCKS * 4096).unwrap();
        (0..block).rev().for_each(refer);
        loops(10);
        is_brought
    };
    for block in 90..95 {
        // On a busy machine the threads that bring blocks in may all be at work still: then it is read when it is asked
        // for.
        assert!((0..50).any(|_| is_brought(block)), "what {block} brings in was never on its way");
    }
}

/// The longest possible requests, each of a separate file, all missed: at twice 1 MiB each, two of them fill the
/// in-flight limit.
#[test]
fn what_is_in_flight_is_bounded_and_whoever_finds_no_room_waits() {
    let cache = cache("lru", 256);
    let files: Vec<Opened> =
        (0..32).map(|number| Opened::new(&cache, &format!("/{number}"), pattern(number, 1 << 20))).collect();
    let (now, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    thread::scope(|scope| {
        for (number, file) in (0..).zip(&files) {
            file.store.delay_us.store(2000, Ordering::SeqCst);
            file.store.count_buffers(&now, &most);
            let cache = &cache;
            scope.spawn(move || {
                assert!(cache.read(&file.access(0), 0, 1 << 20).unwrap() == pattern(number, 1 << 20));
            });
        }
    });
    assert_eq!((now.load(Ordering::SeqCst), most.load(Ordering::SeqCst)), (0, 2 << 20));
}

/// One file that hangs has half of the room; many that hang have all of it, but not for long.
#[test]
fn what_hangs_does_not_take_all_the_room_for_long() {
    let cache = cache("lru", 4096);
    let open = |name: &str| Opened::new(&cache, name, pattern(1, 1 << 20));
    let (hung, healthy) = (["/1", "/2", "/3", "/4", "/5"].map(open), ["/6", "/7"].map(open));
    let read = |file: &Opened| cache.read(&file.access(0), 0, 1 << 20).unwrap() == pattern(1, 1 << 20);
    let started = Instant::now();
    let (first, second) = thread::scope(|scope| {
        for file in &hung {
            file.store.hang_from(1);
            // Not the first block, where nothing hangs.
            for offset in [4096, 1 << 18] {
                let (cache, access) = (&cache, file.access(0));
                scope.spawn(move || assert_eq!(cache.read(&access, offset, 1 << 19).unwrap().len(), 1 << 19));
            }
        }
        while hung[0].store.reads.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let first = read(&healthy[0]);
        while hung.iter().any(|file| file.store.reads.load(Ordering::SeqCst) == 0) {
            thread::yield_now();
        }
        let second = read(&healthy[1]);
        hung.iter().for_each(|file| file.store.go_on());
        (first, second)
    });
    assert!(first && second && started.elapsed() > Duration::from_secs(1), "the limit allowed all at once");
}

/// A scheme may have a block leave by the reference that hits it.
#[test]
fn a_block_that_leaves_by_its_own_hit_has_no_frame() {
    let cache = cache("virtual(lru,quantum=12,unit=4K,queue=64K)", 6);
    let file = Opened::new(&cache, "/f", pattern(1, 12 * 4096));
    for turn in 0..120 {
        cache.read(&file.access(0), turn % 12 * 4096, 4096).unwrap();
        cache.validate();
    }
    assert!(cache.counts().0.total.hits > 40);
}

/// Eight threads on a few files, each with a separate region in every file, where it always finds its last write.
#[test]
fn readers_and_writers_find_what_they_wrote() {
    for policy in ["lru", "arc", "s3-fifo", "render", "attribute(8K/512 id, x/16K general)"] {
        let cache = cache(policy, 24);
        const REGION: usize = 30_000;
        let files: Vec<Opened> =
            (0..3).map(|number| Opened::new(&cache, &format!("/{number}.png"), vec![0; 8 * REGION])).collect();
        thread::scope(|scope| {
            for number in 0..8usize {
                let (cache, files) = (&cache, &files);
                scope.spawn(move || {
                    let mut random = Rng::new(number as u64);
                    let mut models = vec![vec![0u8; REGION]; files.len()];
                    for step in 0..400 {
                        let which = random.below(3) as usize;
                        let at = random.below(REGION as u32) as usize;
                        let length = (random.below(6000) as usize).min(REGION - at);
                        let offset = (number * REGION + at) as u64;
                        if random.below(3) == 0 {
                            let bytes = pattern(step, length);
                            assert_eq!(cache.write(&files[which].access(0), offset, &bytes).unwrap(), length);
                            models[which][at..at + length].copy_from_slice(&bytes);
                        } else {
                            let read = cache.read(&files[which].access(0), offset, length).unwrap();
                            assert!(read == models[which][at..at + length], "{policy}, thread {number}, step {step}");
                        }
                    }
                });
            }
        });
        cache.validate();
        for file in &files {
            let all = cache.read(&file.access(0), 0, 8 * REGION).unwrap();
            assert!(all == file.store.bytes(), "{policy}: the cache differs from the store");
        }
    }
}

#[test]
fn memory_and_policy_change_while_contents_stay() {
    let cache = cache("lru", 32);
    let file = Opened::new(&cache, "/f.png", pattern(1, 32 * 4096));
    let read_all = || {
        let before = file.store.reads.load(Ordering::SeqCst);
        assert_eq!(cache.read(&file.access(0), 0, 32 * 4096).unwrap(), pattern(1, 32 * 4096));
        cache.validate();
        file.store.reads.load(Ordering::SeqCst) - before
    };
    assert_eq!((read_all(), read_all()), (1, 0));
    for policy in ["arc", "s3-fifo(small=50%)", "bypass(lru,output)", "2q"] {
        cache.reconfigure(None, Some(PolicySpec::parse(policy).unwrap())).unwrap();
        cache.validate();
        let (frames, resident) = cache.memory();
        assert!(frames == 32 * 4096 && resident > 0, "{policy} kept nothing");
    }
    cache.reconfigure(None, Some(PolicySpec::parse("lru").unwrap())).unwrap();
    read_all();
    cache.reconfigure(Some(8 * 4096), None).unwrap();
    assert_eq!(cache.memory(), (8 * 4096, 8));
    read_all();
    cache.reconfigure(Some(64 * 4096), None).unwrap();
    assert_eq!((cache.memory().0, read_all(), read_all()), (64 * 4096, 1, 0));
    assert!(matches!(cache.reconfigure(Some(100), None), Err(CacheError::TooSmall { .. })));
    assert!(matches!(
        cache.reconfigure(None, Some(PolicySpec::parse("opt").unwrap())),
        Err(CacheError::Policy(Refusal::Offline { .. }))
    ));
    // The load of the source is known here.
    cache.reconfigure(None, Some(PolicySpec::parse("virtual(lru,quantum=auto)").unwrap())).unwrap();
    read_all();
}

#[test]
fn a_sequential_reader_is_read_ahead_for_and_counts_stay() {
    let run = |stream: Option<&Stream>| {
        let cache = cache("lru", 16);
        let file = Opened::new(&cache, "/f", pattern(1, 1 << 20));
        let source: Arc<dyn Source> = file.store.clone();
        for offset in (0..1 << 20).step_by(4096) {
            let access = hotset_cache::Access { stream, source: &source, ..file.access(0) };
            assert_eq!(cache.read(&access, offset, 4096).unwrap(), pattern(1, 1 << 20)[offset as usize..][..4096]);
        }
        (cache.counts(), file.store.reads.load(Ordering::SeqCst))
    };
    let ((plain, _), one_by_one) = run(None);
    let ((counts, traffic), in_runs) = run(Some(&Stream::default()));
    assert_eq!(counts, plain);
    assert!(one_by_one == 256 && in_runs < 20 && traffic.reads_ahead > 3, "{in_runs} reads, {traffic:?}");
}

/// The fragments of `virtual` move to where the loop will be next, so hits are of blocks that were brought in unasked.
#[test]
fn what_a_scheme_wants_unasked_is_read_before_it_is_asked_for() {
    let (quantum, references) = (200, 1200);
    let cache = cache(&format!("virtual(lru,quantum={quantum})"), 64);
    let file = Opened::new(&cache, "/f", pattern(1, 96 * 4096));
    for turn in 0..references {
        let offset = turn % 96 * 4096;
        let expected = &pattern(1, 96 * 4096)[offset as usize..][..4096];
        assert_eq!(cache.read(&file.access(0), offset, 4096).unwrap(), expected);
    }
    let (counts, traffic) = cache.counts();
    assert!(counts.extra_reads > 100 && counts.total.hits > 100, "{counts:?}");
    // The reference that moves the fragments cannot be read ahead.
    assert!(traffic.refills <= references / quantum, "{traffic:?}");
    assert_eq!(traffic.errors, 0);
    cache.validate();
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let refused = |settings: Settings| FileCache::new(&settings, None).err().expect("it is refused").to_string();
    assert_eq!(
        refused(settings("bypass(opt,output)", 1 << 20)),
        "bypass(opt,output) must know the future of all requests: it can be simulated, but not run; choose another policy"
    );
    assert!(refused(settings("qos(lru,profile=alone)", 1 << 20)).contains("set profile=none"));
    let error = refused(settings("qos(lru,profile=\"/no/such.json\")", 1 << 20));
    assert!(error.starts_with("profile: /no/such.json: cannot read it"), "{error}");
    assert!(refused(settings("equal(lru,prefetch=linux)", 1 << 20)).contains("set prefetch=off"));
    assert_eq!(refused(settings("lru", 4095)), "4095B of memory do not hold one block of 4K: give more memory");
    let odd = Settings { block: 5000, ..settings("lru", 1 << 20) };
    assert_eq!(refused(odd), "a block of 5000B is not possible here: expected a power of two from 512B to 16M");
    assert!(refused(Settings { block: 512, ..settings("lru", u64::MAX) }).contains("choose larger blocks"));
    let words = refused(settings("lru", 1 << 43));
    assert!(
        words.starts_with("8T of memory, with tables of 200G, are more than there is: this machine has "),
        "{words}"
    );
}

/// `quantum=auto` follows the load of the source: one that is busy all the time gets hardly more than the reads that
/// are requested, one that rests between requests brings what comes next.
#[test]
fn a_quantum_follows_the_load_of_the_source() {
    let extra_reads = |delay: u64, pause: Duration| {
        let cache = cache("virtual(lru,quantum=auto,unit=16K)", 64);
        let file = Opened::new(&cache, "/f", pattern(1, 256 * 4096));
        file.store.delay_us.store(delay, Ordering::SeqCst);
        for at in (0..3).flat_map(|_| 0..256) {
            cache.read(&file.access(0), at * 4096, 4096).unwrap();
            thread::sleep(pause);
        }
        cache.counts().0.extra_reads
    };
    let (busy, idle) = (extra_reads(2000, Duration::ZERO), extra_reads(0, Duration::from_millis(1)));
    assert!(busy < idle / 2, "{busy} blocks without a request when busy, {idle} when idle");
}
