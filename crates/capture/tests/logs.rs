//! Hand-written logs: what each line says becomes the references that it should, and no line, however damaged, brings
//! the reader down.

use std::{io::Cursor, path::Path};

use hotset_capture::strace::{FORMAT, StraceOptions, StraceReader};
use hotset_trace::{Batch, TraceError, TraceReader, error::Place, formats, input::Input};

/// All requests as `time app OP path offset length flags`, and the reader at the end.
fn read(log: &[u8], options: StraceOptions) -> Result<(Vec<String>, StraceReader), TraceError> {
    let input = Input::from_reader(Path::new("log"), Cursor::new(log.to_vec()), None)?;
    let mut reader = StraceReader::new(input, options)?;
    let mut batch = Batch::new();
    let mut found = Vec::new();
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok((found, reader));
        }
        for request in &batch.requests {
            let (path, app) =
                (&reader.tables().files[request.file as usize].path, &reader.tables().apps[request.app as usize]);
            let (time, op) = (request.time / 1_000_000, request.op().letter());
            found.push(format!("{time} {app} {op} {path} {} {} {}", request.offset, request.length, request.flags));
        }
    }
}

fn check(log: &str, expected: &[&str]) -> StraceReader {
    let (found, reader) = read(log.as_bytes(), StraceOptions::default()).unwrap();
    assert_eq!(found, expected);
    reader
}

#[test]
fn a_log_of_one_process_without_any_column() {
    check(
        "execve(\"./prog\", [...], 0x7ffe /* 3 vars */) = 0\n\
         open(\"/data/x\", O_RDONLY) = 3\n\
         fstat(3, {st_mode=S_IFREG|0644, st_size=100, ...}) = 0\n\
         mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f00\n\
         _llseek(3, 0, [40], SEEK_SET) = 0\n\
         readv(3, [{iov_base=\"a, b) = 9\"..., iov_len=10}, {iov_base=\"\", iov_len=5}], 2) = 15 <0.000012>\n\
         --- SIGCHLD {si_signo=SIGCHLD} ---\n\
         +++ exited with 0 +++\n",
        &[
            "0 prog X prog 0 0 0",
            "0 prog O /data/x 0 0 0",
            "0 prog S /data/x 0 0 0",
            "0 prog M /data/x 0 100 0",
            "0 prog R /data/x 40 15 0",
        ],
    );
}

#[test]
fn times_are_told_since_the_first_line() {
    check(
        "7 23:59:59.500000 stat(\"/a\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n\
         7 00:00:00.250000 stat(\"/a\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n",
        &["0 unknown S /a 0 0 0", "750 unknown S /a 0 0 0"],
    );
}

#[test]
fn a_child_is_given_to_the_parent_that_made_it() {
    // Both 10 and 11 are making a process when 13 is heard; 13 is the child of 10, as only a later line tells.
    let log = "10 1.0 openat(AT_FDCWD</w>, \"a\", O_RDONLY) = 3</w/a>\n\
        10 1.1 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 11\n\
        11 1.2 openat(AT_FDCWD</w>, \"b\", O_RDONLY) = 4</w/b>\n\
        10 1.3 vfork( <unfinished ...>\n\
        11 1.4 vfork( <unfinished ...>\n\
        13 1.5 read(3</w/a>, \"\"..., 10) = 10\n\
        14 1.6 read(4</w/b>, \"\"..., 10) = 10\n\
        11 1.7 <... vfork resumed>) = 14\n\
        10 1.8 <... vfork resumed>) = 13\n\
        10 1.9 read(3</w/a>, \"\"..., 10) = 10\n";
    let reader = check(
        log,
        &[
            "0 unknown O /w/a 0 0 0",
            "200 unknown O /w/b 0 0 0",
            "500 unknown R /w/a 0 10 0",
            "600 unknown R /w/b 0 10 0",
            "900 unknown R /w/a 10 10 0",
        ],
    );
    assert_eq!(reader.remarks(), [""; 0]);
}

