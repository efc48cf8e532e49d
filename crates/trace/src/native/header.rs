//! The `HEAD` section: facts known before the first request.

use super::{
    Fault,
    bytes::{Fields, put_string, put_varint},
};
use crate::{Addressing, Meta, memory::MemoryMeta};

const HAS_TIME: u8 = 1;
const HAS_OPS: u8 = 2;

/// The code in place of the addressing in traces of memory.
const PAGES: u8 = 2;

/// With page numbers below 2^52, addresses fit 64 bits.
const MOST_PAGE_BYTES: u32 = 4096;

/// The key of metadata with the share of the objects or blocks that a sampled trace holds.
const SAMPLE: &str = "sample";

/// The description of a trace before its first request.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The meaning of offsets, and the fields that are present.
    pub meta: Meta,
    /// It is a trace of memory: what `meta` says of requests holds for each of its runs.
    pub is_memory: bool,
    /// Pairs of key and value: `tool`, `command`, `source`, or anything else.
    pub metadata: Vec<(String, String)>,
}

impl Header {
    /// A header for a trace like `meta`, made by this version of hotset.
    pub fn new(meta: &Meta) -> Header {
        let tool = concat!("hotset ", env!("CARGO_PKG_VERSION")).to_owned();
        let meta = Meta { format: super::NAME, ..meta.clone() };
        let sample = meta.sample.map(|share| (SAMPLE.to_owned(), share.to_string()));
        let metadata = [("tool".to_owned(), tool)].into_iter().chain(sample).collect();
        Header { meta, is_memory: false, metadata }
    }

    /// A header for a trace of memory.
    pub fn of_memory(told: &MemoryMeta) -> Header {
        let addressing = Addressing::Bytes { unit: Some(told.page_bytes) };
        let meta = Meta { format: super::NAME, addressing, has_time: false, has_ops: told.has_writes, sample: None };
        Header { is_memory: true, ..Header::new(&meta) }
    }

    /// The same with one more pair.
    pub fn with(mut self, key: &str, value: &str) -> Header {
        self.metadata.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The first value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (addressing, unit) = match self.meta.addressing {
            Addressing::Bytes { unit } if self.is_memory => (PAGES, unit.unwrap_or(0)),
            Addressing::Bytes { unit } => (0, unit.unwrap_or(0)),
            Addressing::Objects => (1, 0),
        };
        let told = u8::from(self.meta.has_time) * HAS_TIME + u8::from(self.meta.has_ops) * HAS_OPS;
        let mut out = vec![addressing, told, 0, 0];
        out.extend_from_slice(&unit.to_le_bytes());
        put_varint(&mut out, self.metadata.len() as u64);
        for (key, value) in &self.metadata {
            put_string(&mut out, key);
            put_string(&mut out, value);
        }
        out
    }

    pub(super) fn decode(raw: &[u8]) -> Result<Header, Fault> {
        let mut fields = Fields::new(raw);
        let (meaning, told, zero, unit) = (fields.u8()?, fields.u8()?, fields.u16()?, fields.u32()?);
        if told & !(HAS_TIME | HAS_OPS) != 0 || zero != 0 {
            return Err(format!("the header has unknown fields {told:#x} and {zero:#x}"));
        }
        let addressing = match meaning {
            0 => Addressing::Bytes { unit: (unit > 0).then_some(unit) },
            1 => Addressing::Objects,
            PAGES if unit.is_power_of_two() && unit <= MOST_PAGE_BYTES => Addressing::Bytes { unit: Some(unit) },
            PAGES => return Err(format!("pages have {unit} bytes; expected a power of two up to {MOST_PAGE_BYTES}")),
            other => return Err(format!("offsets have meaning {other}; expected 0 (bytes), 1 (objects) or 2 (pages)")),
        };
        let is_memory = meaning == PAGES;
        let mut metadata = Vec::new();
        for _ in 0..fields.varint()? {
            metadata.push((fields.string()?, fields.string()?));
        }
        let meta = Meta {
            format: super::NAME,
            addressing,
            has_time: told & HAS_TIME != 0,
            has_ops: told & HAS_OPS != 0,
            sample: None,
        };
        let mut header = Header { meta, is_memory, metadata };
        header.meta.sample = header.get(SAMPLE).map(share).transpose()?;
        Ok(header)
    }
}

/// Reads the share of a sample.
fn share(text: &str) -> Result<f64, Fault> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("the sample has the share {text:?}; expected a number between 0 and 1")),
    }
}
