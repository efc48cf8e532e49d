//! Caches made of other policies, or of parts that treat kinds of data apart; one file each.
//!
//! A partitioned cache is a cache: it implements [`Policy`](crate::policy::Policy) like any other, so it nests, is
//! simulated and runs.

pub mod applications;
pub mod attribute;
pub mod best;
pub mod bypass;
pub mod demote;
pub mod equal;
pub mod filtered;
mod interval_timer;
mod monitor;
pub mod parted;
pub mod qos;
pub mod render;
pub mod shared;
pub mod size;
mod slot_map;
pub mod ucp;
pub mod undivided;
pub mod unix;
pub mod virtual_io;

use crate::policy::{Args, Param, ParamKind, PolicySpec, Requirements};
use crate::spec::SpecError;
use crate::view::View;

/// Returns the requirements of a policy inside a scheme. Refuses a policy that wants blocks shown to it in another way
/// than plain policies do. `around` is the scheme's name.
fn of_plain(around: &str, inner: &PolicySpec, args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
    let requirements = inner.requirements(capacity, args)?;
    if requirements.view == View::default() {
        return Ok(requirements);
    }
    let name = inner.info().name;
    Err(SpecError::new(format!("{around} cannot be put around {name}, which cuts or classifies blocks in its own way")))
}

const PART_POLICY: Param =
    Param { key: "policy", kind: ParamKind::Policy, default: "lru", doc: "the policy of each part" };

/// Read by the host: [`Requirements::reads_ahead`].
const PREFETCH: Param = Param {
    key: "prefetch",
    kind: ParamKind::Word(&["linux", "off"]),
    default: "linux",
    doc: "read-ahead for sequential readers: as Linux does it, up to 128K (paper), or none; a mount has its own",
};

/// [`Requirements::reads_ahead`] of schemes with [`PREFETCH`].
fn reads_ahead(args: &Args) -> bool {
    args.word(PREFETCH.key) != "off"
}

/// Defaults outside of the simulator of requests, of schemes with [`PREFETCH`].
const PREFETCH_OFF: &[(&str, &str)] = &[("prefetch", "off")];

const LOOKUP: Param = Param {
    key: "lookup",
    kind: ParamKind::Word(&["last", "full"]),
    default: "last",
    doc: "naming a file reads directory and inode of its last component, or of every one (full, paper)",
};

const PIECES: Param = Param {
    key: "pieces",
    kind: ParamKind::Word(&["total", "part"]),
    default: "total",
    doc: "a request that is longer than the whole cache (total, paper), or than its part, is as many accesses to storage as it has pieces of that size",
};

const ACCESS_TIMES: Param = Param {
    key: "atime",
    kind: ParamKind::Word(&["strict", "relatime", "off"]),
    default: "strict",
    doc: "the first read and the first write through an open write the inode (strict, paper), only the first read since the last write does (relatime, as in Linux), or none (off)",
};
