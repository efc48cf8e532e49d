//! The seam between a paging policy and whoever hosts it.

use super::{Fault, Machine, Page};
use crate::policy::{Args, Info};
use crate::spec::SpecError;

/// All that a paging policy is built from.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Pages that may be resident, at least 1.
    pub frames: u32,
    /// The address of each page, in pages: neighbours in memory differ by 1. Pages are numbered below its length.
    pub addresses: &'a [u64],
    /// Seed of the instance's random numbers.
    pub seed: u64,
    /// The parameters, bound to the policy's [`Info::params`].
    pub args: &'a Args,
}

impl Setup<'_> {
    /// Pages there are, resident or not.
    pub fn pages(&self) -> u32 {
        self.addresses.len() as u32
    }
}

/// Which page leaves when one is fetched.
///
/// Contract: pages are evicted only when all frames are taken, and then exactly one a fault. [`fault`](PagingPolicy::fault) is called
/// for pages that are not resident only. Nothing is told of references to resident pages but by their access bits.
pub trait PagingPolicy: Sized + Send {
    /// Name, parameters and texts.
    const INFO: Info;

    /// An empty memory.
    fn new(setup: &Setup) -> Result<Self, SpecError>;

    /// Fetches a page. Gives the page that leaves for it, if memory was full.
    fn fault(&mut self, fault: Fault, machine: &mut impl Machine) -> Option<Page>;

    /// The content of `page` became worthless: its memory was freed. A resident page gives its frame back, a page that is only
    /// remembered is forgotten.
    fn free(&mut self, page: Page);

    /// True if `page` is resident.
    fn contains(&self, page: Page) -> bool;

    /// Resident pages.
    fn len(&self) -> u32;

    /// True if no page is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Recounts every structure from scratch and panics on a broken invariant. For tests.
    fn validate(&self);
}
