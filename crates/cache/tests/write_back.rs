//! Write-back: when data reaches the source, which caller gets the error if it cannot, and the bounds.

mod support;

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use hotset_cache::FileCache;
use hotset_core::policy::PolicySpec;
use hotset_core::request::Op;

use support::{Opened, pattern, settings};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A cache of so many blocks of 4K in which writes wait.
fn cache(policy: &str, blocks: u64) -> FileCache {
    let cache = FileCache::new(&settings(policy, blocks * 4096), None).unwrap();
    cache.write_later();
    cache
}

fn write(cache: &FileCache, file: &Opened, offset: u64, bytes: &[u8]) {
    assert_eq!(cache.write(&file.access(0), offset, bytes).unwrap(), bytes.len());
}

fn read(cache: &FileCache, file: &Opened) -> Vec<u8> {
    cache.read(&file.access(0), 0, 1 << 24).unwrap()
}

fn waiting(cache: &FileCache) -> u64 {
    cache.at_risk().unwrap().waiting_bytes
}

/// In frames, and outside of them where the scheme keeps no output.
#[test]
fn what_is_written_in_small_pieces_leaves_in_one() {
    for policy in ["lru", "bypass(lru,output)", "attribute"] {
        let cache = cache(policy, 256);
        let file = Opened::new(&cache, "/out/f", Vec::new());
        let all = pattern(1, 300_000);
        // Backwards, and twice.
        for start in (0..all.len()).step_by(1000).rev() {
            write(&cache, &file, start as u64, &[7; 1000]);
            write(&cache, &file, start as u64, &all[start..start + 1000]);
        }
        assert!(file.store.bytes().is_empty(), "{policy}");
        assert_eq!((waiting(&cache), cache.counts().1.writes), (300_000, 0), "{policy}");
        cache.validate();
        assert!(cache.overdue(Duration::from_secs(60)).is_empty());
        assert_eq!(cache.overdue(Duration::ZERO), [file.number]);
        cache.write_out(file.number).unwrap();
        assert!(file.store.bytes() == all, "{policy}");
        let (_, traffic) = cache.counts();
        assert_eq!((traffic.writes, traffic.bytes_written, traffic.bytes_taken), (1, 300_000, 600_000), "{policy}");
        assert_eq!((waiting(&cache), cache.waits(file.number)), (0, false));
        assert!(read(&cache, &file) == all);
        cache.validate();
    }
}

#[test]
fn what_waits_is_read_wherever_it_is() {
    let cache = cache("lru", 4);
    let (file, other) = (Opened::new(&cache, "/f", pattern(1, 20_000)), Opened::new(&cache, "/g", pattern(2, 40_000)));
    let mut model = pattern(1, 20_000);
    // Parts of blocks, a hole behind the end, and blocks that leave meanwhile.
    for (offset, length) in [(100, 50), (3000, 200), (4090, 20), (30_000, 10), (100_000, 5000)] {
        let bytes = pattern(offset, length);
        write(&cache, &file, offset, &bytes);
        let end = offset as usize + length;
        model.resize(model.len().max(end), 0);
        model[offset as usize..end].copy_from_slice(&bytes);
        assert_eq!(read(&cache, &other), pattern(2, 40_000));
    }
    let at = |offset: u64, length| cache.read(&file.access(0), offset, length).unwrap();
    assert_eq!(at(4095, 3), model[4095..4098]);
    assert_eq!(at(104_000, 9000), model[104_000..]);
    assert!(read(&cache, &file) == model);
    cache.validate();
    cache.write_out(file.number).unwrap();
    assert!(file.store.bytes() == model);
}

#[test]
fn a_sync_writes_first_and_an_append_comes_behind() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", pattern(1, 100));
    write(&cache, &file, 90, &[2; 20]);
    assert_eq!(cache.append(&file.access(0), &[3; 5]).unwrap(), (110, 5));
    let mut model = [&pattern(1, 90)[..], &[2; 20], &[3; 5]].concat();
    assert!(file.store.bytes() == model);
    write(&cache, &file, 0, &[4; 10]);
    cache.sync(&file.access(0), true).unwrap();
    model[..10].fill(4);
    assert!(file.store.bytes() == model && read(&cache, &file) == model);
}

