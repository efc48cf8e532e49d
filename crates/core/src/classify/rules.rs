//! Classes and what makes a request belong to one.

use std::collections::HashSet;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Class;
use crate::request::Kind;
use crate::spec::SpecError;

/// The class of what fits no rule.
pub const OTHER: &str = "other";

/// Rules that a list may hold: as many as a file's matches have bits.
const MOST_RULES: usize = 64;

/// Conditions for a request to belong to a class. An empty list and `None` exclude nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// The class. Several rules may name one.
    pub class: String,
    /// Patterns for the file's path, of which one must match: `*.png`, `**/textures/**`. A pattern without a slash is
    /// for the last component. Case does not count.
    pub files: Vec<String>,
    /// Kinds of object, of which one must be the request's.
    pub kinds: Vec<Kind>,
    /// Names of applications, of which one must be the request's. A pattern as for files.
    pub apps: Vec<String>,
    /// Least size of the file in bytes. A file of unknown size has none.
    pub min_size: Option<u64>,
    /// Greatest size of the file in bytes.
    pub max_size: Option<u64>,
    /// The request must write (`true`) or must not (`false`).
    pub writes: Option<bool>,
    /// A file of which one request fits stays in the class from then on.
    pub sticks: bool,
}

/// A list of rules, checked and ready to be asked. Shared by all that use them.
#[derive(Clone, Debug)]
pub struct Rules(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Vec<Checked>,
    classes: Vec<String>,
}

/// A rule with its patterns compiled.
#[derive(Debug)]
pub(super) struct Checked {
    pub rule: Rule,
    pub class: Class,
    pub files: GlobSet,
    pub apps: GlobSet,
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        let rules = |rules: &Rules| rules.0.rules.iter().map(|checked| checked.rule.clone()).collect::<Vec<_>>();
        Arc::ptr_eq(&self.0, &other.0) || rules(self) == rules(other)
    }
}

impl Rules {
    /// Checks the rules. Fails on a pattern that cannot be read, or on more than 64 rules.
    pub fn new(rules: Vec<Rule>) -> Result<Rules, SpecError> {
        if rules.len() > MOST_RULES {
            return Err(SpecError::new(format!("{} rules for classes: expected at most {MOST_RULES}", rules.len())));
        }
        let mut classes: Vec<String> = Vec::new();
        let mut seen = HashSet::new();
        for name in rules.iter().map(|rule| rule.class.as_str()).chain([OTHER]) {
            if seen.insert(name.to_owned()) {
                classes.push(name.to_owned());
            }
        }
        let number = |name: &str| classes.iter().position(|class| class == name).expect("just collected") as Class;
        let check = |rule: Rule| {
            let (class, files, apps) = (number(&rule.class), patterns(&rule.files)?, patterns(&rule.apps)?);
            Ok(Checked { rule, class, files, apps })
        };
        let rules = rules.into_iter().map(check).collect::<Result<Vec<_>, SpecError>>()?;
        Ok(Rules(Arc::new(Inner { rules, classes })))
    }

    /// The names of the classes by their numbers; `other` is always among them.
    pub fn classes(&self) -> &[String] {
        &self.0.classes
    }

    /// The number of the class with this name.
    pub fn class(&self, name: &str) -> Option<Class> {
        self.0.classes.iter().position(|class| class == name).map(|number| number as Class)
    }

    /// Number of the class `other`.
    pub fn other(&self) -> Class {
        self.class(OTHER).expect("every list has it")
    }

    pub(super) fn rules(&self) -> &[Checked] {
        &self.0.rules
    }
}

/// Patterns for names as [`Rule::files`] has them, as one set. Fails on one that cannot be read.
pub fn patterns(patterns: &[String]) -> Result<GlobSet, SpecError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let anywhere = if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
        let glob = GlobBuilder::new(&anywhere).case_insensitive(true).literal_separator(true).build();
        set.add(
            glob.map_err(|error| SpecError::new(format!("the pattern {pattern:?} cannot be read: {}", error.kind())))?,
        );
    }
    set.build().map_err(|error| SpecError::new(format!("the patterns are too large together: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_in_the_order_of_their_rules() {
        let rule = |class: &str| Rule { class: class.into(), ..Rule::default() };
        let rules = Rules::new(vec![rule("b"), rule("a"), rule("b")]).unwrap();
        assert_eq!(rules.classes(), ["b", "a", "other"]);
        assert_eq!((rules.class("a"), rules.other(), rules.class("c")), (Some(1), 2, None));
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_named() {
        let rule = Rule { class: "a".into(), files: vec!["[".into()], ..Rule::default() };
        let error = Rules::new(vec![rule]).unwrap_err();
        assert!(error.message.starts_with("the pattern \"[\" cannot be read"), "{error}");
    }

    #[test]
    fn too_many_rules_are_refused() {
        let error = Rules::new(vec![Rule::default(); 65]).unwrap_err();
        assert_eq!(error.message, "65 rules for classes: expected at most 64");
    }
}
