//! The second level: its content matches the simulator's, it outlives the process, and whatever happens to its files,
//! readers only get the source's bytes.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use hotset_cache::{Admit, FileCache, Levels, Recording, Tier, TierError, TierSettings, TierStatus};
use hotset_core::policy::PolicySpec;
use hotset_core::random::Rng;
use hotset_core::request::Op;
use hotset_sim::grid::{self, Plan};
use hotset_sim::{BlockSize, Options, Silent, prepare};
use hotset_trace::{OpenOptions, formats, open};

use support::disk::{BLOCK, Disk, HEADER, RECORD, cache, read_all, reads, settle, status, stored, tier};
use support::{Memory, Opened, pattern};

/// Hits and references of a spec over a recording.
fn simulated(recording: &Path, spec: &str, capacity: u64) -> (u64, u64) {
    let reader = open(recording, formats::BUILTIN, &OpenOptions::default()).unwrap().reader;
    let options = Options { block: Some(BlockSize::Bytes(BLOCK)), ..Options::default() };
    let (mut prepared, _) = prepare(Box::new(reader), &options, &Silent).unwrap();
    let spec = PolicySpec::parse(spec).unwrap();
    let args = spec.args(Some(BLOCK));
    let plan = Plan { entry: spec.entry(), args, capacity: capacity as u32, bytes: None, seed: 1 };
    let tallies = grid::run(&mut prepared, &[plan], &Silent).unwrap().tallies;
    (tallies[0].total.hits, tallies[0].total.references)
}

/// Repeated draws, loops and sequences over three files, one of which is deleted now and then. If a request has more
/// than one block, a scheme may evict a block for the next one of the same request, before it is read.
fn work(cache: &FileCache, files: &[Opened; 3], is_long: bool) {
    let mut random = Rng::new(3);
    for step in 0..4000u64 {
        let file = random.below(3) as usize;
        let bytes = files[file].store.bytes();
        let size = bytes.len() as u64;
        let offset = match random.below(3) {
            0 => u64::from(random.below(size as u32)),
            1 => u64::from(random.below(size as u32 / 6)),
            _ => step * 700 % size,
        };
        let most = if is_long { 1800 } else { BLOCK - offset % BLOCK };
        let length = 1 + u64::from(random.below(most as u32));
        let end = size.min(offset + length);
        let read = cache.read(&files[file].access(0), offset, length as usize).unwrap();
        assert!(read == bytes[offset as usize..end as usize], "wrong bytes in step {step}");
        settle(cache);
        if step % 500 == 499 {
            cache.note(Op::Unlink, files[2].number, 0, 0, false);
        }
        if step % 100 == 0 {
            cache.validate();
        }
    }
}

#[test]
fn both_levels_count_what_the_simulator_counts() {
    let folder = tempfile::tempdir().unwrap();
    let memory = 24;
    for (upper, lower, admit, levels) in [
        ("lru", "lru", Admit::All, Levels::Exclusive),
        ("arc", "lru", Admit::All, Levels::Exclusive),
        ("s3-fifo", "arc", Admit::All, Levels::Exclusive),
        ("w-tinylfu", "2q", Admit::All, Levels::Exclusive),
        ("lirs", "s3-fifo", Admit::All, Levels::Exclusive),
        ("lru", "w-tinylfu", Admit::All, Levels::Exclusive),
        ("lru", "lru", Admit::Reused, Levels::Exclusive),
        ("arc", "sieve", Admit::Reused, Levels::Exclusive),
        ("lru", "lru", Admit::All, Levels::Inclusive),
        ("arc", "w-tinylfu", Admit::All, Levels::Inclusive),
        ("s3-fifo", "lirs", Admit::Reused, Levels::Inclusive),
    ] {
        let path = folder.path().join("work.hst");
        let recording = Recording::create(&path, BLOCK, upper).unwrap();
        let cache = cache(upper, memory, Some(recording));
        let settings = TierSettings { admit, levels, ..tier(lower, 100) };
        cache.put_on(Disk::default().open(&settings).unwrap()).unwrap();
        let files = [1, 2, 3].map(|file| Opened::of(&cache, &format!("/f{file}"), stored(file, 40_000)));
        work(&cache, &files, upper == "lru");
        let (total, tier) = (cache.counts().0.total, status(&cache));
        cache.finish().unwrap();
        let enter = if admit == Admit::All { "all" } else { "reused" };
        let blocks = u64::from(tier.capacity_blocks);
        let kept = if levels == Levels::Exclusive { "exclusive" } else { "inclusive" };
        let both = format!("demote({upper},{lower},client={memory},admit={enter},levels={kept})");
        let alone = simulated(&path, upper, memory);
        let (hits, references) = simulated(&path, &both, memory + blocks);
        assert_eq!((total.hits, total.references), alone, "{both}: memory");
        assert_eq!((total.hits + tier.hits, total.references), (hits, references), "{both}: both levels");
        assert!(tier.hits > 400 && tier.skipped == 0 && tier.damaged == 0, "{both}: {tier:?}");
    }
}

