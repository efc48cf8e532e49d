//! unix: the buffer cache of a classic Unix, the baseline of the attribute caches.
//!
//! Idea: 32 KB for 256 inodes of 128 bytes; everything else, directories too, in blocks of 4 KB under one LRU list.
//!
//! Paper: the baseline of Richardson's report on attribute caches, WRL (POLICIES 1.2).
//!
//! Deviations and readings: a cache of 32 KB or less gives half of it to inodes. Write-allocate, written back on
//! eviction only.
//!
//! Cost: that of LRU. Memory: that of an LRU list for each part.
//!
//! When not to use it: as anything but a baseline.

use super::parted::{Layout, PartSize, Parted, Scheme};
use crate::classify::builtin;
use crate::policy::{Args, Info, Param, ParamKind};
use crate::spec::SpecError;

/// The scheme.
pub type Unix = Parted<UnixParts>;

/// The two parts.
pub struct UnixParts;

/// Bytes of an inode.
const INODE: u64 = 128;

impl Scheme for UnixParts {
    const INFO: Info = Info {
        name: "unix",
        family: "file-aware",
        summary: "a part for inodes, LRU over blocks of 4 KB for everything else",
        params: &[
            Param {
                key: "inodes",
                kind: ParamKind::Bytes,
                default: "32K",
                doc: "bytes for inodes; half the cache if it is not larger",
            },
            Param { key: "block", kind: ParamKind::Bytes, default: "4K", doc: "bytes of every other block" },
            super::LOOKUP,
            super::ACCESS_TIMES,
            super::PIECES,
        ],
        ..Info::EMPTY
    };

    fn layout(args: &Args, bytes: u64) -> Result<Layout, SpecError> {
        let rules = builtin::attribute(builtin::DEFAULT_CUTOFF);
        let inodes = if bytes <= args.bytes("inodes") { bytes / 2 } else { args.bytes("inodes") };
        let inode = rules.class("inode").expect("a class of the attribute caches");
        let of_class = (0..rules.classes().len()).map(|class| u8::from(class != usize::from(inode))).collect();
        let parts = vec![
            PartSize::fitting(inodes, INODE, "inodes")?,
            PartSize::fitting(bytes - inodes, args.bytes("block"), "everything but inodes")?,
        ];
        Ok(Layout { rules, of_class, parts })
    }
}
