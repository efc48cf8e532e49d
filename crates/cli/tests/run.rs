//! `hotset run` with a checker: this file's own binary runs under it, and verifies every byte of its memory. Needs
//! Linux 6.7 with userfaultfd, and a build on ext4 or XFS. With `HOTSET_PAGER_MINUTES=60` the checker runs for an hour
//! under each policy.

mod support;

use std::env;
use std::ffi::c_void;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

use hotset_core::random::Rng;
use hotset_pager::Region;
use hotset_testkit::inputs::skip;

use support::{Folder, Run, command, finish, hotset};

const CHECK: &str = "HOTSET_PAGER_CHECK";
const MIB: usize = 1 << 20;

/// A folder on the file system of the build: that of temporary files is often in memory.
fn swap() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned()
}

fn can_page() -> bool {
    let tried = Region::create(&swap(), 1).and_then(|mut region| region.try_out());
    tried.inspect_err(|error| skip(&error.to_string())).is_ok()
}

/// Runs a check of this file under `hotset run`.
fn checked(check: &str, options: &[&str]) -> Run {
    let own = env::current_exe().unwrap();
    let swap = swap();
    let mut line = vec!["run", "--swap", swap.to_str().unwrap()];
    line.extend(options);
    line.extend(["--", own.to_str().unwrap(), "--exact", check, "--nocapture"]);
    let mut command = command(&line);
    command.env(CHECK, check);
    finish(command)
}

/// The summary is on standard error, so that it is never empty.
fn ended_well(run: Run) -> Run {
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    run
}

/// True in a process that [`checked`] started.
fn is_checker() -> bool {
    env::var_os(CHECK).is_some()
}

/// The number before a word of the summary: evictions, faults.
fn count(run: &Run, word: &str) -> u64 {
    let at = run.err.find(&format!(" {word}")).unwrap_or_else(|| panic!("no {word} in {}", run.err));
    let number = run.err[..at].rsplit([' ', '\n']).next().unwrap().replace(',', "");
    number.trim_start_matches('(').parse().unwrap_or_else(|_| panic!("{number}: {}", run.err))
}

/// Allocations of the C library whose content is known.
struct Blocks {
    random: Rng,
    live: Vec<Block>,
}

struct Block {
    at: *mut c_void,
    bytes: usize,
    seed: u64,
}

impl Block {
    fn words(&mut self) -> &mut [u64] {
        // SAFETY: the block is live, aligned to 16 bytes, and used by one thread.
        unsafe { slice::from_raw_parts_mut(self.at.cast(), self.bytes / 8) }
    }

    fn fill(&mut self, seed: u64) {
        self.seed = seed;
        let mut random = Rng::new(seed);
        self.words().iter_mut().for_each(|word| *word = random.bits());
    }

    /// Verifies the first words.
    fn verify(&mut self, words: usize) {
        let mut random = Rng::new(self.seed);
        let (at, bytes) = (self.at, self.bytes);
        for (place, word) in self.words()[..words].iter().enumerate() {
            assert_eq!(*word, random.bits(), "word {place} of {bytes} bytes at {at:p}");
        }
    }
}

impl Blocks {
    fn new(seed: u64) -> Blocks {
        Blocks { random: Rng::new(seed), live: Vec::new() }
    }

    fn size(&mut self) -> usize {
        let most = if self.random.below(8) == 0 { 8 * MIB as u32 } else { 200_000 };
        self.random.below(most) as usize & !7
    }

    fn seed(&mut self) -> u64 {
        self.random.bits()
    }

    fn allocate(&mut self) {
        let (bytes, kind) = (self.size(), self.random.below(4));
        let mut at = std::ptr::null_mut();
        // SAFETY: the arguments are valid for each function.
        unsafe {
            match kind {
                0 => at = libc::malloc(bytes),
                1 => at = libc::calloc(bytes.div_ceil(8), 8),
                2 => assert_eq!(libc::posix_memalign(&raw mut at, 1 << (4 + self.random.below(10)), bytes), 0),
                _ => at = libc::memalign(4096, bytes),
            }
            assert!(!at.is_null() && libc::malloc_usable_size(at) >= bytes);
        }
        let mut block = Block { at, bytes, seed: 0 };
        assert!(kind != 1 || block.words().iter().all(|&word| word == 0), "calloc of {bytes} bytes");
        let seed = self.seed();
        block.fill(seed);
        self.live.push(block);
    }

    fn take(&mut self) -> Block {
        let which = self.random.below(self.live.len() as u32);
        self.live.swap_remove(which as usize)
    }

