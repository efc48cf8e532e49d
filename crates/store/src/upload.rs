//! Changing a store: objects that are written whole, at once or in parts, copied, deleted.
//!
//! An object appears when all of it is there, in one request: before that, and if that fails, there is what was there
//! before. Parts are sent while the next ones are still being made; how many bytes are on their way is bounded for all
//! objects of a store together ([`Room`](crate::client::in_flight::Room)).

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::process;
use std::sync::Arc;
use std::time::SystemTime;

use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, MultipartUpload, ObjectMeta, ObjectStoreExt, PutMode, PutPayload, PutResult,
};

use crate::client::bandwidth::Bytes;
use crate::client::calls::UnderWay;

use crate::client::store::Store;
use crate::error::StoreError;
use crate::object::{LONGEST, Object};

/// Parts that an object may have.
pub const MOST_PARTS: usize = 10_000;

/// The name under which an object has the mark of the upload that it comes from, in its metadata: an identifier, since
/// Azure takes nothing else.
const MARK: &str = "hotsetupload";

/// The status of what a store cannot do.
const NOT_IMPLEMENTED: u16 = 501;

impl Store {
    /// Whether there can be an object at a path below the location.
    ///
    /// # Errors
    ///
    /// A key cannot be so, or not be so long.
    pub fn check(&self, path: &str) -> Result<(), StoreError> {
        match self.key(path) {
            None => Err(StoreError::Unfit),
            Some(key) if key.as_ref().len() > LONGEST => Err(StoreError::TooLong),
            Some(_) => Ok(()),
        }
    }

    /// Writes an object, all of which is given. With `only_new` there must be none yet ([`StoreError::Exists`]); where
    /// the store cannot see to that itself it is asked before.
    pub fn put(&self, path: &str, bytes: Vec<u8>, only_new: bool) -> Result<Object, StoreError> {
        // Copies of it share the bytes.
        let bytes = PutPayload::from(bytes);
        if !only_new {
            return self.put_in(path, bytes, PutMode::Overwrite);
        }
        match self.put_in(path, bytes.clone(), PutMode::Create) {
            Err(StoreError::Answer(Some(NOT_IMPLEMENTED))) => {
                self.check_is_missing(path)?;
                self.put_in(path, bytes, PutMode::Overwrite)
            }
            done => done,
        }
    }

