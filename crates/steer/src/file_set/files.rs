//! The files below directories, and when to look for them again.
//!
//! The kernel reports names that come and go by inotify; then all directories are walked again, at most a twentieth of
//! the time. Where there are more directories than inotify may watch, they are walked now and then.
//!
//! inotify is not asked for writes: it would then process every read of the files too, which makes a read of a resident
//! page slower by a tenth. A change of a file's size shows at its end: a page is added behind it, or the last one is
//! removed. Then the size is checked.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hotset_feed::{Event, FileId};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{SteerError, io};
use crate::file_set::ground::{Changes, Found};
use crate::kernel::PAGE;

/// Files that are steered at most; each costs some hundred bytes here, and a place in the kernel's table.
pub const MOST: usize = 200_000;
/// The least time between walks, the share of the time they may take, and the time between unprompted walks.
const OFTEN: Duration = Duration::from_secs(1);
const PART: u32 = 20;
const SELDOM: Duration = Duration::from_secs(30);
/// Files whose sizes are looked at in a turn, at most; it takes some milliseconds.
const LOOKS: usize = 1000;

/// The files below some directories.
#[derive(Debug)]
pub(crate) struct Files {
    directories: Vec<PathBuf>,
    known: HashMap<FileId, Found>,
    watch: Option<OwnedFd>,
    /// All directories are watched.
    is_complete: bool,
    has_changed: bool,
    /// Files that may have another size than what is known.
    doubted: HashSet<FileId>,
    looked: Instant,
    walked: Option<Instant>,
    took: Duration,
}

/// Why files of a file system of this kind cannot be matched to events by the numbers from `stat`.
fn unheard(kind: u64) -> Option<&'static str> {
    const OVERLAYFS: u64 = 0x794c_7630;
    const BTRFS: u64 = 0x9123_683e;
    match kind {
        OVERLAYFS => Some(
            "it lies on overlayfs, whose files the kernel reads in the directories of its layers: name those \
             (lowerdir= and upperdir= in /proc/mounts; with Docker what docker inspect calls LowerDir and UpperDir)",
        ),
        BTRFS => Some(
            "it lies on btrfs, where the kernel's events do not tell files of different subvolumes apart; `hotset \
             mount` runs the same policies there",
        ),
        _ => None,
    }
}

