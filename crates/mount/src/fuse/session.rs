//! From mounting to unmounting: the threads that take the kernel's requests.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use fuser::{Config, INodeNo, MountOption, Notifier, Session, SessionACL};
use hotset_cache::FileCache;
use hotset_cache::workers::{FailureDomain, HERE, Limits, Workers};
use rustix::fs::StatVfsMountFlags;
use rustix::mount::UnmountFlags;

use crate::fuse::dropping::Dropper;
use crate::fuse::kernel::Kernel;
use crate::objects::Objects;
use crate::served::ROOT;
use crate::served::Served;
use crate::source::table::{Device, device_at, mount_line};
use crate::tree::Tree;
use crate::tree::writing::write_overdue;
use crate::{Options, Store};

/// Threads that take requests: those that the source may hold, and some that it may not.
const THREADS: usize = HERE + 2;

/// Requests that the source is asked for at a time. Many readers of one file are healthy; a device that has so many
/// under way is not.
const LIMITS: Limits = Limits { part: 32, device: 256, all: 1024 };

/// A mount that answers requests until it is unmounted.
pub struct Mounted {
    session: Session<Kernel>,
    place: Place,
    served: Weak<dyn Served>,
    /// Why it serves no more.
    ended: (Sender<io::Result<()>>, Receiver<io::Result<()>>),
}

/// Ends a mount that has files open, from whatever thread.
pub struct Stopper {
    place: Place,
    served: Weak<dyn Served>,
    ended: Sender<io::Result<()>>,
}

/// Where it is, and what tells it from another one at the same place.
#[derive(Clone)]
struct Place {
    mountpoint: PathBuf,
    device: Option<Device>,
}

/// Mounts the directory `source` at `mountpoint`. The kernel's requests wait until [`Mounted::serve`] is called.
pub fn mount(
    source: &Path,
    mountpoint: &Path,
    cache: Option<Arc<FileCache>>,
    store: Arc<dyn Store>,
    options: Options,
) -> io::Result<Mounted> {
    let mut config = config(&source.to_string_lossy(), options.readonly);
    let (allow_suid, allow_dev, write_back) = (options.allow_suid, options.allow_dev, options.write_back);
    let workers = Arc::new(Workers::new(LIMITS));
    let (tree, crowded) = Tree::new(source, cache, store, options, &workers)?;
    let forbidden = tree.space(ROOT)?.f_flag;
    if (allow_suid || allow_dev) && !rustix::process::geteuid().is_root() {
        return Err(io::Error::other("only a mount by root can allow set-user-id bits and devices"));
    }
    config.mount_options.extend([
        allowed(allow_suid, forbidden, StatVfsMountFlags::NOSUID, [MountOption::NoSuid, MountOption::Suid])?,
        allowed(allow_dev, forbidden, StatVfsMountFlags::NODEV, [MountOption::NoDev, MountOption::Dev])?,
    ]);
    if forbidden.contains(StatVfsMountFlags::NOEXEC) {
        config.mount_options.push(MountOption::NoExec);
    }
    let tree = Arc::new(tree);
    if let Some(age) = write_back {
        let written = Arc::downgrade(&tree);
        thread::spawn(move || write_overdue(&written, age));
    }
    let thinned = Arc::downgrade(&tree);
    let mounted = start(tree, &workers, mountpoint, &config)?;
    let notifier = mounted.session.notifier();
    thread::spawn(move || thin(&thinned, &crowded, &workers, &notifier));
    Ok(mounted)
}

/// Mounts a directory of an object store at `mountpoint`, for the calling user, and for other users only on request.
/// Uses only the options for the mode, the application, the maximum age of metadata, write access and unmounting.
pub fn mount_objects(
    store: Arc<hotset_store::Store>,
    mountpoint: &Path,
    cache: Option<Arc<FileCache>>,
    options: Options,
) -> io::Result<Mounted> {
    let mut config = config(&store.location().to_string(), options.readonly);
    // The store cannot check a user's permissions: it allows everything to the holder of the credentials. The kernel
    // checks the modes that the mount shows.
    config.acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
    config.mount_options.extend([MountOption::NoSuid, MountOption::NoDev]);
    let workers = Arc::new(Workers::new(LIMITS));
    start(Arc::new(Objects::new(store, cache, options)?), &workers, mountpoint, &config)
}

/// How the kernel is to mount what has this name.
fn config(name: &str, readonly: bool) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(name.replace(',', "_")),
        MountOption::Subtype("hotset".to_owned()),
        MountOption::DefaultPermissions,
    ];
    if readonly {
        config.mount_options.push(MountOption::RO);
    }
    if rustix::process::geteuid().is_root() {
        config.acl = SessionACL::All;
    }
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    config
}

/// Mounts it.
fn start(served: Arc<dyn Served>, workers: &Arc<Workers>, mountpoint: &Path, config: &Config) -> io::Result<Mounted> {
    let weak = Arc::downgrade(&served);
    let told: Arc<OnceLock<Notifier>> = Arc::default();
    let session = Session::new(Kernel::new(served, workers.clone(), told.clone()), mountpoint, config)?;
    told.get_or_init(|| session.notifier());
    let device = device_at(mountpoint).ok();
    let place = Place { mountpoint: mountpoint.to_owned(), device };
    Ok(Mounted { session, place, served: weak, ended: channel() })
}

