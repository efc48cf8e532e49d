//! Hit rates by size, as far as they were seen: points, and straight lines between them.
//!
//! Paper: Patrick, Kandemir and others, soft quality of service for storage caches (POLICIES 1.4, steps 1 and 2).

/// A table of points: blocks and the hit rate in percent that was seen with so many.
#[derive(Clone, Debug)]
pub struct Curve {
    /// By blocks, ascending, each with its rate and the number of the write that put it there.
    points: Vec<(u32, f64, u64)>,
    /// So many at most.
    length: usize,
    writes: u64,
}

impl Curve {
    /// A curve through the last `length`, at least 1, of these points.
    pub fn through(length: usize, points: impl IntoIterator<Item = (u32, f64)>) -> Curve {
        let mut curve = Curve { points: Vec::new(), length, writes: 0 };
        points.into_iter().for_each(|(blocks, rate)| curve.record(blocks, rate));
        curve
    }

    /// Notes a point. The newest at a size counts; a full table gives up the one written longest ago.
    pub fn record(&mut self, blocks: u32, rate: f64) {
        self.writes += 1;
        let point = (blocks, rate, self.writes);
        match self.points.binary_search_by_key(&blocks, |point| point.0) {
            Ok(index) => self.points[index] = point,
            Err(_) => {
                if self.points.len() == self.length {
                    let oldest = (0..self.length).min_by_key(|&index| self.points[index].2).expect("it is full");
                    self.points.remove(oldest);
                }
                let index = self.points.partition_point(|point| point.0 < blocks);
                self.points.insert(index, point);
            }
        }
    }

    /// The points, by blocks.
    pub fn points(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.points.iter().map(|&(blocks, rate, _)| (blocks, rate))
    }

    /// The highest rate of all points; 0 without any.
    pub fn best(&self) -> f64 {
        self.points().fold(0.0, |best, (_, rate)| rate.max(best))
    }

    /// The least size, at least 1, at which the curve reaches `rate`; `None` if it nowhere does. Nothing is guessed
    /// beyond the points, and a curve that falls again is taken as it is.
    pub fn need(&self, rate: f64) -> Option<u32> {
        let &(first, reached, _) = self.points.first()?;
        if reached >= rate {
            return Some(first.max(1));
        }
        let segment = self.points.windows(2).find(|pair| pair[0].1 < rate && rate <= pair[1].1)?;
        let [(x1, y1, _), (x2, y2, _)] = [segment[0], segment[1]];
        let along = (rate - y1) * f64::from(x2 - x1) / (y2 - y1);
        Some((x1 + (along.ceil() as u32).min(x2 - x1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// POLICIES 1.4, vectors 3 and 4.
    #[test]
    fn the_statements_examples() {
        let mut curve = Curve::through(1024, [(1, 0.0), (4000, 40.0), (8000, 70.0)]);
        assert_eq!(curve.need(68.0), Some(7734));
        assert_eq!(curve.need(70.5), None);
        curve.record(4500, 72.0);
        assert_eq!(curve.need(68.0), Some(4438));
        assert_eq!((curve.need(0.0), curve.best()), (Some(1), 72.0));
        assert_eq!(Curve::through(1, []).need(0.0), None);
    }

    #[test]
    fn a_need_reaches_the_rate_and_nothing_less_does() {
        let curve = Curve::through(1024, [(10, 5.0), (20, 30.0), (40, 20.0), (100, 61.0)]);
        let at = |blocks: u32| {
            let points: Vec<_> = curve.points().collect();
            let pair = points.windows(2).find(|pair| pair[0].0 <= blocks && blocks <= pair[1].0)?;
            let part = f64::from(blocks - pair[0].0) / f64::from(pair[1].0 - pair[0].0);
            Some(pair[0].1 + part * (pair[1].1 - pair[0].1))
        };
        for rate in (1..=61).map(f64::from) {
            let need = curve.need(rate).unwrap();
            assert!(at(need).unwrap() >= rate - 1e-9, "{rate}");
            assert!((10..need).all(|less| at(less).unwrap() < rate), "{rate}");
        }
    }

    #[test]
    fn the_newest_point_counts_and_the_table_is_bounded() {
        const POINTS: usize = 900;
        let mut curve = Curve::through(POINTS, []);
        for blocks in 0..2000 {
            curve.record(blocks % 1500 + 1, f64::from(blocks));
        }
        assert_eq!(curve.points().count(), POINTS);
        assert!(curve.points().is_sorted_by_key(|point| point.0));
        // Those that were written longest ago are gone.
        assert!(curve.points().all(|(_, rate)| rate >= 2000.0 - POINTS as f64));
    }
}
