//! How a trace is turned into references.

use hotset_core::view::{BlockSize, Cutting, Maps};
use hotset_trace::{Addressing, Meta};
use serde::{Deserialize, Serialize};

use crate::expand::expire::Ttl;
use crate::expand::{Expander, Kept};

/// Whether a file that is deleted, replaced or cut loses its blocks. Schemes with inodes see these events in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deletes {
    /// They leave every cache at once, and are not written; their places are free.
    #[default]
    Apply,
    /// They stay until they are evicted, as in counts of the literature.
    Ignore,
}

impl Deletes {
    /// True if they leave.
    pub fn apply(self) -> bool {
        self == Deletes::Apply
    }
}

/// How a trace is turned into references.
#[derive(Clone, Debug)]
pub struct Options {
    /// Block size; `None` is the trace's own ([`Meta::block_size`]).
    pub block: Option<BlockSize>,
    /// Which mapped file ranges count as reads.
    pub maps: Maps,
    /// What becomes of blocks of files that are deleted or cut.
    pub deletes: Deletes,
    /// Whether objects with a time to live expire.
    pub ttl: Ttl,
    /// Bytes that the renumbered trace may take before it is streamed through a hash directory instead.
    pub memory_bytes: u64,
    /// Keep the requests, for policies that want to see them in another view than the plain one.
    pub keep_requests: bool,
    /// Keep the times of references, for policies that do something once in so much time.
    pub keep_times: bool,
    /// Keep the sizes of objects that are a block each, for caches that are measured in bytes.
    pub keep_sizes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            block: None,
            maps: Maps::Auto,
            deletes: Deletes::Apply,
            ttl: Ttl::Apply,
            memory_bytes: 4 << 30,
            keep_requests: false,
            keep_times: false,
            keep_sizes: false,
        }
    }
}

impl Options {
    /// How these options cut a trace.
    pub(crate) fn cutting(&self, meta: &Meta) -> Cutting {
        let block = self.block.unwrap_or_else(|| meta.block_size());
        let objects = meta.addressing == Addressing::Objects;
        let mut cutting = Cutting::new(block, objects);
        (cutting.maps, cutting.deletes) = (self.maps, self.deletes.apply());
        cutting
    }

    /// Bytes of a block of a trace that is cut so; `None` where blocks have no size.
    pub fn block_bytes(&self, meta: &Meta) -> Option<u64> {
        self.cutting(meta).block().bytes()
    }

    /// What cuts a trace in the plain view.
    pub(crate) fn expander(&self, meta: &Meta) -> Expander {
        let kept = Kept { times: self.keep_times && meta.has_time, sizes: self.keep_sizes };
        Expander::new(self.cutting(meta), kept)
    }
}
