//! Traces of several applications made into one, as if they had run side by side.
//!
//! Each part keeps its files to itself, even those of the same name, and all its requests are those of one application.
//! Objects of a trace that is addressed by ids stay those of their part too: the ids of part n are shifted by n · 2^56.

use hotset_core::request::{FLAG_CONTINUED, Op, Request};

use crate::batch::{BATCH_REQUESTS, UNKNOWN_SIZE};
use crate::error::Place;
use crate::{Addressing, Batch, FileInfo, Meta, Tables, TraceError, TraceReader};

/// Opens the trace of a part, once for each pass over it.
pub type Opener = Box<dyn FnMut() -> Result<Box<dyn TraceReader>, TraceError> + Send>;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// The order of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One request of each part in turn, as long as it has any; the mix has no times.
    Request,
    /// One reference to a page of 4 KB of each part in turn, as long as it has any. A read or a write is as many
    /// requests as it touches pages. Requests without data and mappings take no turn: they come before the next page of
    /// their part. The mix has no times.
    Page,
    /// The earliest time first. The times of each part count from its own first request.
    Time,
}

/// One application of a mix.
pub struct MixPart {
    /// Its name.
    pub name: String,
    /// Its trace.
    pub open: Opener,
    /// Passes over the trace, at least 1. Each begins when the one before it has ended.
    pub loops: u32,
    /// Nanoseconds after which it begins.
    pub start: u64,
    /// Nanoseconds that a pass takes: times are stretched or pressed together. As recorded if `None`.
    pub span: Option<u64>,
}

/// The mix, a trace like any other.
pub struct Mix {
    order: Order,
    meta: Meta,
    tables: Tables,
    players: Vec<Player>,
    /// Whose turn it is in lockstep.
    turn: usize,
    /// The part whose request goes on in the next batch.
    open: Option<usize>,
    skipped: u64,
    remarks: Vec<String>,
}

/// A part being read.
struct Player {
    part: MixPart,
    reader: Box<dyn TraceReader>,
    batch: Batch,
    /// The next request in the batch.
    at: usize,
    /// Pages of a request that wait for their turns, and the size of the file.
    rest: Option<(Request, Option<u64>)>,
    /// Numbers in the mix by those of the trace.
    files: Vec<u32>,
    passes: u32,
    clock: Clock,
    has_ended: bool,
}

/// From times of a trace to those of the mix.
struct Clock {
    /// When this pass begins.
    base: u64,
    /// The trace's time of its first request.
    first: Option<u64>,
    /// Times are multiplied by the first and divided by the second.
    stretch: (u64, u64),
    /// The last time given.
    last: u64,
}

impl Clock {
    fn time(&mut self, time: u64) -> u64 {
        let since = time.saturating_sub(*self.first.get_or_insert(time));
        let time = self.base.saturating_add(self.stretched(since));
        // Traces may step back a little; a mix does not.
        self.last = self.last.max(time);
        self.last
    }

    /// The length in the mix of a time of the trace.
    fn stretched(&self, time: u64) -> u64 {
        let stretched = u128::from(time) * u128::from(self.stretch.0) / u128::from(self.stretch.1);
        u64::try_from(stretched).unwrap_or(u64::MAX)
    }
}

impl Mix {
    /// Opens all parts. Fails if one of them is of memory, lacks the times or the pages that the order asks for, or is
    /// addressed otherwise than the first.
    pub fn new(parts: Vec<MixPart>, order: Order) -> Result<Mix, TraceError> {
        let apps = parts.iter().map(|part| part.name.clone()).collect();
        let players: Vec<Player> = parts.into_iter().map(|part| Player::new(part, order)).collect::<Result<_, _>>()?;
        let metas: Vec<&Meta> = players.iter().map(|player| player.reader.meta()).collect();
        let addressing = common_addressing(&players)?;
        let sample = common_sample(&players)?;
        let meta = Meta {
            format: "mix",
            addressing,
            has_time: order == Order::Time,
            has_ops: metas.iter().any(|meta| meta.has_ops),
            sample,
        };
        let tables = Tables { files: Vec::new(), apps };
        Ok(Mix { order, meta, tables, players, turn: 0, open: None, skipped: 0, remarks: Vec::new() })
    }

