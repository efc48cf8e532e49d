//! Writing `.hst` traces, from front to back.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use hotset_core::request::{Kind, Op, Request};

use super::{
    BLOCK_REQUESTS, Header, Stats,
    block::BlockEncoder,
    bytes::put_string,
    index::{self, BlockPlace, Index},
    names::{Entries, put_file},
    prelude,
    section::{Packer, Type},
};
use crate::{Batch, Tables, TraceError, TraceReader, batch::UNKNOWN_SIZE, error::Place};

/// Bytes of table entries after which they get a section of their own.
const TABLE_SECTION: usize = 1 << 20;

/// Writes a trace. It never goes back, so a pipe will do, and what has been written stays readable if the writer is
/// interrupted; dropping it without [`Writer::finish`] writes the last requests, but no footer.
pub struct Writer<W: Write> {
    out: W,
    path: PathBuf,
    position: u64,
    packer: Packer,
    encoder: BlockEncoder,
    /// Requests of the block at hand.
    waiting: Batch,
    files: Entries,
    apps: Entries,
    /// Requests until all table entries are looked through for changes.
    until_sweep: usize,
    index: Index,
    stats: Stats,
    /// False once it is finished or has failed: nothing more may be written.
    open: bool,
}

impl Writer<File> {
    /// Writes to a file, which is replaced if it exists.
    pub fn create(path: &Path, header: &Header) -> Result<Writer<File>, TraceError> {
        let file = File::create(path).map_err(|error| TraceError::io(path, "cannot create the trace", error))?;
        Writer::new(file, path, header)
    }
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, which errors call `path`. Sections go out in one piece each: `out` needs no buffer.
    pub fn new(out: W, path: &Path, header: &Header) -> Result<Writer<W>, TraceError> {
        let failed = |error| TraceError::io(path, "cannot begin the trace", error);
        let mut writer = Writer {
            out,
            path: path.to_owned(),
            position: 0,
            packer: Packer::new().map_err(failed)?,
            encoder: BlockEncoder::new().map_err(failed)?,
            waiting: Batch {
                requests: Vec::with_capacity(BLOCK_REQUESTS),
                file_sizes: Vec::with_capacity(BLOCK_REQUESTS),
                ttls: Vec::new(),
            },
            files: Entries::default(),
            apps: Entries::default(),
            until_sweep: 0,
            index: Index::default(),
            stats: Stats::default(),
            open: true,
        };
        writer.guard(|writer| {
            writer.put(&prelude::write())?;
            writer.section(Type::HEAD, &header.encode())
        })?;
        Ok(writer)
    }

    /// Appends the requests of `batch`. `tables` are those of the trace so far and name every file and application of
    /// the requests: entries that are new are written before the requests; entries that have changed follow now and
    /// then, and at the latest in [`Writer::finish`].
    pub fn push(&mut self, batch: &Batch, tables: &Tables) -> Result<(), TraceError> {
        self.check(batch, tables)?;
        self.guard(|writer| {
            writer.note_new(tables)?;
            writer.until_sweep = writer.until_sweep.saturating_sub(batch.len());
            if writer.until_sweep == 0 {
                writer.sweep(tables)?;
            }
            for (index, request) in batch.requests.iter().enumerate() {
                writer.stats.note(request);
                writer.waiting.requests.push(*request);
                writer.waiting.file_sizes.push(batch.file_sizes.get(index).copied().unwrap_or(UNKNOWN_SIZE));
                writer.waiting.set_ttl(batch.ttl(index));
                if writer.waiting.len() == BLOCK_REQUESTS {
                    writer.cut()?;
                }
            }
            Ok(())
        })
    }

