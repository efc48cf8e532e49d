//! Crash images: the possible contents of a disk after every prefix of the calls, and whether they are right. As redb's
//! crash backend and CrashMonkey do.
//!
//! The source logs the calls that it receives, and the test its requests and their answers, all into one [`Journal`].
//! [`images_are_right`] cuts that after every event. If the process is killed there, everything that has reached the
//! source is on the disk. If the power fails, only synced data is; of later changes each sector, each size and each
//! directory may independently be old or new: a disk writes them in any order.
//!
//! An image is compared with the requests and answers: data acknowledged as synced (or, where the process was killed,
//! acknowledged) is present, and all other data present was requested.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use hotset_core::random::Rng;

/// Bytes that a disk writes whole.
const SECTOR: usize = 512;

/// A file or a directory.
pub type Inode = u64;

/// The content of a directory.
pub type Names = BTreeMap<String, Inode>;

/// A change of an object.
#[derive(Clone)]
pub enum Change {
    Write {
        file: Inode,
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen {
        file: Inode,
        size: u64,
    },
    /// Names that are given, or taken away, at once.
    Name {
        directory: Inode,
        names: Vec<(String, Option<Inode>)>,
    },
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Change::Write { file, offset, bytes } => write!(f, "{file}: {} bytes at {offset}", bytes.len()),
            Change::SetLen { file, size } => write!(f, "{file}: set to {size} bytes"),
            Change::Name { directory, names } => write!(f, "{directory}: {names:?}"),
        }
    }
}

impl Change {
    pub fn object(&self) -> Inode {
        match self {
            Change::Write { file, .. } | Change::SetLen { file, .. } => *file,
            Change::Name { directory, .. } => *directory,
        }
    }
}

/// The state of a file or a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub bytes: Vec<u8>,
    pub names: Names,
}

impl State {
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { offset, bytes, .. } => {
                let (from, end) = (*offset as usize, *offset as usize + bytes.len());
                self.bytes.resize(self.bytes.len().max(end), 0);
                self.bytes[from..end].copy_from_slice(bytes);
            }
            Change::SetLen { size, .. } => self.bytes.resize(*size as usize, 0),
            Change::Name { names, .. } => {
                for (name, inode) in names.clone() {
                    match inode {
                        Some(inode) => drop(self.names.insert(name, inode)),
                        None => drop(self.names.remove(&name)),
                    }
                }
            }
        }
    }

    fn after(&self, change: &Change) -> State {
        let mut after = self.clone();
        after.apply(change);
        after
    }
}

/// A request to the source: changes, and objects that are on the disk once it is answered.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub changes: Vec<Change>,
    pub syncs: Vec<Inode>,
    /// Files whose changes have reached the source once it is answered, where they may wait otherwise.
    pub written: Vec<Inode>,
}

#[derive(Clone, Debug)]
enum Event {
    /// By the test: a request is made, is answered.
    Asked,
    Answered(Request),
    /// By the source: it has changed, an object of it is on the disk.
    Changed(Change),
    Synced(Inode),
}

/// All that was asked and done, in order.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Event>>>);

impl Journal {
    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap()
    }

    pub fn changed(&self, change: Change) {
        self.events().push(Event::Changed(change));
    }

    pub fn synced(&self, object: Inode) {
        self.events().push(Event::Synced(object));
    }

    /// Logs a request. Its details may be added with the answer, one request after the other.
    pub fn ask<T>(&self, request: impl FnOnce() -> (Request, T)) -> T {
        self.events().push(Event::Asked);
        let (request, answer) = request();
        self.events().push(Event::Answered(request));
        answer
    }
}

/// What becomes of a machine.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// The process is killed.
    Killed,
    /// The power fails: nothing arrives that was not synced.
    Least,
    /// The power fails: this seed tells what arrives.
    Some(u64),
}

/// An object as the source has it.
#[derive(Clone, Debug)]
struct Kept {
    /// As it was synced last, and after each change since.
    since: Vec<State>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { since: vec![State::default()] }
    }
}

impl Kept {
    fn now(&self) -> &State {
        &self.since[self.since.len() - 1]
    }

    fn change(&mut self, change: &Change) -> Inode {
        self.since.push(self.now().after(change));
        change.object()
    }

    fn sync(&mut self, object: Inode) -> Inode {
        self.since.drain(..self.since.len() - 1);
        object
    }

    fn image(&self, end: End) -> State {
        match end {
            End::Killed => self.now().clone(),
            End::Least => self.since[0].clone(),
            End::Some(seed) => {
                let mut random = Rng::new(seed);
                let mut any = || &self.since[random.below(self.since.len() as u32) as usize];
                let (names, size) = (any().names.clone(), any().bytes.len());
                let mut bytes = vec![0; size];
                for (sector, place) in bytes.chunks_mut(SECTOR).zip(0..) {
                    let version = &any().bytes;
                    let from = (place * SECTOR).min(version.len());
                    let there = &version[from..version.len().min(from + sector.len())];
                    sector[..there.len()].copy_from_slice(there);
                }
                State { bytes, names }
            }
        }
    }
}

