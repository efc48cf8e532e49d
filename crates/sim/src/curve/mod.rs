//! Hit curves: the hits of a cache at every size. [`Curves`] draws them for a trace; where a policy allows it, one pass
//! gives all sizes:
//!
//! | collector | curve | needs |
//! |---|---|---|
//! | [`LruCurve`] | LRU, exact | 14 bytes a block |
//! | [`OptCurve`] | OPT, exact | 32 bytes a reference |
//! | [`PartsCurve`] | a cache in LRU parts by the size of one, exact | 20 bytes a block |
//! | [`ByteCurves`] | LRU over bytes of objects, exact, and a bound | 36 bytes a reference |
//! | [`Shards`] | LRU, from a sample, with an estimate of its error | memory of the sample |

mod by_bytes;
mod bytes;
mod holes;
mod line;
mod lines;
mod lru;
mod opt;
mod parts;
mod row;
pub(crate) mod sampled;
mod shards;

pub use crate::error::BadRate;
pub use bytes::{ByteCurves, ByteLine, BytePoint, bounds};
pub use line::{Line, spread};
pub use lines::{Curves, Drawn, Points, Sample};
pub use lru::LruCurve;
pub use opt::OptCurve;
pub use parts::PartsCurve;
pub(crate) use shards::mix;
pub use shards::{SampledCurve, Shards};

use serde::{Deserialize, Serialize};

/// Hits at every cache size, for a policy whose hits never fall when the cache grows.
///
/// `H` is the type of a hit count: `u64` for exact curves, `f64` for those scaled up from a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve<H = u64> {
    /// References in the trace.
    pub references: u64,
    /// Distinct blocks in the trace, the footprint. A count of the same kind as the hits.
    pub distinct: H,
    /// The sizes at which hits rise, ascending, each with the hits from that size on.
    pub steps: Vec<Step<H>>,
}

/// A size at which hits rise, or any point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step<H = u64> {
    /// Cache size in blocks.
    pub size: u64,
    /// Hits of a cache of that size.
    pub hits: H,
}

/// A count of hits, whole or estimated.
pub trait Count: Copy + Default {
    /// The count as a number to divide.
    fn to_f64(self) -> f64;
}

impl Count for u64 {
    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl Count for f64 {
    fn to_f64(self) -> f64 {
        self
    }
}

impl Curve {
    /// The curve of a histogram of stack distances: `distances[d]` references hit from size `d + 1` on.
    fn from_distances(references: u64, distinct: u64, distances: &[u64]) -> Curve {
        let mut hits = 0;
        let counted = (1..).zip(distances).filter(|(_, count)| **count > 0);
        let steps = counted.map(|(size, count)| {
            hits += count;
            Step { size, hits }
        });
        Curve { references, distinct, steps: steps.collect() }
    }
}

impl<H: Count> Curve<H> {
    /// Hits of a cache of `size` blocks.
    pub fn hits(&self, size: u64) -> H {
        let above = self.steps.partition_point(|step| step.size <= size);
        above.checked_sub(1).map_or_else(H::default, |last| self.steps[last].hits)
    }

    /// Hits per reference of a cache of `size` blocks, 0 to 1; 0 for an empty trace.
    pub fn hit_ratio(&self, size: u64) -> f64 {
        self.ratio(self.hits(size))
    }

    /// The best hit ratio of any size.
    pub fn best_ratio(&self) -> f64 {
        self.hit_ratio(u64::MAX)
    }

    /// The least size that no larger cache improves on: the last step, 0 if nothing ever hits.
    pub fn saturation(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.size)
    }

    /// The curve at chosen sizes, in their order.
    pub fn points(&self, sizes: &[u64]) -> Vec<Step<H>> {
        sizes.iter().map(|&size| Step { size, hits: self.hits(size) }).collect()
    }

    /// Up to `count` sizes, spread evenly on a logarithmic scale from 1 to the footprint, both included: where to draw
    /// a curve.
    pub fn log_sizes(&self, count: usize) -> Vec<u64> {
        log_spread(1, self.distinct.to_f64().round().max(1.0) as u64, count)
    }

    /// The least size whose hit ratio is at least `ratio`, if any has it.
    pub fn size_for(&self, ratio: f64) -> Option<u64> {
        if ratio <= 0.0 {
            return Some(0);
        }
        let reached = self.steps.partition_point(|step| self.ratio(step.hits) < ratio);
        self.steps.get(reached).map(|step| step.size)
    }

    fn ratio(&self, hits: H) -> f64 {
        if self.references == 0 { 0.0 } else { hits.to_f64() / self.references as f64 }
    }
}

/// Up to `count` sizes, spread evenly on a logarithmic scale over `from..=to`, both included.
fn log_spread(from: u64, to: u64, count: usize) -> Vec<u64> {
    let last = count.saturating_sub(1).max(1) as f64;
    let ratio = to as f64 / from as f64;
    let size = |index: usize| (from as f64 * ratio.powf(index as f64 / last)).round() as u64;
    let mut sizes: Vec<u64> = (0..count).map(size).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances 1, 1 and 4 among ten references.
    fn curve() -> Curve {
        Curve::from_distances(10, 7, &[2, 0, 0, 1])
    }

    #[test]
    fn hits_hold_from_each_step_on() {
        let hits: Vec<u64> = (0..6).map(|size| curve().hits(size)).collect();
        assert_eq!(hits, [0, 2, 2, 2, 3, 3]);
        assert_eq!(curve().points(&[9, 1]), [Step { size: 9, hits: 3 }, Step { size: 1, hits: 2 }]);
        assert_eq!((curve().saturation(), curve().best_ratio()), (4, 0.3));
    }

    #[test]
    fn the_least_size_for_a_ratio() {
        let sizes: Vec<Option<u64>> = [0.0, 0.1, 0.2, 0.25, 0.3, 0.31].map(|ratio| curve().size_for(ratio)).into();
        assert_eq!(sizes, [Some(0), Some(1), Some(1), Some(4), Some(4), None]);
    }

    #[test]
    fn logarithmic_sizes_run_from_one_block_to_the_footprint() {
        let curve = Curve::<u64> { distinct: 1000, ..Curve::default() };
        assert_eq!(curve.log_sizes(4), [1, 10, 100, 1000]);
        assert_eq!(Curve::<u64> { distinct: 3, ..Curve::default() }.log_sizes(20), [1, 2, 3]);
        assert_eq!(curve.log_sizes(0), [0; 0]);
        assert_eq!(Curve::<u64>::default().log_sizes(3), [1]);
    }

    #[test]
    fn an_empty_trace_has_a_flat_curve() {
        let empty = Curve::from_distances(0, 0, &[]);
        assert_eq!((empty.hits(5), empty.hit_ratio(5), empty.size_for(0.5)), (0, 0.0, None));
    }
}