    /// The part that comes next; `None` if all have ended.
    fn next_part(&mut self) -> Result<Option<usize>, TraceError> {
        let mut next: Option<(u64, usize)> = None;
        let count = self.players.len();
        for step in 0..count {
            let number = (self.turn + step) % count;
            if !self.players[number].is_ready(&mut self.skipped, &mut self.remarks)? {
                continue;
            }
            if self.order != Order::Time {
                self.turn = (number + 1) % count;
                return Ok(Some(number));
            }
            let time = self.players[number].peek_time();
            if next.is_none_or(|(earliest, _)| time < earliest) {
                next = Some((time, number));
            }
        }
        Ok(next.map(|(_, number)| number))
    }

    /// Appends the requests of a part until one of them references a page, as far as they fit in the batch.
    fn take_page(&mut self, number: usize, out: &mut Batch) -> Result<(), TraceError> {
        let player = &mut self.players[number];
        while player.is_ready(&mut self.skipped, &mut self.remarks)? {
            if out.len() >= BATCH_REQUESTS {
                // The turn goes on in the next batch.
                self.turn = number;
                return Ok(());
            }
            let (request, size) = match player.rest.take() {
                Some(rest) => rest,
                None => {
                    // Only objects expire, and these are pages.
                    let (request, size, _) = player.next(&mut self.tables, number as u32);
                    (request, size)
                }
            };
            let request = Request { time: 0, ..request };
            if !matches!(request.op(), Op::Read | Op::Write) || request.length == 0 {
                out.push(request, request.length.into(), size);
                continue;
            }
            let here = (PAGE_BYTES - request.offset % PAGE_BYTES).min(request.length.into()) as u32;
            let flags = request.flags & !FLAG_CONTINUED;
            if here < request.length {
                let (offset, length) = (request.offset + u64::from(here), request.length - here);
                player.rest = Some((Request { offset, length, ..request }, size));
            }
            out.push(Request { length: here, flags, ..request }, here.into(), size);
            return Ok(());
        }
        Ok(())
    }

    /// Appends the next request of a part, with its continuations as far as they fit in the batch.
    fn take(&mut self, number: usize, out: &mut Batch) -> Result<(), TraceError> {
        let player = &mut self.players[number];
        loop {
            let (mut request, size, mut ttl) = player.next(&mut self.tables, number as u32);
            match self.order {
                Order::Time => {
                    request.time = player.clock.time(request.time);
                    ttl = player.clock.stretched(ttl);
                }
                // Without times nothing expires.
                Order::Request | Order::Page => (request.time, ttl) = (0, 0),
            }
            if self.meta.addressing == Addressing::Objects {
                request.offset = request.offset.wrapping_add((number as u64) << 56);
            }
            out.push(request, request.length.into(), size);
            out.set_ttl(ttl);
            let goes_on = player.is_ready(&mut self.skipped, &mut self.remarks)?
                && player.batch.requests[player.at].flags & FLAG_CONTINUED != 0;
            self.open = goes_on.then_some(number);
            if !goes_on || out.len() >= BATCH_REQUESTS {
                return Ok(());
            }
        }
    }
}

impl TraceReader for Mix {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.len() < BATCH_REQUESTS {
            let next = match self.open {
                Some(open) => Some(open),
                None => self.next_part()?,
            };
            let Some(number) = next else { break };
            match self.order {
                Order::Page => self.take_page(number, batch)?,
                Order::Request | Order::Time => self.take(number, batch)?,
            }
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }
}

impl Player {
    fn new(mut part: MixPart, order: Order) -> Result<Player, TraceError> {
        let mut reader = (part.open)()?;
        let refuse = |message: String| Err(TraceError::new(part.name.clone(), Place::File, message));
        if reader.memory().is_some() {
            return refuse("it is a trace of memory, expected one of files".to_owned());
        }
        if order == Order::Time && !reader.meta().has_time {
            return refuse("its requests have no times; mix by request or by page".to_owned());
        }
        if order == Order::Page && reader.meta().addressing == Addressing::Objects {
            return refuse(
                "it is addressed by object, and objects have no pages; mix by request or by time".to_owned(),
            );
        }
        let stretch = match part.span {
            None => (1, 1),
            Some(span) => match length((part.open)()?.as_mut())? {
                0 => return refuse("all its requests have one time, so it cannot be stretched".to_owned()),
                length => (span, length),
            },
        };
        let clock = Clock { base: part.start, first: None, stretch, last: part.start };
        let (batch, files) = (Batch::new(), Vec::new());
        Ok(Player { part, reader, batch, at: 0, rest: None, files, passes: 1, clock, has_ended: false })
    }

