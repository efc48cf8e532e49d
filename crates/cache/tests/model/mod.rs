//! Any bytes, taken as steps: files of a few names are opened, read, changed, renamed, deleted, changed behind the
//! cache, while its scheme and its memory change. Every read is held against a directory of byte arrays. The one body
//! of the fuzz target `live` in `fuzz/` and of the seeded tests.

#[allow(dead_code, reason = "a mount does without")]
pub mod cached;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use hotset_core::random::Rng;

/// The subject of the steps.
pub trait Subject {
    /// An open file. It stays the same file whatever becomes of its name.
    type Handle;
    /// Opens a file to read and write; makes an empty one if there is none.
    fn open(&mut self, name: usize) -> Self::Handle;
    fn read(&mut self, handle: &Self::Handle, offset: u64, length: usize) -> io::Result<Vec<u8>>;
    /// Tells how much was written. What fails has written nothing.
    fn write(&mut self, handle: &Self::Handle, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    /// The same behind the end.
    fn append(&mut self, handle: &Self::Handle, bytes: &[u8]) -> io::Result<usize>;
    fn set_len(&mut self, handle: &Self::Handle, size: u64) -> io::Result<()>;
    /// Gives the file another name, where there may be one already.
    fn rename(&mut self, from: usize, to: usize);
    fn unlink(&mut self, name: usize);
    /// Replaces the bytes of a file behind the cache.
    fn change_behind(&mut self, name: usize, bytes: &[u8]);
    /// Another scheme, other memory, or both; may be refused.
    fn reconfigure(&mut self, policy: Option<&str>, memory: Option<u64>);
    /// Makes the source fail or falter in what comes next; nothing where that cannot be done.
    fn disturb(&mut self, _how: u8) {}
    /// True if an error is one that it was disturbed with.
    fn expects(&self, _error: &io::Error) -> bool {
        false
    }
    /// Panics if something within is wrong.
    fn validate(&mut self) {}
}

/// Names of files.
pub const NAMES: usize = 4;

/// Schemes that it changes between.
pub const POLICIES: [&str; 11] = [
    "lru",
    "arc",
    "lirs",
    "s3-fifo",
    "2q",
    "render",
    "attribute",
    "unix",
    "virtual(lru)",
    "demote(lru, lru)",
    "qos(lru, interval=50, app1=50%)",
];

/// Bytes of a step.
const STEP: usize = 8;

/// Files open at once.
const MOST_OPEN: usize = 8;

type Bytes = Rc<RefCell<Vec<u8>>>;

struct Exercise<'a, S: Subject> {
    subject: &'a mut S,
    files: [Option<Bytes>; NAMES],
    open: Vec<(S::Handle, Bytes)>,
    /// Steps so far.
    time: usize,
}

/// Performs the steps that `bytes` encode.
///
/// # Panics
/// If a read gives anything else than the model.
pub fn exercise<S: Subject>(bytes: &[u8], subject: &mut S) {
    let mut exercise = Exercise { subject, files: Default::default(), open: Vec::new(), time: 0 };
    for step in bytes.as_chunks::<STEP>().0 {
        exercise.time += 1;
        exercise.step(*step);
    }
    for number in 0..exercise.open.len() {
        exercise.read(number, 0, 200_000);
    }
    exercise.subject.validate();
}

/// So many steps that another seed does otherwise.
pub fn steps(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Rng::new(seed);
    (0..count).flat_map(|_| random.bits().to_le_bytes()).collect()
}

