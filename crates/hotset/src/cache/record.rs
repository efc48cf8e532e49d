//! Recordings: the references of a cache as a native trace, for `hotset simulate`, `curve` and `advise`.
//!
//! A recording has a request for each hit and each insertion: the references that the policy sees. The key is its hash,
//! hashed again with a secret that no file contains. So a recording does not show keys, and equal keys of two
//! recordings have different numbers.

use std::fs::File;
use std::hash::{BuildHasher, Hash, RandomState};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use hotset_core::random::mix;
use hotset_core::request::Request;
use hotset_trace::batch::BATCH_REQUESTS;
use hotset_trace::native::{Header, Writer};
use hotset_trace::{Addressing, Batch, Meta, Tables, TraceError};

use crate::cache::Cache;
use crate::engine::Engine;
use crate::error::SetupError;

/// The recording of a cache, if there is one.
#[derive(Default)]
pub(crate) struct Slot {
    is_on: AtomicBool,
    recorder: Mutex<Option<Recorder>>,
}

/// A recording under way.
struct Recorder {
    writer: Writer<File>,
    batch: Batch,
    tables: Tables,
    secret: u64,
    begin: Instant,
    /// The first error of writing; nothing is recorded after it.
    error: Option<TraceError>,
}

/// A recording of a cache. It ends when this is finished or dropped; only [`finish`](Recording::finish) reports errors.
pub struct Recording<K: Hash + Eq, V, P: Engine = crate::engine::ByName> {
    cache: Cache<K, V, P>,
}

impl Slot {
    /// True while there is a recording.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Adds a reference.
    pub fn push(&self, hash: u64, weight: u64, tenant: u32) {
        let mut slot = self.recorder.lock().unwrap_or_else(|error| error.into_inner());
        let Some(recorder) = slot.as_mut().filter(|recorder| recorder.error.is_none()) else { return };
        let request = Request {
            time: recorder.begin.elapsed().as_nanos() as u64,
            offset: mix(hash ^ recorder.secret),
            length: u32::try_from(weight).unwrap_or(u32::MAX),
            app: tenant,
            ..Request::default()
        };
        recorder.batch.requests.push(request);
        if recorder.batch.len() == BATCH_REQUESTS {
            recorder.write();
        }
    }

    fn finish(&self) -> Result<(), SetupError> {
        self.is_on.store(false, Ordering::Relaxed);
        let taken = self.recorder.lock().unwrap_or_else(|error| error.into_inner()).take();
        let Some(mut recorder) = taken else { return Ok(()) };
        recorder.write();
        match recorder.error {
            Some(error) => Err(error.into()),
            None => Ok(recorder.writer.finish(&recorder.tables).map(|_| ())?),
        }
    }
}

impl Recorder {
    /// Writes the batch.
    fn write(&mut self) {
        if self.error.is_none() && !self.batch.is_empty() {
            self.error = self.writer.push(&self.batch, &self.tables).err();
        }
        self.batch.clear();
    }
}

impl<K: Hash + Eq, V, P: Engine> Cache<K, V, P> {
    /// Records the references from now on as a native trace (`.hst`). A recording before it ends. Fails if the file
    /// cannot be written. References take their turns at the file, so do not record all the time.
    pub fn record(&self, path: impl AsRef<Path>) -> Result<Recording<K, V, P>, SetupError> {
        let meta =
            Meta { format: "hst", addressing: Addressing::Objects, has_time: true, has_ops: false, sample: None };
        let header = Header::new(&meta).with("source", "library").with("policy", &self.inner.recipe.spec.to_string());
        let writer = Writer::create(path.as_ref(), &header)?;
        let apps = self.inner.recipe.apps.iter().map(|app| app.name.clone()).collect();
        let recorder = Recorder {
            writer,
            batch: Batch::new(),
            tables: Tables { apps, ..Tables::default() },
            secret: RandomState::new().hash_one(0),
            begin: Instant::now(),
            error: None,
        };
        let slot = &self.inner.recorder;
        slot.finish()?;
        *slot.recorder.lock().unwrap_or_else(|error| error.into_inner()) = Some(recorder);
        slot.is_on.store(true, Ordering::Relaxed);
        Ok(Recording { cache: self.clone() })
    }
}

impl<K: Hash + Eq, V, P: Engine> Recording<K, V, P> {
    /// Ends the recording. Fails if the file could not be written.
    pub fn finish(self) -> Result<(), SetupError> {
        self.cache.inner.recorder.finish()
    }
}

impl<K: Hash + Eq, V, P: Engine> Drop for Recording<K, V, P> {
    fn drop(&mut self) {
        // Only `finish` reports errors.
        let _ = self.cache.inner.recorder.finish();
    }
}
