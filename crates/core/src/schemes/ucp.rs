//! ucp(P): a part for each application, as large as its hits are worth it.
//!
//! Idea: a small stack of sampled blocks gives, for each application, the hits of LRU at every size. A block goes to
//! the application that gains most hits by it, looking ahead over flat stretches, so that an application that streams
//! gets next to nothing and one in front of a cliff gets over it or nothing.
//!
//! Paper: Qureshi, Patt, "Utility-based cache partitioning", MICRO 2006.
//!
//! Deviations and readings: the paper divides the ways of a processor's cache every 5 million cycles; here blocks are
//! divided, in 128 steps of the capacity, every `interval`. Blocks are sampled by a hash of their address, so that a
//! stack holds at most 2,048 of them. The curves are LRU's whatever P is. Hits count half after each interval. An
//! application that makes no reference for 30 intervals has left; one that has just come has one step until the next
//! division.
//!
//! Cost: that of P and a virtual call; one reference in 2^k, such that 2,048 blocks make the capacity, moves a block of
//! a stack. A division costs O(n · 128²) for n applications. Memory: as `equal`, and 100 KB an application.
//!
//! When not to use it: where applications were promised something (`qos`), and where P behaves unlike LRU, as on loops.

use super::applications::{Applications, Divider};
use super::monitor::Monitor;
use crate::allocate::targets::Grant;
use crate::allocate::{lookahead, shares};
use crate::policy::{App, Args, Info, Interval, Needs, Param, ParamKind, Reference};
use crate::spec::SpecError;

/// The scheme.
pub type Ucp = Applications<Utility>;

/// Divides by utility.
pub struct Utility {
    capacity: u32,
    monitors: Vec<Monitor>,
}

impl Divider for Utility {
    const INFO: Info = Info {
        name: "ucp",
        family: "application",
        summary: "a part for each application, as large as sampled hit curves say it is worth",
        params: &[
            super::PART_POLICY,
            super::PREFETCH,
            Param {
                key: "interval",
                kind: ParamKind::Interval,
                default: "100000",
                doc: "interval between two partitionings: a number of references, a time such as 2s, or a share of the run",
            },
        ],
        needs: Needs::EVERYTHING,
        serving: super::PREFETCH_OFF,
        paging: super::PREFETCH_OFF,
        ..Info::EMPTY
    };

    fn interval(args: &Args) -> Result<Option<Interval>, SpecError> {
        args.interval("interval").map(Some)
    }

    fn new(_args: &Args, capacity: u32, _apps: &[App]) -> Result<Self, SpecError> {
        Ok(Utility { capacity, monitors: Vec::new() })
    }

    fn arrive(&mut self, _app: u32) {
        self.monitors.push(Monitor::new(self.capacity));
    }

    #[inline(always)]
    fn note(&mut self, part: usize, reference: &Reference, _hit: bool) {
        self.monitors[part].note(reference.file, reference.block);
    }

    fn divide(&mut self, capacity: u32, live: &[usize], _rooms: &[u32], _is_due: bool) -> Vec<Grant> {
        let steps = self.monitors.first().map_or(0, Monitor::steps);
        let utility: Vec<Vec<f64>> = live.iter().map(|&part| self.monitors[part].utility()).collect();
        self.monitors.iter_mut().for_each(Monitor::age);
        let given = lookahead::divide(steps, &utility);
        Grant::unflagged(shares::by_steps(capacity, &given))
    }
}
