//! A served directory on the machine's own file system: what programs see through the mount is what the source holds.
//! Needs /dev/fuse.

mod support;

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use hotset_cache::Status;
use hotset_cache::source::{Source, Stamp};
use hotset_mount::{Mode, Options, Staleness, Store};
use rustix::fs::{CWD, FallocateFlags, RawDir, RenameFlags, SeekFrom as Seeking, XattrFlags};

use support::mounted::{MODES, Mount, can_mount, options};
use support::pattern;

/// The operations of a file system, performed through the mount and checked in the source.
fn surface(mount: &Mount) {
    names(mount);
    attributes(mount);
    sizes(mount);
    open_files(mount);
    other_files(mount);
}

/// Making, renaming and removing.
fn names(mount: &Mount) {
    let (at, source) = (|name: &str| mount.at(name), |name: &str| mount.source(name));
    fs::create_dir_all(at("a/b")).unwrap();
    fs::write(at("a/b/file"), pattern(1, 300_000)).unwrap();
    assert_eq!(fs::read(source("a/b/file")).unwrap(), pattern(1, 300_000));
    assert_eq!(fs::read(at("a/b/file")).unwrap(), pattern(1, 300_000));

    fs::rename(at("a/b/file"), at("a/moved")).unwrap();
    fs::hard_link(at("a/moved"), at("a/linked")).unwrap();
    symlink("moved", at("a/soft")).unwrap();
    fs::hard_link(at("a/soft"), at("a/soft2")).unwrap();
    assert_eq!(fs::read_link(at("a/soft2")).unwrap(), Path::new("moved"));
    assert_eq!((fs::metadata(at("a/moved")).unwrap().nlink(), fs::read(at("a/soft")).unwrap().len()), (2, 300_000));
    assert_eq!(fs::metadata(at("a/moved")).unwrap().ino(), fs::metadata(at("a/linked")).unwrap().ino());
    fs::write(at("a/other"), "other").unwrap();
    let rename = |flags| rustix::fs::renameat_with(CWD, at("a/other"), CWD, at("a/linked"), flags);
    assert_eq!(rename(RenameFlags::NOREPLACE), Err(rustix::io::Errno::EXIST));
    rename(RenameFlags::EXCHANGE).unwrap();
    assert_eq!(
        (fs::read(at("a/linked")).unwrap(), fs::read(at("a/other")).unwrap().len()),
        (b"other".to_vec(), 300_000)
    );
    let mut names: Vec<String> =
        fs::read_dir(at("a")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["b", "linked", "moved", "other", "soft", "soft2"]);
    fs::remove_file(at("a/other")).unwrap();
    fs::remove_dir(at("a/b")).unwrap();
    assert!(!source("a/b").exists() && fs::remove_dir(at("a")).unwrap_err().kind() == ErrorKind::DirectoryNotEmpty);
}

/// Owners' bits, times, extended attributes.
fn attributes(mount: &Mount) {
    let (at, source) = (|name: &str| mount.at(name), |name: &str| mount.source(name));
    let file = File::options().read(true).write(true).open(at("a/moved")).unwrap();
    fs::set_permissions(at("a/moved"), Permissions::from_mode(0o4751)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    file.set_modified(time).unwrap();
    let about = fs::metadata(source("a/moved")).unwrap();
    assert_eq!((about.mode() & 0o7777, about.modified().unwrap()), (0o4751, time));
    rustix::fs::setxattr(at("a/moved"), "user.colour", b"blue", XattrFlags::empty()).unwrap();
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(source("a/moved"), "user.colour", &mut value).unwrap();
    assert_eq!(&value[..length], b"blue");
    rustix::fs::removexattr(at("a/moved"), "user.colour").unwrap();
    let missing = rustix::fs::getxattr(at("a/moved"), "user.colour", &mut value);
    assert_eq!(missing, Err(rustix::io::Errno::NODATA));
    assert!(rustix::fs::statvfs(at("a")).unwrap().f_blocks > 0);
}

/// Cutting, extending, holes.
fn sizes(mount: &Mount) {
    let (at, source) = (|name: &str| mount.at(name), |name: &str| mount.source(name));
    let file = File::options().read(true).write(true).open(at("a/moved")).unwrap();
    file.set_len(1000).unwrap();
    file.set_len(2000).unwrap();
    let mut expected = pattern(1, 1000);
    expected.resize(2000, 0);
    assert_eq!(fs::read(at("a/moved")).unwrap(), expected);
    file.write_all_at(&pattern(2, 100), 1 << 20).unwrap();
    rustix::fs::fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, 4096).unwrap();
    let mut expected = vec![0; 1 << 20];
    expected.extend(pattern(2, 100));
    assert!(fs::read(at("a/moved")).unwrap() == expected && fs::read(source("a/moved")).unwrap() == expected);
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    drop(file);
    // The kernel reports the close a little later; until then a mapping may have changed anything.
    let (file, begun) = (File::open(at("a/moved")).unwrap(), Instant::now());
    let data = || rustix::fs::seek(&file, Seeking::Data(0)).unwrap();
    while data() == 0 && begun.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(data() > 0 && data() <= 1 << 20, "a hole is known as one");
}

