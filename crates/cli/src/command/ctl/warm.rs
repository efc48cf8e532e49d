//! `hotset ctl warm`: reads files through a mount, so that they are cached before they are needed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write, stdout};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use globset::GlobBuilder;
use hotset_core::words::reason;
use walkdir::WalkDir;

use crate::failure::Failure;
use crate::output::{human, note};

/// Files that are read at once.
const READERS: usize = 8;

/// Bytes of a read.
const PIECE: usize = 1 << 20;

/// A file to read, with its size.
struct Wanted {
    path: PathBuf,
    bytes: u64,
}

/// Reads the files that the patterns name through the mount, in this order, as long as they fit in `memory` bytes.
pub(super) fn warm(mountpoint: &Path, patterns: &[String], memory: u64) -> Result<(), Failure> {
    let mut files = Vec::new();
    for pattern in patterns {
        let before = files.len();
        files.extend(named(mountpoint, pattern)?);
        if files.len() == before {
            return Err(Failure::Usage(format!("{pattern}: no file below {} matches", mountpoint.display())));
        }
    }
    let mut fit = 0;
    let fitting = files.iter().take_while(|file| {
        fit += file.bytes;
        fit <= memory
    });
    let (fitting, begun) = (fitting.count(), Instant::now());
    let left = files.split_off(fitting);
    let sum = |files: &[Wanted]| files.iter().map(|file| file.bytes).sum::<u64>();
    let bytes = human::bytes(sum(&files));
    let failed = read_all(files);
    let (failures, seconds) = (failed.len(), begun.elapsed().as_secs_f64());
    failed.iter().for_each(|(path, error)| note(format_args!("cannot read {}: {}", path.display(), reason(error))));
    let read = human::count((fitting - failures) as u64);
    let mut line = format!("{read} files read, {bytes} in {}", human::duration(seconds));
    if !left.is_empty() {
        let (files, memory) = (human::count(left.len() as u64), human::bytes(memory));
        line += &format!(
            "; {files} files of {} left out, because the memory of {memory} is full",
            human::bytes(sum(&left))
        );
    }
    writeln!(stdout(), "{line}")?;
    match failures {
        0 => Ok(()),
        failures => Err(Failure::Work(format!("{} files could not be read", human::count(failures as u64)))),
    }
}

/// The files of one argument: `@LIST`, a file, a directory with all below it, or a glob, relative to the mountpoint.
fn named(mountpoint: &Path, pattern: &str) -> Result<Vec<Wanted>, Failure> {
    let device = fs::metadata(mountpoint).map_err(|error| cannot(mountpoint, &error))?.dev();
    if let Some(list) = pattern.strip_prefix('@') {
        return listed(Path::new(list))?.iter().map(|line| wanted(mountpoint.join(line), device)).collect();
    }
    let path = mountpoint.join(pattern);
    match fs::metadata(&path) {
        Ok(about) if about.is_dir() && !pattern.is_empty() => return below(&path, device, |_| true),
        Ok(about) if !about.is_dir() => return Ok(vec![wanted(path, device)?]),
        _ => {}
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let matcher = glob.map_err(|error| Failure::Usage(format!("{pattern}: {error}")))?.compile_matcher();
    below(mountpoint, device, |path| path.strip_prefix(mountpoint).is_ok_and(|path| matcher.is_match(path)))
}

fn cannot(path: &Path, error: &io::Error) -> Failure {
    Failure::Work(format!("{}: {}", path.display(), reason(error)))
}

/// The lines of a list.
fn listed(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut text = Vec::new();
    let file = File::open(list).map_err(|error| cannot(list, &error))?;
    file.take(LONGEST_LIST + 1).read_to_end(&mut text).map_err(|error| cannot(list, &error))?;
    if text.len() as u64 > LONGEST_LIST {
        let most = human::bytes(LONGEST_LIST);
        return Err(Failure::Work(format!("{}: the list is longer than {most}; give a shorter one", list.display())));
    }
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    Ok(lines.map(|line| OsStr::from_bytes(line).into()).collect())
}

/// Bytes of the longest list.
const LONGEST_LIST: u64 = 64 << 20;

/// A regular file of the mount.
fn wanted(path: PathBuf, device: u64) -> Result<Wanted, Failure> {
    match fs::metadata(&path) {
        Ok(about) if !about.is_file() => Err(Failure::Usage(format!("{}: not a regular file", path.display()))),
        Ok(about) if about.dev() != device => {
            Err(Failure::Usage(format!("{}: not in the mount; expected a path below the mountpoint", path.display())))
        }
        Ok(about) => Ok(Wanted { path, bytes: about.len() }),
        Err(error) => Err(cannot(&path, &error)),
    }
}

/// The regular files below a directory that match, by name.
fn below(directory: &Path, device: u64, is_match: impl Fn(&Path) -> bool) -> Result<Vec<Wanted>, Failure> {
    let mut files = Vec::new();
    for entry in WalkDir::new(directory).sort_by_file_name() {
        let entry = entry.map_err(|error| Failure::Work(error.to_string()))?;
        if entry.file_type().is_file() && is_match(entry.path()) {
            files.push(wanted(entry.into_path(), device)?);
        }
    }
    Ok(files)
}

/// Reads files in order, several at once; returns those that cannot be read.
fn read_all(files: Vec<Wanted>) -> Vec<(PathBuf, io::Error)> {
    let (next, failed) = (Mutex::new(files.into_iter()), Mutex::new(Vec::new()));
    let take = || next.lock().expect("no reader panics").next();
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut piece = vec![0; PIECE];
                while let Some(file) = take() {
                    if let Err(error) = read(&file.path, &mut piece) {
                        failed.lock().expect("no reader panics").push((file.path, error));
                    }
                }
            });
        }
    });
    failed.into_inner().expect("no reader panics")
}

fn read(path: &Path, piece: &mut [u8]) -> io::Result<()> {
    let mut file = File::open(path)?;
    while file.read(piece)? > 0 {}
    Ok(())
}
