//! A read on its way to an answer. What is there is answered at once. Where it misses, where the source must be asked,
//! or too much is in flight, it goes on in other threads, and none is held by one that waits. Where the cache fails,
//! the source answers.

use std::io;
use std::sync::Arc;

use fuser::ReplyData;
use hotset_cache::workers::Workers;
use hotset_cache::{Cache, Read, Share, source};

use crate::handles::OpenFile;
use crate::kernel::bytes;
use crate::tree::Tree;

/// The read. Dropped without an answer, as it is when a thread unwinds, it is answered by the source.
pub(crate) struct Reading {
    pub tree: Arc<Tree>,
    pub workers: Arc<Workers>,
    pub open: Arc<OpenFile>,
    pub offset: u64,
    pub length: usize,
    /// Until it is answered.
    pub reply: Option<ReplyData>,
}

impl Reading {
    /// Answers with what the cache has, or goes on where something is missing.
    pub fn begin(self, cache: Arc<Cache>) {
        match cache.begin_read(&self.open.access(), self.offset, self.length) {
            Some(begun) => self.go_on(cache, begun),
            None => {
                let (workers, tree, part) = (self.workers.clone(), self.tree.clone(), self.open.part);
                workers.run_here(part, move || tree.contain(|_| self.look(cache, None)));
            }
        }
    }

    fn go_on(self, cache: Arc<Cache>, begun: Read) {
        match begun {
            Read::Done(bytes) => self.answer(Ok(bytes)),
            Read::Missing(missing) => self.hand_over(move |reading| {
                let read = cache.finish_read(&reading.open.access(), missing);
                reading.answer(read);
            }),
            Read::Crowded(room) => {
                let file = self.open.number;
                cache.clone().when_there_is_room(file, room, move |share| {
                    self.hand_over(move |reading| reading.look(cache, Some(share)));
                });
            }
        }
    }

    /// Goes on in another thread.
    fn hand_over(self, work: impl FnOnce(Reading) + Send + 'static) {
        let (workers, tree, part) = (self.workers.clone(), self.tree.clone(), self.open.part);
        workers.run(part, move || tree.contain(|_| work(self)));
    }

    /// Begins where the source must be asked first, or with the room that was waited for.
    fn look(self, cache: Arc<Cache>, share: Option<Share>) {
        match cache.look_and_begin_read(&self.open.access(), self.offset, self.length, share) {
            Ok(begun) => self.go_on(cache, begun),
            Err(error) => self.answer(Err(error)),
        }
    }

    fn answer(mut self, read: io::Result<Vec<u8>>) {
        if let Some(reply) = self.reply.take() {
            bytes(reply, read);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(reply) = self.reply.take() else { return };
        let (tree, open, offset, length) = (self.tree.clone(), self.open.clone(), self.offset, self.length);
        self.workers.run(self.open.part, move || {
            tree.contain(|_| {
                let mut buffer = vec![0; length];
                let read = source::read_full(open.source.as_ref(), &mut buffer, offset);
                bytes(reply, read.map(|length| buffer[..length].to_vec()));
            });
        });
    }
}
