//! The exact LRU curve in one pass.
//!
//! LRU has the inclusion property: a cache of c blocks holds the c blocks used last. So a reference hits at every size
//! from its *stack distance* on, the number of distinct blocks used since its block's last use, that one included, and
//! a histogram of the distances is the whole curve (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage
//! hierarchies", IBM Systems Journal 1970, section "Stack processing").
//!
//! Cost: O(1) a reference as long as fewer than half a million blocks are live, above that one vector operation more
//! per few million. Memory: 14 bytes a block.

use hotset_core::parts::prefetch::prefetch;

use super::{Curve, holes};
use crate::recency::Recency;
use crate::references::References;

/// References whose distances are found before they are counted, and how far ahead their counters are fetched.
const PIECE: usize = 4096;
const FETCH_COUNTER: usize = 16;

/// Collects the LRU curve of a trace that is fed in pieces.
#[derive(Debug)]
pub struct LruCurve {
    recency: Recency,
    references: u64,
    /// References by stack distance; first references at 0.
    distances: Vec<u64>,
    depths: Vec<u32>,
}

impl Default for LruCurve {
    fn default() -> Self {
        LruCurve { recency: Recency::new(), references: 0, distances: vec![0], depths: Vec::with_capacity(PIECE) }
    }
}

impl LruCurve {
    /// The curve of a whole trace, in which blocks may be invalidated.
    pub fn of(trace: &References) -> Curve {
        if !trace.events().is_empty() {
            return holes::lru(trace);
        }
        let mut curve = LruCurve::new();
        curve.feed(trace.ids());
        curve.curve()
    }

    /// Starts with an empty trace.
    pub fn new() -> LruCurve {
        LruCurve::default()
    }

    /// References blocks, numbered from 0 in order of first appearance. (Other numbers cost memory up to the largest.)
    pub fn feed(&mut self, ids: &[u32]) {
        self.references += ids.len() as u64;
        for piece in ids.chunks(PIECE) {
            self.depths.clear();
            self.recency.touch_all(piece, &mut self.depths);
            self.distances.resize(self.recency.len() as usize + 1, 0);
            count(&self.depths, &mut self.distances);
        }
    }

    /// The curve of what was fed so far.
    pub fn curve(&self) -> Curve {
        Curve::from_distances(self.references, self.distances[0], &self.distances[1..])
    }
}

fn count(depths: &[u32], distances: &mut [u64]) {
    for (index, &depth) in depths.iter().enumerate() {
        if let Some(&ahead) = depths.get(index + FETCH_COUNTER) {
            prefetch(distances, ahead as usize);
        }
        distances[depth as usize] += 1;
    }
}
