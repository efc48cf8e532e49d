//! A feed without BPF: trace events of a separate instance, read as text.
//!
//! The kernel filters by file while few files are watched. Otherwise it filters by device, and events of other files
//! there are read and dropped: the receiver then works for every read on the device.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustc_hash::FxHashMap;
use rustix::fs::OFlags;

use super::layout::{self, Layout};
use super::lines::{self, Line};
use super::past;
use crate::clock;
use crate::{Error, Event, Feed, FeedOptions, FileId, How, Kind, Result};

/// So long nothing is read after a batch.
const GAP: Duration = Duration::from_millis(5);
/// So much text is read between two looks at the clock.
const TEXT: usize = 1 << 16;
/// So many files the kernel tells apart itself: a filter has at most a page of text.
const FEW: usize = 32;
/// Our instances are `hotset-PROCESS-NUMBER`.
const PREFIX: &str = "hotset-";

/// A feed by trace events.
pub struct Tracefs {
    /// Before the instance, which can only be removed when this is closed.
    pipe: File,
    instance: Instance,
    page: u64,
    /// Watched files and their pages.
    watched: FxHashMap<FileId, u64>,
    /// Their devices, and how many files of each.
    devices: BTreeMap<u64, usize>,
    /// Devices all of whose files are watched.
    whole: Vec<u64>,
    /// The filter of the events.
    filter: String,
    /// Text that was read and ends within a line.
    rest: Vec<u8>,
    /// The last read of a thread: file, first page and end. A long read is reported once for each batch of folios.
    reads: FxHashMap<u32, (FileId, u64, u64)>,
    reading: bool,
    /// The amount by which a read's last page is too high.
    past: u64,
    /// When the last batch was read.
    last: u64,
}

impl Tracefs {
    /// Makes an instance and enables the events, for no device yet.
    ///
    /// # Errors
    ///
    /// Tracing is not mounted, the events are others, or this user may not.
    pub fn open(options: &FeedOptions) -> Result<Tracefs> {
        let unavailable = |why: String| Error::Unavailable { kind: Kind::Tracefs, why };
        let tracing = layout::tracing().map_err(unavailable)?;
        layout::check(&tracing, &layout::ALL).map_err(unavailable)?;
        let opened = Tracefs::in_instance(&tracing, options).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                unavailable(format!("{} may not be changed: it needs root", tracing.join("instances").display()))
            }
            _ => unavailable(format!("{}: {error}", tracing.join("instances").display())),
        });
        let mut feed = opened?;
        feed.past = past::find(|file, read, heard| {
            feed.watch(file, u64::MAX).ok()?;
            let mut is_told = false;
            for _ in 0..20 {
                // The kernel notes the process of a thread when that leaves its processor; a slow machine takes time.
                clock::sleep_until(clock::now() + 1_000_000);
                read();
                let mut hear = |_, event: Event| {
                    is_told |= matches!(event, Event::Touched { process, .. } if process == process::id());
                    heard(event);
                };
                feed.poll(Duration::from_millis(100), &mut hear).ok()?;
                if is_told {
                    break;
                }
            }
            feed.unwatch(file);
            Some(())
        });
        Ok(feed)
    }

    fn in_instance(tracing: &Path, options: &FeedOptions) -> io::Result<Tracefs> {
        let instance = Instance::new(&tracing.join("instances"))?;
        instance.write("trace_clock", "mono")?;
        instance.write("options/record-tgid", "1")?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        instance.write("buffer_size_kb", &(options.buffer / processors / 1024).max(4).to_string())?;
        // A waiting reader is woken by the first event, not by a half full buffer.
        instance.write("buffer_percent", "0")?;
        let filter = filter(&FxHashMap::default(), &BTreeMap::new(), &[]);
        instance.choose(&filter)?;
        layout::ALL.iter().try_for_each(|layout| instance.enable(layout, true))?;
        let nonblocking = OFlags::NONBLOCK.bits() as i32;
        let pipe = OpenOptions::new().read(true).custom_flags(nonblocking).open(instance.0.join("trace_pipe"))?;
        let page = rustix::param::page_size() as u64;
        let (watched, reads) = (FxHashMap::default(), FxHashMap::default());
        let devices = BTreeMap::new();
        Ok(Tracefs {
            pipe,
            instance,
            page,
            watched,
            devices,
            whole: Vec::new(),
            filter,
            rest: Vec::new(),
            reads,
            reading: true,
            past: 0,
            last: 0,
        })
    }

    /// Tells the kernel of which files or devices it is to tell.
    fn choose(&mut self) -> Result<()> {
        let filter = filter(&self.watched, &self.devices, &self.whole);
        if filter != self.filter {
            let chosen = self.instance.choose(&filter);
            chosen.map_err(|error| Error::Io { what: "set the filter of the trace events".to_owned(), error })?;
            self.filter = filter;
        }
        Ok(())
    }

    /// Reads what there is, and hands on its events; at most as long as `until`.
    fn take(&mut self, until: u64, each: &mut dyn FnMut(u64, Event)) -> Result<usize> {
        let (mut told, mut text) = (0, vec![0; TEXT]);
        loop {
            let read = match self.pipe.read(&mut text) {
                Ok(0) => return Ok(told),
                Ok(read) => read,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(told);
                }
                Err(error) => return Err(Error::Io { what: "read trace events".to_owned(), error }),
            };
            self.rest.extend_from_slice(&text[..read]);
            let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') else { continue };
            let lines: Vec<u8> = self.rest.drain(..=end).collect();
            for line in String::from_utf8_lossy(&lines).lines() {
                if let Some((at, event)) = lines::parsed(line, self.page).and_then(|line| self.wanted(line)) {
                    each(at, event);
                    told += 1;
                }
            }
            if clock::now() > until {
                return Ok(told);
            }
        }
    }
}

