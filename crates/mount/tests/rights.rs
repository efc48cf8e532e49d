//! Permissions of users through a mount by root: the same as in the source. Needs /dev/fuse and root.

mod support;

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hotset_cache::source::{Source, Stamp};
use hotset_mount::{Mode, Options, Plain, Staleness, Store};
use rustix::fs::{AtFlags, CWD, FileType, Gid, IFlags, OFlags, RenameFlags, StatVfsMountFlags, Uid, XattrFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tempfile::TempDir;

use support::mounted::{MODES, Mount, can_mount, options};

/// A user with a group of their own, and one that they share with others.
const USER: u32 = 12345;
const SHARED: u32 = 777;

/// The least and the greatest use of cached metadata.
const STALENESS: [Staleness; 2] = [Staleness::Open, Staleness::For(Duration::MAX)];

/// Each mode with each of these.
fn ways() -> impl Iterator<Item = (Mode, Staleness)> {
    MODES.into_iter().flat_map(|mode| STALENESS.map(|staleness| (mode, staleness)))
}

/// A mount by root whose source and mountpoint every user can reach. `None` without root.
fn mounted(options: Options) -> Option<Mount> {
    if !can_mount() {
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root has other users");
        return None;
    }
    let mount = Mount::new("lru", 64, options);
    fs::set_permissions(mount.folder.path(), Permissions::from_mode(0o755)).unwrap();
    Some(mount)
}

/// Does something in a thread that has the rights of the user, for good.
fn as_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let done = scope.spawn(|| {
            let (uid, gid) = (Uid::from_raw(USER), Gid::from_raw(USER));
            set_thread_groups(&[gid, Gid::from_raw(SHARED)]).unwrap();
            set_thread_res_gid(gid, gid, gid).unwrap();
            set_thread_res_uid(uid, uid, uid).unwrap();
            work()
        });
        done.join().unwrap()
    })
}