    /// Writes what has been pushed, so that a reader sees it whatever happens next. Blocks that are not full compress
    /// less: call this once in some seconds, not for every batch.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.guard(|writer| {
            writer.cut()?;
            writer.out.flush()
        })
    }

    /// Writes the rest and the footer; `tables` are those of the whole trace. Gives what the trace amounts to.
    pub fn finish(mut self, tables: &Tables) -> Result<Stats, TraceError> {
        self.guard(|writer| {
            writer.sweep(tables)?;
            writer.cut()?;
            writer.footer()?;
            writer.out.flush()
        })?;
        self.open = false;
        Ok(std::mem::take(&mut self.stats))
    }

    /// Writes all that `reader` gives and finishes.
    pub fn copy(mut self, reader: &mut dyn TraceReader) -> Result<Stats, TraceError> {
        let mut batch = Batch::new();
        loop {
            reader.read(&mut batch)?;
            if batch.is_empty() {
                return self.finish(reader.tables());
            }
            self.push(&batch, reader.tables())?;
        }
    }

    /// Does what may fail, but only as long as nothing has failed.
    fn guard(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<(), TraceError> {
        let done = if self.open { write(self) } else { Err(io::Error::other("writing has failed before")) };
        self.open &= done.is_ok();
        done.map_err(|error| TraceError::io(&self.path, "cannot write the trace", error))
    }

    /// Refuses what readers would refuse.
    fn check(&self, batch: &Batch, tables: &Tables) -> Result<(), TraceError> {
        let (files, apps) = (tables.files.len(), tables.apps.len());
        let valid = |request: &Request| {
            usize::from(request.op) < Op::ALL.len()
                && usize::from(request.kind) < Kind::ALL.len()
                && (request.file as usize) < files.max(1)
                && (request.app as usize) < apps.max(1)
        };
        let Some(bad) = batch.requests.iter().position(|request| !valid(request)) else { return Ok(()) };
        let Request { op, kind, file, app, .. } = batch.requests[bad];
        let number = self.stats.requests + bad as u64;
        let message = format!(
            "request {number} has operation {op}, kind {kind}, file {file} and application {app}, which do not all exist: \
             the tables hold {files} files and {apps} applications"
        );
        Err(TraceError::new(&self.path, Place::File, message))
    }

    fn note_new(&mut self, tables: &Tables) -> io::Result<()> {
        for number in self.files.known()..tables.files.len() {
            self.note_file(number, tables)?;
        }
        for number in self.apps.known()..tables.apps.len() {
            self.note_app(number, tables)?;
        }
        Ok(())
    }

    /// Looks through all entries. The more there are, the longer until the next time.
    fn sweep(&mut self, tables: &Tables) -> io::Result<()> {
        for number in 0..tables.files.len() {
            self.note_file(number, tables)?;
        }
        for number in 0..tables.apps.len() {
            self.note_app(number, tables)?;
        }
        self.until_sweep = BLOCK_REQUESTS.max(8 * (tables.files.len() + tables.apps.len()));
        Ok(())
    }

    fn note_file(&mut self, number: usize, tables: &Tables) -> io::Result<()> {
        self.files.note(number, |out| put_file(out, &tables.files[number]));
        if self.files.waiting() > TABLE_SECTION { self.write_files() } else { Ok(()) }
    }

    fn note_app(&mut self, number: usize, tables: &Tables) -> io::Result<()> {
        self.apps.note(number, |out| put_string(out, &tables.apps[number]));
        if self.apps.waiting() > TABLE_SECTION { self.write_apps() } else { Ok(()) }
    }

    fn write_files(&mut self) -> io::Result<()> {
        let Some(entries) = self.files.drain() else { return Ok(()) };
        self.index.tables.push(self.position);
        self.section(Type::FILES, &entries)
    }

    fn write_apps(&mut self) -> io::Result<()> {
        let Some(entries) = self.apps.drain() else { return Ok(()) };
        self.index.tables.push(self.position);
        self.section(Type::APPS, &entries)
    }

    /// Writes the table entries and requests that wait.
    fn cut(&mut self) -> io::Result<()> {
        self.write_files()?;
        self.write_apps()?;
        let Some(request) = self.waiting.requests.first() else { return Ok(()) };
        let first = self.stats.requests - self.waiting.len() as u64;
        let place = BlockPlace { offset: self.position, first, time: request.time };
        let raw = self.encoder.encode(first, &self.waiting)?;
        self.waiting.clear();
        self.section(Type::REQUESTS, &raw)?;
        self.index.blocks.push(place);
        Ok(())
    }

    fn footer(&mut self) -> io::Result<()> {
        let footer = self.position;
        for part in self.index.encode() {
            self.section(Type::INDEX, &part)?;
        }
        self.stats.files = self.files.known() as u64;
        self.stats.apps = self.apps.known() as u64;
        self.stats.blocks = self.index.blocks.len() as u64;
        self.section(Type::STATS, &self.stats.clone().encode())?;
        self.section(Type::END, &index::encode_end(footer))
    }

    fn section(&mut self, kind: Type, raw: &[u8]) -> io::Result<()> {
        let framed = self.packer.frame(kind, raw)?;
        self.out.write_all(framed)?;
        self.position += framed.len() as u64;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        if self.open {
            // The error cannot be reported here; earlier sections stay readable.
            let _ = self.flush();
        }
    }
}
