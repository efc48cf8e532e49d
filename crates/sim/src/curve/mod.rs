//! Hit curves: the hits of a cache at every size, from one pass over a trace.

mod lru;
mod recency;

pub use lru::LruCurve;

/// x
#[derive(Debug)]
pub struct Curve {
    /// x
    pub references: u64,
    /// x
    pub distinct: u64,
    /// x
    pub steps: Vec<(u64, u64)>,
}
impl Curve {
    fn from_distances(references: u64, distinct: u64, distances: &[u64]) -> Curve {
        let mut hits = 0;
        let steps = distances.iter().enumerate().filter(|(_, n)| **n > 0).map(|(d, n)| { hits += n; (d as u64, hits) }).collect();
        Curve { references, distinct, steps }
    }
}