    /// Makes sure that a request is there; false if the part has ended.
    fn is_ready(&mut self, skipped: &mut u64, remarks: &mut Vec<String>) -> Result<bool, TraceError> {
        if self.rest.is_some() {
            return Ok(true);
        }
        let mut is_fresh = false;
        while self.at == self.batch.len() && !self.has_ended {
            self.reader.read(&mut self.batch)?;
            self.at = 0;
            if !self.batch.is_empty() {
                break;
            }
            *skipped += self.reader.skipped();
            if self.passes == 1 {
                let told = self.reader.remarks();
                remarks.extend(told.into_iter().map(|remark| format!("{}: {remark}", self.part.name)));
            }
            // A trace without requests has no further pass either.
            self.has_ended = is_fresh || self.passes >= self.part.loops;
            if !self.has_ended {
                self.passes += 1;
                self.reader = (self.part.open)()?;
                (self.clock.base, self.clock.first) = (self.clock.last, None);
                is_fresh = true;
            }
        }
        Ok(!self.has_ended)
    }

    /// The time of the next request in the mix.
    fn peek_time(&mut self) -> u64 {
        self.clock.time(self.batch.requests[self.at].time)
    }

    /// The next request, with the numbers of the mix, the size of its file if that is known, and the time to live that
    /// it gives its object.
    fn next(&mut self, tables: &mut Tables, app: u32) -> (Request, Option<u64>, u64) {
        let request = self.batch.requests[self.at];
        let size = self.batch.file_sizes.get(self.at).copied().filter(|&size| size != UNKNOWN_SIZE);
        let ttl = self.batch.ttl(self.at);
        self.at += 1;
        let known = &self.reader.tables().files;
        while self.files.len() <= request.file as usize {
            // A trace that knows no files is one.
            let nameless = || FileInfo { path: self.part.name.clone(), ..FileInfo::default() };
            let info = known.get(self.files.len()).cloned().unwrap_or_else(nameless);
            self.files.push(tables.files.len() as u32);
            tables.files.push(info);
        }
        (Request { file: self.files[request.file as usize], app, ..request }, size, ttl)
    }
}

/// Nanoseconds from the first request of a trace to the last.
fn length(reader: &mut dyn TraceReader) -> Result<u64, TraceError> {
    let mut batch = Batch::new();
    let mut times: Option<(u64, u64)> = None;
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(times.map_or(0, |(first, last)| last.saturating_sub(first)));
        }
        for request in &batch.requests {
            let (first, last) = times.unwrap_or((request.time, request.time));
            times = Some((first, last.max(request.time)));
        }
    }
}

/// What offsets mean in all parts.
fn common_addressing(players: &[Player]) -> Result<Addressing, TraceError> {
    let Some(first) = players.first().map(|player| player.reader.meta().addressing) else {
        return Ok(Addressing::Bytes { unit: None });
    };
    let mut common = first;
    for player in &players[1..] {
        common = match (common, player.reader.meta().addressing) {
            (Addressing::Bytes { unit: one }, Addressing::Bytes { unit: other }) => {
                Addressing::Bytes { unit: one.filter(|_| one == other) }
            }
            (Addressing::Objects, Addressing::Objects) => Addressing::Objects,
            (_, other) => {
                let said = |addressing| if addressing == Addressing::Objects { "object" } else { "byte" };
                let message =
                    format!("it is addressed by {}, expected by {} as the first part", said(other), said(first));
                return Err(TraceError::new(player.part.name.clone(), Place::File, message));
            }
        };
    }
    Ok(common)
}

/// The share of all parts, if they are samples.
fn common_sample(players: &[Player]) -> Result<Option<f64>, TraceError> {
    let Some(first) = players.first().map(|player| player.reader.meta().sample) else { return Ok(None) };
    match players.iter().find(|player| player.reader.meta().sample != first) {
        None => Ok(first),
        Some(player) => {
            let message = "it and the first part are not samples of the same share; expected whole traces";
            Err(TraceError::new(player.part.name.clone(), Place::File, message))
        }
    }
}

#[cfg(test)]
mod tests;
