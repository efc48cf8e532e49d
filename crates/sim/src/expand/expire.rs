//! Objects that expire: a reader around a reader that turns times to live into removals.
//!
//! Idea: an expiry belongs to the trace, not to a cache, so that it is the same for every policy at every size, and
//! curves stay exact. A version of an object begins with a request that writes it, or with the first request that finds
//! no version, and ends after its time to live. The first request after that end is preceded by an unlink of the object
//! ([`FLAG_EXPIRED`]), which every cache and curve takes as any other removal: policies know nothing of time. Until
//! then a copy that has expired takes its place in the cache, as where expiry is found out on access.
//!
//! A write without a time to live makes a version that does not end. A read changes nothing while a version lasts. A
//! copy that is evicted and read again keeps the end of its version.
//!
//! Memory: 17 bytes and the slack of a hash table for each object with a time to live.

use hashbrown::HashMap;
use hotset_core::request::{FLAG_CONTINUED, FLAG_EXPIRED, FLAG_UNCOUNTED, Op, Request};
use hotset_core::setting::SettingName;
use hotset_core::words::grouped;
use hotset_trace::{Addressing, Batch, Meta, Tables, TraceError, TraceReader};
use serde::{Deserialize, Serialize};

/// Whether objects with a time to live expire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ttl {
    /// They leave every cache at the first request after their end.
    #[default]
    Apply,
    /// They stay until they are evicted, as in counts of the literature.
    Ignore,
}

impl Ttl {
    /// True if they expire.
    pub fn apply(self) -> bool {
        self == Ttl::Apply
    }
}

/// A trace whose objects expire.
pub struct Expiring<R> {
    reader: R,
    ttl: Ttl,
    /// The end of each object's version, if that ends.
    ends: HashMap<u64, u64>,
    /// True once a request has given a time to live.
    has_ttls: bool,
    /// Versions that ended before a request to their object.
    expired: u64,
    /// The batch of the reader, while removals are added to it.
    batch: Batch,
}

impl<R: TraceReader> Expiring<R> {
    /// The trace of `reader` with its objects expiring, or not.
    pub fn new(reader: R, ttl: Ttl) -> Expiring<R> {
        Expiring { reader, ttl, ends: HashMap::new(), has_ttls: false, expired: 0, batch: Batch::default() }
    }

    /// The removal that precedes a request, if the version of its object has ended.
    fn removal(&mut self, request: &Request, ttl: u64) -> Option<Request> {
        if request.failed() || request.flags & FLAG_CONTINUED != 0 {
            return None;
        }
        let is_write = request.op == Op::Write as u8;
        match request.op() {
            Op::Read | Op::Write | Op::Map => {}
            Op::Unlink => {
                self.ends.remove(&request.offset);
                return None;
            }
            _ => return None,
        }
        let end = self.ends.get(&request.offset).copied();
        let has_ended = end.is_some_and(|end| end <= request.time);
        if is_write || has_ended || end.is_none() {
            let _ = match ttl {
                0 => self.ends.remove(&request.offset),
                ttl => self.ends.insert(request.offset, request.time.saturating_add(ttl)),
            };
        }
        self.expired += u64::from(has_ended);
        let flags = FLAG_EXPIRED | request.flags & FLAG_UNCOUNTED;
        has_ended.then_some(Request { op: Op::Unlink as u8, length: 0, flags, ..*request })
    }

    /// Puts the removals of a batch before the requests that they precede.
    fn expire(&mut self, batch: &mut Batch) {
        std::mem::swap(batch, &mut self.batch);
        let given = std::mem::take(&mut self.batch);
        batch.clear();
        for (index, request) in given.requests.iter().enumerate() {
            let size = given.file_sizes.get(index).copied();
            for request in self.removal(request, given.ttl(index)).iter().chain([request]) {
                batch.requests.push(*request);
                batch.file_sizes.extend(size);
            }
            batch.set_ttl(given.ttl(index));
        }
        self.batch = given;
    }
}

impl<R: TraceReader> TraceReader for Expiring<R> {
    fn meta(&self) -> &Meta {
        self.reader.meta()
    }

    fn tables(&self) -> &Tables {
        self.reader.tables()
    }

    fn read(&mut self, batch: &mut Batch) -> Result<(), TraceError> {
        self.reader.read(batch)?;
        self.has_ttls |= !batch.ttls.is_empty();
        if self.has_ttls && self.ttl.apply() && self.meta().addressing == Addressing::Objects {
            self.expire(batch);
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        self.reader.skipped()
    }

    fn held_bytes(&self) -> u64 {
        self.reader.held_bytes() + self.ends.capacity() as u64 * 17
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.reader.remarks();
        if self.has_ttls && self.ttl.apply() {
            let expired = grouped(self.expired);
            remarks.push(format!(
                "objects expire: {expired} references find an end of life ({} keeps objects)",
                SettingName("ttl").of("ignore")
            ));
        }
        remarks
    }
}
