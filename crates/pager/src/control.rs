//! The file through which `hotset run` gives a program its settings, and reads what was done.
//!
//! It begins with one page of numbers that both map. The settings follow as lines of text.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use crate::{PAGE, PagerError, PagerSettings, PagingCounts};

/// The environment variable with the path of the file.
pub const VARIABLE: &str = "HOTSET_PAGER";

/// Bytes of a message.
const MESSAGE: usize = 512;

/// What the library in the program reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The library was not loaded.
    Absent = 0,
    /// The library was loaded; no allocation was large enough yet.
    Loaded = 1,
    /// Memory is paged.
    Paging = 2,
    /// Nothing leaves memory any more, for the reason in the message. The program is not affected.
    Stopped = 3,
    /// The library ended the program, for the reason in the message: the device failed to write a page.
    Failed = 4,
}

/// The numbers, as both processes map them.
#[repr(C)]
struct Shared {
    state: AtomicU64,
    /// The process that is paged; 0 for all that load the library.
    process: AtomicU64,
    counts: [AtomicU64; 8],
    /// Large allocations that went to ordinary memory.
    ordinary: AtomicU64,
    message: [AtomicU8; MESSAGE],
}

/// One side of the file.
#[derive(Debug)]
pub struct Control {
    map: Arc<MmapRaw>,
}

impl Control {
    /// Creates the file with settings for the program. With `children`, each process that the program starts is paged
    /// too, with memory of its own.
    pub fn create(file: &mut File, settings: &PagerSettings, children: bool) -> io::Result<Control> {
        let folder = settings.folder.to_str().ok_or_else(|| Error::from(ErrorKind::InvalidInput))?;
        let version = env!("CARGO_PKG_VERSION");
        let bytes = u64::from(settings.frames) * PAGE as u64;
        file.set_len(PAGE as u64)?;
        file.seek(SeekFrom::Start(PAGE as u64))?;
        let lines =
            [version, &bytes.to_string(), &settings.policy.to_string(), &settings.reads_ahead.to_string(), folder];
        file.write_all(lines.join("\n").as_bytes())?;
        let control = Control::map(file)?;
        // No process has this number.
        control.shared().process.store(if children { 0 } else { u64::MAX }, Ordering::Release);
        Ok(control)
    }

