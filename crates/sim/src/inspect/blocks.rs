//! Distinct blocks and the distances at which they are used again.

use hotset_trace::Tables;
use serde::Serialize;

use super::groups::{Groups, Share};
use super::pattern::Pattern;
use crate::curve::{Count, Curve, LruCurve, Shards};
use crate::error::SimError;
use crate::intern::Interner;

/// Bytes that a reuse distance costs a block.
const CURVE_BYTES: u64 = 14;

/// Seed of the sample's hash.
const SEED: u64 = 1;

/// How far apart the uses of a block are. The reuse distance of a reference is the number of distinct blocks used since
/// the last use of its block, that one included: the least LRU cache in which it hits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// References to a block not used before; they hit in no cache.
    pub first_uses: u64,
    /// The others by distance, from one power of two to the next, without gaps.
    pub bins: Vec<Bin>,
}

/// References with a reuse distance of `from..=to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The least distance counted here, in blocks.
    pub from: u64,
    /// The greatest.
    pub to: u64,
    /// How many.
    pub references: u64,
}

/// The facts of the blocks at the end.
pub(super) struct Known {
    pub distinct: u64,
    /// The share of blocks that it was estimated from; `None` if it is exact.
    pub sampling_rate: Option<f64>,
    /// Nothing without references.
    pub reuse: Option<Reuse>,
}

/// The results by block: counts, and the picture if it is requested.
pub(super) struct Seen<'a> {
    pub groups: &'a mut Groups,
    pub pattern: Option<&'a mut Pattern>,
    pub tables: &'a Tables,
}

/// All blocks as long as memory allows, and a sample for when it does not.
pub(super) struct Blocks {
    exact: Option<Exact>,
    sample: Shards,
    memory_bytes: u64,
}

impl Blocks {
    pub fn new(memory_bytes: u64) -> Blocks {
        let sample = Shards::fixed_size(Shards::DEFAULT_SIZE, SEED);
        Blocks { exact: Some(Exact::default()), sample, memory_bytes }
    }

    /// References the blocks `keys`, which `shares` divide among files.
    pub fn feed(&mut self, keys: &[u64], shares: &[Share], seen: &mut Seen) -> Result<(), SimError> {
        self.sample.feed(keys);
        if let Some(exact) = &mut self.exact {
            exact.feed(keys, shares, seen)?;
            if exact.memory_bytes() > self.memory_bytes {
                self.exact = None;
            }
        } else if let Some(pattern) = &mut seen.pattern {
            pattern.tear();
        }
        Ok(())
    }

    pub fn finish(self) -> Known {
        match self.exact {
            Some(exact) => {
                let curve = exact.curve.curve();
                Known { distinct: curve.distinct, sampling_rate: None, reuse: reuse(&curve) }
            }
            None => {
                let sampled = self.sample.curve();
                let distinct = sampled.curve.distinct.round() as u64;
                Known { distinct, sampling_rate: Some(sampled.rate), reuse: reuse(&sampled.curve) }
            }
        }
    }
}

#[derive(Default)]
struct Exact {
    interner: Interner,
    ids: Vec<u32>,
    curve: LruCurve,
}

impl Exact {
    fn feed(&mut self, keys: &[u64], shares: &[Share], seen: &mut Seen) -> Result<(), SimError> {
        // Numbers follow first appearance, so a block is new if its number is the next one.
        let mut next = self.interner.len();
        self.ids.clear();
        self.interner.intern(keys, &mut self.ids)?;
        let mut ids = self.ids.iter();
        for share in shares {
            let before = next;
            for &id in ids.by_ref().take(share.references as usize) {
                next += u32::from(id == next);
            }
            seen.groups.note_new_blocks(share.file, u64::from(next - before));
        }
        self.curve.feed(&self.ids);
        if let Some(pattern) = &mut seen.pattern {
            pattern.feed(&self.ids, shares, seen.tables);
        }
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        self.interner.memory_bytes() + u64::from(self.interner.len()) * CURVE_BYTES
    }
}

fn reuse<H: Count>(curve: &Curve<H>) -> Option<Reuse> {
    let hits = |size| curve.hits(size).to_f64();
    let mut bins = Vec::new();
    let mut from = 1;
    while from <= curve.saturation() {
        let to = from.saturating_mul(2) - 1;
        bins.push(Bin { from, to, references: (hits(to) - hits(from - 1)).round() as u64 });
        from = to.saturating_add(1);
    }
    let first_uses = (curve.references as f64 - hits(u64::MAX)).round() as u64;
    (curve.references > 0).then_some(Reuse { first_uses, bins })
}
