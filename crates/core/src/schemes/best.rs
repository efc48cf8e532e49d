//! best(P): the best division that does not change, known beforehand.
//!
//! Idea: a bound to hold other divisions against. Each application is measured alone at every step of the capacity
//! before the start; the division with the most hits in sum is found by dynamic programming, whatever the shape of the
//! curves, and kept.
//!
//! Paper: none; the optimal static partition that papers on partitioning compare with, here also POLICIES 1.4's bound
//! for `qos`.
//!
//! Deviations and readings: it is the best of those that do not change and are whole steps of the capacity. A scheme
//! that follows phases may hit more, and so may one cache for all (`shared`), where applications take turns. Until all
//! applications have come, the cache is divided among those that are there. Blocks that no application gains by are
//! shared in proportion. A host that cannot measure beforehand (a stream, a live cache) divides equally
//! (`profile=none`).
//!
//! Cost: that of P and a virtual call; before the start one replay of each application for each step. A division costs
//! O(n · steps²) for n applications.
//!
//! When not to use it: outside of simulations, which know the future.

use super::applications::{Applications, Divider};
use crate::allocate::targets::Grant;
use crate::allocate::{exact, shares};
use crate::policy::{App, Args, Info, Interval, Needs, Param, ParamKind, Profiling, Reference};
use crate::spec::SpecError;

/// The scheme.
pub type Best = Applications<Foreknown>;

/// Divides by what is known of the whole trace.
pub struct Foreknown {
    steps: usize,
    /// By application: its hits at each number of steps from 0 on; none if it was not measured.
    known: Vec<Vec<f64>>,
    parts: Vec<Vec<f64>>,
}

/// Defaults outside of the simulator of requests.
const LIVE: &[(&str, &str)] = &[("profile", "none"), ("prefetch", "off")];

impl Divider for Foreknown {
    const INFO: Info = Info {
        name: "best",
        family: "application",
        summary: "the best division that does not change, by curves of each application alone (a bound)",
        params: &[
            super::PART_POLICY,
            super::PREFETCH,
            Param {
                key: "steps",
                kind: ParamKind::Count { min: 1, max: 1024 },
                default: "32",
                doc: "how many parts of the capacity are given out",
            },
            Param {
                key: "profile",
                kind: ParamKind::Word(&["alone", "none"]),
                default: "alone",
                doc: "prior knowledge: the hits of each application alone at every step, or none (equal parts)",
            },
        ],
        needs: Needs::EVERYTHING,
        serving: LIVE,
        paging: LIVE,
        ..Info::EMPTY
    };

    fn interval(_args: &Args) -> Result<Option<Interval>, SpecError> {
        Ok(None)
    }

    fn profiling(args: &Args, capacity: u32) -> Option<Profiling> {
        let mut sizes: Vec<u32> = (1..=steps(args)).map(|step| size(step, steps(args), capacity)).collect();
        sizes.retain(|&size| size > 0);
        sizes.dedup();
        (args.word("profile") == "alone").then(|| Profiling::Alone { policy: args.policy("policy").clone(), sizes })
    }

    fn new(args: &Args, capacity: u32, apps: &[App]) -> Result<Self, SpecError> {
        let steps = steps(args);
        let hits = |app: &App| {
            let rate =
                |blocks: u32| app.profile.iter().find(|(size, _)| *size == blocks).map_or(0.0, |&(_, rate)| rate);
            let at = |step: usize| rate(size(step, steps, capacity)) / 100.0 * app.references as f64;
            if app.profile.is_empty() { Vec::new() } else { (0..=steps).map(at).collect() }
        };
        Ok(Foreknown { steps, known: apps.iter().map(hits).collect(), parts: Vec::new() })
    }

    fn arrive(&mut self, app: u32) {
        let known = self.known.get(app as usize).filter(|known| !known.is_empty());
        self.parts.push(known.cloned().unwrap_or_else(|| vec![0.0; self.steps + 1]));
    }

    fn note(&mut self, _part: usize, _reference: &Reference, _hit: bool) {}

    fn divide(&mut self, capacity: u32, live: &[usize], _rooms: &[u32], _is_due: bool) -> Vec<Grant> {
        let curves: Vec<Vec<f64>> = live.iter().map(|&part| self.parts[part].clone()).collect();
        let (given, _) = exact::divide(self.steps, &curves);
        Grant::unflagged(shares::by_steps(capacity, &given))
    }
}

fn steps(args: &Args) -> usize {
    args.count("steps") as usize
}

/// Blocks of so many steps.
fn size(step: usize, steps: usize, capacity: u32) -> u32 {
    (u64::from(capacity) * step as u64 / steps as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// One application hits half its references from a quarter of the cache on, the other from three quarters on.
    #[test]
    fn rooms_are_the_best_by_the_measured_curves() {
        let args = registry::find("best").unwrap().defaults(None);
        let Some(Profiling::Alone { sizes, .. }) = Foreknown::profiling(&args, 32) else { panic!("not measured") };
        assert_eq!(sizes, (1..=32).collect::<Vec<u32>>());
        let app = |needed: u32| App {
            profile: sizes.iter().map(|&size| (size, if size < needed { 0.0 } else { 50.0 })).collect(),
            references: 1000,
            ..App::default()
        };
        let mut best = Foreknown::new(&args, 32, &[app(8), app(24)]).unwrap();
        [0, 1].into_iter().for_each(|app| best.arrive(app));
        let rooms: Vec<u32> = best.divide(32, &[0, 1], &[], false).iter().map(|grant| grant.blocks).collect();
        assert_eq!(rooms, [8, 24]);
    }
}