fn directory(path: &Path, mode: u32, owner: u32) {
    fs::create_dir(path).unwrap();
    chown(path, Some(owner), Some(owner)).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn file(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn owner(path: &Path) -> (u32, u32) {
    let about = fs::symlink_metadata(path).unwrap();
    (about.uid(), about.gid())
}

#[test]
fn what_users_make_is_theirs_as_in_the_source() {
    let Some(mut mount) = mounted(options(Mode::Strict)) else { return };
    directory(&mount.source("open"), 0o1777, 0);
    directory(&mount.source("grouped"), 0o2777, 0);
    chown(mount.source("grouped"), None, Some(SHARED)).unwrap();
    for (place, group) in [("open", USER), ("grouped", SHARED)] {
        let at = |name: &str| mount.at(place).join(name);
        as_user(|| {
            File::create_new(at("file")).unwrap().write_all(b"theirs").unwrap();
            fs::create_dir(at("directory")).unwrap();
            symlink("nowhere", at("link")).unwrap();
            rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0).unwrap();
            fs::hard_link(at("link"), at("second link")).unwrap();
            fs::hard_link(at("file"), at("second file")).unwrap();
            fs::rename(at("second file"), at("moved")).unwrap();
        });
        for name in ["file", "directory", "link", "pipe", "second link", "moved"] {
            for path in [at(name), mount.source(place).join(name)] {
                assert_eq!(owner(&path), (USER, group), "{}", path.display());
            }
        }
        assert!(fs::symlink_metadata(at("second link")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());
        let inherits = fs::metadata(mount.source(place).join("directory")).unwrap().mode() & 0o2000 != 0;
        assert_eq!(inherits, group == SHARED);
        // To a group that is theirs a file may go, to another it may not.
        as_user(|| {
            chown(at("file"), None, Some(SHARED)).unwrap();
            assert_eq!(chown(at("file"), None, Some(SHARED + 1)).unwrap_err().kind(), ErrorKind::PermissionDenied);
            for name in ["file", "link", "second link", "pipe", "moved"] {
                fs::remove_file(at(name)).unwrap();
            }
            fs::remove_dir(at("directory")).unwrap();
        });
    }
    mount.stop();
}

#[test]
fn what_belongs_to_others_stays_as_it_is() {
    let Some(mut mount) = mounted(options(Mode::Strict)) else { return };
    directory(&mount.source("open"), 0o1777, 0);
    file(&mount.source("open/secret"), "root's", 0o600);
    file(&mount.source("open/public"), "root's", 0o644);
    rustix::fs::setxattr(mount.source("open/public"), "trusted.mark", b"x", XattrFlags::empty()).unwrap();
    let at = |name: &str| mount.at("open").join(name);
    let denied = |done: io::Result<()>| assert_eq!(done.unwrap_err().kind(), ErrorKind::PermissionDenied);
    as_user(|| {
        for name in ["secret", "public"] {
            denied(File::options().write(true).create(true).truncate(false).open(at(name)).map(drop));
            denied(fs::remove_file(at(name)));
            denied(fs::rename(at(name), at("mine")));
            denied(fs::set_permissions(at(name), Permissions::from_mode(0o666)));
            denied(chown(at(name), Some(USER), None));
            denied(
                rustix::fs::setxattr(at(name), "user.mark", b"x", XattrFlags::empty())
                    .map_err(std::convert::Into::into),
            );
        }
        denied(File::open(at("secret")).map(drop));
        let mut names = Vec::with_capacity(1000);
        rustix::fs::listxattr(at("public"), rustix::buffer::spare_capacity(&mut names)).unwrap();
        assert!(names.is_empty(), "names that only root may know: {}", String::from_utf8_lossy(&names));
    });
    assert_eq!(owner(&mount.source("open/secret")), (0, 0));
    mount.stop();
}

/// Has a user make something under new names through the mount, for some seconds, while the same user moves a file of
/// root's in the source to and fro between its name and the one that is just being made. Tells how many were made.
fn racing(mount: &Mount, flags: RenameFlags, make: impl Fn(u64, &Path) -> bool + Send + Sync) -> u64 {
    let place = mount.source("theirs");
    directory(&place, 0o777, USER);
    file(&place.join("secret"), "root's secret", 0o600);
    fs::hard_link(place.join("secret"), mount.source("kept")).unwrap();
    let (turn, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let made = thread::scope(|scope| {
        let swap = scope.spawn(|| {
            as_user(|| {
                let secret = place.join("secret");
                while !stop.load(Ordering::Relaxed) {
                    let name = place.join(turn.load(Ordering::Relaxed).to_string());
                    if rustix::fs::renameat_with(CWD, &secret, CWD, &name, flags).is_ok() {
                        rustix::fs::renameat_with(CWD, &name, CWD, &secret, flags).unwrap();
                    }
                }
            });
        });
        let made = as_user(|| {
            let (started, mut made) = (Instant::now(), 0);
            // On a busy machine few are made in that time.
            while started.elapsed() < RACE || (made <= 100 && started.elapsed() < 20 * RACE) {
                let number = turn.fetch_add(1, Ordering::Relaxed) + 1;
                made += u64::from(make(number, &mount.at("theirs").join(number.to_string())));
            }
            made
        });
        stop.store(true, Ordering::Relaxed);
        swap.join().unwrap();
        made
    });
    assert_eq!(owner(&mount.source("kept")), (0, 0), "root's file was given away, after {made} were made");
    assert!(made > 100, "only {made} were made");
    made
}

/// How long each race is run, at least.
const RACE: Duration = Duration::from_secs(3);

/// A user who may rename root's file may neither read it nor become its owner.
#[test]
fn a_name_that_is_swapped_while_it_is_opened_gives_nothing_away() {
    for staleness in STALENESS {
        let Some(mut mount) = mounted(Options { staleness, ..options(Mode::Strict) }) else { return };
        let read = AtomicU64::new(0);
        let opened = racing(&mount, RenameFlags::NOREPLACE, |_, name| {
            let open = File::options().read(true).write(true).create(true).truncate(false).open(name);
            let Ok(mut open) = open else { return false };
            let mut text = String::new();
            open.read_to_string(&mut text).unwrap();
            read.fetch_add(u64::from(!text.is_empty()), Ordering::Relaxed);
            true
        });
        assert_eq!(read.into_inner(), 0, "of {opened} opens, {staleness:?}");
        mount.stop();
    }
}

#[test]
fn a_name_that_is_swapped_while_it_is_made_gives_nothing_away() {
    let Some(mut mount) = mounted(options(Mode::Strict)) else { return };
    racing(&mount, RenameFlags::EXCHANGE, |turn, name| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        match turn % 4 {
            0 => fs::create_dir(name).is_ok(),
            1 => symlink("nowhere", name).is_ok(),
            2 => rustix::fs::mknodat(CWD, name, FileType::Fifo, mode, 0).is_ok(),
            _ => File::create_new(name).is_ok(),
        }
    });
    mount.stop();
}

/// A file of root's that everybody may write to, and that is run with its owner's rights and with capabilities.
fn privileged(path: &Path) {
    // As linux/capability.h has it: version 2 with CAP_CHOWN, effective.
    let capabilities: Vec<u8> = [0x0200_0001u32, 1, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    file(path, "a program", 0o6777);
    rustix::fs::setxattr(path, "security.capability", &capabilities, XattrFlags::empty()).unwrap();
}

#[test]
fn what_others_change_runs_with_no_rights_of_its_owner() {
    type Change = fn(&Path);
    const CHANGES: [(&str, Change); 5] = [
        ("written", |path| File::options().write(true).open(path).unwrap().write_all(b"x").unwrap()),
        ("appended to", |path| File::options().append(true).open(path).unwrap().write_all(b"x").unwrap()),
        ("cut at the open", |path| drop(File::options().write(true).truncate(true).open(path).unwrap())),
        ("cut", |path| File::options().write(true).open(path).unwrap().set_len(1).unwrap()),
        ("given room", |path| {
            let file = File::options().write(true).open(path).unwrap();
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 10_000).unwrap();
        }),
    ];
    for (mode, staleness) in ways() {
        let Some(mut mount) = mounted(Options { staleness, ..options(mode) }) else { return };
        for (name, change) in CHANGES {
            for beside in ["", " beside"] {
                privileged(&mount.source(&format!("{name}{beside}")));
            }
            let [through, beside] = [mount.at(name), mount.source(&format!("{name} beside"))];
            as_user(|| [&through, &beside].map(|path| change(path)));
            let left = |path: &Path| {
                let capabilities = rustix::fs::getxattr(path, "security.capability", &mut [0u8; 100][..]);
                (fs::metadata(path).unwrap().mode() & 0o7777, capabilities)
            };
            assert_eq!(left(&beside), (0o777, Err(Errno::NODATA)), "{name} without a mount");
            for path in [&through, &mount.source(name)] {
                assert_eq!(left(path), (0o777, Err(Errno::NODATA)), "{mode:?}: {name}");
            }
        }
        // Its owner sets no new owner, which clears the bits as well.
        file(&mount.source("theirs"), "", 0o6777);
        chown(mount.source("theirs"), Some(USER), Some(USER)).unwrap();
        fs::set_permissions(mount.source("theirs"), Permissions::from_mode(0o6777)).unwrap();
        as_user(|| chown(mount.at("theirs"), None, None).unwrap());
        assert_eq!(fs::metadata(mount.source("theirs")).unwrap().mode() & 0o7777, 0o777);
        mount.stop();
    }
}

#[test]
fn programs_that_may_only_be_executed_are_executed() {
    let Some(mut mount) = mounted(options(Mode::Strict)) else { return };
    fs::copy("/bin/true", mount.source("program")).unwrap();
    for (mode, runs) in [(0o711, true), (0o700, false), (0o644, false)] {
        fs::set_permissions(mount.source("program"), Permissions::from_mode(mode)).unwrap();
        thread::sleep(hotset_mount::VALIDITY);
        let mut program = Command::new(mount.at("program"));
        std::os::unix::process::CommandExt::uid(&mut program, USER);
        assert_eq!(program.status().is_ok_and(|status| status.success()), runs, "{mode:o}");
        let read = as_user(|| File::open(mount.at("program")).is_ok());
        assert_eq!(read, mode == 0o644, "{mode:o}");
    }
    mount.stop();
}

/// An access list: for the owner, for a user or a group by number, for the group, the mask, for others.
fn access_list(owner: u16, named: (u16, u32, u16), group: u16, mask: u16, others: u16) -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let mut entries = vec![(1, NOBODY, owner), (4, NOBODY, group), (16, NOBODY, mask), (32, NOBODY, others), named];
    entries.sort();
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, id, rights) in entries {
        bytes.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

const NAMED_USER: u16 = 2;
const NAMED_GROUP: u16 = 8;

const FILES: &str = "system.posix_acl_access";
const DIRECTORIES: &str = "system.posix_acl_default";

fn set_list(path: &Path, kind: &str, list: &[u8]) {
    rustix::fs::setxattr(path, kind, list, XattrFlags::empty()).unwrap();
}

/// The list of a file, and its mode.
fn list_of(path: &Path) -> (Vec<u8>, u32) {
    let mut list = Vec::with_capacity(1000);
    let found = rustix::fs::getxattr(path, FILES, rustix::buffer::spare_capacity(&mut list));
    assert!(found.is_ok() || found == Err(Errno::NODATA), "{found:?}");
    (list, fs::metadata(path).unwrap().mode() & 0o7777)
}

#[test]
fn access_lists_hold_through_the_mount() {
    const CASES: [(&str, (u16, u32, u16), u16); 6] = [
        ("a user is refused", (NAMED_USER, USER, 0), 6),
        ("a user is let in", (NAMED_USER, USER, 6), 0),
        ("a user may read", (NAMED_USER, USER, 4), 0),
        ("a group is refused", (NAMED_GROUP, SHARED, 0), 6),
        ("a group is let in", (NAMED_GROUP, SHARED, 6), 0),
        ("another user is let in", (NAMED_USER, USER + 1, 6), 0),
    ];
    for (mode, staleness) in ways() {
        let Some(mut mount) = mounted(Options { staleness, ..options(mode) }) else { return };
        for (name, named, others) in CASES {
            file(&mount.source(name), name, 0o666);
            set_list(&mount.source(name), FILES, &access_list(6, named, 0, 6, others));
            as_user(|| {
                let opens = |path: &Path| {
                    [(true, false), (false, true)].map(|(read, write)| {
                        File::options().read(read).write(write).open(path).map(drop).map_err(|error| error.kind())
                    })
                };
                assert_eq!(opens(&mount.at(name)), opens(&mount.source(name)), "{mode:?}: {name}");
                let may = |path: &Path| rustix::fs::accessat(CWD, path, rustix::fs::Access::READ_OK, AtFlags::EACCESS);
                assert_eq!(may(&mount.at(name)), may(&mount.source(name)), "{mode:?}: {name}");
            });
        }
        mount.stop();
    }
}

#[test]
fn access_lists_of_directories_hold_and_are_inherited() {
    for (mode, staleness) in ways() {
        let Some(mut mount) = mounted(Options { staleness, ..options(mode) }) else { return };
        for (name, rights) in [("in", 7), ("out", 0), ("to see", 5)] {
            directory(&mount.source(name), 0o700, 0);
            let list = access_list(7, (NAMED_USER, USER, rights), 0, 7, 0);
            set_list(&mount.source(name), FILES, &list);
            set_list(&mount.source(name), DIRECTORIES, &access_list(7, (NAMED_GROUP, SHARED, 7), 7, 7, 5));
            as_user(|| {
                // Once through the mount, and once in a directory without it.
                let [through, beside] = [mount.at(name), mount.source(name)].map(|place| {
                    let number = if place == mount.at(name) { "1" } else { "2" };
                    let [file, below] = ["file", "directory"].map(|kind| place.join(format!("{kind}{number}")));
                    let done = [fs::write(&file, "theirs"), fs::create_dir(&below), fs::read_dir(&place).map(drop)];
                    (done.map(|done| done.map_err(|error| error.kind())), file, below)
                });
                assert_eq!(through.0, beside.0, "{mode:?}: {name}");
                if through.0[0].is_ok() {
                    assert_eq!((list_of(&through.1), list_of(&through.2)), (list_of(&beside.1), list_of(&beside.2)));
                }
            });
        }
        // The owner changes it through the mount.
        as_user(|| set_list(&mount.at("in/file1"), FILES, &access_list(6, (NAMED_USER, USER, 0), 0, 4, 0)));
        assert_eq!(fs::metadata(mount.source("in/file1")).unwrap().mode() & 0o777, 0o640);
        mount.stop();
    }
}

/// The user and groups of a thread, as the kernel takes them for rights.
type Rights = (u32, u32, Vec<u32>);

/// A store that tells with whose rights each write reaches it.
struct Watched(Arc<Mutex<Vec<Rights>>>);

struct WatchedFile(Arc<File>, Arc<Mutex<Vec<Rights>>>);

impl Store for Watched {
    fn open(&self, file: Arc<File>) -> Arc<dyn Source> {
        Arc::new(WatchedFile(file, self.0.clone()))
    }
}

impl WatchedFile {
    fn note(&self) {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let numbers = |name: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().map(|number| number.parse().unwrap()).collect()
        };
        // The last is that for file systems.
        let (uid, gid, groups) = (numbers("Uid:")[3], numbers("Gid:")[3], numbers("Groups:"));
        self.1.lock().unwrap().push((uid, gid, groups));
    }
}

impl Source for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        Source::read_at(self.0.as_ref(), buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.note();
        Source::write_at(self.0.as_ref(), bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        self.note();
        Source::append(self.0.as_ref(), bytes)
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.note();
        Source::set_len(self.0.as_ref(), size)
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Source::stamp(self.0.as_ref())
    }

    fn sync(&self, data_only: bool) -> io::Result<()> {
        Source::sync(self.0.as_ref(), data_only)
    }
}

/// So that room which is kept for root, and limits that root does not have, are not open to them.
#[test]
fn what_users_write_is_written_with_their_rights() {
    if mounted(options(Mode::Strict)).is_none() {
        return;
    }
    let later = Some(Duration::from_secs(3600));
    for (mode, blocks, write_back) in
        [(Mode::Strict, 8, None), (Mode::Fast, 8, None), (Mode::Strict, 0, None), (Mode::Strict, 8, later)]
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let options = Options { write_back, ..options(mode) };
        let mut mount = Mount::with_store("lru", blocks, options, Arc::new(Watched(seen.clone())));
        fs::set_permissions(mount.folder.path(), Permissions::from_mode(0o755)).unwrap();
        file(&mount.source("f"), "", 0o666);
        as_user(|| {
            File::options().append(true).open(mount.at("f")).unwrap().write_all(b"appended").unwrap();
            let mut file = File::options().write(true).open(mount.at("f")).unwrap();
            file.write_all(b"written").unwrap();
            file.set_len(3).unwrap();
        });
        let theirs = (USER, USER, vec![SHARED, USER]);
        assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), vec![theirs; 3], "{mode:?}, {blocks} blocks");
        fs::write(mount.at("f"), "root's").unwrap();
        let all = std::mem::take(&mut *seen.lock().unwrap());
        assert!(!all.is_empty() && all.iter().all(|(uid, gid, _)| (*uid, *gid) == (0, 0)), "{all:?}");
        // Also where another writes before it is there.
        let open = || File::options().write(true).open(mount.at("f")).unwrap();
        let (mut theirs, mut ours) = (as_user(open), open());
        as_user(|| theirs.write_all(b"first").unwrap());
        ours.write_all(b"our").unwrap();
        drop((theirs, ours));
        let users: Vec<u32> = seen.lock().unwrap().iter().map(|(uid, ..)| *uid).collect();
        assert_eq!(users, [USER, 0], "{mode:?}, {blocks} blocks");
        assert_eq!(fs::read(mount.source("f")).unwrap(), b"oursts");
        mount.stop();
    }
}

