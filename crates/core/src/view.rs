//! How a scheme wants a stream of requests to be shown to it.
//!
//! A plain policy sees blocks of one size, and of those only the data. Caches that manage files by what they are want more: classes,
//! blocks of another size for each class, the inodes and directories that naming a file touches. A host cuts the stream once for each
//! distinct view, not once for each cache.

use crate::classify::Rules;

/// What a scheme wants to see. The default is what plain policies see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Classes that [`Reference::class`](crate::policy::Reference::class) speaks of; `None` if nobody asks for them.
    pub rules: Option<Rules>,
    /// Bytes of a block, by class; `None` for blocks of one size. Blocks of different classes are different blocks.
    pub blocks: Option<Vec<u64>>,
    /// What naming a file touches, if that is referenced too.
    pub metadata: Option<Metadata>,
}

/// References to inodes and directories that are not in a trace of calls but follow from it (POLICIES 1.2, "From system calls to
/// requests").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Every component of a path costs a look-up; without it, only the last one does: a name cache holds the others.
    pub full_lookup: bool,
    /// The first read through an open writes the inode, and so does the first write.
    pub access_times: bool,
}
