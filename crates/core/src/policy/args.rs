//! Arguments bound to the parameters of a policy.

use std::fmt;

use super::bind::bind;
use super::entry::Catalog;
use super::param::{by_app, find_param};
use super::{Argument, Param, ParamKind, Part, PolicySpec};
use crate::classify::{Rules, builtin};
use crate::spec::{Arg, SpecError, Value, quote};

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Once in so many nanoseconds.
    Time(u64),
    /// Once in so many references.
    References(u64),
}

/// How long a quantum of several applications is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantum {
    /// So many references of all applications together.
    References(u64),
    /// So many references for each live application.
    ReferencesPerApp(u64),
    /// So many nanoseconds.
    Time(u64),
    /// The policy's own choice.
    Auto,
}

/// How long a run is that is known from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Nanoseconds from the first request to the last; `None` if requests have no times.
    pub nanoseconds: Option<u64>,
    /// References.
    pub references: u64,
}

impl Run {
    /// So many percent of it.
    fn share(self, percent: f64) -> Interval {
        let part = |whole: u64| ((whole as f64 * percent / 100.0).round() as u64).max(1);
        match self.nanoseconds {
            Some(nanoseconds) => Interval::Time(part(nanoseconds)),
            None => Interval::References(part(self.references)),
        }
    }
}

/// Arguments bound to a policy's parameters, defaults filled in.
#[derive(Clone)]
pub struct Args {
    params: &'static [Param],
    values: Vec<Argument>,
    /// By parameter: its argument was given, also if it equals the default.
    given: Vec<bool>,
    block_bytes: Option<u64>,
    rules: Option<Rules>,
    run: Option<Run>,
}

/// As in a spec: `(kin=25%, kout=50%)`.
impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.params.iter().zip(&self.values).map(|(param, value)| format!("{}={value}", param.key));
        write!(f, "({})", values.collect::<Vec<_>>().join(", "))
    }
}

impl Args {
    /// The defaults of `params`, whose policies are those of `catalog`. `block_bytes` turns sizes into blocks; `None`
    /// when blocks have no size in bytes.
    pub fn defaults(params: &'static [Param], catalog: &'static Catalog, block_bytes: Option<u64>) -> Args {
        let read = |param: &Param| param.default_argument(catalog).expect("the registry test parses every default");
        let values = params.iter().map(read).collect();
        Args { params, values, given: vec![false; params.len()], block_bytes, rules: None, run: None }
    }

    /// The same arguments for a run of known length.
    pub fn over(self, run: Option<Run>) -> Args {
        Args { run, ..self }
    }

    /// The length of the run, where it is known.
    pub fn run(&self) -> Option<Run> {
        self.run
    }

    /// The same arguments, where class names are first looked for among the user's `rules`.
    pub fn with_rules(self, rules: Option<Rules>) -> Args {
        Args { rules, ..self }
    }

    /// The user's rules for classes, if there are any.
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// The rules that know this class: the user's, or the built-in ones.
    pub fn rules_knowing(&self, class: &str) -> Result<Rules, SpecError> {
        let own = self.rules.iter().find(|rules| rules.class(class).is_some()).cloned();
        own.or_else(|| builtin::knowing(class)).ok_or_else(|| {
            let known = self.rules.iter().flat_map(|rules| rules.classes().to_vec()).chain(builtin::class_names());
            let mut known: Vec<String> = known.collect();
            known.sort_unstable();
            known.dedup();
            SpecError::new(format!("unknown class {}: known are {}", quote(class), known.join(", ")))
        })
    }