impl Files {
    /// The files below these directories; the first [`walk`](Files::walk) finds them.
    pub fn new(directories: Vec<PathBuf>) -> Files {
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let is_complete = watch.is_some();
        Files {
            directories,
            known: HashMap::new(),
            watch,
            is_complete,
            has_changed: true,
            doubted: HashSet::new(),
            looked: Instant::now(),
            walked: None,
            took: Duration::ZERO,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// All of them, as they were when they were walked.
    pub fn all(&self) -> Vec<(FileId, Found)> {
        self.known.iter().map(|(id, found)| (*id, found.clone())).collect()
    }

    /// True if it is time to walk, for the first time or again.
    pub fn is_due(&mut self) -> bool {
        let Some(since) = self.walked.map(|walked| walked.elapsed()) else { return true };
        if since < OFTEN.max(self.took * PART) {
            return false;
        }
        let mut buffer = [MaybeUninit::uninit(); 4096];
        if let Some(watch) = &self.watch {
            while rustix::io::read(watch, &mut buffer).is_ok_and(|(told, _)| !told.is_empty()) {
                self.has_changed = true;
            }
        }
        self.look();
        self.has_changed || !self.is_complete && since >= SELDOM
    }

    /// Handles a page event of the kernel.
    pub fn hear(&mut self, event: &Event) {
        match *event {
            Event::Added { file, first, pages } => self.doubt(file, first + u64::from(pages) - 1),
            // Of a file that has shrunk the last page has left, too, so the next one lies behind its end.
            Event::Removed { file, first, pages } => self.doubt(file, first + u64::from(pages)),
            Event::Touched { .. } | Event::Lost(_) => {}
        }
    }

    /// Has the size of a file looked at if this page lies behind its end, as far as is known.
    pub fn doubt(&mut self, file: FileId, page: u64) {
        if self.known.get(&file).is_some_and(|known| known.bytes.div_ceil(PAGE) <= page) {
            self.doubted.insert(file);
        }
    }

    /// Looks at sizes that are in doubt. Most have not changed where last pages were just dropped.
    fn look(&mut self) {
        if self.looked.elapsed() < OFTEN {
            return;
        }
        self.looked = Instant::now();
        for file in self.doubted.extract_if(|_| true).take(LOOKS) {
            let Some(known) = self.known.get(&file) else { continue };
            // A link in its place is harmless: it only causes a walk.
            self.has_changed |= fs::symlink_metadata(&known.path).map_or(true, |about| about.len() != known.bytes);
        }
    }

    /// Walks all directories.
    ///
    /// # Errors
    ///
    /// There are more than [`MOST`] files, or a directory that was given cannot be read.
    pub fn walk(&mut self) -> Result<Changes, SteerError> {
        self.has_changed = false;
        self.doubted.clear();
        let started = Instant::now();
        let mut now = HashMap::new();
        for directory in self.directories.clone() {
            self.walk_into(&directory, &mut now)?;
        }
        (self.walked, self.took) = (Some(Instant::now()), started.elapsed());
        let before = std::mem::replace(&mut self.known, now);
        let is_new = |(id, file): &(&FileId, &Found)| before.get(id) != Some(file);
        let found = self.known.iter().filter(is_new).map(|(id, file)| (*id, file.clone())).collect();
        let gone = before.into_keys().filter(|id| !self.known.contains_key(id)).collect();
        Ok(Changes { found, gone })
    }

    /// Finds the files below a directory, on its file system. Files that cannot be read, or disappear meanwhile, are
    /// left out.
    ///
    /// A user who may write there may replace a directory by a link at any moment. So each directory is opened from the
    /// top one on without following links, and its entries are examined through that descriptor.
    fn walk_into(&mut self, top: &Path, now: &mut HashMap<FileId, Found>) -> Result<(), SteerError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(top, flags, Mode::empty());
        let looked = opened.and_then(|root| Ok((rustix::fs::fstat(&root)?.st_dev, rustix::fs::fstatfs(&root)?, root)));
        let (device, system, root) = looked.map_err(|error| io(format!("read {}", top.display()))(error.into()))?;
        if let Some(why) = unheard(system.f_type as u64) {
            return Err(SteerError::Unheard { directory: top.to_owned(), why });
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let mut open = vec![PathBuf::from(".")];
        while let Some(folder) = open.pop() {
            let opened = match rustix::fs::openat2(&root, &folder, flags, Mode::empty(), resolve) {
                // A kernel before 5.6, or a filter of system calls: nothing below would be found.
                Err(Errno::NOSYS) => return Err(io(format!("walk {} (openat2)", top.display()))(Errno::NOSYS.into())),
                // It has gone, or is a link by now.
                Err(_) => continue,
                Ok(opened) => opened,
            };
            self.watch(&opened);
            for entry in Dir::read_from(&opened).into_iter().flatten().flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let Ok(about) = rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                let path = || folder.strip_prefix(".").unwrap_or(&folder).join(name);
                match FileType::from_raw_mode(about.st_mode) {
                    _ if about.st_dev != device => {}
                    FileType::Directory => open.push(path()),
                    FileType::RegularFile if now.len() >= MOST => {
                        return Err(SteerError::TooMany { directory: top.join(folder), most: MOST });
                    }
                    FileType::RegularFile => {
                        let id = FileId::from_stat(about.st_dev, about.st_ino);
                        now.insert(id, Found { path: top.join(path()), bytes: about.st_size as u64 });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn watch(&mut self, folder: &OwnedFd) {
        let changes = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        // The very directory that is open, whatever its name leads to by now.
        let folder = format!("/proc/self/fd/{}", folder.as_raw_fd());
        let watched = self.watch.as_ref().map(|watch| inotify::add_watch(watch, folder, changes));
        self.is_complete &= watched.is_some_and(|watched| watched.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    fn names(changes: &Changes) -> Vec<String> {
        let name = |(_, file): &(FileId, Found)| file.path.file_name().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = changes.found.iter().map(name).collect();
        names.sort();
        names
    }

    fn wait_until_due(files: &mut Files) {
        let started = Instant::now();
        while !files.is_due() {
            assert!(started.elapsed() < Duration::from_secs(60), "no change was reported");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn files_are_found_as_they_come_grow_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        fs::write(inner.join("b"), "22").unwrap();
        let mut files = Files::new(vec![folder.path().to_owned()]);
        assert_eq!(names(&files.walk().unwrap()), ["a", "b"]);
        fs::write(inner.join("b"), "22333").unwrap();
        fs::write(inner.join("c"), "4").unwrap();
        fs::remove_file(folder.path().join("a")).unwrap();
        wait_until_due(&mut files);
        let changes = files.walk().unwrap();
        assert_eq!((names(&changes), changes.gone.len(), files.len()), (vec!["b".into(), "c".into()], 1, 2));
        assert!(!files.is_due(), "nothing has changed since");
        fs::remove_dir_all(folder.path()).unwrap();
        assert!(files.walk().unwrap_err().to_string().starts_with("cannot read "));
    }

    #[test]
    fn a_file_that_grows_or_shrinks_is_noticed_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [1; 10_000]).unwrap();
        let mut files = Files::new(vec![folder.path().to_owned()]);
        let file = files.walk().unwrap().found[0].0;
        let added = |first| Event::Added { file, first, pages: 1 };
        let removed = |first| Event::Removed { file, first, pages: 1 };
        // Two seconds are enough for what has to be looked at.
        let is_due_after = |files: &mut Files, event: Event| {
            files.hear(&event);
            thread::sleep(2 * OFTEN);
            files.is_due()
        };
        let again = |files: &mut Files| files.walk().unwrap().found.first().map(|(_, found)| found.bytes);
        assert!(!is_due_after(&mut files, added(2)), "the last page was read");
        assert!(!is_due_after(&mut files, removed(2)), "the last page was dropped");
        assert!(files.doubted.is_empty(), "a checked file is not checked again");

        let mut open = fs::File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut open, &[2; 10_000]).unwrap();
        assert!(!is_due_after(&mut files, added(2)), "it has grown, but no event shows it: not even a write");
        assert!(is_due_after(&mut files, added(3)));
        assert_eq!((again(&mut files), files.is_due()), (Some(20_000), false));

        open.set_len(5000).unwrap();
        assert!(!is_due_after(&mut files, removed(1)), "it has shrunk, but a page in its middle tells nothing");
        assert!(is_due_after(&mut files, removed(4)));
        assert_eq!(again(&mut files), Some(5000));

        open.set_len(9000).unwrap();
        files.doubt(file, 2);
        thread::sleep(2 * OFTEN);
        assert!(files.is_due(), "a page behind the end was found");
        fs::remove_file(&path).unwrap();
        assert_eq!((files.walk().unwrap().gone.len(), files.len()), (1, 0));
        files.hear(&removed(0));
        assert!(files.doubted.is_empty(), "the file is forgotten");
    }

    #[test]
    fn nobody_leads_the_walk_out_of_the_directory() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("secret"), "1").unwrap();
        let (at, aside) = (folder.path().join("d"), folder.path().join("aside"));
        fs::create_dir(&at).unwrap();
        symlink(elsewhere.path(), &aside).unwrap();
        // Many others are walked between looking at it and opening it.
        (0..200).for_each(|number| fs::create_dir(folder.path().join(format!("e{number}"))).unwrap());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let exchange = || {
                    rustix::fs::renameat_with(
                        rustix::fs::CWD,
                        &at,
                        rustix::fs::CWD,
                        &aside,
                        rustix::fs::RenameFlags::EXCHANGE,
                    )
                };
                while !is_over.load(Ordering::Relaxed) {
                    exchange().unwrap();
                }
            });
            let mut files = Files::new(vec![folder.path().to_owned()]);
            let found: Vec<String> = (0..300).flat_map(|_| names(&files.walk().unwrap())).collect();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(found, Vec::<String>::new());
        });
    }
}