/// Files without a name, and locks between those who use the mount.
fn open_files(mount: &Mount) {
    let at = |name: &str| mount.at(name);
    let mut nameless = File::options().read(true).write(true).create_new(true).open(at("nameless")).unwrap();
    nameless.write_all(&pattern(3, 9000)).unwrap();
    fs::remove_file(at("nameless")).unwrap();
    nameless.seek(SeekFrom::Start(10)).unwrap();
    let mut bytes = Vec::new();
    nameless.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, pattern(3, 9000)[10..]);

    let file = File::open(at("a/moved")).unwrap();
    let other = File::open(at("a/moved")).unwrap();
    file.lock().unwrap();
    assert!(other.try_lock().is_err());
    file.unlock().unwrap();
    other.try_lock().unwrap();
}

/// Programs, pipes, names that are too long. Files are mapped in the tests of the command: a program that maps what it
/// serves itself waits for itself.
fn other_files(mount: &Mount) {
    let (at, source) = (|name: &str| mount.at(name), |name: &str| mount.source(name));
    // Programs run.
    fs::copy("/bin/true", at("program")).unwrap();
    assert!(Command::new(at("program")).status().unwrap().success());

    // A pipe is the kernel's own.
    rustix::fs::mknodat(CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert!(fs::symlink_metadata(source("pipe")).unwrap().mode() & 0o170_000 == 0o010_000);
    let name = CString::new("x".repeat(256)).unwrap();
    assert_eq!(
        rustix::fs::stat(&*mount.at("").join(name.to_str().unwrap())).unwrap_err(),
        rustix::io::Errno::NAMETOOLONG
    );
}

#[test]
fn the_whole_surface_passes_through() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        for blocks in [16, 4096, 0] {
            for staleness in [Staleness::Open, Staleness::For(Duration::MAX), Staleness::Revalidate] {
                let mut mount = Mount::new("arc", blocks, Options { staleness, ..options(mode) });
                surface(&mount);
                mount.stop();
            }
        }
    }
}

#[test]
fn a_file_changed_behind_the_mount_is_noticed_at_open() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("lru", 256, options(mode));
        fs::write(mount.source("f"), pattern(1, 50_000)).unwrap();
        assert_eq!(fs::read(mount.at("f")).unwrap(), pattern(1, 50_000));
        fs::write(mount.source("f"), pattern(2, 50_000)).unwrap();
        assert!(fs::read(mount.at("f")).unwrap() == pattern(2, 50_000), "{mode:?}");
        mount.stop();
    }
}

#[test]
fn in_strict_mode_every_read_reaches_the_cache() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 64, options(Mode::Strict));
    fs::write(mount.source("f"), pattern(1, 16 * 4096)).unwrap();
    // A file that has just changed is read again by each open.
    std::thread::sleep(Duration::from_millis(2100));
    for _ in 0..5 {
        assert_eq!(fs::read(mount.at("f")).unwrap(), pattern(1, 16 * 4096));
    }
    let status = Status::of(mount.cache.as_ref().unwrap());
    assert_eq!((status.total.references, status.total.hits), (80, 64), "{status:?}");
    assert_eq!((status.traffic.bytes_read, status.traffic.bytes_served), (65_536, 5 * 65_536));
    assert!(status.apps.len() == 1 && status.apps[0].name.starts_with("fs-"), "this program's: {:?}", status.apps);
    mount.stop();
}

