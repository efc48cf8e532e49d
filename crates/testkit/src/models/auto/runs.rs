//! Which block of a file a reference follows, and which resident ones come one after the other.

use hotset_core::policy::Reference;

use super::Auto;

impl Auto {
    /// Whether a reference goes on with a run, and the block that it follows there.
    pub(super) fn follow(&mut self, key: u32, reference: &Reference) -> (bool, Option<u32>) {
        let run = self.runs.entry(reference.file % 1024).or_insert((reference.file, reference.block, 0, key));
        let (length, before) = match *run {
            (_, _, 0, _) => (1, None),
            (file, ..) if file != reference.file => (1, None),
            (_, block, length, _) if block == reference.block => (length, None),
            (_, block, length, before) if block + 1 == reference.block => (length + 1, Some(before)),
            _ => (1, None),
        };
        *run = (reference.file, reference.block, length, key);
        (length >= 4, before)
    }

    /// A resident block follows this one.
    pub(super) fn pair(&mut self, before: Option<u32>, key: u32) {
        if let Some(before) = before.filter(|before| self.resident.contains(before)) {
            self.pairs.retain(|&(one, other)| one != before && other != key);
            self.pairs.push((before, key));
        }
    }

    /// Resident blocks that come right before or behind this one, in this order.
    pub(super) fn kept_around(&self, key: u32) -> Vec<u32> {
        let before = self.pairs.iter().filter(|pair| pair.1 == key).map(|pair| pair.0);
        let behind = self.pairs.iter().filter(|pair| pair.0 == key).map(|pair| pair.1);
        before.chain(behind).collect()
    }
}
