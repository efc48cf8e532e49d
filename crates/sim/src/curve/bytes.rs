//! Hits by cache size in bytes, where objects have many sizes.
//!
//! LRU in one pass. An object is resident in a cache of C bytes as long as the objects used since its last use, and it
//! itself, take at most C bytes together: the bytes above an object in the stack only grow until its next use. So the
//! *byte distance* of a reference is the least C that makes it a hit, and one pass gives the hits at every size (the
//! inclusion property of Mattson et al. 1970, with weights). That holds where every object fits (C is at least the
//! largest object), no object shrinks and none is removed; elsewhere LRU is replayed like any other policy.
//!
//! A bound beside every size. Belady's rule is not optimal for objects of many sizes, and the optimum is NP-hard to
//! find. [`bounds`] gives PFOO-L (Berger, Beckmann, Harchol-Balter, "Practical bounds on optimal caching with variable
//! object sizes", SIGMETRICS 2018): to hit, an object takes its size from one use to the next, and all that is taken
//! fits into capacity times references. The cheapest hits are counted until that volume is used up.
//! No policy hits more, and the optimum may hit less.
//!
//! Cost: LRU O(log n) a reference, the bound a sort. Memory: 12 bytes an object and 16 a position, 24 bytes a reuse.

use hotset_core::policy::{OnePass, PolicySpec};
use rayon::prelude::*;

use hotset_results::Sampling;

use super::mix;
use crate::curve::sampled::Whole;
use crate::references::References;

/// Hits of a cache of so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytePoint {
    /// Bytes of the cache.
    pub size: u64,
    /// References that hit.
    pub hits: u64,
    /// Bytes of these.
    pub bytes_hit: u64,
}

/// The hits of one policy by size in bytes.
#[derive(Clone, Debug)]
pub struct ByteLine {
    /// Canonical spec of the policy.
    pub policy: String,
    /// Sizes below this were replayed, the others follow from one pass; all were replayed if it is `u64::MAX`.
    pub exact_from: u64,
    /// One point a size.
    pub points: Vec<BytePoint>,
}

/// The curves of a trace of objects, by bytes.
#[derive(Clone, Debug)]
pub struct ByteCurves {
    /// One line a policy, all at the same sizes.
    pub lines: Vec<ByteLine>,
    /// At each size, the bound on every policy: PFOO-L.
    pub bounds: Vec<BytePoint>,
    /// References that are counted.
    pub references: u64,
    /// Bytes of the objects that they are to.
    pub bytes: u64,
    /// Distinct objects.
    pub distinct: u64,
    /// Bytes of all distinct objects, each at its largest.
    pub footprint: u64,
    /// How all of this was estimated, if it was.
    pub sampling: Option<Sampling>,
}

impl ByteCurves {
    /// Scales curves of a sample up to its trace. A surplus or deficit of references in the sample, mostly because hot
    /// objects are in or out, counts as hits (SHARDS-adj).
    pub(super) fn scale(&mut self, sampling: Sampling, whole: &Whole) {
        let rate = sampling.sampling_rate;
        let up = |count: u64| (count as f64 / rate).round() as u64;
        let (references, bytes) = (self.references, self.bytes);
        let scale = |point: &mut BytePoint| {
            point.size = up(point.size);
            point.hits = whole.references().saturating_sub(up(references - point.hits));
            point.bytes_hit = whole.bytes().saturating_sub(up(bytes - point.bytes_hit));
        };
        self.bounds.iter_mut().for_each(scale);
        for line in &mut self.lines {
            line.points.iter_mut().for_each(scale);
            line.exact_from = if line.exact_from == u64::MAX { u64::MAX } else { up(line.exact_from) };
        }
        (self.references, self.bytes) = (whole.references(), whole.bytes());
        (self.distinct, self.footprint) = (up(self.distinct), up(self.footprint));
        self.sampling = Some(sampling);
    }
}

