//! Arguments bound to the parameters of a policy.

use std::fmt;

use super::bind::bind;
use super::entry::Catalog;
use super::param::{by_app, find_param};
use super::{Argument, Param, ParamKind, Part, PolicySpec};
use crate::classify::{Rules, builtin};
use crate::spec::{Arg, SpecError, Value, quote};

/// How often an action repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Once in this many nanoseconds.
    Time(u64),
    /// Once in this many references.
    References(u64),
}

/// The length of a quantum that several applications share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantum {
    /// This many references of all applications together.
    References(u64),
    /// This many references for each live application.
    ReferencesPerApp(u64),
    /// This many nanoseconds.
    Time(u64),
    /// The policy chooses the length.
    Auto,
}

/// The length of a run that is known completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Nanoseconds from the first to the last request; `None` if requests have no times.
    pub nanoseconds: Option<u64>,
    /// Number of references.
    pub references: u64,
}

impl Run {
    /// Returns this percentage of the run.
    fn share(self, percent: f64) -> Interval {
        let part = |whole: u64| ((whole as f64 * percent / 100.0).round() as u64).max(1);
        match self.nanoseconds {
            Some(nanoseconds) => Interval::Time(part(nanoseconds)),
            None => Interval::References(part(self.references)),
        }
    }
}

/// Arguments bound to the parameters of a policy, with defaults filled in.
#[derive(Clone)]
pub struct Args {
    params: &'static [Param],
    values: Vec<Argument>,
    /// By parameter: true if the argument was given, even if it equals the default.
    given: Vec<bool>,
    block_bytes: Option<u64>,
    rules: Option<Rules>,
    run: Option<Run>,
}

/// Prints as in a spec: `(kin=25%, kout=50%)`.
impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.params.iter().zip(&self.values).map(|(param, value)| format!("{}={value}", param.key));
        write!(f, "({})", values.collect::<Vec<_>>().join(", "))
    }
}

impl Args {
    /// Returns the defaults of `params`. Policies among them come from `catalog`. `block_bytes` converts sizes into
    /// blocks; `None` if blocks have no size in bytes.
    pub fn defaults(params: &'static [Param], catalog: &'static Catalog, block_bytes: Option<u64>) -> Args {
        let read = |param: &Param| param.default_argument(catalog).expect("the registry test parses every default");
        let values = params.iter().map(read).collect();
        Args { params, values, given: vec![false; params.len()], block_bytes, rules: None, run: None }
    }

    /// Returns these arguments for a run of known length.
    pub fn over(self, run: Option<Run>) -> Args {
        Args { run, ..self }
    }

    /// Returns the length of the run, if known.
    pub fn run(&self) -> Option<Run> {
        self.run
    }

    /// Returns these arguments with the user's `rules`, which are searched for class names before the built-in rules.
    pub fn with_rules(self, rules: Option<Rules>) -> Args {
        Args { rules, ..self }
    }

    /// Returns the user's rules for classes, if any.
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// Returns the rules that define this class: the user's, or built-in ones.
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

