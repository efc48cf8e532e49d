//! Requests and bytes by operation.

use hotset_core::request::{Op, Request};
use serde::Serialize;

/// The requests with one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// The operation: `read`, `write`, `map`, `open`…
    pub name: &'static str,
    /// How many there are.
    pub requests: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Bytes they move or map, failed ones left out; absent for operations that touch no bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

#[derive(Default)]
pub(super) struct Operations([Count; Op::ALL.len()]);

#[derive(Clone, Copy, Default)]
struct Count {
    requests: u64,
    failed: u64,
    bytes: u64,
}

impl Operations {
    pub fn note(&mut self, request: &Request, continued: bool) {
        let count = &mut self.0[request.op as usize];
        count.requests += u64::from(!continued);
        if request.failed() {
            count.failed += u64::from(!continued);
        } else {
            count.bytes = count.bytes.saturating_add(request.length.into());
        }
    }

    pub fn finish(self) -> Vec<Operation> {
        let occurring = Op::ALL.into_iter().zip(self.0).filter(|(_, count)| count.requests > 0);
        let named = occurring.map(|(op, count)| Operation {
            name: op.name(),
            requests: count.requests,
            failed: count.failed,
            bytes: (op.is_data() || op == Op::List).then_some(count.bytes),
        });
        named.collect()
    }
}
