//! Feeds against the kernel that runs: known reads of a file of known pages, and exactly their events.
//!
//! A kind that the machine does not offer is named in a line that begins with `NOT RUN:`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hotset_feed::{Event, Feed, FeedOptions, FileId, How, Kind, open};
use rustix::fs::{Advice, fadvise};

/// Where the files lie that are read.
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const PAGE: u64 = 4096;
const PAGES: u64 = 2048;
/// So long an event may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Tests wait for one another: the times and counts of one are not those of two.
static ONE: Mutex<()> = Mutex::new(());

/// A file without a page in the page cache, read without reading ahead.
struct Subject {
    /// Where it lies, held for as long as it is used.
    _dir: tempfile::TempDir,
    file: File,
    id: FileId,
}

impl Subject {
    fn new() -> Subject {
        let dir = tempfile::tempdir_in(FOLDER).unwrap();
        let path = dir.path().join("subject");
        let mut file = File::create(&path).unwrap();
        let text: Vec<u8> = (0..PAGES * PAGE).map(|at| (at / PAGE) as u8).collect();
        file.write_all(&text).unwrap();
        file.sync_all().unwrap();
        let file = File::open(&path).unwrap();
        let id = FileId::of(&file).unwrap();
        let subject = Subject { _dir: dir, file, id };
        subject.advise(Advice::Random);
        subject.drop_pages();
        subject
    }

    fn advise(&self, advice: Advice) {
        fadvise(&self.file, 0, None, advice).unwrap();
    }

    fn drop_pages(&self) {
        self.advise(Advice::DontNeed);
    }

    fn read(&self, first: u64, pages: u64) {
        let mut bytes = vec![0; (pages * PAGE) as usize];
        self.file.read_exact_at(&mut bytes, first * PAGE).unwrap();
        assert_eq!(bytes[0], first as u8);
    }
}

/// The events, and when they were asked for.
#[derive(Default)]
struct Heard {
    events: Vec<(u64, Event)>,
}

impl Heard {
    /// Polls until `is_enough`, and as long again as it takes for one that should not be there to come.
    fn until(&mut self, feed: &mut dyn Feed, is_enough: impl Fn(&Heard) -> bool) {
        let begun = Instant::now();
        while !is_enough(self) && begun.elapsed() < PATIENCE {
            feed.poll(Duration::from_millis(100), &mut |at, event| self.events.push((at, event))).unwrap();
        }
        feed.poll(Duration::from_millis(50), &mut |at, event| self.events.push((at, event))).unwrap();
    }

    fn pages(&self, of: impl Fn(&Event) -> Option<(u64, u32)>) -> BTreeSet<u64> {
        let ranges = self.events.iter().filter_map(|(_, event)| of(event));
        ranges.flat_map(|(first, pages)| first..first + u64::from(pages)).collect()
    }

    fn touched(&self, wanted: How) -> BTreeSet<u64> {
        self.pages(|event| match event {
            Event::Touched { first, pages, how, .. } if *how == wanted => Some((*first, *pages)),
            _ => None,
        })
    }

    fn added(&self) -> BTreeSet<u64> {
        self.pages(|event| match event {
            Event::Added { first, pages, .. } => Some((*first, *pages)),
            _ => None,
        })
    }

    fn removed(&self) -> BTreeSet<u64> {
        self.pages(|event| match event {
            Event::Removed { first, pages, .. } => Some((*first, *pages)),
            _ => None,
        })
    }

    /// The number of events for a file.
    fn told(&self) -> usize {
        self.events.iter().filter(|(_, event)| event.file().is_some()).count()
    }

    fn lost(&self) -> u64 {
        let losses = self.events.iter().map(|(_, event)| if let Event::Lost(lost) = event { *lost } else { 0 });
        losses.sum()
    }
}

/// File systems whose files the events do not name as `stat` does, or that have no page cache of their own.
const OTHERS: [(u64, &str); 3] = [(0x0102_1994, "tmpfs"), (0x794c_7630, "overlayfs"), (0x9123_683e, "btrfs")];

