//! Curves: how likely a block of a flow is used at each age, and what it is worth to keep it from there on.
//!
//! Ages are distinguished in buckets, four to an octave.

use std::cell::{OnceCell, RefCell};

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
pub(super) const fn span(bucket: usize) -> (u32, u32) {
    if bucket < 4 {
        return (bucket as u32, 1);
    }
    let shift = bucket as u32 / 4 - 1;
    ((4 + (bucket as u32 & 3)) << shift, 1 << shift)
}

/// The bucket of an age, and how far into the bucket it is, from 0 to 1. From age 4 on a floating-point number has both
/// in its bits: the octave, two bits that tell the quarter, and the rest.
#[inline(always)]
fn place(age: u32) -> (usize, f32) {
    const BEYOND: u32 = 1 << (BUCKETS / 4 + 1);
    const REST: u32 = f64::MANTISSA_DIGITS - 1 - 2;
    const BEFORE: usize = (4.0f64.to_bits() >> REST) as usize - 4;
    if age < 4 {
        return (age as usize, 0.0);
    }
    if age >= BEYOND {
        return (BUCKETS - 1, 1.0);
    }
    let bits = f64::from(age).to_bits();
    let rest = (bits & ((1 << REST) - 1)) << 2;
    let share = f64::from_bits(1.0f64.to_bits() | rest) - 1.0;
    ((bits >> REST) as usize - BEFORE, share as f32)
}

/// How many ages are in each bucket.
const AGES: [f64; BUCKETS] = {
    let (mut ages, mut bucket) = ([0.0; BUCKETS], 0);
    while bucket < BUCKETS {
        ages[bucket] = span(bucket).1 as f64;
        bucket += 1;
    }
    ages
};

/// A number for each bucket.
pub(super) type ByAge = [f32; BUCKETS];
/// A number for the first age of each bucket, and for the end of the last.
pub(super) type ByBorder = [f32; BUCKETS + 1];

/// The saving of a hit: with the neighbours of its block as they are, and if it had none.
pub(super) type Saved = [f32; 2];

/// The observations of each flow since its curve was computed last, or during that.
#[derive(Debug)]
struct Seen {
    /// Uses by age.
    uses: Vec<ByAge>,
    /// Blocks that reached an age, as differences from one age to the next.
    reached: Vec<ByBorder>,
    /// What hits at these uses would have saved; all 0 where hits are alike.
    saved: Vec<Saved>,
    /// False if no block reached an age.
    is_news: Vec<bool>,
    /// No block was ever seen at an age in this bucket or a later one.
    end: usize,
}

/// All that curves are computed from. Number 0 is that of all blocks.
#[derive(Debug)]
struct Evidence {
    /// Uses with those before, and what is to be added to `at_risk`.
    seen: Seen,
    /// Blocks that reached an age.
    at_risk: Vec<ByAge>,
    /// The chance that a block that reached an age is used at it.
    hazard: Vec<ByAge>,
    /// The mean saving of a hit, 1 if hits are alike.
    value: Vec<Saved>,
    prior: f32,
    decay: f32,
    /// Hits are not alike.
    is_valued: bool,
}

/// The figures of a curve.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    /// The value of a block from an age on. Most curves are not used before the next computation, and the majorant
    /// is most of the work: it is computed at the first use.
    indices: OnceCell<ByBorder>,
    /// How many times as much blocks cost storage if no two were neighbours.
    apart: f32,
}

/// All curves, by number.
#[derive(Debug)]
pub(super) struct Curves {
    told: Vec<Curve>,
    /// `None` while curves are computed elsewhere.
    evidence: Option<Evidence>,
    /// The observations meanwhile.
    meanwhile: Seen,
    /// Curves that were begun meanwhile, and the ones that contain them.
    begun: Vec<(u16, u16)>,
    majorant: RefCell<Box<Majorant>>,
}

/// A computation of curves: its input and its result.
#[derive(Debug)]
pub(super) struct Computation {
    evidence: Evidence,
    told: Vec<Curve>,
    /// Curves, those that contain others first, with the one that contains each.
    order: Vec<(u16, Option<u16>)>,
}

