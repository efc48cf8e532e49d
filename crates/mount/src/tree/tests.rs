//! Requests at moments that the kernel meets only by chance: the file has changed since the permission check.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use hotset_cache::workers::Limits;
use rustix::fs::{CWD, RenameFlags, Timespec, Timestamps, UTIME_NOW};
use tempfile::TempDir;

use super::*;
use crate::Plain;
use crate::served::ROOT;
use crate::served::{Listing, Seen};

const USER: Caller = Caller { uid: 12345, gid: 12345, pid: 0 };

/// A directory that every user may write to, served by root. `None` without root.
fn served() -> Option<(TempDir, Tree)> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root has other users");
        return None;
    }
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let workers = Arc::new(Workers::new(Limits { part: 1, device: 1, all: 1 }));
    let tree = Tree::new(folder.path(), None, Arc::new(Plain), Options::default(), &workers).unwrap().0;
    Some((folder, tree))
}

fn file(path: &Path, mode: u32) {
    fs::write(path, "root's").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn number<T>(done: io::Result<T>) -> Option<i32> {
    done.err().map(|error| error.raw_os_error().unwrap())
}

const MODE: NewMode = NewMode { mode: 0o600, umask: 0 };

const READ: OFlags = OFlags::RDONLY;
const WRITE: OFlags = OFlags::RDWR;

/// As after a look-up that found nothing.
#[test]
fn what_stands_at_a_name_by_now_is_opened_with_the_rights_of_who_asks() {
    let Some((folder, tree)) = served() else { return };
    for (mode, flags, expected) in [
        (0o600, READ, Some(Errno::ACCESS)),
        (0o600, WRITE, Some(Errno::ACCESS)),
        (0o644, WRITE, Some(Errno::ACCESS)),
        (0o644, READ | OFlags::TRUNC, Some(Errno::ACCESS)),
        (0o644, READ, None),
        (0o666, WRITE, None),
        (0o666, WRITE | OFlags::EXCL, Some(Errno::EXIST)),
    ] {
        let path = folder.path().join("f");
        file(&path, mode);
        let created = tree.create(ROOT, OsStr::new("f"), MODE, (flags | OFlags::CREATE).bits(), USER);
        assert_eq!(number(created), expected.map(Errno::raw_os_error), "{mode:o} {flags:?}");
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.uid(), about.mode() & 0o7777, about.len()), (0, mode, 6));
        fs::remove_file(&path).unwrap();
    }
}

/// The kernel then looks it up and opens it itself; the mount does not wait for the other end of a pipe.
#[test]
fn what_is_no_file_by_now_is_not_opened() {
    let Some((folder, tree)) = served() else { return };
    file(&folder.path().join("secret"), 0o666);
    symlink("secret", folder.path().join("link")).unwrap();
    let everybody = Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, everybody, 0).unwrap();
    rustix::fs::chmod(folder.path().join("pipe"), everybody).unwrap();
    rustix::fs::mknodat(CWD, folder.path().join("null"), FileType::CharacterDevice, everybody, 0x103).unwrap();
    rustix::fs::chmod(folder.path().join("null"), everybody).unwrap();
    fs::create_dir(folder.path().join("directory")).unwrap();
    for flags in [READ, OFlags::WRONLY, WRITE] {
        for (name, expected) in
            [("link", Errno::STALE), ("pipe", Errno::STALE), ("null", Errno::STALE), ("directory", Errno::ISDIR)]
        {
            let created = tree.create(ROOT, OsStr::new(name), MODE, (flags | OFlags::CREATE).bits(), USER);
            assert_eq!(number(created), Some(expected.raw_os_error()), "{name} {flags:?}");
        }
    }
}

/// As where the kernel still has the attributes of before.
#[test]
fn attributes_are_changed_with_the_rights_of_who_asks() {
    let Some((folder, tree)) = served() else { return };
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let then = Timespec { tv_sec: 1, tv_nsec: 0 };
    let times = |time| Some(Timestamps { last_access: time, last_modification: time });
    let change = Attributes::default;
    let (access, permission) = (Some(Errno::ACCESS), Some(Errno::PERM));
    for (name, mode, change, expected) in [
        ("size, not theirs to write", 0o644, Attributes { size: Some(0), ..change() }, access),
        ("size", 0o666, Attributes { size: Some(0), ..change() }, None),
        ("size, of a program with its owner's rights", 0o4777, Attributes { size: Some(0), ..change() }, None),
        ("mode", 0o666, Attributes { mode: Some(0o600), ..change() }, permission),
        ("owner", 0o666, Attributes { uid: Some(USER.uid), ..change() }, permission),
        ("group", 0o666, Attributes { gid: Some(USER.gid), ..change() }, permission),
        ("times of now", 0o666, Attributes { times: times(now), ..change() }, None),
        ("times of now, not theirs to write", 0o644, Attributes { times: times(now), ..change() }, access),
        ("other times", 0o666, Attributes { times: times(then), ..change() }, permission),
    ] {
        let path = folder.path().join("f");
        file(&path, mode);
        let found = tree.look_up(ROOT, OsStr::new("f"), USER).unwrap().number;
        let changed = tree.set_attributes(found, &change, None, USER);
        assert_eq!(number(changed), expected.map(Errno::raw_os_error), "{name}");
        let about = fs::metadata(&path).unwrap();
        assert_eq!((about.uid(), about.gid(), about.mode() & 0o7777), (0, 0, mode & 0o777), "{name}");
        fs::remove_file(&path).unwrap();
    }
}

