//! Names: creating, opening by name, linking, moving and removing.
//!
//! Every call names its object once: a file that is created or opened is identified by its descriptor from then on.
//! Other new objects are looked up afterwards; if the name refers to something else by then, the kernel receives that
//! object and its owner, as a look-up a moment later would return.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hotset_cache::About;
use hotset_core::request::Op;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, RenameFlags, Stat};
use rustix::io::Errno;

use super::{Tree, data_flags, is};
use crate::served::credentials::Caller;
use crate::served::{Found, NewMode, Seen};
use crate::tree::nodes::{Node, patiently};
use crate::tree::opening::OpenFile;

/// Makes the kernel look the name up again: it does not refer to a file, so the mount must not open it.
const LOOK_AGAIN: Errno = Errno::STALE;

impl Tree {
    pub fn look_up(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found> {
        let parent = self.node(parent)?;
        if let Some((node, stat, left)) = self.look_up_known(&parent, name) {
            self.note(Op::Stat, &node, caller, 0);
            let named = self.metadata.validity().names;
            return Ok(Found { number: node.number, stat, named, left });
        }
        let asked = self.metadata.ask();
        let (node, stat) = self.nodes.look_up(&parent, name)?;
        self.note(Op::Stat, &node, caller, 0);
        self.metadata.learn(&node, &asked, &stat);
        self.metadata.learn_name(&parent, name, node.number, &asked);
        let stat = self.current(&node, stat)?;
        Ok(self.found(&node, stat))
    }

    /// The cached file of a name, if the kernel does not keep names.
    fn look_up_known(&self, parent: &Node, name: &OsStr) -> Option<(Arc<Node>, Stat, Duration)> {
        let known = || {
            let number = self.metadata.named(parent, name)?;
            let node = self.nodes.get(number).ok()?;
            self.catch_up(&node);
            let (stat, left) = self.metadata.known(&node)?;
            Some((self.nodes.again(number, parent, name)?, self.with_waiting(&node, stat), left))
        };
        let known = known();
        self.metadata.count(About::Names, known.is_some());
        known
    }

    /// The source's answer, as a look-up returns it.
    fn found(&self, node: &Node, stat: Stat) -> Found {
        let validity = self.metadata.validity();
        Found { number: node.number, stat, named: validity.names, left: validity.attributes }
    }

    pub fn make_directory(&self, parent: u64, name: &OsStr, mode: NewMode, caller: Caller) -> io::Result<Found> {
        let parent = self.writable(parent)?;
        let mode = mode.within(&parent)?;
        self.make(&parent, name, caller, || rustix::fs::mkdirat(&parent, name, mode))
    }

    pub fn make_node(
        &self,
        parent: u64,
        name: &OsStr,
        mode: NewMode,
        device: u32,
        caller: Caller,
    ) -> io::Result<Found> {
        let parent = self.writable(parent)?;
        let (kind, mode) = (FileType::from_raw_mode(mode.mode as RawMode), mode.within(&parent)?);
        self.make(&parent, name, caller, || rustix::fs::mknodat(&parent, name, kind, mode, device.into()))
    }

    pub fn make_link(&self, parent: u64, name: &OsStr, target: &Path, caller: Caller) -> io::Result<Found> {
        let parent = self.writable(parent)?;
        self.make(&parent, name, caller, || rustix::fs::symlinkat(target, &parent, name))
    }

    fn make(
        &self,
        parent: &Node,
        name: &OsStr,
        caller: Caller,
        call: impl FnOnce() -> rustix::io::Result<()>,
    ) -> io::Result<Found> {
        let _changing = self.metadata.changing([parent]);
        self.rights.act(caller, call)?;
        let (node, stat) = self.nodes.look_up(parent, name)?;
        Ok(self.found(&node, stat))
    }

    /// Creates and opens a file, or opens one that another process has just created.
    pub fn create(
        &self,
        parent: u64,
        name: &OsStr,
        mode: NewMode,
        flags: u32,
        caller: Caller,
    ) -> io::Result<(Found, OpenFile, Seen)> {
        self.check_goes_on()?;
        let parent = self.writable(parent)?;
        let exclusive = OFlags::from_bits_retain(flags) & OFlags::EXCL;
        // The name may refer to anything by now: do not block on it, and do not acquire a controlling terminal.
        let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let wanted = data_flags(flags) | exclusive | OFlags::CREATE | careful;
        let _changing = self.metadata.changing([&parent]);
        let mode = mode.within(&parent)?;
        let open = |wanted| rustix::fs::openat(&parent, name, wanted, mode);
        // One that is there already is cut through the cache, which may hold what is not written yet.
        let is_cut = wanted.contains(OFlags::TRUNC) && wanted.intersects(OFlags::WRONLY | OFlags::RDWR);
        let wanted = if is_cut { wanted - OFlags::TRUNC } else { wanted };
        let asked = self.metadata.ask();
        let granted = self.grant(flags, wanted, caller, open).map_err(|error| {
            // A link, a pipe or a socket.
            if is(&error, Errno::LOOP) || is(&error, Errno::NXIO) { LOOK_AGAIN.into() } else { error }
        })?;
        if FileType::from_raw_mode(rustix::fs::fstat(&granted.file)?.st_mode) != FileType::RegularFile {
            return Err(LOOK_AGAIN.into());
        }
        let path = format!("/proc/self/fd/{}", granted.file.as_raw_fd());
        let descriptor = patiently(|| rustix::fs::open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()))?;
        let (node, mut stat) = self.nodes.adopt(descriptor, &parent, name)?;
        self.metadata.learn(&node, &asked, &stat);
        let is_known = node.file.get().is_some();
        let (open, seen) = self.opened(&node, granted, caller)?;
        if is_cut && (is_known || stat.st_size > 0) {
            self.set_size(&open, 0)?;
            stat = node.stat()?;
        } else if is_known {
            stat = self.current(&node, stat)?;
        }
        Ok((self.found(&node, stat), open, seen))
    }

