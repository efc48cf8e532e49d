//! The orders in which readers, writers, those who read ahead and those who change a file behind the cache may come. A
//! checker of interleavings (shuttle) has the cache's threads go on in orders that it draws by seed; a model of the
//! file says what each read may find.
//!
//! `cargo test --workspace --features hotset-cache/shuttle --test interleavings`; `HOTSET_SCHEDULES` says how many
//! orders are tried for each case, `HOTSET_SEED` which.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use hotset_cache::source::{Identity, Source, Stamp};
use hotset_cache::{Access, Admit, FileCache, Levels, Settings, Stream, Tier, TierSettings};
use hotset_core::policy::PolicySpec;
use hotset_core::request::Kind;
use shuttle::rand::Rng;
use shuttle::sync::Mutex;
use shuttle::thread;

mod support {
    pub mod orders;
}
use support::orders::check;

/// Bytes that are always read and written together.
const CELL: u64 = 128;
const BLOCK: u64 = 4 * CELL;
/// Blocks of the file at most.
const BLOCKS: u64 = 12;

/// The process that changes the file behind the cache.
const OTHER: usize = 0;

/// A change of the file.
struct Change {
    who: usize,
    cells: Range<u64>,
    size: u64,
    made: u64,
    /// Reads that begin after this must find it, or what came later.
    known: Option<u64>,
}

/// The file, and its history. The bytes of a cell are the number of the change that wrote it, which the writer draws
/// before; so each read shows the changes that it has seen.
#[derive(Default)]
struct Model {
    cells: Vec<u8>,
    changes: Vec<Change>,
    /// By number of a change, its place in `changes`.
    places: Vec<Option<usize>>,
    clock: u64,
    /// Of each cell, which changes were seen by reads that ended when.
    seen: Vec<Vec<(u64, usize)>>,
}

impl Model {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A number for a change.
    fn draw(&mut self) -> u8 {
        self.places.push(None);
        u8::try_from(self.places.len() - 1).expect("few changes")
    }

    fn size(&self) -> u64 {
        self.cells.len() as u64 * CELL
    }

    fn change(&mut self, who: usize, number: u8, cells: Range<u64>) {
        let (made, size) = (self.tick(), self.size());
        self.places[usize::from(number)] = Some(self.changes.len());
        self.changes.push(Change { who, cells, size, made, known: None });
    }

    /// Makes the file as long as `cells`; new cells are a separate change.
    fn resize(&mut self, who: usize, cells: u64) {
        let before = self.cells.len() as u64;
        let number = self.draw();
        self.cells.resize(cells as usize, number);
        self.change(who, number, before.min(cells)..before.max(cells));
    }

    fn write(&mut self, who: usize, number: u8, cells: Range<u64>) {
        if cells.start > self.cells.len() as u64 {
            self.resize(who, cells.start);
        }
        let end = self.cells.len().max(cells.end as usize);
        self.cells.resize(end, number);
        self.cells[cells.start as usize..cells.end as usize].fill(number);
        self.change(who, number, cells);
    }

    /// Whatever `who` has changed before `time` is known from now on.
    fn know(&mut self, who: usize, time: u64) {
        let now = self.tick();
        for change in self.changes.iter_mut().filter(|change| change.who == who && change.made <= time) {
            change.known.get_or_insert(now);
        }
    }

    /// Panics if what was read from `cell` on between `begun` and now cannot be: it is older than what was known or
    /// seen before, or ends where the file did not.
    fn check(&mut self, begun: u64, cell: u64, asked: u64, found: &[u8]) {
        let now = self.tick();
        let must = |change: &Change| change.known.is_some_and(|known| known < begun);
        let first = self.changes.iter().rposition(must).unwrap_or(0);
        // As with any file, the blocks of a read are read one after the other, and each ends where the file does at
        // that moment.
        let ends = self.changes[first..].iter().map(|change| (change.size / CELL).saturating_sub(cell).min(asked));
        let (shortest, longest) = (ends.clone().min().expect("one"), ends.max().expect("one"));
        assert!((found.len() as u64).is_multiple_of(CELL), "{} bytes: the file never ended there", found.len());
        let length = found.len() as u64 / CELL;
        assert!(
            (shortest..=longest).contains(&length),
            "{length} of {asked} cells from {cell} on: the file did not end there"
        );
        for (cell, bytes) in (cell..).zip(found.chunks(CELL as usize)) {
            assert!(bytes.iter().all(|&byte| byte == bytes[0]), "cell {cell} is torn");
            let place = self.places[usize::from(bytes[0])].expect("it was written");
            let touches = |change: &Change| change.cells.contains(&cell);
            let known = self.changes.iter().rposition(|change| must(change) && touches(change));
            assert!(Some(place) >= known, "cell {cell} is older than what was known");
            let seen = self.seen[cell as usize].iter().filter(|(ended, _)| *ended < begun).map(|(_, place)| *place);
            assert!(place >= seen.max().unwrap_or(0), "cell {cell} is older than what was seen before");
            self.seen[cell as usize].push((now, place));
        }
    }
}

