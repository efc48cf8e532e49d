//! `csv`: a row for each request, with columns named by a header or by the user.
//!
//! The full set is `time_s,pid,op,file,offset,bytes,filesize,kind`; any subset with an `id`, an `offset` (or `lba`), or
//! a `file` will do, in any order, under the usual other names, between commas, semicolons, tabs, bars or blanks. With
//! an offset the trace is addressed by byte, otherwise by object. `bytes` of -1 mark a failed call. `NAME.files.csv`
//! beside `NAME.csv` (columns `id,kind,size,path`) tells about the files.

mod columns;
mod files;
mod json;
mod operations;
mod presets;
mod quotes;
mod readings;
mod roles;

use hotset_core::request::{FLAG_FAILED, Kind, Op, Request};
use hotset_core::setting::SettingName;
use memchr::memchr;

use self::{
    columns::{Columns, Separator, is_header},
    files::{Files, kind_of},
    operations::{parse_op, parse_op_bit},
    presets::rejoin,
    quotes::{UNIT_SEPARATOR, by_blanks, unquote},
    roles::{Role, squeezed},
};
use super::{Confidence, Format, Head, OpenOptions, Opened};
use crate::{
    Addressing, Batch, Meta, Tables, TraceError,
    batch::BATCH_REQUESTS,
    error::Place,
    input::Input,
    runner::{
        Malformed, SECTOR_BYTES,
        date::date,
        fields::Fields,
        ids::{of_id, of_name},
        lines::{LONGEST_LINE, LineFormat, Lines, TextLine},
        number::unexpected,
        numbering::Numbering,
        push_range, quote, text,
    },
};

pub(super) use json::{JSONL_FORMAT, MOONCAKE_FORMAT};
pub(super) use presets::{
    ALIBABA_FORMAT, CLOUD_PHYSICS_FORMAT, META_CDN_FORMAT, META_KV_FORMAT, SYSTOR17_FORMAT, TENCENT_CBS_FORMAT,
    TENCENT_PHOTO_FORMAT, TWITTER_FORMAT,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "columns by header or by choice: time_s,pid,op,file,offset,bytes,filesize,kind or some of them",
    example: "0.001337,2174,R,3,0,832,832,lib",
    sample: b"time_s,pid,op,file,offset,bytes,filesize,kind\n0.001,1,R,\"a,\"\"b\",0,832,832,lib\n\
        0.002,2,S,1,,-1,,\n7,2,W,3,18446744073709551615,0,9,scene\n",
    detect,
    open,
};

const NO_META: Meta =
    Meta { format: "csv", addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None };

struct Csv {
    meta: Meta,
    columns: Columns,
    tables: Tables,
    files: Numbering,
    apps: Numbering,
    kinds: Numbering,
    /// The meaning of the words for kinds, by their number.
    known_kinds: Vec<(Kind, String)>,
    has_id: bool,
    has_file: bool,
    has_length: bool,
    /// True if the piece that is being parsed holds quotation marks.
    quotes: bool,
    remarks: Vec<String>,
    /// A line freed of quotation marks.
    plain: Vec<u8>,
    /// Offsets count sectors, and lengths bytes.
    mixes_units: bool,
    /// The column whose values may hold the separator.
    holds_separator: Option<usize>,
    /// The parts of the file's name in this row, each with a slash behind it.
    joint: Vec<u8>,
    /// A request that is made more often, and how often.
    pending: Option<(Pending, u64)>,
}

/// A request that is ready to be given.
#[derive(Clone, Copy)]
struct Pending {
    request: Request,
    length: u64,
    file_size: Option<u64>,
    ttl: u64,
}

/// The values of the fields of a row.
struct Row {
    request: Request,
    op: Op,
    length: u64,
    /// Bytes besides, such as those of the key.
    extra: u64,
    repeat: u64,
    file_size: Option<u64>,
    kind: Option<u32>,
    /// Nanoseconds; 0 for none.
    ttl: u64,
}

impl LineFormat for Csv {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn piece(&mut self, piece: &[u8]) {
        self.quotes = memchr(b'"', piece).is_some();
    }