impl<S: Subject> Exercise<'_, S> {
    fn step(&mut self, [kind, which, a0, a1, b0, b1, c, d]: [u8; STEP]) {
        let (place, length) = (u64::from(u16::from_le_bytes([a0, a1])), usize::from(u16::from_le_bytes([b0, b1])));
        let (name, other) = (usize::from(which) % NAMES, usize::from(c) % NAMES);
        if self.open.is_empty() {
            self.open(name);
        }
        let handle = usize::from(which) % self.open.len();
        match kind % 16 {
            0 => self.open(name),
            1..=4 => self.read(handle, place, length % 20_000),
            5 | 6 => self.write(handle, place, length % 9000),
            7 => self.append(handle, length % 9000),
            8 => self.set_len(handle, place),
            9 => self.rename(name, other),
            10 => self.unlink(name),
            11 => self.change_behind(name, length % 20_000),
            12 | 13 => {
                let policy = (c & 1 == 0).then(|| POLICIES[usize::from(d) % POLICIES.len()]);
                let memory = (c & 2 == 0).then(|| 512 + (length as u64) * 8);
                self.subject.reconfigure(policy, memory);
                self.subject.validate();
            }
            14 => drop(self.open.swap_remove(handle)),
            _ => self.subject.disturb(c),
        }
    }

    /// Bytes that no other step writes.
    fn fresh(&self, length: usize) -> Vec<u8> {
        let mut random = Rng::new(self.time as u64);
        (0..length).map(|_| random.bits() as u8).collect()
    }

    fn open(&mut self, name: usize) {
        let handle = self.subject.open(name);
        let bytes = self.files[name].get_or_insert_default().clone();
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push((handle, bytes));
    }

    fn read(&mut self, number: usize, offset: u64, length: usize) {
        let (handle, bytes) = &self.open[number];
        let bytes = bytes.borrow();
        let from = (offset as usize).min(bytes.len());
        let expected = &bytes[from..from.saturating_add(length).min(bytes.len())];
        match self.subject.read(handle, offset, length) {
            Ok(found) if found == expected => {}
            Ok(found) => {
                let same = found.iter().zip(expected).take_while(|(found, expected)| found == expected).count();
                let (place, sizes) = (offset + same as u64, (found.len(), expected.len()));
                panic!("step {}: {sizes:?} bytes from {offset} on, found and expected, differ at {place}", self.time);
            }
            Err(error) => assert!(self.subject.expects(&error), "step {}: {error}", self.time),
        }
    }

    /// Checks the number of written bytes.
    fn written(&self, done: io::Result<usize>, most: usize) -> usize {
        match done {
            Ok(done) if done <= most => done,
            Err(error) if self.subject.expects(&error) => 0,
            done => panic!("step {}: {done:?} of {most} bytes", self.time),
        }
    }

    fn write(&mut self, number: usize, offset: u64, length: usize) {
        let new = self.fresh(length);
        let (handle, bytes) = &self.open[number];
        let done = self.subject.write(handle, offset, &new);
        let done = self.written(done, length);
        if done > 0 {
            let (mut bytes, from) = (bytes.borrow_mut(), offset as usize);
            let size = bytes.len().max(from + done);
            bytes.resize(size, 0);
            bytes[from..from + done].copy_from_slice(&new[..done]);
        }
    }

    fn append(&mut self, number: usize, length: usize) {
        let new = self.fresh(length);
        let (handle, bytes) = &self.open[number];
        let done = self.subject.append(handle, &new);
        bytes.borrow_mut().extend_from_slice(&new[..self.written(done, length)]);
    }

    fn set_len(&mut self, number: usize, size: u64) {
        let (handle, bytes) = &self.open[number];
        match self.subject.set_len(handle, size) {
            Ok(()) => bytes.borrow_mut().resize(size as usize, 0),
            Err(error) => assert!(self.subject.expects(&error), "step {}: {error}", self.time),
        }
    }

    fn rename(&mut self, from: usize, to: usize) {
        if from != to && self.files[from].is_some() {
            self.subject.rename(from, to);
            self.files[to] = self.files[from].take();
        }
    }

    fn unlink(&mut self, name: usize) {
        if self.files[name].take().is_some() {
            self.subject.unlink(name);
        }
    }

    /// Such a change is noticed when the file is opened.
    fn change_behind(&mut self, name: usize, length: usize) {
        let new = self.fresh(length);
        if let Some(bytes) = &self.files[name] {
            self.subject.change_behind(name, &new);
            *bytes.borrow_mut() = new;
            self.open(name);
        }
    }
}