    /// Sets one argument. Fails for an unknown key with a list of the known keys.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), SpecError> {
        let index = find_param(self.params, key)?;
        self.params[index].check(&value)?;
        self.put(index, Argument::Value(value));
        Ok(())
    }

    /// Takes one argument from `other`, which must be for the same parameters. Arguments for single applications are
    /// added to the existing ones.
    pub fn take(&mut self, key: &str, mut other: Args) {
        let index = self.params.iter().position(|param| param.key == key).or_else(|| by_app(self.params));
        let index = index.expect("a key of these parameters");
        self.given[index] |= other.given[index];
        match (&mut self.values[index], other.values.swap_remove(index)) {
            (Argument::Apps(known), Argument::Apps(more)) => known.extend(more),
            (value, other) => *value = other,
        }
    }

    /// Sets the argument of a parameter that has already checked it.
    pub(crate) fn put(&mut self, index: usize, value: Argument) {
        self.values[index] = value;
        self.given[index] = true;
    }

    /// Returns the keys of the parameters whose arguments differ from `before`, which must be for the same
    /// parameters.
    pub fn changed_from<'a>(&'a self, before: &'a Args) -> impl Iterator<Item = &'static str> + 'a {
        let pairs = self.values.iter().zip(&before.values);
        self.params.iter().zip(pairs).filter(|(_, (now, before))| now != before).map(|(param, _)| param.key)
    }

    /// True if only arguments of these parameters differ from `before`.
    pub fn differs_only_in(&self, before: &Args, keys: &[&str]) -> bool {
        self.changed_from(before).all(|key| keys.contains(&key))
    }

    /// True if the argument was given, even if it equals the default.
    pub fn is_given(&self, key: &str) -> bool {
        self.given[self.index(key)]
    }

    /// Returns a [`ParamKind::Share`] of `capacity` in blocks, rounded down. The result exceeds `capacity` only if
    /// given in blocks or bytes.
    pub fn share(&self, key: &str, capacity: u32) -> Result<u32, SpecError> {
        self.blocks(key, capacity).map(|blocks| (blocks + 1e-9) as u32)
    }

    /// Like [`Args::share`], but rounded to the nearest whole number, halves up.
    pub fn share_rounded(&self, key: &str, capacity: u32) -> Result<u32, SpecError> {
        self.blocks(key, capacity).map(|blocks| (blocks + 0.5 + 1e-9) as u32)
    }

    /// Returns a [`ParamKind::Share`] in blocks and fractions of blocks. Values above `u32` saturate in the callers'
    /// casts.
    fn blocks(&self, key: &str, capacity: u32) -> Result<f64, SpecError> {
        match *self.value(key) {
            Value::Percent(share) => Ok(share / 100.0 * f64::from(capacity)),
            Value::Number(blocks) => Ok(blocks),
            Value::Size(bytes) => self.block_bytes.map(|block| (bytes / block) as f64).ok_or_else(|| {
                SpecError::new(format!(
                    "{key} is given in bytes, but the blocks of this cache have no size in bytes: give a percentage or a number of blocks"
                ))
            }),
            _ => unreachable!("Param::check admits no other value"),
        }
    }

    /// Returns a [`ParamKind::Multiple`] of `capacity`, rounded down; `None` if unlimited.
    pub fn multiple(&self, key: &str, capacity: u32) -> Option<u32> {
        match *self.value(key) {
            Value::Number(times) => Some((times * f64::from(capacity) + 1e-9) as u32),
            _ => None,
        }
    }

    /// Returns the arguments of a call that takes no policies, with defaults for missing ones.
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

    /// A [`ParamKind::Interval`]. Fails for a share of a run of unknown length.
    pub fn interval(&self, key: &str) -> Result<Interval, SpecError> {
        match *self.value(key) {
            Value::Time(time) => Ok(Interval::Time(time)),
            Value::Number(references) => Ok(Interval::References(references as u64)),
            Value::Percent(share) => self.run.map(|run| run.share(share)).ok_or_else(|| {
                SpecError::new(format!(
                    "{key}={share}% is a share of the run, whose length is unknown here: give a time such as \
                     {key}=300s, or a number of references such as {key}=10000"
                ))
            }),
            _ => unreachable!("Param::check admits no other value"),
        }
    }

    /// A [`ParamKind::WordOrFile`]: `Ok` with the word, or `Err` with the name of a file.
    pub fn word_or_file(&self, key: &str) -> Result<&str, &str> {
        let ParamKind::WordOrFile(words) = self.params[self.index(key)].kind else { unreachable!("of another kind") };
        match self.value(key) {
            Value::Word(word) if words.contains(&word.as_str()) => Ok(word),
            Value::Word(file) | Value::Quoted(file) => Err(file),
            _ => unreachable!("Param::check admits no other value"),
        }
    }

    /// [`ParamKind::Goals`] or [`ParamKind::AppPolicies`]: names of applications with their arguments.
    pub fn apps(&self, key: &str) -> &[(String, Argument)] {
        let Argument::Apps(apps) = self.argument(key) else { unreachable!("Param::check admits no other value") };
        apps
    }

    /// Returns the policies among the arguments.
    pub fn policies(&self) -> impl Iterator<Item = &PolicySpec> {
        self.values.iter().flat_map(Argument::policies)
    }

    /// True if references need clocks: an interval or quantum is a time, here or in a policy among the arguments.
    pub fn wants_clock(&self) -> bool {
        self.has_period(&|value| matches!(value, Value::Time(_)))
    }

    /// True if clocks are useful: for times, and for shares of a run, which count references without a clock.
    pub fn uses_clock(&self) -> bool {
        self.has_period(&|value| matches!(value, Value::Time(_) | Value::Percent(_)))
    }

    /// True if a quantum follows the load of the storage, here or in a policy among the arguments. The host must then
    /// implement [`Effects::storage_busy`](super::Effects::storage_busy).
    pub fn wants_load(&self) -> bool {
        self.has_period(&|value| matches!(value, Value::Word(_)))
    }

    /// True if an interval or quantum satisfies `is_such`, here or in a policy among the arguments.
    fn has_period(&self, is_such: &dyn Fn(&Value) -> bool) -> bool {
        let here = |(param, value): (&Param, &Argument)| {
            matches!(param.kind, ParamKind::Interval | ParamKind::Quantum)
                && matches!(value, Argument::Value(value) if is_such(value))
        };
        let inner = |policy: &PolicySpec| policy.args_within(self).has_period(is_such);
        self.params.iter().zip(&self.values).any(here) || self.policies().any(inner)
    }

    /// Returns the bytes of a block, if blocks have a size.
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
