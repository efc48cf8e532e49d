//! A read that the cache cannot answer at once: it misses, the source must be asked, or too much is in flight. No thread is held by one that waits.

use std::io;
use std::sync::Arc;

use super::handles::OpenFile;
use super::tree::Tree;
use crate::cache::Cache;
use crate::in_flight::Share;
use crate::read::Read;
use crate::workers::Workers;

/// The read.
pub(super) struct Reading {
    pub tree: Arc<Tree>,
    pub cache: Arc<Cache>,
    pub workers: Arc<Workers>,
    pub open: Arc<OpenFile>,
    pub offset: u64,
    pub length: usize,
    /// Is given what was read.
    pub answer: Box<dyn FnOnce(io::Result<Vec<u8>>) + Send>,
}

impl Reading {
    /// Goes on with what has begun.
    pub fn go_on(self, begun: Read) {
        let (cache, file) = (self.cache.clone(), self.open.number);
        match begun {
            Read::Done(bytes) => (self.answer)(Ok(bytes)),
            Read::Missing(missing) => self.hand_over(move |reading| {
                let read = cache.finish_read(&reading.open.access(), missing);
                (reading.answer)(read);
            }),
            Read::Crowded(room) => cache.when_there_is_room(file, room, move |share| {
                self.hand_over(move |reading| reading.look(Some(share)));
            }),
        }
    }

    /// Goes on in another thread.
    fn hand_over(self, work: impl FnOnce(Reading) + Send + 'static) {
        let (workers, tree, part) = (self.workers.clone(), self.tree.clone(), self.open.part);
        workers.run(part, move || tree.contain(|_| work(self)));
    }

    /// Begins where the source must be asked first, or with the room that was waited for.
    pub fn look(self, share: Option<Share>) {
        match self.cache.look_and_begin_read(&self.open.access(), self.offset, self.length, share) {
            Ok(begun) => self.go_on(begun),
            Err(error) => (self.answer)(Err(error)),
        }
    }
}
