//! The saving of a hit: one miss, the bytes of its block, or the time that storage would have taken.
//!
//! Time is learnt flow by flow, as the mean over references to its blocks: the time of storage for a read comes with
//! each reference, as if nothing of its request were resident. A block that is written is not read. Such a reference
//! saves a write if the block is dirty, since both are written back as one; else nothing.
//!
//! Storage reads neighbours as one. So a block between two that hit is a hole if it misses, and costs a read of its
//! own; one between two that miss saves next to nothing, since it parts their read in two.

use super::curves::Saved;
use super::memory::Known;
use crate::policy::{Reference, Setup, Slot};
use crate::setting::SettingName;
use crate::spec::SpecError;

/// What hits are worth: seconds where storage is known, else hits;
pub(super) const KNOWN: &str = "known";
/// as many misses;
const HITS: &str = "hits";
/// as many bytes;
const BYTES: &str = "bytes";
/// the time that storage would take.
const SECONDS: &str = "seconds";
/// All of them.
pub(super) const WORDS: &[&str] = &[KNOWN, HITS, BYTES, SECONDS];

/// What hits save, and what room blocks take.
#[derive(Debug)]
pub(super) struct Values {
    are_by_time: bool,
    /// By slot: bytes of the block, where blocks differ and a hit on a large one saves no more than one on a small one.
    bytes: Option<Vec<u32>>,
}

impl Values {
    pub(super) fn new(setup: &Setup) -> Result<Values, SpecError> {
        let word = setup.args.word("value");
        if word == SECONDS && !setup.costs {
            return Err(SpecError::new(format!(
                "auto(value=seconds) goes by what storage takes for each miss, of which nothing is known here: simulate with {}, or give value=hits",
                SettingName("store")
            )));
        }
        let are_by_time = setup.costs && [KNOWN, SECONDS].contains(&word);
        let bytes = (setup.weighs && word != BYTES).then(|| vec![1; setup.slots as usize]);
        Ok(Values { are_by_time, bytes })
    }

    /// True if hits differ by the time that they save.
    pub(super) fn are_by_time(&self) -> bool {
        self.are_by_time
    }

    /// True if blocks differ in size.
    pub(super) fn are_by_size(&self) -> bool {
        self.bytes.is_some()
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.bytes.iter_mut().for_each(|bytes| bytes.resize(bytes.len().max(slots as usize), 1));
    }

    /// A block is referenced: it has the given size.
    #[inline(always)]
    pub(super) fn note(&mut self, slot: Slot, reference: &Reference) {
        if let Some(bytes) = &mut self.bytes {
            bytes[slot as usize] = reference.bytes.max(1);
        }
    }

    /// The saving of a reference to a block if it hits.
    #[inline(always)]
    pub(super) fn saved(&self, known: Known, reference: &Reference) -> Saved {
        let is_for_nothing = !self.are_by_time || reference.write && !known.is_dirty();
        if is_for_nothing { [0.0; 2] } else { [reference.cost as f32, reference.cost_apart as f32] }
    }

    /// By what the worth of a block is divided.
    #[inline(always)]
    pub(super) fn room(&self, slot: Slot) -> f32 {
        self.bytes.as_ref().map_or(1.0, |bytes| bytes[slot as usize] as f32)
    }
}
