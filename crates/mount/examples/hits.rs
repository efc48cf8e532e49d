//! Cost of a read that hits: reads of a file in memory through a strict mount, compared with a bare pass-through file
//! system on the same library, which only reads the file itself. Needs /dev/fuse and root.
//!
//! `hits [ROUNDS [READS [SPEC]]]` prints, for each length, the minimum and the median over the rounds of the
//! microseconds that a read takes, by the clock and in processor time of the server, and the median of the differences
//! to the pass-through of the same round. On a busy machine the minimum of many short rounds is the most reliable.

#[path = "../tests/support/attributes.rs"]
mod attributes;

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags,
    ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request, Session,
};
use hotset_cache::{FileCache, Settings};
use hotset_core::policy::PolicySpec;
use hotset_core::random::Rng;
use hotset_mount::{Options, Plain, mount};
use rustix::mount::{UnmountFlags, unmount};

use attributes::attributes;

/// Bytes of the file.
const SIZE: u64 = 16 << 20;

/// Threads of the sessions that are compared with: as many as a mount of ours has, and one.
const THREADS: [usize; 2] = [6, 1];

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

thread_local! {
    /// The destination of reads, allocated once.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

/// One file, passed through.
struct PassThrough(File);

/// The directory is inode 1, the file whatever else.
fn about(inode: u64) -> FileAttr {
    attributes(inode, if inode == 1 { FileType::Directory } else { FileType::RegularFile }, SIZE)
}

impl Filesystem for PassThrough {
    fn lookup(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEntry) {
        reply.entry(&Duration::from_secs(60), &about(2), Generation(0));
    }

    fn getattr(&self, _request: &Request, number: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&Duration::from_secs(60), &about(number.0));
    }

    fn open(&self, _request: &Request, _number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(1), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _request: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        BUFFER.with_borrow_mut(|buffer| match self.0.read_at(&mut buffer[..size as usize], offset) {
            Ok(length) => reply.data(&buffer[..length]),
            Err(_) => reply.error(Errno::EIO),
        });
    }
}

/// Serves the file of `source` at a directory.
fn pass_through(source: &Path, at: &Path, threads: usize) -> Result<()> {
    let mut config = Config::default();
    config.n_threads = Some(threads);
    config.clone_fd = true;
    let session = Session::new(PassThrough(File::open(source.join("data"))?), at, &config)?;
    thread::spawn(move || session.run());
    Ok(())
}

/// The other role of this program: reads a file at random places and prints the microseconds of each read.
fn read(path: &str, length: &str, reads: &str) -> Result<()> {
    let (file, length, reads): (File, usize, u32) = (File::open(path)?, length.parse()?, reads.parse()?);
    let (mut buffer, mut random) = (vec![0; length], Rng::new(1));
    let mut place = || u64::from(random.below((SIZE / length as u64) as u32)) * length as u64;
    let started = Instant::now();
    for _ in 0..reads {
        file.read_exact_at(&mut buffer, place())?;
    }
    println!("{}", started.elapsed().as_secs_f64() * 1e6 / f64::from(reads));
    Ok(())
}

/// Microseconds of processor time that the threads of this process have taken (proc(5), schedstat).
fn processor_time() -> io::Result<f64> {
    let of_thread = |task: io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    Ok(fs::read_dir("/proc/self/task")?.filter_map(of_thread).sum::<f64>() / 1e3)
}

/// Microseconds by the clock and of the server's processor time that a read takes.
fn measure(at: &Path, length: u64, reads: u64) -> Result<[f64; 2]> {
    let before = processor_time()?;
    let path = at.join("data");
    let done = Command::new(std::env::current_exe()?)
        .args(["read", path.to_str().ok_or("the path is not UTF-8")?, &length.to_string(), &reads.to_string()])
        .output()?;
    let clock: f64 = String::from_utf8(done.stdout)?.trim().parse()?;
    Ok([clock, (processor_time()? - before) / reads as f64])
}

/// The least and the median.
fn summary(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    (values[0], values[values.len() / 2])
}

/// Prints what each place has taken, round by round, the first of which is ours.
fn report(length: u64, places: &[(String, PathBuf)], rounds: &[Vec<[f64; 2]>]) {
    for (place, (name, _)) in places.iter().enumerate() {
        let told = ["clock", "server"].iter().enumerate().map(|(of, what)| {
            let (least, median) = summary(rounds.iter().map(|round| round[place][of]));
            let over = summary(rounds.iter().map(|round| round[0][of] - round[place][of])).1;
            format!("{what} {least:.2}, {median:.2}, ours {over:+.2}")
        });
        println!("{:>3} KiB  {name:<26}  {}", length >> 10, told.collect::<Vec<_>>().join("   "));
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, path, length, reads] = words.as_slice()
        && role == "read"
    {
        return read(path, length, reads);
    }
    let number = |at: usize, usual: u64| words.get(at).map_or(Ok(usual), |word| word.parse());
    let (rounds, reads) = (number(0, 100)?, number(1, 1000)?);
    let policy = PolicySpec::parse(words.get(2).map_or("lru", String::as_str))?;

    let folder = std::env::temp_dir().join(format!("hotset-hits-{}", std::process::id()));
    let (source, ours) = (folder.join("source"), folder.join("ours"));
    fs::create_dir_all(&source)?;
    fs::create_dir(&ours)?;
    fs::write(source.join("data"), vec![7; SIZE as usize])?;
    let mut places = vec![("hotset".to_owned(), ours.clone())];
    let settings = Settings { policy, memory: 2 * SIZE, block: 4096, rules: None, seed: 1, store: None };
    let cache = Arc::new(FileCache::new(&settings, None)?);
    let mounted = mount(&source, &ours, Some(cache.clone()), Arc::new(Plain), Options::default())?;
    let unmounter = mounted.unmounter();
    let server = thread::spawn(move || mounted.serve());
    for threads in THREADS {
        let at = folder.join(threads.to_string());
        fs::create_dir(&at)?;
        pass_through(&source, &at, threads)?;
        places.push((format!("pass-through, threads: {threads}"), at));
    }
    fs::read(ours.join("data"))?;
    println!("us a read: least, median, and the median by which ours is over this one in the same round");
    for length in [4 << 10, 64 << 10] {
        let round = |_| places.iter().map(|(_, at)| measure(at, length, reads)).collect::<Result<Vec<_>>>();
        report(length, &places, &(0..rounds).map(round).collect::<Result<Vec<_>>>()?);
    }
    cache.validate();
    unmounter()?;
    server.join().map_err(|_| io::Error::other("the server has panicked"))??;
    for (_, at) in &places[1..] {
        unmount(at, UnmountFlags::empty())?;
    }
    Ok(fs::remove_dir_all(folder)?)
}
