//! Curves: how likely a block of a flow is used at each age, and what it is worth to keep it from there on.
//!
//! Ages are told apart in buckets, four to an octave.

/// Buckets of ages; the last one takes what is older.
pub(super) const BUCKETS: usize = 104;

/// How much the curve of all blocks leans on "never used again".
const ROOT_PRIOR: f32 = 2.0;

/// The bucket of an age.
#[inline(always)]
pub(super) fn bucket(age: u32) -> usize {
    if age < 4 {
        return age as usize;
    }
    let octave = age.ilog2();
    (((octave - 1) * 4 + (age >> (octave - 2) & 3)) as usize).min(BUCKETS - 1)
}

/// The first age of a bucket, and how many ages are in it.
#[inline(always)]
fn span(bucket: usize) -> (u32, u32) {
    if bucket < 4 {
        return (bucket as u32, 1);
    }
    let shift = bucket as u32 / 4 - 1;
    ((4 + (bucket as u32 & 3)) << shift, 1 << shift)
}

/// A number for each bucket.
type ByAge = [f32; BUCKETS];
/// A number for the first age of each bucket, and for the end of the last.
type ByBorder = [f32; BUCKETS + 1];

/// All curves, by number. Number 0 is that of all blocks.
#[derive(Debug)]
pub(super) struct Curves {
    /// Uses by age.
    uses: Vec<ByAge>,
    /// Blocks that reached an age.
    at_risk: Vec<ByAge>,
    /// What is to be added to `at_risk`, as differences from one age to the next.
    news: Vec<ByBorder>,
    /// The chance that a block that reached an age is used at it.
    hazard: Vec<ByAge>,
    /// What a block is worth from there on.
    indices: Vec<ByBorder>,
    prior: f32,
    decay: f32,
}

impl Curves {
    /// So many curves of which nothing is known.
    pub(super) fn new(count: usize, prior: f32, decay: f32) -> Curves {
        Curves {
            uses: vec![[0.0; BUCKETS]; count],
            at_risk: vec![[0.0; BUCKETS]; count],
            news: vec![[0.0; BUCKETS + 1]; count],
            hazard: vec![[0.0; BUCKETS]; count],
            indices: vec![[0.0; BUCKETS + 1]; count],
            prior,
            decay,
        }
    }

    /// What a block of this age is worth: hits to be expected per block and reference. Between ages at which buckets
    /// begin it is interpolated.
    #[inline(always)]
    pub(super) fn index(&self, curve: usize, age: u32) -> f32 {
        let (bucket, indices) = (bucket(age), &self.indices[curve]);
        let (first, ages) = span(bucket);
        let (begin, end) = (indices[bucket], indices[bucket + 1]);
        let share = ((age - first) as f32 / ages as f32).min(1.0);
        begin + share * (end - begin)
    }

    /// A block was seen at the ages in the buckets `from..end`.
    #[inline(always)]
    pub(super) fn see(&mut self, curve: usize, from: usize, end: usize) {
        self.news[curve][from] += 1.0;
        self.news[curve][end] -= 1.0;
    }

    /// A block was used at an age in this bucket.
    #[inline(always)]
    pub(super) fn see_use(&mut self, curve: usize, bucket: usize) {
        self.uses[curve][bucket] += 1.0;
    }

    /// A curve begins anew, as that of its parent.
    pub(super) fn begin(&mut self, curve: usize, parent: usize) {
        self.uses[curve] = [0.0; BUCKETS];
        self.at_risk[curve] = [0.0; BUCKETS];
        self.news[curve] = [0.0; BUCKETS + 1];
        self.hazard[curve] = self.hazard[parent];
        self.indices[curve] = self.indices[parent];
    }

    /// Computes a curve from what was seen; its parent's comes first. The curve without a parent is that of all blocks.
    pub(super) fn compute(&mut self, curve: usize, parent: Option<usize>) {
        let prior = parent.map_or([0.0; BUCKETS], |parent| self.hazard[parent]);
        let weight = if parent.is_some() { self.prior } else { ROOT_PRIOR };
        let (uses, at_risk, hazard) = (&mut self.uses[curve], &mut self.at_risk[curve], &mut self.hazard[curve]);
        let mut more = 0.0;
        for (at_risk, news) in at_risk.iter_mut().zip(&self.news[curve]) {
            more += news;
            *at_risk += more;
        }
        self.news[curve] = [0.0; BUCKETS + 1];
        for bucket in 0..BUCKETS {
            let chance = (uses[bucket] + weight * prior[bucket]) / (at_risk[bucket] + weight);
            hazard[bucket] = chance.min(1.0);
            uses[bucket] *= self.decay;
            at_risk[bucket] *= self.decay;
        }
        self.indices[curve] = indices(hazard);
    }

