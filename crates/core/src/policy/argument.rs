//! The value of a parameter: a literal, a policy, the partitions of a cache, or values for single applications.

use std::fmt;

use super::PolicySpec;
use crate::spec::Value;

/// An argument that its parameter accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A literal.
    Value(Value),
    /// A policy.
    Policy(Box<PolicySpec>),
    /// The partitions of a cache.
    Parts(Vec<Part>),
    /// Values for single applications, sorted by name.
    Apps(Vec<(String, Argument)>),
}

/// `64K/128 id`: the partition of a cache for one class of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Bytes of the partition; `None` (`x`) means the space that the other partitions leave.
    pub size: Option<u64>,
    /// Bytes of a block.
    pub block: u64,
    /// The class of its blocks.
    pub class: String,
}

impl Argument {
    /// Returns the policies in it.
    pub(super) fn policies(&self) -> Box<dyn Iterator<Item = &PolicySpec> + '_> {
        match self {
            Argument::Policy(policy) => Box::new(std::iter::once(&**policy)),
            Argument::Apps(apps) => Box::new(apps.iter().flat_map(|(_, argument)| argument.policies())),
            Argument::Value(_) | Argument::Parts(_) => Box::new(std::iter::empty()),
        }
    }

    /// Returns the partitions of a cache, if the argument has that kind.
    pub(super) fn parts(&self) -> Option<&[Part]> {
        match self {
            Argument::Parts(parts) => Some(parts),
            _ => None,
        }
    }
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Value(value) => value.fmt(f),
            Argument::Policy(policy) => policy.fmt(f),
            Argument::Parts(parts) => f.write_str(&parts.iter().map(Part::to_string).collect::<Vec<_>>().join(",")),
            Argument::Apps(apps) => {
                let apps: Vec<String> = apps.iter().map(|(name, value)| format!("{name}={value}")).collect();
                f.write_str(&apps.join(","))
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size.map_or_else(|| "x".to_owned(), bytes);
        write!(f, "{size}/{} {}", bytes(self.block), self.class)
    }
}

/// Formats a size as the report does: `64K`, `128`.
fn bytes(bytes: u64) -> String {
    Value::Size(bytes).to_string().trim_end_matches('B').to_owned()
}
