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

use crate::policy::{Args, Param, ParamKind, PolicySpec};
use crate::spec::{SpecError, Value};
use crate::view::View;

/// Refuses an inner policy that wants blocks shown to it in another way than plain policies do. `around` is the
/// scheme's name.
fn plain_view(around: &str, inner: &PolicySpec, args: &Args, capacity: u32) -> Result<(), SpecError> {
    if inner.view(capacity, args)? == View::default() {
        return Ok(());
    }
    let name = inner.info().name;
    Err(SpecError::new(format!("{around} cannot be put around {name}, which cuts or classifies blocks in its own way")))
}

const PART_POLICY: Param =
    Param { key: "policy", kind: ParamKind::Policy, default: "lru", doc: "the policy of each part" };

/// Read by the host: [`Policy::reads_ahead`](crate::policy::Policy::reads_ahead).
const PREFETCH: Param = Param {
    key: "prefetch",
    kind: ParamKind::Word(&["linux", "off"]),
    default: "linux",
    doc: "read-ahead for sequential readers: as Linux does it, up to 128K (paper), or none; a mount has its own",
};

/// [`Policy::reads_ahead`](crate::policy::Policy::reads_ahead) of schemes with [`PREFETCH`].
fn reads_ahead(args: &Args) -> bool {
    args.word(PREFETCH.key) != "off"
}

/// [`Policy::defaults_in`](crate::policy::Policy::defaults_in) of schemes with [`PREFETCH`].
fn prefetch_off() -> (&'static str, Value) {
    ("prefetch", Value::Word("off".to_owned()))
}

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