/// No user can execute a file with unwritten data and privileges that the write clears.
#[test]
fn what_runs_with_rights_of_its_owner_is_written_at_once() {
    for mode in MODES {
        let write_back = Some(Duration::from_secs(3600));
        let Some(mut mount) = mounted(Options { write_back, ..options(mode) }) else { return };
        privileged(&mount.source("f"));
        let open = as_user(|| {
            let mut open = File::options().write(true).open(mount.at("f")).unwrap();
            open.write_all(b"x").unwrap();
            open
        });
        assert_eq!(fs::metadata(mount.source("f")).unwrap().mode() & 0o7777, 0o777, "{mode:?}");
        assert_eq!(fs::read(mount.source("f")).unwrap(), b"x program");
        as_user(|| (&open).write_all(b"y").unwrap());
        assert_eq!(fs::read(mount.source("f")).unwrap(), b"x program", "{mode:?}: now it may wait");
        drop(open);
        mount.stop();
    }
}

#[test]
fn files_that_only_grow_are_appended_to() {
    let Some(mut mount) = mounted(options(Mode::Strict)) else { return };
    let source = mount.source("log");
    file(&source, "one\n", 0o666);
    let flags = |flags: IFlags| rustix::fs::ioctl_setflags(File::open(&source).unwrap(), flags);
    if let Err(error) = flags(IFlags::APPEND) {
        eprintln!("SKIPPED: no file here is for appending only: {error}");
        return;
    }
    as_user(|| {
        let mut log = File::options().append(true).open(mount.at("log")).unwrap();
        log.write_all(b"two\n").unwrap();
        assert_eq!(log.set_len(0).unwrap_err().kind(), ErrorKind::PermissionDenied);
        // The flag can be taken from the open file, but not what the file is.
        rustix::fs::fcntl_setfl(&log, OFlags::empty()).unwrap();
        assert_eq!(rustix::io::pwrite(&log, b"X", 0), Err(Errno::PERM));
        let other = File::options().write(true).open(mount.at("log"));
        assert_eq!(other.unwrap_err().kind(), ErrorKind::PermissionDenied);
    });
    let text = fs::read_to_string(&source).unwrap();
    flags(IFlags::empty()).unwrap();
    assert_eq!(text, "one\ntwo\n");
    mount.stop();
}