#[test]
fn nothing_changes_through_a_mount_for_reading() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 64, Options { readonly: true, ..Options::default() });
    fs::write(mount.source("f"), "x").unwrap();
    assert_eq!(fs::read(mount.at("f")).unwrap(), b"x");
    for done in [fs::write(mount.at("f"), "y"), fs::remove_file(mount.at("f")), fs::create_dir(mount.at("d"))] {
        assert_eq!(done.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    }
    mount.stop();
}

#[test]
fn eight_readers_and_writers_at_once() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("s3-fifo", 128, options(mode));
        let [at, source] = ["at", "source"].map(|name| mount.folder.path().join(name));
        thread::scope(|scope| {
            for number in 0..8u64 {
                let (at, source) = (&at, &source);
                scope.spawn(move || {
                    for turn in 0..12u64 {
                        let name = format!("{number}-{}", turn % 3);
                        let bytes = pattern(number * 100 + turn, 20_000 + 7000 * turn as usize);
                        fs::write(at.join(&name), &bytes).unwrap();
                        assert!(fs::read(at.join(&name)).unwrap() == bytes, "{mode:?} {name}");
                        assert!(fs::read(source.join(&name)).unwrap() == bytes, "{mode:?} {name}");
                    }
                });
            }
        });
        mount.stop();
    }
}

/// A store of which every third read fails, and every write of a byte 255.
struct Faulty(std::sync::atomic::AtomicU64);

struct FaultyFile(Arc<File>, Arc<Faulty>);

struct FaultyStore(Arc<Faulty>);

impl Store for FaultyStore {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        Arc::new(FaultyFile(file, self.0.clone()))
    }
}

impl Source for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match self.1.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) % 3 {
            2 => Err(std::io::Error::from_raw_os_error(5)),
            _ => Source::read_at(self.0.as_ref(), buffer, offset),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<usize> {
        match bytes.contains(&255) {
            true => Err(std::io::Error::from_raw_os_error(28)),
            false => Source::write_at(self.0.as_ref(), bytes, offset),
        }
    }

    fn set_len(&self, size: u64) -> std::io::Result<()> {
        Source::set_len(self.0.as_ref(), size)
    }

    fn stamp(&self) -> std::io::Result<Stamp> {
        Source::stamp(self.0.as_ref())
    }

    fn sync(&self, data_only: bool) -> std::io::Result<()> {
        Source::sync(self.0.as_ref(), data_only)
    }
}

#[test]
fn errors_of_the_source_reach_the_caller_with_their_number() {
    if !can_mount() {
        return;
    }
    let store = Arc::new(FaultyStore(Arc::new(Faulty(0.into()))));
    let mut mount = Mount::with_store("lru", 8, options(Mode::Strict), store);
    let bytes: Vec<u8> = pattern(1, 64 * 4096).into_iter().map(|byte| byte % 200).collect();
    fs::write(mount.source("f"), &bytes).unwrap();
    let file = File::options().read(true).write(true).open(mount.at("f")).unwrap();
    let mut failed = 0;
    for step in 0..200u64 {
        let mut block = [0; 4096];
        let offset = step * 7 % 64 * 4096;
        match file.read_exact_at(&mut block, offset) {
            Ok(()) => assert_eq!(block[..], bytes[offset as usize..][..4096]),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(5));
                failed += 1;
            }
        }
    }
    assert!(failed > 30, "{failed} reads failed");
    assert_eq!(FileExt::write_at(&file, &[255; 10], 0).unwrap_err().raw_os_error(), Some(28));
    drop(file);
    mount.stop();
}