    /// Panics on numbers that no evidence gives.
    pub(super) fn validate(&self, curve: usize) {
        assert!(self.uses[curve].iter().all(|&uses| uses >= 0.0), "uses below 0");
        assert!(self.at_risk[curve].iter().all(|&blocks| blocks > -0.01), "blocks below 0");
        assert!(self.hazard[curve].iter().all(|chance| (0.0..=1.0).contains(chance)), "no chance");
        assert!(self.indices[curve].iter().all(|index| index.is_finite() && *index >= 0.0), "no index");
    }
}

/// Where a block stands at the first age of each bucket: the room and time that it has taken so far, and the chance
/// that it was used.
fn path(hazard: &ByAge) -> [(f64, f64); BUCKETS + 1] {
    let mut points = [(0.0, 0.0); BUCKETS + 1];
    let (mut unused, mut room) = (1.0, 0.0);
    for bucket in 0..BUCKETS {
        let left = unused * (1.0 - f64::from(hazard[bucket]));
        room += f64::from(span(bucket).1) * (unused + left) / 2.0;
        unused = left;
        points[bucket + 1] = (room, 1.0 - unused);
    }
    points
}

/// The steepest way from each point of the path to a later one: the concave majorant from the right.
fn indices(hazard: &ByAge) -> ByBorder {
    let points = path(hazard);
    let mut indices = [0.0; BUCKETS + 1];
    // Points of the majorant from the right on, each with the slope to the one before it.
    let mut ahead = [(0, 0.0); BUCKETS + 1];
    ahead[0] = (BUCKETS, f64::NEG_INFINITY);
    let mut last = 0;
    for bucket in (0..BUCKETS).rev() {
        let slope = |to: usize| {
            let (room, used) = (points[to].0 - points[bucket].0, points[to].1 - points[bucket].1);
            if room > 0.0 { used / room } else { 0.0 }
        };
        let mut steepest = slope(ahead[last].0);
        while steepest <= ahead[last].1 {
            last -= 1;
            steepest = slope(ahead[last].0);
        }
        last += 1;
        ahead[last] = (bucket, steepest);
        indices[bucket] = steepest as f32;
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_span_all_ages() {
        let mut next = 0;
        for number in 0..BUCKETS {
            let (first, ages) = span(number);
            assert_eq!(first, next);
            assert!([first, first + ages - 1].iter().all(|&age| bucket(age) == number));
            next = first + ages;
        }
        assert_eq!((next, bucket(next), bucket(u32::MAX)), (1 << 27, BUCKETS - 1, BUCKETS - 1));
    }

    /// By definition, looking at all later points.
    #[test]
    fn the_majorant_is_the_steepest_way() {
        let mut random = crate::parts::random::Random::new(3);
        for _ in 0..300 {
            let hazard: ByAge = std::array::from_fn(|_| random.unit().powi(6) as f32);
            let (points, found) = (path(&hazard), indices(&hazard));
            for bucket in 0..BUCKETS {
                let slope = |to: usize| {
                    let room = points[to].0 - points[bucket].0;
                    if room > 0.0 { (points[to].1 - points[bucket].1) / room } else { 0.0 }
                };
                let steepest = (bucket + 1..=BUCKETS).map(slope).fold(0.0, f64::max);
                let error = (f64::from(found[bucket]) - steepest).abs();
                assert!(error <= 1e-6 * steepest, "{bucket}: {} for {steepest}", found[bucket]);
            }
        }
    }

    /// A block that is used at age 8 for certain: worth the more the nearer that is, and nothing afterwards.
    #[test]
    fn a_loop_is_worth_most_just_before_its_end() {
        let mut curves = Curves::new(1, 32.0, 1.0);
        for _ in 0..1_000_000 {
            curves.see(0, 0, 9);
            curves.see_use(0, 8);
        }
        curves.compute(0, None);
        let worth: Vec<f32> = (0..11).map(|age| curves.index(0, age)).collect();
        assert!(worth[..8].is_sorted() && worth[8] > 0.6 && worth[10] < 1e-3, "{worth:?}");
        assert!((worth[0] - 1.0 / 9.0).abs() < 0.01, "{worth:?}");
    }
}
