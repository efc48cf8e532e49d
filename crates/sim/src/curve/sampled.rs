//! A sample of a trace by keys: all requests to an object are kept, or none.
//!
//! A key is sampled if a hash of it falls below a threshold, as in [`Shards`]. A cache of `rate` times the size serves
//! the sample as the whole cache serves the whole trace (Waldspurger, Saemundsson, Ahmad, Park, "Cache modeling and
//! optimization using miniature simulations", USENIX ATC 2017). Requests for a range of a file are cut down to runs of
//! blocks that are in the sample.

use hotset_core::setting::SettingName;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hotset_core::request::{FLAG_CONTINUED, Op, Request};
use hotset_core::view::{BlockSize, Cutting};
use hotset_trace::{Addressing, Batch, Meta, Tables, TraceError, TraceReader};

use crate::curve::{Shards, mix};
use crate::error::SimError;
use crate::expand::options::Options;
use crate::expand::scan::Scanned;

/// From so many points on, a sample is too unlike its trace to be replayed.
const UNBALANCED: f64 = 5.0;

/// Refuses a trace that is a sample already.
pub(crate) fn check(meta: &Meta) -> Result<(), SimError> {
    if meta.sample.is_some() { Err(SimError::IsSample) } else { Ok(()) }
}

/// Counts of the trace that a sample is taken from, as it is read.
#[derive(Debug, Default)]
pub struct Whole {
    references: AtomicU64,
    bytes: AtomicU64,
}

impl Whole {
    /// References of the whole trace so far that are counted.
    pub fn references(&self) -> u64 {
        self.references.load(Ordering::Relaxed)
    }

    /// Bytes that they ask for.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The requests of a trace to a sample of its keys.
pub struct Sampled<R> {
    reader: R,
    cutting: Cutting,
    is_of_objects: bool,
    rate: f64,
    shards: Shards,
    whole: Arc<Whole>,
    /// Keys of one request.
    keys: Vec<u64>,
    /// A batch before it is sampled.
    full: Batch,
    /// A piece of the request at hand, or of the one that it continues, is in the sample.
    has_piece: bool,
}

impl<R: TraceReader> Sampled<R> {
    /// Samples keys of `reader` at `rate`, above 0 and at most 1, in steps of 2^-24. The blocks of files are those into
    /// which `options` cut the trace.
    pub fn new(reader: R, options: &Options, rate: f64, seed: u64) -> Result<Sampled<R>, SimError> {
        check(reader.meta())?;
        Ok(Sampled {
            cutting: options.cutting(reader.meta()),
            is_of_objects: reader.meta().addressing == Addressing::Objects,
            reader,
            rate,
            shards: Shards::fixed_rate(rate, seed)?,
            whole: Arc::default(),
            keys: Vec::new(),
            full: Batch::new(),
            has_piece: false,
        })
    }

    /// The counts of the whole trace.
    pub fn whole(&self) -> Arc<Whole> {
        self.whole.clone()
    }

    /// One line on the size of the sample so far, and how far off its hit ratios are expected to be.
    pub fn summary(&self) -> String {
        let curve = self.shards.curve();
        let what = if self.is_of_objects { "objects" } else { "blocks" };
        let error = match curve.expected_error {
            None => "; the sample is too small to state the error of hit ratios".to_owned(),
            Some(error) => format!(
                "; the curve of lru is expected to be off by about {:.1} points at {} {what} of the whole and more",
                100.0 * error,
                curve.resolution
            ),
        };
        format!(
            "the sample has {} {what} and {} of {} references{error}{}",
            curve.sampled_blocks,
            curve.sampled_references,
            self.whole.references(),
            self.imbalance(curve.sampled_references)
        )
    }

