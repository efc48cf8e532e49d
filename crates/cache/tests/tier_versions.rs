//! The versions of files of which the second level holds blocks: a reader never gets those of another one, and
//! uncertain blocks stay out.

mod support;

use std::sync::atomic::Ordering;

use hotset_cache::{Levels, TierSettings};
use hotset_core::random::Rng;

use support::disk::{Disk, read_all, reads, status, stored, tier};
use support::{Opened, pattern};

#[test]
fn a_file_that_was_changed_comes_from_the_source() {
    let (disk, store, settings) = (Disk::default(), stored(1, 20_000), tier("lru", 64));
    let first = disk.cache("lru", 4, &settings);
    let file = Opened::of(&first, "/f", store.clone());
    read_all(&first, &file);
    // While it runs, as the next open notices,
    store.change(|bytes| bytes[..10_000].reverse());
    first.opened(file.number, store.as_ref()).unwrap();
    assert!(status(&first).invalidated > 30);
    read_all(&first, &file);
    first.end_tier();
    // and between two processes, also by as many bytes.
    store.change(|bytes| bytes.reverse());
    let before = reads(&store);
    let next = disk.cache("lru", 4, &settings);
    read_all(&next, &Opened::of(&next, "/f", store.clone()));
    assert_eq!((reads(&store) - before, status(&next).hits), (40, 0));
    // Another file of the same version is another file.
    let other = stored(2, 20_000);
    other.change(|_| ());
    other.change(|_| ());
    read_all(&next, &Opened::of(&next, "/f", other.clone()));
    assert_eq!(reads(&other), 40);
}

#[test]
fn what_was_written_here_never_comes_back_from_the_tier() {
    let ways = [false, true].map(|later| [Levels::Exclusive, Levels::Inclusive].map(|levels| (later, levels)));
    for (later, levels) in ways.into_iter().flatten() {
        let (disk, store) = (Disk::default(), stored(1, 20_000));
        let settings = TierSettings { levels, ..tier("lru", 64) };
        let cache = disk.cache("lru", 4, &settings);
        if later {
            cache.write_later();
        }
        let file = Opened::of(&cache, "/f", store.clone());
        read_all(&cache, &file);
        let mut model = store.bytes();
        let mut random = Rng::new(5);
        for step in 0..600u64 {
            let offset = random.below(19_000) as usize;
            match random.below(4) {
                0 => {
                    let bytes = pattern(step, 700);
                    cache.write(&file.access(0), offset as u64, &bytes).unwrap();
                    model[offset..offset + 700].copy_from_slice(&bytes);
                }
                1 if step % 5 == 0 => {
                    cache.write_out(file.number).unwrap();
                    cache.opened(file.number, store.as_ref()).unwrap();
                }
                _ => {
                    let read = cache.read(&file.access(0), offset as u64, 900).unwrap();
                    assert!(read == model[offset..offset + 900], "step {step}, later: {later}, {levels:?}");
                }
            }
            cache.validate();
        }
        assert!(status(&cache).hits > 10, "{:?}", status(&cache));
        cache.write_out(file.number).unwrap();
        cache.end_tier();
        let next = disk.cache("lru", 4, &settings);
        read_all(&next, &Opened::of(&next, "/f", store.clone()));
    }
}

/// Of two who write at the same time one leaves no trace in what tells versions apart.
#[test]
fn what_somebody_else_may_have_written_meanwhile_is_read_anew() {
    let (disk, store, settings) = (Disk::default(), stored(1, 20_000), tier("lru", 64));
    let cache = disk.cache("lru", 4, &settings);
    let file = Opened::of(&cache, "/f", store.clone());
    cache.write(&file.access(0), 0, b"ours").unwrap();
    // Behind the end, where the source is asked what the file is like.
    assert!(cache.read(&file.access(0), 19_900, 512).unwrap().len() == 100);
    read_all(&cache, &file);
    let mut bytes = store.bytes();
    bytes[10_000..].reverse();
    store.lose(bytes);
    cache.opened(file.number, store.as_ref()).unwrap();
    (0..2).for_each(|_| read_all(&cache, &file));
    assert!(status(&cache).hits > 30);
}