/// Sizes of a trace's objects as caches weigh them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// Bytes of all objects, each at its largest.
    pub footprint: u64,
    /// Bytes of the largest object.
    pub largest: u64,
    /// No object is smaller than at the reference before.
    pub never_shrink: bool,
}

/// The weight of an object: one without a size is not free.
fn weight(size: u32) -> u64 {
    u64::from(size.max(1))
}

impl Weights {
    pub fn of(trace: &References) -> Weights {
        let mut last = vec![0u32; trace.distinct() as usize];
        let mut most = vec![0u32; trace.distinct() as usize];
        let mut never_shrink = true;
        for (&id, &size) in trace.ids().iter().zip(trace.sizes()) {
            let id = id as usize;
            never_shrink &= size.max(1) >= last[id];
            last[id] = size.max(1);
            most[id] = most[id].max(size.max(1));
        }
        Weights {
            footprint: most.iter().map(|&size| u64::from(size)).sum(),
            largest: most.iter().map(|&size| u64::from(size)).max().unwrap_or(0),
            never_shrink,
        }
    }
}

/// True if one pass gives the hits of LRU from the largest object on.
pub(super) fn is_of_one_pass(trace: &References, weights: &Weights) -> bool {
    weights.never_shrink && trace.events().is_empty() && !trace.has_uncounted()
}

/// The hits of LRU at these ascending sizes, each at least the largest object.
pub(super) fn lru(trace: &References, sizes: &[u64]) -> Vec<BytePoint> {
    lru_of(trace, sizes, |_| true)
}

/// The same of the objects that `is_taken` chooses.
fn lru_of(trace: &References, sizes: &[u64], is_taken: impl Fn(u32) -> bool) -> Vec<BytePoint> {
    let mut points: Vec<BytePoint> = sizes.iter().map(|&size| BytePoint { size, ..BytePoint::default() }).collect();
    let mut stack = Stack::new(trace.distinct() as usize);
    for (&id, &size) in trace.ids().iter().zip(trace.sizes()).filter(|&(&id, _)| is_taken(id)) {
        if let Some(distance) = stack.touch(id, weight(size)) {
            let least = sizes.partition_point(|&size| size < distance);
            if let Some(point) = points.get_mut(least) {
                point.hits += 1;
                point.bytes_hit += u64::from(size);
            }
        }
    }
    for at in 1..points.len() {
        points[at].hits += points[at - 1].hits;
        points[at].bytes_hit += points[at - 1].bytes_hit;
    }
    points
}

/// The mean absolute error of the hit ratio of LRU to be expected of a sample at these ascending sizes, by how much
/// random groups of its objects differ from it, as in [`Shards`](super::Shards); `None` without sizes.
pub(super) fn expected_error(sample: &References, sizes: &[u64]) -> Option<f64> {
    const GROUPS: u64 = 8;
    let references = sample.len() as f64;
    let whole = lru(sample, sizes);
    let parts: Vec<u64> = sizes.iter().map(|size| size / GROUPS).collect();
    let of_group = |group: u64| -> f64 {
        let is_taken = |id: u32| mix(id.into()) % GROUPS == group;
        let count = sample.ids().iter().filter(|&&id| is_taken(id)).count() as u64;
        let differences = lru_of(sample, &parts, is_taken).into_iter().zip(&whole).map(|(part, whole)| {
            let ratio = 1.0 - ((GROUPS * (count - part.hits)) as f64 / references).min(1.0);
            (ratio - whole.hits as f64 / references).abs()
        });
        differences.sum::<f64>() / sizes.len() as f64
    };
    let mean = (0..GROUPS).into_par_iter().map(of_group).sum::<f64>() / GROUPS as f64;
    (!sizes.is_empty()).then(|| mean / (GROUPS as f64 - 1.0).sqrt())
}