#[test]
fn whoever_appends_loses_nothing_that_was_appended_behind_the_mount() {
    if !can_mount() {
        return;
    }
    for (mode, blocks) in [(Mode::Strict, 8), (Mode::Fast, 8), (Mode::Strict, 0), (Mode::Steered, 0)] {
        let mut mount = Mount::new("lru", blocks, options(mode));
        let mut here = File::options().create(true).append(true).open(mount.at("log")).unwrap();
        let mut expected = String::new();
        for turn in 0..20 {
            let (ours, theirs) = (format!("here {turn}\n"), format!("behind the mount {turn}\n"));
            here.write_all(ours.as_bytes()).unwrap();
            File::options().append(true).open(mount.source("log")).unwrap().write_all(theirs.as_bytes()).unwrap();
            expected += &(ours + &theirs);
        }
        drop(here);
        assert_eq!(fs::read_to_string(mount.source("log")).unwrap(), expected, "{mode:?}, {blocks} blocks");
        assert_eq!(fs::read_to_string(mount.at("log")).unwrap(), expected, "{mode:?}, {blocks} blocks");
        mount.stop();
    }
}

#[test]
fn a_file_opened_after_it_changed_behind_the_mount_is_seen_whole() {
    if !can_mount() {
        return;
    }
    for mode in MODES {
        let mut mount = Mount::new("lru", 64, options(mode));
        for (turn, length) in [9000, 50_000, 60_000, 100].into_iter().enumerate() {
            let bytes = pattern(turn as u64, length);
            fs::write(mount.source("f"), &bytes).unwrap();
            let mut file = File::open(mount.at("f")).unwrap();
            assert_eq!(file.metadata().unwrap().len(), length as u64, "{mode:?}");
            let mut seen = Vec::new();
            file.read_to_end(&mut seen).unwrap();
            assert!(seen == bytes, "{mode:?}: {} of {length} bytes", seen.len());
            assert_eq!(fs::metadata(mount.at("f")).unwrap().len(), length as u64);
        }
        mount.stop();
    }
}

#[test]
fn a_file_that_others_write_to_does_not_run_with_its_owners_rights_any_more() {
    if !can_mount() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root has others");
        return;
    }
    for (mode, blocks) in [(Mode::Strict, 8), (Mode::Fast, 8), (Mode::Strict, 0), (Mode::Steered, 0)] {
        let mut mount = Mount::new("lru", blocks, options(mode));
        fs::set_permissions(mount.folder.path(), Permissions::from_mode(0o755)).unwrap();
        let write_as_other = |file: &Path| {
            let mut other = Command::new("dd");
            other.args(["conv=notrunc", "bs=1", "seek=1", "status=none", &format!("of={}", file.display())]);
            std::os::unix::process::CommandExt::uid(&mut other, 65534);
            std::os::unix::process::CommandExt::gid(&mut other, 65534);
            let mut other = other.stdin(Stdio::piped()).spawn().unwrap();
            other.stdin.take().unwrap().write_all(b"x").unwrap();
            assert!(other.wait().unwrap().success());
        };
        for before in [0o6777, 0o4777, 0o2767, 0o2777] {
            // The kernel's behaviour without a mount: kernels differ in the result.
            fs::write(mount.source("beside"), "abc").unwrap();
            fs::set_permissions(mount.source("beside"), Permissions::from_mode(before)).unwrap();
            write_as_other(&mount.source("beside"));
            let after = fs::metadata(mount.source("beside")).unwrap().mode() & 0o7777;
            fs::write(mount.at("f"), "abc").unwrap();
            fs::set_permissions(mount.at("f"), Permissions::from_mode(before)).unwrap();
            write_as_other(&mount.at("f"));
            for path in [mount.at("f"), mount.source("f")] {
                let found = fs::metadata(path).unwrap().mode() & 0o7777;
                assert_eq!(found, after, "{mode:?}, {blocks} blocks: {before:o} became {found:o}");
            }
            // Who may keep them does.
            fs::set_permissions(mount.at("f"), Permissions::from_mode(before)).unwrap();
            File::options().append(true).open(mount.at("f")).unwrap().write_all(b"y").unwrap();
            assert_eq!(fs::metadata(mount.at("f")).unwrap().mode() & 0o7777, before);
            fs::remove_file(mount.at("f")).unwrap();
        }
        mount.stop();
    }
}

