//! Telling how far the work is.

/// Told of work done, from any thread.
pub trait Progress: Sync {
    /// So many references more were read or replayed.
    fn advance(&self, references: u64);
}

/// Nobody is told.
pub struct Silent;

impl Progress for Silent {
    fn advance(&self, _references: u64) {}
}
