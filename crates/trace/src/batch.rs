//! A run of requests, filled by a reader and reused.

use hotset_core::request::{FLAG_CONTINUED, Request};

/// Requests that a reader hands over at a time, at most.
pub const BATCH_REQUESTS: usize = 4 * 1024;

/// A file size that is not known, in [`Batch::file_sizes`].
pub const UNKNOWN_SIZE: u64 = u64::MAX;

/// A run of requests with their wide or rare columns.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The requests, in trace order.
    pub requests: Vec<Request>,
    /// The file's size in bytes at each request ([`UNKNOWN_SIZE`] where not known); empty when the format never tells
    /// it.
    pub file_sizes: Vec<u64>,
    /// The time to live in nanoseconds that each request gives its object, 0 for none. May be shorter than `requests`:
    /// the rest give none.
    pub ttls: Vec<u64>,
}

impl Batch {
    /// An empty batch with a capacity of [`BATCH_REQUESTS`].
    pub fn new() -> Batch {
        Batch { requests: Vec::with_capacity(BATCH_REQUESTS), file_sizes: Vec::new(), ttls: Vec::new() }
    }

    /// Drops the contents, keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.file_sizes.clear();
        self.ttls.clear();
    }

    /// Requests held.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// True if it holds no request.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The time to live in nanoseconds that request `index` gives its object; 0 for none.
    pub fn ttl(&self, index: usize) -> u64 {
        self.ttls.get(index).copied().unwrap_or(0)
    }

    /// Sets the time to live, in nanoseconds, that the last request gives its object.
    pub fn set_ttl(&mut self, nanoseconds: u64) {
        if nanoseconds > 0
            && let Some(last) = self.len().checked_sub(1)
        {
            self.ttls.resize(last, 0);
            self.ttls.push(nanoseconds);
        }
    }

    /// Appends `request` over `length` bytes. A length that does not fit a record becomes several requests, all but the
    /// first flagged [`FLAG_CONTINUED`].
    #[inline]
    pub fn push(&mut self, mut request: Request, length: u64, file_size: Option<u64>) {
        match u32::try_from(length) {
            Ok(length) => {
                request.length = length;
                self.push_sized(request, file_size);
            }
            Err(_) => self.push_long(request, length, file_size),
        }
    }

    #[cold]
    fn push_long(&mut self, mut request: Request, mut length: u64, file_size: Option<u64>) {
        const LONGEST: u32 = 1 << 31;
        while length > u64::from(u32::MAX) {
            request.length = LONGEST;
            self.push_sized(request, file_size);
            length -= u64::from(LONGEST);
            request.offset = request.offset.saturating_add(LONGEST.into());
            request.flags |= FLAG_CONTINUED;
        }
        self.push(request, length, file_size);
    }

    #[inline]
    fn push_sized(&mut self, request: Request, file_size: Option<u64>) {
        if file_size.is_some() || !self.file_sizes.is_empty() {
            if self.file_sizes.len() < self.requests.len() {
                // Sizes may turn up late in a trace: the requests before had none.
                self.file_sizes.resize(self.requests.len(), UNKNOWN_SIZE);
            }
            self.file_sizes.push(file_size.unwrap_or(UNKNOWN_SIZE));
        }
        self.requests.push(request);
    }
}
