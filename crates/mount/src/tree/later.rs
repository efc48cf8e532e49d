//! Write-back: when dirty data must have reached the source.
//!
//! Dirty data is written before the source is asked for a file's size, times or holes. So an answer about a file is
//! never older than the writes to it, and only the cache needs to know of dirty data. A close writes, too: only data of
//! open files is at risk.

use std::io;
use std::time::Duration;

use hotset_cache::FileNumber;
use rustix::fs::Stat;
use rustix::io::Errno;

use super::{Tree, is_for_writing};
use crate::tree::nodes::Node;
use crate::tree::opening::OpenFile;

impl Tree {
    /// True if what is written may wait.
    pub(super) fn writes_later(&self) -> bool {
        self.options.write_back.is_some()
    }

    /// Writes what waits of a file that is open.
    pub fn write_out(&self, open: &OpenFile) -> io::Result<()> {
        if !self.writes_later() {
            return Ok(());
        }
        match (self.cache(), &self.cache) {
            (Some(cache), _) => cache.write_out(open.data.number),
            (None, Some(broken)) if broken.has_lost(open.data.number) => Err(Errno::IO.into()),
            _ => Ok(()),
        }
    }

    /// Runs before the handle is dropped: pages of a mapping may have come after the close. Errors can no longer be
    /// reported.
    pub fn write_last(&self, open: &OpenFile) {
        if self.writes_later() && is_for_writing(&open.file).unwrap_or(false) {
            let _ = self.write_out(open);
        }
    }

    /// Writes what waits of a file.
    pub(super) fn write_out_of(&self, node: &Node) -> io::Result<()> {
        match (self.writes_later(), self.cache(), node.file.get()) {
            (true, Some(cache), Some(&file)) => cache.write_out(file),
            _ => Ok(()),
        }
    }

    /// The same as far as it can be done: the source may be asked about the file now.
    pub(super) fn catch_up(&self, node: &Node) {
        // A sync or a close reports the error.
        let _ = self.write_out_of(node);
    }

    /// The attributes of a file, updated if `stat` may be from before a write.
    pub(super) fn current(&self, node: &Node, stat: Stat) -> io::Result<Stat> {
        if !self.writes_later() || node.file.get().is_none() {
            return Ok(stat);
        }
        self.catch_up(node);
        Ok(self.with_waiting(node, node.stat()?))
    }

    /// The same attributes; where something could not be written, with the size that the file has with it.
    pub(super) fn with_waiting(&self, node: &Node, mut stat: Stat) -> Stat {
        if let (true, Some(cache), Some(&file)) = (self.writes_later(), self.cache(), node.file.get()) {
            stat.st_size = stat.st_size.max(cache.end_of_waiting(file) as i64);
        }
        stat
    }

    /// Files of which something has waited for too long.
    pub fn overdue(&self, age: Duration) -> Vec<FileNumber> {
        self.cache().map_or(Vec::new(), |cache| cache.overdue(age))
    }
}
