//! Files whose kernel pages another program decides about (see [`Mode::Steered`](crate::Mode)): the events for that
//! program, and whether the files are unchanged.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use hotset_cache::source::Stamp;
use rustix::fs::FileType;

use super::Tree;
use crate::Change;
use crate::tree::nodes::Node;

/// The state of such a file. Each field has a separate lock: different calls change them.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The size last reported.
    told: Mutex<Option<u64>>,
    /// Its state at the last open.
    stamp: Mutex<Option<Stamp>>,
}

impl Tree {
    /// A file is opened that is like this now: true if it is what it was before, so that its pages may stay.
    pub(super) fn is_as_before(&self, node: &Node, now: Stamp) -> bool {
        self.tell(node, |_| Some(now.size));
        let before = node.kept.stamp.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        // Of one that is opened for the first time the kernel may know an older size.
        before.is_some_and(|before| now.is_still(&before))
    }

    /// Records the present state of an inode that will be changed here: a change behind the mount could not be
    /// distinguished afterwards.
    pub(super) fn will_be_changed_here(&self, node: &Node, now: Stamp) {
        let mut known = node.kept.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        *known = known.filter(|before| now.is_same(before));
    }

    /// Its inode was changed here, and it is like this now.
    pub(super) fn was_changed_here(&self, node: &Node, now: Stamp) {
        let mut known = node.kept.stamp.lock().unwrap_or_else(PoisonError::into_inner);
        *known = known.and_then(|before| before.after_own_change(now));
    }

    /// Reports the size of a file that was looked at, if it was opened before.
    pub(super) fn tell_size(&self, node: &Node, bytes: u64) {
        self.tell(node, |told| told.and(Some(bytes)));
    }

    /// It was written up to `end`.
    pub(super) fn tell_end(&self, node: &Node, end: u64) {
        self.tell(node, |told| told.map(|bytes| bytes.max(end)));
    }

    /// Reports the size that follows from the last reported one, if they differ.
    fn tell(&self, node: &Node, size: impl FnOnce(Option<u64>) -> Option<u64>) {
        let Some(listener) = self.options.told.as_ref().filter(|_| node.kind == FileType::RegularFile) else { return };
        // The last report must be the last state, so it is sent under the lock.
        let mut told = node.kept.told.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = size(*told).filter(|bytes| Some(*bytes) != *told) else { return };
        let path = told.is_none().then(|| PathBuf::from(node.name()));
        *told = Some(bytes);
        // A receiver that has ended leaves all decisions to the kernel.
        let _ = listener.send(Change::Is { inode: node.number, path, bytes });
    }

    /// The kernel has forgotten a file, and every page of it.
    pub(super) fn tell_gone(&self, node: &Node) {
        let is_told = node.kept.told.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if let Some(listener) = self.options.told.as_ref().filter(|_| is_told) {
            let _ = listener.send(Change::Gone { inode: node.number });
        }
    }
}
