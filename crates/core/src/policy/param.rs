//! Parameters that a policy declares.

use std::fmt;

use super::entry::Catalog;
use super::{Argument, PolicySpec};
use crate::spec::{Spec, SpecError, Value, quote};

/// Maximum length of a quantum in references.
const LONGEST_QUANTUM: f64 = (1u64 << 40) as f64;

/// The values that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A share of the capacity: `25%`, a number of blocks, or a size in bytes.
    Share,
    /// A real number from `min` to `max`.
    Real {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// A whole number from `min` to `max`.
    Count {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A number of references of all applications, or of each application (`2000/app`), a time, or `auto`.
    Quantum,
    /// Bytes, at least 1: `512K`.
    Bytes,
    /// A multiple of the capacity, or `unlimited`.
    Multiple,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A policy. The key may be omitted.
    Policy,
    /// The name of a class of blocks. The key may be omitted.
    Class,
    /// The partitions of a cache, `64K/128 id`, one after another and without a key.
    Parts,
    /// A time: `10ms`.
    Time,
    /// A time, a number of references, or a share of the run.
    Interval,
    /// One of these words, or a file name, which is quoted if necessary.
    WordOrFile(&'static [&'static str]),
    /// Targets of applications, `NAME=70%` or `NAME=10ms`. Keys that match no parameter are names of applications.
    Goals,
    /// Policies for applications, `NAME=POLICY`. Keys that match no parameter are names of applications.
    AppPolicies,
}

impl ParamKind {
    /// True if arguments of this kind may omit their key. They are then bound in the order of declaration.
    pub(super) fn is_positional(self) -> bool {
        matches!(self, ParamKind::Policy | ParamKind::Class | ParamKind::Parts)
    }

    /// True if any number of such arguments may be given, and none by default.
    pub fn is_repeated(self) -> bool {
        self == ParamKind::Parts || self.is_by_app()
    }

    /// True if the keys of such arguments are names of applications.
    pub(super) fn is_by_app(self) -> bool {
        matches!(self, ParamKind::Goals | ParamKind::AppPolicies)
    }
}

/// One parameter of a policy.
#[derive(Debug)]
pub struct Param {
    /// The key in `key=value`.
    pub key: &'static str,
    /// The values that it accepts.
    pub kind: ParamKind,
    /// The default, as a user would write it.
    pub default: &'static str,
    /// One line: meaning, unit, source.
    pub doc: &'static str,
}

impl Param {
    /// Returns the default as an argument.
    pub(super) fn default_argument(&self, catalog: &'static Catalog) -> Result<Argument, SpecError> {
        match self.kind {
            ParamKind::Policy => {
                let policy = PolicySpec::resolve(&Spec::parse(self.default)?, catalog)?;
                Ok(Argument::Policy(Box::new(policy)))
            }
            ParamKind::Parts => Ok(Argument::Parts(Vec::new())),
            ParamKind::Goals | ParamKind::AppPolicies => Ok(Argument::Apps(Vec::new())),
            _ => Value::parse(self.default).map(Argument::Value),
        }
    }

    /// Checks `value` against the kind.
    pub fn check(&self, value: &Value) -> Result<(), SpecError> {
        if self.accepts(value) { Ok(()) } else { Err(self.refuse(value)) }
    }

    fn accepts(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (ParamKind::Share, Value::Percent(share)) => *share <= 100.0,
            (ParamKind::Share, Value::Size(_)) => true,
            (ParamKind::Share, Value::Number(blocks)) => blocks.fract() == 0.0,
            (ParamKind::Real { min, max }, Value::Number(number)) => (min..=max).contains(number),
            (ParamKind::Count { min, max }, Value::Number(number)) => {
                number.fract() == 0.0 && (min as f64..=max as f64).contains(number)
            }
            (ParamKind::Quantum, Value::Number(references) | Value::PerApp(references)) => {
                references.fract() == 0.0 && (1.0..=LONGEST_QUANTUM).contains(references)
            }
            (ParamKind::Quantum, Value::Word(word)) => word == "auto",
            (ParamKind::Quantum, Value::Time(time)) => *time > 0,
            (ParamKind::Bytes, Value::Size(bytes)) => *bytes > 0,
            (ParamKind::Multiple, Value::Number(_)) => true,
            (ParamKind::Multiple, Value::Word(word)) => word == "unlimited",
            (ParamKind::Switch, Value::Word(word)) => word == "on" || word == "off",
            (ParamKind::Word(words), Value::Word(word)) => words.contains(&word.as_str()),
            (ParamKind::Class, Value::Word(_)) => true,
            (ParamKind::Time | ParamKind::Interval, Value::Time(time)) => *time > 0,
            (ParamKind::Interval, Value::Number(references)) => *references >= 1.0 && references.fract() == 0.0,
            (ParamKind::Interval, Value::Percent(share)) => *share > 0.0 && *share <= 100.0,
            (ParamKind::WordOrFile(_), Value::Word(_) | Value::Quoted(_)) => true,
            (ParamKind::Goals, Value::Percent(rate)) => *rate <= 100.0,
            (ParamKind::Goals, Value::Time(time)) => *time > 0,
            _ => false,
        }
    }

    /// Returns the error for a value that is not allowed.
    pub(super) fn refuse(&self, value: &impl fmt::Display) -> SpecError {
        let argument = format!("{}={value}", self.key);
        SpecError::new(format!("{} is not allowed: expected {}", quote(&argument), self.kind))
    }
}

/// Returns the parameter with this key. Fails for an unknown key with a list of the known keys.
pub(super) fn find_param(params: &[Param], key: &str) -> Result<usize, SpecError> {
    params.iter().position(|param| param.key == key).ok_or_else(|| {
        let keys: Vec<&str> = params.iter().map(|param| param.key).collect();
        let known = if keys.is_empty() { "it has none".to_owned() } else { format!("known are {}", keys.join(", ")) };
        SpecError::new(format!("unknown parameter {}: {known}", quote(key)))
    })
}

/// Returns the parameter whose keys are names of applications, if there is one.
pub(super) fn by_app(params: &[Param]) -> Option<usize> {
    params.iter().position(|param| param.kind.is_by_app())
}
