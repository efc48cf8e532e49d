//! A spec whose name and keys are known to the registry: what a cell of a grid is built from.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use super::args::{Args, Param, by_app, find_param};
use super::error::quote;
use super::suggest::nearest;
use super::syntax::{Arg, At, Spec, Term, write_call};
use super::{Argument, ParamKind, Part, SpecError, Value};
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
    given: Vec<(usize, Argument)>,
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

    /// True if the policy, or one in it, must know the future.
    pub fn is_offline(&self) -> bool {
        self.entry.info.offline || self.given.iter().any(|(_, value)| value.policies().any(PolicySpec::is_offline))
    }

    /// The policy where requests are served as they come: parameters that are not given have the values of
    /// [`Policy::serving`](crate::policy::Policy::serving), here and in the policies in it.
    pub fn serving(mut self) -> PolicySpec {
        for (_, argument) in &mut self.given {
            if let Argument::Policy(inner) = argument {
                **inner = inner.as_ref().clone().serving();
            }
        }
        for (key, text) in crate::dynamic::serving(self.info().name) {
            let arg = Spec::parse(&format!("{}({key}={text})", self.info().name)).expect("a policy's own words").args;
            let bound = bind(self.info().params, &arg).expect("a policy's own words");
            let news: Vec<_> =
                bound.into_iter().filter(|(index, _)| !self.given.iter().any(|(own, _)| own == index)).collect();
            self.given.extend(news);
        }
        self.given.sort_by_key(|(index, _)| *index);
        self
    }

    /// The policy with other arguments, written as in a spec: `key=value, key=value`. What was said of the same parameters or applications is
    /// replaced.
    pub fn with(mut self, arguments: &str) -> Result<PolicySpec, SpecError> {
        let spec = Spec::parse(&format!("{}({arguments})", self.info().name))?;
        for (index, value) in bind(self.info().params, &spec.args)? {
            match (self.given.iter_mut().find(|(own, _)| *own == index), value) {
                (Some((_, Argument::Apps(apps))), Argument::Apps(more)) => {
                    apps.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
                    apps.extend(more);
                    apps.sort_by(|(one, _), (other, _)| one.cmp(other));
                }
                (Some((_, own)), value) => *own = value,
                (None, value) => self.given.push((index, value)),
            }
        }
        self.given.sort_by_key(|(index, _)| *index);
        Ok(self)
    }

    /// Names of the applications that the spec speaks of, here or in a policy in it.
    pub fn apps(&self) -> Vec<&str> {
        let arguments = || self.given.iter().map(|(_, argument)| argument);
        let here = arguments().filter_map(|argument| match argument {
            Argument::Apps(apps) => Some(apps.iter().map(|(name, _)| name.as_str())),
            _ => None,
        });
        let inside = arguments().flat_map(Argument::policies).flat_map(PolicySpec::apps);
        here.flatten().chain(inside).collect()
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

    /// The arguments with defaults filled in, for a policy inside of one that has the arguments `around`.
    pub fn args_within(&self, around: &Args) -> Args {
        self.args(around.block_bytes()).with_rules(around.rules().cloned()).over(around.run())
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.entry.info;
        // A positional argument needs its key where one before it is left out.
        let keyless = |place: usize, index: usize| place == index && info.params[index].kind.is_positional();
        let write = |(place, (index, value)): (usize, &(usize, Argument))| match value {
            Argument::Apps(_) => value.to_string(),
            _ if keyless(place, *index) => value.to_string(),
            _ => format!("{}={value}", info.params[*index].key),
        };
        write_call(f, info.name, self.given.iter().enumerate().map(write))
    }
}

impl PartialEq for PolicySpec {
    fn eq(&self, other: &PolicySpec) -> bool {
        self.entry.info.name == other.entry.info.name && self.given == other.given
    }
}

fn unknown_policy(spec: &Spec) -> SpecError {
    let names =
        registry::all().flat_map(|entry| [entry.info.name].into_iter().chain(entry.info.aliases.iter().copied()));
    let near = nearest(&spec.name, names);
    let guess = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    let place = spec.at.0.start..spec.at.0.start + spec.name.len();
    SpecError::new(format!("unknown policy {}: {guess}run `hotset policies` for the list", quote(&spec.name))).at(place)
}

