//! A directory and a mount of it, for tests that need /dev/fuse.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hotset_cache::FileCache;
use hotset_mount::{Dropper, Mode, Options, Plain, Store, mount};
use tempfile::TempDir;

use super::settings;

/// A source and a mount of it, which ends with the test.
pub struct Mount {
    pub folder: TempDir,
    pub cache: Option<Arc<FileCache>>,
    unmount: Box<dyn Fn() -> std::io::Result<()> + Send + Sync>,
    /// Drops what the kernel keeps.
    pub dropper: Dropper,
    server: Option<JoinHandle<std::io::Result<()>>>,
}

/// True if mounts are possible. Says so if not, and fails where every test must run.
pub fn can_mount() -> bool {
    let helper = Command::new("fusermount3").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let able = Path::new("/dev/fuse").exists() && (rustix::process::geteuid().is_root() || helper.is_ok());
    assert!(able || std::env::var_os("CI").is_none(), "nothing can be mounted here, though CI is set");
    if !able {
        eprintln!("SKIPPED: there is no /dev/fuse, or neither root nor fusermount3");
    }
    able
}

impl Mount {
    /// Serves a new directory with a cache of `blocks` blocks of 4K; without any, without a cache.
    pub fn new(policy: &str, blocks: u64, options: Options) -> Mount {
        Mount::with_store(policy, blocks, options, Arc::new(Plain))
    }

    pub fn with_store(policy: &str, blocks: u64, options: Options, store: Arc<dyn Store>) -> Mount {
        let folder = TempDir::new().unwrap();
        for name in ["source", "at"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Mount::of(folder, policy, blocks, options, store).unwrap()
    }

    /// Serves the directory `source` in a folder, at the directory `at` there.
    pub fn of(
        folder: TempDir,
        policy: &str,
        blocks: u64,
        options: Options,
        store: Arc<dyn Store>,
    ) -> std::io::Result<Mount> {
        let [source, at] = ["source", "at"].map(|name| folder.path().join(name));
        let cache = (blocks > 0).then(|| Arc::new(FileCache::new(&settings(policy, blocks * 4096), None).unwrap()));
        let mounted = mount(&source, &at, cache.clone(), store, options)?;
        let (unmount, dropper) = (Box::new(mounted.unmounter()), mounted.dropper());
        let server = Some(thread::spawn(move || mounted.serve()));
        Ok(Mount { folder, cache, unmount, dropper, server })
    }

    pub fn source(&self, name: &str) -> PathBuf {
        self.folder.path().join("source").join(name)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("at").join(name)
    }

    /// Unmounts it; all that was asked is answered.
    pub fn stop(&mut self) {
        // A program that another test starts has our files until it runs.
        let busy =
            |done: &std::io::Result<()>| done.as_ref().is_err_and(|error| error.kind() == ErrorKind::ResourceBusy);
        while busy(&(self.unmount)()) {
            thread::sleep(Duration::from_millis(5));
        }
        self.server.take().unwrap().join().unwrap().unwrap();
        assert_eq!(fs::read_dir(self.at("")).unwrap().count(), 0, "it is unmounted");
        if let Some(cache) = &self.cache {
            cache.validate();
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A test that failed has files open.
        let _ = Command::new("umount").arg("-l").arg(self.at("")).stderr(Stdio::null()).status();
    }
}

pub fn options(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

pub const MODES: [Mode; 2] = [Mode::Strict, Mode::Fast];
