//! The reader: lines in, references out.

use hotset_trace::{
    Addressing, Batch, Meta, Tables, TraceError, TraceReader,
    batch::BATCH_REQUESTS,
    error::Place,
    input::Input,
    runner::{
        Malformed,
        lines::LONGEST_LINE,
        number::{unexpected, whole},
    },
};
use memchr::{memchr, memmem};

use super::{
    Options,
    call::{Call, Handle},
    calls::processes::{clone_flags, makes_process},
    line::{Clock, Event, Line},
    model::{Model, Scene},
    processes::Pending,
    unattributed::Oddity,
};

/// How far ahead the log is searched for the parent of a new process, in bytes.
const LOOK_AHEAD: usize = 4 << 20;

const DAY: u64 = 24 * 3600 * 1_000_000_000;

/// Reads a log made by strace as a trace of file references.
///
/// Requests come in the order in which the calls returned, with the time of the line that tells it. Memory grows with the number of
/// processes and files, not with the length of the log.
pub struct StraceReader {
    input: Input,
    meta: Meta,
    story: Story,
    line: u64,
    skip_bad: bool,
    skipped: u64,
    at_end: bool,
}

impl StraceReader {
    /// A reader of the log that `input` stands at the beginning of.
    pub fn new(mut input: Input, options: Options) -> Result<StraceReader, TraceError> {
        let head = input.at_least(super::HEAD_BYTES)?;
        let has_time =
            head.split(|&byte| byte == b'\n').any(|line| Line::parse(line).is_ok_and(|line| line.time.is_some()));
        let mut options = options;
        if options.directory.is_none() {
            options.directory = first_directory(head);
        }
        let skip_bad = options.skip_bad;
        let meta = Meta { format: "strace", addressing: Addressing::Bytes { unit: None }, has_time, has_ops: true };
        Ok(StraceReader {
            input,
            meta,
            story: Story { model: Model::new(options), clock: Epoch::default(), joined: Vec::new() },
            line: 1,
            skip_bad,
            skipped: 0,
            at_end: false,
        })
    }

    /// Lines read so far.
    pub fn lines(&self) -> u64 {
        self.line - 1
    }

    /// Handles the line at hand, `length` bytes long; it stays at hand until it has been handled.
    fn handle_line(&mut self, length: usize, batch: &mut Batch) -> Result<(), TraceError> {
        let (requests, sizes) = (batch.requests.len(), batch.file_sizes.len());
        if let Err(message) = self.follow_line(length, batch)? {
            batch.requests.truncate(requests);
            batch.file_sizes.truncate(sizes);
            self.refuse(message)?;
        }
        let end = usize::from(self.input.data().len() > length);
        self.input.consume(length + end);
        self.line += 1;
        Ok(())
    }

    fn refuse(&mut self, message: Malformed) -> Result<(), TraceError> {
        if !self.skip_bad {
            return Err(TraceError::new(self.input.path(), Place::Line(self.line), message));
        }
        self.skipped += 1;
        Ok(())
    }

    fn follow_line(&mut self, length: usize, batch: &mut Batch) -> Result<Result<(), Malformed>, TraceError> {
        if self.input.data()[..length].trim_ascii().is_empty() {
            return Ok(Ok(()));
        }
        let stranger = match Line::parse(&self.input.data()[..length]) {
            Ok(line) if line.is_call() && !self.story.model.processes.knows(line.pid) => line.pid,
            Ok(line) => return Ok(self.story.follow(&line, batch)),
            Err(message) => return Ok(Err(message)),
        };
        self.meet(stranger, length)?;
        Ok(Line::parse(&self.input.data()[..length]).and_then(|line| self.story.follow(&line, batch)))
    }

    /// A process is heard for the first time: its parent is the one that is in a call that makes a process. Of several, the one whose call
    /// is going to return this process.
    fn meet(&mut self, pid: u32, length: usize) -> Result<(), TraceError> {
        let parent = match self.story.model.processes.expecting() {
            [] => {
                self.story.model.add_stray(pid);
                return Ok(());
            }
            [only] => *only,
            [.., latest] => {
                let latest = *latest;
                match self.search_parent(pid, length)? {
                    Some(parent) => parent,
                    None => {
                        self.story.model.unattributed.odd(Oddity::GuessedParent);
                        latest
                    }
                }
            }
        };
        let text = self
            .story
            .model
            .processes
            .find(parent)
            .and_then(|parent| parent.pending.as_ref())
            .map(|call| call.text.clone());
        self.story.model.processes.met_child(parent);
        self.story.model.fork(parent, pid, clone_flags(&text.unwrap_or_default()));
        Ok(())
    }

    /// Searches the lines ahead for the return of the call that has made process `child`.
    fn search_parent(&mut self, child: u32, length: usize) -> Result<Option<u32>, TraceError> {
        let result = format!("= {child}");
        let mut from = length;
        loop {
            let data = self.input.data();
            let whole = memchr::memrchr(b'\n', data).map_or(0, |last| last + 1);
            let mut ahead = data[..whole].get(from..).unwrap_or_default();
            while let Some(found) = memmem::find(ahead, result.as_bytes()) {
                let start = memchr::memrchr(b'\n', &ahead[..found]).map_or(0, |end| end + 1);
                let end = memchr(b'\n', &ahead[found..]).map_or(ahead.len(), |end| found + end);
                let parent = returned_child(&ahead[start..end], child);
                if parent.is_some_and(|parent| self.story.model.processes.expecting().contains(&parent)) {
                    return Ok(parent);
                }
                ahead = &ahead[end..];
            }
            from = whole.max(length);
            if data.len() > LOOK_AHEAD || !self.input.more()? {
                return Ok(None);
            }
        }
    }