/// Finds the parameter of each argument and checks its value.
pub(crate) fn bind(params: &[Param], args: &[Arg]) -> Result<Vec<(usize, Argument)>, SpecError> {
    let mut given: Vec<(usize, Argument)> = Vec::new();
    for arg in args {
        let (index, value) = bind_one(params, arg, &given)?;
        match (given.iter_mut().find(|(other, _)| *other == index), value) {
            (Some((_, Argument::Parts(parts))), Argument::Parts(more)) => parts.extend(more),
            (Some((_, Argument::Apps(apps))), Argument::Apps(more)) => apps.extend(more),
            (Some(_), _) => {
                let error = SpecError::new(format!("{} is given twice: expected it once", quote(params[index].key)));
                return Err(error.at(arg.at.0.clone()));
            }
            (None, value) => given.push((index, value)),
        }
    }
    given.sort_by_key(|(index, _)| *index);
    for (_, value) in &mut given {
        if let Argument::Apps(apps) = value {
            apps.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
    }
    Ok(given)
}

/// The parameter of one argument and its value, given what was bound before it.
fn bind_one(params: &[Param], arg: &Arg, given: &[(usize, Argument)]) -> Result<(usize, Argument), SpecError> {
    let index = match &arg.key {
        Some(key) => match (find_param(params, key), by_app(params)) {
            (Ok(index), _) | (Err(_), Some(index)) => index,
            (Err(error), None) => return Err(error.at(arg.key_at())),
        },
        None => next_positional(params, given).ok_or_else(|| needs_key(params, arg))?,
    };
    let place = |error: SpecError| if error.at.is_some() { error } else { error.at(arg.at.0.clone()) };
    Ok((index, argument_of(&params[index], arg).map_err(place)?))
}

/// The first parameter that needs no key and is not bound, or that takes any number of arguments.
fn next_positional(params: &[Param], given: &[(usize, Argument)]) -> Option<usize> {
    let is_open = |index: usize| {
        let bound = given.iter().any(|(other, _)| *other == index);
        params[index].kind == ParamKind::Parts || params[index].kind.is_positional() && !bound
    };
    (0..params.len()).find(|&index| is_open(index))
}

fn argument_of(param: &Param, arg: &Arg) -> Result<Argument, SpecError> {
    if param.kind.is_by_app() {
        return of_app(param, arg);
    }
    if param.kind == ParamKind::Policy
        && let Some(policy) = policy_of(arg)?
    {
        return Ok(Argument::Policy(Box::new(policy)));
    }
    Ok(match (param.kind, &arg.term) {
        (ParamKind::Parts, Term::Clause { size, block, class }) => Argument::Parts(vec![part(size, block, class)?]),
        (_, Term::Value(value)) => {
            param.check(value)?;
            Argument::Value(value.clone())
        }
        (_, other) => return Err(param.refuse(other)),
    })
}

/// The policy that an argument names; `None` if it cannot be one.
fn policy_of(arg: &Arg) -> Result<Option<PolicySpec>, SpecError> {
    match &arg.term {
        Term::Spec(spec) => PolicySpec::resolve(spec).map(Some),
        Term::Value(value @ Value::Word(name)) => {
            let spec = Spec { name: name.clone(), args: Vec::new(), at: At(value_at(arg, value)) };
            PolicySpec::resolve(&spec).map(Some)
        }
        _ => Ok(None),
    }
}

/// What is said of one application.
fn of_app(param: &Param, arg: &Arg) -> Result<Argument, SpecError> {
    let name = arg.key.clone().unwrap_or_default();
    let refuse = || SpecError::new(format!("{} is not allowed: expected {}", quote(&arg.to_string()), param.kind));
    let said = match (param.kind, &arg.term) {
        (ParamKind::Goals, Term::Value(value)) if param.check(value).is_ok() => Argument::Value(value.clone()),
        (ParamKind::Goals, _) => return Err(refuse()),
        _ => Argument::Policy(Box::new(policy_of(arg)?.ok_or_else(refuse)?)),
    };
    Ok(Argument::Apps(vec![(name, said)]))
}

/// Where the value of an argument stands: behind its key.
fn value_at(arg: &Arg, value: &Value) -> Range<usize> {
    let end = arg.at.0.end;
    end - value.to_string().len()..end
}

fn part(size: &Value, block: &Value, class: &str) -> Result<Part, SpecError> {
    let bytes = |value: &Value| match value {
        Value::Size(bytes) if *bytes > 0 => Some(*bytes),
        Value::Number(bytes) if *bytes >= 1.0 && bytes.fract() == 0.0 => Some(*bytes as u64),
        _ => None,
    };
    let size_bytes = match size {
        Value::Word(x) if x == "x" => None,
        size => Some(bytes(size).ok_or_else(|| wrong_part(size, "bytes such as 64K, or x for what the others leave"))?),
    };
    let block = bytes(block).ok_or_else(|| wrong_part(block, "the bytes of a block, such as 128 or 4K"))?;
    Ok(Part { size: size_bytes, block, class: class.to_owned() })
}

fn wrong_part(found: &Value, expected: &str) -> SpecError {
    SpecError::new(format!("{} is not allowed in a part: expected {expected}", quote(&found.to_string())))
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

    fn bound(text: &str) -> Result<Vec<(usize, Argument)>, SpecError> {
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
        let values = [Value::Size(65536), Value::Number(3.0), Value::Word("off".into())].map(Argument::Value);
        assert_eq!(given, values.into_iter().enumerate().collect::<Vec<_>>());
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