#[test]
fn what_is_in_the_tier_is_read_from_there_also_by_the_next_process() {
    let (disk, store) = (Disk::default(), stored(1, 20_100));
    let blocks = 20_100u64.div_ceil(BLOCK);
    let settings = tier("lru", 64);
    let first = disk.cache("lru", 4, &settings);
    let file = Opened::of(&first, "/f", store.clone());
    read_all(&first, &file);
    assert_eq!(reads(&store), blocks);
    for turn in 1..4 {
        read_all(&first, &file);
        assert_eq!(reads(&store), blocks, "turn {turn} asked the source");
    }
    let told = status(&first);
    assert_eq!((told.hits, told.promotions, told.damaged), (3 * blocks, 3 * blocks, 0));
    // Killed: memory's blocks are lost, except those that the tier received before.
    let killed = disk.copy();
    first.end_tier();
    for (disk, missing) in [(&disk, 0..=0), (&killed, 0..=4)] {
        let before = reads(&store);
        let next = disk.cache("arc", 4, &settings);
        assert!(u64::from(status(&next).restored_blocks) >= blocks - 4);
        read_all(&next, &Opened::of(&next, "/another/name", store.clone()));
        assert!(missing.contains(&(reads(&store) - before)), "{} reads", reads(&store) - before);
    }
}

/// What memory takes in stays in the tier as well, and is not written there again.
#[test]
fn inclusive_levels_write_each_block_once() {
    let demoted = [Levels::Exclusive, Levels::Inclusive].map(|levels| {
        let cache = Disk::default().cache("lru", 4, &TierSettings { levels, ..tier("lru", 64) });
        let (store, turns) = (stored(1, 20_100), 5);
        let file = Opened::of(&cache, "/f", store.clone());
        (0..turns).for_each(|_| read_all(&cache, &file));
        assert_eq!(reads(&store), 20_100u64.div_ceil(BLOCK), "it comes from the tier");
        cache.validate();
        status(&cache).demotions
    });
    let blocks = 20_100u64.div_ceil(BLOCK);
    assert_eq!(demoted, [5 * blocks - 4, blocks]);
}

/// A tier that was filled and then left: its files, and the files of the source, which it holds in part.
fn filled() -> (Disk, TierSettings, Vec<Arc<Memory>>) {
    let (disk, settings) = (Disk::default(), tier("lru", 17));
    let stores: Vec<_> = [1, 2].map(|file| stored(file, 4300)).into();
    let cache = disk.cache("lru", 2, &settings);
    let files: Vec<_> = stores.iter().map(|store| Opened::of(&cache, "/f", store.clone())).collect();
    (0..3).for_each(|_| files.iter().for_each(|file| read_all(&cache, file)));
    cache.end_tier();
    (disk, settings, stores)
}

