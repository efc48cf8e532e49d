//! A mount of which the kernel keeps the pages that a policy says: where mount and steering meet.

use std::collections::HashMap;
use std::io::{self, Write, stderr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hotset_core::classify::Rules;
use hotset_core::policy::PolicySpec;
use hotset_feed::{Feed, FileId};
use hotset_mount::{AppBy, Change, Dropper, Mounted, device_at};
use hotset_steer::{
    Actuator, Advice, Changes, Found, Ground, PAGE, Report, Session, Settings, SteerError, Telling, When, check,
};

use crate::control::Listening;
use crate::failure::Failure;
use crate::steer::feeding::{feed, naming};
use crate::steer::shown::Shown;
use crate::steer::words;

/// So long it is waited for events before the end is noticed.
const STEP: Duration = Duration::from_millis(100);

/// All that is needed before there is a mount.
pub(super) struct Prepared {
    settings: Settings,
    telling: Telling,
    feed: Box<dyn Feed>,
    tell: Sender<Change>,
    told: Receiver<Change>,
}

impl Prepared {
    /// Finds out whether the policy can decide about the pages of a mount at `mountpoint`, and whether the kernel
    /// reports the reads there.
    pub fn new(
        policy: &PolicySpec,
        memory: u64,
        block: u64,
        mountpoint: &Path,
        rules: Option<Rules>,
        by: AppBy,
    ) -> Result<Prepared, Failure> {
        let settings = Settings {
            policy: policy.clone(),
            block,
            memory: Some(memory),
            group: None,
            directories: vec![mountpoint.to_owned()],
            when: When::Always,
            fetcher: Vec::new(),
        };
        check(&settings, Telling { rules: rules.clone(), naming: naming(policy, by) })?;
        let feed = feed(policy, block, false).map_err(|why| {
            Failure::Work(format!(
                "--mode steered needs reports of reads from the kernel, but {why}; --mode strict does not need them"
            ))
        })?;
        let (tell, told) = channel();
        Ok(Prepared { settings, telling: Telling { rules, naming: naming(policy, by) }, feed, tell, told })
    }

    /// The receiver of file names.
    pub fn told(&self) -> Sender<Change> {
        self.tell.clone()
    }

    /// Begins to decide about a mount of `source`, which need not answer yet.
    pub fn start(self, mounted: &Mounted, source: &Path, listening: Option<Listening>) -> Result<Steering, Failure> {
        let mountpoint = self.settings.directories[0].clone();
        let device = device_at(&mountpoint)
            .map_err(|error| Failure::Work(format!("cannot look at {}: {error}", mountpoint.display())))?;
        let files = Files {
            device: FileId::from_stat(rustix::fs::makedev(device.0, device.1), 0).device,
            source: source.to_owned(),
            mountpoint,
            told: self.told,
            files: HashMap::new(),
            dropper: mounted.dropper(),
            advice: Advice::default(),
        };
        let shown = Shown::of_mount(Session::on(files, self.settings, self.telling, self.feed)?, device, listening)?;
        let asked = Arc::new(AtomicBool::new(false));
        let end = asked.clone();
        let thread = thread::spawn(move || steer(shown, &end));
        Ok(Steering { thread, asked })
    }
}

/// A thread that decides.
pub(super) struct Steering {
    thread: JoinHandle<Option<Report>>,
    asked: Arc<AtomicBool>,
}

impl Steering {
    /// Ends it, and prints a summary if the terminal is open.
    pub fn finish(self, is_silent: bool) -> Result<(), Failure> {
        self.asked.store(true, Ordering::Relaxed);
        // A thread that has panicked has said so.
        let report = self.thread.join().ok().flatten().filter(|_| !is_silent);
        for line in report.iter().flat_map(words::lines) {
            writeln!(stderr(), "hotset: {line}")?;
        }
        Ok(())
    }
}

fn steer(mut shown: Shown<Files>, asked: &AtomicBool) -> Option<Report> {
    while !asked.load(Ordering::Relaxed) {
        if let Err(error) = shown.step(STEP) {
            // The mount serves on, and the kernel keeps what it likes.
            let _ = writeln!(stderr(), "hotset: {error}; the mount continues without steering");
            shown.give_up(&error.to_string());
            return None;
        }
    }
    Some(shown.session.report())
}

/// The files of a mount, as the mount reports them.
struct Files {
    device: u64,
    source: PathBuf,
    mountpoint: PathBuf,
    told: Receiver<Change>,
    files: HashMap<FileId, Found>,
    dropper: Dropper,
    /// Looks at pages and has them read, through the mount.
    advice: Advice,
}

impl Files {
    fn id(&self, inode: u64) -> FileId {
        FileId { device: self.device, inode }
    }

    /// Takes note of a file that is new, or has another size.
    fn note(&mut self, inode: u64, path: Option<PathBuf>, bytes: u64) -> Option<(FileId, Found)> {
        let id = self.id(inode);
        if let Some(path) = &path {
            let below = path.strip_prefix(&self.source).unwrap_or(path);
            self.advice.know(id, self.mountpoint.join(below));
        }
        let path = path.or_else(|| self.files.get(&id).map(|found| found.path.clone()))?;
        let found = Found { path, bytes };
        self.files.insert(id, found.clone());
        Some((id, found))
    }
}

impl Actuator for Files {
    fn drop(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.dropper.drop_bytes(file.inode, pages.start * PAGE..pages.end * PAGE)
    }

    fn fetch(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.advice.fetch(file, pages)
    }
}

impl Ground for Files {
    fn device(&self) -> Option<u64> {
        Some(self.device)
    }

    fn changes(&mut self) -> Result<Option<Changes>, SteerError> {
        let mut changes = Changes::default();
        while let Ok(change) = self.told.try_recv() {
            match change {
                Change::Is { inode, path, bytes } => changes.found.extend(self.note(inode, path, bytes)),
                Change::Gone { inode } => {
                    let id = self.id(inode);
                    self.files.remove(&id);
                    self.advice.forget(id);
                    changes.found.retain(|(found, _)| *found != id);
                    changes.gone.push(id);
                }
            }
        }
        let is_nothing = changes.found.is_empty() && changes.gone.is_empty();
        Ok((!is_nothing).then_some(changes))
    }

    fn files(&self) -> usize {
        self.files.len()
    }

    fn all(&self) -> Vec<(FileId, Found)> {
        self.files.iter().map(|(id, found)| (*id, found.clone())).collect()
    }

    fn resident(&mut self, file: FileId) -> io::Result<Vec<Range<u64>>> {
        self.advice.resident(file)
    }

    fn rest(&mut self) {
        self.advice.close();
    }
}
