//! A spec whose name and keys were found in a table of policies. Cells of a grid are built from it.

use std::fmt;

use super::bind::bind;
use super::dynamic::DynPolicy;
use super::entry::{Catalog, Entry};
use super::{Args, Argument, Effects, Info, Requirements, Setting, Setup};
use crate::spec::{Spec, SpecError, Value, nearest, quote, write_call};

/// A registered policy with arguments for its parameters.
///
/// `Display` is the id in results. It has the canonical name, even if an alias was given, and the given arguments.
/// Defaults are not added and given arguments are not dropped. Arguments are in the order of declaration, formatted
/// as [`Value`](crate::spec::Value) formats them. Two specs with the same arguments therefore have the same id.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    entry: &'static Entry,
    /// The index of a parameter with its argument, sorted by index.
    given: Vec<(usize, Argument)>,
}

impl PolicySpec {
    /// Returns the policy of an entry with its defaults.
    pub fn of(entry: &'static Entry) -> PolicySpec {
        PolicySpec { entry, given: Vec::new() }
    }

    /// Looks up the name and the keys. The case of names is ignored.
    pub fn resolve(spec: &Spec, catalog: &'static Catalog) -> Result<PolicySpec, SpecError> {
        let entry = catalog.find(&spec.name.to_ascii_lowercase()).ok_or_else(|| unknown_policy(spec, catalog))?;
        Ok(PolicySpec { entry, given: bind(entry.info.params, &spec.args, catalog)? })
    }

    /// True if the policy, or a policy in it, requires the future.
    pub fn is_offline(&self) -> bool {
        self.entry.info.offline || self.given.iter().any(|(_, value)| value.policies().any(PolicySpec::is_offline))
    }

    /// Returns the policy for a setting. Parameters without an argument get the defaults of the setting
    /// ([`Info::serving`], [`Info::paging`]), also in inner policies.
    pub fn set_in(mut self, setting: Setting) -> PolicySpec {
        for (_, argument) in &mut self.given {
            if let Argument::Policy(inner) = argument {
                **inner = inner.as_ref().clone().set_in(setting);
            }
        }
        for &(key, default) in self.entry.info.defaults_in(setting) {
            let index = self.info().params.iter().position(|param| param.key == key).expect("a policy's own word");
            let value = Value::parse(default).expect("the registry test parses every default");
            if self.given.iter().all(|(own, _)| *own != index) {
                self.given.push((index, Argument::Value(value)));
            }
        }
        self.given.sort_by_key(|(index, _)| *index);
        self
    }

    /// Returns the policy with additional arguments, written as in a spec: `key=value, key=value`. They replace
    /// earlier arguments for the same parameters or applications.
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

    /// Returns the names of the applications in the spec, including those of inner policies.
    pub fn apps(&self) -> Vec<&str> {
        let arguments = || self.given.iter().map(|(_, argument)| argument);
        let here = arguments().filter_map(|argument| match argument {
            Argument::Apps(apps) => Some(apps.iter().map(|(name, _)| name.as_str())),
            _ => None,
        });
        let inside = arguments().flat_map(Argument::policies).flat_map(PolicySpec::apps);
        here.flatten().chain(inside).collect()
    }

    /// Returns the policy's entry in the registry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Returns the policy's name, parameters and descriptions.
    pub fn info(&self) -> &'static Info {
        self.entry.info
    }

    /// Returns the arguments with defaults filled in, for a cache with blocks of `block_bytes` bytes; `None` if
    /// blocks have no size in bytes.
    pub fn args(&self, block_bytes: Option<u64>) -> Args {
        let mut args = self.entry.defaults(block_bytes);
        for (index, value) in &self.given {
            args.put(*index, value.clone());
        }
        args
    }

    /// Returns the arguments with defaults filled in, for a policy inside one with the arguments `around`.
    pub fn args_within(&self, around: &Args) -> Args {
        self.args(around.block_bytes()).with_rules(around.rules().cloned()).over(around.run())
    }

    /// Builds the policy for `capacity` blocks inside another policy. The other parts of the setup are those of the
    /// outer policy.
    pub fn build(&self, capacity: u32, around: &Setup) -> Result<Box<dyn DynPolicy>, SpecError> {
        let args = self.args_within(around.args);
        self.entry.build(&Setup { capacity, args: &args, ..around.clone() })
    }

    /// Gives `policy` the arguments of this spec ([`Reconfigure`](super::Reconfigure)). `policy` was
    /// built from `before` inside a policy with the arguments `around_before`.
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
        let setup = Setup { args: &args, ..around.clone() };
        args.changed_from(&before).next().is_none()
            || policy.reconfigurable().is_some_and(|policy| policy.reconfigure(&before, &setup, fx))
    }

    /// [`Policy::requirements`](super::Policy::requirements) of the policy inside one with the arguments `around`.
    pub fn requirements(&self, capacity: u32, around: &Args) -> Result<Requirements, SpecError> {
        self.entry.requirements(&self.args_within(around), capacity)
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.entry.info;
        // A positional argument needs its key if an earlier one is omitted.
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
    let place = spec.at.0.start..spec.at.0.start + spec.name.len();
    if catalog.left_out.contains(&&*spec.name) {
        let name = quote(&spec.name);
        return SpecError::new(format!("this build has no policy {name}: build hotset with the feature `historic`"))
            .at(place);
    }
    let names = catalog.all().flat_map(|entry| [entry.info.name].into_iter().chain(entry.info.aliases.iter().copied()));
    let near = nearest(&spec.name, names);
    let guess = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    SpecError::new(format!("unknown policy {}: {guess}run `hotset policies` for the list", quote(&spec.name))).at(place)
}
