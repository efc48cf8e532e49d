//! `REQS` sections: up to 65,536 requests as columns.

use hotset_core::request::{Kind, Op, Request};

use super::{
    BLOCK_REQUESTS, Fault,
    bytes::Fields,
    column::{Context, Decoder, Encoder, PIECE, Stored},
};
use crate::{Batch, batch::UNKNOWN_SIZE};

/// The columns, in the order of their ids: those that others depend on come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Field {
    File = 0,
    Length = 1,
    Offset = 2,
    Time = 3,
    App = 4,
    Op = 5,
    Kind = 6,
    Flags = 7,
    /// The file's size plus 1; 0 = not known.
    FileSize = 8,
    /// The time to live in nanoseconds; 0 = none.
    Ttl = 9,
}

impl Field {
    const ALL: [Field; 10] = [
        Field::File,
        Field::Length,
        Field::Offset,
        Field::Time,
        Field::App,
        Field::Op,
        Field::Kind,
        Field::Flags,
        Field::FileSize,
        Field::Ttl,
    ];

    /// The greatest value that a request can hold.
    fn greatest(self) -> u64 {
        match self {
            Field::File | Field::Length | Field::App => u64::from(u32::MAX),
            Field::Offset | Field::Time | Field::FileSize | Field::Ttl => u64::MAX,
            Field::Op => Op::ALL.len() as u64 - 1,
            Field::Kind => Kind::ALL.len() as u64 - 1,
            Field::Flags => u64::from(u16::MAX),
        }
    }

    fn get(self, request: &Request) -> u64 {
        match self {
            Field::File => request.file.into(),
            Field::Length => request.length.into(),
            Field::Offset => request.offset,
            Field::Time => request.time,
            Field::App => request.app.into(),
            Field::Op => request.op.into(),
            Field::Kind => request.kind.into(),
            Field::Flags => request.flags.into(),
            Field::FileSize | Field::Ttl => 0,
        }
    }

    /// Sets the field; the value has been checked against [`Field::greatest`].
    #[inline(always)]
    fn set(self, request: &mut Request, value: u64) {
        match self {
            Field::File => request.file = value as u32,
            Field::Length => request.length = value as u32,
            Field::Offset => request.offset = value,
            Field::Time => request.time = value,
            Field::App => request.app = value as u32,
            Field::Op => request.op = value as u8,
            Field::Kind => request.kind = value as u8,
            Field::Flags => request.flags = value as u16,
            Field::FileSize | Field::Ttl => {}
        }
    }

    fn check(self, value: u64, known: Known) -> Result<(), Fault> {
        if value > self.greatest() {
            return Err(format!("a request has {self:?} {value}; expected at most {}", self.greatest()));
        }
        let entries = match self {
            Field::File => known.files,
            Field::App => known.apps,
            _ => return Ok(()),
        };
        if value < entries.max(1) as u64 {
            return Ok(());
        }
        Err(format!("a request has {self:?} {value}, but the table before it has at most {entries} entries"))
    }
}

/// Entries that the tables hold when a block begins. Requests may not have greater numbers; 0 means none if a table is
/// empty.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) files: usize,
    pub(super) apps: usize,
}

impl Known {
    /// For blocks behind damage, where entries may have been lost. A count by application has a row for each number
    /// below the greatest, so the number itself must not be damaged there.
    pub(super) const BEHIND_DAMAGE: Known = Known { files: usize::MAX, apps: 1 << 20 };
}

/// Encodes blocks.
pub(super) struct BlockEncoder {
    columns: Encoder,
    values: Vec<u64>,
    files: Vec<u32>,
    lengths: Vec<u32>,
}

impl BlockEncoder {
    pub(super) fn new() -> std::io::Result<BlockEncoder> {
        Ok(BlockEncoder { columns: Encoder::new()?, values: Vec::new(), files: Vec::new(), lengths: Vec::new() })
    }

    /// Encodes the requests of `batch`, whose first request has number `first`. File sizes are known.
    pub(super) fn encode(&mut self, first: u64, batch: &Batch) -> std::io::Result<Vec<u8>> {
        let requests = &batch.requests;
        self.files.clear();
        self.files.extend(requests.iter().map(|request| request.file));
        self.lengths.clear();
        self.lengths.extend(requests.iter().map(|request| request.length));
        let mut columns = Vec::new();
        for field in Field::ALL {
            self.gather(field, batch);
            let context = Context {
                files: (field != Field::File).then_some(self.files.as_slice()),
                lengths: (field == Field::Offset).then_some(self.lengths.as_slice()),
            };
            let stored = self.columns.encode(&self.values, context)?;
            if !stored.is_zero() {
                columns.push((field, stored));
            }
        }
        Ok(assemble(first, requests.len(), &columns))
    }