/// Objects in order of last use, on a line of positions with their bytes: a binary indexed tree over the positions
/// gives the bytes from any of them on. When positions run out, those of last uses move together.
struct Stack {
    /// Position of each object's last use and its bytes there.
    places: Vec<(u32, u32)>,
    /// Sums of bytes over positions, from 1 on.
    sums: Vec<u64>,
    used: usize,
    /// Bytes of all objects.
    total: u64,
}

const NOWHERE: u32 = u32::MAX;

impl Stack {
    fn new(objects: usize) -> Stack {
        let room = (2 * objects).clamp(1 << 10, NOWHERE as usize - 2);
        Stack { places: vec![(NOWHERE, 0); objects], sums: vec![0; room + 1], used: 0, total: 0 }
    }

    /// References an object that weighs so much now. Gives the bytes used since its last use, itself included as it
    /// was then; `None` if there was none.
    fn touch(&mut self, id: u32, bytes: u64) -> Option<u64> {
        let (place, before) = self.places[id as usize];
        let distance = (place != NOWHERE).then(|| {
            let distance = self.total - self.before(place as usize);
            self.add(place as usize, u64::from(before).wrapping_neg());
            distance
        });
        self.places[id as usize].0 = NOWHERE;
        if self.used + 1 == self.sums.len() {
            self.compact();
        }
        self.places[id as usize] = (self.used as u32, bytes as u32);
        self.add(self.used, bytes);
        self.used += 1;
        distance
    }

    /// Bytes at positions before this one.
    fn before(&self, place: usize) -> u64 {
        let (mut at, mut sum) = (place, 0u64);
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }

    fn add(&mut self, place: usize, bytes: u64) {
        self.total = self.total.wrapping_add(bytes);
        let mut at = place + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add(bytes);
            at += at & at.wrapping_neg();
        }
    }

    #[cold]
    fn compact(&mut self) {
        let mut order: Vec<u32> = (0..self.places.len() as u32).collect();
        order.retain(|&id| self.places[id as usize].0 != NOWHERE);
        order.sort_unstable_by_key(|&id| self.places[id as usize].0);
        self.sums.fill(0);
        (self.used, self.total) = (0, 0);
        for id in order {
            let bytes = self.places[id as usize].1;
            self.places[id as usize].0 = self.used as u32;
            self.add(self.used, bytes.into());
            self.used += 1;
        }
    }
}

/// The bytes of a hit in the cache, and its gain.
#[derive(Clone, Copy)]
struct Reuse {
    /// References from one use to the next.
    length: u32,
    /// Bytes that are held for so long.
    held: u32,
    /// Bytes that hit.
    given: u32,
}

/// At each size, hits and bytes hit that no policy exceeds (PFOO-L). The two bounds come from two choices of reuses.
pub fn bounds(trace: &References, sizes: &[u64]) -> Vec<BytePoint> {
    let mut reuses = reuses(trace);
    let taken = |reuse: &Reuse| u128::from(reuse.length) * u128::from(reuse.held);
    reuses.par_sort_unstable_by_key(taken);
    let hits = most(&reuses, trace.len(), sizes, taken, |_| 1);
    // By the volume for each byte that hits.
    reuses.par_sort_unstable_by(|one, other| {
        (taken(one) * u128::from(other.given)).cmp(&(taken(other) * u128::from(one.given)))
    });
    let bytes = most(&reuses, trace.len(), sizes, taken, |reuse| reuse.given.into());
    let both = sizes.iter().zip(hits.into_iter().zip(bytes));
    both.map(|(&size, (hits, bytes_hit))| BytePoint { size, hits, bytes_hit }).collect()
}

