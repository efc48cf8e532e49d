//! Shares of hits of a row, by several metrics.

use crate::row::{Counts, Row};

/// The main metric: the base of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// References that read.
    #[default]
    Reads,
    /// All references.
    References,
    /// Requests that read: one hits if all its blocks do.
    Requests,
    /// All references, of which the misses are shown.
    Misses,
}

impl Metric {
    /// The shown value for this share of hits, 0 to 1.
    pub fn shown(self, hits: f64) -> f64 {
        if self == Metric::Misses { 1.0 - hits } else { hits }
    }
}

/// How many there were, and how many of them hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Those that hit.
    pub hits: u64,
    /// All.
    pub of: u64,
}

impl Share {
    /// Those that missed.
    pub fn misses(self) -> u64 {
        self.of - self.hits
    }

    /// Hits per one, 0 to 1; 0 without any.
    pub fn ratio(self) -> f64 {
        if self.of == 0 { 0.0 } else { self.hits as f64 / self.of as f64 }
    }
}

impl Row {
    /// What hits, by `metric`.
    pub fn share(&self, metric: Metric) -> Share {
        let Counts { references, hits, .. } = self.counts;
        let of_requests = self.counts.requests();
        match metric {
            Metric::Reads => Share { hits: of_requests.read_hits, of: of_requests.read_references },
            Metric::References | Metric::Misses => Share { hits, of: references },
            Metric::Requests => {
                let of = of_requests.read_requests;
                Share { hits: of - of_requests.read_request_misses, of }
            }
        }
    }

    /// The same without repeats, which would make any cache of a block look good. Requests are what they are.
    pub fn fresh(&self, metric: Metric) -> Share {
        let Share { hits, of } = self.share(metric);
        match metric {
            Metric::Reads | Metric::References | Metric::Misses => {
                let (repeats, repeat_hits) = (self.repeats.unwrap_or(0), self.repeat_hits.unwrap_or(0));
                Share { hits: hits - repeat_hits, of: of - repeats }
            }
            Metric::Requests => Share { hits, of },
        }
    }

    /// The share that a table of `metric` shows, 0 to 1: of hits, or of misses.
    pub fn ratio(&self, metric: Metric) -> f64 {
        metric.shown(self.share(metric).ratio())
    }

    /// True if some request writes, so that reads are not all there is.
    pub fn has_writes(&self) -> bool {
        self.counts.requests.is_some_and(|of_requests| of_requests.read_references < self.counts.references)
    }
}