#[test]
fn a_thread_that_executes_takes_over_its_process() {
    check(
        "5 1.0 openat(AT_FDCWD</w>, \"a\", O_RDONLY) = 3</w/a>\n\
         5 1.0 openat(AT_FDCWD</w>, \"b\", O_RDONLY|O_CLOEXEC) = 4</w/b>\n\
         5 1.1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0} => {parent_tid=[6]}, 88) = 6\n\
         6 1.2 execve(\"/bin/next\", [...], 0x7f00 /* 1 var */ <unfinished ...>\n\
         5 1.3 +++ superseded by execve in pid 6 +++\n\
         5 1.4 <... execve resumed>) = 0\n\
         5 1.5 read(3</w/a>, \"\"..., 9) = 9\n\
         5 1.6 read(4, 0x7f00, 9) = -1 EBADF (Bad file descriptor)\n",
        &["0 unknown O /w/a 0 0 0", "0 unknown O /w/b 0 0 0", "400 next X /bin/next 0 0 0", "500 next R /w/a 0 9 0"],
    );
}

#[test]
fn a_descriptor_closed_by_one_thread_is_free_for_another_at_once() {
    check(
        "5 1.0 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n\
         5 1.1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 6\n\
         5 1.2 close(3 <unfinished ...>\n\
         6 1.3 openat(AT_FDCWD, \"/b\", O_RDONLY) = 3\n\
         5 1.4 <... close resumed>) = 0\n\
         5 1.5 read(3, \"\"..., 9) = 9\n",
        &["0 unknown O /a 0 0 0", "300 unknown O /b 0 0 0", "500 unknown R /b 0 9 0"],
    );
}

#[test]
fn what_is_no_file_is_counted_by_class() {
    let reader = check(
        "5 1.0 execve(\"/bin/p\", [...], 0x7f /* 1 var */) = 0\n\
         5 1.0 write(1<pipe:[9]>, \"\"..., 20) = 20\n\
         5 1.0 read(4<socket:[9]>, \"\"..., 20) = 7\n\
         5 1.0 read(0</dev/pts/0>, \"\"..., 20) = 1\n\
         5 1.0 read(6, \"\"..., 20) = 3\n\
         5 1.0 openat(AT_FDCWD</>, \"/proc/stat\", O_RDONLY) = 3</proc/stat>\n\
         5 1.0 read(3</proc/stat>, \"\"..., 1000) = 500\n\
         5 1.0 openat(AT_FDCWD</>, 0x1, O_RDONLY) = -1 EFAULT (Bad address)\n\
         5 1.0 io_uring_setup(8, {flags=0}) = 9<anon_inode:[io_uring]>\n\
         5 1.0 write(2</var/log/x>, \"\"..., 20) = 20\n\
         5 1.0 mkdir(\"/d\", 0755) = 0\n",
        &["0 p X /bin/p 0 0 0", "0 p W /var/log/x 0 20 0"],
    );
    let expected = [
        "1 calls on pipes moved 20 bytes and are not in the trace",
        "1 calls on sockets moved 7 bytes and are not in the trace",
        "1 calls on terminals, /dev/null and other devices moved 1 bytes and are not in the trace",
        "2 calls on /proc and /sys moved 500 bytes and are not in the trace",
        "1 calls on descriptors of unknown origin moved 3 bytes and are not in the trace",
        "1 calls name a path at an address that could not be read and are not in the trace",
        "1 descriptors were open before the log began and are taken to stand at byte 0",
        "the program also reads or writes through io_uring_setup: those references cannot be seen",
        "2 calls reference no file blocks or inodes by themselves: 1 io_uring_setup, 1 mkdir",
    ];
    assert_eq!(reader.remarks(), expected);
}

