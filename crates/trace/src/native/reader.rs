//! Reading `.hst` traces, from pipes and files.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::{
    Fault, Header, Stats,
    block::{Block, Known},
    damage::Damage,
    index::{self, Index},
    memory_reader::Piece,
    names, prelude,
    section::{self, Head, Type, Unpacker},
};
use crate::{
    Batch, Meta, Tables, TraceError, TraceReader,
    batch::BATCH_REQUESTS,
    error::{OPENING, Place},
};

/// Reads a trace from front to back; where the source can seek, also from any request on.
///
/// Whatever the bytes claim, it holds one section (4 MiB stored, 4 MiB unfolded), one decoded piece of a block, and the
/// tables and the index, which take at most about 1 KiB of memory for a stored byte.
pub struct Reader<R> {
    source: R,
    path: PathBuf,
    /// Bytes taken from the source, without [`Reader::ahead`].
    position: u64,
    /// A byte that was taken to see whether there is one.
    ahead: Option<u8>,
    /// How to go to an offset of the source, if it can.
    jump: Option<fn(&mut R, u64) -> io::Result<u64>>,
    unpacker: Unpacker,
    /// The section at hand as it is stored, and its content unless that is a block.
    framed: Vec<u8>,
    content: Vec<u8>,
    block: Block,
    /// Offset of the block at hand.
    block_at: u64,
    header: Header,
    /// Offset of the first section behind the header.
    body: u64,
    tables: Tables,
    /// Table sections before this offset have been applied.
    tables_until: u64,
    index: Option<Index>,
    stats: Option<Stats>,
    /// Number of the request behind the block at hand.
    next: u64,
    pub(super) damage: Damage,
    pub(super) ended: bool,
    /// The next entry of a trace of memory.
    pub(super) piece: Piece,
}

/// The section that a source holds next.
enum Next {
    /// It is whole; its header.
    Whole(Head),
    /// The source ends before it does.
    Torn,
    /// It is damaged; whether the one behind it can be found.
    Bad(Fault, bool),
}

impl Reader<File> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Reader<File>, TraceError> {
        let file = File::open(path).map_err(|error| TraceError::io(path, OPENING, error))?;
        match file.metadata() {
            Ok(about) if about.is_file() => Reader::seekable(file, path),
            _ => Reader::new(file, path),
        }
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads from a source that can seek; it begins at offset 0. Errors call it `path`.
    pub fn seekable(source: R, path: &Path) -> Result<Reader<R>, TraceError> {
        let mut reader = Reader::new(source, path)?;
        reader.jump = Some(|source, offset| source.seek(SeekFrom::Start(offset)));
        let body = reader.body;
        reader.read_footer().map_err(|error| reader.failed(error))?;
        reader.jump_to(body)?;
        Ok(reader)
    }

    /// Takes index and statistics from the end of a complete file. A damaged footer is reported when reading reaches
    /// it.
    fn read_footer(&mut self) -> io::Result<()> {
        let length = self.source.seek(SeekFrom::End(0))?;
        let tail = length.min(index::END_BYTES as u64);
        self.position = self.source.seek(SeekFrom::Start(length - tail))?;
        self.framed.clear();
        self.fill(index::END_BYTES)?;
        let Some(footer) = index::find_end(&self.framed) else { return Ok(()) };
        self.position = self.source.seek(SeekFrom::Start(footer))?;
        let mut index = Index::default();
        while let Next::Whole(head) = self.next_section()? {
            let mut content = std::mem::take(&mut self.content);
            let unpacked = self.unpacker.unpack(&head, &self.framed[section::HEADER_BYTES..], &mut content);
            let taken = unpacked.and_then(|()| match head.kind {
                Type::INDEX => index.decode(&content),
                Type::STATS => Stats::decode(&content).map(|stats| self.stats = Some(stats)),
                _ => Ok(()),
            });
            self.content = content;
            if taken.is_err() {
                return Ok(());
            }
            if head.kind == Type::END {
                self.index = Some(index);
                return Ok(());
            }
        }
        Ok(())
    }
}

