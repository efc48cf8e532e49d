//! A mount of objects of a small store, for tests that need /dev/fuse.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hotset_cache::FileCache;
use hotset_mount::{Mode, Options, Stopper, mount_objects};
use hotset_store::{Limits, Location, Store};
use hotset_testkit::s3::S3;
use rustix::io::Errno;
use tempfile::TempDir;

use super::{mounted, pattern, settings};

/// A mount of `s3://bucket/data`, or of the same by WebDAV, which ends with the test.
pub struct Mount {
    at: TempDir,
    pub s3: S3,
    pub cache: Option<Arc<FileCache>>,
    unmount: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    stopper: Stopper,
    server: Option<JoinHandle<io::Result<()>>>,
}

pub const LIMITS: Limits =
    Limits { requests: 64, timeout: Duration::from_secs(10), retries: 8, hedges: false, bandwidth: None };

fn environment(s3: &S3) -> impl Iterator<Item = (String, String)> {
    let told =
        [("AWS_ENDPOINT_URL", s3.url()), ("AWS_ACCESS_KEY_ID", "key".into()), ("AWS_SECRET_ACCESS_KEY", "s".into())];
    told.map(|(name, value)| (name.to_owned(), value)).into_iter()
}

impl Mount {
    /// With a cache of so many blocks of 4K.
    pub fn new(s3: S3, blocks: u64, options: Options, limits: Limits) -> Mount {
        Mount::of(s3, "s3://bucket/data", blocks, options, limits)
    }

    /// The same by WebDAV.
    pub fn of_web(s3: S3, blocks: u64, options: Options, limits: Limits) -> Mount {
        let location = format!("{}/bucket/data/", s3.url());
        Mount::of(s3, &location, blocks, options, limits)
    }

    fn of(s3: S3, location: &str, blocks: u64, options: Options, limits: Limits) -> Mount {
        let at = TempDir::new().unwrap();
        let cache = (blocks > 0).then(|| Arc::new(FileCache::new(&settings("lru", blocks * 4096), None).unwrap()));
        let store = Store::open_with(&Location::parse_served(location).unwrap(), limits, environment(&s3)).unwrap();
        let mounted = mount_objects(Arc::new(store), at.path(), cache.clone(), options).unwrap();
        let unmount = Box::new(mounted.unmounter());
        let stopper = mounted.stopper();
        let server = Some(thread::spawn(move || mounted.serve()));
        Mount { at, s3, cache, unmount, stopper, server }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }

    /// Ends it though files are open there.
    pub fn end(&mut self) -> io::Result<()> {
        self.stopper.refuse();
        self.stopper.detach()?;
        self.server.take().unwrap().join().unwrap()
    }

    pub fn stop(&mut self) {
        while (self.unmount)().is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
            thread::sleep(Duration::from_millis(5));
        }
        self.server.take().unwrap().join().unwrap().unwrap();
        self.cache.iter().for_each(|cache| cache.validate());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A test that failed has files open.
        let _ = Command::new("umount").arg("-l").arg(self.at.path()).stderr(Stdio::null()).status();
    }
}

/// As tests mount, to be read.
pub fn options(mode: Mode) -> Options {
    Options { readonly: true, ..mounted::options(mode) }
}

/// Some directories of files: names and bytes.
pub fn tree(name: impl Fn(usize) -> String) -> BTreeMap<String, Vec<u8>> {
    let file = |number: usize| {
        let mut bytes = pattern(number as u64, 3000 * number);
        bytes.extend(format!("\nneedle {number}\n").bytes());
        (name(number), bytes)
    };
    (0..24).map(file).collect()
}

/// The error of a call, if it was one of the operating system.
pub fn errno<T>(done: io::Result<T>) -> Option<Errno> {
    done.err().and_then(|error| Errno::from_io_error(&error))
}

/// The store's data of a key.
pub fn object(s3: &S3, key: &str) -> Option<Vec<u8>> {
    s3.objects().into_iter().find(|(known, _)| known == key).map(|(_, bytes)| bytes)
}

/// Closes a file and tells what came of it.
pub fn close(file: File) -> io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

/// Writes a file anew, and closes it.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    close(file)
}