/// Chooses, of two options, the one that grants no right, or the one that does if it is requested. A right that the
/// source's file system forbids is refused.
fn allowed(
    is_asked: bool,
    forbidden: StatVfsMountFlags,
    flag: StatVfsMountFlags,
    [without, with]: [MountOption; 2],
) -> io::Result<MountOption> {
    match (is_asked, forbidden.contains(flag)) {
        (true, true) => {
            let what = if flag == StatVfsMountFlags::NOSUID { "nosuid" } else { "nodev" };
            Err(io::Error::other(format!(
                "the file system of the source is mounted {what} itself, so this mount cannot allow more"
            )))
        }
        (true, false) => Ok(with),
        (false, _) => Ok(without),
    }
}

impl Mounted {
    /// A call that unmounts it, from whatever thread; [`Mounted::serve`] then returns. It fails while files are open
    /// there, and may be called again.
    pub fn unmounter(&self) -> impl Fn() -> io::Result<()> + Send + use<> {
        // The crate's own forgets the mount when it fails.
        let place = self.place.clone();
        move || unmount(&place, UnmountFlags::empty())
    }

    /// Drops pages that the kernel keeps of its files.
    pub fn dropper(&self) -> Dropper {
        Dropper::start(self.session.notifier())
    }

    /// What ends it though files are open there.
    pub fn stopper(&self) -> Stopper {
        Stopper { place: self.place.clone(), served: self.served.clone(), ended: self.ended.0.clone() }
    }

    /// Answers requests until it is unmounted, or detached by a [`Stopper`]: then by other threads, as long as this
    /// process lives.
    pub fn serve(self) -> io::Result<()> {
        let ((tell, ended), at_end) = (self.ended, self.served.upgrade());
        let mut session = self.session.spawn()?;
        let serving = mem::replace(&mut session.guard, thread::spawn(|| Ok(())));
        // fuser 0.18 unmounts by path when it drops this, also what was mounted there after us (cberner/fuser#703).
        mem::forget(session);
        thread::spawn(move || {
            let served = serving.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")));
            // The receiver may already have been detached.
            let _ = tell.send(served);
        });
        let mut served = ended.recv().unwrap_or(Ok(()));
        // A thread that receives a request while the kernel unmounts gets this error instead of the end of the session.
        let is_aborted = served.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionAborted);
        if is_aborted && self.place.device.is_some_and(|device| matches!(mount_line(device), Ok(None))) {
            served = Ok(());
        }
        if served.is_err() {
            // Why it ended says more than that it cannot be unmounted.
            let _ = unmount(&self.place, UnmountFlags::empty());
        }
        let ended = at_end.map_or(Ok(()), |at_end| at_end.end());
        served.and(ended)
    }
}

impl Stopper {
    /// Refuses new opens there (`ESHUTDOWN`); open files continue to work.
    pub fn refuse(&self) {
        self.served.upgrade().iter().for_each(|served| served.stop());
    }

    /// True if no file or directory is open there.
    pub fn is_idle(&self) -> bool {
        self.served.upgrade().is_none_or(|served| served.is_idle())
    }

    /// Removes the mount from the tree of names, and makes [`Mounted::serve`] return, even if that fails. Open files
    /// are served as long as this process lives.
    pub fn detach(&self) -> io::Result<()> {
        let done = unmount(&self.place, UnmountFlags::DETACH);
        // The session may already have ended.
        let _ = self.ended.send(Ok(()));
        done
    }
}

/// Unmounts it, and nothing else that is there; without root by the helper.
fn unmount(Place { mountpoint, device }: &Place, flags: UnmountFlags) -> io::Result<()> {
    if let Some(device) = *device
        && device_at(mountpoint).is_ok_and(|there| there != device)
    {
        return match mount_line(device)? {
            Some(_) => Err(io::Error::new(io::ErrorKind::ResourceBusy, "something else is mounted on top of it")),
            None => Ok(()),
        };
    }
    match rustix::mount::unmount(mountpoint, flags) {
        Err(rustix::io::Errno::PERM) => {}
        done => return Ok(done?),
    }
    let how = if flags.contains(UnmountFlags::DETACH) { "-uz" } else { "-u" };
    let done = Command::new("fusermount3").arg(how).arg(mountpoint).output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim_end().to_owned())),
    }
}

/// Makes the kernel forget files whenever too many are held, as long as there is a tree. The kernel first waits for
/// look-ups in the same directory, so no thread that answers them may wait for this, and each directory has a separate
/// thread. Only a few run at a time: more threads do not make the kernel faster, and they take processor time from
/// look-ups.
fn thin(tree: &Weak<Tree>, crowded: &Receiver<()>, workers: &Workers, notifier: &Notifier) {
    while crowded.recv().is_ok() {
        let oldest = tree.upgrade().map_or(Vec::new(), |tree| tree.oldest());
        let mut directories: HashMap<u64, Vec<OsString>> = HashMap::new();
        for (parent, name) in oldest {
            directories.entry(parent).or_default().push(name);
        }
        let (end, ended) = channel();
        for (begun, (parent, names)) in directories.into_iter().enumerate() {
            let Some(room) = workers.reserve(FailureDomain { device: THINNING, what: parent }) else { continue };
            if begun >= AT_ONCE {
                // One that hangs goes on beside the others.
                let _ = ended.recv_timeout(PATIENCE);
            }
            let (notifier, end) = (notifier.clone(), end.clone());
            workers.run_in(room, move || {
                for name in names {
                    // An entry that the kernel has already forgotten is fine, too.
                    let _ = notifier.inval_entry(INodeNo(parent), &name);
                }
                // The receiver is gone if this has hung.
                let _ = end.send(());
            });
        }
    }
}

/// Represents a device in [`thin`], which waits for the kernel.
const THINNING: u64 = u64::MAX;

/// Directories that the kernel is asked about at a time.
const AT_ONCE: usize = 4;

/// So long the kernel is waited for in directories where something hangs, before it is asked about another one.
const PATIENCE: Duration = Duration::from_millis(10);
