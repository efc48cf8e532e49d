//! The traces of an experiment: files, and mixes of several that are made as it runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotset_core::policy::{Argument, Info, ParamKind, PolicySpec};
use hotset_core::registry;
use hotset_core::spec::{SpecError, Value};
use hotset_results::{Row, SeriesRow};
use hotset_trace::mix::{self, Order};
use hotset_trace::{Trace, TraceError};
use serde::{Deserialize, Deserializer};

use crate::error::Error;

/// Opens the trace at a path of [`File::places`](crate::File::places) at its first request, as often as it is called.
pub type OpenTrace = Arc<dyn Fn(&Path) -> Result<Trace, TraceError> + Send + Sync>;

/// Several applications as one trace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Its name in rows and tables.
    pub name: String,
    /// The order of the requests.
    #[serde(default)]
    by: By,
    /// What its applications are promised, as in a spec (`lu=70%,tpcc=85%`): for every policy that keeps promises.
    goals: Option<String>,
    /// Its size, where that is not the one of the experiment.
    pub size: Option<String>,
    /// The applications.
    pub apps: Vec<App>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    #[default]
    Time,
    Request,
    Page,
}

/// One application of a mix.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    name: String,
    /// Its trace, named as those of the experiment.
    pub trace: String,
    /// Passes over the trace.
    #[serde(default = "once")]
    loops: u32,
    /// Nanoseconds after which it begins.
    #[serde(default, deserialize_with = "time")]
    start: u64,
    /// Nanoseconds of a pass.
    #[serde(default, deserialize_with = "some_time")]
    span: Option<u64>,
}

fn once() -> u32 {
    1
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    match Value::parse(&text) {
        Ok(Value::Time(time)) => Ok(time),
        _ => Err(serde::de::Error::custom(format!("{text:?} is not a valid time; expected one such as 10s or 500ms"))),
    }
}

fn some_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    time(from).map(Some)
}

/// True if a policy can be promised something for each application.
fn keeps_promises(policy: &Info) -> bool {
    policy.params.iter().any(|param| param.kind == ParamKind::Goals)
}

impl Mix {
    /// Refuses a mix of nothing, applications of one name, and passes that are none. `path` is the experiment's.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::File(format!("{}, mix {:?}: {what}", path.display(), self.name)));
        let names: Vec<&str> = self.apps.iter().map(|app| app.name.as_str()).collect();
        let twice = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
        match (names.is_empty(), twice, self.apps.iter().find(|app| app.loops == 0)) {
            (true, ..) => refuse("found no apps; expected at least one".to_owned()),
            (_, Some((_, name)), _) => refuse(format!("the application {name:?} is there twice; expected it once")),
            (.., Some(app)) => refuse(format!("{:?} has 0 loops; expected 1 or more", app.name)),
            _ => Ok(()),
        }
    }

    /// The policies of the experiment with the promises of this mix.
    pub(crate) fn policies(&self, policies: &[PolicySpec]) -> Result<Vec<PolicySpec>, SpecError> {
        let promised = |policy: &PolicySpec| match &self.goals {
            Some(goals) if keeps_promises(policy.info()) => policy.clone().with(goals),
            _ => Ok(policy.clone()),
        };
        policies.iter().map(promised).collect()
    }

    /// Names the rows as the experiment names their policies, and notes in each of them what the applications were
    /// promised, whatever the policy knows of it.
    pub(crate) fn tell(
        &self,
        policies: &[PolicySpec],
        rows: &mut [Row],
        series: &mut [SeriesRow],
    ) -> Result<(), SpecError> {
        let Some(goals) = &self.goals else { return Ok(()) };
        // Whatever keeps promises reads them alike.
        let keeper =
            registry::all().find(|entry| keeps_promises(entry.info)).expect("promises are kept by some policy");
        let promises = PolicySpec::parse(keeper.info.name)?.with(goals)?.args(None);
        let own: Vec<String> = self.policies(policies)?.iter().map(PolicySpec::to_string).collect();
        let names: HashMap<&str, String> =
            own.iter().map(String::as_str).zip(policies.iter().map(PolicySpec::to_string)).collect();
        for row in rows {
            for app in &mut row.apps {
                let promise = promises.apps("APP").iter().find(|(name, _)| *name == app.name);
                app.promise(promise.and_then(|(_, promise)| match promise {
                    Argument::Value(Value::Percent(rate)) => Some(rate / 100.0),
                    _ => None,
                }));
            }
            row.policy.clone_from(&names[row.policy.as_str()]);
        }
        series.iter_mut().for_each(|row| row.policy.clone_from(&names[row.policy.as_str()]));
        Ok(())
    }

    /// Opens it. `place` says where a trace lies.
    pub(crate) fn open(&self, open: &OpenTrace, place: impl Fn(&str) -> PathBuf) -> Result<Trace, TraceError> {
        let part = |app: &App| {
            let (path, open) = (place(&app.trace), Arc::clone(open));
            let open: mix::Opener = Box::new(move || Ok(open(&path)?.reader));
            mix::MixPart { name: app.name.clone(), open, loops: app.loops, start: app.start, span: app.span }
        };
        let order = match self.by {
            By::Time => Order::Time,
            By::Request => Order::Request,
            By::Page => Order::Page,
        };
        let mix = mix::Mix::new(self.apps.iter().map(part).collect(), order)?;
        Ok(Trace { format: "mix", reader: Box::new(mix), progress: Default::default() })
    }
}

/// The path of a trace, which may have the name of its format before it: below the directory of traces, or, if it
/// begins with a dot, beside the experiment's own file. An address stays as it is.
pub(crate) fn below(base: &Path, beside: &Path, trace: &str) -> PathBuf {
    if is_address(trace) {
        return trace.into();
    }
    let place = |path: &str| if path.starts_with('.') { beside.join(path) } else { base.join(path) };
    match trace.split_once(':') {
        Some((format, path)) => PathBuf::from(format!("{format}:{}", place(path).display())),
        None => place(trace),
    }
}

/// True for the address of an object, such as `s3://bucket/trace.csv`, perhaps with the name of a format before it.
fn is_address(trace: &str) -> bool {
    let Some((before, _)) = trace.split_once("://") else { return false };
    let scheme = before.rsplit(':').next().unwrap_or_default();
    !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_lies_below_the_directory_beside_the_file_or_at_its_address() {
        let place = |trace| below(Path::new("/traces"), Path::new("/experiments"), trace);
        let places = ["a.hst", "csv:a", "./a.hst", "csv:./a", "s3://bucket/a", "csv:s3://bucket/a"].map(place);
        let expected = [
            "/traces/a.hst",
            "csv:/traces/a",
            "/experiments/./a.hst",
            "csv:/experiments/./a",
            "s3://bucket/a",
            "csv:s3://bucket/a",
        ];
        assert_eq!(places, expected.map(PathBuf::from));
    }
}
