//! The bytes of a version of an object.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hotset_cache::source::{Identity, Source, Stamp, Version};
use hotset_store::{Object, Store, StoreError};
use rustix::io::Errno;

use super::names::Names;
use super::nodes::Node;

/// An object that was written so long ago is not written again in the same second.
const SETTLED: Duration = Duration::from_secs(2);

pub(super) struct Bytes {
    store: Arc<Store>,
    object: Object,
    node: Arc<Node>,
    names: Arc<Names>,
}

impl Bytes {
    /// Those of the node, unless it is a directory.
    pub fn of(store: Arc<Store>, node: Arc<Node>, names: Arc<Names>) -> Option<Arc<dyn Source>> {
        let object = node.object()?.clone();
        Some(Arc::new(Bytes { store, object, node, names }))
    }
}

/// What tells a version of an object.
pub(super) fn stamp(store: &Store, path: &str, object: &Object) -> Stamp {
    let stamp = Stamp::new(object.size(), Version::from(object.version().as_str()));
    let key = Version::from(format!("{}/{path}", store.location()).as_str());
    if object.names_bytes() {
        return stamp.of_file(Identity::Lasting(key));
    }
    // The version is a time in seconds, and one second may have two versions. It is the store's time, and its distance
    // from this machine's clock is unknown: data cached under such a version is not stored for a later mount.
    let age = object.modified().elapsed().unwrap_or_default();
    Stamp { is_fresh: age < SETTLED, ..stamp.of_file(Identity::Passing(key)) }
}

impl Source for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = offset.saturating_add(buffer.len() as u64).min(self.object.size());
        if offset >= end {
            return Ok(0);
        }
        let bytes = self.store.read(&self.object, offset..end).map_err(|error| match error {
            StoreError::Changed | StoreError::Missing => {
                self.names.forget(&self.node);
                StoreError::Changed
            }
            error => error,
        })?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// Some permits are left to readers other than one that reads an object in order.
    fn reads_at_once(&self) -> usize {
        (self.store.requests() * 3 / 4).max(1)
    }

    /// Never another one: what changes is another object.
    fn stamp(&self) -> io::Result<Stamp> {
        Ok(stamp(&self.store, &self.node.path, &self.object))
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        Err(Errno::ROFS.into())
    }

    fn set_len(&self, _size: u64) -> io::Result<()> {
        Err(Errno::ROFS.into())
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}
