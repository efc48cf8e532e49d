//! The places of the sockets of mounts and steering processes: in a folder that only their user can write to, under the
//! number of the mount's device or of the steered directory. A steering process also claims its directories there.
//!
//! For root that is `/run/hotset`, for others `$XDG_RUNTIME_DIR/hotset` or `/run/user/UID/hotset`; without either,
//! `/tmp/hotset-UID`. Folders are opened once and their content is reached through that descriptor, so that no other
//! process can replace them meanwhile.

use std::env;
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use hotset_mount::Device;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::process::{Uid, geteuid};

/// A socket that listens under a name. The name goes when this does.
pub struct Socket {
    folder: OwnedFd,
    name: String,
    inode: u64,
}

impl Socket {
    /// Listens under a name. A former owner of the name has ended.
    pub(super) fn take(name: String) -> io::Result<(Socket, UnixListener)> {
        let folder = own_folder()?;
        rustix::fs::flock(&folder, FlockOperation::LockExclusive)?;
        match rustix::fs::unlinkat(&folder, &name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(within(&folder).join(&name))?;
        rustix::fs::chmodat(&folder, &name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        let inode = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino;
        rustix::fs::flock(&folder, FlockOperation::Unlock)?;
        Ok((Socket { folder, name, inode }, listener))
    }
}

impl Drop for Socket {
    /// The next mount of the same number may have the name already. A file that cannot be removed is taken over by that
    /// mount.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.folder, FlockOperation::LockExclusive);
        let there = rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| there.st_ino == self.inode) {
            let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// A name that no other process has while this lives.
pub struct Claim {
    folder: OwnedFd,
    name: String,
    _lock: OwnedFd,
}

/// Claims the directory or control group with these attributes among those who steer as this user; `None` if another
/// one has it.
pub fn claim(about: &Metadata) -> io::Result<Option<Claim>> {
    let (folder, name) = (own_folder()?, &format!("steer-{}-{}", about.dev(), about.ino()));
    loop {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = rustix::fs::openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        // The former owner may have removed the file in between.
        let there = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| rustix::fs::fstat(&lock).is_ok_and(|own| own.st_ino == there.st_ino)) {
            return Ok(Some(Claim { folder, name: name.to_owned(), _lock: lock }));
        }
    }
}

impl Drop for Claim {
    /// A file that cannot be removed is claimed by the next one.
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// Connects to the server of this name that `owner` has started.
pub(super) fn connect(name: &str, owner: Uid) -> io::Result<UnixStream> {
    let try_one = |folder: &PathBuf| {
        let folder = checked(folder, owner)?;
        // A link to another socket is not followed.
        let socket = rustix::fs::openat(&folder, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
        UnixStream::connect(within(&socket))
    };
    first(&folders(owner), try_one)
}

/// The name of the socket of the mount with this device.
pub(super) fn of_mount((major, minor): Device) -> String {
    format!("{major}-{minor}")
}

/// The device of the mount whose socket has this name.
pub(super) fn device_of(name: &str) -> Option<Device> {
    let (major, minor) = name.split_once('-')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Names in this user's folder. Some may be without a listening process.
pub(super) fn names() -> Vec<String> {
    // A user without a folder serves nothing.
    let entries = own_folder().and_then(|folder| std::fs::read_dir(within(&folder)));
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name().into_string());
    names.filter_map(Result::ok).collect()
}

/// The name of the socket of the process that steers the directory or control group with these attributes.
pub(super) fn of_steered(about: &Metadata) -> String {
    format!("steering-{}-{}", about.dev(), about.ino())
}

/// A path to the file of a descriptor.
fn within(descriptor: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(descriptor.as_raw_fd().to_string())
}

/// Where the sockets of a user may be, best first.
fn folders(owner: Uid) -> Vec<PathBuf> {
    let number = owner.as_raw();
    let told = (owner == geteuid()).then(|| env::var_os("XDG_RUNTIME_DIR")).flatten();
    let runtime = match owner.is_root() {
        true => vec![PathBuf::from("/run")],
        false => told.map(PathBuf::from).into_iter().chain([format!("/run/user/{number}").into()]).collect(),
    };
    let folders = runtime.into_iter().map(|runtime| runtime.join("hotset"));
    folders.chain([format!("/tmp/hotset-{number}").into()]).collect()
}

/// This user's folder, made if need be.
fn own_folder() -> io::Result<OwnedFd> {
    let owner = geteuid();
    first(&folders(owner), |folder| {
        match rustix::fs::mkdir(folder, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        checked(folder, owner)
    })
}

/// A folder that belongs to `owner` and that no other user can write to.
fn checked(path: &Path, owner: Uid) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty())?;
    let about = rustix::fs::fstat(&folder)?;
    let others = Mode::from_raw_mode(about.st_mode) & (Mode::WGRP | Mode::WOTH);
    if about.st_uid != owner.as_raw() {
        return Err(io::Error::other(format!("it belongs to user {}, expected {}", about.st_uid, owner.as_raw())));
    }
    if !others.is_empty() {
        return Err(io::Error::other("others may write to it, expected mode 0700"));
    }
    Ok(folder)
}

/// What succeeds first, or all that went wrong.
fn first<T>(folders: &[PathBuf], mut attempt: impl FnMut(&PathBuf) -> io::Result<T>) -> io::Result<T> {
    let mut kind = io::ErrorKind::NotFound;
    let mut wrong = Vec::new();
    for folder in folders {
        match attempt(folder) {
            Ok(done) => return Ok(done),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    kind = error.kind();
                }
                wrong.push(format!("{}: {error}", folder.display()));
            }
        }
    }
    Err(io::Error::new(kind, wrong.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_have_or_write_to_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, link) = (parent.path().join("folder"), parent.path().join("link"));
        fs::create_dir(&folder).unwrap();
        symlink(&folder, &link).unwrap();
        let own = geteuid();
        for (mode, is_good) in [(0o700, true), (0o755, true), (0o720, false), (0o702, false), (0o1777, false)] {
            fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(checked(&folder, own).is_ok(), is_good, "{mode:o}");
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let refused = checked(&folder, Uid::from_raw(own.as_raw() + 1)).unwrap_err().to_string();
        assert!(refused.starts_with("it belongs to user"), "{refused}");
        assert!(checked(&link, own).is_err(), "a link may lead anywhere");
    }
}