impl Seen {
    fn new(count: usize) -> Seen {
        Seen {
            uses: vec![[0.0; BUCKETS]; count],
            reached: vec![[0.0; BUCKETS + 1]; count],
            saved: vec![[0.0; 2]; count],
            is_news: vec![false; count],
            end: 0,
        }
    }

    fn clear(&mut self, curve: usize) {
        self.uses[curve] = [0.0; BUCKETS];
        self.reached[curve] = [0.0; BUCKETS + 1];
        self.saved[curve] = [0.0; 2];
        self.is_news[curve] = false;
    }

    fn add(&mut self, other: &Seen) {
        let sum = |to: &mut [f32], from: &[f32]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        self.uses.iter_mut().zip(&other.uses).for_each(|(to, from)| sum(to, from));
        self.reached.iter_mut().zip(&other.reached).for_each(|(to, from)| sum(to, from));
        self.saved.iter_mut().zip(&other.saved).for_each(|(to, from)| sum(to, from));
        self.is_news.iter_mut().zip(&other.is_news).for_each(|(is_news, other)| *is_news |= other);
        self.end = self.end.max(other.end);
    }
}

impl Curves {
    /// So many curves without observations. Hits are distinguished by their savings if it `is_valued`.
    pub(super) fn new(count: usize, prior: f32, decay: f32, is_valued: bool) -> Curves {
        let nothing = || vec![[0.0; BUCKETS]; count];
        let (seen, value) = (Seen::new(count), vec![[1.0; 2]; count]);
        let evidence = Evidence { seen, at_risk: nothing(), hazard: nothing(), value, prior, decay, is_valued };
        Curves {
            told: vec![Curve { indices: OnceCell::new(), apart: 1.0 }; count],
            evidence: Some(evidence),
            meanwhile: Seen::new(0),
            begun: Vec::new(),
            majorant: RefCell::default(),
        }
    }

    /// The value of a block of this age: the expected saving by hits per block and reference. Between ages at
    /// which buckets begin it is interpolated.
    #[inline(always)]
    pub(super) fn index(&self, curve: usize, age: u32) -> f32 {
        let (bucket, share) = place(age);
        let indices = self.indices(curve);
        let (begin, end) = (indices[bucket], indices[bucket + 1]);
        begin + share * (end - begin)
    }

    #[inline(always)]
    fn indices(&self, curve: usize) -> &ByBorder {
        self.told[curve].indices.get_or_init(|| {
            let evidence = self.evidence.as_ref().expect("whoever hands it out computes all indices");
            evidence.indices(curve, &mut self.majorant.borrow_mut())
        })
    }

    /// How many times as much blocks of a curve cost storage if no two were neighbours; 1 where hits are alike.
    #[inline(always)]
    pub(super) fn apart(&self, curve: usize) -> f32 {
        self.told[curve].apart
    }

    /// The chances of a curve by age, and what a block is worth at the first age of each; `None` while curves are
    /// computed elsewhere.
    pub(super) fn of(&self, curve: usize) -> Option<(&ByAge, &ByBorder)> {
        Some((&self.evidence.as_ref()?.hazard[curve], self.indices(curve)))
    }

    #[inline(always)]
    fn seen(&mut self) -> &mut Seen {
        match &mut self.evidence {
            Some(evidence) => &mut evidence.seen,
            None => &mut self.meanwhile,
        }
    }

    /// A block was seen at the ages in the buckets `from..end`.
    #[inline(always)]
    pub(super) fn see(&mut self, curve: usize, from: usize, end: usize) {
        let seen = self.seen();
        let reached = &mut seen.reached[curve];
        reached[from] += 1.0;
        reached[end] -= 1.0;
        seen.is_news[curve] = true;
        seen.end = seen.end.max(end);
    }

    /// A block was used at an age in this bucket, where a hit would have saved so much.
    #[inline(always)]
    pub(super) fn see_use(&mut self, curve: usize, bucket: usize, saved: Saved) {
        let seen = self.seen();
        seen.end = seen.end.max(bucket + 1);
        seen.uses[curve][bucket] += 1.0;
        seen.saved[curve].iter_mut().zip(saved).for_each(|(sum, saved)| *sum += saved);
    }

