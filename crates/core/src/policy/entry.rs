//! A policy without its type, as users find it by name.

use std::fmt;
use std::marker::PhantomData;

use super::dynamic::DynPolicy;
use super::{Args, Hits, Info, OnePass, Policy, Profiling, Setting, Setup, Value};
use crate::spec::SpecError;
use crate::view::View;

/// The policies that specs may name.
#[derive(Debug)]
pub struct Catalog {
    /// The entries, in groups.
    pub groups: &'static [&'static &'static [Entry]],
}

impl Catalog {
    /// A catalog without policies.
    pub const EMPTY: &'static Catalog = &Catalog { groups: &[] };

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
    /// The policy's requirements.
    pub asks: &'static dyn Requirements,
    source: &'static str,
}

/// Prints only the name, because its catalog contains the entry itself.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)
    }
}

/// A policy's requirements to its host, depending on its arguments. The methods are those of [`Policy`].
pub trait Requirements: fmt::Debug + Sync {
    /// [`Policy::boxed`].
    fn build(&self, setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError>;
    /// [`Policy::view`].
    fn view(&self, args: &Args, capacity: u32) -> Result<View, SpecError>;
    /// [`Policy::identities`].
    fn identities(&self, args: &Args, capacity: u32) -> u64;
    /// [`Policy::hits`].
    fn hits(&self, args: &Args) -> Hits;
    /// [`Policy::profiling`].
    fn profiling(&self, args: &Args, capacity: u32) -> Option<Profiling>;
    /// [`Policy::weighs`].
    fn weighs(&self, args: &Args) -> bool;
    /// [`Policy::reads_ahead`], of this policy or of a policy among its arguments.
    fn reads_ahead(&self, args: &Args) -> bool;
    /// [`Policy::ONE_PASS`].
    fn one_pass(&self) -> Option<OnePass>;
    /// [`Policy::defaults_in`].
    fn defaults_in(&self, setting: Setting) -> Vec<(&'static str, Value)>;
}

struct Asks<P>(PhantomData<fn() -> P>);

impl<P: Policy> fmt::Debug for Asks<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(P::INFO.name)
    }
}

impl<P: Policy + 'static> Requirements for Asks<P> {
    fn build(&self, setup: &Setup) -> Result<Box<dyn DynPolicy>, SpecError> {
        P::boxed(setup)
    }

    fn view(&self, args: &Args, capacity: u32) -> Result<View, SpecError> {
        P::view(args, capacity)
    }

    fn identities(&self, args: &Args, capacity: u32) -> u64 {
        P::identities(args, capacity)
    }

    fn hits(&self, args: &Args) -> Hits {
        P::hits(args)
    }

    fn profiling(&self, args: &Args, capacity: u32) -> Option<Profiling> {
        P::profiling(args, capacity)
    }

    fn weighs(&self, args: &Args) -> bool {
        P::weighs(args)
    }

    fn reads_ahead(&self, args: &Args) -> bool {
        P::reads_ahead(args) || args.policies().any(|policy| policy.entry().asks.reads_ahead(&policy.args_within(args)))
    }

    fn one_pass(&self) -> Option<OnePass> {
        P::ONE_PASS
    }

    fn defaults_in(&self, setting: Setting) -> Vec<(&'static str, Value)> {
        P::defaults_in(setting)
    }
}

impl Entry {
    /// Makes the entry of policy `P`. `source` is the text of its file.
    pub const fn of<P: Policy + 'static>(source: &'static str, catalog: &'static Catalog) -> Entry {
        Entry { info: &P::INFO, catalog, asks: &Asks::<P>(PhantomData), source }
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
