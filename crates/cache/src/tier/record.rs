//! The index of a tier: the block of each frame, so that a later process finds it again.
//!
//! Layout: a header of 4096 bytes (magic, version of the format, bytes of a block, a secret, a hash of the name of the
//! source), then 128 bytes for each frame, in their order. All numbers are little-endian. A record contains the file
//! and version of its block, its position there, and the checksum of the bytes of the frame; it is written after them,
//! in place; the record of a block whose version cannot be recognised later is zero. So there is no log that grows, and
//! a crash needs no repair: whatever part of a record or a frame has reached the disk, either both match or a checksum
//! shows that they do not, and then the frame is free. Both checksums (XXH3) depend on the secret, which is drawn when
//! the tier begins empty, and on their position, so that neither a record of another frame or another tier is accepted,
//! nor bytes of another block.

use std::io;

use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

use crate::arena::Frame;
use crate::source::{FileVersion, Source, read_full, write_full};
use crate::tier::TierError;

/// Bytes of the header.
pub(super) const HEADER: u64 = 4096;

/// Bytes of a record.
pub(super) const RECORD: u64 = 128;

/// The first bytes of the file; the last of them is the version of the format.
const MAGIC: &[u8; 16] = b"hotset tier\0\0\0\0\x01";

/// Bytes of the header that its checksum is over, which follows them.
const HEAD: usize = 48;

/// Which block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub version: FileVersion,
    /// Its number in the file.
    pub number: u64,
}