    /// A curve begins anew, as that of its parent.
    pub(super) fn begin(&mut self, curve: usize, parent: usize) {
        self.told[curve] = self.told[parent].clone();
        match &mut self.evidence {
            Some(evidence) => evidence.begin(curve, parent),
            None => {
                self.meanwhile.clear(curve);
                self.begun.push((curve as u16, parent as u16));
            }
        }
    }

    /// False while curves are computed elsewhere.
    pub(super) fn are_here(&self) -> bool {
        self.evidence.is_some()
    }

    /// Hands out the input of curves; later observations are kept separately. `None` while it is out.
    pub(super) fn hand_out(&mut self, order: Vec<(u16, Option<u16>)>) -> Option<Computation> {
        for &(curve, _) in self.evidence.iter().flat_map(|_| &order) {
            self.indices(curve.into());
        }
        let evidence = self.evidence.take()?;
        if self.meanwhile.uses.is_empty() {
            self.meanwhile = Seen::new(self.told.len());
        }
        Some(Computation { evidence, told: self.told.clone(), order })
    }

    /// Takes back what was handed out, with what it has given.
    pub(super) fn take_back(&mut self, computed: Computation) {
        let Computation { mut evidence, told, .. } = computed;
        self.told = told;
        for (curve, parent) in self.begun.drain(..) {
            evidence.begin(curve.into(), parent.into());
            self.told[usize::from(curve)] = self.told[usize::from(parent)].clone();
        }
        evidence.seen.add(&self.meanwhile);
        (0..self.told.len()).for_each(|curve| self.meanwhile.clear(curve));
        self.evidence = Some(evidence);
    }

    /// Computes curves where it is called, those that contain others first.
    pub(super) fn compute(&mut self, order: impl Iterator<Item = (usize, Option<usize>)>) {
        let Some(evidence) = &mut self.evidence else { return };
        for (curve, parent) in order {
            evidence.compute(curve, parent, &mut self.told[curve]);
        }
    }

    /// Panics on numbers that no evidence gives.
    pub(super) fn validate(&self, curve: usize) {
        let Curve { indices, apart } = &self.told[curve];
        assert!(
            indices.get().is_none_or(|indices| indices.iter().all(|index| index.is_finite() && *index >= 0.0)),
            "no index"
        );
        assert!(*apart >= 1.0 && apart.is_finite(), "cheaper one by one");
        let Some(evidence) = &self.evidence else { return };
        assert!(evidence.seen.uses[curve].iter().all(|&uses| uses >= 0.0), "uses below 0");
        assert!(evidence.at_risk[curve].iter().all(|&blocks| blocks > -0.01), "blocks below 0");
        assert!(evidence.hazard[curve].iter().all(|chance| (0.0..=1.0).contains(chance)), "no chance");
        assert!(evidence.value[curve].iter().all(|value| *value >= 0.0 && value.is_finite()), "no value");
    }
}

impl Computation {
    /// Computes the curves, and all indices.
    pub(super) fn run(mut self) -> Computation {
        let mut majorant = Majorant::default();
        for &(curve, parent) in &self.order {
            let told = &mut self.told[usize::from(curve)];
            self.evidence.compute(curve.into(), parent.map(usize::from), told);
            told.indices.get_or_init(|| self.evidence.indices(curve.into(), &mut majorant));
        }
        self
    }
}

impl Evidence {
    fn begin(&mut self, curve: usize, parent: usize) {
        self.seen.clear(curve);
        self.at_risk[curve] = [0.0; BUCKETS];
        self.hazard[curve] = self.hazard[parent];
        self.value[curve] = self.value[parent];
    }