/// The file as one of the threads has it open.
struct Handle {
    who: usize,
    model: Arc<Mutex<Model>>,
}

impl Source for Handle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let model = self.model.lock().unwrap();
        let bytes = (offset..model.size()).take(buffer.len());
        let length = bytes.clone().count();
        buffer.iter_mut().zip(bytes).for_each(|(byte, at)| *byte = model.cells[(at / CELL) as usize]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let cells = offset / CELL..(offset + bytes.len() as u64) / CELL;
        self.model.lock().unwrap().write(self.who, bytes[0], cells);
        Ok(bytes.len())
    }

    fn append(&self, bytes: &[u8]) -> io::Result<(u64, usize)> {
        let mut model = self.model.lock().unwrap();
        let end = model.cells.len() as u64;
        model.write(self.who, bytes[0], end..end + bytes.len() as u64 / CELL);
        Ok((end * CELL, bytes.len()))
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        self.model.lock().unwrap().resize(self.who, size / CELL);
        Ok(())
    }

    /// Each change has a separate version, as on file systems with fine times.
    fn stamp(&self) -> io::Result<Stamp> {
        let model = self.model.lock().unwrap();
        let changes = model.changes.len() as u64;
        Ok(Stamp::new(model.size(), changes.into()).of_file(Identity::Lasting(1.into())))
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

/// A file of a tier.
#[derive(Default)]
struct Plain(Mutex<Vec<u8>>);

impl Source for Plain {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.lock().unwrap();
        let there = bytes.get(offset as usize..).unwrap_or_default();
        let length = there.len().min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let (mut all, from) = (self.0.lock().unwrap(), offset as usize);
        let end = all.len().max(from + bytes.len());
        all.resize(end, 0);
        all[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn set_len(&self, _size: u64) -> io::Result<()> {
        Ok(())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::default())
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

/// A tier of about half of the file's blocks, exclusive or inclusive.
fn tier() -> Tier {
    let levels = [Levels::Exclusive, Levels::Inclusive][shuttle::rand::thread_rng().gen_range(0..2)];
    let (policy, size) = (PolicySpec::parse("lru").unwrap(), 4096 + 16 * (BLOCK + 128));
    let (admit, writes, source) = (Admit::All, None, String::new());
    let settings = TierSettings { size, block: BLOCK, policy, admit, levels, writes, seed: 1, source, device: None };
    let files: [Arc<dyn Source>; 2] = [Arc::new(Plain::default()), Arc::new(Plain::default())];
    Tier::over(files, &settings, |_| (), Box::new(())).unwrap()
}

/// A thread with the file open.
struct User {
    cache: Arc<FileCache>,
    model: Arc<Mutex<Model>>,
    file: u32,
    who: usize,
    source: Arc<dyn Source>,
    stream: Stream,
}

impl User {
    fn access(&self) -> Access<'_> {
        Access { file: self.file, app: 0, source: &self.source, stream: Some(&self.stream), executes: false }
    }

    fn read(&self, cell: u64, cells: u64) {
        let begun = self.model.lock().unwrap().tick();
        let found = self.cache.read(&self.access(), cell * CELL, (cells * CELL) as usize).unwrap();
        self.model.lock().unwrap().check(begun, cell, cells, &found);
    }

    /// Changes the file, which is known once it is done.
    fn change<T>(&self, change: impl FnOnce(&FileCache, &Access, &[u8]) -> io::Result<T>, cells: u64) {
        let number = self.model.lock().unwrap().draw();
        change(&self.cache, &self.access(), &vec![number; (cells * CELL) as usize]).unwrap();
        let mut model = self.model.lock().unwrap();
        let now = model.clock;
        model.know(self.who, now);
    }

    fn write(&self, cell: u64, cells: u64) {
        self.change(|cache, access, bytes| cache.write(access, cell * CELL, bytes), cells);
    }

    fn append(&self, cells: u64) {
        self.change(|cache, access, bytes| cache.append(access, bytes), cells);
    }

    fn set_len(&self, cells: u64) {
        self.change(|cache, access, _| cache.set_len(access, cells * CELL), 0);
    }

    /// Cuts the file without a call of the scheme, as if another process had: its queue stays the same.
    fn cut(&self, cells: u64) {
        let end = cells * CELL;
        self.change(|cache, access, _| cache.change(access, &(end..u64::MAX), || access.source.set_len(end)), 0);
    }

    /// Opens the file again: earlier changes by others are known then.
    fn open(&self) {
        let begun = self.model.lock().unwrap().tick();
        self.cache.opened(self.file, self.source.as_ref()).unwrap();
        self.model.lock().unwrap().know(OTHER, begun);
    }

    /// One of the things that programs do.
    fn act(&self) {
        let mut random = shuttle::rand::thread_rng();
        let last = BLOCKS * 4;
        let (cell, cells) = (random.gen_range(0..last - 8), random.gen_range(1..=8));
        match random.gen_range(0..10) {
            0..5 => self.read(cell, cells),
            5..7 => self.write(cell, cells),
            7 if self.model.lock().unwrap().cells.len() < last as usize => self.append(cells.min(2)),
            8 => self.set_len(random.gen_range(1..=last)),
            _ => self.open(),
        }
    }
}

/// A file of so many cells in a cache of 6 blocks, and its users by number; number 0 changes it behind the cache.
fn users(policy: &str, cells: u64, count: usize) -> Vec<User> {
    let policy = PolicySpec::parse(policy).unwrap();
    let settings = Settings { policy, memory: 6 * BLOCK, block: BLOCK, rules: None, seed: 1, store: None };
    let cache = Arc::new(FileCache::new(&settings, None).unwrap());
    let mut model = Model { seen: vec![Vec::new(); 2 * (BLOCKS * 4) as usize], ..Model::default() };
    model.resize(OTHER, cells);
    let model = Arc::new(Mutex::new(model));
    let file = cache.file("/f", Kind::Datafile);
    let user = |who| {
        let source: Arc<dyn Source> = Arc::new(Handle { who, model: model.clone() });
        let stream = Stream::default();
        User { cache: cache.clone(), model: model.clone(), file, who, source, stream }
    };
    let users: Vec<User> = (0..count).map(user).collect();
    users[1].open();
    users
}

/// Has all of them work at once, each in its way, and then looks whether the cache has the file as it is.
fn at_once(users: Vec<User>, work: impl Fn(&User) + Send + Copy + 'static) {
    let users: Vec<Arc<User>> = users.into_iter().map(Arc::new).collect();
    let threads = users.iter().cloned().map(|user| thread::spawn(move || work(&user)));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    users[1].open();
    users[1].read(0, 2 * BLOCKS * 4);
    users[1].cache.validate();
    users[1].cache.end_tier();
}

#[test]
fn reads_find_what_was_written_whatever_the_order() {
    for policy in ["lru", "arc", "s3-fifo", "virtual(lru,quantum=12,unit=512B,queue=64K)"] {
        check(policy, 2000, move || {
            at_once(users(policy, 40, 4), |user| {
                for _ in 0..4 {
                    match user.who {
                        OTHER => user.open(),
                        _ => user.act(),
                    }
                }
            });
        });
    }
}

/// The same with 3 blocks in memory, and others in a tier below, while another process writes to the file.
#[test]
fn reads_find_what_was_written_with_a_tier_below() {
    for policy in ["lru", "arc"] {
        check(&format!("{policy} with a tier"), 2000, move || {
            let users = users(policy, 40, 4);
            users[1].cache.put_on(tier()).unwrap();
            users[1].cache.reconfigure(Some(3 * BLOCK), None).unwrap();
            users[1].open();
            users[1].read(0, 40);
            at_once(users, |user| {
                for _ in 0..4 {
                    match user.who {
                        OTHER => user.open(),
                        _ if shuttle::rand::thread_rng().gen_range(0..2) == 0 => user.read(0, 12),
                        _ => user.act(),
                    }
                }
            });
        });
    }
}

/// One thread writes behind the cache while others write through it.
#[test]
fn what_changes_behind_the_cache_is_found_at_the_next_open() {
    check("behind", 3000, || change_behind(users("lru", 40, 3)));
    check("behind a tier", 2000, || {
        let users = users("lru", 40, 3);
        users[1].cache.put_on(tier()).unwrap();
        users[1].open();
        (0..2).for_each(|_| users[1].read(0, 40));
        change_behind(users);
    });
}

fn change_behind(users: Vec<User>) {
    at_once(users, |user| match user.who {
        OTHER => {
            for cell in [0, 9] {
                let mut model = user.model.lock().unwrap();
                let number = model.draw();
                model.write(OTHER, number, cell..cell + 3);
            }
        }
        1 => {
            user.read(0, 8);
            user.write(4, 2);
            user.open();
            user.read(0, 12);
        }
        _ => (0..3).for_each(|_| user.act()),
    });
}

/// In a loop each reference has the scheme bring in the block that is referenced next: here the one in which the file
/// ends, by the write that makes it longer.
#[test]
fn what_a_scheme_brings_in_has_no_old_end() {
    check("virtual", 2000, || {
        let users = users("virtual(lru,quantum=12,unit=512B,queue=64K)", BLOCKS * 4, 3);
        for _ in 0..6 {
            (0..BLOCKS).rev().for_each(|block| users[1].read(block * 4, 4));
        }
        let last = BLOCKS - 3;
        at_once(users, move |user| match user.who {
            OTHER => {}
            1 => {
                user.read((last + 2) * 4, 4);
                user.cut(last * 4 + 1);
                user.write((last + 1) * 4, 4);
            }
            _ => user.read(last * 4, 4),
        });
    });
}
