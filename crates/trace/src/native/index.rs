//! The `INDX` sections and the `END`: the way to every block.

use super::{Fault, bytes::Fields, section};

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockPlace {
    /// File offset of its section.
    pub(super) offset: u64,
    /// Number of its first request.
    pub(super) first: u64,
    /// Time of its first request.
    pub(super) time: u64,
}

/// Where everything is.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The blocks, in order.
    pub(super) blocks: Vec<BlockPlace>,
    /// File offsets of the table sections, in order.
    pub(super) tables: Vec<u64>,
}

/// Entries of either kind in a section, at most.
const SECTION_ENTRIES: usize = 64 * 1024;

/// The last bytes of the `END` section, and so of the file.
const END_MARK: &[u8; 8] = b"hst end\n";

/// Bytes of the `END` section.
pub(super) const END_BYTES: usize = section::HEADER_BYTES + 16;

impl Index {
    /// The block that holds a request, if it exists.
    pub(super) fn block_of(&self, request: u64) -> Option<&BlockPlace> {
        let behind = self.blocks.partition_point(|block| block.first <= request);
        self.blocks.get(behind.checked_sub(1)?)
    }

    /// The contents of the sections.
    pub(super) fn encode(&self) -> Vec<Vec<u8>> {
        let sections = self.blocks.len().max(self.tables.len()).div_ceil(SECTION_ENTRIES).max(1);
        (0..sections).map(|part| encode_part(cut(&self.blocks, part), cut(&self.tables, part))).collect()
    }

    /// Adds the content of a section.
    pub(super) fn decode(&mut self, raw: &[u8]) -> Result<(), Fault> {
        let mut fields = Fields::new(raw);
        let (blocks, tables) = (fields.u32()?, fields.u32()?);
        for _ in 0..blocks {
            self.blocks.push(BlockPlace { offset: fields.u64()?, first: fields.u64()?, time: fields.u64()? });
        }
        for _ in 0..tables {
            self.tables.push(fields.u64()?);
        }
        fields.end()
    }
}

fn cut<T>(entries: &[T], part: usize) -> &[T] {
    entries.chunks(SECTION_ENTRIES).nth(part).unwrap_or_default()
}

fn encode_part(blocks: &[BlockPlace], tables: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + blocks.len() * 24 + tables.len() * 8);
    out.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
    out.extend_from_slice(&(tables.len() as u32).to_le_bytes());
    for block in blocks {
        for value in [block.offset, block.first, block.time] {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    for offset in tables {
        out.extend_from_slice(&offset.to_le_bytes());
    }
    out
}

/// The content of the `END` section of a file whose footer begins at `footer`.
pub(super) fn encode_end(footer: u64) -> [u8; 16] {
    let mut out = [0; 16];
    out[..8].copy_from_slice(&footer.to_le_bytes());
    out[8..].copy_from_slice(END_MARK);
    out
}

/// The footer's offset, if `tail` ends in the `END` section of a complete file.
pub(super) fn find_end(tail: &[u8]) -> Option<u64> {
    let end = &tail[tail.len().checked_sub(END_BYTES)?..];
    let footer = u64::from_le_bytes(end[section::HEADER_BYTES..][..8].try_into().expect("eight bytes"));
    (end.starts_with(&section::Type::END.0) && end.ends_with(END_MARK) && section::is_intact(end)).then_some(footer)
}
