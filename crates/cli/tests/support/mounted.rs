//! A mount by the command, in a separate process, of a source that ends with the test. Needs /dev/fuse.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A source and a mount of it, which ends with the test.
pub struct Mount {
    folder: TempDir,
    arguments: Vec<String>,
    server: Option<Child>,
}

/// True if mounts are possible; says so if not.
pub fn can_mount() -> bool {
    let root = rustix::process::geteuid().is_root();
    let helper = Command::new("fusermount3").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let able = Path::new("/dev/fuse").exists() && (root || helper.is_ok());
    if !able {
        hotset_testkit::inputs::skip("there is no /dev/fuse, or neither root nor fusermount3");
    }
    able
}

/// Waits until this process has mounted something at a directory.
pub fn wait_for(at: &Path, server: &mut Child) {
    let device = |path: &Path| fs::metadata(path).map(|about| about.dev()).ok();
    let started = Instant::now();
    while device(at) == device(at.parent().unwrap()) || device(at).is_none() {
        let ended = server.try_wait().unwrap();
        assert!(ended.is_none() && started.elapsed() < Duration::from_secs(20), "it does not mount: {ended:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Mount {
    /// Serves a new directory with these arguments.
    pub fn new(arguments: &[&str]) -> Mount {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("source")).unwrap();
        fs::create_dir(folder.path().join("at")).unwrap();
        let mut mount =
            Mount { folder, arguments: arguments.iter().map(|word| (*word).to_owned()).collect(), server: None };
        mount.start();
        mount
    }

    /// Mounts it, again if it was killed.
    pub fn start(&mut self) {
        let child = Command::new(env!("CARGO_BIN_EXE_hotset"))
            .arg("mount")
            .args([self.source(""), self.at("")])
            .args(&self.arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let at = self.at("");
        wait_for(&at, self.server.insert(child));
    }

    /// A file as it lies in the source.
    pub fn source(&self, name: &str) -> PathBuf {
        self.folder.path().join("source").join(name)
    }

    /// The same through the mount.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("at").join(name)
    }

    /// Lets other users come to it.
    pub fn open_to_all(&self) {
        fs::set_permissions(self.folder.path(), Permissions::from_mode(0o755)).unwrap();
    }

    /// The process that serves it.
    pub fn pid(&self) -> u32 {
        self.server.as_ref().unwrap().id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.server.as_ref().unwrap()), signal).unwrap();
    }

    /// Its output is dropped from now on.
    pub fn hang_up(&mut self) {
        self.server.as_mut().unwrap().stderr.take();
    }

    /// Unmounts it; gives what it said.
    pub fn stop(&mut self) -> String {
        // It waits for a program that another test starts, which has our files until it runs.
        self.signal(Signal::TERM);
        let output = self.server.take().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert_eq!(fs::read_dir(self.at("")).unwrap().count(), 0, "it is unmounted");
        said
    }

    /// Waits until the process has ended well; gives how long that took.
    pub fn wait(&mut self) -> Duration {
        let (started, mut server) = (Instant::now(), self.server.take().unwrap());
        let ended = loop {
            match server.try_wait().unwrap() {
                Some(status) => break status,
                None if started.elapsed() < Duration::from_secs(25) => thread::sleep(Duration::from_millis(5)),
                None => {
                    server.kill().unwrap();
                    break server.wait().unwrap();
                }
            }
        };
        assert!(ended.success(), "{ended} after {:?}", started.elapsed());
        started.elapsed()
    }

    /// Ends the process at once; its mount stays.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.server.take().unwrap().wait().unwrap();
        // For a second the kernel answers from what it knows.
        while fs::metadata(self.at("")).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = kill_process(Pid::from_child(&server), Signal::TERM);
            let said = server.wait_with_output().map_or(Vec::new(), |output| output.stderr);
            if thread::panicking() {
                eprintln!("the mount has said: {}", String::from_utf8_lossy(&said));
            }
        }
        let _ = rustix::mount::unmount(self.at(""), rustix::mount::UnmountFlags::DETACH);
    }
}

/// Unmounts a mount that a test has made in another way, once the programs that other tests start have released it.
pub fn unmount(at: &Path) {
    let started = Instant::now();
    while let Err(error) = rustix::mount::unmount(at, rustix::mount::UnmountFlags::empty()) {
        assert!(error == rustix::io::Errno::BUSY && started.elapsed() < Duration::from_secs(20), "{error}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Bytes that differ from place to place and from seed to seed.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| ((at ^ at >> 8 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}
