//! LRU at many sizes by stack depths: a cell for many plans over a trace that only reads.
//!
//! A reference hits at every size from its depth in the LRU stack on (Mattson et al. 1970). So one look at the stack
//! decides all sizes, where [`OnePassCell`](super::OnePassCell) looks at the mark of each. It knows which blocks are
//! resident but not which leaves, so that it counts no write-backs and cannot remove blocks.
//!
//! Cost: a reference of the exact curve, and for each size a word for 64 references. Memory: 14 bytes a block.

use super::cell::Cell;
use super::count::Count;
use super::one_pass::Hits;
use super::tally::{Ended, Transfers};
use crate::recency::Recency;
use crate::window::Window;

/// Sizes from which on this is faster than a mark for each: on 20 million references of zipf, 32 sizes take 1.06 s by
/// depths, and 25 by marks 1.14 s.
pub(crate) const WORTHWHILE: usize = 32;

/// References whose depths are found before they are compared with the sizes.
const PIECE: usize = 4096;

/// LRU at each of some sizes.
pub(crate) struct DepthsCell {
    recency: Recency,
    /// The sizes, ascending, and the place of the plan of each.
    sizes: Vec<u32>,
    plans: Vec<usize>,
    counts: Vec<Count>,
    hits: Hits,
    depths: Vec<u32>,
}

impl DepthsCell {
    /// Cells of these sizes, in any order, over a trace of one view that neither writes nor removes.
    pub fn new(sizes: &[u32], has_apps: bool) -> DepthsCell {
        let mut plans: Vec<usize> = (0..sizes.len()).collect();
        plans.sort_by_key(|&plan| sizes[plan]);
        DepthsCell {
            recency: Recency::new(),
            sizes: plans.iter().map(|&plan| sizes[plan]).collect(),
            counts: plans.iter().map(|_| Count::new(&[], has_apps)).collect(),
            hits: Hits::new(plans.len()),
            depths: Vec::with_capacity(PIECE),
            plans,
        }
    }
}

impl Cell<u32> for DepthsCell {
    fn run(&mut self, window: &Window<u32>) {
        let mut index = 0;
        for piece in window.keys.chunks(PIECE) {
            self.depths.clear();
            self.recency.touch_all(piece, &mut self.depths);
            for &depth in &self.depths {
                // A first reference has the depth 0, and becomes the deepest of all.
                let above = depth.wrapping_sub(1);
                let missing = self.sizes.partition_point(|&size| size <= above);
                self.hits.reference(index, missing);
                index += 1;
            }
        }
        self.hits.finish(index);
        for (count, hits) in self.counts.iter_mut().zip(self.hits.by_cache()) {
            count.add(window, hits, |_| 1);
        }
    }

    fn end(self: Box<Self>) -> Vec<Ended> {
        let mut ended = vec![Ended::default(); self.plans.len()];
        for (&plan, count) in self.plans.iter().zip(&self.counts) {
            ended[plan].tally = count.tally(&Transfers::default(), &[]);
        }
        ended
    }
}
