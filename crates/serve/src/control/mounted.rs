//! A mount, as it is asked and changed.

use std::sync::Arc;

use hotset_cache::{FileCache, Learnt, Status};
use hotset_core::policy::{App, Info, ParamKind, PolicySpec};
use hotset_core::spec::Value as Size;
use hotset_store::{Hedged, Moved, Store};
use serde_json::{Value, json};

use super::{Changed, Subject, metrics, told};

/// A cache, and the store behind it if it is one.
struct Mount {
    cache: Arc<FileCache>,
    store: Option<Arc<Store>>,
}

/// What answers for a mount.
pub fn of_mount(cache: Arc<FileCache>, store: Option<Arc<Store>>) -> Arc<dyn Subject> {
    Arc::new(Mount { cache, store })
}

impl Subject for Mount {
    fn status(&self) -> Result<Value, String> {
        let mut status = told(&Status::of(&self.cache))?;
        if let Some(store) = &self.store {
            let Hedged { reads, hedges, hedges_won } = store.hedged();
            let Moved { read, written, held_back } = store.moved();
            status["store"] = json!({
                "reads": reads,
                "hedges": hedges,
                "hedges_won": hedges_won,
                "bytes_read": read,
                "bytes_written": written,
                "held_back_seconds": held_back.as_secs_f64(),
            });
        }
        Ok(status)
    }

    fn metrics(&self) -> String {
        let asked = self.store.as_ref().map(|store| (store.hedged(), store.moved()));
        metrics::text(&Status::of(&self.cache), asked)
    }

    fn explain(&self) -> Result<Value, String> {
        told(&self.cache.explain())
    }

    fn set(&self, settings: &[(String, String)]) -> Result<Changed, String> {
        set(&self.cache, settings)
    }
}

/// Changes all of these settings, or none.
fn set(cache: &FileCache, settings: &[(String, String)]) -> Result<Changed, String> {
    let (mut policy, mut memory) = (None, None);
    for (key, value) in settings {
        match (key.as_str(), key.split_once('.')) {
            ("policy", _) => policy = Some(PolicySpec::parse(value).map_err(|error| error.render(value))?),
            ("memory", _) => memory = Some(Size::bytes(value)?),
            (_, Some((scheme, parameter))) => {
                let now = policy.take().unwrap_or_else(|| cache.policy());
                policy = Some(with_parameter(now, scheme, parameter, value)?);
            }
            _ => return Err(format!("unknown setting {key:?}; expected policy, memory or POLICY.PARAMETER")),
        }
    }
    let now = || (cache.policy().to_string(), cache.memory().0);
    let (before, learnt) = (now(), cache.reconfigure(memory, policy).map_err(|error| error.to_string())?);
    let after = now();
    Ok(Changed { policy: [before.0, after.0], memory_bytes: [before.1, after.1], keeps_learnt: learnt == Learnt::Kept })
}

/// The scheme with another value of a parameter, or another promise to an application.
fn with_parameter(policy: PolicySpec, scheme: &str, parameter: &str, value: &str) -> Result<PolicySpec, String> {
    let Info { name, aliases, params, .. } = policy.info();
    if scheme != *name && aliases.iter().all(|alias| *alias != scheme) {
        return Err(format!(
            "{scheme}.{parameter} is not a setting of {policy}; expected {name}.PARAMETER, or set policy=SPEC first"
        ));
    }
    let is_promise =
        params.iter().all(|param| param.key != parameter) && params.iter().any(|param| param.kind == ParamKind::Goals);
    let (key, value) = match (is_promise, value.parse::<f64>()) {
        // A hit rate as a share: 0.8 is 80%.
        (true, Ok(share)) if (0.0..=1.0).contains(&share) => {
            (App::spelt(parameter), format!("{}%", (share * 1e8).round() / 1e6))
        }
        (true, _) => (App::spelt(parameter), value.to_owned()),
        (false, _) => (parameter.to_owned(), value.to_owned()),
    };
    policy.with(&format!("{key}={value}")).map_err(|error| error.to_string())
}
