//! Recording what is served, in the order of the decisions, as a native trace.
//!
//! The thread that decides only hands requests over; another one packs and writes them. If writing falls behind by
//! [`QUEUE`] batches the cache waits for it, so that nothing is lost and memory stays bounded. An error of writing is
//! told at the end; the cache goes on serving.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hotset_core::request::{Kind, Request};
use hotset_trace::batch::BATCH_REQUESTS;
use hotset_trace::native::{Header, Writer};
use hotset_trace::{Addressing, Batch, FileInfo, Meta, Tables, TraceError};

use crate::error::CacheError;

/// Messages that may wait to be written.
const QUEUE: usize = 64;

/// After so long at the latest, what was served is in the file.
const FLUSH_INTERVAL: Duration = Duration::from_secs(5);

/// A recording being made.
pub struct Recording {
    batch: Batch,
    news: Vec<News>,
    messages: SyncSender<Message>,
    writer: JoinHandle<Result<(), TraceError>>,
}

/// A line of a table.
enum News {
    File(FileInfo),
    App(String),
}

/// New lines of the tables, and requests that use them.
struct Message {
    news: Vec<News>,
    batch: Batch,
}

impl Recording {
    /// Begins a recording of a cache whose blocks have `block` bytes. `policy` is written into its header.
    pub fn create(path: &Path, block: u64, policy: &str) -> Result<Recording, CacheError> {
        let addressing = Addressing::Bytes { unit: u32::try_from(block).ok() };
        let meta = Meta { format: "hst", addressing, has_time: true, has_ops: true, sample: None };
        let header = Header::new(&meta).with("source", "mount").with("policy", policy);
        let writer = Writer::create(path, &header)?;
        let (messages, queue) = sync_channel(QUEUE);
        let writer = thread::spawn(move || write(writer, &queue));
        Ok(Recording { batch: Batch::new(), news: Vec::new(), messages, writer })
    }

    pub(crate) fn file(&mut self, path: &str, kind: Kind) {
        self.news.push(News::File(FileInfo { path: path.to_owned(), kind, ..FileInfo::default() }));
    }

    pub(crate) fn app(&mut self, name: &str) {
        self.news.push(News::App(name.to_owned()));
    }

    pub(crate) fn push(&mut self, request: &Request, size: u64) {
        self.batch.push(*request, request.length.into(), Some(size));
        if self.batch.len() == BATCH_REQUESTS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Batch::new());
        // A writer that has failed says so at the end.
        let _ = self.messages.send(Message { news: std::mem::take(&mut self.news), batch });
    }

    /// Writes the rest and the footer.
    pub fn finish(mut self) -> Result<(), CacheError> {
        self.hand_over();
        let Recording { messages, writer, .. } = self;
        drop(messages);
        Ok(writer.join().expect("the writing thread does not panic")?)
    }
}

fn write(mut writer: Writer<File>, queue: &Receiver<Message>) -> Result<(), TraceError> {
    let mut tables = Tables::default();
    loop {
        match queue.recv_timeout(FLUSH_INTERVAL) {
            Ok(Message { news, batch }) => {
                for line in news {
                    match line {
                        News::File(file) => tables.files.push(file),
                        News::App(app) => tables.apps.push(app),
                    }
                }
                writer.push(&batch, &tables)?;
            }
            Err(RecvTimeoutError::Timeout) => writer.flush()?,
            Err(RecvTimeoutError::Disconnected) => return writer.finish(&tables).map(|_| ()),
        }
    }
}
