//! The references of a block: for each the place of its page among those of the block, and how often it is repeated;
//! packed.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

/// References of a block, at most; more repeats of one of them than fit [`Step::count`] do not count as more.
pub(super) const MOST_STEPS: usize = 4096;

/// A step repeated so often, or more often, has its count elsewhere.
pub(super) const LONG: u8 = 127;

/// The count's byte: this bit says that one of the references writes.
const WRITES: u8 = 0x80;

/// Fast, since a block is packed once but the trace may be long.
const LEVEL: i32 = 1;

/// References to one page without another between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The page's place among those of the block.
    pub place: u8,
    /// The number; [`LONG`] means that many or more.
    pub count: u8,
    pub writes: bool,
}

/// Steps that are unpacked: first all places, then all counts.
#[derive(Debug, Default)]
pub(super) struct Body {
    bytes: Vec<u8>,
    steps: usize,
}

impl Body {
    /// The places of the steps.
    pub fn places(&self) -> &[u8] {
        &self.bytes[..self.steps]
    }

    /// The steps.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let (places, counts) = self.bytes.split_at(self.steps);
        let step = |(&place, &count): (&u8, &u8)| Step { place, count: count & !WRITES, writes: count & WRITES != 0 };
        places.iter().zip(counts).map(step)
    }
}

/// Packs blocks.
pub(super) struct Packer {
    zstd: Compressor<'static>,
    places: Vec<u8>,
    counts: Vec<u8>,
    packed: Vec<u8>,
}

impl Packer {
    pub fn new() -> io::Result<Packer> {
        Ok(Packer { zstd: Compressor::new(LEVEL)?, places: Vec::new(), counts: Vec::new(), packed: Vec::new() })
    }

    /// Steps pushed since the last block.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn push(&mut self, step: Step) {
        self.places.push(step.place);
        self.counts.push(step.count | if step.writes { WRITES } else { 0 });
    }

    /// Appends the packed block to `out` and begins a new one. A block that does not get smaller stays as it is, which
    /// its length tells.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.places.append(&mut self.counts);
        self.packed.resize(zstd::zstd_safe::compress_bound(self.places.len()), 0);
        let packed = self.zstd.compress_to_buffer(&self.places, self.packed.as_mut_slice())?;
        out.extend_from_slice(if packed < self.places.len() { &self.packed[..packed] } else { &self.places });
        self.places.clear();
        Ok(())
    }
}

/// Unpacks blocks.
pub(super) struct Unpacker(Decompressor<'static>);

impl Unpacker {
    pub fn new() -> io::Result<Unpacker> {
        Ok(Unpacker(Decompressor::new()?))
    }

    /// Unpacks a block of so many steps, which this program packed.
    pub fn unpack(&mut self, packed: &[u8], steps: usize, body: &mut Body) {
        body.steps = steps;
        body.bytes.resize(2 * steps, 0);
        if packed.len() == 2 * steps {
            body.bytes.copy_from_slice(packed);
            return;
        }
        let unpacked = self.0.decompress_to_buffer(packed, body.bytes.as_mut_slice());
        assert_eq!(unpacked.ok(), Some(2 * steps), "a block in memory does not unpack");
    }
}