    #[inline]
    fn line(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        if self.holds_separator.is_some() {
            return self.joined(line, batch);
        }
        if let Separator::Byte(separator) = self.columns.separator
            && (!self.quotes || memchr(b'"', &line).is_none())
        {
            return self.row(Fields::new(line, separator), batch);
        }
        let mut plain = std::mem::take(&mut self.plain);
        let rewritten = match self.columns.separator {
            Separator::Byte(separator) => unquote(&line, separator, &mut plain),
            Separator::Blanks => by_blanks(&line, &mut plain),
        };
        let result = rewritten.and_then(|()| self.row(Fields::new(TextLine::new(&plain), UNIT_SEPARATOR), batch));
        self.plain = plain;
        result
    }

    #[inline]
    fn go_on(&mut self, batch: &mut Batch) {
        if self.pending.is_some() {
            self.repeat(batch);
        }
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }
}

impl Csv {
    fn new(columns: Columns, files: Files) -> Csv {
        let meta = Meta {
            addressing: columns.addressing,
            has_time: columns.any(|role| matches!(role, Role::Time { .. } | Role::Date)),
            has_ops: columns.any(|role| matches!(role, Role::Op | Role::OpBit { .. })),
            ..NO_META
        };
        Csv {
            meta,
            tables: Tables { files: files.infos, apps: Vec::new() },
            files: files.numbers,
            apps: Numbering::default(),
            kinds: Numbering::default(),
            known_kinds: Vec::new(),
            has_id: columns.any(|role| matches!(role, Role::Id | Role::Name | Role::Part)),
            has_file: columns.any(|role| matches!(role, Role::File | Role::FilePart)),
            has_length: columns.any(|role| matches!(role, Role::Length { .. })),
            mixes_units: columns.any(|role| matches!(role, Role::Offset { unit: SECTOR_BYTES }))
                && columns.any(|role| matches!(role, Role::Length { unit: 1 })),
            quotes: false,
            remarks: [columns.remarks.clone(), files.remarks].concat(),
            columns,
            plain: Vec::new(),
            holds_separator: None,
            pending: None,
            joint: Vec::new(),
        }
    }

    /// Reads a line one of whose columns may hold the separator.
    fn joined(&mut self, line: TextLine, batch: &mut Batch) -> Result<(), Malformed> {
        let (Some(holding), Separator::Byte(separator)) = (self.holds_separator, self.columns.separator) else {
            return self.row(Fields::new(line, b','), batch);
        };
        let mut plain = std::mem::take(&mut self.plain);
        let result = match rejoin(&line, separator, self.columns.roles.len(), holding, &mut plain) {
            true => self.row(Fields::new(TextLine::new(&plain), UNIT_SEPARATOR), batch),
            false => self.row(Fields::new(line, separator), batch),
        };
        self.plain = plain;
        result
    }

    #[inline]
    fn row(&mut self, mut fields: Fields, batch: &mut Batch) -> Result<(), Malformed> {
        let mut row = Row {
            request: Request::default(),
            op: Op::Read,
            length: 0,
            extra: 0,
            repeat: 1,
            file_size: None,
            kind: None,
            ttl: 0,
        };
        self.joint.clear();
        for at in 0..self.columns.roles.len() {
            if fields.is_done() {
                return Err(self.too_few(at));
            }
            self.field(self.columns.roles[at], &mut fields, &mut row)?;
        }
        if fields.any(|field| !field.trim_ascii().is_empty()) {
            return Err(self.too_many());
        }
        self.push(row, batch)
    }

    /// Reads the next field, which tells `role`, into the row.
    #[inline]
    fn field(&mut self, role: Role, fields: &mut Fields, row: &mut Row) -> Result<(), Malformed> {
        match role {
            Role::Time { digits } => row.request.time = fields.time(digits)?,
            Role::Offset { unit } => row.request.offset = fields.optional_number("the offset", unit)?.unwrap_or(0),
            Role::Length { .. } if fields.skip(b"-1") || fields.skip(b"-1.0") => row.request.flags |= FLAG_FAILED,
            Role::Length { unit } => row.length = fields.optional_number("the length", unit)?.unwrap_or(0),
            Role::Extra => {
                let more = fields.optional_number("the size", 1)?.unwrap_or(0);
                row.extra = row.extra.checked_add(more).ok_or("found sizes that add up to more than 2^64 bytes")?;
            }
            Role::Repeat => row.repeat = repeat_of(fields.number("how often the request is made")?)?,
            Role::Ttl { unit } => row.ttl = fields.optional_number("the time to live", unit)?.unwrap_or(0),
            Role::FileSize => row.file_size = fields.optional_number("the file's size", 1)?,
            Role::Id => match fields.plain_id() {
                Some(id) => row.request.offset = id,
                None => self.word(role, fields.next().unwrap_or_default().trim_ascii(), row)?,
            },
            Role::Ignored => {
                fields.next();
            }
            _ => self.word(role, fields.next().unwrap_or_default().trim_ascii(), row)?,
        }
        Ok(())
    }

