//! The names that the kernel's side sends before the call that they belong to.

use std::borrow::Cow;

use hotset_feed::calls::{Named, TEXT, Who};

use crate::call::Shown;

/// Kinds of files in `st_mode`.
pub(super) const KIND: u32 = 0o170_000;
pub(super) const FIFO: u32 = 0o010_000;
const SOCKET: u32 = 0o140_000;

/// File systems of what has no name in a tree.
const PIPES: u32 = 0x5049_5045;
const OBJECTS: u32 = 0x0904_1934;

/// Names that a call can have.
pub(super) type Slots = [Option<Named>; SLOTS];
pub(super) const SLOTS: usize = 7;
pub(super) const NO_SLOTS: Slots = [const { None }; SLOTS];

/// The names of a call, by their slots.
pub(super) struct Names<'a> {
    /// The names.
    pub slots: &'a Slots,
    /// The thread that made the call.
    pub who: Who,
    /// The mount namespaces whose paths are used unchanged.
    pub own_spaces: [u32; 2],
}

impl<'a> Names<'a> {
    /// A text that the call was given, as a path of the recorder's.
    pub(super) fn text(&self, which: usize) -> Option<Cow<'a, [u8]>> {
        self.slots[TEXT as usize + which].as_ref().map(|name| self.placed(&name.text))
    }

    /// The file or directory of a slot, as strace would show it.
    pub(super) fn shown(&self, slot: usize) -> Option<Shown<'a>> {
        let name = self.slots[slot].as_ref()?;
        let path = match (name.mode & KIND, name.magic) {
            (FIFO, PIPES) => b"pipe:[0]".into(),
            (SOCKET, _) => b"socket:[0]".into(),
            (_, OBJECTS) => b"anon_inode:[0]".into(),
            _ if name.text.is_empty() => b"anon_inode:[0]".into(),
            _ => self.placed(&name.text),
        };
        Some(Shown { path, deleted: name.is_deleted })
    }

    /// A path of another mount namespace is not valid for the recorder; objects that are not on storage are the same
    /// everywhere.
    pub(super) fn placed<'b>(&self, path: &'b [u8]) -> Cow<'b, [u8]> {
        let is_shared = [&b"/proc/"[..], b"/sys/", b"/dev/"].iter().any(|tree| path.starts_with(tree));
        if self.own_spaces.contains(&self.who.space) || path.first() != Some(&b'/') || is_shared {
            return path.into();
        }
        [format!("/mnt:[{}]", self.who.space).as_bytes(), path].concat().into()
    }
}
