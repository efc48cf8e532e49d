//! A session with a simulated feed and real files: the kernel is asked for resident pages after events were lost.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hotset_core::policy::PolicySpec;
use hotset_feed::{Event, Feed, FileId, How, Scripted};
use hotset_steer::{Actuator, Changes, Found, Ground, Session, Settings, SteerError, Telling, When, check};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const PAGES: u64 = 256;

fn session(folder: &Path, when: When, feed: Box<dyn Feed>) -> Result<Session, SteerError> {
    let settings = Settings {
        policy: PolicySpec::parse("lru").unwrap(),
        block: 65536,
        memory: Some(16 << 20),
        group: None,
        directories: vec![folder.to_owned()],
        when,
        fetcher: Vec::new(),
    };
    Session::new(settings, Telling::default(), feed)
}

/// A file of which every page is resident.
fn resident(path: &Path) -> FileId {
    fs::write(path, vec![1; (PAGES * 4096) as usize]).unwrap();
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    (&file).read_to_end(&mut Vec::new()).unwrap();
    FileId::of(&file).unwrap()
}

#[test]
fn what_could_not_be_told_is_counted_and_asked_of_the_kernel() {
    let folder = tempfile::tempdir_in(FOLDER).unwrap();
    let file = resident(&folder.path().join("file"));
    let removed = (0..PAGES).map(|first| (1, Event::Removed { file, first, pages: 1 })).collect();
    let touched = Event::Touched { file, first: 0, pages: 1, how: How::Read, process: 0 };
    let feed = Scripted::new([removed, vec![(2, touched), (3, Event::Lost(7))], vec![(4, Event::Lost(1))]]);
    let mut session = session(folder.path(), When::Pays, Box::new(feed)).unwrap();
    assert_eq!(session.report().pages_resident, PAGES, "pages cached at the start are asked for, too");
    session.step(Duration::ZERO).unwrap();
    assert_eq!(session.report().pages_resident, 0, "these are the events");
    session.step(Duration::ZERO).unwrap();
    let report = session.report();
    assert_eq!((report.pages_resident, report.rebuilt, report.counts.lost), (PAGES, 1, 7));
    session.step(Duration::ZERO).unwrap();
    assert_eq!((session.report().rebuilt, session.report().counts.lost), (2, 8));
    assert_eq!(session.finish().residency.unwrap().resident, PAGES);
}

#[test]
fn files_that_are_deleted_are_forgotten_and_others_stay() {
    let folder = tempfile::tempdir_in(FOLDER).unwrap();
    let (gone, kept) = (folder.path().join("gone"), folder.path().join("kept"));
    let first = resident(&gone);
    resident(&kept);
    let touched = Event::Touched { file: first, first: 0, pages: 16, how: How::Read, process: 0 };
    let feed = Scripted::new((0..1000).map(|at| vec![(at, touched)]));
    let mut session = session(folder.path(), When::Pays, Box::new(feed)).unwrap();
    assert_eq!((session.report().files, session.report().pages_resident), (2, 2 * PAGES));
    fs::remove_file(&gone).unwrap();
    let began = Instant::now();
    while session.report().files == 2 && began.elapsed() < Duration::from_secs(60) {
        session.step(Duration::from_millis(20)).unwrap();
    }
    assert_eq!((session.report().files, session.report().pages_resident), (1, PAGES));
    // The name is given again, to another file.
    resident(&gone);
    while session.report().files == 1 && began.elapsed() < Duration::from_secs(60) {
        session.step(Duration::from_millis(20)).unwrap();
    }
    assert_eq!((session.report().files, session.report().counts.failed), (2, 0));
    fs::remove_dir_all(folder.path()).unwrap();
    let mut lost = None;
    while lost.is_none() && began.elapsed() < Duration::from_secs(60) {
        lost = session.step(Duration::from_millis(20)).err();
    }
    assert!(lost.unwrap().to_string().starts_with("cannot read "), "the directory itself is gone");
}

