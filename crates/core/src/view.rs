//! How a policy requires the requests to be presented.
//!
//! A plain policy sees blocks of one size, and only data. Caches that manage files by their class require more:
//! classes, a block size for each partition, and the inodes and directories that naming a file touches. A host cuts
//! the requests once for each distinct view, not once for each cache. [`Viewer`] computes what each request
//! touches, and the host numbers the blocks.

mod addresses;
mod cutting;
mod names;
mod viewer;

pub use addresses::{Segments, Spaces, TooManySegments};
pub use cutting::{BlockSize, Blocks, Cutting, Maps};
pub use names::{MetadataObject, Namespace, Touch};
pub use viewer::{Former, Piece, Space, Step, Viewer};

use crate::classify::{Class, Rules};

/// The view that a policy requires. The default is the plain view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The classes of [`Reference::class`](crate::policy::Reference::class); `None` if unused.
    pub rules: Option<Rules>,
    /// Blocks of different sizes; `None` for blocks of one size.
    pub parts: Option<Parts>,
    /// The metadata that naming a file touches, if it is referenced too. Deleted or truncated files then lose their
    /// blocks.
    pub metadata: Option<Metadata>,
}

/// A partitioned cache that cuts files into blocks of one size in each partition. No block belongs to two partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The partition of each class.
    pub of_class: Vec<u8>,
    /// Bytes of a block in each partition.
    pub block_bytes: Vec<u64>,
}

impl Parts {
    /// Returns the bytes of the blocks into which data of `class` is cut.
    pub fn block_bytes_of(&self, class: Class) -> u64 {
        self.block_bytes[usize::from(self.of_class[usize::from(class)])]
    }
}

/// References to inodes and directories that are not in a trace of calls but follow from it (POLICIES 1.2, "From
/// system calls to requests").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// True if every component of a path costs a look-up. False if only the last component does, because a name cache
    /// holds the others.
    pub full_lookup: bool,
    /// When a use of a file writes its inode.
    pub access_times: AccessTimes,
}

/// When the first read and the first write after an open write the inode, in addition to changes of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTimes {
    /// Always.
    Strict,
    /// The first write always; the first read only if the file was written since the last read, or was never read.
    Relatime,
    /// Never.
    Off,
}