    pub fn link(&self, number: u64, parent: u64, name: &OsStr, caller: Caller) -> io::Result<Found> {
        let (node, parent) = (self.node(number)?, self.writable(parent)?);
        let _changing = self.metadata.changing([&node, &parent]);
        // Ends at the descriptor's file, also where that is a symbolic link.
        let path = node.descriptor_path();
        self.notice(&node, &node.stat()?);
        self.rights.act(caller, || rustix::fs::linkat(CWD, &path, &parent, name, AtFlags::SYMLINK_FOLLOW))?;
        let (node, stat) = self.nodes.adopt(node.as_fd().try_clone_to_owned()?, &parent, name)?;
        self.restamp(&node);
        let stat = self.current(&node, stat)?;
        Ok(self.found(&node, stat))
    }

    pub fn unlink(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        let parent = self.writable(parent)?;
        let _changing = self.metadata.changing([&parent]);
        let node = self.peek(&parent, name);
        let done = self.rights.act(caller, || rustix::fs::unlinkat(&parent, name, AtFlags::empty()));
        if let Some(node) = node {
            if done.is_ok() {
                self.lost_name(&node, caller);
                self.restamp(&node);
            }
            self.metadata.changed(&node);
            self.forget(node.number, 1);
        }
        done
    }

    pub fn remove_directory(&self, parent: u64, name: &OsStr, caller: Caller) -> io::Result<()> {
        let parent = self.writable(parent)?;
        let _changing = self.metadata.changing([&parent]);
        self.rights.act(caller, || rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR))
    }

    pub fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), flags: RenameFlags, caller: Caller) -> io::Result<()> {
        let (from_parent, to_parent) = (self.writable(from.0)?, self.writable(to.0)?);
        let _changing = self.metadata.changing([&from_parent, &to_parent]);
        let moved = self.peek(&from_parent, from.1);
        // The replaced file must not be gone before the new one is complete.
        moved.iter().for_each(|node| self.catch_up(node));
        let replaced = self.peek(&to_parent, to.1);
        let rename = || rustix::fs::renameat_with(&from_parent, from.1, &to_parent, to.1, flags);
        let done = self.rights.act(caller, rename);
        // One that is replaced has lost a name, unless the two have changed places.
        for (node, stays) in [(moved, true), (replaced, flags.contains(RenameFlags::EXCHANGE))] {
            let Some(node) = node else { continue };
            if done.is_ok() {
                match stays {
                    true => self.note(Op::Rename, &node, caller, 0),
                    false => self.lost_name(&node, caller),
                }
                self.restamp(&node);
            }
            self.metadata.changed(&node);
            self.forget(node.number, 1);
        }
        done
    }

    /// The present file of a name, for recording, counting and stamping: this checks no permission and changes nothing.
    /// The caller must forget it again.
    fn peek(&self, parent: &Node, name: &OsStr) -> Option<Arc<Node>> {
        self.cache()?;
        let (node, stat) = self.nodes.look_up(parent, name).ok()?;
        self.notice(&node, &stat);
        Some(node)
    }
}
