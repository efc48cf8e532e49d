//! Times of reads, hits and misses apart. The host of the cache measures them, since only it knows when a request
//! arrived and when it was answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Buckets of an octave.
const PARTS: u32 = 4;

/// Octaves of nanoseconds: up to 18 minutes. Longer reads count as that.
const OCTAVES: u32 = 40;

/// Times of the reads of a cache since it was built.
#[derive(Debug)]
pub struct Latencies {
    since: Instant,
    hits: Histogram,
    misses: Histogram,
}

/// Counts of times; each bucket is a quarter of an octave wide.
#[derive(Debug)]
struct Histogram {
    buckets: [AtomicU64; (PARTS * OCTAVES) as usize],
    nanoseconds: AtomicU64,
}

/// The times of some reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// The number of reads.
    pub reads: u64,
    /// Their mean, in seconds.
    pub mean_seconds: f64,
    /// Half of them took at most so long, in seconds; up to 19 % too high.
    pub p50_seconds: f64,
    /// 99 % of them took at most so long, in seconds; up to 19 % too high.
    pub p99_seconds: f64,
}

/// Times as a status shows them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Timing {
    /// Seconds since the cache was built.
    pub uptime_seconds: f64,
    /// Reads of which all was in the cache. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hit_times: Option<Times>,
    /// Reads that waited for the source. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss_times: Option<Times>,
    /// The number of hits times the difference of the two means, in seconds. Absent without hits or misses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_seconds: Option<f64>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { since: Instant::now(), hits: Histogram::default(), misses: Histogram::default() }
    }
}

impl Latencies {
    /// Notes the time of a read, which was a hit if all of it was in the cache.
    pub fn note(&self, is_hit: bool, time: Duration) {
        let histogram = if is_hit { &self.hits } else { &self.misses };
        histogram.note(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The times so far.
    pub fn get(&self) -> Timing {
        let (hit_times, miss_times) = (self.hits.get(), self.misses.get());
        let saved = |hits: Times, misses: Times| hits.reads as f64 * (misses.mean_seconds - hits.mean_seconds);
        Timing {
            uptime_seconds: self.since.elapsed().as_secs_f64(),
            hit_times,
            miss_times,
            saved_seconds: hit_times.zip(miss_times).map(|(hits, misses)| saved(hits, misses)),
        }
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: std::array::from_fn(|_| AtomicU64::new(0)), nanoseconds: AtomicU64::new(0) }
    }
}

impl Histogram {
    fn note(&self, nanoseconds: u64) {
        self.buckets[bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn get(&self) -> Option<Times> {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let reads: u64 = counts.iter().sum();
        let quantile = |share: f64| {
            let rank = ((reads as f64 * share).ceil() as u64).max(1);
            let mut sum = 0;
            let reaches = |count: &u64| {
                sum += count;
                sum >= rank
            };
            end(counts.iter().position(reaches).unwrap_or(0)) * 1e-9
        };
        (reads > 0).then(|| Times {
            reads,
            mean_seconds: self.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9 / reads as f64,
            p50_seconds: quantile(0.5),
            p99_seconds: quantile(0.99),
        })
    }
}

/// The bucket of a time.
fn bucket(nanoseconds: u64) -> usize {
    let nanoseconds = nanoseconds.max(u64::from(PARTS));
    let octave = nanoseconds.ilog2();
    // The two bits behind the highest one.
    let part = (nanoseconds >> (octave - PARTS.ilog2())) as u32 % PARTS;
    (octave.min(OCTAVES - 1) * PARTS + if octave < OCTAVES { part } else { PARTS - 1 }) as usize
}

/// The end of a bucket, in nanoseconds.
fn end(bucket: usize) -> f64 {
    let (octave, part) = (bucket as u32 / PARTS, bucket as u32 % PARTS);
    f64::from(octave).exp2() * f64::from(PARTS + part + 1) / f64::from(PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_a_bucket_that_ends_at_most_a_quarter_above_it() {
        for shift in 2..39 {
            for part in [0, 1, 2, 3, 5, 7] {
                let time = (1u64 << shift) + ((1u64 << shift) / 8 * part);
                let end = end(bucket(time));
                assert!(end > time as f64 && end <= time as f64 * 1.25, "{time} ends at {end}");
            }
        }
        assert_eq!(bucket(0), bucket(4));
        assert_eq!(bucket(u64::MAX), (PARTS * OCTAVES) as usize - 1);
    }

    #[test]
    fn hits_and_misses_have_their_own_times_and_the_difference_is_saved() {
        let latencies = Latencies::default();
        assert_eq!((latencies.get().hit_times, latencies.get().saved_seconds), (None, None));
        (0..98).for_each(|_| latencies.note(true, Duration::from_micros(10)));
        (0..2).for_each(|_| latencies.note(true, Duration::from_micros(500)));
        (0..10).for_each(|_| latencies.note(false, Duration::from_millis(2)));
        let timing = latencies.get();
        let (hits, misses) = (timing.hit_times.unwrap(), timing.miss_times.unwrap());
        assert_eq!((hits.reads, misses.reads), (100, 10));
        assert!((10e-6..12.5e-6).contains(&hits.p50_seconds), "{hits:?}");
        assert!((500e-6..625e-6).contains(&hits.p99_seconds), "{hits:?}");
        assert!((2e-3..2.5e-3).contains(&misses.p50_seconds), "{misses:?}");
        // 100 hits, 19.8 µs each in the mean, instead of 2 ms.
        assert!((timing.saved_seconds.unwrap() - 100.0 * (2e-3 - 19.8e-6)).abs() < 1e-9, "{timing:?}");
    }
}