    /// Drops a line that is too long to be one, or fails for it.
    fn skip_long_line(&mut self) -> Result<(), TraceError> {
        self.refuse(format!("found a line longer than {} MiB; expected text lines", LONGEST_LINE >> 20).into())?;
        loop {
            let data = self.input.data();
            let end = memchr(b'\n', data);
            let dropped = end.unwrap_or(data.len());
            self.input.consume(dropped);
            if end.is_some() || !self.input.more()? {
                return Ok(());
            }
        }
    }
}

/// What the lines so far have told.
struct Story {
    model: Model,
    clock: Epoch,
    /// The text of a call put together from its two halves.
    joined: Vec<u8>,
}

impl Story {
    /// Follows the event of a line.
    fn follow(&mut self, line: &Line, batch: &mut Batch) -> Result<(), Malformed> {
        let time = line.time.map_or(0, |clock| self.clock.since_first(clock));
        let mut scene = Scene { pid: line.pid, time, batch };
        match line.event {
            Event::Call { name, text } => self.model.call(&mut scene, name, &Call::parse(text)?),
            Event::Unfinished { name, text } => begin(&mut self.model, line.pid, name, text),
            Event::Resumed { name, text } => {
                let pending = self.model.processes.find(line.pid).and_then(|process| process.pending.take());
                let Some(pending) = pending else {
                    self.model.unattributed.odd(Oddity::HeadlessCall);
                    return Ok(());
                };
                if pending.name != name {
                    let expected = format!("the rest of {} of the same process", pending.name.escape_ascii());
                    return Err(unexpected(name, &expected));
                }
                self.joined.clear();
                self.joined.extend_from_slice(&pending.text);
                self.joined.extend_from_slice(text);
                finish(&mut self.model, &mut scene, name, &Call::parse(&self.joined)?)
            }
            Event::Exited => {
                self.model.processes.remove(line.pid);
                Ok(())
            }
            Event::Superseded { by } => {
                self.model.processes.supersede(line.pid, by);
                Ok(())
            }
            Event::Aside => Ok(()),
        }
    }
}

impl TraceReader for StraceReader {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        self.story.model.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH_REQUESTS {
            if let Some(length) = memchr(b'\n', self.input.data()) {
                self.handle_line(length, batch)?;
            } else if !self.at_end {
                if self.input.data().len() > LONGEST_LINE {
                    self.skip_long_line()?;
                }
                self.at_end = !self.input.more()?;
            } else if self.input.data().is_empty() {
                break;
            } else {
                self.handle_line(self.input.data().len(), batch)?;
            }
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.skipped + u64::from(self.input.damage().is_some())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.story.model.unattributed.remarks();
        remarks.extend(self.input.damage().map(str::to_owned));
        remarks
    }
}

/// A call has begun and another process is heard before it returns.
fn begin(model: &mut Model, pid: u32, name: &[u8], text: &[u8]) -> Result<(), Malformed> {
    match name {
        // The descriptor may be given to another thread before this call is heard to return.
        b"close" => model.close(pid, Handle::parse(text.trim_ascii())?),
        _ if makes_process(name) => model.processes.expect_child(pid),
        _ => {}
    }
    model.processes.get(pid).pending = Some(Pending { name: name.into(), text: text.into() });
    Ok(())
}

/// A call returns that had begun on another line.
fn finish(model: &mut Model, scene: &mut Scene, name: &[u8], call: &Call) -> Result<(), Malformed> {
    match name {
        b"close" => Ok(()),
        _ if makes_process(name) => {
            let expected = model.processes.met_child(scene.pid);
            let known = call.returned().is_some_and(|child| model.processes.knows(child as u32));
            // The child that has been heard of already is not made again.
            if expected || !known { model.call(scene, name, call) } else { Ok(()) }
        }
        _ => model.call(scene, name, call),
    }
}

/// The process of a line that tells the return of `child` from a call that makes processes.
fn returned_child(line: &[u8], child: u32) -> Option<u32> {
    let line = Line::parse(line).ok()?;
    let Event::Resumed { name, text } = line.event else {
        return None;
    };
    let result = text.rsplit(|&byte| byte == b'=').next()?.trim_ascii();
    let digits = result.split(|byte| !byte.is_ascii_digit()).next()?;
    (makes_process(name) && whole(digits) == Some(u64::from(child))).then_some(line.pid)
}

/// Where the first process works, if it is shown before it goes elsewhere.
fn first_directory(head: &[u8]) -> Option<Vec<u8>> {
    let text = &head[..memmem::find(head, b"chdir(").unwrap_or(head.len())];
    let found = &text[memmem::find(text, b"AT_FDCWD</")?..];
    let handle = Handle::parse(&found[..memchr(b'\n', found)?]).ok()?;
    Some(handle.shown?.path().into_owned())
}

/// Turns time stamps into nanoseconds since the first.
#[derive(Debug, Default)]
struct Epoch {
    first: Option<u64>,
    last: u64,
    days: u64,
}

impl Epoch {
    fn since_first(&mut self, clock: Clock) -> u64 {
        let now = match clock {
            Clock::Epoch(now) => now,
            Clock::Day(time) => {
                // Half a day back is midnight, less is a clock that was set.
                if time + self.days + DAY / 2 < self.last {
                    self.days += DAY;
                }
                time + self.days
            }
        };
        self.last = now;
        now.saturating_sub(*self.first.get_or_insert(now))
    }
}