/// Opens the tier on such files and reads all; gives what it counted. No other bytes than the source's are ever read.
fn reopened(data: Vec<u8>, index: Vec<u8>, settings: &TierSettings, stores: &[Arc<Memory>]) -> TierStatus {
    let cache = Disk::of(data, index).cache("lru", 2, settings);
    for _ in 0..2 {
        for store in stores {
            let file = Opened::of(&cache, "/f", store.clone());
            let read = cache.read(&file.access(0), 0, 5000).unwrap();
            assert!(read == store.bytes(), "wrong bytes");
        }
    }
    cache.validate();
    status(&cache)
}

#[test]
fn an_index_cut_at_any_byte_is_opened_and_never_believed_wrongly() {
    let (disk, settings, stores) = filled();
    let (data, index) = (disk.data.bytes(), disk.index.bytes());
    let mut most = 0;
    for length in 0..=index.len() {
        let told = reopened(data.clone(), index[..length].to_vec(), &settings, &stores);
        let whole = (length.saturating_sub(HEADER) / RECORD) as u32;
        assert!(told.restored_blocks <= whole && told.damaged == 0, "cut at {length}: {told:?}");
        most = most.max(told.restored_blocks);
    }
    assert_eq!(most, 16, "all blocks, except in the spare frame");
    // As are blocks.
    for length in (0..data.len()).step_by(37) {
        let told = reopened(data[..length].to_vec(), index.clone(), &settings, &stores);
        assert!(told.damaged >= (16 - length as u64 / BLOCK).saturating_sub(1), "cut at {length}: {told:?}");
    }
}

#[test]
fn a_flipped_bit_is_a_block_less() {
    let (disk, settings, stores) = filled();
    let (data, index) = (disk.data.bytes(), disk.index.bytes());
    let whole = reopened(data.clone(), index.clone(), &settings, &stores);
    assert_eq!((whole.restored_blocks, whole.damaged), (16, 0));
    for bit in (HEADER * 8..index.len() * 8).step_by(13) {
        let mut flipped = index.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let told = reopened(data.clone(), flipped, &settings, &stores);
        assert!(told.restored_blocks >= 15, "bit {bit}: {told:?}");
    }
    for bit in (0..64 * 8).chain((64 * 8..HEADER * 8).step_by(1001)) {
        let mut flipped = index.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let disk = Disk::of(data.clone(), flipped);
        match disk.open(&settings) {
            // A file that does not look like a tier's is not changed.
            Err(TierError::Foreign | TierError::Format(_)) if bit < 16 * 8 => {}
            Err(error) => panic!("bit {bit}: {error}"),
            Ok(_) => drop(reopened(disk.data.bytes(), disk.index.bytes(), &settings, &stores)),
        }
    }
    let (mut damaged, mut tried) = (0, 0);
    for byte in (0..data.len()).step_by(7) {
        let mut flipped = data.clone();
        flipped[byte] ^= 1 << (byte % 8);
        tried += 1;
        damaged += u64::from(reopened(flipped, index.clone(), &settings, &stores).damaged > 0);
    }
    assert!(damaged > tried * 8 / 10, "{damaged} of {tried} were noticed");
}

/// Whatever of the last writes has reached the disk: of blocks and records any sector, in any mixture with what was
/// there before.
#[test]
fn any_mixture_of_old_and_new_is_right() {
    let (disk, settings, stores) = filled();
    let old = [disk.data.bytes(), disk.index.bytes()];
    let cache = disk.cache("lru", 2, &settings);
    let more: Vec<_> = [3, 4].map(|file| stored(file, 4300)).into();
    let files: Vec<_> = more.iter().map(|store| Opened::of(&cache, "/f", store.clone())).collect();
    (0..3).for_each(|_| files.iter().for_each(|file| read_all(&cache, file)));
    cache.end_tier();
    let new = [disk.data.bytes(), disk.index.bytes()];
    let all: Vec<_> = stores.into_iter().chain(more).collect();
    let (mut random, mut both) = (Rng::new(9), 0);
    for _ in 0..800 {
        let mixed = [0, 1].map(|which| {
            let sectors = old[which].chunks(64).zip(new[which].chunks(64));
            sectors.flat_map(|(old, new)| if random.below(2) == 0 { old } else { new }).copied().collect::<Vec<u8>>()
        });
        let [data, index] = mixed;
        both += u64::from(reopened(data, index, &settings, &all).damaged > 0);
    }
    assert!(both > 100, "{both} times something was torn");
}