    /// Reads a field that is not a number.
    #[inline]
    fn word(&mut self, role: Role, word: &[u8], row: &mut Row) -> Result<(), Malformed> {
        match role {
            Role::Op => row.op = parse_op(word).ok_or_else(|| unknown_op(word))?,
            Role::OpBit { one } => {
                row.op = parse_op_bit(word, one).ok_or_else(|| unexpected(word, "0 or 1"))?;
            }
            Role::App => {
                row.request.app = self.apps.of(word)?;
                self.tables.name_app(row.request.app, || text(word));
            }
            Role::File => {
                row.request.file = self.files.of(word)?;
                self.tables.name_file(row.request.file, || text(word));
            }
            Role::FilePart => {
                self.joint.extend_from_slice(word);
                self.joint.push(b'/');
            }
            Role::Kind => row.kind = Some(self.kind(word)?),
            Role::Name => row.request.offset = of_name(word)?,
            Role::Part => {
                let before = row.request.offset.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                row.request.offset = before ^ of_name(word)?;
            }
            Role::Date => {
                let expected = "a date such as 20160201000003 or 2016-02-01T00:00:03";
                row.request.time = date(word).ok_or_else(|| unexpected(word, expected))?;
            }
            _ => row.request.offset = of_id(word)?,
        }
        Ok(())
    }

    /// The number of a word for a kind.
    #[inline]
    fn kind(&mut self, word: &[u8]) -> Result<u32, Malformed> {
        let number = self.kinds.of(word)?;
        if number as usize == self.known_kinds.len() {
            self.known_kinds.push((kind_of(word), text(word)));
        }
        Ok(number)
    }

    #[inline]
    fn push(&mut self, row: Row, batch: &mut Batch) -> Result<(), Malformed> {
        let mut request = row.request;
        request.op = row.op as u8;
        if !self.joint.is_empty() {
            request.file = self.files.of(&self.joint)?;
            self.tables.name_file(request.file, || text(&self.joint));
            self.joint.clear();
        }
        let told = row.kind.map(|number| &self.known_kinds[number as usize]);
        let mut kind = told.map(|(kind, _)| *kind);
        if self.has_file {
            let file = &mut self.tables.files[request.file as usize];
            if let Some((kind, word)) = told
                && file.label.is_empty()
            {
                file.kind = *kind;
                file.label.clone_from(word);
            }
            file.size = row.file_size.or(file.size);
            kind = kind.or(Some(file.kind));
        }
        request.kind = touched(row.op, kind.unwrap_or_default()) as u8;
        // The size of the key alone does not count as a size.
        let is_told = row.length > 0 || !self.has_length || row.op == Op::Write;
        let length = if is_told { row.length.saturating_add(row.extra) } else { 0 };
        if self.mixes_units && !length.is_multiple_of(SECTOR_BYTES.into()) {
            return Err(part_of_sector(length));
        }
        let one = Pending { request, length, file_size: row.file_size, ttl: row.ttl };
        self.push_one(one, batch)?;
        self.pending = (row.repeat > 1).then_some((one, row.repeat - 1));
        Ok(())
    }

    /// Gives a request that is made more often, as often as the batch takes it.
    #[cold]
    fn repeat(&mut self, batch: &mut Batch) {
        while batch.len() < BATCH_REQUESTS
            && let Some((one, left)) = self.pending
        {
            // It was sound the first time.
            let _ = self.push_one(one, batch);
            self.pending = (left > 1).then_some((one, left - 1));
        }
    }

    #[inline]
    fn push_one(&mut self, one: Pending, batch: &mut Batch) -> Result<(), Malformed> {
        let Pending { mut request, length, file_size, ttl } = one;
        match self.columns.addressing {
            Addressing::Bytes { .. } => push_range(batch, request, length, file_size),
            Addressing::Objects => {
                if !self.has_id {
                    request.offset = request.file.into();
                }
                // An object is not a range: it cannot be cut into several requests.
                if length > u32::MAX.into() {
                    return Err(format!("found an object of {length} bytes; expected less than 4 GiB").into());
                }
                batch.push(request, length, file_size);
                batch.set_ttl(ttl);
                Ok(())
            }
        }
    }