    /// Checks that there is no object at a path.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] if there is one, or the store cannot be reached.
    pub fn check_is_missing(&self, path: &str) -> Result<(), StoreError> {
        match self.head(path) {
            Ok(_) => Err(StoreError::Exists),
            Err(StoreError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn put_in(&self, path: &str, bytes: PutPayload, mode: PutMode) -> Result<Object, StoreError> {
        let (store, key) = (self.connected.objects.clone(), self.key(path).ok_or(StoreError::Unfit)?);
        let size = bytes.content_length() as u64;
        let taken = self.sending.take(size);
        let is_new = matches!(mode, PutMode::Create);
        let put = async move {
            let _taken = taken;
            match store.put_opts(&key, bytes, mode.into()).await {
                Ok(put) => Ok(made(key, size, put)),
                Err(Error::AlreadyExists { .. }) if is_new => Err(StoreError::Exists),
                Err(Error::NotImplemented { .. }) => Err(StoreError::Answer(Some(NOT_IMPLEMENTED))),
                Err(error) => Err(error.into()),
            }
        };
        self.calls.begin_after(self.turn(size), put).wait()
    }

    /// Waits until so many bytes may be sent.
    fn turn(&self, bytes: u64) -> impl Future<Output = ()> + Send + use<> {
        let bandwidth = self.bandwidth.clone();
        async move { bandwidth.turn(Bytes::Written(bytes)).await }
    }

    /// Begins an object that is written in parts.
    pub fn upload(self: &Arc<Store>, path: &str) -> Result<Upload, StoreError> {
        let (store, key) = (self.connected.objects.clone(), self.key(path).ok_or(StoreError::Unfit)?);
        let (at, mark) = (key.clone(), mark());
        let attributes = Attributes::from_iter([(Attribute::Metadata(MARK.into()), mark.clone())]);
        let parts = self.calls.wait(async move { Ok(store.put_multipart_opts(&at, attributes.into()).await?) })?;
        Ok(Upload {
            store: self.clone(),
            path: path.to_owned(),
            key,
            mark,
            parts: Some(parts),
            under_way: VecDeque::new(),
            sent: 0,
            size: 0,
        })
    }

    /// Deletes an object; one that is not there is.
    pub fn delete(&self, path: &str) -> Result<(), StoreError> {
        let (store, key) = (self.connected.objects.clone(), self.key(path).ok_or(StoreError::Missing)?);
        self.calls.wait(async move {
            match store.delete(&key).await.map_err(StoreError::from) {
                Err(StoreError::Missing) => Ok(()),
                done => done,
            }
        })
    }

    /// Copies an object within the store, over what is there, and gives the copy.
    ///
    /// # Errors
    ///
    /// [`StoreError::Changed`] if what is there then is not as long as `from`, or nothing has come there: stores may
    /// say that they have copied what they could not.
    pub fn copy(&self, from: &Object, to: &str) -> Result<Object, StoreError> {
        let (store, key) = (self.connected.objects.clone(), self.key(to).ok_or(StoreError::Unfit)?);
        let before = match self.head(to) {
            Err(StoreError::Missing) => None,
            before => Some(before?),
        };
        let source = from.location().clone();
        self.calls.wait(async move { Ok(store.copy(&source, &key).await?) })?;
        let after = self.head(to)?;
        let is_new = before.is_none_or(|before| !before.is_same(&after)) || after.version() == from.version();
        if is_new && after.size() == from.size() { Ok(after) } else { Err(StoreError::Changed) }
    }
}

/// The metadata of an object that was just written. The store decides its time, which is about now.
fn made(location: Path, size: u64, put: PutResult) -> Object {
    let e_tag = put.e_tag.filter(|tag| tag.len() <= LONGEST);
    Object::new(ObjectMeta { location, last_modified: SystemTime::now().into(), size, e_tag, version: None })
}

/// An object that is being written in parts. Dropped before it is complete, it is given up: the store deletes its
/// parts.
pub struct Upload {
    store: Arc<Store>,
    path: String,
    key: Path,
    /// The mark by which the object is recognised as this upload's.
    mark: String,
    /// None once it is complete, or while its state is unknown.
    parts: Option<Box<dyn MultipartUpload>>,
    under_way: VecDeque<UnderWay<()>>,
    sent: usize,
    size: u64,
}

impl Upload {
    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.sent
    }

    /// Sends the next part, of [`PART`](crate::PART) bytes at least unless it is the last one. Waits only while too
    /// much is in flight. Later calls report its result.
    pub fn add(&mut self, part: Vec<u8>) -> Result<(), StoreError> {
        while let Some(done) = self.under_way.front().and_then(UnderWay::look) {
            self.under_way.pop_front();
            done?;
        }
        let Some(parts) = &mut self.parts else { return Err(StoreError::Broken) };
        let length = part.len() as u64;
        let taken = self.store.sending.take(length);
        let sent = parts.put_part(part.into());
        let sent = async move {
            let _taken = taken;
            Ok(sent.await?)
        };
        self.under_way.push_back(self.store.calls.begin_after(self.store.turn(length), sent));
        self.sent += 1;
        self.size += length;
        Ok(())
    }

    /// Waits until all parts have arrived, and makes an object of them. If that fails there is none, unless the store
    /// did not answer in time. With `only_new` there must be none before, for which the store is asked first.
    pub fn complete(mut self, only_new: bool) -> Result<Object, StoreError> {
        while let Some(sent) = self.under_way.pop_front() {
            sent.wait()?;
        }
        if only_new {
            self.store.check_is_missing(&self.path)?;
        }
        let Some(mut parts) = self.parts.take() else { return Err(StoreError::Broken) };
        let (done, parts) = self.store.calls.wait(async move { Ok((parts.complete().await, parts)) })?;
        match done {
            Ok(put) => Ok(made(self.key.clone(), self.size, put)),
            Err(error) => {
                self.parts = Some(parts);
                self.ended(error.into())
            }
        }
    }

    /// Where a request was made again whose answer was lost, the store does not know the parts any more, and has the
    /// object, with the mark of this upload: another one of that name may be there by now, or have been.
    fn ended(&mut self, error: StoreError) -> Result<Object, StoreError> {
        if error != StoreError::Missing {
            return Err(error);
        }
        let (now, mark) = self.store.head_with(&self.path, MARK)?;
        if now.size() != self.size || mark.as_ref() != Some(&self.mark) {
            return Err(error);
        }
        self.parts = None;
        Ok(now)
    }
}

/// A word that no other upload has.
fn mark() -> String {
    let word = || RandomState::new().hash_one((process::id(), SystemTime::now()));
    format!("{:016x}{:016x}", word(), word())
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Some(mut parts) = self.parts.take() else { return };
        // One that arrives later would stay.
        let begun = mem::take(&mut self.under_way).into_iter().filter(|sent| !sent.give_up());
        begun.for_each(|sent| drop(sent.wait()));
        // Parts that the store keeps nevertheless expire by a rule of the store.
        let _ = self.store.calls.wait(async move { Ok(parts.abort().await?) });
    }
}
