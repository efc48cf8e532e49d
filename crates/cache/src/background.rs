//! Computations of a policy that run while requests continue.

use crate::shared::Shared;
use crate::state::State;
use crate::sync::Arc;
use crate::workers::{FailureDomain, Limits, Workers};

/// The thread that computes. It ends with the cache, and is not there while there is nothing to compute.
pub(crate) struct Background {
    shared: Arc<Shared>,
    workers: Workers,
}

/// One policy at a time is at work, with one piece of work.
const LIMITS: Limits = Limits { part: 1, device: 1, all: 1 };

impl Background {
    pub fn new(shared: Arc<Shared>) -> Background {
        Background { shared, workers: Workers::new(LIMITS) }
    }

    /// Has computed what the policy has handed out, if anything. A policy that has been replaced meanwhile is not told
    /// what came of it.
    pub fn start(&self, state: &mut State) {
        let Some(work) = state.decider.take_work() else { return };
        let (shared, policy) = (self.shared.clone(), state.policies);
        self.workers.run(FailureDomain::default(), move || {
            let compute = || {
                let done = work();
                let mut state = shared.lock();
                if state.policies == policy {
                    state.decider.finish_work(done);
                }
            };
            // A panic has marked the cache as broken.
            let _ = shared.contain(compute);
        });
    }
}
