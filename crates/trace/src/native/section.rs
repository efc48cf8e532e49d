//! Sections: the framing, compression and checksums of everything behind the prelude.

use xxhash_rust::xxh3::Xxh3Default;
use zstd::bulk::{Compressor, Decompressor};

use super::Fault;

/// Bytes of a section's header.
pub(super) const HEADER_BYTES: usize = 24;

/// The part of the header that the checksum covers.
const CHECKED_BYTES: usize = 16;

/// The most that a section holds, stored or raw.
pub(super) const LIMIT: usize = 4 << 20;

/// How far a section other than `REQS` and `PAGE` may unfold, so that a small file cannot fill the memory with names.
const UNFOLD: usize = 64;

/// Sections shorter than this are not worth compressing.
const COMPRESS_FROM: usize = 1024;

const COMPRESSION_LEVEL: i32 = 3;
const FLAG_COMPRESSED: u32 = 1;
const FLAG_ESSENTIAL: u32 = 2;

/// The content of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Type(pub(super) [u8; 4]);

impl Type {
    pub(super) const HEAD: Type = Type(*b"HEAD");
    pub(super) const FILES: Type = Type(*b"FILE");
    pub(super) const APPS: Type = Type(*b"APPS");
    pub(super) const REQUESTS: Type = Type(*b"REQS");
    pub(super) const OBJECTS: Type = Type(*b"OBJS");
    pub(super) const PAGES: Type = Type(*b"PAGE");
    pub(super) const INDEX: Type = Type(*b"INDX");
    pub(super) const STATS: Type = Type(*b"STAT");
    pub(super) const END: Type = Type(*b"END ");

    fn is_essential(self) -> bool {
        self != Type::INDEX && self != Type::STATS
    }

    fn may_unfold(self) -> bool {
        self == Type::REQUESTS || self == Type::PAGES
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// A section's header, checked against the limits.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) kind: Type,
    pub(super) stored: usize,
    pub(super) essential: bool,
    raw: usize,
    compressed: bool,
}

impl Head {
    /// Reads a header; an error if no writer could have written it.
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Head, Fault> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let kind = Type(bytes[..4].try_into().expect("four bytes"));
        if !kind.0.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b' ')) {
            return Err(format!("found \"{kind}\", expected a section"));
        }
        let (flags, stored, raw) = (word(4), word(8) as usize, word(12) as usize);
        if flags & !(FLAG_COMPRESSED | FLAG_ESSENTIAL) != 0 {
            return Err(format!("the {kind} section has flags {flags:#x}, of which not all are known"));
        }
        let compressed = flags & FLAG_COMPRESSED != 0;
        let unfolds = raw > stored.saturating_mul(UNFOLD) && !kind.may_unfold();
        if raw > LIMIT || stored > raw || unfolds || (!compressed && stored != raw) {
            return Err(format!(
                "the {kind} section claims {stored} bytes that unfold to {raw}; expected at most {LIMIT}, by at most {UNFOLD}"
            ));
        }
        Ok(Head { kind, stored, essential: flags & FLAG_ESSENTIAL != 0, raw, compressed })
    }
}

/// Frames sections.
pub(super) struct Packer {
    zstd: Compressor<'static>,
    framed: Vec<u8>,
}

impl Packer {
    /// With empty buffers.
    pub(super) fn new() -> std::io::Result<Packer> {
        Ok(Packer { zstd: Compressor::new(COMPRESSION_LEVEL)?, framed: Vec::new() })
    }

    /// The section of this type with this content, ready to be written. An error if that is longer than [`LIMIT`].
    pub(super) fn frame(&mut self, kind: Type, raw: &[u8]) -> std::io::Result<&[u8]> {
        if raw.len() > LIMIT {
            let message =
                format!("{} bytes of names or metadata are too long for one {kind} section of {LIMIT}", raw.len());
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, message));
        }
        let compressed = raw.len() >= COMPRESS_FROM && self.compress(kind, raw)?;
        if !compressed {
            self.framed.resize(HEADER_BYTES, 0);
            self.framed.extend_from_slice(raw);
        }
        let flags = u32::from(compressed) * FLAG_COMPRESSED + u32::from(kind.is_essential()) * FLAG_ESSENTIAL;
        let stored = self.framed.len() - HEADER_BYTES;
        let words = [flags, stored as u32, raw.len() as u32];
        self.framed[..4].copy_from_slice(&kind.0);
        for (word, place) in words.iter().zip(self.framed[4..CHECKED_BYTES].chunks_exact_mut(4)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = checksum(&self.framed);
        self.framed[CHECKED_BYTES..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Ok(&self.framed)
    }

    /// Compresses behind the place of the header. False if the content is better stored as it is.
    fn compress(&mut self, kind: Type, raw: &[u8]) -> std::io::Result<bool> {
        self.framed.resize(HEADER_BYTES + zstd::zstd_safe::compress_bound(raw.len()), 0);
        let stored = self.zstd.compress_to_buffer(raw, &mut self.framed[HEADER_BYTES..])?;
        self.framed.truncate(HEADER_BYTES + stored);
        Ok(stored < raw.len() && (kind.may_unfold() || raw.len() <= stored * UNFOLD))
    }
}

/// Checks `framed`, a header with the stored bytes behind it, against its checksum.
pub(super) fn is_intact(framed: &[u8]) -> bool {
    framed.len() >= HEADER_BYTES && framed[CHECKED_BYTES..HEADER_BYTES] == checksum(framed).to_le_bytes()
}

fn checksum(framed: &[u8]) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(&framed[..CHECKED_BYTES]);
    hasher.update(&framed[HEADER_BYTES..]);
    hasher.digest()
}

/// Gives every section of a file that begins at `start` the checksum that fits it, as far as sections can be found.
pub(super) fn reseal(file: &mut [u8], start: usize) {
    let mut rest = file.get_mut(start..).unwrap_or_default();
    while let Some(bytes) = rest.first_chunk::<HEADER_BYTES>() {
        let Ok(head) = Head::parse(bytes) else { return };
        let Some((framed, behind)) = rest.split_at_mut_checked(HEADER_BYTES + head.stored) else { return };
        let checksum = checksum(framed);
        framed[CHECKED_BYTES..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        rest = behind;
    }
}

/// Unfolds sections.
pub(super) struct Unpacker {
    zstd: Decompressor<'static>,
}

impl Unpacker {
    /// Ready to use.
    pub(super) fn new() -> std::io::Result<Unpacker> {
        Ok(Unpacker { zstd: Decompressor::new()? })
    }

    /// Puts the content of a section into `raw`.
    pub(super) fn unpack(&mut self, head: &Head, stored: &[u8], raw: &mut Vec<u8>) -> Result<(), Fault> {
        raw.clear();
        if !head.compressed {
            raw.extend_from_slice(stored);
            return Ok(());
        }
        raw.resize(head.raw, 0);
        match self.zstd.decompress_to_buffer(stored, raw.as_mut_slice()) {
            Ok(count) if count == head.raw => Ok(()),
            Ok(count) => Err(format!("the {} section unfolds to {count} bytes; expected {}", head.kind, head.raw)),
            Err(error) => Err(format!("the {} section does not unfold: {error}", head.kind)),
        }
    }
}
