//! Each recorded call, as a record and as the line of a log: both front ends give the same call.

use std::collections::BTreeSet;

use hotset_feed::calls::{BASE, Called, Named, OPENED, TEXT, Who, entry};

use super::arguments::Recorded;
use super::names::{NO_SLOTS, Names, Slots};
use crate::call::{Arguments, Call, Shown};

const WHO: Who = Who { thread: 7, process: 7, space: 1, time: 5 };
const FD: i64 = libc::AT_FDCWD as i64;

/// A record of a call.
struct Case {
    log: &'static str,
    called: Called,
    slots: Slots,
}

/// The number of a call.
pub(super) fn number(name: &str) -> u32 {
    (0..1024).find(|&number| entry(number).is_some_and(|(known, ..)| *known == name)).expect(name)
}

/// The call that `log` shows, with its arguments as the kernel has them.
fn case<const N: usize>(log: &'static str, arguments: [i64; N], result: i64) -> Case {
    let name = log.split('(').next().unwrap();
    let mut called = Called { number: number(name), result, ..Called::default() };
    called.arguments.iter_mut().zip(arguments).for_each(|(argument, value)| *argument = value as u64);
    Case { log, called, slots: NO_SLOTS }
}

impl Case {
    fn name(mut self, slot: u32, text: &str) -> Case {
        let named = Named { slot, mode: 0o100_644, text: text.into(), ..NAMED };
        self.slots[slot as usize] = Some(named);
        self
    }

    fn text(self, text: &str) -> Case {
        self.name(TEXT, text)
    }

    fn value(mut self, which: usize, value: u64) -> Case {
        self.called.value[which] = value;
        self
    }

    /// `struct stat`, or `struct statx`.
    fn answer(mut self, mode: u16, size: u64) -> Case {
        let mut answer = [0; 64];
        let stat = if cfg!(target_arch = "x86_64") { 24 } else { 16 };
        let places = if self.log.starts_with("statx") { (28, 40) } else { (stat, 48) };
        answer[places.0..places.0 + 2].copy_from_slice(&mode.to_ne_bytes());
        answer[places.1..places.1 + 8].copy_from_slice(&size.to_ne_bytes());
        self.called.answer = Some(answer);
        self
    }

    /// Compares what the two front ends make of it; returns its name.
    fn check(&self) -> &'static str {
        let (name, _, look) = entry(self.called.number).unwrap();
        let names = Names { slots: &self.slots, who: WHO, own_spaces: [1, 1] };
        let recorded = Recorded { name, called: &self.called, look, names: &names };
        let (_, text) = self.log.split_once('(').unwrap();
        let logged = Call::parse(7, 5, name.as_bytes(), text.as_bytes()).unwrap();
        assert_eq!(Call::new(7, 5, name.as_bytes(), &recorded).unwrap(), logged, "{}", self.log);
        name
    }
}

const NAMED: Named = Named {
    slot: 0,
    mode: 0,
    magic: 0,
    is_deleted: false,
    is_whole: true,
    file: hotset_feed::calls::Identity { number: 0, device: 0, generation: 0 },
    text: Vec::new(),
};

