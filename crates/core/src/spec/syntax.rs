//! The content of a spec, before names are looked up: names, arguments, nesting and places in the text.

use std::fmt;
use std::ops::Range;

use super::Value;

/// A byte range of the text. Two places always compare equal, so that specs compare by what they say.
#[derive(Clone, Debug, Default)]
pub struct At(pub Range<usize>);

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}

/// `name` or `name(arg, …)`.
///
/// `Display` prints the canonical text, which parses back to an equal spec: no spaces, no empty parentheses, literals
/// as [`Value`] prints them, arguments in the order given.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The name as written.
    pub name: String,
    /// The content of the parentheses.
    pub args: Vec<Arg>,
    /// From the name to the closing parenthesis.
    pub at: At,
}

/// One argument: `term`, or `key=term`.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The key; `None` for a positional argument. A key stands only once in its parentheses.
    pub key: Option<String>,
    /// The value.
    pub term: Term,
    /// From the key to the end of the term.
    pub at: At,
}

impl Arg {
    /// The place of the key, or of the whole argument if it has none.
    pub fn key_at(&self) -> Range<usize> {
        let Range { start, end } = self.at.0;
        start..self.key.as_ref().map_or(end, |key| start + key.len())
    }
}

/// The kinds of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A literal. A name without arguments is a [`Value::Word`], whether a policy is meant or not.
    Value(Value),
    /// `name(…)` with at least one argument.
    Spec(Spec),
    /// `64K/128 id`: the part of a cache for one class of blocks, as attribute caches list them.
    Clause {
        /// Size of the part; `x` is what the other parts leave.
        size: Value,
        /// Size of its blocks.
        block: Value,
        /// The class of blocks it is for.
        class: String,
    },
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_call(f, &self.name, &self.args)
    }
}

/// Writes `name`, or `name(arg,…)` if there are arguments.
pub(crate) fn write_call<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    args: impl IntoIterator<Item = T>,
) -> fmt::Result {
    f.write_str(name)?;
    let mut before = "(";
    for arg in args {
        write!(f, "{before}{arg}")?;
        before = ",";
    }
    if before == "," { f.write_str(")") } else { Ok(()) }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{key}={}", self.term),
            None => self.term.fmt(f),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Value(value) => value.fmt(f),
            Term::Spec(spec) => spec.fmt(f),
            Term::Clause { size, block, class } => write!(f, "{size}/{block} {class}"),
        }
    }
}
