//! A policy as its users find it: by name, its type forgotten.

use super::dynamic::DynPolicy;
use super::{Args, Hits, Info, Policy, Profiling, Setting, Setup, Value};
use crate::spec::SpecError;
use crate::view::View;

/// The policies that specs may name.
#[derive(Debug)]
pub struct Catalog {
    /// Lines, in groups.
    pub groups: &'static [&'static &'static [Entry]],
}

impl Catalog {
    /// Knows no policy.
    pub const EMPTY: &'static Catalog = &Catalog { groups: &[] };

    /// Every line.
    pub fn all(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        self.groups.iter().copied().flat_map(|group| group.iter())
    }

    /// The line with this name or alias.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.all().find(|entry| entry.info.name == name || entry.info.aliases.contains(&name))
    }
}

/// A line of a table of policies.
#[derive(Debug)]
pub struct Entry {
    /// Name, parameters and texts.
    pub info: &'static Info,
    /// The table that its arguments are looked up in.
    pub catalog: &'static Catalog,
    /// [`Policy::boxed`].
    pub build: fn(&Setup) -> Result<Box<dyn DynPolicy>, SpecError>,
    /// [`Policy::view`].
    pub view: fn(&Args, u32) -> Result<View, SpecError>,
    /// [`Policy::identities`].
    pub identities: fn(&Args, u32) -> u64,
    /// [`Policy::hits`].
    pub hits: fn(&Args) -> Hits,
    /// [`Policy::profiling`].
    pub profiling: fn(&Args, u32) -> Option<Profiling>,
    /// [`Policy::defaults_in`].
    pub defaults_in: fn(Setting) -> Vec<(&'static str, Value)>,
    source: &'static str,
}

impl Entry {
    /// The line of policy `P`, whose file's text is `source`.
    pub const fn of<P: Policy + 'static>(source: &'static str, catalog: &'static Catalog) -> Entry {
        Entry {
            info: &P::INFO,
            catalog,
            build: P::boxed,
            view: P::view,
            identities: P::identities,
            hits: P::hits,
            profiling: P::profiling,
            defaults_in: P::defaults_in,
            source,
        }
    }

    /// The text at the head of the policy's file: idea, paper, deviations, costs, when not to use it.
    pub fn doc(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// The defaults of all parameters. `block_bytes` turns sizes into blocks; `None` when blocks have no size in bytes.
    pub fn defaults(&self, block_bytes: Option<u64>) -> Args {
        Args::defaults(self.info.params, self.catalog, block_bytes)
    }
}