impl<R: Read> Reader<R> {
    /// Reads from `source`, which errors call `path`, beginning with its first byte.
    pub fn new(source: R, path: &Path) -> Result<Reader<R>, TraceError> {
        let unpacker = Unpacker::new().map_err(|error| TraceError::io(path, "cannot begin to read", error))?;
        let meta =
            Meta { format: "", addressing: crate::Addressing::Objects, has_time: false, has_ops: false, sample: None };
        let mut reader = Reader {
            source,
            path: path.to_owned(),
            position: 0,
            ahead: None,
            jump: None,
            unpacker,
            framed: Vec::new(),
            content: Vec::new(),
            block: Block::empty(),
            block_at: 0,
            header: Header { meta, is_memory: false, metadata: Vec::new() },
            body: 0,
            tables: Tables::default(),
            tables_until: 0,
            index: None,
            stats: None,
            next: 0,
            damage: Damage::default(),
            ended: false,
            piece: Piece::default(),
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// Whether sections that are damaged are passed over and counted instead of being errors.
    pub fn skip_bad(mut self, skip: bool) -> Reader<R> {
        self.damage.skip = skip;
        self
    }

    /// The description in the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Offset of the next section.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The totals of the trace: known from the start if the source can seek, otherwise once all has been read. `None`
    /// if the recording was interrupted.
    pub fn stats(&self) -> Option<&Stats> {
        self.stats.as_ref()
    }

    /// Goes on with this request; the one behind the last is the end. An error if the source cannot seek or has fewer
    /// requests.
    pub fn seek_to(&mut self, request: u64) -> Result<(), TraceError> {
        let place = self.index.as_ref().and_then(|index| index.block_of(request)).copied();
        self.block.close();
        self.damage.forget();
        if let Some(place) = place {
            self.read_tables_before(place.offset)?;
        }
        self.jump_to(place.map_or(self.body, |place| place.offset))?;
        self.next = place.map_or(0, |place| place.first);
        self.ended = false;
        while !self.ended {
            self.advance()?;
            let block = self.block.range();
            if self.block.left() > 0 && request < block.end {
                return self.drop_requests(request.saturating_sub(block.start));
            }
            self.block.close();
        }
        if request == self.next {
            return Ok(());
        }
        let message = format!("cannot go to request {request}: the trace has {}", self.next);
        Err(TraceError::new(&self.path, Place::File, message))
    }

    /// Decodes requests of the current block without delivering them.
    fn drop_requests(&mut self, count: u64) -> Result<(), TraceError> {
        self.decode(&mut Batch::new(), count as usize)
    }

    /// Decodes up to `limit` requests of the block at hand into an empty batch, which stays empty where the block is
    /// damaged.
    fn decode(&mut self, batch: &mut Batch, limit: usize) -> Result<(), TraceError> {
        let left = self.block.left() as u64;
        let Err(fault) = self.block.read(batch, limit) else { return Ok(()) };
        batch.clear();
        self.damaged(self.block_at, fault, true)?;
        self.damage.lost(left);
        Ok(())
    }

    fn read_tables_before(&mut self, offset: u64) -> Result<(), TraceError> {
        let tables = self.index.as_ref().map_or(&[][..], |index| &index.tables);
        let wanted = |table: &&u64| (self.tables_until..offset).contains(*table);
        for table in tables.iter().filter(wanted).copied().collect::<Vec<_>>() {
            self.jump_to(table)?;
            self.advance()?;
        }
        Ok(())
    }

    fn jump_to(&mut self, offset: u64) -> Result<(), TraceError> {
        let Some(jump) = self.jump else {
            return Err(TraceError::new(&self.path, Place::File, "cannot seek in a trace that comes from a pipe"));
        };
        self.ahead = None;
        self.position = jump(&mut self.source, offset).map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn read_header(&mut self) -> Result<(), TraceError> {
        self.fill(prelude::BYTES).map_err(|error| self.failed(error))?;
        prelude::check(&self.framed).map_err(|fault| self.at(0, fault))?;
        let offset = self.position;
        let head = match self.next_section().map_err(|error| self.failed(error))? {
            Next::Whole(head) if head.kind == Type::HEAD => head,
            Next::Whole(head) => {
                return Err(self.at(offset, format!("found a {} section; expected the header", head.kind)));
            }
            Next::Torn => return Err(self.at(offset, "the file ends within its header".to_owned())),
            Next::Bad(fault, _) => return Err(self.at(offset, fault)),
        };
        let stored = &self.framed[section::HEADER_BYTES..];
        let unpacked = self.unpacker.unpack(&head, stored, &mut self.content);
        self.header = unpacked.and_then(|()| Header::decode(&self.content)).map_err(|fault| self.at(offset, fault))?;
        self.body = self.position;
        Ok(())
    }

    /// Reads the next section and takes it in.
    pub(super) fn advance(&mut self) -> Result<(), TraceError> {
        let offset = self.position;
        match self.next_section().map_err(|error| self.failed(error))? {
            Next::Whole(head) => match self.take(offset, &head) {
                Ok(()) => Ok(()),
                Err(fault) => self.damaged(offset, fault, true),
            },
            Next::Torn => {
                self.damage.interrupted(offset, self.next);
                self.ended = true;
                Ok(())
            }
            Next::Bad(fault, goes_on) => self.damaged(offset, fault, goes_on),
        }
    }

    /// Takes in the section at hand.
    fn take(&mut self, offset: u64, head: &Head) -> Result<(), Fault> {
        let stored = &self.framed[section::HEADER_BYTES..];
        if head.kind == Type::REQUESTS {
            self.unpacker.unpack(head, stored, &mut self.block.raw)?;
            self.block_at = offset;
            return self.take_block();
        }
        self.unpacker.unpack(head, stored, &mut self.content)?;
        match head.kind {
            Type::FILES | Type::APPS => self.take_names(offset, head.kind),
            Type::PAGES => self.take_pages(),
            Type::OBJECTS => self.piece.take_objects(&self.content),
            Type::STATS => Stats::decode(&self.content).map(|stats| self.stats = Some(stats)),
            Type::END => self.take_end(),
            Type::HEAD => Err("found a second header; expected tables and requests".to_owned()),
            kind if head.essential => {
                Err(format!("the trace needs sections of type {kind}, which this program does not know"))
            }
            _ => Ok(()),
        }
    }

    fn take_block(&mut self) -> Result<(), Fault> {
        let all = Known { files: self.tables.files.len(), apps: self.tables.apps.len() };
        self.block.open(if self.damage.is_known() { Known::BEHIND_DAMAGE } else { all })?;
        let range = self.block.range();
        if range.start < self.next || (range.start > self.next && !self.damage.is_known()) {
            self.block.close();
            return Err(format!("found requests from number {}; expected number {}", range.start, self.next));
        }
        self.damage.lost(range.start - self.next);
        self.next = range.end;
        Ok(())
    }

    fn take_pages(&mut self) -> Result<(), Fault> {
        let range = self.piece.take_pages(&self.content, self.damage.is_known())?;
        if range.start < self.next || (range.start > self.next && !self.damage.is_known()) {
            self.piece.close();
            return Err(format!("found runs from number {}; expected number {}", range.start, self.next));
        }
        self.damage.lost(range.start - self.next);
        self.next = range.end;
        Ok(())
    }

    fn take_names(&mut self, offset: u64, kind: Type) -> Result<(), Fault> {
        if offset < self.tables_until {
            return Ok(());
        }
        self.tables_until = self.position;
        if kind == Type::FILES {
            names::read_files(&self.content, &mut self.tables)
        } else {
            names::read_apps(&self.content, &mut self.tables)
        }
    }

    fn take_end(&mut self) -> Result<(), Fault> {
        self.ended = true;
        // A trace holds requests or runs.
        let total = self.stats.as_ref().map_or(self.next, |stats| stats.requests.saturating_add(stats.runs));
        if total < self.next || (total > self.next && !self.damage.is_known()) {
            return Err(format!("the trace ends after {} requests, but its statistics count {total}", self.next));
        }
        self.damage.lost(total - self.next);
        self.next = total;
        match self.is_at_end() {
            Ok(false) => Err("bytes follow the end of the trace; expected none".to_owned()),
            _ => Ok(()),
        }
    }

    /// Passes over a section that is damaged, or makes it an error. If nothing behind it can be found, the trace ends
    /// here.
    fn damaged(&mut self, offset: u64, fault: Fault, goes_on: bool) -> Result<(), TraceError> {
        self.ended |= !goes_on || !self.damage.skip;
        if !self.damage.skip {
            return Err(self.at(offset, fault));
        }
        self.damage.section(offset, &fault, goes_on, self.next);
        Ok(())
    }

    /// Reads the next section as it is stored, and checks it.
    fn next_section(&mut self) -> io::Result<Next> {
        self.framed.clear();
        if !self.fill(section::HEADER_BYTES)? {
            return Ok(Next::Torn);
        }
        let bytes = self.framed.as_slice().try_into().expect("filled with a header");
        let head = match Head::parse(bytes) {
            Ok(head) => head,
            Err(fault) => return Ok(Next::Bad(fault, false)),
        };
        let filled = self.fill(head.stored)?;
        if filled && section::is_intact(&self.framed) {
            return Ok(Next::Whole(head));
        }
        let complete = head.kind != Type::END && index::find_end(&self.framed).is_some();
        if !complete && (!filled || self.is_at_end()?) {
            return Ok(Next::Torn);
        }
        let fault = if filled {
            format!("the {} section is damaged: its checksum does not fit", head.kind)
        } else {
            format!("the {} section claims {} bytes, more than the file has left", head.kind, head.stored)
        };
        Ok(Next::Bad(fault, filled))
    }

    /// Appends `count` bytes of the source to the section at hand; false if the source ends before.
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        let wanted = self.framed.len() + count;
        self.framed.reserve(count);
        if count > 0 {
            self.framed.extend(self.ahead.take());
        }
        let before = self.framed.len();
        self.source.by_ref().take((wanted - before) as u64).read_to_end(&mut self.framed)?;
        self.position += (self.framed.len() + count - wanted) as u64;
        Ok(self.framed.len() == wanted)
    }

    fn is_at_end(&mut self) -> io::Result<bool> {
        if self.ahead.is_none() {
            let mut byte = Vec::new();
            self.source.by_ref().take(1).read_to_end(&mut byte)?;
            self.ahead = byte.first().copied();
        }
        Ok(self.ahead.is_none())
    }

    fn at(&self, offset: u64, fault: Fault) -> TraceError {
        TraceError::new(&self.path, Place::Byte(offset), fault)
    }

    /// The source may be a trace input that tells its own errors better.
    fn failed(&self, error: io::Error) -> TraceError {
        error
            .downcast::<TraceError>()
            .unwrap_or_else(|error| TraceError::io(&self.path, "cannot read the trace", error))
    }
}

impl<R: Read + Send> TraceReader for Reader<R> {
    fn meta(&self) -> &Meta {
        &self.header.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.is_empty() && !(self.ended && self.block.left() == 0) {
            if self.block.left() > 0 {
                self.decode(batch, BATCH_REQUESTS)?;
            } else {
                self.advance()?;
            }
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.damage.sections()
    }

    fn remarks(&self) -> Vec<String> {
        let sample = self.header.meta.sample;
        let sample = sample.map(|share| format!("this is a sample of {share} of the objects or blocks of a trace"));
        self.damage.remarks().into_iter().chain(sample).collect()
    }
}
