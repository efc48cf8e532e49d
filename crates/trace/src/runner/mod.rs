//! What turns a parser of one line or one record into a reader of a whole trace.

pub mod lines;
pub mod number;
pub mod records;

use hotset_core::request::Request;

use crate::{Batch, Tables};

/// What is wrong with a line or record and what was expected; the runner adds file and place.
pub type Malformed = Box<str>;

/// The longest request taken for real, in bytes: 1 TiB.
pub const LONGEST_REQUEST: u64 = 1 << 40;

/// The tables of formats that know no names.
static NO_TABLES: Tables = Tables { files: Vec::new(), apps: Vec::new() };

/// Appends `request` over `length` bytes, after checking that the range is one that a device can have.
#[inline]
pub fn push_range(batch: &mut Batch, request: Request, length: u64, file_size: Option<u64>) -> Result<(), Malformed> {
    if length > LONGEST_REQUEST || request.offset.checked_add(length).is_none() {
        return Err(impossible_range(request.offset, length));
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

#[cold]
fn impossible_blocks(start: u64, count: u64, block_bytes: u32) -> Malformed {
    format!("found {count} blocks of {block_bytes} bytes from block {start}; expected at most 1 TiB, ending below 2^64")
        .into()
}

#[cold]
fn impossible_range(offset: u64, length: u64) -> Malformed {
    format!("found {length} bytes from byte {offset}; expected at most 1 TiB, ending below 2^64").into()
}

/// Bytes of a trace in a message: quoted, escaped where they cannot be shown, cut where they are long.
pub fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let dots = if bytes.len() > SHOWN { "..." } else { "" };
    format!("`{}{dots}`", shown.escape_ascii())
}
