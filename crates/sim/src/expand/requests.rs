//! A whole trace of requests, held so that it can be shown in other views than the plain one.

use hotset_core::request::Request;
use hotset_core::view::Cutting;
use hotset_trace::{Batch, Meta, Tables, UNKNOWN_SIZE};

use crate::expand::options::Options;

/// Requests, and their facts.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub requests: &'a [Request],
    /// The file's size at each request; empty where the trace does not tell it.
    pub sizes: &'a [u64],
    pub tables: &'a Tables,
}

/// The requests of a trace with their files.
#[derive(Debug)]
pub(crate) struct Requests {
    /// How they are cut where a view does not say.
    pub cutting: Cutting,
    /// They carry times.
    pub has_time: bool,
    /// Bytes that the trace may take in a view.
    pub memory_allowed: u64,
    pub tables: Tables,
    requests: Vec<Request>,
    /// The file's size at each request; empty when the trace never tells it.
    sizes: Vec<u64>,
}

impl Requests {
    pub fn new(meta: &Meta, options: &Options) -> Requests {
        Requests {
            cutting: options.cutting(meta),
            has_time: meta.has_time,
            memory_allowed: options.memory_bytes,
            tables: Tables::default(),
            requests: Vec::new(),
            sizes: Vec::new(),
        }
    }

    pub fn append(&mut self, batch: &Batch) {
        if !batch.file_sizes.is_empty() {
            // Sizes may turn up late: the requests before had none.
            self.sizes.resize(self.requests.len(), UNKNOWN_SIZE);
            self.sizes.extend(&batch.file_sizes);
        }
        self.requests.extend(&batch.requests);
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.requests.capacity() * size_of::<Request>() + self.sizes.capacity() * 8) as u64
    }

    /// All of them.
    pub fn told(&self) -> Told<'_> {
        Told { requests: &self.requests, sizes: &self.sizes, tables: &self.tables }
    }
}
