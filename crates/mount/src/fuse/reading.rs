//! A read on its way to an answer. Resident data is answered at once. On a miss, when the source must be asked, or when
//! too much is in flight, the read continues in other threads, and a waiting read blocks no thread. If the cache fails,
//! the source answers.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use fuser::ReplyData;
use hotset_cache::workers::Workers;
use hotset_cache::{FileCache, Read, Share, source};

use crate::fuse::kernel::bytes;
use crate::served::Served;
use crate::served::handles::Data;

/// A read that goes on elsewhere. Dropped without an answer, as it is when a thread unwinds, it is answered by the
/// source.
pub(crate) struct Reading {
    served: Arc<dyn Served>,
    workers: Arc<Workers>,
    data: Arc<Data>,
    offset: u64,
    length: usize,
    arrived: Instant,
    /// Until it is answered.
    reply: Option<ReplyData>,
}

thread_local! {
    /// What hits are copied to before they are answered, one after the other.
    static COPIED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes of [`COPIED`] that a thread keeps.
const KEPT: usize = 256 << 10;

/// Answers a read that the kernel asks for with what the cache has, or goes on where something is missing.
pub(crate) fn read(
    served: &Arc<dyn Served>,
    workers: &Arc<Workers>,
    data: Arc<Data>,
    offset: u64,
    length: usize,
    reply: ReplyData,
) {
    let arrived = Instant::now();
    let begun = COPIED.with_borrow_mut(|copied| {
        let begin = |cache: &Arc<FileCache>| cache.contain(|| cache.begin_read(&data.access(), offset, length, copied));
        let begun = served.cache().filter(|_| data.is_cached).and_then(begin);
        if !matches!(begun, Some(Some(Read::Done))) {
            return Err((begun, reply));
        }
        reply.data(copied);
        if let Some(cache) = served.cache() {
            cache.latencies().note(true, arrived.elapsed());
        }
        if copied.capacity() > KEPT {
            *copied = Vec::new();
        }
        Ok(())
    });
    let Err((begun, reply)) = begun else { return };
    let reading =
        Reading { served: served.clone(), workers: workers.clone(), data, offset, length, arrived, reply: Some(reply) };
    // Without a cache, past it, or one that has just failed, the source answers.
    let (Some(begun), Some(cache)) = (begun, served.cache()) else { return };
    served.contain(|_| reading.begun(cache.clone(), begun));
}

impl Reading {
    fn begun(self, cache: Arc<FileCache>, begun: Option<Read>) {
        match begun {
            Some(begun) => self.go_on(cache, begun, Vec::new()),
            None => {
                let (workers, served, part) = (self.workers.clone(), self.served.clone(), self.data.part);
                workers.run_here(part, move || served.contain(|_| self.look(cache, None)));
            }
        }
    }

    /// Answers with `there` if that is all.
    fn go_on(self, cache: Arc<FileCache>, begun: Read, there: Vec<u8>) {
        match begun {
            Read::Done => self.answer(Ok(there), true),
            Read::Missing(missing) => self.hand_over(move |reading| {
                let read = cache.finish_read(&reading.data.access(), missing);
                reading.answer(read, false);
            }),
            Read::Crowded(room) => {
                let file = self.data.number;
                cache.clone().when_there_is_room(file, room, move |share| {
                    self.hand_over(move |reading| reading.look(cache, Some(share)));
                });
            }
        }
    }

    /// Goes on in another thread.
    fn hand_over(self, work: impl FnOnce(Reading) + Send + 'static) {
        let (workers, served, part) = (self.workers.clone(), self.served.clone(), self.data.part);
        workers.run(part, move || served.contain(|_| work(self)));
    }

    /// Starts where the source must be asked first, or with the permit that it waited for.
    fn look(self, cache: Arc<FileCache>, share: Option<Share>) {
        let mut there = Vec::new();
        match cache.look_and_begin_read(&self.data.access(), self.offset, self.length, share, &mut there) {
            Ok(begun) => self.go_on(cache, begun, there),
            Err(error) => self.answer(Err(error), false),
        }
    }

    fn answer(mut self, read: io::Result<Vec<u8>>, is_hit: bool) {
        if let Some(reply) = self.reply.take() {
            let is_read = read.is_ok();
            bytes(reply, read);
            if let Some(cache) = self.served.cache().filter(|_| is_read) {
                cache.latencies().note(is_hit, self.arrived.elapsed());
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(reply) = self.reply.take() else { return };
        let (served, data, offset, length) = (self.served.clone(), self.data.clone(), self.offset, self.length);
        self.workers.run(self.data.part, move || {
            served.contain(|_| {
                let mut buffer = vec![0; length];
                let read = source::read_full(data.source.as_ref(), &mut buffer, offset);
                bytes(
                    reply,
                    read.map(|length| {
                        buffer.truncate(length);
                        buffer
                    }),
                );
            });
        });
    }
}
