//! `hotset policies`: what schemes there are, and what each does.

use std::io::{Write, stdout};

use clap::Args;
use hotset_core::policy::{Entry, PolicySpec};
use hotset_core::registry;

use crate::failure::Failure;
use crate::output::table;

/// List the policies, or describe one: idea, paper, costs, parameters, when not to use it
#[derive(Args)]
pub(crate) struct Policies {
    /// Name or alias of a policy
    name: Option<String>,
}

impl Policies {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.name {
            None => list(),
            Some(name) => match registry::find(&name.to_ascii_lowercase()) {
                Some(entry) => explain(entry),
                None => Err(unknown(&name)),
            },
        }
    }
}

fn unknown(name: &str) -> Failure {
    let error = PolicySpec::parse(name).err();
    Failure::Usage(error.map_or_else(|| format!("{name:?} is not the name of one policy"), |error| error.to_string()))
}

fn list() -> Result<(), Failure> {
    let mut families: Vec<&str> = registry::all().map(|entry| entry.info.family).collect();
    families.sort_unstable();
    families.dedup();
    let mut table = table::plain(&["family", "policy", "also", "what it does"]);
    for family in families {
        for entry in registry::all().filter(|entry| entry.info.family == family) {
            table.add_row([family, entry.info.name, &entry.info.aliases.join(" "), entry.info.summary]);
        }
    }
    let mut out = stdout().lock();
    writeln!(out, "{table}")?;
    writeln!(out, "`hotset policies NAME` explains one. Parameters go in parentheses: 2q(kin=30%,kout=60%).")?;
    Ok(())
}

fn explain(entry: &Entry) -> Result<(), Failure> {
    let mut out = stdout().lock();
    writeln!(out, "{}\n", entry.doc().trim_end())?;
    let info = entry.info;
    if !info.aliases.is_empty() {
        writeln!(out, "Also called: {}\n", info.aliases.join(", "))?;
    }
    if info.params.is_empty() {
        writeln!(out, "It has no parameters.")?;
    } else {
        let mut table = table::plain(&["parameter", "default", "takes", "meaning"]);
        for param in info.params {
            table.add_row([param.key, param.default, &param.kind.to_string(), param.doc]);
        }
        writeln!(out, "{table}")?;
    }
    let first = info.params.first().map_or(String::new(), |param| format!("({}={})", param.key, param.default));
    writeln!(out, "Example: hotset simulate TRACE --policy '{}{first}' --size 10%", info.name)?;
    Ok(())
}
