//! SHARDS: the LRU curve from a small sample of the blocks, in little memory.
//!
//! A block is sampled if a hash of it falls below a threshold T out of P = 2^24, so all references to a block are seen
//! or none, and a stack distance within the sample is R = T/P of the true one on average. *Fixed rate* keeps T. *Fixed
//! size* begins with every block and lowers T whenever more than `s_max` blocks are sampled, dropping those with the
//! largest hash; counts at a higher rate are weighed down to the last one. *SHARDS-adj*: the sample should hold N * R
//! of the N references. The difference, mostly because hot blocks are in or out, is made up at the smallest distance.
//!
//! Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC construction with SHARDS", FAST 2015, sections 3 and 4; they
//! find mean absolute errors of 0.01 to 0.02 with 8K blocks on large traces.
//!
//! Here a distance counts the other blocks between, so 0 stays 0 whatever the rate, and the rate 1 gives the exact
//! curve.
//!
//! **The error stated** is an estimate from the sample itself. Further bits of the hash divide it into eight groups,
//! each of which is a sample of an eighth of the rate with a separate curve. A group differs from the whole sample,
//! on average over sizes, by sqrt(8 - 1) times as much as the whole sample differs from the truth, if errors shrink
//! with the root of the sample (random groups; Wolter, "Introduction to Variance Estimation", chapter 2). The average
//! is taken over sizes spread logarithmically from the *resolution* to the footprint. It measures the luck of the draw.
//! It knows nothing of a bias that all groups share, and eight groups know their own scatter only roughly: over many
//! seeds it is right on average, but one sample's error may well be several times larger.
//!
//! The resolution is the size of which the sample holds 64 blocks. Below, the curve is a guess: a
//! distance is a multiple of 1/R, and SHARDS-adj puts what it cannot place at size 1.

use std::collections::{BTreeSet, BinaryHeap};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::holes::Stack;
use super::{Curve, Step, log_spread};
use crate::error::BadRate;
use crate::expand::scan::Scanned;

/// P of the paper.
const THRESHOLDS: u32 = 1 << 24;
const HASH_SHIFT: u32 = 40;
const GROUPS: usize = 8;
const ERROR_SIZES: usize = 256;
/// Sampled blocks that a size must hold to be resolved.
pub(super) const RESOLVED: f64 = 64.0;

/// A curve scaled up from a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampledCurve {
    /// The estimate; `references` is exact.
    pub curve: Curve<f64>,
    /// The (last) sampling rate.
    pub rate: f64,
    /// The least size about which the sample says anything, in blocks; the curve is a guess below.
    pub resolution: u64,
    /// Blocks in the sample at the end.
    pub sampled_blocks: u64,
    /// References to sampled blocks.
    pub sampled_references: u64,
    /// The mean absolute error of the hit ratio to be expected at sizes spread logarithmically from `resolution` to
    /// the footprint, as estimated from how much parts of the sample differ: an order of magnitude. Absent when
    /// the sample is the whole trace or too small to tell.
    pub expected_error: Option<f64>,
}

/// Collects a sampled LRU curve of a trace that is fed in pieces.
#[derive(Debug)]
pub struct Shards {
    threshold: u32,
    /// Blocks kept at most.
    most: usize,
    seed: u64,
    references: u64,
    sampled_references: u64,
    /// Where each sampled block is, by its hash.
    members: HashMap<u64, Member, FxBuildHasher>,
    /// The hashes, largest first; kept only if the size is fixed.
    largest: BinaryHeap<u64>,
    whole: Sample,
    groups: [Sample; GROUPS],
    /// Sampled blocks by the high half of their keys and the low one, once something was removed.
    files: Option<HashMap<u32, BTreeSet<u32>>>,
}

/// A sampled block.
#[derive(Clone, Copy, Debug)]
struct Member {
    key: u64,
    /// Its numbers; none once it was removed.
    numbers: Option<Numbers>,
}

/// A block's numbers in the whole sample and in its group.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    in_whole: u32,
    in_group: u32,
}

impl Shards {
    /// `s_max` of the paper's experiments.
    pub const DEFAULT_SIZE: usize = 8192;