    /// Computes a curve from what was seen; its parent's comes first. The curve without a parent is that of all blocks.
    /// Beyond the ages that were seen all chances are 0, and so is what blocks are worth.
    fn compute(&mut self, curve: usize, parent: Option<usize>, told: &mut Curve) {
        let prior = parent.map_or([0.0; BUCKETS], |parent| self.hazard[parent]);
        let weight = if parent.is_some() { self.prior } else { ROOT_PRIOR };
        let [value, apart] = if self.is_valued { self.value_of(curve, parent) } else { [1.0; 2] };
        let end = self.end();
        let (uses, at_risk) = (&mut self.seen.uses[curve][..end], &mut self.at_risk[curve][..end]);
        if std::mem::take(&mut self.seen.is_news[curve]) {
            let (reached, mut more) = (&mut self.seen.reached[curve][..=end], 0.0);
            for (at_risk, reached) in at_risk.iter_mut().zip(&*reached) {
                more += reached;
                *at_risk += more;
            }
            reached.fill(0.0);
        }
        let hazard = &mut self.hazard[curve][..end];
        for (((hazard, uses), at_risk), prior) in hazard.iter_mut().zip(&mut *uses).zip(&mut *at_risk).zip(&prior) {
            *hazard = ((*uses + weight * prior) / (*at_risk + weight)).min(1.0);
            *uses *= self.decay;
            *at_risk *= self.decay;
        }
        told.indices = OnceCell::new();
        told.apart = if value > 0.0 { (apart / value).max(1.0) } else { 1.0 };
    }

    /// The first bucket of ages without a block, or one of the next three: buckets are computed four at a time.
    fn end(&self) -> usize {
        self.seen.end.next_multiple_of(4).min(BUCKETS)
    }

    /// What blocks of a curve are worth by age, by the chances that were computed last.
    #[cold]
    fn indices(&self, curve: usize, majorant: &mut Majorant) -> ByBorder {
        let mut indices = [0.0; BUCKETS + 1];
        majorant.indices(&self.hazard[curve][..self.end()], self.value[curve][0], &mut indices);
        indices
    }

    /// The mean saving of a hit on a block of a curve, which leans on its parent as probabilities do.
    fn value_of(&mut self, curve: usize, parent: Option<usize>) -> Saved {
        let uses: f32 = self.seen.uses[curve].iter().sum();
        let saved = self.seen.saved[curve];
        self.value[curve] = std::array::from_fn(|way| match parent {
            Some(parent) => (saved[way] + self.prior * self.value[parent][way]) / (uses + self.prior),
            None if uses > 0.0 => saved[way] / uses,
            None => 1.0,
        });
        self.seen.saved[curve] = saved.map(|saved| saved * self.decay);
        self.value[curve]
    }
}

/// A point of a block's way: the room and time that it has taken so far, and the chance that it was used.
pub(super) type Point = (f64, f64);

/// Where a block stands at the first age of each bucket, and at the end of the last.
pub(super) type Path = [Point; BUCKETS + 1];

/// The path of blocks with these chances.
pub(super) fn path(hazard: &ByAge) -> Path {
    let mut points = [(0.0, 0.0); BUCKETS + 1];
    walk(hazard, &mut points);
    points
}

/// Tells as much of a path as chances are given for. Its beginning is known.
fn walk(hazard: &[f32], points: &mut Path) {
    let (mut unused, mut room) = (1.0, 0.0);
    for ((point, &chance), ages) in points[1..].iter_mut().zip(hazard).zip(&AGES) {
        let left = unused * (1.0 - f64::from(chance));
        room += ages * (unused + left) / 2.0;
        unused = left;
        *point = (room, 1.0 - unused);
    }
}

/// Where majorants are computed: what one leaves there is nothing to the next.
#[derive(Debug)]
struct Majorant {
    points: Path,
    /// Points of the majorant with the slope from each to the one before it, from the right on.
    ahead: [(Point, f64); BUCKETS],
}

impl Default for Majorant {
    fn default() -> Majorant {
        Majorant { points: [(0.0, 0.0); BUCKETS + 1], ahead: [((0.0, 0.0), 0.0); BUCKETS] }
    }
}

impl Majorant {
    /// The steepest way from each point of the path to a later one, times a value: the concave majorant from the right.
    fn indices(&mut self, hazard: &[f32], value: f32, indices: &mut ByBorder) {
        walk(hazard, &mut self.points);
        // The point of the majorant that is next, and the slope from there on.
        let (mut next, mut slope) = (self.points[hazard.len()], f64::NEG_INFINITY);
        let mut count = 0;
        for (index, &point) in indices[..hazard.len()].iter_mut().zip(&self.points).rev() {
            let mut steepest = slope_between(point, next);
            while steepest <= slope {
                count -= 1;
                (next, slope) = self.ahead[count];
                steepest = slope_between(point, next);
            }
            self.ahead[count] = (next, slope);
            count += 1;
            (next, slope) = (point, steepest);
            *index = steepest as f32 * value;
        }
    }
}