/// The kernel's notices of writes are not asked for: that a file has grown shows by pages behind its end.
#[test]
fn what_a_file_has_grown_by_is_steered_too() {
    let folder = tempfile::tempdir_in(FOLDER).unwrap();
    let path = folder.path().join("file");
    let file = resident(&path);
    let touched = |at| vec![(at, Event::Touched { file, first: PAGES, pages: 16, how: How::Read, process: 0 })];
    let added = Event::Added { file, first: PAGES, pages: 16 };
    let feed = Scripted::new([touched(1), vec![(2, added)]].into_iter().chain((3..3000).map(touched)));
    let mut session = session(folder.path(), When::Always, Box::new(feed)).unwrap();
    File::options().append(true).open(&path).unwrap().write_all(&[2; 16 * 4096]).unwrap();
    session.step(Duration::ZERO).unwrap();
    assert_eq!(session.report().counts.references, 0, "behind the end, as far as is known");
    let began = Instant::now();
    while session.report().counts.references == 0 && began.elapsed() < Duration::from_secs(60) {
        session.step(Duration::from_millis(20)).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    assert_ne!(session.report().counts.references, 0);
}

/// A session that only watches receives reads while there are misses; one that steers or measures always does.
#[test]
fn reads_that_hit_are_not_listened_to_while_nothing_is_missed() {
    for (when, heard) in [(When::Pays, [1, 1, 2]), (When::Always, [1, 2, 3]), (When::Proof, [1, 2, 3])] {
        let folder = tempfile::tempdir_in(FOLDER).unwrap();
        let file = resident(&folder.path().join("file"));
        let touched = |block: u64| Event::Touched { file, first: 16 * block, pages: 1, how: How::Read, process: 0 };
        let added = Event::Added { file, first: 64, pages: 1 };
        let feed = Scripted::new([
            vec![(1, touched(0))],
            Vec::new(),
            vec![(2, touched(1))],
            vec![(3, added)],
            vec![(4, touched(2))],
        ]);
        let mut session = session(folder.path(), when, Box::new(feed)).unwrap();
        let mut references = |steps: u32| {
            (0..steps).for_each(|_| assert_eq!(session.step(Duration::ZERO).unwrap(), None));
            session.report().counts.references
        };
        let at_first = references(1);
        thread::sleep(Duration::from_millis(1100));
        assert_eq!([at_first, references(2), references(2)], heard, "{when:?}");
    }
}

/// A file system whose server reports its files.
#[derive(Default)]
struct Told {
    told: VecDeque<Changes>,
    files: BTreeMap<FileId, Found>,
    dropped: Arc<Mutex<Vec<Range<u64>>>>,
}

impl Actuator for Told {
    fn drop(&mut self, _file: FileId, pages: Range<u64>) -> io::Result<()> {
        self.dropped.lock().unwrap().push(pages);
        Ok(())
    }

    fn fetch(&mut self, _file: FileId, _pages: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

impl Ground for Told {
    fn device(&self) -> Option<u64> {
        Some(7)
    }

    fn changes(&mut self) -> Result<Option<Changes>, SteerError> {
        let Some(changes) = self.told.pop_front() else { return Ok(None) };
        changes.gone.iter().for_each(|gone| _ = self.files.remove(gone));
        self.files.extend(changes.found.iter().cloned());
        Ok(Some(changes))
    }

    fn files(&self) -> usize {
        self.files.len()
    }

    fn all(&self) -> Vec<(FileId, Found)> {
        self.files.clone().into_iter().collect()
    }

    fn resident(&mut self, _file: FileId) -> io::Result<Vec<Range<u64>>> {
        Ok(vec![16..20, 20..24])
    }
}

/// Nothing of what is read between the first word of a file and the first look at it is missed, and nothing of what a
/// read asks for behind its end is counted.
#[test]
fn files_that_are_told_of_are_steered_from_their_first_page_on() {
    let file = FileId { device: 7, inode: 3 };
    let touched = |first, pages| Event::Touched { file, first, pages, how: How::Read, process: 0 };
    let added = |first, pages| Event::Added { file, first, pages };
    let feed = Scripted::new([
        vec![(1, added(0, 20)), (2, touched(0, 64))],
        vec![(3, touched(16, 1)), (4, Event::Lost(2))],
        vec![(5, touched(0, 1))],
    ]);
    let found = |bytes| Changes { found: vec![(file, Found { path: "/there/file".into(), bytes })], gone: Vec::new() };
    let gone = Changes { found: Vec::new(), gone: vec![file] };
    let told = VecDeque::from([Changes::default(), found(20 * 4096), found(24 * 4096), gone]);
    let ground = Told { told, ..Told::default() };
    let settings = Settings {
        policy: PolicySpec::parse("lru").unwrap(),
        block: 65536,
        memory: Some(1 << 20),
        group: None,
        directories: vec!["/there".into()],
        when: When::Always,
        fetcher: Vec::new(),
    };
    check(&settings, Telling::default()).unwrap();
    let mut session = Session::on(ground, settings, Telling::default(), Box::new(feed)).unwrap();
    session.step(Duration::ZERO).unwrap();
    let report = session.report();
    assert_eq!((report.files, report.pages_resident, report.counts.references), (1, 20, 2), "16 and 4 pages");
    session.step(Duration::ZERO).unwrap();
    let report = session.report();
    assert_eq!((report.rebuilt, report.pages_resident), (1, 8), "lost events are asked for");
    session.step(Duration::ZERO).unwrap();
    let report = session.report();
    assert_eq!((report.files, report.pages_resident, report.counts.references), (0, 0, 2), "it is gone");
}
