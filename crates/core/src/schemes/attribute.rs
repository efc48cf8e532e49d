//! attribute(PARTS): a part for each kind of data, with a separate size, block size and LRU list.
//!
//! Idea: inodes and directories are small and asked for all the time; large files are read once, in order. Kept apart,
//! they do not displace one another, and each is read in blocks of the size that suits it. Without parts, Table 1 of
//! the report chooses them by the total size.
//!
//! Paper: Richardson's report on attribute caches, WRL (POLICIES 1.2; its readings are ours).
//!
//! Deviations and readings: `id` has inodes and directories, `temporal` for data and executables below the
//! cut-off, `sequential` for files of at least the cut-off, `general` for all without a separate part; a class by
//! its own name has a part too. Sizes between those of the table use the row with the largest size not above; below 32
//! KB half is `id` and half `general` in four blocks. A file's class is that of its size at the request: one that grows
//! past the cut-off is looked for where it was as well. A request longer than the whole cache is cut into requests of
//! at most that, as the report says, or than its part (`pieces=part`). Writes allocate and are written back on eviction
//! only; a partial write does not read. When the cache is resized while it runs, parts keep their proportions and block
//! sizes.
//!
//! Cost: that of LRU. Memory: that of an LRU list for each part.
//!
//! When not to use it: where one class is idle: its part is lost to the others (the report's worst case reads 25% more
//! than Unix).

mod parts;
mod variable;

use super::parted::{Layout, Parted, Scheme};
use crate::classify::builtin;
use crate::policy::{Args, Info, OnePass, Param, ParamKind};
use crate::spec::SpecError;

/// The scheme.
pub type Attribute = Parted<AttributeParts>;

/// Parts by attribute.
pub struct AttributeParts;

impl Scheme for AttributeParts {
    const INFO: Info = Info {
        name: "attribute",
        family: "file-aware",
        summary: "a part with its own block size for inodes and directories, small files, and large files",
        params: &[
            Param {
                key: "parts",
                kind: ParamKind::Parts,
                default: "",
                doc: "size/block class: id, temporal, sequential, general, or a class by name; x is what the others leave (without any: by total size)",
            },
            Param {
                key: "cutoff",
                kind: ParamKind::Bytes,
                default: "512K",
                doc: "bytes from which on a file is large",
            },
            super::LOOKUP,
            super::ACCESS_TIMES,
            super::PIECES,
        ],
        one_pass: Some(OnePass::LastUseByPart),
        ..Info::EMPTY
    };

    fn layout(args: &Args, bytes: u64) -> Result<Layout, SpecError> {
        let rules = args.rules().cloned().unwrap_or_else(|| builtin::attribute(args.bytes("cutoff")));
        match args.parts() {
            [] => parts::layout(rules, &variable::parts(bytes)?, bytes),
            given => parts::layout(rules, given, bytes),
        }
    }
}
