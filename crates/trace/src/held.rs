//! A trace that is held in memory: for programs that make their requests themselves.

use hotset_core::request::Request;

use crate::batch::{BATCH_REQUESTS, Batch};
use crate::error::TraceError;
use crate::meta::Meta;
use crate::reader::TraceReader;
use crate::tables::Tables;

/// Requests in memory as a trace.
#[derive(Clone, Debug)]
pub struct Held {
    meta: Meta,
    tables: Tables,
    requests: std::vec::IntoIter<Request>,
    at_once: usize,
}

impl Held {
    /// A trace of `requests`, whose files and applications are numbers in `tables`.
    pub fn new(meta: Meta, tables: Tables, requests: Vec<Request>) -> Held {
        Held { meta, tables, requests: requests.into_iter(), at_once: BATCH_REQUESTS }
    }

    /// The same in batches of at most so many requests; at least one.
    pub fn in_batches(self, requests: usize) -> Held {
        Held { at_once: requests.max(1), ..self }
    }
}

impl TraceReader for Held {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        batch.requests.extend(self.requests.by_ref().take(self.at_once));
        Ok(())
    }
}
