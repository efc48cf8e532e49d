//! Which policies the tests look at: all, or those that the environment variable `HOTSET_POLICIES` names; and which of
//! their parameters.

use std::env;

use hotset_core::policy::{Entry, Info};
use hotset_core::registry;
use rayon::prelude::*;

/// The entries of the registry that `HOTSET_POLICIES` names, split by commas, or all if it is not set. Panics at a name
/// that the registry does not have: a test of nothing would pass.
pub fn selected() -> Vec<&'static Entry> {
    let Ok(names) = env::var("HOTSET_POLICIES") else { return registry::all().collect() };
    let find = |name: &str| {
        let known = || registry::all().map(|entry| entry.info.name).collect::<Vec<_>>().join(", ");
        registry::find(name).unwrap_or_else(|| panic!("HOTSET_POLICIES names {name:?}; known are {}", known()))
    };
    names.split(',').map(str::trim).map(find).collect()
}

/// Those of them that replace blocks of a single cache.
pub fn policies() -> impl Iterator<Item = &'static Entry> {
    let is_policy = |entry: &&Entry| registry::ENTRIES.iter().any(|policy| policy.info.name == entry.info.name);
    selected().into_iter().filter(is_policy)
}

/// True if tests look at the policy with this canonical name.
pub fn is_selected(name: &str) -> bool {
    selected().iter().any(|entry| entry.info.name == name)
}

/// What `check` gives for each of the items, worked out on all cores.
pub fn on_all_cores<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    check: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    items.into_iter().collect::<Vec<_>>().into_par_iter().with_max_len(1).map(check).collect()
}

/// Parameters that say what the host does or measures; no test here depends on them.
const OF_THE_HOST: &[&str] = &["points", "prefetch", "profile", "steps"];

/// Parameters that say what a cache is shown of each request, and not what becomes of the blocks.
const OF_THE_VIEW: &[&str] = &["atime", "cutoff", "lookup", "pieces"];

/// Keys of the parameters on which the hits of a policy depend, whatever it is shown.
pub fn keys_of_replacement(info: &Info) -> impl Iterator<Item = &'static str> + use<> {
    let keys = info.params.iter().map(|param| param.key);
    keys.filter(|key| !OF_THE_HOST.contains(key) && !OF_THE_VIEW.contains(key))
}

/// Keys of the parameters that say what a policy is shown.
pub fn keys_of_the_view(info: &Info) -> impl Iterator<Item = &'static str> + use<> {
    info.params.iter().map(|param| param.key).filter(|key| OF_THE_VIEW.contains(key))
}
