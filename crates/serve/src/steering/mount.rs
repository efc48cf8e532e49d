//! A mount of which the kernel keeps the pages that a policy says: where mount and steering meet.

use std::collections::HashMap;
use std::io;
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
use hotset_mount::{AppBy, Change, Device, Dropper, Mounted};
use hotset_steer::{
    Actuator, Advice, Changes, Found, Ground, PAGE, Report, Session, Settings, SteerError, Telling, When, check,
};

use thiserror::Error;

use super::{Shown, naming};

/// So long it is waited for events before the end is noticed.
const STEP: Duration = Duration::from_millis(100);

/// All that is needed before there is a mount.
pub struct Prepared {
    settings: Settings,
    telling: Telling,
    feed: Box<dyn Feed>,
    tell: Sender<Change>,
    told: Receiver<Change>,
}

/// Why a mount cannot be steered.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The policy or its settings do not allow it.
    #[error(transparent)]
    Settings(#[from] SteerError),
    /// The kernel does not report reads, for this reason.
    #[error("{0}")]
    NoFeed(String),
}

impl Prepared {
    /// Finds out whether the policy can decide about the pages of a mount at `mountpoint`, with this much memory and
    /// blocks of `block` bytes, and whether the kernel reports the reads there, which `feed` opens.
    ///
    /// # Errors
    ///
    /// One of both is not so.
    pub fn new(
        policy: &PolicySpec,
        memory: u64,
        block: u64,
        mountpoint: &Path,
        rules: Option<Rules>,
        by: AppBy,
        feed: impl FnOnce() -> Result<Box<dyn Feed>, String>,
    ) -> Result<Prepared, PrepareError> {
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
        let feed = feed().map_err(PrepareError::NoFeed)?;
        let (tell, told) = channel();
        Ok(Prepared { settings, telling: Telling { rules, naming: naming(policy, by) }, feed, tell, told })
    }

    /// Where the mount reports the names of files to.
    pub fn told(&self) -> Sender<Change> {
        self.tell.clone()
    }

    /// A session about a mount of `source` with this device. The mount need not answer yet.
    ///
    /// # Errors
    ///
    /// Those of [`Session::on`].
    pub fn session(self, mounted: &Mounted, device: Device, source: &Path) -> Result<Session<MountFiles>, SteerError> {
        let files = MountFiles {
            device: FileId::from_stat(rustix::fs::makedev(device.0, device.1), 0).device,
            source: source.to_owned(),
            mountpoint: self.settings.directories[0].clone(),
            told: self.told,
            files: HashMap::new(),
            dropper: mounted.dropper(),
            advice: Advice::default(),
        };
        Session::on(files, self.settings, self.telling, self.feed)
    }
}

/// A thread that decides.
pub struct Steering {
    thread: JoinHandle<Option<Report>>,
    asked: Arc<AtomicBool>,
}

impl Steering {
    /// Begins to decide. An error ends it: the mount serves on, and the kernel keeps what it likes. `failed` is called
    /// with the error.
    pub fn start(shown: Shown<MountFiles>, failed: impl FnOnce(&SteerError) + Send + 'static) -> Steering {
        let asked = Arc::new(AtomicBool::new(false));
        let end = asked.clone();
        let thread = thread::spawn(move || steer(shown, &end, failed));
        Steering { thread, asked }
    }

    /// Ends it. Gives a summary, unless it has ended with an error or a panic.
    pub fn finish(self) -> Option<Report> {
        self.asked.store(true, Ordering::Relaxed);
        self.thread.join().ok().flatten()
    }
}

fn steer(mut shown: Shown<MountFiles>, asked: &AtomicBool, failed: impl FnOnce(&SteerError)) -> Option<Report> {
    while !asked.load(Ordering::Relaxed) {
        if let Err(error) = shown.step(STEP) {
            failed(&error);
            shown.give_up(&error.to_string());
            return None;
        }
    }
    Some(shown.session.report())
}

/// The files of a mount, as the mount reports them.
pub struct MountFiles {
    device: u64,
    source: PathBuf,
    mountpoint: PathBuf,
    told: Receiver<Change>,
    files: HashMap<FileId, Found>,
    dropper: Dropper,
    /// Looks at pages and has them read, through the mount.
    advice: Advice,
}

impl MountFiles {
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

impl Actuator for MountFiles {
    fn drop(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.dropper.drop_bytes(file.inode, pages.start * PAGE..pages.end * PAGE)
    }

    fn fetch(&mut self, file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.advice.fetch(file, pages)
    }
}

impl Ground for MountFiles {
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