    /// Samples blocks at `rate`, above 0 and at most 1, in steps of 2^-24.
    pub fn fixed_rate(rate: f64, seed: u64) -> Result<Shards, BadRate> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(BadRate(rate));
        }
        let threshold = (rate * f64::from(THRESHOLDS)).round() as u32;
        Ok(Shards::new(threshold.max(1), usize::MAX, seed))
    }

    /// Samples at most `most` blocks (at least 1), at a rate that falls as the trace turns out to have more.
    pub fn fixed_size(most: usize, seed: u64) -> Shards {
        Shards::new(THRESHOLDS, most.max(1), seed)
    }

    fn new(threshold: u32, most: usize, seed: u64) -> Shards {
        Shards {
            threshold,
            most,
            // Mixed, or small seeds would only reorder neighbouring keys.
            seed: mix(seed),
            references: 0,
            sampled_references: 0,
            members: HashMap::default(),
            largest: BinaryHeap::new(),
            whole: Sample::new(),
            groups: std::array::from_fn(|_| Sample::new()),
            files: None,
        }
    }

    /// Takes what was scanned of a trace.
    pub fn take(&mut self, scanned: &Scanned) {
        match *scanned {
            Scanned::Blocks(keys) => self.feed(keys),
            Scanned::Removed(key) => self.remove(key),
            Scanned::RemovedFrom(key) => {
                let members = &self.members;
                let files = self.files.get_or_insert_with(|| {
                    let mut files: HashMap<u32, BTreeSet<u32>> = HashMap::new();
                    members.values().for_each(|member| note(&mut files, member.key));
                    files
                });
                let blocks = files.get(&((key >> 32) as u32)).into_iter().flat_map(|blocks| blocks.range(key as u32..));
                let dead: Vec<u64> = blocks.map(|&low| key >> 32 << 32 | u64::from(low)).collect();
                dead.into_iter().for_each(|key| self.remove(key));
            }
        }
    }

    /// References blocks by their keys. Any keys do: they are hashed here.
    pub fn feed(&mut self, keys: &[u64]) {
        self.references += keys.len() as u64;
        for &key in keys {
            let hash = mix(key ^ self.seed);
            if rank(hash) < self.threshold {
                self.reference(hash, key);
            }
        }
    }

    /// True if this key is in the sample. With a fixed size that holds until the rate falls.
    pub fn samples(&self, key: u64) -> bool {
        rank(mix(key ^ self.seed)) < self.threshold
    }

    fn reference(&mut self, hash: u64, key: u64) {
        self.sampled_references += 1;
        let (whole, group) = (&mut self.whole, &mut self.groups[group(hash)]);
        let mut fresh = false;
        let member = self.members.entry(hash).or_insert_with(|| {
            fresh = true;
            Member { key, numbers: None }
        });
        let Numbers { in_whole, in_group } = *member
            .numbers
            .get_or_insert_with(|| Numbers { in_whole: whole.stack.admit(), in_group: group.stack.admit() });
        let thinning = f64::from(THRESHOLDS) / f64::from(self.threshold);
        whole.reference(in_whole, thinning);
        group.reference(in_group, thinning * GROUPS as f64);
        if let (true, Some(files)) = (fresh, &mut self.files) {
            note(files, key);
        }
        if fresh && self.most != usize::MAX {
            self.largest.push(hash);
            if self.members.len() > self.most {
                self.lower_threshold();
            }
        }
    }

    /// A block is invalidated; it stays among those that were sampled.
    fn remove(&mut self, key: u64) {
        let hash = mix(key ^ self.seed);
        let Some(member) = self.members.get_mut(&hash) else { return };
        if let Some(Numbers { in_whole, in_group }) = member.numbers.take() {
            self.whole.stack.take(in_whole, rank(hash));
            self.groups[group(hash)].stack.take(in_group, rank(hash));
        }
    }

    /// Sets the threshold to the largest hash sampled and drops the blocks that are no longer below.
    fn lower_threshold(&mut self) {
        self.threshold = self.largest.peek().map_or(self.threshold, |&hash| rank(hash));
        while let Some(&hash) = self.largest.peek().filter(|&&hash| rank(hash) >= self.threshold) {
            self.largest.pop();
            let Some(member) = self.members.remove(&hash) else { continue };
            if let Some(blocks) = self.files.as_mut().and_then(|files| files.get_mut(&((member.key >> 32) as u32))) {
                blocks.remove(&(member.key as u32));
            }
            if let Some(Numbers { in_whole, in_group }) = member.numbers {
                self.whole.stack.drop(in_whole);
                self.groups[group(hash)].stack.drop(in_group);
            }
        }
        self.whole.stack.lower(self.threshold);
        self.groups.iter_mut().for_each(|group| group.stack.lower(self.threshold));
    }

    /// The curve of what was fed so far.
    pub fn curve(&self) -> SampledCurve {
        let rate = f64::from(self.threshold) / f64::from(THRESHOLDS);
        let distinct = self.members.len() as f64 / rate;
        let curve = self.whole.curve(self.references, distinct);
        let resolution = if self.threshold == THRESHOLDS { 1 } else { (RESOLVED / rate).ceil() as u64 };
        SampledCurve {
            expected_error: self.expected_error(&curve, resolution),
            curve,
            rate,
            resolution,
            sampled_blocks: self.members.len() as u64,
            sampled_references: self.sampled_references,
        }
    }

    fn expected_error(&self, whole: &Curve<f64>, resolution: u64) -> Option<f64> {
        if self.threshold == THRESHOLDS || self.members.len() < GROUPS * GROUPS {
            return None;
        }
        let footprint = whole.distinct.round() as u64;
        let sizes = log_spread(resolution.min(footprint), footprint, ERROR_SIZES);
        let distances = self.groups.iter().map(|group| {
            let part = group.curve(self.references, whole.distinct);
            mean(sizes.iter().map(|&size| (part.hit_ratio(size) - whole.hit_ratio(size)).abs()))
        });
        Some(mean(distances) / (GROUPS as f64 - 1.0).sqrt())
    }
}

