//! Specs of registered policies, from text.

use std::collections::HashSet;

use super::{CATALOG, ENTRIES, check_on_faults, on_faults};
use crate::policy::{PolicySpec, Setting};
use crate::spec::{Spec, SpecError};

impl PolicySpec {
    /// Reads one policy.
    pub fn parse(text: &str) -> Result<PolicySpec, SpecError> {
        PolicySpec::resolve(&Spec::parse(text)?, &CATALOG)
    }

    /// Reads policies separated by commas, in the order given, repeated ones once. The word `all` means every
    /// registered policy with its defaults.
    pub fn parse_list(text: &str) -> Result<Vec<PolicySpec>, SpecError> {
        PolicySpec::list(text, || ENTRIES.iter().map(PolicySpec::of).collect(), |_| Ok(()))
    }

    /// Reads policies for a trace of memory: the word `all` means those that run there, and others are refused.
    pub fn parse_paging_list(text: &str) -> Result<Vec<PolicySpec>, SpecError> {
        let check =
            |policy: &PolicySpec| check_on_faults(policy.entry(), &policy.clone().set_in(Setting::Paging).args(None));
        PolicySpec::list(text, || on_faults().collect(), check)
    }

    fn list(
        text: &str,
        all: impl Fn() -> Vec<PolicySpec>,
        check: impl Fn(&PolicySpec) -> Result<(), SpecError>,
    ) -> Result<Vec<PolicySpec>, SpecError> {
        let mut policies = Vec::new();
        for spec in Spec::parse_list(text)? {
            if spec.name == "all" && spec.args.is_empty() {
                policies.extend(all());
            } else {
                let policy = PolicySpec::resolve(&spec, &CATALOG)?;
                check(&policy).map_err(|error| error.at(spec.at.0.start..spec.at.0.start + spec.name.len()))?;
                policies.push(policy);
            }
        }
        let mut seen = HashSet::new();
        policies.retain(|policy| seen.insert(policy.to_string()));
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn unknown_policies_get_candidates_and_a_place() {
        let text = "lru,lrv";
        let error = PolicySpec::parse_list(text).unwrap_err();
        assert!(error.message.contains("did you mean lru") && error.message.contains("`hotset policies`"), "{error}");
        assert!(error.render(text).ends_with("  lru,lrv\n      ^^^"));
    }

    /// A test that fails prints its arguments; an entry is in the catalog that it names.
    #[test]
    fn entries_and_arguments_print_in_a_line() {
        let spec = PolicySpec::parse("2q(kin=30%)").unwrap();
        assert_eq!(format!("{:?}", spec.entry()), "2q");
        assert_eq!(format!("{:?}", spec.args(None)), "(kin=30%, kout=50%, a1in_hit=stay)");
    }

    #[test]
    fn all_is_every_policy_once() {
        let all = PolicySpec::parse_list("LRU, all").unwrap();
        assert_eq!(all.len(), registry::ENTRIES.len());
        assert_eq!(all[0].to_string(), "lru");
        assert!(PolicySpec::parse_list("all(k=2)").is_err());
    }

    #[test]
    fn policies_that_need_every_reference_are_refused_for_memory_with_the_reason() {
        let error = PolicySpec::parse_paging_list("clock,lru").unwrap_err();
        assert!(error.message.starts_with("lru sees every reference") && error.at == Some(6..9), "{error}");
        assert!(error.message.contains("expected one of apr, car, clock, clock-pro, eta, fifo"), "{error}");
        for text in ["s3-fifo", "clock(bits=2)"] {
            let error = PolicySpec::parse_paging_list(text).unwrap_err();
            assert!(error.message.contains("sees every reference"), "{error}");
        }
        let all = PolicySpec::parse_paging_list("s3-fifo(promote=1), sieve, all").unwrap();
        let names: Vec<String> = all.iter().map(PolicySpec::to_string).collect();
        assert!(
            names.starts_with(&["s3-fifo(promote=1)".to_owned(), "sieve".to_owned(), "apr".to_owned()]),
            "{names:?}"
        );
        assert!(names.iter().any(|name| name == "opt") && names.iter().all(|name| name != "lirs"), "{names:?}");
    }

    #[test]
    fn policies_nest_without_keys() {
        let cases = [
            ("bypass", "bypass"),
            ("bypass(2q(kin=30%), output)", "bypass(2q(kin=30%),output)"),
            ("bypass(class=texture)", "bypass(class=texture)"),
            ("bypass(class=texture, policy=belady)", "bypass(opt,texture)"),
            ("demote(lru, mru, client=10%)", "demote(lru,mru,client=10%)"),
            ("demote(demote(lru,lru),lru)", "demote(demote(lru,lru),lru)"),
        ];
        for (text, shown) in cases {
            let spec = PolicySpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), shown);
            assert_eq!(PolicySpec::parse(shown).unwrap(), spec);
        }
        assert!(PolicySpec::parse("bypass(opt,output)").unwrap().is_offline());
        assert!(!PolicySpec::parse("bypass(lru,output)").unwrap().is_offline());
    }

    #[test]
    fn arguments_are_replaced_one_by_one() {
        let with = |text: &str, more: &str| PolicySpec::parse(text).unwrap().with(more);
        let cases = [
            ("lru", "", "lru"),
            ("2q(kin=30%)", "kout=10%, kin=1%", "2q(kin=1%,kout=10%)"),
            ("qos(lru,lu=70%,tpch=5ms)", "lu=80%,new=9%", "qos(lru,lu=80%,new=9%,tpch=5ms)"),
            ("qos(lru,lu=70%)", "policy=arc", "qos(arc,lu=70%)"),
        ];
        for (text, more, expected) in cases {
            assert_eq!(with(text, more).unwrap().to_string(), expected);
        }
        assert!(with("lru", "k=2").unwrap_err().message.starts_with("unknown parameter \"k\""));
        assert!(with("lru", "x)(").is_err());
    }

    #[test]
    fn errors_in_nested_policies_point_into_them() {
        let cases = [
            ("bypass(lrv,output)", "unknown policy \"lrv\"", 7..10),
            ("bypass(policy=lrv)", "unknown policy \"lrv\"", 14..17),
            ("bypass(lru,output,lru)", "\"lru\" has no key", 18..21),
            ("bypass(lru,policy=lru)", "\"policy\" is given twice", 11..21),
            ("demote(lru,2q(kin=200%))", "\"kin=200%\" is not allowed", 14..22),
            ("demote(lru,5)", "\"lower=5\" is not allowed: expected a policy", 11..12),
        ];
        for (text, message, place) in cases {
            let error = PolicySpec::parse(text).unwrap_err();
            assert!(error.message.starts_with(message), "{text}: {error}");
            assert_eq!(error.at, Some(place), "{text}");
        }
    }

    #[test]
    fn every_alias_prints_the_canonical_name_and_every_default_is_allowed() {
        for entry in registry::all() {
            for name in entry.info.aliases {
                assert_eq!(PolicySpec::parse(name).unwrap().to_string(), entry.info.name);
            }
            for param in entry.info.params.iter().filter(|param| !param.kind.is_repeated()) {
                let text = format!("{}({}={})", entry.info.name, param.key, param.default);
                let policy = PolicySpec::parse(&text).unwrap();
                assert_eq!(PolicySpec::parse(&policy.to_string()).unwrap(), policy);
            }
        }
    }
}