/// An object as the test believes it to be.
#[derive(Clone, Debug)]
struct Believed {
    /// In the beginning, and after each change that was asked for; with the least size on the way there: a write may
    /// arrive in pieces.
    versions: Vec<(State, usize)>,
    /// The first versions that it may be in, after a failure of power and after a kill.
    synced: usize,
    acknowledged: usize,
}

impl Default for Believed {
    fn default() -> Self {
        Believed { versions: vec![(State::default(), 0)], synced: 0, acknowledged: 0 }
    }
}

impl Believed {
    fn change(&mut self, change: &Change) -> Inode {
        let (before, _) = &self.versions[self.versions.len() - 1];
        let after = before.after(change);
        let least = match change {
            Change::Write { .. } => before.bytes.len(),
            _ => after.bytes.len(),
        };
        self.versions.push((after, least));
        change.object()
    }

    fn acknowledge(&mut self) {
        self.acknowledged = self.versions.len() - 1;
    }

    fn sync(&mut self, object: Inode) -> Inode {
        self.synced = self.acknowledged;
        object
    }

    /// The fault of an image, if it has one.
    fn fault(&self, image: &State, end: End) -> Option<String> {
        let first = if matches!(end, End::Killed) { self.acknowledged } else { self.synced };
        let may_be = || self.versions[first..].iter().map(|(version, _)| version);
        if may_be().any(|version| version == image) {
            return None;
        }
        if !may_be().any(|version| version.names == image.names) {
            let names: Vec<&Names> = may_be().map(|version| &version.names).collect();
            return Some(format!("the names {:?} are none of {names:?}", image.names));
        }
        let size = image.bytes.len();
        let on_the_way = |(version, least): &(State, usize)| (*least..=version.bytes.len()).contains(&size);
        if self.versions[first].0.bytes.len() != size && !self.versions[first + 1..].iter().any(on_the_way) {
            let sizes: Vec<usize> = may_be().map(|version| version.bytes.len()).collect();
            return Some(format!("{size} bytes are none of {sizes:?}"));
        }
        let known = |place: usize, byte: &u8| may_be().any(|version| version.bytes.get(place).unwrap_or(&0) == byte);
        let wrong = image.bytes.iter().enumerate().find(|&(place, byte)| !known(place, byte));
        wrong.map(|(place, byte)| format!("byte {place} is {byte}, which was not written there since"))
    }
}

/// Cuts the journal after every event, and looks at what a disk may hold then, `seeds` ways and the two extreme ones;
/// tells how many images there were. With `waits` what is acknowledged to a file is there after a kill only if it is
/// known to have reached the source, or was synced.
///
/// # Panics
/// If one of them is wrong.
pub fn images_are_right(journal: &Journal, seeds: u64, waits: bool) -> u64 {
    let events = journal.events();
    let mut kept: BTreeMap<Inode, Kept> = BTreeMap::new();
    let mut believed: BTreeMap<Inode, Believed> = BTreeMap::new();
    let mut images = 0;
    for (cut, event) in events.iter().enumerate() {
        // Whatever the event does not touch was looked at before.
        let touched: Vec<Inode> = match event {
            Event::Asked => {
                // The results of later answers are on their way from now on.
                let answers = events[cut..].iter().filter_map(|event| match event {
                    Event::Answered(request) => Some(request),
                    _ => None,
                });
                let changes = answers.take(1).flat_map(|request| &request.changes);
                changes.map(|change| believed.entry(change.object()).or_default().change(change)).collect()
            }
            Event::Answered(Request { changes, syncs, written }) => {
                let mut touched: Vec<Inode> = changes.iter().map(Change::object).collect();
                let at_once = changes.iter().filter(|change| !waits || matches!(change, Change::Name { .. }));
                let there = at_once.map(Change::object).chain(syncs.iter().chain(written).copied());
                there.for_each(|object| believed.entry(object).or_default().acknowledge());
                touched.extend(written);
                touched.extend(syncs.iter().map(|object| believed.entry(*object).or_default().sync(*object)));
                touched
            }
            Event::Changed(change) => vec![kept.entry(change.object()).or_default().change(change)],
            Event::Synced(object) => vec![kept.entry(*object).or_default().sync(*object)],
        };
        for object in touched {
            let (kept, believed) = (kept.entry(object).or_default(), believed.entry(object).or_default());
            let some = (0..seeds).map(|seed| End::Some(seed << 32 | cut as u64));
            for end in [End::Killed, End::Least].into_iter().chain(some) {
                images += 1;
                if let Some(fault) = believed.fault(&kept.image(end), end) {
                    let lately = &events[cut.saturating_sub(12)..=cut];
                    panic!("event {cut}, {end:?}, object {object}: {fault}; after {lately:#?}");
                }
            }
        }
    }
    images
}