#[inline(always)]
fn slope_between(from: Point, to: Point) -> f64 {
    let (room, used) = (to.0 - from.0, to.1 - from.1);
    if room > 0.0 { used / room } else { 0.0 }
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

    #[test]
    fn an_age_is_as_far_into_its_bucket_as_it_is_from_the_first() {
        let around = |age: u32| [age.wrapping_sub(1), age, age.wrapping_add(1), age.wrapping_add(age / 7)];
        for age in (0..1000).chain((0..32).flat_map(|octave| around(1 << octave))) {
            let (first, ages) = span(bucket(age));
            let share = ((age - first) as f32 / ages as f32).min(1.0);
            assert_eq!(place(age), (bucket(age), share), "{age}");
        }
    }

    /// By definition, looking at all later points.
    #[test]
    fn the_majorant_is_the_steepest_way() {
        let mut random = crate::random::Rng::new(3);
        let mut majorant = Majorant::default();
        for _ in 0..300 {
            let hazard: ByAge = std::array::from_fn(|_| random.unit().powi(6) as f32);
            let (points, mut found) = (path(&hazard), [0.0; BUCKETS + 1]);
            majorant.indices(&hazard, 1.0, &mut found);
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
        let mut curves = Curves::new(1, 32.0, 1.0, false);
        for _ in 0..1_000_000 {
            curves.see(0, 0, 9);
            curves.see_use(0, 8, [1.0; 2]);
        }
        curves.compute([(0, None)].into_iter());
        let worth: Vec<f32> = (0..11).map(|age| curves.index(0, age)).collect();
        assert!(worth[..8].is_sorted() && worth[8] > 0.6 && worth[10] < 1e-3, "{worth:?}");
        assert!((worth[0] - 1.0 / 9.0).abs() < 0.01, "{worth:?}");
    }

    /// Observations made while curves are computed elsewhere count afterwards as they would have.
    #[test]
    fn computed_elsewhere_is_computed_here_with_later_news() {
        let order = [(0, None), (1, Some(0)), (2, Some(0))];
        let (mut here, mut elsewhere) = (Curves::new(3, 32.0, 0.98, true), Curves::new(3, 32.0, 0.98, true));
        let mut random = crate::random::Rng::new(5);
        let see = |curves: [&mut Curves; 2], random: &mut crate::random::Rng| {
            let (curve, bucket, is_used) = (random.below(3) as usize, random.below(60) as usize, random.below(2) == 0);
            for curves in curves {
                curves.see(curve, 0, bucket + 1);
                if is_used {
                    curves.see_use(curve, bucket, [bucket as f32, 2.0 * bucket as f32]);
                }
            }
        };
        for round in 0..40 {
            (0..50).for_each(|_| see([&mut here, &mut elsewhere], &mut random));
            here.compute(order.iter().map(|&(curve, parent)| (curve.into(), parent.map(usize::from))));
            let computed = elsewhere.hand_out(order.to_vec()).expect("it is here").run();
            assert!(elsewhere.hand_out(Vec::new()).is_none(), "it is out");
            if round % 3 == 0 {
                here.begin(2, 1);
                elsewhere.begin(2, 1);
            }
            (0..50).for_each(|_| see([&mut here, &mut elsewhere], &mut random));
            elsewhere.take_back(computed);
            (0..3).for_each(|curve| assert_eq!(here.indices(curve), elsewhere.indices(curve)));
            let (one, other) = (here.evidence.as_ref().unwrap(), elsewhere.evidence.as_ref().unwrap());
            assert_eq!((&one.hazard, &one.at_risk), (&other.hazard, &other.at_risk));
            assert_eq!(one.seen.reached, other.seen.reached);
            let near = |(one, other): (&f32, &f32)| (one - other).abs() <= 1e-5 * one.abs();
            assert!(one.seen.uses.iter().flatten().zip(other.seen.uses.iter().flatten()).all(near));
        }
    }
}
