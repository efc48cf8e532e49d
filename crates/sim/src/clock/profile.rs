//! Measurements that a policy needs before it is built: each application alone, at some sizes.

use hotset_core::policy::{App, Profiling};

use super::Clock;
use crate::engine::Plan;
use crate::error::SimError;

/// The applications of a trace by their names, with nothing measured.
pub(crate) fn named(names: &[String]) -> Vec<App> {
    names.iter().map(|name| App::from(name.as_str())).collect()
}

/// The applications of the trace, measured as the policy of `plan` wants it, or read from where it was measured: the
/// hit rate in percent of each alone, at each size; none if it does not occur.
pub(crate) fn apps(clock: &Clock, plan: &Plan) -> Result<Vec<App>, SimError> {
    let mut apps = named(&clock.trace.apps);
    let Some(profiling) = plan.requirements()?.profiling else { return Ok(apps) };
    let (policy, sizes) = match profiling {
        Profiling::Alone { policy, sizes } => (policy, sizes),
        Profiling::Read { policy, file } => {
            let read = hotset_trace::profile::read(&file, &policy, plan.args.block_bytes(), &mut apps);
            read.map_err(|error| plan.refused(error))?;
            return Ok(apps);
        }
    };
    if apps.is_empty() {
        // A trace that names none has one.
        apps.push(App::default());
    }
    for (number, app) in apps.iter_mut().enumerate() {
        for &size in &sizes {
            let Some(alone) = clock.alone(number as u32, &policy, size, plan)? else { break };
            app.references = alone.references;
            app.profile.push((size, 100.0 * alone.hits as f64 / alone.references as f64));
        }
    }
    Ok(apps)
}