impl Tracefs {
    /// The event of a line as it is handed on, if it is of a watched file.
    fn wanted(&mut self, line: Line) -> Option<(u64, Event)> {
        let (at, thread, event) = match line {
            Line::Lost(lost) => return Some((clock::now(), Event::Lost(lost))),
            Line::Event { at, thread, event } => (at, thread, event),
        };
        let of = event.file()?;
        let unknown = || self.whole.contains(&of.device).then_some(u64::MAX);
        let size = self.watched.get(&of).copied().or_else(unknown)?;
        let Event::Touched { file, first, pages, how, process } = event else { return Some((at, event)) };
        let past = if how == How::Read { self.past } else { 0 };
        let end = (first + u64::from(pages) - past).min(size);
        let pages = u32::try_from(end.checked_sub(first)?).ok().filter(|&pages| pages > 0)?;
        if how == How::Read {
            let before = self.reads.insert(thread, (file, first, end));
            if !self.reading || before.is_some_and(|before| (before.0, before.2) == (file, end) && before.1 < first) {
                return None;
            }
        }
        Some((at, Event::Touched { file, first, pages, how, process }))
    }
}

impl Feed for Tracefs {
    fn watch(&mut self, file: FileId, size: u64) -> Result<()> {
        if self.watched.insert(file, size.div_ceil(self.page)).is_none() {
            *self.devices.entry(file.device).or_default() += 1;
        }
        self.choose()
    }

    fn watch_device(&mut self, device: u64) -> Result<()> {
        self.whole.push(device);
        self.choose()
    }

    fn unwatch(&mut self, file: FileId) {
        if self.watched.remove(&file).is_none() {
            return;
        }
        if let Some(files) = self.devices.get_mut(&file.device) {
            *files -= 1;
        }
        self.devices.retain(|_, files| *files > 0);
        // A filter that lets too much through costs time and nothing else.
        let _ = self.choose();
    }

    fn poll(&mut self, timeout: Duration, each: &mut dyn FnMut(u64, Event)) -> Result<usize> {
        let deadline = clock::now().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        loop {
            clock::sleep_until((self.last + GAP.as_nanos() as u64).min(deadline));
            let told = self.take(deadline, each)?;
            self.last = clock::now();
            if told > 0 || self.last >= deadline {
                return Ok(told);
            }
            clock::wait(self.pipe.as_fd(), deadline)?;
        }
    }

    fn reading(&mut self, wanted: bool) -> Result<()> {
        let changed = self.instance.enable(&layout::READ, wanted);
        changed.map_err(|error| Error::Io { what: format!("switch the event {}", layout::READ.event), error })?;
        self.reading = wanted;
        Ok(())
    }
}

/// A filter of the kernel for these files, or their devices, and for `whole` devices; for none, a device that no
/// file is on.
fn filter(watched: &FxHashMap<FileId, u64>, devices: &BTreeMap<u64, usize>, whole: &[u64]) -> String {
    let others = devices.keys().filter(|device| !whole.contains(device));
    let tests: Vec<String> = match (watched.len(), whole) {
        (0, []) => vec!["s_dev == 0".to_owned()],
        (1..=FEW, []) => {
            watched.keys().map(|file| format!("(s_dev == {} && i_ino == {})", file.device, file.inode)).collect()
        }
        _ => whole.iter().chain(others).map(|device| format!("s_dev == {device}")).collect(),
    };
    tests.join(" || ")
}

/// A folder of the kernel's tracing with separate buffers, removed when this is dropped.
struct Instance(PathBuf);

impl Instance {
    /// A new one; those of processes that were killed are removed.
    fn new(instances: &Path) -> io::Result<Instance> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        for entry in fs::read_dir(instances)? {
            let name = entry?.file_name();
            let owner =
                name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
            if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
                drop(Instance(instances.join(name)));
            }
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = instances.join(format!("{PREFIX}{}-{number}", process::id()));
        fs::create_dir(&path)?;
        Ok(Instance(path))
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.0.join(file), text)
    }

    fn enable(&self, layout: &Layout, wanted: bool) -> io::Result<()> {
        self.write(&format!("events/filemap/{}/enable", layout.event), if wanted { "1" } else { "0" })
    }

    fn choose(&self, filter: &str) -> io::Result<()> {
        layout::ALL.iter().try_for_each(|layout| self.write(&format!("events/filemap/{}/filter", layout.event), filter))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The kernel removes it only while its files are closed, and continues tracing if it cannot.
        let _ = self.write("events/enable", "0");
        let _ = fs::remove_dir(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_are_filtered_by_the_kernel() {
        let watched =
            |files: u64| (1..=files).map(|inode| (FileId { device: 7, inode: u64::MAX - inode }, 1)).collect();
        let devices = BTreeMap::from([(7, 1), (8, 1)]);
        assert_eq!(filter(&watched(0), &BTreeMap::new(), &[]), "s_dev == 0");
        assert_eq!(filter(&watched(1), &devices, &[]), format!("(s_dev == 7 && i_ino == {})", u64::MAX - 1));
        // The kernel takes less than a page.
        assert!(filter(&watched(FEW as u64), &devices, &[]).len() < 4096);
        assert_eq!(filter(&watched(FEW as u64 + 1), &devices, &[]), "s_dev == 7 || s_dev == 8");
        assert_eq!(filter(&watched(1), &devices, &[8]), "s_dev == 8 || s_dev == 7");
        assert_eq!(filter(&watched(0), &BTreeMap::new(), &[9]), "s_dev == 9");
    }
}
