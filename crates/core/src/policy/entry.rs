//! A policy without its type, as users find it by name.

use std::fmt;

use super::dynamic::DynPolicy;
use super::{Args, Capabilities, Info, Policy, Requirements, Setup};
use crate::spec::SpecError;

/// The policies that specs may name.
#[derive(Debug)]
pub struct Catalog {
    /// The entries, in groups.
    pub groups: &'static [&'static &'static [Entry]],
    /// The names of policies that this build leaves out.
    pub left_out: &'static [&'static str],
}

impl Catalog {
    /// A catalog without policies.
    pub const EMPTY: &'static Catalog = &Catalog { groups: &[], left_out: &[] };

    /// Returns every entry.
    pub fn all(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        self.groups.iter().copied().flat_map(|group| group.iter())
    }

    /// Returns the entry with this name or alias.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.all().find(|entry| entry.info.name == name || entry.info.aliases.contains(&name))
    }
}

/// One entry of a table of policies.
pub struct Entry {
    /// Name, parameters and descriptions.
    pub info: &'static Info,
    /// The table in which its policy arguments are looked up.
    pub catalog: &'static Catalog,
    build: BuildBoxed,
    requirements: fn(&Args, u32) -> Result<Requirements, SpecError>,
    source: &'static str,
}

/// Builds a policy for hosts that choose it at run time.
pub type BuildBoxed = fn(&Setup) -> Result<Box<dyn DynPolicy>, SpecError>;

/// Prints only the name, because its catalog contains the entry itself.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)
    }
}

impl Entry {
    /// Makes the entry of policy `P`. `source` is the text of its file.
    pub const fn of<P: Policy + Capabilities + 'static>(source: &'static str, catalog: &'static Catalog) -> Entry {
        let build: BuildBoxed = |setup| Ok(Box::new(P::new(setup)?));
        Entry { info: &P::INFO, catalog, build, requirements: P::requirements, source }
    }

    /// Returns the entry with another way to build the policy. The result may have another data structure but behaves
    /// the same.
    pub const fn built_by(self, build: BuildBoxed) -> Entry {
        Entry { build, ..self }
    }

    /// Builds the policy.
    pub fn build(&self, setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError> {
        (self.build)(setup)
    }

    /// [`Policy::requirements`].
    pub fn requirements(&self, args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        (self.requirements)(args, capacity)
    }

    /// Returns the header of the policy's file: idea, paper, deviations, costs, when not to use it.
    pub fn doc(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// Returns the defaults of all parameters. `block_bytes` converts sizes into blocks; `None` if blocks have no
    /// size in bytes.
    pub fn defaults(&self, block_bytes: Option<u64>) -> Args {
        Args::defaults(self.info.params, self.catalog, block_bytes)
    }
}