/// A feed of each kind that can be had here, one after the other.
fn each_kind(options: &FeedOptions, test: impl Fn(Kind, Box<dyn Feed>)) {
    let _one: MutexGuard<()> = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = rustix::fs::statfs(FOLDER).unwrap().f_type as u64;
    if let Some((_, name)) = OTHERS.iter().find(|(other, _)| *other == kind) {
        return println!("NOT RUN: {FOLDER} is on {name}, whose files the kernel's events name otherwise");
    }
    for kind in Kind::ALL {
        match open(kind, options) {
            Ok(feed) => test(kind, feed),
            Err(refusal) => println!("NOT RUN: {refusal}"),
        }
    }
}

fn set(ranges: &[(u64, u64)]) -> BTreeSet<u64> {
    ranges.iter().flat_map(|&(first, pages)| first..first + pages).collect()
}

#[test]
fn reads_are_told_page_by_page_hit_or_miss() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let subject = Subject::new();
        feed.watch(subject.id, PAGES * PAGE).unwrap();
        let ranges = [(5, 1), (100, 16), (1000, 40), (2047, 1)];
        let expected = set(&ranges);
        for miss in [true, false] {
            ranges.iter().for_each(|&(first, pages)| subject.read(first, pages));
            let mut heard = Heard::default();
            heard.until(&mut *feed, |heard| heard.touched(How::Read).len() >= expected.len());
            assert_eq!(heard.touched(How::Read), expected, "{kind}, missing {miss}");
            // Pages that the kernel removes without a request come back.
            let added = if miss { expected.clone() } else { heard.removed() };
            assert!(added.is_superset(&heard.added()) && (!miss || added == heard.added()), "{kind}");
            assert_eq!(heard.lost(), 0, "{kind}");
            let is_own = |process| process == if kind == Kind::Stamps { 0 } else { std::process::id() };
            assert!(
                heard.events.iter().all(|(_, event)| match event {
                    Event::Touched { process, .. } => is_own(*process),
                    _ => true,
                }),
                "{kind}"
            );
        }
    });
}

#[test]
fn the_order_of_reads_is_kept() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let subject = Subject::new();
        subject.read(0, PAGES);
        feed.watch(subject.id, PAGES * PAGE).unwrap();
        // A full period: every page once, far from its neighbours.
        let order: Vec<u64> = (0..PAGES).map(|n| n * 517 % PAGES).collect();
        order.iter().for_each(|&page| subject.read(page, 1));
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.touched(How::Read).len() as u64 == PAGES);
        let told: Vec<u64> = heard
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                Event::Touched { first, pages: 1, how: How::Read, .. } => Some(*first),
                _ => None,
            })
            .collect();
        assert_eq!(told, order, "{kind}");
        assert!(heard.events.is_sorted_by_key(|(at, _)| *at), "{kind}");
    });
}

#[test]
fn what_leaves_is_told() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let subject = Subject::new();
        subject.read(64, 32);
        feed.watch(subject.id, PAGES * PAGE).unwrap();
        subject.drop_pages();
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.removed().len() >= 32);
        assert_eq!(heard.removed(), set(&[(64, 32)]), "{kind}");
        assert_eq!((heard.touched(How::Read).len(), heard.added().len()), (0, 0), "{kind}");
    });
}

#[test]
fn pages_of_mappings_are_told_when_they_are_touched_first() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let subject = Subject::new();
        feed.watch(subject.id, PAGES * PAGE).unwrap();
        // SAFETY: the file is not changed or cut while it is mapped.
        let map = unsafe { memmap2::Mmap::map(&subject.file) }.unwrap();
        map.advise(memmap2::Advice::Random).unwrap();
        let missing = [3, 700, 1500];
        let sum: u64 = missing.iter().map(|page| u64::from(map[(page * PAGE) as usize])).sum();
        assert_eq!(sum, missing.iter().map(|page| page % 256).sum());
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.touched(How::Fault).len() >= missing.len());
        assert_eq!(heard.touched(How::Fault), missing.into_iter().collect(), "{kind}");
        assert_eq!(heard.added(), missing.into_iter().collect(), "{kind}");
        // Resident pages are mapped around the requested one.
        drop(map);
        subject.read(160, 16);
        // SAFETY: as above.
        let map = unsafe { memmap2::Mmap::map(&subject.file) }.unwrap();
        assert_eq!(map[(165 * PAGE) as usize], 165);
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.touched(How::Around).contains(&165));
        assert!(heard.touched(How::Around).contains(&165) && heard.touched(How::Around).len() <= 16, "{kind}");
        assert_eq!(heard.touched(How::Fault).len(), 0, "{kind}");
    });
}