    /// Opens the file in the program. Fails if it is of another version.
    pub fn open(path: &Path) -> io::Result<(Control, Result<PagerSettings, PagerError>)> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut text = String::new();
        file.seek(SeekFrom::Start(PAGE as u64))?;
        file.read_to_string(&mut text)?;
        let lines: Vec<&str> = text.splitn(5, '\n').collect();
        let [version, bytes, policy, reads_ahead, folder] = lines[..] else {
            return Err(ErrorKind::InvalidData.into());
        };
        if version != env!("CARGO_PKG_VERSION") {
            return Err(ErrorKind::InvalidData.into());
        }
        let bytes = bytes.parse().map_err(Error::other)?;
        let settings = PagerSettings::new(bytes, policy, PathBuf::from(folder), reads_ahead == "true");
        Ok((Control::map(&file)?, settings))
    }

    fn map(file: &File) -> io::Result<Control> {
        if file.metadata()?.len() < PAGE as u64 {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(Control { map: Arc::new(MmapOptions::new().len(PAGE).map_raw(file)?) })
    }

    fn shared(&self) -> &Shared {
        const { assert!(size_of::<Shared>() <= PAGE) };
        // SAFETY: the mapping has a page, is aligned to it, and lives as long as `self`. `Shared` has only atomic
        // integers, for which every bit pattern is a value.
        unsafe { &*self.map.as_ptr().cast::<Shared>() }
    }

    /// Makes `process` the one that is paged, unless all are.
    pub fn admit(&self, process: u32) {
        let _ = self.shared().process.compare_exchange(u64::MAX, process.into(), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Makes the child of `command` the process that is paged, before its program begins.
    pub fn admit_child(&self, command: &mut Command) {
        let control = Control { map: self.map.clone() };
        // SAFETY: between fork and exec, the closure only stores a number in shared memory.
        unsafe {
            command.pre_exec(move || {
                control.admit(std::process::id());
                Ok(())
            });
        }
    }

    /// True if `process` is to be paged.
    pub fn is_admitted(&self, process: u32) -> bool {
        [0, process.into()].contains(&self.shared().process.load(Ordering::Acquire))
    }

    /// Reports a state.
    pub fn set_state(&self, state: State) {
        self.shared().state.store(state as u64, Ordering::Release);
    }

    /// Returns the last state.
    pub fn state(&self) -> State {
        match self.shared().state.load(Ordering::Acquire) {
            1 => State::Loaded,
            2 => State::Paging,
            3 => State::Stopped,
            4 => State::Failed,
            _ => State::Absent,
        }
    }

    /// Reports a reason; a long one is cut.
    pub fn set_message(&self, message: &str) {
        let shared = &self.shared().message;
        let bytes = message.bytes().take(MESSAGE - 1).chain([0]);
        shared.iter().zip(bytes).for_each(|(at, byte)| at.store(byte, Ordering::Relaxed));
    }

    /// Returns the last reason.
    pub fn message(&self) -> String {
        let bytes = self.shared().message.iter().map(|byte| byte.load(Ordering::Relaxed));
        String::from_utf8_lossy(&bytes.take_while(|&byte| byte != 0).collect::<Vec<u8>>()).into_owned()
    }

    /// Reports counts.
    pub fn set_counts(&self, counts: PagingCounts) {
        let PagingCounts { faults, evictions, written, read_ahead, scans, cached, peak, holds } = counts;
        let values = [faults, evictions, written, read_ahead, scans, cached, peak, holds];
        self.shared().counts.iter().zip(values).for_each(|(at, value)| at.store(value, Ordering::Relaxed));
    }

    /// Returns the last counts.
    pub fn counts(&self) -> PagingCounts {
        let mut values = [0; 8];
        self.shared().counts.iter().zip(&mut values).for_each(|(at, value)| *value = at.load(Ordering::Relaxed));
        let [faults, evictions, written, read_ahead, scans, cached, peak, holds] = values;
        PagingCounts { faults, evictions, written, read_ahead, scans, cached, peak, holds }
    }

    /// Counts a large allocation that went to ordinary memory.
    pub fn count_ordinary(&self) {
        self.shared().ordinary.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of large allocations that went to ordinary memory.
    pub fn ordinary(&self) -> u64 {
        self.shared().ordinary.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_see_settings_and_reports() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let settings = PagerSettings::new(64 << 20, "eta(use=clock)", "/var/tmp".into(), true).unwrap();
        let ours = Control::create(file.as_file_mut(), &settings, false).unwrap();
        let (theirs, read) = Control::open(file.path()).unwrap();
        let read = read.unwrap();
        assert_eq!((read.frames, read.folder, read.reads_ahead), (16384, PathBuf::from("/var/tmp"), true));
        assert_eq!(read.policy.to_string(), settings.policy.to_string());
        assert!(!theirs.is_admitted(7));
        ours.admit(7);
        ours.admit(8);
        assert!(theirs.is_admitted(7) && !theirs.is_admitted(8));
        assert_eq!(ours.state(), State::Absent);
        let counts =
            PagingCounts { faults: 1, evictions: 2, written: 3, read_ahead: 4, scans: 5, cached: 6, peak: 7, holds: 8 };
        theirs.set_counts(counts);
        theirs.set_message(&"ä".repeat(400));
        theirs.set_message("short");
        theirs.set_state(State::Stopped);
        theirs.count_ordinary();
        assert_eq!((ours.counts(), ours.state(), ours.ordinary()), (counts, State::Stopped, 1));
        assert_eq!(ours.message(), "short");
    }

    #[test]
    fn all_processes_are_admitted_by_choice() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let settings = PagerSettings::new(4 << 20, "clock", "/var/tmp".into(), false).unwrap();
        let control = Control::create(file.as_file_mut(), &settings, true).unwrap();
        control.admit(7);
        assert!(control.is_admitted(7) && control.is_admitted(8));
    }

    #[test]
    fn a_cut_file_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Control::open(file.path()).is_err());
    }
}