/// Where two changes have one time, as in one second of a file system that has no others.
#[test]
fn what_had_just_changed_when_it_was_read_is_read_anew() {
    // Whether it is opened or not in which the file is looked at for the first time when its time is over.
    for is_looked_at in [false, true] {
        let (disk, store, settings) = (Disk::default(), stored(1, 20_000), tier("lru", 64));
        store.stand_still();
        let cache = disk.cache("lru", 64, &settings);
        let file = Opened::of(&cache, "/f", store.clone());
        read_all(&cache, &file);
        store.lose(pattern(7, 20_000));
        store.go_on_from_there();
        if is_looked_at {
            assert_eq!(cache.read(&file.access(0), 19_900, 512).unwrap().len(), 100);
        }
        assert!(!cache.opened(file.number, store.as_ref()).unwrap(), "it may be another one");
        read_all(&cache, &file);
        let before = reads(&store);
        assert!(cache.opened(file.number, store.as_ref()).unwrap());
        read_all(&cache, &file);
        cache.end_tier();
        let next = disk.cache("lru", 64, &settings);
        read_all(&next, &Opened::of(&next, "/f", store.clone()));
        assert_eq!(reads(&store), before, "certain blocks stay");
    }
}

#[test]
fn what_nobody_can_tell_again_stays_out() {
    let settings = tier("lru", 64);
    // A file that the source cannot tell, and one that was changed just now.
    for (number, is_fresh) in [(0, false), (1, true)] {
        let (disk, store) = (Disk::default(), stored(number, 20_000));
        if is_fresh {
            store.stand_still();
        }
        let cache = disk.cache("lru", 4, &settings);
        let file = Opened::of(&cache, "/f", store.clone());
        (0..2).for_each(|_| read_all(&cache, &file));
        assert_eq!((status(&cache).demotions, reads(&store)), (0, 80));
    }
}

/// Inodes of one device are the same files for ever. Those of others are as long as the process runs, and so are files
/// whose times are in whole seconds: of these there may be another one with the same inode in another image.
#[test]
fn what_only_this_process_can_tell_is_of_no_use_to_the_next_one() {
    const AGO: i128 = 1_600_000_000_000_000_000;
    let settings = TierSettings { device: Some(7), ..tier("lru", 64) };
    for (device, time, lasts) in [(7, AGO + 1, true), (7, AGO, false), (8, AGO + 1, false)] {
        let disk = Disk::default();
        let file = || {
            let store = stored(1, 20_000);
            store.device.store(device, Ordering::SeqCst);
            store.changed_at(time);
            store
        };
        let (store, first) = (file(), disk.cache("lru", 4, &settings));
        let opened = Opened::of(&first, "/f", store.clone());
        (0..3).for_each(|_| read_all(&first, &opened));
        assert_eq!((reads(&store), status(&first).hits), (40, 80), "within a process all of it is used");
        first.end_tier();
        let next = disk.cache("lru", 4, &settings);
        assert_eq!(status(&next).restored_blocks, if lasts { 40 } else { 0 }, "{device} {time}");
        // Another one of which all is the same but the bytes.
        let other = file();
        if !lasts {
            other.lose(pattern(7, 20_000));
        }
        read_all(&next, &Opened::of(&next, "/f", other.clone()));
        assert_eq!(reads(&other), if lasts { 0 } else { 40 });
        next.validate();
    }
}

/// A cache that recognises lasting files finds no blocks of one that did not.
#[test]
fn what_lay_in_a_frame_before_is_not_found_again() {
    let (disk, settings) = (Disk::default(), TierSettings { device: Some(7), ..tier("lru", 17) });
    let fill = |device: u64| {
        let cache = disk.cache("lru", 2, &settings);
        for number in 1..4 {
            let store = stored(number, 8000);
            store.device.store(device, Ordering::SeqCst);
            store.changed_at(1_600_000_000_000_000_001);
            read_all(&cache, &Opened::of(&cache, "/f", store));
        }
        cache.end_tier();
        status(&disk.cache("lru", 2, &settings)).restored_blocks
    };
    assert_eq!(fill(7), 16);
    assert_eq!(fill(8), 0, "their frames were taken by others");
}
