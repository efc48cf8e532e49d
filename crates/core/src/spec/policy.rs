//! A spec whose name and keys are known to the registry: what a cell of a grid is built from.

use std::collections::HashSet;
use std::fmt;

use super::args::{Args, Param, find_param};
use super::error::quote;
use super::suggest::nearest;
use super::syntax::{Arg, Spec, Term, write_call};
use super::{SpecError, Value};
use crate::policy::Info;
use crate::registry::{self, Entry};

/// A registered policy with arguments for its parameters.
///
/// `Display` is the id in results. It holds the canonical name, whatever alias was used, and the arguments that were given
/// (defaults are not added, given ones not dropped), in the order in which the policy declares them, as [`Value`] prints them. So
/// two specs that give the same arguments have the same id.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    entry: &'static Entry,
    /// Index of a parameter and its argument, by index.
    given: Vec<(usize, Value)>,
}

impl PolicySpec {
    /// Reads one policy.
    pub fn parse(text: &str) -> Result<PolicySpec, SpecError> {
        PolicySpec::resolve(&Spec::parse(text)?)
    }

    /// Reads policies separated by commas, in the order given, repeated ones once. The word `all` stands for every
    /// registered policy with its defaults.
    pub fn parse_list(text: &str) -> Result<Vec<PolicySpec>, SpecError> {
        let mut policies = Vec::new();
        for spec in Spec::parse_list(text)? {
            if spec.name == "all" && spec.args.is_empty() {
                policies.extend(registry::ENTRIES.iter().map(|entry| PolicySpec { entry, given: Vec::new() }));
            } else {
                policies.push(PolicySpec::resolve(&spec)?);
            }
        }
        let mut seen = HashSet::new();
        policies.retain(|policy| seen.insert(policy.to_string()));
        Ok(policies)
    }

    /// Looks the name and the keys up. Names are known in either case.
    pub fn resolve(spec: &Spec) -> Result<PolicySpec, SpecError> {
        let entry = registry::find(&spec.name.to_ascii_lowercase()).ok_or_else(|| unknown_policy(spec))?;
        Ok(PolicySpec { entry, given: bind(entry.info.params, &spec.args)? })
    }

    /// The policy's line in the registry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Name, parameters and texts of the policy.
    pub fn info(&self) -> &'static Info {
        self.entry.info
    }

    /// The arguments with defaults filled in, for a cache whose blocks hold `block_bytes` bytes; `None` when they have no
    /// size in bytes.
    pub fn args(&self, block_bytes: Option<u64>) -> Args {
        let mut args = Args::defaults(self.entry.info.params, block_bytes);
        for (index, value) in &self.given {
            args.put(*index, value.clone());
        }
        args
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.entry.info;
        write_call(f, info.name, self.given.iter().map(|(index, value)| format!("{}={value}", info.params[*index].key)))
    }
}

impl PartialEq for PolicySpec {
    fn eq(&self, other: &PolicySpec) -> bool {
        self.entry.info.name == other.entry.info.name && self.given == other.given
    }
}

fn unknown_policy(spec: &Spec) -> SpecError {
    let names = registry::ENTRIES
        .iter()
        .flat_map(|entry| [entry.info.name].into_iter().chain(entry.info.aliases.iter().copied()));
    let near = nearest(&spec.name, names);
    let guess = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    let place = spec.at.0.start..spec.at.0.start + spec.name.len();
    SpecError::new(format!("unknown policy {}: {guess}run `hotset policies` for the list", quote(&spec.name))).at(place)
}

/// Finds the parameter of each argument and checks its value.
fn bind(params: &[Param], args: &[Arg]) -> Result<Vec<(usize, Value)>, SpecError> {
    let mut given = args.iter().map(|arg| bind_one(params, arg)).collect::<Result<Vec<_>, _>>()?;
    given.sort_by_key(|(index, _)| *index);
    Ok(given)
}

fn bind_one(params: &[Param], arg: &Arg) -> Result<(usize, Value), SpecError> {
    let Some(key) = &arg.key else { return Err(needs_key(params, arg)) };
    let index = find_param(params, key).map_err(|error| error.at(arg.key_at()))?;
    let checked = match &arg.term {
        Term::Value(value) => params[index].check(value).map(|()| value.clone()),
        other => Err(params[index].refuse(other)),
    };
    Ok((index, checked.map_err(|error| error.at(arg.at.0.clone()))?))
}