    #[cold]
    fn too_few(&self, found: usize) -> Malformed {
        format!("found {found} fields; expected {}", self.columns.roles.len()).into()
    }

    #[cold]
    fn too_many(&self) -> Malformed {
        format!("found more than {0} fields; expected {0}", self.columns.roles.len()).into()
    }
}

/// The kind of object that an operation touches, on a file of a kind.
#[inline]
fn touched(op: Op, file: Kind) -> Kind {
    match op {
        Op::Open | Op::Stat | Op::Unlink | Op::Rename => Kind::Inode,
        Op::List => Kind::Directory,
        Op::Exec => Kind::Executable,
        Op::Read | Op::Write | Op::Map | Op::Truncate | Op::Sync => file,
    }
}

/// How often a request is made.
#[inline]
fn repeat_of(count: u64) -> Result<u64, Malformed> {
    match count {
        1..=0xffff_ffff => Ok(count),
        _ => Err(format!("found {count}; expected how often the request is made, from 1 to 2^32 - 1").into()),
    }
}

/// Lengths beside sectors are mostly sectors themselves, whatever their name says.
#[cold]
fn part_of_sector(length: u64) -> Malformed {
    format!(
        "found {length} bytes beside a sector; expected a multiple of 512 (lengths in sectors: name the column sectors \
         or size:sectors with {})",
        SettingName("columns")
    )
    .into()
}

#[cold]
fn unknown_op(word: &[u8]) -> Malformed {
    let columns = SettingName("columns");
    match word {
        b"0" | b"1" => unexpected(
            word,
            &format!("R or W (columns of 0 and 1 are named is_write or is_read, with {columns} if need be)"),
        ),
        _ => unexpected(word, "the operation, such as R, W, read or write"),
    }
}

fn open(mut input: Input, options: &OpenOptions) -> Opened {
    let first = first_line(&mut input)?;
    if first.starts_with(b"{") {
        return json::open(input, options);
    }
    let (columns, header) =
        columns_of(&first, options).map_err(|message| TraceError::new(input.path(), Place::Line(1), message))?;
    if header {
        take_line(&mut input)?;
    }
    let files = Files::beside(input.path(), options)?;
    let first_row = if header { 2 } else { 1 };
    Ok(Box::new(Lines::new(input, Csv::new(columns, files), first_row, options.skip_bad)))
}

/// The columns of a trace that begins with this line, and whether the line names columns.
fn columns_of(first: &[u8], options: &OpenOptions) -> Result<(Columns, bool), String> {
    let separator = match &options.separator {
        Some(text) => Separator::parse(text)?,
        None => Separator::of(first),
    };
    let ignored: Vec<String> =
        options.ignore_columns.iter().flat_map(|names| names.split(',')).map(|name| squeezed(name.trim())).collect();
    match &options.columns {
        Some(names) => {
            let columns = Columns::from_user(names, separator, &ignored)?;
            let header = options.header.unwrap_or_else(|| columns.is_named_by(first));
            Ok((columns, header))
        }
        None if options.header.unwrap_or_else(|| is_header(first, separator)) => {
            Ok((Columns::from_header(first, separator, &ignored)?, true))
        }
        None => Err(format!(
            "found {}; expected a line of column names such as time,op,offset,size, or the names with {}",
            quote(first),
            SettingName("columns")
        )),
    }
}

/// The first line, without its end, left in the input.
fn first_line(input: &mut Input) -> Result<Vec<u8>, TraceError> {
    loop {
        let data = input.data();
        let end = memchr(b'\n', data);
        if end.is_some() || data.len() > LONGEST_LINE || !input.more()? {
            let data = input.data();
            return Ok(data[..end.unwrap_or(data.len())].trim_ascii().to_vec());
        }
    }
}

/// Takes the first line with its end out of the input.
fn take_line(input: &mut Input) -> Result<Vec<u8>, TraceError> {
    let line = first_line(input)?;
    let data = input.data();
    let length = memchr(b'\n', data).map_or(data.len(), |end| end + 1);
    input.consume(length);
    Ok(line)
}

fn detect(head: &Head) -> Confidence {
    match head.lines(1).next() {
        Some(line) if is_header(line, Separator::of(line)) => Confidence::Sure,
        _ => Confidence::No,
    }
}

#[cfg(test)]
mod tests;