    /// The greatest error of a replay because too many or too few of the hottest keys are in the sample, in words. The
    /// curve of a sample is corrected for that ([`Shards`]), a replay is not.
    fn imbalance(&self, sampled_references: u64) -> String {
        let average = self.rate * self.whole.references() as f64;
        let share = sampled_references as f64 / average.max(1.0);
        let points = 100.0 * (share - 1.0).abs() / share.max(1.0);
        if points < 0.1 {
            return String::new();
        }
        let remedy = match points < UNBALANCED {
            true => String::new(),
            false => format!("; use curve {}, which corrects this, or another seed", SettingName("sample")),
        };
        format!(
            "; a replay may be off by up to {points:.1} points more, because the sample has {share:.2} times the \
             references of an average one{remedy}"
        )
    }

    /// Puts what is in the sample of request `index` of the full batch into `batch`.
    fn sift(&mut self, index: usize, batch: &mut Batch) {
        let request = self.full.requests[index];
        self.has_piece &= request.flags & FLAG_CONTINUED != 0;
        if self.is_of_objects {
            let key = mix(u64::from(request.file)).wrapping_add(request.offset);
            self.note(&request, &[key]);
            if self.shards.samples(key) {
                self.keep(index, request, batch);
            }
            return;
        }
        let BlockSize::Bytes(block) = self.cutting.block() else { return self.keep(index, request, batch) };
        if !self.cutting.is_data(&request) || request.length == 0 {
            return self.keep(index, request, batch);
        }
        let (file, blocks) = (mix(u64::from(request.file)), self.cutting.blocks(&request));
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        keys.extend(blocks.numbers().map(|number| file.wrapping_add(number)));
        self.note(&request, &keys);
        let end = request.offset.saturating_add(u64::from(request.length));
        let mut at = 0;
        while at < keys.len() {
            let run = keys[at..].iter().take_while(|&&key| self.shards.samples(key)).count();
            if run > 0 {
                let (first, behind) = (blocks.first + at as u64, blocks.first + (at + run) as u64);
                let offset = request.offset.max(first.saturating_mul(block));
                let length = end.min(behind.saturating_mul(block)) - offset;
                self.keep(index, Request { offset, length: length as u32, ..request }, batch);
            }
            at += run + 1;
        }
        self.keys = keys;
    }

    /// Counts a request and its keys.
    fn note(&mut self, request: &Request, keys: &[u64]) {
        if self.cutting.is_data(request) {
            if request.is_counted() {
                self.whole.references.fetch_add(keys.len() as u64, Ordering::Relaxed);
                self.whole.bytes.fetch_add(request.length.into(), Ordering::Relaxed);
            }
            self.shards.feed(keys);
        } else if request.op() == Op::Unlink {
            keys.iter().for_each(|&key| self.shards.take(&Scanned::Removed(key)));
        }
    }

    /// Puts a piece of request `index` into `batch`. The first piece of a request begins it, even if it continued.
    fn keep(&mut self, index: usize, mut request: Request, batch: &mut Batch) {
        request.flags &= !FLAG_CONTINUED;
        if std::mem::replace(&mut self.has_piece, true) {
            request.flags |= FLAG_CONTINUED;
        }
        batch.requests.push(request);
        batch.file_sizes.extend(self.full.file_sizes.get(index));
        batch.set_ttl(self.full.ttl(index));
    }
}

impl<R: TraceReader> TraceReader for Sampled<R> {
    fn meta(&self) -> &Meta {
        self.reader.meta()
    }

    fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        while batch.is_empty() {
            self.reader.read(&mut self.full)?;
            if self.full.is_empty() {
                break;
            }
            (0..self.full.len()).for_each(|index| self.sift(index, batch));
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped()
    }

    fn held_bytes(&self) -> u64 {
        self.reader.held_bytes()
    }

    fn remarks(&self) -> Vec<String> {
        self.reader.remarks()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests in batches of three.
    struct Given {
        meta: Meta,
        tables: Tables,
        left: Vec<Request>,
    }

    impl TraceReader for Given {
        fn meta(&self) -> &Meta {
            &self.meta
        }

        fn tables(&self) -> &Tables {
            &self.tables
        }

        fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
            batch.clear();
            let count = self.left.len().min(3);
            for request in self.left.drain(..count) {
                batch.requests.push(request);
                batch.set_ttl(request.time);
            }
            Ok(())
        }
    }