    /// Sets one argument. An unknown key is an error that lists the known ones.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), SpecError> {
        let index = find_param(self.params, key)?;
        self.params[index].check(&value)?;
        self.put(index, Argument::Value(value));
        Ok(())
    }

    /// Takes over one argument of `other`, arguments for the same parameters; what is said of an application is added
    /// to what is said of others.
    pub fn take(&mut self, key: &str, mut other: Args) {
        let index = self.params.iter().position(|param| param.key == key).or_else(|| by_app(self.params));
        let index = index.expect("a key of these parameters");
        self.given[index] |= other.given[index];
        match (&mut self.values[index], other.values.swap_remove(index)) {
            (Argument::Apps(known), Argument::Apps(more)) => known.extend(more),
            (value, other) => *value = other,
        }
    }

    /// Sets the argument of a parameter that has checked it.
    pub(crate) fn put(&mut self, index: usize, value: Argument) {
        self.values[index] = value;
        self.given[index] = true;
    }

    /// The keys of the parameters whose arguments differ from those of `before`, which are for the same parameters.
    pub fn changed_from<'a>(&'a self, before: &'a Args) -> impl Iterator<Item = &'static str> + 'a {
        let pairs = self.values.iter().zip(&before.values);
        self.params.iter().zip(pairs).filter(|(_, (now, before))| now != before).map(|(param, _)| param.key)
    }

    /// True if all that differs from `before` are arguments of these parameters.
    pub fn differs_only_in(&self, before: &Args, keys: &[&str]) -> bool {
        self.changed_from(before).all(|key| keys.contains(&key))
    }

    /// True if the argument was given, also if it equals the parameter's default.
    pub fn is_given(&self, key: &str) -> bool {
        self.given[self.index(key)]
    }

    /// A [`ParamKind::Share`] as blocks out of `capacity`, rounded down, not above `capacity` unless given in blocks or
    /// bytes.
    pub fn share(&self, key: &str, capacity: u32) -> Result<u32, SpecError> {
        self.blocks(key, capacity).map(|blocks| (blocks + 1e-9) as u32)
    }

    /// Like [`Args::share`], rounded to the nearest whole number, halves up.
    pub fn share_rounded(&self, key: &str, capacity: u32) -> Result<u32, SpecError> {
        self.blocks(key, capacity).map(|blocks| (blocks + 0.5 + 1e-9) as u32)
    }

    /// A [`ParamKind::Share`] as blocks and parts of blocks. What exceeds `u32` saturates in the cast of the callers.
    fn blocks(&self, key: &str, capacity: u32) -> Result<f64, SpecError> {
        match *self.value(key) {
            Value::Percent(share) => Ok(share / 100.0 * f64::from(capacity)),
            Value::Number(blocks) => Ok(blocks),
            Value::Size(bytes) => self.block_bytes.map(|block| (bytes / block) as f64).ok_or_else(|| {
                SpecError::new(format!(
                    "{key} is given in bytes, but blocks of this cache have no size in bytes: give a percentage or a number of blocks"
                ))
            }),
            _ => unreachable!("Param::check admits no other value"),
        }
    }

    /// A [`ParamKind::Multiple`] of `capacity`, rounded down; `None` if unlimited.
    pub fn multiple(&self, key: &str, capacity: u32) -> Option<u32> {
        match *self.value(key) {
            Value::Number(times) => Some((times * f64::from(capacity) + 1e-9) as u32),
            _ => None,
        }
    }

    /// The arguments of a call that takes no policies, with defaults for what it does not give.
    pub fn of(params: &'static [Param], given: &[Arg]) -> Result<Args, SpecError> {
        let mut args = Args::defaults(params, Catalog::EMPTY, None);
        for (index, value) in bind(params, given, Catalog::EMPTY)? {
            args.put(index, value);
        }
        Ok(args)
    }

    /// A [`ParamKind::Bytes`].
    pub fn bytes(&self, key: &str) -> u64 {
        let Value::Size(bytes) = *self.value(key) else { unreachable!("Param::check admits no other value") };
        bytes
    }

    /// A [`ParamKind::Real`].
    pub fn real(&self, key: &str) -> f64 {
        let Value::Number(number) = *self.value(key) else { unreachable!("Param::check admits no other value") };
        number
    }

    /// A [`ParamKind::Count`].
    pub fn count(&self, key: &str) -> u64 {
        self.real(key) as u64
    }

    /// A [`ParamKind::Quantum`].
    pub fn quantum(&self, key: &str) -> Quantum {
        match *self.value(key) {
            Value::Number(references) => Quantum::References(references as u64),
            Value::PerApp(references) => Quantum::ReferencesPerApp(references as u64),
            Value::Time(time) => Quantum::Time(time),
            _ => Quantum::Auto,
        }
    }

    /// A [`ParamKind::Switch`].
    pub fn switch(&self, key: &str) -> bool {
        self.word(key) == "on"
    }

    /// A [`ParamKind::Word`].
    pub fn word(&self, key: &str) -> &str {
        let Value::Word(word) = self.value(key) else { unreachable!("Param::check admits no other value") };
        word
    }

    /// A [`ParamKind::Policy`].
    pub fn policy(&self, key: &str) -> &PolicySpec {
        let Argument::Policy(policy) = self.argument(key) else { unreachable!("Param::check admits no other value") };
        policy
    }

    /// A [`ParamKind::Class`].
    pub fn class(&self, key: &str) -> &str {
        self.word(key)
    }

    /// The [`ParamKind::Parts`] of the cache; empty if none were given.
    pub fn parts(&self) -> &[Part] {
        self.values.iter().find_map(Argument::parts).unwrap_or_default()
    }

    /// A [`ParamKind::Time`] in nanoseconds.
    pub fn time(&self, key: &str) -> u64 {
        let Value::Time(time) = *self.value(key) else { unreachable!("Param::check admits no other value") };
        time
    }

    /// A [`ParamKind::Interval`]. A share of a run whose length nobody knows is an error.
    pub fn interval(&self, key: &str) -> Result<Interval, SpecError> {
        match *self.value(key) {
            Value::Time(time) => Ok(Interval::Time(time)),
            Value::Number(references) => Ok(Interval::References(references as u64)),
            Value::Percent(share) => self.run.map(|run| run.share(share)).ok_or_else(|| {
                SpecError::new(format!(
                    "{key}={share}% is a share of the run, whose length is not known here: give a time such as \
                     {key}=300s, or a number of references such as {key}=10000"
                ))
            }),
            _ => unreachable!("Param::check admits no other value"),
        }
    }

    /// A [`ParamKind::WordOrFile`]: the word, or else the name of a file.
    pub fn word_or_file(&self, key: &str) -> Result<&str, &str> {
        let ParamKind::WordOrFile(words) = self.params[self.index(key)].kind else { unreachable!("of another kind") };
        match self.value(key) {
            Value::Word(word) if words.contains(&word.as_str()) => Ok(word),
            Value::Word(file) | Value::Quoted(file) => Err(file),
            _ => unreachable!("Param::check admits no other value"),
        }
    }

    /// [`ParamKind::Goals`] or [`ParamKind::AppPolicies`]: names of applications and what is said of them.
    pub fn apps(&self, key: &str) -> &[(String, Argument)] {
        let Argument::Apps(apps) = self.argument(key) else { unreachable!("Param::check admits no other value") };
        apps
    }

    /// The policies among the arguments.
    pub fn policies(&self) -> impl Iterator<Item = &PolicySpec> {
        self.values.iter().flat_map(Argument::policies)
    }

    /// True if an interval or a quantum is a time, here or in a policy among the arguments, so that references need
    /// clocks.
    pub fn wants_clock(&self) -> bool {
        self.has_period(&|value| matches!(value, Value::Time(_)))
    }

    /// True if clocks of references are of use: for times, and for shares of a run, which count references where there
    /// are none.
    pub fn uses_clock(&self) -> bool {
        self.has_period(&|value| matches!(value, Value::Time(_) | Value::Percent(_)))
    }

    /// True if a quantum follows the load of the storage, here or in a policy among the arguments, so that the host
    /// must know [`Effects::storage_busy`](super::Effects::storage_busy).
    pub fn wants_load(&self) -> bool {
        self.has_period(&|value| matches!(value, Value::Word(_)))
    }

    /// True if there is such an interval or quantum, here or in a policy among the arguments.
    fn has_period(&self, is_such: &dyn Fn(&Value) -> bool) -> bool {
        let here = |(param, value): (&Param, &Argument)| {
            matches!(param.kind, ParamKind::Interval | ParamKind::Quantum)
                && matches!(value, Argument::Value(value) if is_such(value))
        };
        let inner = |policy: &PolicySpec| policy.args_within(self).has_period(is_such);
        self.params.iter().zip(&self.values).any(here) || self.policies().any(inner)
    }

    /// Bytes of a block, if blocks have a size.
    pub fn block_bytes(&self) -> Option<u64> {
        self.block_bytes
    }

    fn value(&self, key: &str) -> &Value {
        let Argument::Value(value) = self.argument(key) else { unreachable!("Param::check admits no other value") };
        value
    }

    fn argument(&self, key: &str) -> &Argument {
        &self.values[self.index(key)]
    }

    fn index(&self, key: &str) -> usize {
        let index = self.params.iter().position(|param| param.key == key);
        index.unwrap_or_else(|| panic!("a policy asked for {key:?}, which it does not declare"))
    }
}