#[test]
fn a_malformed_line_is_named_or_skipped() {
    let log = b"5 1.0 stat(\"/a\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n\n5 1.0 read(3</a>, \"\n5 1.0 access(\"/a\", F_OK) = 0\n";
    let error = read(log, StraceOptions::default()).err().unwrap();
    assert_eq!(error.place, Place::Line(3));
    assert_eq!(error.to_string(), "log, line 3: found `\\\"`; expected a string closed by `\"`");
    let (found, reader) = read(log, StraceOptions { skip_bad: true, ..StraceOptions::default() }).unwrap();
    assert_eq!((found.len(), reader.skipped(), reader.lines()), (2, 1, 4));

    let wrong = b"5 1.0 openat(AT_FDCWD, \"/a\", O_RDONLY <unfinished ...>\n5 1.1 <... read resumed>) = 3\n";
    let error = read(wrong, StraceOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "log, line 2: found `read`; expected the rest of openat of the same process");
}

#[test]
fn logs_are_recognised_and_other_texts_are_not() {
    let detected = |text: &'static str| {
        let input = Input::from_reader(Path::new("t"), text.as_bytes(), None).unwrap();
        formats::open_input(input, None, &[FORMAT], &formats::OpenOptions::default()).is_ok()
    };
    assert!(detected("2174  1795225737.545528 execve(\"tools/x.sh\", [...], 0x7ffd /* 35 vars */) = 0\n"));
    assert!(detected("strace: Process 9 attached\n[pid 9] close(3) = 0\n"));
    for other in [
        "4711\n4712\n",
        "1,2,3\n",
        "strace: Process 9 attached\n",
        "read 5 7\n",
        "128166372003061629,hm,0,Read,0,512,1\n",
    ] {
        assert!(!detected(other), "{other}");
    }
}

/// A log that has every call and every form of line.
const SAMPLE: &str = include_str!("data/every-call.strace");

#[test]
fn the_sample_holds_no_malformed_line() {
    let (found, reader) = read(SAMPLE.as_bytes(), StraceOptions::default()).unwrap();
    assert_eq!(found.len(), 54, "{}", found.join("\n"));
    assert_eq!(reader.lines(), SAMPLE.lines().count() as u64);
}

/// Reads a damaged log both ways: it may be refused with a line's number, and never with more lines skipped than there
/// are.
fn survives(log: &[u8]) {
    if let Err(error) = read(log, StraceOptions::default()) {
        assert!(matches!(error.place, Place::Line(_)), "{error}");
    }
    let (_, reader) = read(log, StraceOptions { skip_bad: true, ..StraceOptions::default() }).unwrap();
    assert!(reader.skipped() <= reader.lines());
}

#[test]
fn a_log_cut_anywhere_is_read_or_refused() {
    for length in 0..SAMPLE.len() {
        survives(&SAMPLE.as_bytes()[..length]);
    }
}

#[test]
fn damaged_logs_are_read_or_refused() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = move |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % limit as u64) as usize
    };
    let lines: Vec<&[u8]> = SAMPLE.as_bytes().split_inclusive(|&byte| byte == b'\n').collect();
    const PIECES: [&[u8]; 12] = [
        b"<",
        b">",
        b"\"",
        b"\\",
        b")",
        b"(",
        b" = ",
        b"18446744073709551615",
        b"-1",
        b" <unfinished ...>\n",
        b"/*",
        b"\xff",
    ];
    for _ in 0..4000 {
        let mut log: Vec<u8> = (0..1 + below(30)).flat_map(|_| lines[below(lines.len())]).copied().collect();
        for _ in 0..below(8) {
            let at = below(log.len().max(1));
            match below(4) {
                _ if log.is_empty() => {}
                0 => log[at] = below(256) as u8,
                1 => _ = log.remove(at),
                2 => _ = log.splice(at..at, PIECES[below(PIECES.len())].iter().copied()),
                _ => log.truncate(at + 1),
            }
        }
        survives(&log);
    }
}