/// Mounts a source that has these flags with the given options: the flags of the mount, or the error.
fn flags_of(source: MountFlags, allow_suid: bool, allow_dev: bool) -> Result<StatVfsMountFlags, String> {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("source");
    for name in ["source", "at"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    rustix::mount::mount("none", &place, "tmpfs", source, None).unwrap();
    fs::copy("/bin/true", place.join("program")).unwrap();
    let options = Options { allow_suid, allow_dev, ..Options::default() };
    let found = Mount::of(folder, "lru", 8, options, Arc::new(Plain)).map(|mut mount| {
        let runs = Command::new(mount.at("program")).status().is_ok_and(|status| status.success());
        assert_eq!(runs, !source.contains(MountFlags::NOEXEC));
        let found = rustix::fs::statvfs(mount.at("")).unwrap().f_flag;
        mount.stop();
        found
    });
    rustix::mount::unmount(&place, UnmountFlags::DETACH).unwrap();
    found.map_err(|error| error.to_string())
}

#[test]
fn a_mount_allows_no_more_than_its_source_and_than_was_asked_for() {
    use StatVfsMountFlags as Found;
    if mounted(options(Mode::Strict)).is_none() {
        return;
    }
    let all = Found::NOSUID | Found::NODEV | Found::NOEXEC;
    let flags = |source, allow_suid, allow_dev| flags_of(source, allow_suid, allow_dev).map(|found| found & all);
    let (nothing, nosuid, nodev) = (MountFlags::empty(), MountFlags::NOSUID, MountFlags::NODEV);
    assert_eq!(flags(nothing, false, false), Ok(Found::NOSUID | Found::NODEV));
    assert_eq!(flags(nothing, true, false), Ok(Found::NODEV));
    assert_eq!(flags(nothing, false, true), Ok(Found::NOSUID));
    assert_eq!(flags(nosuid | nodev | MountFlags::NOEXEC, false, false), Ok(all));
    assert_eq!(flags(nosuid, false, true), Ok(Found::NOSUID));
    let refused = |source, allow_suid, allow_dev, word: &str| {
        let why = flags(source, allow_suid, allow_dev).unwrap_err();
        assert!(why.contains(&format!("is mounted {word} itself")), "{why}");
    };
    refused(nosuid, true, false, "nosuid");
    refused(nodev, true, true, "nodev");
}
