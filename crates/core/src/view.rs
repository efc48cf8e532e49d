//! How a scheme wants a stream of requests to be shown to it.
//!
//! A plain policy sees blocks of one size, and of those only the data. Caches that manage files by what they are want
//! more: classes, blocks of another size for each part, the inodes and directories that naming a file touches. A host
//! cuts the stream once for each distinct view, not once for each cache: [`Viewer`] says what each request touches, and
//! the host gives the blocks numbers.

mod addresses;
mod cutting;
mod names;
mod viewer;

pub use addresses::{Segments, Spaces, TooManySegments};
pub use cutting::{BlockSize, Blocks, Cutting, Maps};
pub use names::{Names, Object, Touch};
pub use viewer::{Former, Piece, Space, Step, Viewer};

use crate::classify::{Class, Rules};

/// What a scheme wants to see. The default is what plain policies see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Classes that [`Reference::class`](crate::policy::Reference::class) speaks of; `None` if nobody asks for them.
    pub rules: Option<Rules>,
    /// Blocks of different sizes; `None` for blocks of one size.
    pub parts: Option<Parts>,
    /// What naming a file touches, if that is referenced too. Files that are deleted or cut then lose their blocks.
    pub metadata: Option<Metadata>,
}

/// A cache in parts that cut files into blocks of their own size. A block of one part is never a block of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The part of each class.
    pub of_class: Vec<u8>,
    /// Bytes of a block in each part.
    pub block_bytes: Vec<u64>,
}

impl Parts {
    /// Bytes of the blocks that data of `class` is cut into.
    pub fn block_bytes_of(&self, class: Class) -> u64 {
        self.block_bytes[usize::from(self.of_class[usize::from(class)])]
    }
}

/// References to inodes and directories that are not in a trace of calls but follow from it (POLICIES 1.2, "From system
/// calls to requests").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Every component of a path costs a look-up; without it only the last one does, and a name cache holds the
    /// others.
    pub full_lookup: bool,
    /// When a use of a file writes its inode.
    pub access_times: AccessTimes,
}

/// When the first read and the first write through an open write the inode, besides changes of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTimes {
    /// Always.
    Strict,
    /// The first write always; the first read only if the file was written since its last one, or was not read before.
    Relatime,
    /// Never.
    Off,
}