    fn gather(&mut self, field: Field, batch: &Batch) {
        self.values.clear();
        match field {
            Field::FileSize => self.values.extend(batch.file_sizes.iter().map(|size| size.wrapping_sub(UNKNOWN_SIZE))),
            Field::Ttl => self.values.extend((0..batch.len()).map(|index| batch.ttl(index))),
            field => self.values.extend(batch.requests.iter().map(|request| field.get(request))),
        }
    }
}

fn assemble(first: u64, count: usize, columns: &[(Field, Stored)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + columns.iter().map(|(_, stored)| 24 + stored.data.len()).sum::<usize>());
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.extend_from_slice(&(columns.len() as u32).to_le_bytes());
    for (field, stored) in columns {
        out.extend_from_slice(&[*field as u8, stored.transform, stored.layout, 0]);
        out.extend_from_slice(&(stored.data.len() as u32).to_le_bytes());
        out.extend_from_slice(&stored.base.to_le_bytes());
        out.extend_from_slice(&stored.scale.to_le_bytes());
        out.extend_from_slice(&stored.data);
    }
    out
}

/// A block being decoded.
pub(super) struct Block {
    /// The content of its section; the reader unpacks into it before [`Block::open`].
    pub(super) raw: Vec<u8>,
    first: u64,
    count: usize,
    done: usize,
    known: Known,
    /// A request with the values of the columns that have only one.
    same: Request,
    /// The file size, if that has only one value.
    same_size: Option<u64>,
    /// The time to live, if that has only one value; 0 for none.
    same_ttl: u64,
    columns: Vec<(Field, Decoder)>,
    /// The piece being decoded: of one column, and of the columns that others depend on.
    values: Vec<u64>,
    files: Vec<u32>,
    lengths: Vec<u32>,
}

impl Block {
    /// An empty block.
    pub(super) fn empty() -> Block {
        Block {
            raw: Vec::new(),
            first: 0,
            count: 0,
            done: 0,
            known: Known::BEHIND_DAMAGE,
            same: Request::default(),
            same_size: None,
            same_ttl: 0,
            columns: Vec::new(),
            values: vec![0; PIECE],
            files: vec![0; PIECE],
            lengths: vec![0; PIECE],
        }
    }

    /// Requests not decoded yet.
    pub(super) fn left(&self) -> usize {
        self.count - self.done
    }

    /// Number of the first request and number of the one behind the last.
    pub(super) fn range(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.count as u64
    }

    /// Drops what is left.
    pub(super) fn close(&mut self) {
        self.done = self.count;
    }

    /// Begins with the block whose content is in `raw`, behind tables with these entries. After an error it is empty.
    pub(super) fn open(&mut self, known: Known) -> Result<(), Fault> {
        self.known = known;
        let raw = std::mem::take(&mut self.raw);
        let opened = self.open_columns(&raw);
        self.raw = raw;
        if opened.is_err() {
            self.close();
        }
        opened
    }

    fn open_columns(&mut self, raw: &[u8]) -> Result<(), Fault> {
        let mut fields = Fields::new(raw);
        let (first, count, columns) = (fields.u64()?, fields.u32()? as usize, fields.u32()?);
        if count == 0 || count > BLOCK_REQUESTS || first.checked_add(count as u64).is_none() {
            return Err(format!("a block has {count} requests from number {first}; expected 1 to {BLOCK_REQUESTS}"));
        }
        (self.first, self.count, self.done) = (first, count, 0);
        (self.same, self.same_size, self.same_ttl) = (Request::default(), None, 0);
        self.columns.clear();
        let mut before = None;
        for _ in 0..columns {
            let id = fields.u8()?;
            if before.is_some_and(|before| id <= before) {
                return Err(format!("column {id} follows column {}; expected ascending ids", before.unwrap_or(0)));
            }
            before = Some(id);
            self.open_column(id, &mut fields)?;
        }
        self.files.fill(self.same.file);
        self.lengths.fill(self.same.length);
        fields.end()
    }

