//! Requirements that are checked before anything is mounted, and clear messages where they fail.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hotset_core::words::reason;

use crate::failure::Failure;
use crate::output::note;

/// The two directories by their full paths. The rest of a killed mount at the mountpoint is removed.
pub(super) fn directories(source: &Path, mountpoint: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    clear_stale(mountpoint)?;
    let source = directory(source, "serve")?;
    let mountpoint = directory(mountpoint, "mount at")?;
    let (from, to) = (source.display(), mountpoint.display());
    if mountpoint.starts_with(&source) {
        return Err(Failure::Usage(format!(
            "the mountpoint {to} is in the source {from}, so the mount would serve itself: choose one outside"
        )));
    }
    if source.starts_with(&mountpoint) {
        return Err(Failure::Usage(format!(
            "the source {from} is in the mountpoint {to}, where the mount would hide it: choose another mountpoint"
        )));
    }
    check_is_free(&mountpoint)?;
    Ok((source, mountpoint))
}

/// The mountpoint by its full path, if the source is not a directory.
pub(super) fn mountpoint(mountpoint: &Path) -> Result<PathBuf, Failure> {
    clear_stale(mountpoint)?;
    let mountpoint = directory(mountpoint, "mount at")?;
    check_is_free(&mountpoint)?;
    Ok(mountpoint)
}

/// Nothing is mounted there or would be hidden.
fn check_is_free(mountpoint: &Path) -> Result<(), Failure> {
    let to = mountpoint.display();
    if is_served(mountpoint) {
        return Err(Failure::Usage(format!(
            "{to} is a mountpoint of FUSE already: unmount it first (`umount {to}`), or choose another directory"
        )));
    }
    let entries = fs::read_dir(mountpoint).map_err(|error| Failure::Work(format!("cannot list {to}: {error}")))?;
    if entries.count() > 0 {
        return Err(Failure::Usage(format!(
            "the mountpoint {to} is not empty, and the mount would hide what is there: choose an empty directory"
        )));
    }
    Ok(())
}

fn directory(path: &Path, verb: &str) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let full =
        fs::canonicalize(path).map_err(|error| Failure::Work(format!("cannot {verb} {shown}: {}", reason(&error))))?;
    match full.is_dir() {
        true => Ok(full),
        false => Err(Failure::Usage(format!("cannot {verb} {shown}: it is not a directory"))),
    }
}

/// True if a program serves it.
fn is_served(mountpoint: &Path) -> bool {
    const FUSE: u64 = 0x6573_5546;
    let device = |path: &Path| fs::metadata(path).ok().map(|about| about.dev());
    let is_fuse = rustix::fs::statfs(mountpoint).is_ok_and(|system| system.f_type as u64 == FUSE);
    is_fuse && device(mountpoint) != device(&mountpoint.join(".."))
}

/// True if the server of a mount at this place has ended. The kernel does not answer this call from its cache.
fn is_stale(mountpoint: &Path) -> bool {
    rustix::fs::statfs(mountpoint).is_err_and(|error| error == rustix::io::Errno::NOTCONN)
}

fn clear_stale(mountpoint: &Path) -> Result<(), Failure> {
    if !is_stale(mountpoint) {
        return Ok(());
    }
    let shown = mountpoint.display();
    note(format_args!("{shown} is the mountpoint of a killed mount; unmounting it"));
    let by_ourselves = rustix::mount::unmount(mountpoint, rustix::mount::UnmountFlags::DETACH).is_ok();
    let by_helper = || Command::new("fusermount3").arg("-uz").arg(mountpoint).status().is_ok_and(|done| done.success());
    match by_ourselves || by_helper() {
        true => Ok(()),
        false => Err(Failure::Work(format!("{shown} cannot be unmounted: run `umount -l {shown}` as root"))),
    }
}

/// The kernel can do it.
pub(super) fn fuse() -> Result<(), Failure> {
    match fs::exists("/dev/fuse") {
        Ok(true) => Ok(()),
        _ => Err(Failure::Work(
            "there is no /dev/fuse: this kernel, or this container, has no FUSE; load the module with `modprobe fuse`, or start \
             the container with --device /dev/fuse --cap-add SYS_ADMIN"
                .to_owned(),
        )),
    }
}

/// Why mounting has failed.
pub(super) fn explain(mountpoint: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ": mounting needs root, or the program fusermount3 (on Debian in the package fuse3)"
        }
        io::ErrorKind::NotFound => ": without root the program fusermount3 is needed (on Debian in the package fuse3)",
        _ => "",
    };
    Failure::Work(format!("cannot mount at {}: {error}{hint}", mountpoint.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &Path, mountpoint: &Path) -> String {
        match directories(source, mountpoint) {
            Err(Failure::Work(message) | Failure::Usage(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn directories_that_cannot_work_are_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("source/inside")).unwrap();
        fs::create_dir_all(path("full/source")).unwrap();
        fs::write(path("file"), "").unwrap();
        fs::create_dir(path("empty")).unwrap();
        assert!(refused(&path("nowhere"), &path("empty")).contains("cannot serve"));
        assert!(refused(&path("file"), &path("empty")).ends_with("it is not a directory"));
        assert!(refused(&path("source"), &path("file")).ends_with("it is not a directory"));
        assert!(refused(&path("source"), &path("source/inside")).contains("would serve itself"));
        assert!(refused(&path("source"), &path("source")).contains("would serve itself"));
        assert!(refused(&path("full/source"), &path("full")).contains("would hide it"));
        assert!(refused(&path("source"), &path("full")).contains("is not empty"));
        assert!(directories(&path("source"), &path("empty")).is_ok());
    }
}
