//! A mount, as it is asked and changed.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hotset_cache::{FileCache, Learnt, OrderProgress, Status};
use hotset_core::policy::{App, Info, ParamKind, PolicySpec};
use hotset_core::spec::Value as Size;
use hotset_core::words::reason;
use hotset_store::{Hedged, Moved, Store};
use serde_json::{Value, json};

use super::{Changed, Subject, metrics, told};

/// A cache, and the object store behind it, if the source is one.
struct Mount {
    cache: Arc<FileCache>,
    store: Option<Arc<Store>>,
    source: PathBuf,
    mountpoint: PathBuf,
}

/// What answers for the mount of `source` at `mountpoint`, both by their full paths.
pub fn of_mount(
    cache: Arc<FileCache>,
    store: Option<Arc<Store>>,
    source: &Path,
    mountpoint: &Path,
) -> Arc<dyn Subject> {
    Arc::new(Mount { cache, store, source: source.to_owned(), mountpoint: mountpoint.to_owned() })
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

    fn expect(&self, list: Option<&Path>) -> Result<OrderProgress, String> {
        let Some(list) = list else { return Ok(self.cache.end_order().unwrap_or_default()) };
        let order = self.order(list)?;
        self.cache.announce(order).map_err(|error| error.to_string())?;
        Ok(Status::of(&self.cache).order.unwrap_or_default())
    }
}

/// Bytes of the longest list of files.
const LONGEST_LIST: u64 = 1 << 30;

impl Mount {
    /// The files of a list, as the cache names them.
    fn order(&self, list: &Path) -> Result<Vec<String>, String> {
        let shown = list.display();
        let cannot = |error| format!("{shown}: the mount cannot read the list: {}", reason(&error));
        let mut text = Vec::new();
        // A pipe would be waited for.
        if !fs::metadata(list).map_err(cannot)?.is_file() {
            return Err(format!("{shown} is not a regular file; expected a list with one path a line"));
        }
        let file = File::open(list).map_err(cannot)?;
        file.take(LONGEST_LIST + 1).read_to_end(&mut text).map_err(cannot)?;
        if text.len() as u64 > LONGEST_LIST {
            return Err(format!("{shown}: the list is longer than {}; announce a part", Size::Size(LONGEST_LIST)));
        }
        let text = String::from_utf8_lossy(&text);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
        let order: Vec<String> = lines
            .map(|(number, line)| self.in_source(line).map_err(|why| format!("{shown}, line {number}: {why}")))
            .collect::<Result<_, _>>()?;
        match order.len() {
            0 => Err(format!("{shown}: the list is empty; expected one path a line")),
            1..=MOST_OPENS => Ok(order),
            _ => Err(format!("{shown}: more than {MOST_OPENS} opens; announce a part")),
        }
    }

    /// The path in the source of a line: relative to the mountpoint, or below it.
    fn in_source(&self, line: &str) -> Result<String, String> {
        let path = Path::new(line);
        let below = match path.is_absolute() {
            true => path.strip_prefix(&self.mountpoint).map_err(|_| {
                format!("{line} is not below {}; expected a path relative to the mount", self.mountpoint.display())
            })?,
            false => path,
        };
        let mut file = self.source.clone();
        for part in below.components() {
            match part {
                Component::Normal(part) => file.push(part),
                Component::CurDir => {}
                _ => return Err(format!("{line} leads out of a directory by `..`; expected a path without it")),
            }
        }
        Ok(file.to_string_lossy().into_owned())
    }
}

/// Opens of the longest order.
const MOST_OPENS: usize = 1 << 30;

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
