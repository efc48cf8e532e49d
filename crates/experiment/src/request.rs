//! An experiment as a sweep of the Python package, which replays it on a cluster.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::file::File;

/// The arguments of `hotset.sweep`.
#[derive(Serialize)]
pub struct SweepRequest<'a> {
    /// Paths of the traces.
    pub traces: Vec<String>,
    /// Policies, separated by commas.
    pub policies: &'a str,
    /// Sizes, separated by commas.
    pub sizes: &'a str,
    /// The other arguments, by name.
    pub options: Map<String, Value>,
}

impl File {
    /// The sweep that gives the rows of this experiment. Its directory of traces is `base`, or else its own.
    ///
    /// # Errors
    ///
    /// It has mixes or a series over time.
    pub fn request(&self, base: Option<&Path>) -> Result<SweepRequest<'_>, Error> {
        let refused = match (self.mixes.is_empty(), &self.every) {
            (false, _) => Some("mixes"),
            (true, Some(_)) => Some("a series over time"),
            (true, None) => None,
        };
        if let Some(what) = refused {
            return Err(Error::OneMachine { file: self.path().to_owned(), what });
        }
        Ok(SweepRequest {
            traces: self.traces.iter().map(|trace| self.place(base, trace).display().to_string()).collect(),
            policies: &self.policies,
            sizes: &self.sizes,
            options: self.options()?,
        })
    }

    /// The options that the experiment sets.
    fn options(&self) -> Result<Map<String, Value>, Error> {
        let selection = self.selection()?;
        let clauses = selection.only.clauses();
        let list = |key: &str| {
            let named = clauses.iter().filter(|(name, _)| *name == key);
            named.map(|(_, value)| Value::from(value.as_str())).collect::<Vec<_>>()
        };
        let one = |key: &str| list(key).pop();
        let given = [
            ("block", self.block.map(Value::from)),
            ("maps", serde_json::to_value(self.maps).ok()),
            ("deletes", serde_json::to_value(self.deletes).ok()),
            ("ttl", serde_json::to_value(self.ttl).ok()),
            ("store", self.store.as_deref().map(Value::from)),
            ("app", Some(list("app").into())),
            ("file", Some(list("file").into())),
            ("exclude", Some(list("exclude").into())),
            ("ops", one("ops")),
            ("from_", one("from")),
            ("to", one("to")),
            ("warmup", self.warmup.as_deref().map(Value::from)),
            ("count_only", Some(&*self.count_only).filter(|text| !text.is_empty()).map(Value::from)),
        ];
        let options = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(options.collect())
    }
}