#[test]
fn times_before_1970_are_what_was_set() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 8, options(Mode::Strict));
    let file = File::create(mount.at("f")).unwrap();
    for nanos in [5, 1_000_000_000, 1_500_000_000, 86_400_000_000_001] {
        let time = SystemTime::UNIX_EPOCH - Duration::from_nanos(nanos);
        file.set_modified(time).unwrap();
        for path in [mount.at("f"), mount.source("f")] {
            assert_eq!(fs::metadata(path).unwrap().modified().unwrap(), time);
        }
    }
    drop(file);
    mount.stop();
}

/// The entries of a listing, with the position behind each entry.
fn listed(directory: &File) -> Vec<(CString, u64)> {
    let mut buffer = Vec::with_capacity(4096);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    let mut listed = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.unwrap();
        listed.push((entry.file_name().to_owned(), entry.next_entry_cookie()));
    }
    listed
}

#[test]
fn a_directory_is_listed_by_the_places_that_the_source_gives() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 8, options(Mode::Strict));
    for number in 0..5000 {
        fs::write(mount.source(&format!("{number:0>100}")), "").unwrap();
    }
    let (here, source) = (File::open(mount.at("")).unwrap(), File::open(mount.source("")).unwrap());
    let entries = listed(&source);
    assert_eq!(entries.len(), 5002);
    assert!(listed(&here) == entries, "names or places differ");
    // Entries removed meanwhile do not move the others.
    for number in 0..2000 {
        fs::remove_file(mount.at(&format!("{number:0>100}"))).unwrap();
    }
    for place in [3000, 10, 4999, 5001] {
        for directory in [&source, &here] {
            rustix::fs::seek(directory, Seeking::Start(entries[place].1)).unwrap();
        }
        assert!(listed(&here) == listed(&source), "from {place}");
    }
    rustix::fs::seek(&here, Seeking::Start(0)).unwrap();
    fs::write(mount.source("new"), "").unwrap();
    assert!(listed(&here).iter().any(|(name, _)| name.as_bytes() == b"new"), "it is read anew");
    drop(here);
    mount.stop();
}

#[test]
fn files_that_are_gone_and_not_cached_any_more_are_forgotten() {
    if !can_mount() {
        return;
    }
    let mut mount = Mount::new("lru", 16, options(Mode::Strict));
    for number in 0..6000u64 {
        let name = format!("{}", number % 7);
        fs::write(mount.at(&name), pattern(number, 3000)).unwrap();
        assert!(fs::read(mount.at(&name)).unwrap() == pattern(number, 3000));
        fs::remove_file(mount.at(&name)).unwrap();
    }
    let known = mount.cache.as_ref().unwrap().files();
    assert!(known < 3000, "{known} files are known");
    mount.stop();
}

/// Waits until so many blocks are resident; the kernel does not wait for the end of a close.
fn resident(mount: &Mount, expected: u32) {
    let cache = mount.cache.as_ref().unwrap();
    for _ in 0..1000 {
        if cache.memory().1 == expected {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(cache.memory().1, expected, "resident blocks");
}

#[test]
fn blocks_leave_with_the_last_name_and_the_last_handle_of_their_file() {
    if !can_mount() {
        return;
    }
    for policy in ["lru", "arc", "s3-fifo"] {
        let mut mount = Mount::new(policy, 64, options(Mode::Strict));
        let at = |name: &str| mount.at(name);
        for name in ["stays", "named", "old", "new"] {
            fs::write(at(name), pattern(1, 4 * 4096)).unwrap();
        }
        resident(&mount, 16);
        // Another name, a handle, a file in its place.
        fs::hard_link(at("named"), at("other")).unwrap();
        let handle = File::open(at("named")).unwrap();
        fs::remove_file(at("named")).unwrap();
        fs::remove_file(at("other")).unwrap();
        let misses = || mount.cache.as_ref().unwrap().counts().0.total.misses();
        let before = misses();
        let mut bytes = vec![0; 4 * 4096];
        handle.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes == pattern(1, 4 * 4096) && misses() == before, "{policy}: an open file stays cached");
        drop(handle);
        resident(&mount, 12);
        fs::rename(at("new"), at("old")).unwrap();
        resident(&mount, 8);
        File::options().write(true).open(at("old")).unwrap().set_len(2 * 4096 - 1).unwrap();
        resident(&mount, 6);
        File::options().write(true).truncate(true).open(at("old")).unwrap();
        resident(&mount, 4);
        mount.stop();
    }
}