fn needs_key(params: &[Param], arg: &Arg) -> SpecError {
    let keys: Vec<String> = params.iter().map(|param| format!("{}={}", param.key, param.default)).collect();
    let expected = match keys.as_slice() {
        [] => "no arguments, this policy has no parameters".to_owned(),
        keys => format!("key=value, as in {}", keys.join(", ")),
    };
    SpecError::new(format!("{} has no key: expected {expected}", quote(&arg.to_string()))).at(arg.at.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ParamKind;

    const PARAMS: [Param; 3] = [
        Param { key: "kin", kind: ParamKind::Share, default: "25%", doc: "" },
        Param { key: "k", kind: ParamKind::Count { min: 1, max: 9 }, default: "2", doc: "" },
        Param { key: "ghosts", kind: ParamKind::Switch, default: "on", doc: "" },
    ];

    fn bound(text: &str) -> Result<Vec<(usize, Value)>, SpecError> {
        bind(&PARAMS, &Spec::parse(text)?.args)
    }

    /// The rendered error of `text`, without the repeated text itself.
    fn refused(text: &str) -> (String, String) {
        let rendered = bound(text).unwrap_err().render(text);
        let mut lines = rendered.lines();
        (lines.next().unwrap().to_owned(), lines.nth(1).unwrap().trim_start_matches("  ").to_owned())
    }

    #[test]
    fn arguments_come_in_declared_order_whatever_the_user_wrote() {
        let given = bound("p(ghosts=off, k=3.0, kin=64k)").unwrap();
        assert_eq!(given, [(0, Value::Size(65536)), (1, Value::Number(3.0)), (2, Value::Word("off".into()))]);
        assert_eq!(given, bound("p(kin=64KiB,k=3,ghosts=off)").unwrap());
    }

    #[test]
    fn errors_say_what_is_expected_where() {
        let (message, _) = refused("p(kout=1)");
        assert_eq!(message, "unknown parameter \"kout\": known are kin, k, ghosts");
        let (message, _) = refused("p(k=10)");
        assert_eq!(message, "\"k=10\" is not allowed: expected a whole number from 1 to 9");
        let (message, _) = refused("p(kin=lru(k=2))");
        assert!(message.starts_with("\"kin=lru(k=2)\" is not allowed: expected a share"), "{message}");
        let (message, _) = refused("p(50%)");
        assert_eq!(message, "\"50%\" has no key: expected key=value, as in kin=25%, k=2, ghosts=on");
        let text = "p(k=2, kout=1)";
        assert_eq!(bound(text).unwrap_err().at, Some(7..11));
        assert_eq!(bound("p(k=2, kin=200%)").unwrap_err().at, Some(7..15));
    }

    #[test]
    fn unknown_policies_get_candidates_and_a_place() {
        let text = "lru,lrv";
        let error = PolicySpec::parse_list(text).unwrap_err();
        assert!(error.message.contains("did you mean lru") && error.message.contains("`hotset policies`"), "{error}");
        assert!(error.render(text).ends_with("  lru,lrv\n      ^^^"));
    }

    #[test]
    fn all_is_every_policy_once() {
        let all = PolicySpec::parse_list("LRU, all").unwrap();
        assert_eq!(all.len(), registry::ENTRIES.len());
        assert_eq!(all[0].to_string(), "lru");
        assert!(PolicySpec::parse_list("all(k=2)").is_err());
    }

    #[test]
    fn every_alias_prints_the_canonical_name_and_every_default_is_allowed() {
        for entry in registry::ENTRIES {
            for name in entry.info.aliases {
                assert_eq!(PolicySpec::parse(name).unwrap().to_string(), entry.info.name);
            }
            for param in entry.info.params {
                let text = format!("{}({}={})", entry.info.name, param.key, param.default);
                let policy = PolicySpec::parse(&text).unwrap();
                assert_eq!(PolicySpec::parse(&policy.to_string()).unwrap(), policy);
            }
        }
    }
}