/// So an open for reading that cuts the file asks for it.
#[test]
fn a_file_that_is_open_for_reading_is_cut_by_who_may_write_to_it() {
    let Some((folder, tree)) = served() else { return };
    for (mode, expected) in [(0o666, None), (0o644, Some(Errno::ACCESS))] {
        file(&folder.path().join("f"), mode);
        let found = tree.look_up(ROOT, OsStr::new("f"), USER).unwrap().number;
        let open = tree.open(found, READ.bits(), USER).unwrap().0;
        let cut = tree.set_attributes(found, &Attributes { size: Some(2), ..Attributes::default() }, Some(&open), USER);
        assert_eq!(number(cut), expected.map(Errno::raw_os_error));
    }
}

/// A directory served by root that believes for ever what it knows.
fn believing() -> Option<(TempDir, Tree)> {
    let folder = served()?.0;
    let options = Options { staleness: crate::Staleness::For(Duration::MAX), ..Options::default() };
    let tree = cached(folder.path(), options);
    Some((folder, tree))
}

fn cached(folder: &Path, options: Options) -> Tree {
    let workers = Arc::new(Workers::new(Limits { part: 1, device: 1, all: 1 }));
    let policy = hotset_core::policy::PolicySpec::parse("lru").unwrap();
    let settings = hotset_cache::Settings { policy, memory: 1 << 20, block: 4096, rules: None, seed: 1, store: None };
    let cache = Some(Arc::new(FileCache::new(&settings, None).unwrap()));
    Tree::new(folder, cache, Arc::new(Plain), options, &workers).unwrap().0
}

/// Setting the time of the last change back leaves a trace only in the inode, and so do changes here.
#[test]
fn a_change_behind_the_mount_is_not_taken_for_the_change_of_the_inode_that_follows() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    type Change = fn(&Tree, u64, &OpenFile);
    let changes: [(&str, Change); 8] = [
        ("mode", |tree, found, _| {
            let change = Attributes { mode: Some(0o600), ..Attributes::default() };
            tree.set_attributes(found, &change, None, ROOTS).unwrap();
        }),
        ("a value", |tree, found, _| tree.set_xattr(found, OsStr::new("user.new"), b"x", 0, ROOTS).unwrap()),
        ("a value that goes", |tree, found, _| tree.remove_xattr(found, OsStr::new("user.old"), ROOTS).unwrap()),
        ("a second name", |tree, found, _| assert!(tree.link(found, ROOT, OsStr::new("second"), ROOTS).is_ok())),
        ("another name", |tree, _, _| {
            tree.rename((ROOT, OsStr::new("f")), (ROOT, OsStr::new("moved")), RenameFlags::empty(), ROOTS).unwrap();
        }),
        ("a name that is replaced", |tree, _, _| {
            tree.rename((ROOT, OsStr::new("other")), (ROOT, OsStr::new("f")), RenameFlags::empty(), ROOTS).unwrap();
        }),
        ("a name less", |tree, _, _| tree.unlink(ROOT, OsStr::new("f"), ROOTS).unwrap()),
        ("privileges", |tree, _, open| assert!(tree.drop_privileges(open).unwrap())),
    ];
    const OLD: &str = "as it was";
    const NEW: &str = "other now";
    let put_back = |path: &Path| {
        fs::set_permissions(path, Permissions::from_mode(0o4755)).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    };
    let folders: Vec<_> = changes.iter().map(|_| TempDir::new().unwrap()).collect();
    for folder in &folders {
        let path = folder.path().join("f");
        fs::write(&path, OLD).unwrap();
        fs::write(folder.path().join("other"), "").unwrap();
        fs::hard_link(&path, folder.path().join("first")).unwrap();
        rustix::fs::setxattr(&path, "user.old", b"x", XattrFlags::empty()).unwrap();
        put_back(&path);
    }
    std::thread::sleep(Duration::from_millis(2100));
    for (folder, (name, change)) in folders.iter().zip(changes) {
        let tree = cached(folder.path(), Options::default());
        let found = tree.look_up(ROOT, OsStr::new("f"), ROOTS).unwrap().number;
        let open = tree.open(found, READ.bits(), ROOTS).unwrap().0;
        let read = || tree.cache().unwrap().read(&open.data.access(), 0, OLD.len()).unwrap();
        assert_eq!(read(), OLD.as_bytes());
        let path = folder.path().join("f");
        fs::write(&path, NEW).unwrap();
        put_back(&path);
        change(&tree, found, &open);
        assert_eq!(read(), NEW.as_bytes(), "{name}");
    }
}