fn on_data() -> Vec<Case> {
    vec![
        case(r#"read(3, ""..., 50) = 10"#, [3, 0x7f, 50], 10),
        case(r#"read(-1, 0x7f, 50) = -1 EBADF (Bad file descriptor)"#, [0xffff_ffff, 0x7f, 50], -9),
        case(r#"read(3, 0x7f, 50) = ? ERESTARTSYS (To be restarted)"#, [3, 0x7f, 50], -512),
        case(r#"pread64(3, ""..., 50, 7) = 10"#, [3, 0x7f, 50, 7], 10),
        case(r#"readv(3, [{iov_base=""..., iov_len=5}], 1) = 5"#, [3, 0x7f, 1, 9, 0x10, 0x10], 5),
        case(r#"preadv(3, [{iov_base=""..., iov_len=5}], 1, 7) = 5"#, [3, 0x7f, 1, 7, 0x10], 5),
        case(r#"preadv2(3, [{iov_base=""..., iov_len=5}], 1, -1, RWF_NOWAIT) = 5"#, [3, 0x7f, 1, -1, -1, 8], 5),
        case(r#"write(3, ""..., 50) = 50"#, [3, 0x7f, 50], 50),
        case(r#"pwrite64(3, ""..., 50, 7) = 50"#, [3, 0x7f, 50, 7], 50),
        case(r#"writev(3, [{iov_base=""..., iov_len=5}], 1) = 5"#, [3, 0x7f, 1, 9, 0x10, 0x10], 5),
        case(r#"pwritev(3, [{iov_base=""..., iov_len=5}], 1, 7) = 5"#, [3, 0x7f, 1, 7, 0x10, 0x10], 5),
        case(r#"pwritev2(3, [{iov_base=""..., iov_len=5}], 1, 7, RWF_APPEND) = 5"#, [3, 0x7f, 1, 7, 0, 0x10], 5),
        case(r#"pwritev2(3, [{iov_base=""..., iov_len=5}], 1, 7, 0) = 5"#, [3, 0x7f, 1, 7, 0x10, 0], 5),
        case("sendfile(4, 3, [7] => [9], 100) = 2", [4, 3, 0x7f, 100], 2).value(0, 7),
        case("sendfile(4, 3, NULL, 100) = 2", [4, 3, 0, 100], 2),
        case("copy_file_range(3, [7], 4, NULL, 100, 0) = 100", [3, 0x7f, 4, 0, 100, 0], 100).value(0, 7),
        case("splice(3, NULL, 4, [9], 100, 0) = 100", [3, 0, 4, 0x7f, 100, 0], 100).value(1, 9),
        case("mmap(NULL, 99, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3, 0x1000) = 0x7f00", [0, 99, 5, 2, 3, 4096], 0x7f00),
        case("mmap(NULL, 99, PROT_READ, MAP_SHARED, 3, 0) = -1 EACCES (x)", [0, 99, 1, 1, 3, 0], -13),
        case("mmap(NULL, 99, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f00", [0, 99, 1, 0x22, -1, 0], 0x7f00),
        case("getdents64(3, 0x7f /* 2 entries */, 32768) = 48", [3, 0x7f, 32768], 48),
    ]
}

fn on_descriptors() -> Vec<Case> {
    vec![
        case("lseek(3, 0, SEEK_END) = 100", [3, 0, 2], 100),
        case("lseek(3, 9, SEEK_SET) = 9", [3, 9, 0], 9),
        case("lseek(3, 0, SEEK_CUR) = -1 ESPIPE (Illegal seek)", [3, 0, 1], -29),
        case("close(3) = 0", [3], 0),
        case("close_range(3, 4294967295, CLOSE_RANGE_UNSHARE) = 0", [3, 0xffff_ffff, 2], 0),
        case("close_range(3, 9, CLOSE_RANGE_CLOEXEC) = 0", [3, 9, 4], 0),
        case("dup(3) = 4", [3], 4),
        case("dup3(3, 4, O_CLOEXEC) = 4", [3, 4, 0o2_000_000], 4),
        case("fcntl(3, F_DUPFD, 10) = 10", [3, 0, 10], 10),
        case("fcntl(3, F_DUPFD_CLOEXEC, 10) = 10", [3, 1030, 10], 10),
        case("fcntl(3, F_GETFD) = 0x1 (flags FD_CLOEXEC)", [3, 1], 1),
        case("fcntl(3, F_SETFD, FD_CLOEXEC) = 0", [3, 2, 1], 0),
        case("fcntl(3, F_GETFL) = 0x8401 (flags O_WRONLY|O_APPEND|O_LARGEFILE)", [3, 3], 0x8401),
        case("fcntl(3, F_SETFL, O_RDONLY|O_APPEND) = 0", [3, 4, 0o2000], 0),
        case("fcntl(3, F_SETFL, O_RDONLY|O_NONBLOCK) = 0", [3, 4, 0o4000], 0),
        case("ftruncate(3, 100) = 0", [3, 100], 0),
        case("fallocate(3, 0, 100, 50) = 0", [3, 0, 100, 50], 0),
        case("fallocate(3, FALLOC_FL_KEEP_SIZE, 100, 50) = 0", [3, 1, 100, 50], 0),
        case("fsync(3) = 0", [3], 0),
        case("fdatasync(3) = 0", [3], 0),
        case("sync_file_range(3, 100, 50, SYNC_FILE_RANGE_WRITE) = 0", [3, 100, 50, 2], 0),
        case("fchdir(3) = 0", [3], 0),
        case("unshare(CLONE_FILES|CLONE_FS) = 0", [0x600], 0),
        case("unshare(CLONE_NEWNS) = -1 EPERM (Operation not permitted)", [0x20000], -1),
        case("io_uring_setup(8, {flags=0}) = 9", [8, 0x7f], 9),
        case("io_submit(0x7f, 1, [{aio_fildes=3}]) = 1", [0x7f, 1, 0x7f], 1),
    ]
}

fn on_inodes() -> Vec<Case> {
    vec![
        case("fstat(3, {st_mode=S_IFREG|0644, st_size=100, ...}) = 0", [3, 0x7f], 0).answer(0o100_644, 100),
        case("fstat(3, {st_mode=S_IFIFO|0600, st_size=0, ...}) = 0", [3, 0x7f], 0).answer(0o010_600, 0),
        case("fstat(3, 0x7f) = -1 EBADF (Bad file descriptor)", [3, 0x7f], -9).answer(0o100_644, 100),
        case(r#"newfstatat(3</w>, "a", {st_mode=S_IFDIR|0755, st_size=40, ...}, 0) = 0"#, [3, 0x7f, 0x7f, 0], 0)
            .name(BASE, "/w")
            .text("a")
            .answer(0o040_755, 40),
        case(r#"newfstatat(3, "", {st_mode=S_IFBLK|0660, st_size=0}, AT_EMPTY_PATH) = 0"#, [3, 0x7f, 0x7f, 0x1000], 0)
            .text("")
            .answer(0o060_660, 0),
        case(r#"statx(AT_FDCWD, "/l", 0, STATX_ALL, {stx_mode=S_IFLNK|0777, stx_size=9}) = 0"#, [FD, 1, 0, 1, 1], 0)
            .text("/l")
            .answer(0o120_777, 9),
        case(r#"statx(3, NULL, 0, 0, {stx_mode=S_IFREG|0600, stx_size=9}) = 0"#, [3, 0, 0, 0, 1], 0)
            .answer(0o100_600, 9),
        case(r#"faccessat(AT_FDCWD</w>, "a", R_OK) = -1 ENOENT (x)"#, [FD, 1, 4], -2).name(BASE, "/w").text("a"),
        case(r#"faccessat2(AT_FDCWD, "a", R_OK, 0) = 0"#, [FD, 1, 4, 0], 0).text("a"),
        case(r#"readlinkat(AT_FDCWD, "a", ""..., 9) = 5"#, [FD, 1, 1, 9], 5).text("a"),
        case(r#"getxattr("/a", "user.x", NULL, 0) = 4"#, [1, 1, 0, 0], 4).text("/a"),
        case(r#"lgetxattr("/a", "user.x", NULL, 0) = 4"#, [1, 1, 0, 0], 4).text("/a"),
        case(r#"listxattr("/a", NULL, 0) = 4"#, [1, 0, 0], 4).text("/a"),
        case(r#"llistxattr("/a", NULL, 0) = 4"#, [1, 0, 0], 4).text("/a"),
        case(r#"fgetxattr(3, "user.x", NULL, 0) = -1 ENODATA (No data available)"#, [3, 1, 0, 0], -61),
        case("flistxattr(3, NULL, 0) = 0", [3, 0, 0], 0),
    ]
}

fn on_names() -> Vec<Case> {
    let bases = |case: Case| case.name(BASE, "/w").name(BASE + 1, "/v").name(TEXT, "a").name(TEXT + 1, "b");
    let directory = if cfg!(target_arch = "x86_64") { 0o200_000 } else { 0o40_000 };
    vec![
        case(r#"openat(AT_FDCWD</w>, "a", O_RDWR|O_CREAT|O_EXCL, 0644) = 3</w/a>"#, [FD, 1, 0o302, 0o644], 3)
            .name(BASE, "/w")
            .text("a")
            .name(OPENED, "/w/a"),
        case(r#"openat(AT_FDCWD, "a\"\n\\", O_WRONLY|O_TRUNC|O_CLOEXEC) = -1 ENOENT (x)"#, [FD, 1, 0o2_001_001], -2)
            .text("a\"\n\\"),
        case(r#"openat(AT_FDCWD, 0x1, O_RDONLY) = -1 EFAULT (Bad address)"#, [FD, 1, 0], -14),
        case(r#"openat(AT_FDCWD, "/w", O_RDWR|O_TMPFILE, 0600) = 3</w/\43\61>"#, [FD, 1, 0o20_000_002 | directory], 3)
            .text("/w")
            .name(OPENED, "/w/#1"),
        case(r#"openat2(3</w>, "a", {flags=O_RDONLY|O_APPEND|O_DIRECTORY, mode=0}, 24) = 4"#, [3, 1, 1, 24], 4)
            .name(BASE, "/w")
            .text("a")
            .value(0, 0o2000 | directory as u64),
        case(r#"unlinkat(3</w>, "a", AT_REMOVEDIR) = 0"#, [3, 1, 0x200], 0).name(BASE, "/w").text("a"),
        bases(case(r#"renameat2(3</w>, "a", 4</v>, "b", RENAME_EXCHANGE) = 0"#, [3, 1, 4, 1, 2], 0)),
        bases(case(r#"renameat2(3</w>, "a", 4</v>, "b", RENAME_NOREPLACE) = 0"#, [3, 1, 4, 1, 1], 0)),
        bases(case(r#"renameat(3</w>, "a", 4</v>, "b") = 0"#, [3, 1, 4, 1, 2], 0)),
        bases(case(r#"linkat(3</w>, "a", 4</v>, "b", AT_SYMLINK_FOLLOW) = 0"#, [3, 1, 4, 1, 0x400], 0)),
        case(r#"symlinkat("/t", 3</w>, "l") = 0"#, [1, 3, 1], 0).text("/t").name(TEXT + 1, "l").name(BASE + 1, "/w"),
        case(r#"mkdirat(AT_FDCWD, "d", 0755) = 0"#, [FD, 1, 0o755], 0).text("d"),
        case(r#"truncate("/a", 100) = 0"#, [1, 100], 0).text("/a"),
        case(r#"chdir("/w") = 0"#, [1], 0).text("/w"),
        case(r#"execve("/bin/x", ["x"], 0x7f /* 2 vars */) = 0"#, [1, 1, 1], 0).text("/bin/x"),
        case(r#"execveat(3</bin>, "x", ["x"], 0x7f /* 2 vars */, 0) = 0"#, [3, 1, 1, 1, 0], 0)
            .name(BASE, "/bin")
            .text("x"),
    ]
}

#[cfg(target_arch = "x86_64")]
fn of_old() -> Vec<Case> {
    let stat = |log| case(log, [1, 1], 0).text("/a").answer(0o100_644, 9);
    let two = |log| case(log, [1, 1, 0, 0, 2], 0).name(TEXT, "a").name(TEXT + 1, "b");
    vec![
        case("dup2(3, 4) = 4", [3, 4], 4),
        case("getdents(3, 0x7f /* 2 entries */, 32768) = 48", [3, 0x7f, 32768], 48),
        case(r#"open("/a", O_RDONLY|O_DIRECTORY) = 3</a>"#, [1, 0o200_000], 3).text("/a").name(OPENED, "/a"),
        case(r#"creat("/a", 0644) = 3</a>"#, [1, 0o644], 3).text("/a").name(OPENED, "/a"),
        stat(r#"stat("/a", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0"#),
        stat(r#"lstat("/a", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0"#),
        case(r#"access("/a", R_OK) = -1 EACCES (Permission denied)"#, [1, 4], -13).text("/a"),
        case(r#"readlink("/a", ""..., 9) = 5"#, [1, 1, 9], 5).text("/a"),
        case(r#"unlink("/a") = 0"#, [1], 0).text("/a"),
        case(r#"rmdir("/a") = 0"#, [1], 0).text("/a"),
        two(r#"rename("a", "b") = 0"#),
        two(r#"link("a", "b") = 0"#),
        two(r#"symlink("a", "b") = 0"#),
        case(r#"mkdir("/d", 0755) = 0"#, [1, 0o755], 0).text("/d"),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn of_old() -> Vec<Case> {
    Vec::new()
}

#[test]
fn a_record_and_a_line_of_a_log_give_the_same_call() {
    let cases = [on_data(), on_descriptors(), on_inodes(), on_names(), of_old()];
    let checked: BTreeSet<&str> = cases.iter().flatten().map(Case::check).collect();
    let all: BTreeSet<&str> = (0..1024).filter_map(|number| entry(number).map(|(name, ..)| *name)).collect();
    assert_eq!(all.difference(&checked).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn a_name_that_looks_like_a_removed_one_is_kept() {
    let case = case("openat", [FD, 1, 0], 3).text("a").name(OPENED, "/w/a (deleted)");
    let (name, _, look) = entry(case.called.number).unwrap();
    let names = Names { slots: &case.slots, who: WHO, own_spaces: [1, 1] };
    let opened = Recorded { name, called: &case.called, look, names: &names }.opened();
    assert_eq!(opened, Some(Shown { path: b"/w/a (deleted)".into(), deleted: false }));
}
