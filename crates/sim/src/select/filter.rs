//! Conditions on a request, and their grammar.

use std::fmt;

use globset::GlobSet;
use hotset_core::classify::patterns;
use hotset_core::request::Op;
use hotset_core::spec::Value;

use super::Ops;

/// Conditions on a request: every given part must hold. The default has no condition.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Made by one of these applications.
    pub apps: Names,
    /// To one of these files.
    pub files: Names,
    /// To none of these files.
    pub exclude: Names,
    /// One of these operations.
    pub ops: Option<Ops>,
    /// Not before this place of the trace.
    pub from: Option<Place>,
    /// Before this place of the trace.
    pub to: Option<Place>,
}

/// Patterns for names, of which one must match: `*.png`, `/usr/*/stdio.h`. One without a slash is for the last
/// component; case does not count. A pattern that fits a directory fits what lies below it too.
#[derive(Clone, Debug, Default)]
pub struct Names {
    patterns: Vec<String>,
    /// Two for each pattern: itself, and what lies below.
    set: GlobSet,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// So many nanoseconds after its first request.
    Time(u64),
    /// Behind so many references.
    Reference(u64),
}

impl Names {
    /// Reads patterns. Fails on one that is none.
    pub fn new(written: Vec<String>) -> Result<Names, String> {
        let below = |pattern: &String| match pattern.contains('/') {
            true => format!("{pattern}/**"),
            false => format!("**/{pattern}/**"),
        };
        let both: Vec<String> = written.iter().flat_map(|pattern| [pattern.clone(), below(pattern)]).collect();
        let set = patterns(&both).map_err(|error| error.to_string())?;
        Ok(Names { patterns: written, set })
    }

    /// True without a pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// True if one matches.
    pub fn has(&self, name: &str) -> bool {
        self.set.is_match(name)
    }

    /// The patterns that match none of these names.
    pub fn idle<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<&str> {
        let mut is_idle = vec![true; self.patterns.len()];
        names.for_each(|name| self.set.matches(name).into_iter().for_each(|number| is_idle[number / 2] = false));
        self.patterns.iter().zip(is_idle).filter(|(_, is_idle)| *is_idle).map(|(pattern, _)| &**pattern).collect()
    }
}

impl Place {
    /// Reads a time (`10s`) or a number of references.
    pub fn parse(text: &str) -> Result<Place, String> {
        match Value::parse(text) {
            Ok(Value::Time(time)) => Ok(Place::Time(time)),
            Ok(Value::Number(count)) if count.fract() == 0.0 && count < 2f64.powi(63) => {
                Ok(Place::Reference(count as u64))
            }
            _ => Err(format!(
                "{text:?} is no place in a trace: expected a time since its first request (10s, 5min, 2h, 1d) or a \
                 number of references"
            )),
        }
    }

    /// True if a request so many nanoseconds after the first one, behind so many references, is not before it.
    pub(super) fn is_reached(self, since: u64, position: u64) -> bool {
        match self {
            Place::Time(time) => since >= time,
            Place::Reference(reference) => position >= reference,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Place::Time(time) => Value::Time(time).fmt(f),
            Place::Reference(reference) => reference.fmt(f),
        }
    }
}

impl Filter {
    /// Reads what [`Filter`] prints: `app=postgres,file=*.db,exclude=*.tmp,ops=reads+list,from=10s,to=20000`. A key of
    /// names may be given several times; one of the patterns must match.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let (mut apps, mut files, mut exclude) = (Vec::new(), Vec::new(), Vec::new());
        let mut filter = Filter::default();
        for clause in clauses(text) {
            let Some((key, value)) = clause.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
                return Err(format!("{clause:?} is not a condition: expected one such as ops=reads or file=*.db"));
            };
            match key {
                "app" => apps.push(value.to_owned()),
                "file" => files.push(value.to_owned()),
                "exclude" => exclude.push(value.to_owned()),
                "ops" => once(&mut filter.ops, key, Ops::parse(value)?)?,
                "from" => once(&mut filter.from, key, Place::parse(value)?)?,
                "to" => once(&mut filter.to, key, Place::parse(value)?)?,
                _ => return Err(format!("{key:?} is not a condition: expected app, file, exclude, ops, from or to")),
            }
        }
        Ok(Filter { apps: Names::new(apps)?, files: Names::new(files)?, exclude: Names::new(exclude)?, ..filter })
    }

    /// True if it demands nothing.
    pub fn is_everything(&self) -> bool {
        let Filter { apps, files, exclude, ops, from, to } = self;
        [apps, files, exclude].iter().all(|names| names.is_empty()) && ops.is_none() && from.is_none() && to.is_none()
    }

    /// The conditions: keys and values, as they are written.
    pub fn clauses(&self) -> Vec<(&'static str, String)> {
        let names = [("app", &self.apps), ("file", &self.files), ("exclude", &self.exclude)];
        let names =
            names.into_iter().flat_map(|(key, of)| of.patterns.iter().map(move |pattern| (key, pattern.clone())));
        let ops = self.ops.map(|ops| ("ops", ops.to_string()));
        let [from, to] =
            [("from", self.from), ("to", self.to)].map(|(key, place)| place.map(|place| (key, place.to_string())));
        names.chain(ops).chain(from).chain(to).collect()
    }

    /// True if it contains times.
    pub fn needs_times(&self) -> bool {
        [self.from, self.to].iter().flatten().any(|place| matches!(place, Place::Time(_)))
    }

    pub(super) fn admits_op(&self, op: Op) -> bool {
        self.ops.is_none_or(|ops| ops.has(op))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let clauses = self.clauses().into_iter().map(|(key, value)| format!("{key}={value}"));
        f.write_str(&clauses.collect::<Vec<_>>().join(","))
    }
}

/// Sets what may be given once.
fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{key} is given twice: expected once")),
    }
}

/// The conditions of a filter, separated by commas, except commas in braces of a pattern.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let between = move |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(between).map(str::trim).filter(|clause| !clause.is_empty())
}
