//! Arrays of a program as a trace: keys of objects, with or without their sizes.

use std::sync::Arc;

use hotset_core::request::Request;
use hotset_trace::batch::BATCH_REQUESTS;
use hotset_trace::{Addressing, Batch, Meta, Tables, TraceError, TraceReader};

/// The name of the format in the description of a trace.
pub const FORMAT: &str = "array";

/// Keys of objects in the order of their references.
#[derive(Debug)]
pub struct Columns {
    pub keys: Vec<u64>,
    /// Bytes of each; empty if unknown.
    pub sizes: Vec<u32>,
}

/// Reads them as a trace.
pub struct ColumnsReader {
    columns: Arc<Columns>,
    at: usize,
    meta: Meta,
    tables: Tables,
}

impl ColumnsReader {
    /// From the first on.
    pub fn new(columns: Arc<Columns>) -> ColumnsReader {
        let meta =
            Meta { format: FORMAT, addressing: Addressing::Objects, has_time: false, has_ops: false, sample: None };
        ColumnsReader { columns, at: 0, meta, tables: Tables::default() }
    }
}

impl TraceReader for ColumnsReader {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn tables(&self) -> &Tables {
        &self.tables
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        batch.clear();
        let Columns { keys, sizes } = &*self.columns;
        let end = keys.len().min(self.at + BATCH_REQUESTS);
        let size = |at: usize| sizes.get(at).copied().unwrap_or(0);
        let request = |at: usize| Request { offset: keys[at], length: size(at), ..Request::default() };
        batch.requests.extend((self.at..end).map(request));
        self.at = end;
        Ok(())
    }
}