#[test]
fn only_watched_files_are_told_and_only_what_is_wanted() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let (watched, other) = (Subject::new(), Subject::new());
        let pages_told = |feed: &mut dyn Feed, last: u64| {
            // The last page is read after all others: events for earlier ones are complete then.
            let mut heard = Heard::default();
            watched.read(last, 1);
            heard.until(feed, |heard| heard.added().contains(&last));
            heard.touched(How::Read)
        };
        feed.watch(watched.id, 512 * PAGE).unwrap();
        other.read(1, 1);
        watched.read(500, 24);
        // Behind the reported size touches are not reported, but additions are.
        assert_eq!(pages_told(&mut *feed, 600), set(&[(500, 12)]), "{kind}");
        feed.watch(watched.id, PAGES * PAGE).unwrap();
        watched.read(700, 1);
        assert_eq!(pages_told(&mut *feed, 601), set(&[(700, 1), (601, 1)]), "{kind}");
        feed.reading(false).unwrap();
        watched.read(800, 1);
        assert_eq!(pages_told(&mut *feed, 602), BTreeSet::new(), "{kind}");
        feed.reading(true).unwrap();
        watched.read(900, 1);
        assert_eq!(pages_told(&mut *feed, 603), set(&[(900, 1), (603, 1)]), "{kind}");
        feed.unwatch(watched.id);
        feed.watch(other.id, PAGES * PAGE).unwrap();
        watched.read(1000, 1);
        other.read(2, 1);
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.added().contains(&2));
        assert_eq!((heard.touched(How::Read), heard.added()), (set(&[(2, 1)]), set(&[(2, 1)])), "{kind}");
    });
}

#[test]
fn files_of_a_device_are_told_before_anybody_names_them() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let (first, second) = (Subject::new(), Subject::new());
        feed.watch_device(first.id.device).unwrap();
        first.read(3, 2);
        second.read(7, 1);
        let mut heard = Heard::default();
        let of = |heard: &Heard, file: FileId| {
            let events = heard.events.iter().filter(|(_, event)| event.file() == Some(file)).copied().collect();
            let heard = Heard { events };
            (heard.touched(How::Read), heard.added())
        };
        heard.until(&mut *feed, |heard| of(heard, second.id).0.contains(&7));
        assert_eq!(of(&heard, first.id), (set(&[(3, 2)]), set(&[(3, 2)])), "{kind}");
        assert_eq!(of(&heard, second.id), (set(&[(7, 1)]), set(&[(7, 1)])), "{kind}");
        // Alone it is reported with its size, and by the device again otherwise.
        let mut heard = Heard::default();
        feed.watch(first.id, 4 * PAGE).unwrap();
        first.read(3, 2);
        heard.until(&mut *feed, |heard| of(heard, first.id).0.contains(&3));
        assert_eq!(of(&heard, first.id).0, set(&[(3, 1)]), "{kind}");
        feed.unwatch(first.id);
        first.read(9, 1);
        heard.until(&mut *feed, |heard| of(heard, first.id).0.contains(&9));
        assert_eq!(of(&heard, first.id).0, set(&[(3, 1), (9, 1)]), "{kind}");
    });
}

#[test]
fn blocks_may_share_a_stamp() {
    each_kind(&FeedOptions { pages_per_stamp: 16, ..FeedOptions::default() }, |kind, mut feed| {
        if kind == Kind::Stamps {
            let subject = Subject::new();
            feed.watch(subject.id, (PAGES - 6) * PAGE).unwrap();
            [(20, 1), (100, 40), (2041, 7)].iter().for_each(|&(first, pages)| subject.read(first, pages));
            let mut heard = Heard::default();
            heard.until(&mut *feed, |heard| heard.touched(How::Read).len() >= 74);
            assert_eq!(heard.touched(How::Read), set(&[(16, 16), (96, 48), (2032, 10)]));
        }
    });
}

