//! The curve of one policy, wherever it comes from: one pass, a sample, or replays at chosen sizes.

use hotset_results::Sampling;

use super::{Count, Curve, SampledCurve, log_spread};

/// The curve of one policy over a trace.
#[derive(Clone, Debug)]
pub struct Line {
    /// Canonical spec of the policy.
    pub policy: String,
    /// References of the trace.
    pub references: u64,
    /// Distinct blocks of the trace.
    pub distinct: u64,
    /// How it was sampled, if it was.
    pub sampling: Option<Sampling>,
    /// True if it was replayed at its steps, and nothing is known between them.
    pub simulated: bool,
    /// Size and hits: from each size on so many hits, or, if simulated, at this size.
    steps: Vec<(u64, f64)>,
}

impl Line {
    /// A curve that holds at every size.
    pub(super) fn exact(policy: String, curve: &Curve) -> Line {
        Line {
            policy,
            references: curve.references,
            distinct: curve.distinct,
            sampling: None,
            simulated: false,
            steps: steps(curve),
        }
    }

    /// A curve from a sample.
    pub(super) fn sampled(policy: String, sampled: &SampledCurve) -> Line {
        let sampling = Sampling {
            sampling_rate: sampled.rate,
            sampled_blocks: sampled.sampled_blocks,
            resolution_blocks: sampled.resolution,
            expected_error: sampled.expected_error,
        };
        let curve = &sampled.curve;
        Line {
            policy,
            references: curve.references,
            distinct: curve.distinct.round() as u64,
            sampling: Some(sampling),
            simulated: false,
            steps: steps(curve),
        }
    }

    /// Sizes and hits of replays.
    pub(super) fn simulated(
        policy: String,
        references: u64,
        distinct: u64,
        hits: impl Iterator<Item = (u64, u64)>,
    ) -> Line {
        let steps = hits.map(|(size, hits)| (size, hits as f64)).collect();
        Line { policy, references, distinct, sampling: None, simulated: true, steps }
    }

    /// Hits at `size`; where a simulation knows nothing, those of the next smaller size that it knows.
    pub fn hits(&self, size: u64) -> f64 {
        let above = self.steps.partition_point(|&(step, _)| step <= size);
        above.checked_sub(1).map_or(0.0, |last| self.steps[last].1)
    }

    /// Hits per reference at `size`.
    pub fn ratio(&self, size: u64) -> f64 {
        if self.references == 0 { 0.0 } else { self.hits(size) / self.references as f64 }
    }

    /// The ratio to draw at `size`: between the sizes of replays, on a straight line over the logarithm of size.
    pub fn drawn(&self, size: f64) -> f64 {
        let above = self.steps.partition_point(|&(step, _)| step as f64 <= size);
        match (self.simulated, above.checked_sub(1).map(|last| self.steps[last]), self.steps.get(above)) {
            (true, Some((left, from)), Some(&(right, to))) => {
                let way = (size / left as f64).ln() / (right as f64 / left as f64).ln();
                (from + (to - from) * way) / self.references as f64
            }
            _ => self.ratio(size as u64),
        }
    }

    /// The least size known to reach `ratio`.
    pub fn size_for(&self, ratio: f64) -> Option<u64> {
        let wanted = ratio * self.references as f64;
        self.steps.iter().find(|&&(_, hits)| hits >= wanted).map(|&(size, _)| size)
    }

    /// The best ratio, and the least size that has it.
    pub fn best(&self) -> (f64, u64) {
        let most = self.steps.iter().map(|&(_, hits)| hits).fold(0.0, f64::max);
        let size = self.steps.iter().find(|&&(_, hits)| hits >= most).map_or(0, |&(size, _)| size);
        (if self.references == 0 { 0.0 } else { most / self.references as f64 }, size)
    }

    /// Up to `count` sizes to tell: those replayed, or spread from one block to all.
    pub fn sizes(&self, count: usize) -> Vec<u64> {
        if self.simulated { self.steps() } else { spread(self.distinct, count) }
    }

    /// Every size at which something is known to change.
    pub fn steps(&self) -> Vec<u64> {
        self.steps.iter().map(|&(size, _)| size).collect()
    }
}

fn steps<H: Count>(curve: &Curve<H>) -> Vec<(u64, f64)> {
    curve.steps.iter().map(|step| (step.size, step.hits.to_f64())).collect()
}

/// Up to `count` sizes on a logarithmic scale from 1 to `largest`, both included.
pub fn spread(largest: u64, count: usize) -> Vec<u64> {
    log_spread(1, largest.max(1), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_line_is_straight_between_its_points_and_may_fall() {
        let line = Line::simulated("fifo".to_owned(), 100, 9, [(1, 10), (3, 50), (9, 40)].into_iter());
        assert_eq!((line.hits(1), line.hits(4), line.ratio(9)), (10.0, 50.0, 0.4));
        assert!((line.drawn(3f64.sqrt()) - 0.3).abs() < 1e-9);
        assert_eq!((line.size_for(0.45), line.size_for(0.6)), (Some(3), None));
        assert_eq!(line.best(), (0.5, 3));
        assert_eq!(line.sizes(50), [1, 3, 9]);
    }
}
