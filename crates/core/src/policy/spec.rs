//! A spec whose name and keys are known to a table of policies: what a cell of a grid is built from.

use std::fmt;

use super::bind::bind;
use super::dynamic::DynPolicy;
use super::entry::{Catalog, Entry};
use super::{Args, Argument, Effects, Info, Setting, Setup};
use crate::spec::{Spec, SpecError, nearest, quote, write_call};
use crate::view::View;

/// A registered policy with arguments for its parameters.
///
/// `Display` is the id in results. It holds the canonical name, whatever alias was used, and the arguments that were
/// given (defaults are not added, given ones not dropped), in the order in which the policy declares them, as
/// [`Value`](crate::spec::Value) prints them. So two specs that give the same arguments have the same id.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    entry: &'static Entry,
    /// Index of a parameter and its argument, by index.
    given: Vec<(usize, Argument)>,
}

impl PolicySpec {
    /// The policy of a line with its defaults.
    pub(crate) fn of(entry: &'static Entry) -> PolicySpec {
        PolicySpec { entry, given: Vec::new() }
    }

    /// Looks the name and the keys up. Names are known in either case.
    pub fn resolve(spec: &Spec, catalog: &'static Catalog) -> Result<PolicySpec, SpecError> {
        let entry = catalog.find(&spec.name.to_ascii_lowercase()).ok_or_else(|| unknown_policy(spec, catalog))?;
        Ok(PolicySpec { entry, given: bind(entry.info.params, &spec.args, catalog)? })
    }

    /// True if the policy, or one in it, must know the future.
    pub fn is_offline(&self) -> bool {
        self.entry.info.offline || self.given.iter().any(|(_, value)| value.policies().any(PolicySpec::is_offline))
    }

    /// The policy in a setting: parameters that are not given have the values of
    /// [`Policy::defaults_in`](crate::policy::Policy::defaults_in), here and in the policies in it.
    pub fn set_in(mut self, setting: Setting) -> PolicySpec {
        for (_, argument) in &mut self.given {
            if let Argument::Policy(inner) = argument {
                **inner = inner.as_ref().clone().set_in(setting);
            }
        }
        for (key, value) in self.entry.asks.defaults_in(setting) {
            let index = self.info().params.iter().position(|param| param.key == key).expect("a policy's own word");
            if self.given.iter().all(|(own, _)| *own != index) {
                self.given.push((index, Argument::Value(value)));
            }
        }
        self.given.sort_by_key(|(index, _)| *index);
        self
    }

    /// The policy with other arguments, written as in a spec: `key=value, key=value`. What was said of the same
    /// parameters or applications is replaced.
    pub fn with(mut self, arguments: &str) -> Result<PolicySpec, SpecError> {
        let spec = Spec::parse(&format!("{}({arguments})", self.info().name))?;
        for (index, value) in bind(self.info().params, &spec.args, self.entry.catalog)? {
            match (self.given.iter_mut().find(|(own, _)| *own == index), value) {
                (Some((_, Argument::Apps(apps))), Argument::Apps(more)) => {
                    apps.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
                    apps.extend(more);
                    apps.sort_by(|(one, _), (other, _)| one.cmp(other));
                }
                (Some((_, own)), value) => *own = value,
                (None, value) => self.given.push((index, value)),
            }
        }
        self.given.sort_by_key(|(index, _)| *index);
        Ok(self)
    }

    /// Names of the applications that the spec speaks of, here or in a policy in it.
    pub fn apps(&self) -> Vec<&str> {
        let arguments = || self.given.iter().map(|(_, argument)| argument);
        let here = arguments().filter_map(|argument| match argument {
            Argument::Apps(apps) => Some(apps.iter().map(|(name, _)| name.as_str())),
            _ => None,
        });
        let inside = arguments().flat_map(Argument::policies).flat_map(PolicySpec::apps);
        here.flatten().chain(inside).collect()
    }

    /// The policy's line in the registry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Name, parameters and texts of the policy.
    pub fn info(&self) -> &'static Info {
        self.entry.info
    }

    /// The arguments with defaults filled in, for a cache whose blocks hold `block_bytes` bytes; `None` when they have
    /// no size in bytes.
    pub fn args(&self, block_bytes: Option<u64>) -> Args {
        let mut args = self.entry.defaults(block_bytes);
        for (index, value) in &self.given {
            args.put(*index, value.clone());
        }
        args
    }

    /// The arguments with defaults filled in, for a policy inside of one that has the arguments `around`.
    pub fn args_within(&self, around: &Args) -> Args {
        self.args(around.block_bytes()).with_rules(around.rules().cloned()).over(around.run())
    }

    /// Builds the policy for `capacity` blocks inside of another; the rest of the set-up is that of the policy around
    /// it.
    pub fn build(&self, capacity: u32, around: &Setup) -> Result<Box<dyn DynPolicy>, SpecError> {
        let args = self.args_within(around.args);
        self.entry.asks.build(&Setup { capacity, args: &args, ..around.clone() })
    }

    /// Gives `policy`, which was built from `before` inside of a policy with the arguments `around_before`, the
    /// arguments of this spec: [`Policy::reconfigure`](super::Policy::reconfigure).
    pub fn reconfigure(
        &self,
        policy: &mut dyn DynPolicy,
        before: &PolicySpec,
        around_before: &Args,
        around: &Setup,
        fx: &mut dyn Effects,
    ) -> bool {
        if self.entry.info.name != before.entry.info.name {
            return false;
        }
        let (before, args) = (before.args_within(around_before), self.args_within(around.args));
        args.changed_from(&before).next().is_none()
            || policy.reconfigure(&before, &Setup { args: &args, ..around.clone() }, fx)
    }

    /// [`Policy::identities`](super::Policy::identities) of the policy inside of one with the arguments `around`.
    pub fn identities(&self, capacity: u32, around: &Args) -> u64 {
        self.entry.asks.identities(&self.args_within(around), capacity)
    }

    /// [`Policy::weighs`](super::Policy::weighs) of the policy inside of one with the arguments `around`.
    pub fn weighs(&self, around: &Args) -> bool {
        self.entry.asks.weighs(&self.args_within(around))
    }

    /// [`Policy::view`](super::Policy::view) of the policy inside of one with the arguments `around`.
    pub fn view(&self, capacity: u32, around: &Args) -> Result<View, SpecError> {
        self.entry.asks.view(&self.args_within(around), capacity)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.entry.info;
        // A positional argument needs its key where one before it is left out.
        let keyless = |place: usize, index: usize| place == index && info.params[index].kind.is_positional();
        let write = |(place, (index, value)): (usize, &(usize, Argument))| match value {
            Argument::Apps(_) => value.to_string(),
            _ if keyless(place, *index) => value.to_string(),
            _ => format!("{}={value}", info.params[*index].key),
        };
        write_call(f, info.name, self.given.iter().enumerate().map(write))
    }
}

impl PartialEq for PolicySpec {
    fn eq(&self, other: &PolicySpec) -> bool {
        self.entry.info.name == other.entry.info.name && self.given == other.given
    }
}

fn unknown_policy(spec: &Spec, catalog: &Catalog) -> SpecError {
    let names = catalog.all().flat_map(|entry| [entry.info.name].into_iter().chain(entry.info.aliases.iter().copied()));
    let near = nearest(&spec.name, names);
    let guess = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    let place = spec.at.0.start..spec.at.0.start + spec.name.len();
    SpecError::new(format!("unknown policy {}: {guess}run `hotset policies` for the list", quote(&spec.name))).at(place)
}