/// The same where the kernel keeps the pages.
#[test]
fn pages_are_not_kept_over_a_change_behind_the_mount_that_one_here_follows() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("f"), "").unwrap();
    let workers = Arc::new(Workers::new(Limits { part: 1, device: 1, all: 1 }));
    let options = Options { mode: Serving::Steered, ..Options::default() };
    let tree = Tree::new(folder.path(), None, Arc::new(Plain), options, &workers).unwrap().0;
    let node = tree.nodes.look_up(&tree.node(ROOT).unwrap(), OsStr::new("f")).unwrap().0;
    let long_ago = |changed| Stamp::of_times(9, 1, changed);
    for (before, is_kept) in [(1, true), (2, false)] {
        tree.is_as_before(&node, long_ago(1));
        tree.will_be_changed_here(&node, long_ago(before));
        tree.was_changed_here(&node, long_ago(3));
        assert_eq!(tree.is_as_before(&node, long_ago(3)), is_kept);
    }
}

const ROOTS: Caller = Caller { uid: 0, gid: 0, pid: 0 };

/// As where the kernel grants access by attributes that are no longer the file's.
#[test]
fn what_is_kept_open_is_opened_for_nobody_else_and_not_after_rights_have_changed() {
    let Some((folder, tree)) = believing() else { return };
    let path = folder.path().join("f");
    file(&path, 0o600);
    let found = tree.look_up(ROOT, OsStr::new("f"), ROOTS).unwrap().number;
    let open = |caller| tree.open(found, READ.bits(), caller).map(|(_, seen)| seen);
    // The file has just changed, so an open that asks the source finds another one.
    let (asked, known) = (Seen::Other, Seen::Known);
    assert_eq!((open(ROOTS).unwrap(), open(ROOTS).unwrap()), (asked, known));
    assert_eq!(number(open(USER)), Some(Errno::ACCESS.raw_os_error()), "what root has open is not theirs");
    // Their own is kept, until rights change: by mode, by owner, or by an access list.
    let mode = |mode| Attributes { mode: Some(mode), ..Attributes::default() };
    let change = |change: &Attributes| {
        tree.set_attributes(found, change, None, ROOTS).unwrap();
    };
    change(&mode(0o644));
    assert_eq!((open(USER).unwrap(), open(USER).unwrap()), (asked, known));
    change(&mode(0o600));
    assert_eq!(number(open(USER)), Some(Errno::ACCESS.raw_os_error()));
    change(&Attributes { uid: Some(USER.uid), ..Attributes::default() });
    assert_eq!((open(USER).unwrap(), open(USER).unwrap()), (asked, known));
    change(&Attributes { uid: Some(0), ..Attributes::default() });
    assert_eq!(number(open(USER)), Some(Errno::ACCESS.raw_os_error()));
    change(&mode(0o644));
    assert_eq!((open(USER).unwrap(), open(USER).unwrap()), (asked, known));
    tree.set_xattr(found, OsStr::new("user.mark"), b"x", 0, ROOTS).unwrap();
    assert_eq!(open(USER).unwrap(), asked, "an access list is set in this way");
    // An open that asks the source detects a change behind the mount.
    file(&path, 0o600);
    assert_eq!(open(USER).unwrap(), known, "the source was not asked");
    tree.look_up(ROOT, OsStr::new("f"), ROOTS).unwrap();
    assert_eq!(number(open(USER)), Some(Errno::ACCESS.raw_os_error()));
}

#[test]
fn a_program_that_was_executed_is_not_read_by_that() {
    let Some((folder, tree)) = believing() else { return };
    file(&folder.path().join("f"), 0o711);
    let found = tree.look_up(ROOT, OsStr::new("f"), ROOTS).unwrap().number;
    let open = |flags: u32| tree.open(found, flags, USER).map(|(_, seen)| seen);
    assert_eq!((open(0x20).unwrap(), open(0x20).unwrap()), (Seen::Other, Seen::Known));
    assert_eq!(number(open(READ.bits())), Some(Errno::ACCESS.raw_os_error()));
}

#[test]
fn a_directory_is_listed_by_those_who_may() {
    let Some((folder, tree)) = believing() else { return };
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::set_permissions(folder.path().join("d"), Permissions::from_mode(0o700)).unwrap();
    let found = tree.look_up(ROOT, OsStr::new("d"), ROOTS).unwrap().number;
    let list = |caller| tree.open_directory(found, caller).map(|(_, listing)| listing);
    assert_eq!((list(ROOTS).unwrap(), list(ROOTS).unwrap()), (Listing::New, Listing::Known));
    assert_eq!(number(list(USER)), Some(Errno::ACCESS.raw_os_error()));
    // Directories created there must be listed.
    tree.make_directory(found, OsStr::new("e"), MODE, ROOTS).unwrap();
    assert_eq!(list(ROOTS).unwrap(), Listing::New);
}