    /// One random step: allocate, verify, rewrite, resize, advise or free.
    fn step(&mut self) {
        let action = self.random.below(10);
        if action < 2 || self.live.len() < 8 {
            return if self.live.len() < 40 { self.allocate() } else { self.free() };
        }
        let mut block = self.take();
        block.verify(block.bytes / 8);
        match action {
            2..5 => {}
            5 | 6 => {
                let seed = self.seed();
                block.fill(seed);
            }
            7 => {
                let bytes = self.size().max(8);
                // SAFETY: the block is live.
                block.at = unsafe { libc::realloc(block.at, bytes) };
                let kept = block.bytes.min(bytes);
                block.bytes = bytes;
                block.verify(kept / 8);
                let seed = self.seed();
                block.fill(seed);
            }
            8 if block.bytes > 4 * MIB => self.advise(&mut block),
            _ => {
                // SAFETY: the block is live, and is not used again.
                unsafe { libc::free(block.at) };
                return;
            }
        }
        self.live.push(block);
    }

    /// Discards whole pages, which must read as zeros then.
    fn advise(&mut self, block: &mut Block) {
        let from = (block.at as usize).next_multiple_of(4096);
        let bytes = MIB;
        // SAFETY: the pages lie in the block.
        assert_eq!(unsafe { libc::madvise(from as *mut c_void, bytes, libc::MADV_DONTNEED) }, 0);
        let first = (from - block.at as usize) / 8;
        assert!(block.words()[first..first + bytes / 8].iter().all(|&word| word == 0));
        let seed = self.seed();
        block.fill(seed);
    }

    fn free(&mut self) {
        let mut block = self.take();
        block.verify(block.bytes / 8);
        // SAFETY: the block is live, and is not used again.
        unsafe { libc::free(block.at) };
    }
}

#[test]
fn check_memory() {
    if !is_checker() {
        return;
    }
    let minutes = env::var("HOTSET_PAGER_MINUTES").map_or(0, |minutes| minutes.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(if minutes > 0 { 60 * minutes } else { 4 });
    let threads = (0..3).map(|seed| {
        thread::spawn(move || {
            let (mut blocks, mut steps) = (Blocks::new(seed), 0u64);
            while Instant::now() < until {
                blocks.step();
                steps += 1;
            }
            while !blocks.live.is_empty() {
                blocks.free();
            }
            steps
        })
    });
    let steps: u64 = threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{steps} steps, every byte is right");
}

#[test]
fn no_byte_is_wrong_under_any_policy() {
    if !can_page() {
        return;
    }
    let no_read_ahead = ["--policy", "apr", "--no-read-ahead"];
    for options in [&["--policy", "eta"][..], &["--policy", "clock"], &no_read_ahead, &["--policy", "seq"]] {
        let run = ended_well(checked("check_memory", &[&["--memory", "16M"], options].concat()));
        assert!(run.out.contains("every byte is right"), "{options:?}: {}", run.out);
        assert!(count(&run, "evictions") > 1000, "{options:?}: {}", run.err);
    }
}

/// 32 MiB with a known word in each page.
fn filled(seed: u64) -> Vec<u64> {
    let mut words = vec![0; 4 * MIB];
    words.iter_mut().step_by(512).enumerate().for_each(|(page, word)| *word = page as u64 ^ seed);
    words
}

fn is_filled(words: &[u64], seed: u64) -> bool {
    words.iter().step_by(512).enumerate().all(|(page, &word)| word == page as u64 ^ seed)
}

/// Called by the loader: the harness of tests has a second thread, and the check of forks must be alone.
#[used]
#[unsafe(link_section = ".init_array")]
static ALONE: extern "C" fn() = {
    extern "C" fn alone() {
        if env::var_os(CHECK).is_some_and(|check| check == "check_fork") {
            check_fork();
            std::process::exit(0);
        }
    }
    alone
};

fn check_fork() {
    let mut words = filled(7);
    for round in 0..3 {
        // SAFETY: this process has one thread besides the pager's.
        match unsafe { libc::fork() } {
            0 => {
                let mut is_right = is_filled(&words, 7 + round);
                words.iter_mut().step_by(512).for_each(|word| *word = 1);
                words.extend_from_slice(&[5; 100_000]);
                is_right &= words.len() == 4 * MIB + 100_000 && words[0] == 1 && filled(3) == filled(3);
                // SAFETY: ends the child without the harness.
                unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
            }
            child => {
                assert!(child > 0, "{}", std::io::Error::last_os_error());
                let mut status = 0;
                // SAFETY: the status lives during the call.
                unsafe { libc::waitpid(child, &raw mut status, 0) };
                assert_eq!(status, 0);
            }
        }
        assert!(is_filled(&words, 7 + round));
        words = filled(8 + round);
    }
    // Two threads: the child could not have an exact copy.
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let other = thread::spawn(move || ended.recv());
    // SAFETY: a child would end at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe { libc::_exit(3) };
    }
    assert_eq!(child, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN));
    // Its memory is not copied, whatever threads there are.
    assert!(Command::new("true").status().unwrap().success());
    drop(end);
    other.join().unwrap().unwrap_err();
    assert!(is_filled(&words, 10));
    println!("forked");
}

#[test]
fn a_forked_child_has_a_copy_of_its_own() {
    if can_page() {
        let run = ended_well(checked("check_fork", &["--memory", "8M"]));
        assert!(run.out.contains("forked"), "{}", run.out);
        assert!(count(&run, "evictions") > 10_000, "{}", run.err);
    }
}