#[test]
fn what_is_cut_or_deleted_is_not_written() {
    let cache = cache("lru", 8);
    let file = Opened::new(&cache, "/f", Vec::new());
    write(&cache, &file, 0, &pattern(1, 60_000));
    cache.set_len(&file.access(0), 5000).unwrap();
    assert_eq!(waiting(&cache), 5000);
    cache.set_len(&file.access(0), 9000).unwrap();
    let model = [&pattern(1, 60_000)[..5000], &[0; 4000]].concat();
    assert!(read(&cache, &file) == model);
    cache.write_out(file.number).unwrap();
    assert!(file.store.bytes() == model);
    assert_eq!(cache.counts().1.bytes_written, 5000);
    write(&cache, &file, 0, &pattern(2, 60_000));
    assert!(cache.wants(Op::Unlink, Some(file.number)));
    cache.note(Op::Unlink, file.number, 0, 0, false);
    assert_eq!((waiting(&cache), cache.counts().1.bytes_written), (0, 5000));
    assert!(file.store.bytes() == model);
    cache.validate();
    assert!(cache.forget(file.number), "nothing is left of it");
}

/// The next caller gets the error, no more data becomes dirty meanwhile, and the data arrives once the source accepts
/// it.
#[test]
fn what_cannot_be_written_waits_on_and_is_told() {
    let cache = cache("lru", 64);
    let (file, other) = (Opened::new(&cache, "/f", Vec::new()), Opened::new(&cache, "/g", Vec::new()));
    let fails = |done: std::io::Result<()>| done.unwrap_err().raw_os_error() == Some(ENOSPC);
    write(&cache, &file, 0, &pattern(1, 10_000));
    file.store.fail_with(&[Some(ENOSPC); 4]);
    assert!(fails(cache.write_out(file.number)), "as after some time");
    assert!(fails(cache.write(&file.access(0), 0, &[9; 10]).map(drop)));
    assert!(fails(cache.sync(&file.access(0), true)) && fails(cache.write_out(file.number)));
    let risk = cache.at_risk().unwrap();
    assert_eq!((risk.waiting_bytes, risk.failed_files), (10_000, 1));
    assert_eq!(cache.unsaved().iter().map(|file| (&*file.path, file.bytes)).collect::<Vec<_>>(), [("/f", 10_000)]);
    assert!(read(&cache, &file) == pattern(1, 10_000));
    // Others go on.
    write(&cache, &other, 0, &[1; 10]);
    assert_eq!(waiting(&cache), 10_010);
    // It is written before what comes next.
    write(&cache, &file, 5000, &[9; 10]);
    let model = [&pattern(1, 10_000)[..5000], &[9; 10], &pattern(1, 10_000)[5010..]].concat();
    assert!(file.store.bytes() == model && !cache.waits(file.number));
    assert_eq!(cache.counts().1.errors, 4);
    // A part of it, and then no more.
    write(&cache, &file, 0, &pattern(3, 10_000));
    file.store.most.store(3000, std::sync::atomic::Ordering::SeqCst);
    file.store.fail_with(&[None, None, Some(EIO), Some(EIO)]);
    assert_eq!(cache.write_out(file.number).unwrap_err().raw_os_error(), Some(EIO));
    assert_eq!(cache.at_risk().unwrap().waiting_bytes, 4010);
    cache.sync(&file.access(0), true).unwrap();
    assert!(file.store.bytes() == pattern(3, 10_000));
    cache.validate();
}

/// Which write of the source fails makes no difference.
#[test]
fn whichever_write_fails_nothing_is_lost() {
    let mut told = 0;
    for failing in 0..12 {
        let cache = cache("lru", 4);
        let file = Opened::new(&cache, "/f", vec![0; 50_000]);
        file.store.most.store(4000, std::sync::atomic::Ordering::SeqCst);
        let mut faults = vec![None; failing];
        faults.push(Some(EIO));
        file.store.fail_with(&faults);
        let mut model = vec![0; 50_000];
        let mut errors = 0;
        for (turn, offset) in [3000, 40_000, 100, 20_000, 9000, 20_500].into_iter().enumerate() {
            let bytes = pattern(turn as u64, 7000);
            while let Err(error) = cache.write(&file.access(0), offset as u64, &bytes) {
                assert_eq!(error.raw_os_error(), Some(EIO));
                errors += 1;
            }
            model[offset..offset + 7000].copy_from_slice(&bytes);
            if turn % 2 == 1 {
                errors += u64::from(cache.sync(&file.access(0), true).is_err());
            }
            cache.validate();
        }
        while cache.sync(&file.access(0), true).is_err() {
            errors += 1;
        }
        assert!(file.store.bytes() == model, "write {failing}");
        // What fails in the middle of a piece is tried again at once.
        assert!(errors <= 1 && waiting(&cache) == 0 && cache.counts().1.errors == errors, "write {failing}");
        told += errors;
    }
    assert!(told > 3, "{told}");
}