/// At each size, the most that is given by `reuses` of objects that fit, in this order, until they take capacity times
/// references. The last one, which does not fit as a whole, is counted as a whole.
fn most(
    reuses: &[Reuse],
    references: u64,
    sizes: &[u64],
    taken: impl Fn(&Reuse) -> u128,
    given: impl Fn(&Reuse) -> u64,
) -> Vec<u64> {
    let at_size = |&size: &u64| {
        let allowed = u128::from(size) * u128::from(references);
        let (mut volume, mut sum) = (0u128, 0u64);
        for reuse in reuses.iter().filter(|reuse| u64::from(reuse.held) <= size) {
            if volume >= allowed {
                break;
            }
            volume += taken(reuse);
            sum += given(reuse);
        }
        sum
    };
    sizes.iter().map(at_size).collect()
}

/// Every use of an object that was used before and is counted.
fn reuses(trace: &References) -> Vec<Reuse> {
    let mut last: Vec<Option<(u64, u32)>> = vec![None; trace.distinct() as usize];
    let mut reuses = Vec::new();
    for window in trace.windows() {
        for (index, (&id, &size)) in window.keys.iter().zip(window.sizes).enumerate() {
            let now = window.first + index as u64;
            let before = last[id as usize].replace((now, size.max(1)));
            let is_counted = window.uncounted.is_none_or(|uncounted| !crate::bits::get(uncounted, index as u64));
            if let (Some((then, held)), true) = (before, is_counted) {
                let length = u32::try_from(now - then).unwrap_or(u32::MAX);
                reuses.push(Reuse { length, held, given: size });
            }
        }
    }
    reuses
}

/// True if one pass gives the hits of the policy at every size.
pub(super) fn is_lru(policy: &PolicySpec) -> bool {
    policy.info().one_pass == Some(OnePass::LastUse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a of 2 bytes, b of 3, a again: 5 bytes make it hit. c of 4, b again: 9 bytes.
    #[test]
    fn byte_distances_by_hand() {
        let trace = References::from_ids(vec![0, 1, 0, 2, 1, 1]).with_sizes(vec![2, 3, 2, 4, 3, 3]);
        let points = lru(&trace, &[4, 5, 8, 9]);
        let hits: Vec<(u64, u64)> = points.iter().map(|point| (point.hits, point.bytes_hit)).collect();
        assert_eq!(hits, [(1, 3), (2, 5), (2, 5), (3, 8)]);
    }

    /// The stack by its definition, over positions that run out several times.
    #[test]
    fn byte_distances_are_those_of_a_list() {
        let mut random = hotset_core::random::Rng::new(3);
        let mut stack = Stack::new(300);
        let mut list: Vec<(u32, u64)> = Vec::new();
        for _ in 0..20_000 {
            let (id, bytes) = (random.below(300).min(random.below(300)), u64::from(random.below(50)) + 1);
            let at = list.iter().position(|&(other, _)| other == id);
            let distance = at.map(|at| list[..=at].iter().map(|&(_, bytes)| bytes).sum::<u64>());
            assert_eq!(stack.touch(id, bytes), distance);
            if let Some(at) = at {
                list.remove(at);
            }
            list.insert(0, (id, bytes));
        }
    }

    /// Two objects of 1 byte between uses of one of 10: with 4 bytes of cache the ten are not worth it.
    #[test]
    fn the_bound_takes_the_cheapest_reuses_first() {
        let trace = References::from_ids(vec![0, 1, 1, 1, 0]).with_sizes(vec![10, 1, 1, 1, 10]);
        let points = bounds(&trace, &[1, 9, 10]);
        // Of 5, 45 and 50 byte-references the small reuses take 2; the large one fits into 10 bytes alone, and takes
        // 40.
        let found: Vec<(u64, u64)> = points.iter().map(|point| (point.hits, point.bytes_hit)).collect();
        assert_eq!(found, [(2, 2), (2, 2), (3, 12)]);
        let tight = References::from_ids(vec![0, 1, 1, 0]).with_sizes(vec![3, 1, 1, 3]);
        assert_eq!(bounds(&tight, &[0])[0], BytePoint { size: 0, hits: 0, bytes_hit: 0 });
    }
}
