//! One file a policy; the table is in `registry.rs`.

pub mod apr;
pub mod car;
pub mod clock;
pub mod clock_pro;
pub mod fifo;
pub mod lifo_plus;
pub mod opt;
pub mod random;
pub mod seq;

use crate::policy::{Info, Needs, Param, ParamKind};

/// What most policies have in common: no aliases, no parameters, no knowledge of the future.
const PLAIN: Info =
    Info { name: "", aliases: &[], family: "paging", summary: "", params: &[], offline: false, needs: Needs::NOTHING };

/// Whether the access that faults counts as one.
const INITIAL: Param = Param {
    key: "initial",
    kind: ParamKind::Count { min: 0, max: 1 },
    default: "1",
    doc: "access bit of a page that was just fetched; 0 leaves the faulting access out",
};
