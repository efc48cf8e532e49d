//! The reader: lines in, references out.

use hotset_trace::{
    Addressing, Batch, Meta, Tables, TraceError, TraceReader,
    batch::BATCH_REQUESTS,
    error::Place,
    input::Input,
    runner::{Malformed, lines::LONGEST_LINE, number::whole},
};
use memchr::{memchr, memmem};

use super::{
    arguments::makes_process,
    line::{Event, Line},
    story::Story,
};
use crate::{
    call::{Handle, Sharing},
    model::{Model, Oddity},
    options::StraceOptions,
};

/// How far ahead the log is searched for the parent of a new process, in bytes.
const LOOK_AHEAD: usize = 4 << 20;

/// Reads a log made by strace as a trace of file references.
///
/// Requests come in the order in which the calls returned, with the time of the line that tells it. Memory grows with
/// the number of processes and files, not with the length of the log.
pub struct StraceReader {
    input: Input,
    meta: Meta,
    story: Story,
    line: u64,
    skip_bad: bool,
    prompt: bool,
    skipped: u64,
    at_end: bool,
}

impl StraceReader {
    /// A reader of the log that `input` stands at the beginning of.
    pub fn new(mut input: Input, options: StraceOptions) -> Result<StraceReader, TraceError> {
        if options.prompt {
            while memchr(b'\n', input.data()).is_none() && input.more()? {}
        } else {
            input.at_least(super::HEAD_BYTES)?;
        }
        let head = input.data();
        let has_time =
            head.split(|&byte| byte == b'\n').any(|line| Line::parse(line).is_ok_and(|line| line.time.is_some()));
        let mut options = options;
        if options.directory.is_none() {
            options.directory = first_directory(head);
        }
        let (skip_bad, prompt) = (options.skip_bad, options.prompt);
        let meta = Meta {
            format: "strace",
            addressing: Addressing::Bytes { unit: None },
            has_time,
            has_ops: true,
            sample: None,
        };
        Ok(StraceReader {
            input,
            meta,
            story: Story::new(Model::new(options)),
            line: 1,
            skip_bad,
            prompt,
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

    /// A process is heard for the first time: its parent is the one that is in a call that makes a process. Of several,
    /// the one whose call is going to return this process.
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
        let sharing = Sharing::parse(self.story.model.processes.text_of_call(parent));
        self.story.model.processes.met_child(parent);
        self.story.model.fork(parent, pid, sharing);
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
            } else if self.prompt && !batch.is_empty() {
                break;
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
    Some(handle.shown?.path.into_owned())
}
