//! Sizes of requests.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The distribution of request sizes, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizes {
    /// The smallest.
    pub min: u64,
    /// Half of the requests are at most this large; above 2048 bytes rounded down by less than 0.1 %.
    pub median: u64,
    /// The sum over the count.
    pub mean: f64,
    /// The largest.
    pub max: u64,
    /// Requests by size, from one power of two to the next.
    pub bins: Vec<SizeBin>,
}

/// Requests of `from..to` bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBin {
    /// The least size counted here, in bytes.
    pub from: u64,
    /// The least size too large to be counted here.
    pub to: u64,
    /// How many.
    pub requests: u64,
}

pub(super) struct SizeMeter {
    fine: Histogram<u64>,
    by_log: [u64; 64],
    sum: u128,
    min: u64,
    max: u64,
    /// The request being put together from its parts.
    open: u64,
}

impl Default for SizeMeter {
    fn default() -> Self {
        SizeMeter {
            fine: Histogram::new(3).expect("three significant digits are allowed"),
            by_log: [0; 64],
            sum: 0,
            min: u64::MAX,
            max: 0,
            open: 0,
        }
    }
}

impl SizeMeter {
    pub fn note(&mut self, bytes: u64, continued: bool) {
        if !continued {
            self.close();
        }
        self.open = self.open.saturating_add(bytes);
    }

    /// Counts the request that was open. One of no bytes has no size.
    fn close(&mut self) {
        let bytes = std::mem::take(&mut self.open);
        if bytes == 0 {
            return;
        }
        self.fine.record(bytes).expect("the histogram grows with what is recorded");
        self.by_log[bytes.ilog2() as usize] += 1;
        self.sum += u128::from(bytes);
        self.min = self.min.min(bytes);
        self.max = self.max.max(bytes);
    }

    /// Nothing if no request had a size.
    pub fn finish(mut self) -> Option<Sizes> {
        self.close();
        let requests: u64 = self.by_log.iter().sum();
        if requests == 0 {
            return None;
        }
        let occurring = (0u32..).zip(self.by_log).filter(|&(_, requests)| requests > 0);
        let bin = |(log, requests)| SizeBin { from: 1u64 << log, to: 2u64.saturating_pow(log + 1), requests };
        let median = self.fine.lowest_equivalent(self.fine.value_at_quantile(0.5));
        Some(Sizes {
            min: self.min,
            median: median.max(self.min),
            mean: self.sum as f64 / requests as f64,
            max: self.max,
            bins: occurring.map(bin).collect(),
        })
    }
}