impl Origin {
    fn encode(&self) -> [u8; 64] {
        let FileVersion { file, size, data, all, .. } = self.version;
        let mut bytes = [0; 64];
        bytes[..16].copy_from_slice(&file.to_le_bytes());
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        bytes[24..40].copy_from_slice(&data.to_le_bytes());
        bytes[40..56].copy_from_slice(&all.to_le_bytes());
        bytes[56..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Bytes that it has where a full block has `block`; `None` if it is behind the end of the file.
    pub fn length(&self, block: u64) -> Option<u32> {
        let behind = self.version.size.checked_sub(self.number.checked_mul(block)?)?;
        u32::try_from(behind.min(block)).ok().filter(|&length| length > 0)
    }

    /// The checksum of its bytes.
    pub fn checksum(&self, secret: u64, bytes: &[u8]) -> u128 {
        xxh3_128_with_seed(bytes, xxh3_64_with_seed(&self.encode(), secret))
    }
}

/// The record of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub origin: Origin,
    /// A greater one came later.
    pub sequence: u64,
    /// [`Origin::checksum`] of what is in the frame.
    pub checksum: u128,
}

impl Record {
    pub fn encode(&self, secret: u64, frame: Frame) -> [u8; RECORD as usize] {
        let mut bytes = [0; RECORD as usize];
        bytes[..64].copy_from_slice(&self.origin.encode());
        bytes[64..72].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[72..88].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = seal(&bytes[..120], secret, frame);
        bytes[120..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The record of a frame, if these bytes are one.
    pub fn decode(bytes: &[u8], secret: u64, frame: Frame) -> Option<Record> {
        let bytes: &[u8; RECORD as usize] = bytes.try_into().ok()?;
        if seal(&bytes[..120], secret, frame) != u64_at(bytes, 120) {
            return None;
        }
        let version = FileVersion {
            file: u128_at(bytes, 0),
            lasts: true,
            size: u64_at(bytes, 16),
            data: u128_at(bytes, 24),
            all: u128_at(bytes, 40),
        };
        let origin = Origin { version, number: u64_at(bytes, 56) };
        Some(Record { origin, sequence: u64_at(bytes, 64), checksum: u128_at(bytes, 72) })
    }
}

fn seal(bytes: &[u8], secret: u64, frame: Frame) -> u64 {
    xxh3_64_with_seed(bytes, secret ^ u64::from(frame))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(bytes[at..at + 16].try_into().expect("sixteen bytes"))
}

/// True if a file that begins with `told` is an index; an empty one may have been cut while it began. Other content is
/// refused.
fn recognize(told: &[u8]) -> Result<bool, TierError> {
    let told = &told[..told.len().min(MAGIC.len())];
    let (name, version) = MAGIC.split_at(MAGIC.len() - 1);
    if told.iter().all(|&byte| byte == 0) {
        return Ok(false);
    }
    if !MAGIC.starts_with(&told[..told.len().min(name.len())]) {
        return Err(TierError::Foreign);
    }
    match told.get(name.len()) {
        Some(found) if *found != version[0] => Err(TierError::Format(*found)),
        found => Ok(found.is_some()),
    }
}

/// Refuses what is not an index.
pub(super) fn check(index: &dyn Source) -> Result<(), TierError> {
    let mut told = [0; MAGIC.len()];
    let read = read_full(index, &mut told, 0).map_err(TierError::Index)?;
    if recognize(&told[..read])? { Ok(()) } else { Err(TierError::Foreign) }
}

/// Takes an index for blocks of `block` bytes of a source of this name into use; returns its secret. An index for
/// another source or size, or one that was cut while it began, begins empty with the secret from `draw`. Other files
/// are refused.
pub(super) fn begin(
    index: &dyn Source,
    block: u64,
    source: &str,
    draw: impl FnOnce() -> io::Result<u64>,
) -> Result<u64, TierError> {
    let mut head = [0; HEADER as usize];
    let read = read_full(index, &mut head, 0).map_err(TierError::Index)?;
    if recognize(&head[..read])? {
        let secret = u64_at(&head, 24);
        if read >= HEAD + 8 && head[..HEAD + 8] == header(block, secret, source) {
            return Ok(secret);
        }
    }
    let secret = draw().map_err(TierError::Index)?;
    head.fill(0);
    head[..HEAD + 8].copy_from_slice(&header(block, secret, source));
    match write_full(index, &head, 0).map_err(TierError::Index)? {
        // Without it, blocks would be taken for a user's file.
        written if written == head.len() => index.sync(false).map(|()| secret).map_err(TierError::Index),
        _ => Err(TierError::Index(io::ErrorKind::WriteZero.into())),
    }
}

fn header(block: u64, secret: u64, source: &str) -> [u8; HEAD + 8] {
    let mut head = [0; HEAD + 8];
    head[..16].copy_from_slice(MAGIC);
    head[16..24].copy_from_slice(&block.to_le_bytes());
    head[24..32].copy_from_slice(&secret.to_le_bytes());
    head[32..HEAD].copy_from_slice(&xxh3_128_with_seed(source.as_bytes(), secret).to_le_bytes());
    let checksum = xxh3_64_with_seed(&head[..HEAD], secret);
    head[HEAD..].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// The valid records of the first `frames` frames, in the order in which they were written.
pub(super) fn read(index: &dyn Source, secret: u64, frames: u32) -> io::Result<Vec<(Frame, Record)>> {
    const AT_ONCE: u32 = 8192;
    let mut found = Vec::new();
    let mut bytes = vec![0; AT_ONCE as usize * RECORD as usize];
    let mut first = 0;
    while first < frames {
        let many = (frames - first).min(AT_ONCE);
        let wanted = &mut bytes[..many as usize * RECORD as usize];
        let read = read_full(index, wanted, HEADER + u64::from(first) * RECORD)?;
        let records = wanted[..read].chunks(RECORD as usize);
        found.extend(
            (first..).zip(records).filter_map(|(frame, bytes)| Some((frame, Record::decode(bytes, secret, frame)?))),
        );
        first += many;
    }
    found.sort_unstable_by_key(|&(frame, record)| (record.sequence, frame));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(number: u64) -> Origin {
        Origin { version: FileVersion { file: 1, lasts: true, size: 9000, data: 3, all: 4 }, number }
    }

    #[test]
    fn what_is_sealed_stands_for_one_place_in_one_tier() {
        let record = Record { origin: origin(2), sequence: 7, checksum: origin(2).checksum(5, b"bytes") };
        let bytes = record.encode(5, 9);
        assert_eq!(Record::decode(&bytes, 5, 9), Some(record));
        assert_eq!([(6, 9), (5, 8)].map(|(secret, frame)| Record::decode(&bytes, secret, frame)), [None, None]);
        assert_eq!(Record::decode(&bytes[1..], 5, 9), None);
        for other in [origin(3).checksum(5, b"bytes"), origin(2).checksum(6, b"bytes")] {
            assert_ne!(other, record.checksum);
        }
    }

    #[test]
    fn the_last_block_of_a_file_is_as_long_as_the_file() {
        assert_eq!([0, 2, 3, u64::MAX].map(|number| origin(number).length(4096)), [Some(4096), Some(808), None, None]);
    }
}
