//! equal(P): a part of the same size for each application.
//!
//! Idea: no application can take blocks from others, and none gets blocks that others do not use. The baseline of every
//! scheme that divides by need.
//!
//! Paper: the "equal partitioning" of Patrick, Kandemir and others, soft quality of service for storage caches
//! (POLICIES 1.4).
//!
//! Deviations and readings: the cache is partitioned again when an application comes, so the first one has all of it
//! until the second refers for the first time; applications are distinguished as the trace does, and they do not leave.
//! A block belongs to the application that referred to it first, as long as that one's policy knows it; others hit it
//! there. Of partitions that do not come out even the first to come have a block more; with more applications than
//! blocks the last to come have none, and their references go past the cache.
//!
//! Cost: that of P and a virtual call. Memory: 8 bytes a slot, 8 a block that a part knows, and P's own.
//!
//! When not to use it: where applications need different amounts, which is nearly always: see `qos` and `ucp`.

use super::applications::{Applications, Divider};
use crate::allocate::{equal, targets::Grant};
use crate::policy::{App, Args, Info, Interval, Needs, Reference};
use crate::spec::SpecError;

/// The scheme.
pub type Equal = Applications<EqualShares>;

/// Divides equally.
pub struct EqualShares;

impl Divider for EqualShares {
    const INFO: Info = Info {
        name: "equal",
        family: "application",
        summary: "a part of the same size for each application",
        params: &[super::PART_POLICY, super::PREFETCH],
        needs: Needs::EVERYTHING,
        serving: super::PREFETCH_OFF,
        paging: super::PREFETCH_OFF,
        ..Info::EMPTY
    };

    fn interval(_args: &Args) -> Result<Option<Interval>, SpecError> {
        Ok(None)
    }

    fn new(_args: &Args, _capacity: u32, _apps: &[App]) -> Result<Self, SpecError> {
        Ok(EqualShares)
    }

    fn arrive(&mut self, _app: u32) {}

    fn note(&mut self, _part: usize, _reference: &Reference, _hit: bool) {}

    fn divide(&mut self, capacity: u32, live: &[usize], _rooms: &[u32], _is_due: bool) -> Vec<Grant> {
        Grant::unflagged(equal::divide(capacity, live.len()))
    }
}