    fn sampled(addressing: Addressing, rate: f64, requests: Vec<Request>) -> (Vec<(Request, u64)>, Sampled<Given>) {
        let meta = Meta { format: "t", addressing, has_time: true, has_ops: true, sample: None };
        let given = Given { meta, tables: Tables::default(), left: requests };
        let mut reader = Sampled::new(given, &Options::default(), rate, 1).unwrap();
        let (mut all, mut batch) = (Vec::new(), Batch::new());
        loop {
            reader.read(&mut batch).unwrap();
            if batch.is_empty() {
                return (all, reader);
            }
            all.extend((0..batch.len()).map(|at| (batch.requests[at], batch.ttl(at))));
        }
    }

    #[test]
    fn an_object_is_kept_with_all_its_requests_or_not_at_all() {
        let request = |index: u64| Request { time: index, offset: index % 1000, length: 10, ..Request::default() };
        let (kept, reader) = sampled(Addressing::Objects, 0.1, (0..3000).map(request).collect());
        let mut counts = std::collections::BTreeMap::new();
        kept.iter().for_each(|(request, _)| *counts.entry(request.offset).or_insert(0) += 1);
        assert!(counts.values().all(|&count| count == 3), "{counts:?}");
        assert!((70..130).contains(&counts.len()), "{}", counts.len());
        assert!(kept.iter().all(|(request, ttl)| request.time == *ttl));
        assert_eq!((reader.whole.references(), reader.whole.bytes()), (3000, 30_000));
        assert_eq!(reader.shards.curve().sampled_blocks, counts.len() as u64);
    }

    /// Every block of a range is kept in every request, or in none; the pieces of a request are one request.
    #[test]
    fn ranges_are_cut_down_to_blocks_of_the_sample() {
        let request = |offset, length| Request { offset, length, ..Request::default() };
        let addressing = Addressing::Bytes { unit: None };
        let requests = vec![request(100, 400_000), request(8192, 4096 * 20), request(300_000, 100)];
        let (kept, reader) = sampled(addressing, 0.5, requests.clone());
        let blocks: Vec<u64> = (0..98).filter(|&block| reader.shards.samples(mix(0).wrapping_add(block))).collect();
        assert!((30..70).contains(&blocks.len()));
        let mut expected = Vec::new();
        for whole in &requests {
            let cut = |&block: &u64| {
                let from = whole.offset.max(block * 4096);
                let to = (whole.offset + u64::from(whole.length)).min((block + 1) * 4096);
                (from < to).then_some((from, to))
            };
            expected.extend(blocks.iter().filter_map(cut));
        }
        let mut found = Vec::new();
        for (piece, _) in &kept {
            let (mut from, end) = (piece.offset, piece.offset + u64::from(piece.length));
            while from < end {
                let to = end.min((from / 4096 + 1) * 4096);
                found.push((from, to));
                from = to;
            }
        }
        assert_eq!(found, expected);
        let begun = kept.iter().filter(|(piece, _)| piece.flags & FLAG_CONTINUED == 0).count();
        let hit = requests.iter().filter(|whole| {
            blocks
                .iter()
                .any(|block| block * 4096 < whole.offset + u64::from(whole.length) && (block + 1) * 4096 > whole.offset)
        });
        assert_eq!(begun, hit.count());
    }

    #[test]
    fn a_rate_of_one_keeps_everything() {
        let requests: Vec<Request> =
            (0..50).map(|at| Request { offset: at * 1000, length: 7000, time: at, ..Request::default() }).collect();
        let (kept, _) = sampled(Addressing::Bytes { unit: None }, 1.0, requests.clone());
        assert_eq!(kept.into_iter().map(|(request, _)| request).collect::<Vec<_>>(), requests);
    }
}