#[test]
fn what_waits_is_bounded_and_who_finds_no_room_writes_his_own() {
    let most = 1 << 20;
    let cache = cache("lru", 64);
    let files: Vec<Opened> = (0..5).map(|number| Opened::new(&cache, &format!("/{number}"), Vec::new())).collect();
    for turn in 0..400u64 {
        let (file, offset) = (&files[turn as usize % 4], turn / 4 * 10_000);
        write(&cache, file, offset, &pattern(turn, 10_000));
        assert!(waiting(&cache) <= most);
    }
    assert!(waiting(&cache) > most / 2, "it is used");
    // Data beyond the limit goes to the source.
    write(&cache, &files[4], 0, &pattern(5, 2 << 20));
    assert!(files[4].store.bytes() == pattern(5, 2 << 20));
    for (number, file) in (0..4).zip(&files) {
        let all: Vec<u8> = (0..100).flat_map(|turn| pattern(turn * 4 + number, 10_000)).collect();
        assert!(read(&cache, file) == all);
        cache.write_out(file.number).unwrap();
        assert!(file.store.bytes() == all);
    }
    cache.validate();
}

/// A file whose write does not return does not delay others, even at the limit: a writer beyond the limit does not find
/// out by waiting that the file hangs.
#[test]
fn a_file_that_hangs_holds_up_no_others() {
    let cache = cache("lru", 64);
    let (hung, healthy) = (Opened::new(&cache, "/f", Vec::new()), Opened::new(&cache, "/g", Vec::new()));
    write(&cache, &hung, 0, &pattern(1, 900_000));
    let held = hung.store.writing.lock().unwrap();
    thread::scope(|scope| {
        let (tell, told) = channel();
        let (cache, healthy) = (&cache, &healthy);
        scope.spawn(move || {
            (0..100).for_each(|turn| write(cache, healthy, turn * 10_000, &pattern(turn, 10_000)));
            tell.send(()).unwrap();
        });
        let is_done = told.recv_timeout(Duration::from_secs(60)).is_ok();
        drop(held);
        assert!(is_done, "it waits for another file");
    });
    assert!(cache.overdue(Duration::from_secs(3600)).contains(&hung.number), "others need its room");
    cache.write_out(hung.number).unwrap();
    assert!(read(&cache, &healthy) == (0..100).flat_map(|turn| pattern(turn, 10_000)).collect::<Vec<u8>>());
    assert!(hung.store.bytes() == pattern(1, 900_000));
}

#[test]
fn what_waits_stays_when_memory_or_policy_change() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f.png", Vec::new());
    write(&cache, &file, 0, &pattern(1, 200_000));
    let changes = [(Some(8), None), (None, Some("arc")), (Some(32), Some("attribute")), (Some(4), Some("s3-fifo"))];
    for (turn, (blocks, policy)) in (0..).zip(changes) {
        let policy = policy.map(|policy| PolicySpec::parse(policy).unwrap());
        // A scheme in parts may need more.
        let _ = cache.reconfigure(blocks.map(|blocks: u64| blocks * 4096), policy);
        cache.validate();
        assert_eq!(waiting(&cache), 200_000, "turn {turn}");
        write(&cache, &file, turn * 50_000, &[9; 100]);
    }
    assert!(file.store.bytes().is_empty());
    let mut model = pattern(1, 200_000);
    (0..4).for_each(|turn| model[turn * 50_000..turn * 50_000 + 100].fill(9));
    assert!(read(&cache, &file) == model && file.store.bytes() == model);
}

/// What lies between two writes was read, and may be another by now.
#[test]
fn nothing_is_written_that_nobody_wrote() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", pattern(1, 4096));
    assert!(read(&cache, &file) == pattern(1, 4096));
    for (start, length) in [(100, 50), (3000, 100), (150, 10), (90, 10)] {
        write(&cache, &file, start, &vec![7; length]);
    }
    file.store.change(|bytes| *bytes = pattern(2, 4096));
    cache.validate();
    assert_eq!(waiting(&cache), 170);
    cache.write_out(file.number).unwrap();
    let mut model = pattern(2, 4096);
    [90..160, 3000..3100].into_iter().for_each(|range| model[range].fill(7));
    assert!(file.store.bytes() == model);
    assert_eq!(cache.counts().1.writes, 2);
}

/// Ours, byte by byte; the rest is as it was left behind the cache.
#[test]
fn what_is_changed_behind_the_cache_loses_against_what_waits() {
    let cache = cache("lru", 64);
    let file = Opened::new(&cache, "/f", pattern(1, 20_000));
    assert!(read(&cache, &file) == pattern(1, 20_000));
    write(&cache, &file, 5000, &[7; 100]);
    file.store.change(|bytes| *bytes = pattern(2, 20_000));
    assert!(!cache.opened(file.number, file.store.as_ref()).unwrap(), "it is noticed");
    let mut model = pattern(2, 20_000);
    model[5000..5100].fill(7);
    assert!(read(&cache, &file) == model);
    cache.write_out(file.number).unwrap();
    assert!(file.store.bytes() == model);
}