    fn open_column(&mut self, id: u8, fields: &mut Fields) -> Result<(), Fault> {
        let (transform, layout, zero) = (fields.u8()?, fields.u8()?, fields.u8()?);
        let (length, base_and_scale) = (fields.u32()? as usize, [fields.u64()?, fields.u64()?]);
        let start = fields.at();
        fields.take(length)?;
        let Some(&field) = Field::ALL.get(usize::from(id)) else { return Ok(()) };
        if zero != 0 {
            return Err(format!("column {id} has byte {zero} where 0 was expected"));
        }
        let decoder = Decoder::new(transform, layout, base_and_scale, start..start + length, self.count)?;
        if decoder.is_per_file() && field == Field::File {
            return Err("the column of file numbers is said to depend on file numbers".to_owned());
        }
        let Some(value) = decoder.constant() else {
            self.columns.push((field, decoder));
            return Ok(());
        };
        field.check(value, self.known)?;
        match field {
            Field::FileSize => self.same_size = Some(value.wrapping_add(UNKNOWN_SIZE)),
            Field::Ttl => self.same_ttl = value,
            field => field.set(&mut self.same, value),
        }
        Ok(())
    }

    /// Appends up to `limit` requests to an empty `batch`. After an error the block is empty.
    pub(super) fn read(&mut self, batch: &mut Batch, limit: usize) -> Result<(), Fault> {
        let count = self.left().min(limit);
        batch.requests.resize(count, self.same);
        let has = |wanted| self.columns.iter().any(|&(field, _)| field == wanted);
        if self.same_size.is_some() || has(Field::FileSize) {
            batch.file_sizes.resize(count, self.same_size.unwrap_or(UNKNOWN_SIZE));
        }
        if self.same_ttl > 0 || has(Field::Ttl) {
            batch.ttls.resize(count, self.same_ttl);
        }
        let mut start = 0;
        while start < count {
            let end = count.min(start + PIECE);
            let piece = Piece {
                requests: &mut batch.requests[start..end],
                sizes: batch.file_sizes.get_mut(start..end).unwrap_or_default(),
                ttls: batch.ttls.get_mut(start..end).unwrap_or_default(),
            };
            if let Err(fault) = self.read_piece(piece) {
                self.close();
                return Err(fault);
            }
            start = end;
        }
        self.done += count;
        Ok(())
    }

    fn read_piece(&mut self, mut piece: Piece) -> Result<(), Fault> {
        let values = &mut self.values[..piece.requests.len()];
        for (field, decoder) in &mut self.columns {
            let lengths = (*field == Field::Offset).then_some(self.lengths.as_slice());
            decoder.decode(&self.raw, Context { files: Some(&self.files), lengths }, values)?;
            field.check(values.iter().copied().max().unwrap_or(0), self.known)?;
            store(*field, values, &mut piece);
            match field {
                Field::File => narrow(values, &mut self.files),
                Field::Length => narrow(values, &mut self.lengths),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Keeps values that fit 32 bits for the columns that depend on them.
fn narrow(values: &[u64], kept: &mut [u32]) {
    kept.iter_mut().zip(values).for_each(|(kept, &value)| *kept = value as u32);
}

/// Consecutive requests of a batch with their side columns, which are empty where the block has none.
struct Piece<'a> {
    requests: &'a mut [Request],
    sizes: &'a mut [u64],
    ttls: &'a mut [u64],
}

/// Puts a piece of a column into the requests; the values have been checked.
fn store(field: Field, values: &[u64], piece: &mut Piece) {
    macro_rules! scatter {
        ($field:ident) => {
            for (request, &value) in piece.requests.iter_mut().zip(values) {
                Field::$field.set(request, value);
            }
        };
    }
    match field {
        Field::File => scatter!(File),
        Field::Length => scatter!(Length),
        Field::Offset => scatter!(Offset),
        Field::Time => scatter!(Time),
        Field::App => scatter!(App),
        Field::Op => scatter!(Op),
        Field::Kind => scatter!(Kind),
        Field::Flags => scatter!(Flags),
        Field::FileSize => {
            let sizes = piece.sizes.iter_mut().zip(values);
            sizes.for_each(|(size, &value)| *size = value.wrapping_add(UNKNOWN_SIZE));
        }
        Field::Ttl => piece.ttls.copy_from_slice(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row for each of four billion applications would take 200 GiB.
    #[test]
    fn a_number_behind_damage_is_not_taken_for_a_count() {
        assert!(Field::App.check(u32::MAX.into(), Known::BEHIND_DAMAGE).is_err());
        assert_eq!(Field::App.check(5000, Known::BEHIND_DAMAGE), Ok(()));
        assert_eq!(Field::File.check(u32::MAX.into(), Known::BEHIND_DAMAGE), Ok(()));
    }
}
