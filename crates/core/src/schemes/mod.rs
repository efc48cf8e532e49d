//! Caches made of other policies, or of parts that treat kinds of data apart; one file each.
//!
//! A partitioned cache is a cache: it implements [`Policy`](crate::policy::Policy) like any other, so it nests, is simulated and runs.

pub mod attribute;
pub mod bypass;
pub mod demote;
pub mod parted;
pub mod render;
pub mod unix;

use crate::dynamic;
use crate::spec::{Args, Param, ParamKind, PolicySpec, SpecError};
use crate::view::View;

/// Refuses an inner policy that wants blocks shown to it in another way than plain policies do. `around` is the scheme's name.
fn plain_view(around: &str, inner: &PolicySpec, args: &Args, capacity: u32) -> Result<(), SpecError> {
    if dynamic::view(inner.info().name, &inner.args_within(args), capacity)? == View::default() {
        return Ok(());
    }
    let name = inner.info().name;
    Err(SpecError::new(format!("{around} cannot be put around {name}, which cuts or classifies blocks in its own way")))
}

const LOOKUP: Param = Param {
    key: "lookup",
    kind: ParamKind::Word(&["last", "full"]),
    default: "last",
    doc: "naming a file reads directory and inode of its last component, or of every one (full)",
};

const ACCESS_TIMES: Param = Param {
    key: "atime",
    kind: ParamKind::Word(&["strict", "off"]),
    default: "strict",
    doc: "the first read and the first write through an open write the inode (strict), or not",
};
