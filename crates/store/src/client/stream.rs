//! An object from its first byte to its last, as what is read in order.
//!
//! Idea: parts of a fixed size are asked for in order, several at a time, and are given out in order. How many are
//! under way doubles with each part that is taken, up to [`AT_ONCE`]: who only looks at the beginning costs a few
//! requests, and memory never holds more than that many parts and the one that is given out. All of them are asked for
//! by the version that the object had when it was opened, so what is read is one version or ends with
//! [`StoreError::Changed`].

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;

use crate::client::calls::UnderWay;
use crate::client::store::Store;
use crate::error::StoreError;
use crate::limits::Limits;
use crate::location::Location;
use crate::object::Object;

/// Bytes of a part: as many as come in about the time of a request, few enough that a slow line brings them in time.
const PART: u64 = 1 << 20;

/// Parts under way at a time, at most: with 100 ms a request 160 MB/s.
const AT_ONCE: usize = 16;

/// A version of an object, to be read as often as wanted.
#[derive(Clone)]
pub struct Stored {
    store: Arc<Store>,
    object: Object,
}

impl Stored {
    /// The object at a location as it is now, of which the store is asked.
    ///
    /// # Errors
    ///
    /// There is none, or the store cannot be asked.
    pub fn open(location: &Location, limits: Limits) -> Result<Stored, StoreError> {
        if !location.is_web() && !location.has_prefix() {
            let why = "this is all of a bucket: expected an object in it, such as s3://bucket/trace.csv.gz";
            return Err(StoreError::Location(why.to_owned()));
        }
        let store = Store::open(location, limits)?;
        match store.head("") {
            Ok(object) => Ok(Stored { store: Arc::new(store), object }),
            Err(StoreError::Denied) if location.is_web() => Err(StoreError::Settings(
                "the server sends it only with credentials (401 or 403), and web servers are given none: let another program fetch \
                 it, such as curl, and read what it gives"
                    .to_owned(),
            )),
            Err(error) => Err(error),
        }
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.object.size()
    }

    /// Reads it from its first byte on.
    pub fn stream(&self) -> ObjectStream {
        let part = io::Cursor::default();
        ObjectStream { stored: self.clone(), parts: VecDeque::new(), next: 0, at_once: 1, part, failed: None }
    }
}

/// The bytes of an object in order. Its errors are a [`StoreError`] each; after one there are no more bytes.
pub struct ObjectStream {
    stored: Stored,
    /// The requested parts, in order.
    parts: VecDeque<UnderWay<Vec<u8>>>,
    /// Where what was asked for ends.
    next: u64,
    at_once: usize,
    /// The part that is being read.
    part: io::Cursor<Vec<u8>>,
    failed: Option<StoreError>,
}

impl ObjectStream {
    fn ask(&mut self) {
        let Stored { store, object } = &self.stored;
        while self.parts.len() < self.at_once && self.next < object.size() {
            let end = object.size().min(self.next + PART);
            self.parts.push_back(store.begin_read(object, self.next..end));
            self.next = end;
        }
    }
}

impl Read for ObjectStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.part.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if let Some(error) = &self.failed {
                return Err(io::Error::other(error.clone()));
            }
            self.ask();
            let Some(part) = self.parts.pop_front() else { return Ok(0) };
            match part.wait() {
                Ok(bytes) => self.part = io::Cursor::new(bytes),
                Err(error) => {
                    self.failed = Some(error);
                    self.parts.clear();
                    continue;
                }
            }
            self.at_once = AT_ONCE.min(2 * self.at_once);
            self.ask();
        }
    }
}
