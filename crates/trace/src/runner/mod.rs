//! What turns a parser of one line or one record into a reader of a whole trace.

pub mod date;
pub mod fields;
pub mod ids;
pub mod lines;
pub mod memory;
pub mod number;
pub mod numbering;
pub mod records;
mod scan;
pub mod words;

use hotset_core::request::{Op, Request};

use crate::{Batch, FileInfo, Tables};

/// The problem of a line or record and what was expected; the runner adds file and place.
pub type Malformed = Box<str>;

/// The longest read or write taken for real, in bytes: 16 GiB. A call of Linux moves less than 2 GiB; what claims much
/// more is damage.
pub const LONGEST_TRANSFER: u64 = 16 << 30;

/// The longest range of any other request, in bytes: 1 TiB. Databases map as much at once.
pub const LONGEST_RANGE: u64 = 1 << 40;

/// Bytes of a disk sector, what LBAs count.
pub const SECTOR_BYTES: u32 = 512;

/// The tables of formats that know no names.
static NO_TABLES: Tables = Tables { files: Vec::new(), apps: Vec::new() };

/// Appends `request` over `length` bytes, after checking that the range is one that a device can have.
#[inline]
pub fn push_range(batch: &mut Batch, request: Request, length: u64, file_size: Option<u64>) -> Result<(), Malformed> {
    if length > longest(request.op()) || request.offset.checked_add(length).is_none() {
        return Err(impossible_range(&request, length));
    }
    batch.push(request, length, file_size);
    Ok(())
}

/// Appends `request` over `count` blocks of `block_bytes` from block `start`, after checking the range.
#[inline]
pub fn push_blocks(
    batch: &mut Batch,
    mut request: Request,
    start: u64,
    count: u64,
    block_bytes: u32,
) -> Result<(), Malformed> {
    let bytes = u64::from(block_bytes);
    let (Some(offset), Some(length)) = (start.checked_mul(bytes), count.checked_mul(bytes)) else {
        return Err(impossible_blocks(start, count, block_bytes));
    };
    request.offset = offset;
    push_range(batch, request, length, None)
}

/// The longest range of a request that does this.
#[inline]
fn longest(op: Op) -> u64 {
    match op {
        Op::Read | Op::Write => LONGEST_TRANSFER,
        _ => LONGEST_RANGE,
    }
}

/// The byte offset of an LBA.
#[inline]
pub fn sector_offset(lba: u64) -> Result<u64, Malformed> {
    lba.checked_mul(u64::from(SECTOR_BYTES)).ok_or_else(|| impossible_blocks(lba, 1, SECTOR_BYTES))
}

/// The operation of a SCSI command code, if it is a read or a write of 6, 10, 12 or 16 bytes, with or without
/// verifying.
#[inline]
pub fn scsi_op(code: u64) -> Option<Op> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        _ => None,
    }
}

#[cold]
fn impossible_blocks(start: u64, count: u64, block_bytes: u32) -> Malformed {
    format!(
        "found {count} blocks of {block_bytes} bytes from block {start}; expected a range that ends below 2^64 bytes"
    )
    .into()
}

#[cold]
fn impossible_range(request: &Request, length: u64) -> Malformed {
    let most = match longest(request.op()) {
        LONGEST_TRANSFER => "16 GiB",
        _ => "1 TiB",
    };
    format!("found {length} bytes from byte {}; expected at most {most}, ending below 2^64", request.offset).into()
}

/// Bytes of a trace in a message: quoted, escaped where they cannot be shown, cut where they are long.
pub fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let dots = if bytes.len() > SHOWN { "..." } else { "" };
    format!("`{}{dots}`", shown.escape_ascii())
}

impl Tables {
    /// Makes sure that file `number`, the next one if it is new, has an entry.
    #[inline]
    pub(crate) fn name_file(&mut self, number: u32, name: impl FnOnce() -> String) {
        if number as usize == self.files.len() {
            self.files.push(FileInfo { path: name(), ..FileInfo::default() });
        }
    }

    /// Makes sure that application `number`, the next one if it is new, has an entry.
    #[inline]
    pub(crate) fn name_app(&mut self, number: u32, name: impl FnOnce() -> String) {
        if number as usize == self.apps.len() {
            self.apps.push(name());
        }
    }
}

/// A name of a trace as text: bytes that are not UTF-8 are written `\xNN`.
pub fn text(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