#[test]
fn a_disk_that_fails_turns_the_tier_off_and_reads_go_on() {
    const NO_SPACE: i32 = 28;
    const IO: i32 = 5;
    let settings = tier("lru", 64);
    for (is_index, error) in [(false, NO_SPACE), (false, IO), (true, NO_SPACE)] {
        let (disk, store) = (Disk::default(), stored(1, 20_000));
        let cache = disk.cache("lru", 4, &settings);
        let file = Opened::of(&cache, "/f", store.clone());
        (if is_index { &disk.index } else { &disk.data }).fail_with(&[None, None, Some(error)]);
        (0..3).for_each(|_| read_all(&cache, &file));
        let told = status(&cache);
        let sentence = told.off.expect("it is off");
        assert!(sentence.contains("writing") && sentence.contains(&format!("os error {error}")), "{sentence}");
        assert_eq!(disk.told(), [sentence], "one message");
        assert_eq!(told.blocks_written, 2);
        cache.validate();
    }
    let (disk, store) = (Disk::default(), stored(1, 20_000));
    let first = disk.cache("lru", 4, &settings);
    read_all(&first, &Opened::of(&first, "/f", store.clone()));
    first.end_tier();
    // If all blocks fit in memory, nothing is written.
    let cache = disk.cache("lru", 64, &settings);
    let file = Opened::of(&cache, "/f", store.clone());
    disk.data.fail_with(&[None, None, None, Some(IO)]);
    read_all(&cache, &file);
    assert_eq!(reads(&store), 77);
    let told = disk.told();
    assert!(told.len() == 1 && told[0].contains("reading"), "{told:?}");
}

#[test]
fn what_waits_to_be_written_is_read_from_memory_and_bounded() {
    let settings = tier("lru", 40_000);
    let (disk, store) = (Disk::default(), stored(1, 12 << 20));
    let cache = disk.cache("lru", 4, &settings);
    let file = Opened::of(&cache, "/f", store.clone());
    let stuck = disk.data.writing.lock().unwrap();
    let bytes = store.bytes();
    let read = |from: usize, to: usize| {
        for at in (from..to).step_by(2 * BLOCK as usize) {
            let end = at + 2 * BLOCK as usize;
            assert!(cache.read(&file.access(0), at as u64, end - at).unwrap() == bytes[at..end]);
        }
    };
    read(0, 12 << 20);
    let told = status(&cache);
    assert!(told.blocks_written <= 1 && told.skipped > 0, "{told:?}");
    assert!((told.demotions - 1) * BLOCK <= 8 << 20, "{told:?}");
    // Though the disk hangs.
    let before = reads(&store);
    read(0, 4 << 20);
    assert_eq!(reads(&store), before);
    drop(stuck);
    settle(&cache);
    read(4 << 20, 6 << 20);
    assert_eq!((reads(&store), status(&cache).damaged), (before, 0));
}

#[test]
fn writes_are_limited() {
    let settings = TierSettings { writes: Some(2 * BLOCK), ..tier("lru", 64) };
    let (disk, store) = (Disk::default(), stored(1, 20_000));
    let started = std::time::Instant::now();
    let cache = disk.cache("lru", 4, &settings);
    let file = Opened::of(&cache, "/f", store.clone());
    (0..3).for_each(|_| read_all(&cache, &file));
    let (told, most) = (status(&cache), 2.0 + 2.0 * started.elapsed().as_secs_f64());
    assert!(told.demotions >= 2 && told.demotions as f64 <= most && told.skipped > 0, "{told:?} {most}");
}

