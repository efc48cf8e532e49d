//! The kernel's side: which pages are resident, advice about pages, control groups, pressure.

pub(crate) mod actuate;
pub(crate) mod cached;
pub(crate) mod cgroup;
pub(crate) mod fetcher;
mod mapped;
pub(crate) mod pressure;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
