//! What a policy wants to be measured before it is built: each application alone, at some sizes.

use hotset_core::dynamic::{self, DynPolicy};
use hotset_core::policy::{App, Effects, Extra, Outcome, Profiling, Reference, Setup, Slot};
use hotset_core::spec::SpecError;

use crate::bits;
use crate::cell::value_at;
use crate::grid::Plan;
use crate::references::References;

/// The applications of a trace by their names, with nothing measured.
pub(crate) fn named(names: &[String]) -> Vec<App> {
    names.iter().map(|name| App::from(name.as_str())).collect()
}

/// The applications of the trace, measured as the policy of `plan` wants it.
pub(crate) fn apps(references: &References, plan: &Plan) -> Result<Vec<App>, SpecError> {
    let mut apps = named(&references.apps);
    let Some(profiling) = dynamic::profiling(plan.info.name, &plan.args, plan.capacity) else { return Ok(apps) };
    if apps.is_empty() {
        // A trace that names none has one.
        apps.push(App::default());
    }
    for (number, app) in apps.iter_mut().enumerate() {
        app.profile = alone(references, plan, &profiling, number as u32)?;
    }
    Ok(apps)
}

/// The hit rate in percent of an application alone at each size; empty if it does not occur.
fn alone(references: &References, plan: &Plan, profiling: &Profiling, app: u32) -> Result<Vec<(u32, f64)>, SpecError> {
    let mut profile = Vec::new();
    for &size in &profiling.sizes {
        let around = Setup {
            capacity: size,
            slots: references.distinct(),
            seed: plan.seed,
            args: &plan.args,
            future: None,
            addresses: None,
            apps: &[],
        };
        let mut policy = dynamic::build(&profiling.policy, size, &around)?;
        let (hits, count) = replay(references, app, &mut *policy);
        if count > 0 {
            profile.push((size, 100.0 * hits as f64 / count as f64));
        }
    }
    Ok(profile)
}

/// Hits and references of one application.
fn replay(references: &References, app: u32, policy: &mut dyn DynPolicy) -> (u64, u64) {
    let (mut hits, mut count) = (0, 0);
    for window in references.windows() {
        let mut times = window.times;
        for (run, &(begin, who)) in window.apps.iter().enumerate() {
            if who != app {
                continue;
            }
            let end = window.apps.get(run + 1).map_or(window.keys.len() as u64, |&(next, _)| next - window.first);
            for index in begin.saturating_sub(window.first)..end {
                let slot = window.keys[index as usize];
                let address = references.addresses[slot as usize];
                let time = window.first + index;
                let reference = Reference {
                    time,
                    clock: value_at(&mut times, time),
                    file: (address >> 32) as u32,
                    block: address as u32,
                    app,
                    write: window.writes.is_some_and(|words| bits::get(words, index)),
                    class: 0,
                };
                hits += u64::from(policy.access(slot, reference, &mut Nobody) == Outcome::Hit);
                count += 1;
            }
        }
    }
    (hits, count)
}

/// A host that does not listen.
struct Nobody;

impl Effects for Nobody {
    fn evict(&mut self, _slot: Slot) {}
    fn forget(&mut self, _slot: Slot) {}
    fn fetch(&mut self, _slot: Slot, _why: Extra) {}
}