#[test]
fn a_directory_is_used_by_one_mount_of_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tier");
    let settings = tier("lru", 64);
    let open = |path: &Path, settings: &TierSettings| Tier::open(path, settings, |_| ()).map(drop);
    let first = Tier::open(&path, &settings, |_| ()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let bytes: u64 = ["blocks", "index"].map(|name| fs::metadata(path.join(name)).unwrap().len()).iter().sum();
    assert!(bytes <= settings.size && bytes > settings.size - 1000, "{bytes} of {}", settings.size);
    for name in ["blocks", "index"] {
        assert_eq!(fs::metadata(path.join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(matches!(open(&path, &settings), Err(TierError::InUse)));
    drop(first);
    open(&path, &settings).unwrap();
    // With less room it is shorter, and what is behind is gone.
    open(&path, &tier("lru", 20)).unwrap();
    let bytes: u64 = ["blocks", "index"].map(|name| fs::metadata(path.join(name)).unwrap().len()).iter().sum();
    assert!(bytes <= tier("lru", 20).size);
    assert!(matches!(open(&path, &tier("lru", 10)), Err(TierError::TooSmall { .. })));
    let huge = TierSettings { size: 1 << 58, block: 16 << 20, ..settings.clone() };
    assert!(matches!(open(&path, &huge), Err(TierError::TooLarge { .. })));
    let large = TierSettings { size: 1 << 50, block: 16 << 20, ..settings.clone() };
    assert!(matches!(open(&path, &large), Err(TierError::NoRoom { .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(matches!(open(&path, &settings), Err(TierError::Open)));
    let other = |name: &str| folder.path().join(name);
    symlink(&path, other("link")).unwrap();
    fs::write(other("file"), "").unwrap();
    for name in ["link", "file"] {
        assert!(matches!(open(&other(name), &settings), Err(TierError::NoDirectory)), "{name}");
    }
    assert!(matches!(open(&other("no/such"), &settings), Err(TierError::Folder(_))));
    for (name, inside) in [("linked", "index"), ("piped", "blocks")] {
        let path = other(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        match inside {
            "index" => symlink("/etc/passwd", path.join(inside)).unwrap(),
            _ => fs::hard_link(other("file"), path.join(inside)).unwrap(),
        }
        assert!(matches!(open(&path, &settings), Err(TierError::NoFile(_))), "{name}");
    }
    let foreign = other("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::set_permissions(&foreign, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(foreign.join("index"), "a list of words").unwrap();
    assert!(matches!(open(&foreign, &settings), Err(TierError::Foreign)));
    assert_eq!(fs::read(foreign.join("index")).unwrap()[..15], *b"a list of words", "it is not touched");
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1, "and no file is added");
    fs::write(foreign.join("index"), b"hotset tier\0\0\0\0\x02").unwrap();
    assert!(matches!(open(&foreign, &settings), Err(TierError::Format(2))));
}

/// Names as common as these may be a user's own, in a directory that is private, too.
#[test]
fn files_that_are_not_a_tiers_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let (index, blocks) = (folder.path().join("index"), folder.path().join("blocks"));
    let own = |seed, length| pattern(seed, length);
    let zeros = |length| [vec![0; 5000], pattern(3, length)].concat();
    let refused = |settings: &TierSettings| Tier::open(folder.path(), settings, |_| ()).map(drop).unwrap_err();
    let settings = tier("lru", 64);
    for (of_index, of_blocks) in [
        (Some(own(1, 300_000)), Some(own(2, 900_000))),
        (Some(own(1, 300_000)), None),
        (Some(zeros(300_000)), None),
        (None, Some(own(2, 900_000))),
        (Some(Vec::new()), Some(own(2, 900_000))),
        (Some(Vec::new()), Some(zeros(10))),
    ] {
        for (path, bytes) in [(&index, &of_index), (&blocks, &of_blocks)] {
            drop(fs::remove_file(path));
            bytes.iter().for_each(|bytes| fs::write(path, bytes).unwrap());
        }
        let error = refused(&settings);
        assert!(matches!(error, TierError::Foreign | TierError::Blocks), "{error}");
        assert!(fs::read(&index).ok() == of_index && fs::read(&blocks).ok() == of_blocks, "{error}");
    }
    // Neither is a tier that was to be used in a way that is refused.
    fs::remove_file(&index).unwrap();
    fs::remove_file(&blocks).unwrap();
    let opened = |settings: &TierSettings| Tier::open(folder.path(), settings, |_| ()).map(drop).unwrap();
    opened(&settings);
    let whole = [&index, &blocks].map(|path| fs::read(path).unwrap());
    for policy in ["opt", "render"] {
        refused(&tier(policy, 32));
        assert!([&index, &blocks].map(|path| fs::read(path).unwrap()) == whole, "{policy}");
    }
    // What others were given a right to is its owner's alone again.
    for path in [&index, &blocks] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    opened(&settings);
    for path in [&index, &blocks] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// A policy that prefetches blocks: they cannot be served.
#[test]
fn what_a_policy_would_bring_by_itself_is_not_there() {
    let settings = tier("acme(refetch=on)", 100);
    let cache = Disk::default().cache("lru", 4, &settings);
    let files = [1, 2, 3].map(|file| Opened::of(&cache, &format!("/f{file}"), stored(file, 40_000)));
    work(&cache, &files, true);
    cache.validate();
    assert!(status(&cache).hits > 100, "{:?}", status(&cache));
}

#[test]
fn a_tier_on_a_disk_outlives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store, settings) = (folder.path().join("tier"), stored(1, 60_000), tier("lru", 200));
    for turn in 0..3 {
        let cache = cache("lru", 8, None);
        cache.put_on(Tier::open(&path, &settings, |_| ()).unwrap()).unwrap();
        read_all(&cache, &Opened::of(&cache, "/f", store.clone()));
        cache.end_tier();
        assert_eq!(reads(&store), 118, "turn {turn}");
    }
    // Blocks of another source, or of another size, are dropped.
    let restored = |settings: &TierSettings| {
        let cache = cache("lru", 8, None);
        cache.put_on(Tier::open(&path, settings, |_| ()).unwrap()).unwrap();
        status(&cache).restored_blocks
    };
    assert_eq!(restored(&settings), 118);
    drop(Tier::open(&path, &TierSettings { block: 1024, ..settings.clone() }, |_| ()).unwrap());
    assert_eq!(restored(&settings), 0);
    let cache = cache("lru", 8, None);
    cache.put_on(Tier::open(&path, &settings, |_| ()).unwrap()).unwrap();
    read_all(&cache, &Opened::of(&cache, "/f", store.clone()));
    cache.end_tier();
    assert_eq!(restored(&settings), 118);
    assert_eq!(restored(&TierSettings { source: "another".to_owned(), ..settings.clone() }), 0);
    assert_eq!(restored(&settings), 0);
}

#[test]
fn schemes_that_cut_blocks_themselves_have_no_tier() {
    let settings = tier("lru", 64);
    let refused = cache("attribute", 64, None).put_on(Disk::default().open(&settings).unwrap());
    assert!(refused.is_err_and(|error| error.to_string().contains("attribute")));
    let cache = Disk::default().cache("lru", 64, &settings);
    let file = Opened::of(&cache, "/f", stored(1, 30_000));
    read_all(&cache, &file);
    let attribute = PolicySpec::parse("attribute").unwrap();
    assert!(cache.reconfigure(None, Some(attribute)).is_err());
    // Others may come, and have more or less memory.
    cache.reconfigure(Some(16 * BLOCK), Some(PolicySpec::parse("arc").unwrap())).unwrap();
    read_all(&cache, &file);
    assert!(matches!(Disk::default().open(&tier("render", 64)), Err(TierError::Policy(_))));
    assert!(matches!(Disk::default().open(&tier("opt", 64)), Err(TierError::Cache(_))));
    assert!(status(&cache).hits > 0);
}