fn mean(figures: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = figures.len() as f64;
    figures.sum::<f64>() / count
}

/// A bijection that spreads keys evenly (the finaliser of SplitMix64; Steele, Lea, Flood 2014).
#[inline(always)]
pub(crate) fn mix(key: u64) -> u64 {
    hotset_core::random::mix(key.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// The value that is compared with the threshold.
#[inline(always)]
fn rank(hash: u64) -> u32 {
    (hash >> HASH_SHIFT) as u32
}

fn note(files: &mut HashMap<u32, BTreeSet<u32>>, key: u64) {
    files.entry((key >> 32) as u32).or_default().insert(key as u32);
}

fn group(hash: u64) -> usize {
    hash as usize % GROUPS
}

/// A sample's LRU stack and what was counted in it.
#[derive(Debug)]
struct Sample {
    stack: Stack,
    /// Hits by the least size that gives them, and all references. Each weighs 1/R as R was at its time, so that the
    /// sums represent the whole trace. (The paper counts 1 and multiplies all counts by T_new/T_old when T falls, which
    /// is equivalent.)
    hits: HashMap<u64, f64, FxBuildHasher>,
    references: f64,
}

impl Sample {
    fn new() -> Sample {
        Sample { stack: Stack::new(0), hits: HashMap::default(), references: 0.0 }
    }

    /// Counts a reference in a sample that holds one in `thinning` of the trace's blocks.
    fn reference(&mut self, id: u32, thinning: f64) {
        self.references += thinning;
        if let Some(others) = self.stack.touch(id).checked_sub(1) {
            let size = (f64::from(others) * thinning).round() as u64 + 1;
            *self.hits.entry(size).or_default() += thinning;
        }
    }

    /// The curve of the whole trace, of `references` references to about `distinct` blocks.
    fn curve(&self, references: u64, distinct: f64) -> Curve<f64> {
        let total = references as f64;
        let mut rises = self.hits.clone();
        *rises.entry(1).or_default() += total - self.references;
        let mut rises: Vec<(u64, f64)> = rises.into_iter().collect();
        rises.sort_unstable_by_key(|&(size, _)| size);
        let mut steps: Vec<Step<f64>> = Vec::with_capacity(rises.len());
        let mut sum = 0.0;
        for (size, rise) in rises {
            sum += rise;
            let hits = f64::clamp(sum, 0.0, total);
            if hits > steps.last().map_or(0.0, |last| last.hits) {
                steps.push(Step { size, hits });
            }
        }
        Curve { references, distinct, steps }
    }
}