#[test]
fn files_without_room_among_the_stamps_are_told_one_by_one() {
    each_kind(&FeedOptions { stamps: 100, ..FeedOptions::default() }, |kind, mut feed| {
        if kind == Kind::Stamps {
            let subject = Subject::new();
            feed.watch(subject.id, PAGES * PAGE).unwrap();
            subject.read(9, 3);
            subject.read(9, 3);
            let mut heard = Heard::default();
            let touches =
                |heard: &Heard| heard.events.iter().filter(|(_, event)| matches!(event, Event::Touched { .. })).count();
            heard.until(&mut *feed, |heard| touches(heard) >= 2);
            assert_eq!((heard.touched(How::Read), heard.lost()), (set(&[(9, 3)]), 0));
        }
    });
}

#[test]
fn what_finds_no_room_is_counted_as_lost() {
    let small = FeedOptions { buffer: 4096, ..FeedOptions::default() };
    each_kind(&small, |kind, mut feed| {
        let subject = Subject::new();
        feed.watch(subject.id, PAGES * PAGE).unwrap();
        // Each page is added: 2048 records, of which 4 KiB hold less than a hundred.
        (0..PAGES).for_each(|page| subject.read(page, 1));
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.lost() > 0);
        let (told, touched) = (heard.told() as u64, heard.touched(How::Read).len() as u64);
        assert!(heard.lost() > 0, "{kind}");
        match kind {
            // Each page has a time; an added page is reported or counted as lost. The kernel may have removed some
            // meanwhile.
            Kind::Stamps => assert!(touched == PAGES && told + heard.lost() >= 2 * PAGES),
            Kind::Ring => assert!(touched < PAGES && told + heard.lost() >= 2 * PAGES),
            Kind::Tracefs => assert!(told < 2 * PAGES),
        }
        // It goes on afterwards.
        subject.read(0, 1);
        let before = heard.lost();
        subject.drop_pages();
        heard.until(&mut *feed, |heard| heard.lost() > before);
        subject.read(7, 1);
        let mut heard = Heard::default();
        heard.until(&mut *feed, |heard| heard.added().contains(&7));
        assert!(heard.added().contains(&7), "{kind}");
    });
}

#[test]
fn who_waits_for_nothing_costs_nothing_and_is_woken() {
    each_kind(&FeedOptions::default(), |kind, mut feed| {
        let subject = Subject::new();
        feed.watch(subject.id, PAGES * PAGE).unwrap();
        // A loaded machine may delay a reader for a second: one pass in five is enough to show the feed's own speed.
        let second = |feed: &mut dyn Feed| {
            let cpu = || {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
                time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
            };
            let (begun, before, mut told) = (Instant::now(), cpu(), 0);
            while begun.elapsed() < Duration::from_secs(1) {
                told += feed.poll(Duration::from_millis(500), &mut |_, _| ()).unwrap();
            }
            (told, (cpu() - before) / begun.elapsed().as_secs_f64())
        };
        let seconds: Vec<(usize, f64)> = (0..5).map(|_| second(&mut *feed)).collect();
        assert!(seconds.iter().any(|&(told, spent)| told == 0 && spent < 0.005), "{kind}: {seconds:?}");
        // A touch of a resident page wakes who sleeps.
        subject.read(1, 1);
        feed.poll(PATIENCE, &mut |_, _| ()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                subject.read(1, 1);
            });
            let (begun, mut heard) = (Instant::now(), Heard::default());
            while heard.touched(How::Read).is_empty() && begun.elapsed() < PATIENCE {
                feed.poll(PATIENCE, &mut |at, event| heard.events.push((at, event))).unwrap();
            }
            assert!(begun.elapsed() < PATIENCE / 2, "{kind}: woken after {:?}", begun.elapsed());
        });
    });
}

#[test]
fn what_a_killed_process_left_in_tracefs_is_removed() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let tracing = mounts.lines().find_map(|line| line.split_once(" tracefs ")?.0.split(' ').nth(1));
    let left = tracing.map(|tracing| Path::new(tracing).join(format!("instances/hotset-{}-0", gone.id())));
    match left.filter(|left| std::fs::create_dir(left).is_ok()) {
        Some(left) => {
            let feed = open(Kind::Tracefs, &FeedOptions::default());
            let is_left = left.exists();
            if is_left {
                std::fs::remove_dir(&left).unwrap();
            }
            match feed {
                Err(refusal) => println!("NOT RUN: {refusal}"),
                Ok(_) => assert!(!is_left),
            }
        }
        None => println!("NOT RUN: no instance of tracefs can be made here"),
    }
}
