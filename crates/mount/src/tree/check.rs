//! Close-to-open: before a file is used by a name that the kernel has cached, the source is asked whether the name
//! still leads to it. If not, the call fails with `ESTALE`: the kernel then looks the whole path up again and repeats
//! the call. A name that was looked up within [`VALIDITY`] is not checked, so a call is repeated once at most, also if
//! the source gives a file another inode number each time, or caches names itself.

use std::io;
use std::sync::Arc;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::{Tree, is};
use crate::VALIDITY;
use crate::tree::nodes::Node;

impl Tree {
    /// Checks that the name of a file still leads to it. True if the source was asked, and its attributes are known.
    pub(super) fn check_name(&self, node: &Arc<Node>) -> io::Result<bool> {
        if !self.metadata.checks_names() {
            return Ok(false);
        }
        let Some((parent, name)) = node.cached_name(VALIDITY) else { return Ok(false) };
        let Ok(directory) = self.node(parent) else { return Ok(false) };
        let asked = self.metadata.ask();
        let is_here = match rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if node.has(&stat) => {
                self.metadata.learn(node, &asked, &stat);
                true
            }
            Ok(_) | Err(Errno::NOENT | Errno::STALE) => false,
            Err(error) => return Err(error.into()),
        };
        node.confirm_name();
        if is_here {
            return Ok(true);
        }
        self.metadata.forget_name(parent, name, node);
        Err(Errno::STALE.into())
    }

    /// The result of a call in a directory: where that has been replaced, the kernel looks its name up again.
    pub(super) fn within<T>(&self, directory: &Arc<Node>, done: io::Result<T>) -> io::Result<T> {
        if done.as_ref().is_err_and(|error| is(error, Errno::NOENT)) {
            self.check_name(directory)?;
        }
        done
    }
}
