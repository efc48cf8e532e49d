//! How much memory a command may use unless it is told.

use hotset_cache::machine::Memory;

/// Used where the system does not say what it has.
const FALLBACK_BYTES: u64 = 2 << 30;

/// Half of what is available to this process.
pub(crate) fn default_budget() -> u64 {
    Memory::available().least().unwrap_or(FALLBACK_BYTES) / 2
}
