//! A store that is not a file system: objects have an etag and no times, and errors have texts and no numbers.

mod support;

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use hotset_cache::source::{Source, Stamp, Version};
use hotset_cache::{Access, FileCache};
use hotset_core::request::Kind;

use support::{pattern, settings};

/// An object, replaced as a whole. While it is `None`, the store fails, once the test allows it.
struct Bucket {
    object: Mutex<(String, Option<Vec<u8>>)>,
    lets: (Mutex<bool>, Condvar),
}

impl Bucket {
    fn put(&self, etag: &str, bytes: Option<Vec<u8>>) {
        *self.object.lock().unwrap() = (etag.to_owned(), bytes);
    }
}

impl Source for Bucket {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let (_, bytes) = &*self.object.lock().unwrap();
        let Some(bytes) = bytes else {
            drop(self.lets.1.wait_while(self.lets.0.lock().unwrap(), |lets| !*lets).unwrap());
            return Err(io::Error::other("the bucket is gone"));
        };
        let from = bytes.get(offset as usize..).unwrap_or_default();
        let length = from.len().min(buffer.len());
        buffer[..length].copy_from_slice(&from[..length]);
        Ok(length)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_len(&self, _size: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let (etag, bytes) = &*self.object.lock().unwrap();
        let size = bytes.as_ref().map_or(10_000, |bytes| bytes.len() as u64);
        Ok(Stamp::new(size, Version::from(etag.as_str())))
    }

    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

fn bucket(bytes: Option<Vec<u8>>) -> (FileCache, Arc<Bucket>, Arc<dyn Source>, u32) {
    let cache = FileCache::new(&settings("lru", 1 << 20), None).unwrap();
    let bucket = Arc::new(Bucket { object: Mutex::new(("\"a1\"".to_owned(), bytes)), lets: Default::default() });
    let file = cache.file("s3://bucket/object", Kind::Datafile);
    cache.opened(file, bucket.as_ref()).unwrap();
    (cache, bucket.clone(), bucket, file)
}

#[test]
fn an_object_is_cached_as_long_as_its_etag_is_the_same() {
    let (cache, bucket, source, file) = bucket(Some(pattern(1, 10_000)));
    let access = Access { file, app: 0, source: &source, stream: None, executes: false };
    assert_eq!(cache.read(&access, 0, 20_000).unwrap(), pattern(1, 10_000));
    // The same size and another etag, and back to the bytes but not to the etag.
    for (etag, seed) in [("\"b2-17\"", 2), ("\"c3\"", 1)] {
        bucket.put(etag, Some(pattern(seed, 10_000)));
        assert!(!cache.opened(file, source.as_ref()).unwrap());
        assert_eq!(cache.read(&access, 0, 20_000).unwrap(), pattern(seed, 10_000));
    }
    let reads = cache.counts().1.reads;
    assert!(cache.opened(file, source.as_ref()).unwrap(), "nothing is as fresh as times are");
    assert_eq!(cache.read(&access, 0, 10_000).unwrap(), pattern(1, 10_000));
    assert_eq!(cache.counts().1.reads, reads);
}

#[test]
fn whoever_waits_for_a_read_that_fails_is_told_why() {
    let (cache, bucket, source, file) = bucket(None);
    let access = Access { file, app: 0, source: &source, stream: None, executes: false };
    let errors = thread::scope(|scope| {
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(|| cache.read(&access, 0, 4096).unwrap_err())).collect();
        while cache.counts().1.waits < 2 {
            thread::yield_now();
        }
        *bucket.lets.0.lock().unwrap() = true;
        bucket.lets.1.notify_all();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(errors.iter().all(|error| error.to_string() == "the bucket is gone"), "{errors:?}");
    assert_eq!(cache.counts().1.errors, 1, "it was asked for once");
}