#[test]
fn check_mappings() {
    if !is_checker() {
        return;
    }
    let mut words = filled(1);
    let at: *mut c_void = words.as_mut_ptr().cast();
    // SAFETY: calls on the vector's pages that are refused, or change no content.
    unsafe {
        let failed = |result: i32, error: i32| {
            assert_eq!((result, std::io::Error::last_os_error().raw_os_error()), (-1, Some(error)));
        };
        failed(libc::munmap(at, 4096), libc::EINVAL);
        failed(libc::mlock(at, 4096), libc::ENOMEM);
        failed(libc::mlockall(libc::MCL_CURRENT), libc::ENOMEM);
        failed(libc::madvise(at, 4096, libc::MADV_DOFORK), libc::EINVAL);
        assert_eq!(libc::mremap(at, 4096, 8192, libc::MREMAP_MAYMOVE), libc::MAP_FAILED);
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        assert_eq!(libc::mmap(at, 4096, libc::PROT_READ, flags, -1, 0), libc::MAP_FAILED);
        assert_eq!(libc::mprotect(at, 8192, libc::PROT_READ), 0);
        // The fork of a program that protects paged memory is refused.
        assert_eq!(libc::fork(), -1);
        assert!(is_filled(&words, 1));
    }
    drop(words);
    // The pages of the protected allocation can be written to when they are used again.
    assert!(is_filled(&filled(2), 2));
    // System calls reach pages that have left.
    let file = tempfile::tempfile_in(swap()).unwrap();
    let mut bytes = vec![1u8; 32 * MIB];
    for _ in 0..2 {
        bytes.chunks(MIB).enumerate().for_each(|(at, part)| file.write_all_at(part, (at * MIB) as u64).unwrap());
        bytes.fill(0);
        bytes.chunks_mut(MIB).enumerate().for_each(|(at, part)| file.read_exact_at(part, (at * MIB) as u64).unwrap());
        assert!(bytes.iter().all(|&byte| byte == 1));
    }
    drop(file);
    // Closing every descriptor does not reach the pager's.
    // SAFETY: no code below uses a descriptor above 2.
    unsafe { libc::close_range(3, u32::MAX, 0) };
    let other = File::open("/dev/null").unwrap();
    assert!(is_filled(&filled(3), 3) && bytes.iter().all(|&byte| byte == 1));
    drop(other);
    println!("mapped");
}

#[test]
fn calls_that_change_mappings_are_refused_or_exact() {
    if can_page() {
        let run = ended_well(checked("check_mappings", &["--memory", "8M"]));
        assert!(run.out.contains("mapped"), "{}", run.out);
        assert!(count(&run, "evictions") > 10_000, "{}", run.err);
    }
}

#[test]
fn statuses_and_small_programs_pass() {
    if !can_page() {
        return;
    }
    let swap = swap();
    let run =
        |rest: &[&str]| hotset(&[&["run", "--memory", "16M", "--swap", swap.to_str().unwrap(), "--"], rest].concat());
    let ran = run(&["sh", "-c", "echo out; exit 7"]);
    assert_eq!((ran.status, &*ran.out), (7, "out\n"));
    assert!(ran.err.contains("nothing was paged"), "{}", ran.err);
    assert_eq!(run(&["sh", "-c", "kill -TERM $$"]).status, 128 + 15);
    // A script's interpreter is a process of its own only if it is started as one.
    let ran = ended_well(run(&["sh", "-c", "exec env sh -c 'echo $HOTSET_PAGER'"]));
    assert!(ran.out.contains("hotset-run-"), "{}", ran.out);
}

#[test]
fn what_cannot_be_paged_is_refused_before_it_runs() {
    if !can_page() {
        return;
    }
    let folder = Folder::new();
    let swap = swap();
    let swap = swap.to_str().unwrap();
    let refused = |arguments: &[&str], status: i32, why: &str| {
        let run = hotset(&[&["run"], arguments].concat());
        assert_eq!(run.status, status, "{}", run.err);
        assert!(run.err.contains(why) && run.out.is_empty(), "{}", run.err);
    };
    let here = ["--memory", "16M", "--swap", swap, "--"];
    refused(&[&here[..], &["no-such-program"]].concat(), 127, "cannot run no-such-program");
    let own = fs::read(env::current_exe().unwrap()).unwrap();
    let other = folder.file("other", own);
    fs::set_permissions(&other, fs::Permissions::from_mode(0o4755)).unwrap();
    refused(&[&here[..], &[&other]].concat(), 1, "rights of another user");
    refused(&["--memory", "16M", "--policy", "lru", "--", "true"], 2, "--policy: lru sees every reference");
    refused(&["--memory", "16M", "--policy", "opt", "--", "true"], 2, "needs the future");
    refused(&["--memory", "1M", "--", "true"], 2, "--memory: at least 4M");
    refused(&["--memory", "16M", "--swap", "/no/such", "--", "true"], 2, "--swap: /no/such: it does not exist");
    refused(&["--memory", "16M", "--swap", "/proc", "--", "true"], 1, "by --swap");
}
