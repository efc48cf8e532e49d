//! A spec whose name and keys are known to the table of paging policies.

use std::collections::HashSet;
use std::fmt;

use super::registry::{self, Entry};
use crate::policy::bind::bind;
use crate::policy::{Args, Argument, Catalog, Info};
use crate::registry as caches;
use crate::spec::{Spec, SpecError, nearest, write_call};

/// A registered paging policy with arguments for its parameters. `Display` is the id in results, as for [`crate::policy::PolicySpec`].
#[derive(Clone, Debug)]
pub struct PagingSpec {
    entry: &'static Entry,
    /// Index of a parameter and its argument, by index.
    given: Vec<(usize, Argument)>,
}

impl PagingSpec {
    /// Reads one policy.
    pub fn parse(text: &str) -> Result<PagingSpec, SpecError> {
        PagingSpec::resolve(&Spec::parse(text)?)
    }

    /// Reads policies separated by commas, repeated ones once. The word `all` stands for every paging policy with its defaults.
    pub fn parse_list(text: &str) -> Result<Vec<PagingSpec>, SpecError> {
        let mut policies = Vec::new();
        for spec in Spec::parse_list(text)? {
            if spec.name == "all" && spec.args.is_empty() {
                policies.extend(registry::ENTRIES.iter().map(|entry| PagingSpec { entry, given: Vec::new() }));
            } else {
                policies.push(PagingSpec::resolve(&spec)?);
            }
        }
        let mut seen = HashSet::new();
        policies.retain(|policy| seen.insert(policy.to_string()));
        Ok(policies)
    }

    /// Looks the name and the keys up.
    pub fn resolve(spec: &Spec) -> Result<PagingSpec, SpecError> {
        let entry = registry::find(&spec.name.to_ascii_lowercase()).ok_or_else(|| unknown_policy(spec))?;
        Ok(PagingSpec { entry, given: bind(entry.info.params, &spec.args, Catalog::EMPTY)? })
    }

    /// Name, parameters and texts of the policy.
    pub fn info(&self) -> &'static Info {
        self.entry.info
    }

    /// The arguments with defaults filled in, for pages of `page_bytes` bytes.
    pub fn args(&self, page_bytes: u64) -> Args {
        let mut args = Args::defaults(self.entry.info.params, Catalog::EMPTY, Some(page_bytes));
        for (index, value) in &self.given {
            args.put(*index, value.clone());
        }
        args
    }
}

impl fmt::Display for PagingSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.entry.info;
        write_call(f, info.name, self.given.iter().map(|(index, value)| format!("{}={value}", info.params[*index].key)))
    }
}

fn unknown_policy(spec: &Spec) -> SpecError {
    let names: Vec<&str> = registry::ENTRIES.iter().map(|entry| entry.info.name).collect();
    let near = nearest(&spec.name, names.iter().copied());
    let known = names.join(", ");
    let message = if caches::find(&spec.name.to_ascii_lowercase()).is_some() {
        format!("{} sees every reference, which paging does not tell: expected one of {known}", spec.name)
    } else if near.is_empty() {
        format!("unknown paging policy {:?}: expected one of {known}", spec.name)
    } else {
        format!("unknown paging policy {:?}: did you mean {}? known are {known}", spec.name, near.join(" or "))
    };
    SpecError::new(message).at(spec.at.0.start..spec.at.0.start + spec.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_print_what_they_say_and_every_default_is_allowed() {
        for entry in registry::ENTRIES {
            assert_eq!(PagingSpec::parse(entry.info.name).unwrap().to_string(), entry.info.name);
            for param in entry.info.params {
                let text = format!("{}({}={})", entry.info.name, param.key, param.default);
                let policy = PagingSpec::parse(&text).unwrap();
                assert_eq!(PagingSpec::parse(&policy.to_string()).unwrap().to_string(), policy.to_string());
            }
        }
        assert_eq!(
            PagingSpec::parse("APR(threshold=64k, decay=0.5)").unwrap().to_string(),
            "apr(decay=0.5,threshold=64K)"
        );
        assert_eq!(PagingSpec::parse_list("lifo+, all").unwrap().len(), registry::ENTRIES.len());
    }

    #[test]
    fn policies_that_see_every_reference_are_refused_with_the_reason() {
        let error = PagingSpec::parse_list("clock,lru").unwrap_err();
        assert!(error.message.starts_with("lru sees every reference") && error.at == Some(6..9), "{error}");
        let error = PagingSpec::parse("clok").unwrap_err();
        assert!(error.message.contains("did you mean clock?"), "{error}");
    }

    #[test]
    fn hostile_parameters_are_refused_in_a_sentence() {
        for text in [
            "apr(decay=1.5)",
            "apr(decay=-1)",
            "apr(ghosts=200%)",
            "apr(initial=2)",
            "apr(use=both,use=clock)",
            "seq(long=0)",
        ] {
            let error = PagingSpec::parse(text).unwrap_err();
            assert!(error.message.contains("expected") || error.message.contains("twice"), "{text}: {error}");
        }
    }
}
