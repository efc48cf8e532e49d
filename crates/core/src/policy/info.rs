//! The static description of a policy: all that its name determines, before arguments and a capacity.

use super::Param;

/// The static description of a policy.
#[derive(Debug)]
pub struct Info {
    /// The name in specs and results.
    pub name: &'static str,
    /// Other names that specs accept.
    pub aliases: &'static [&'static str],
    /// Family under which `hotset policies` lists it: `simple`, `recency`, `frequency`, `adaptive`, `loop`, `optimal`…
    pub family: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// The parameters with their defaults.
    pub params: &'static [Param],
    /// True if the policy requires the future. Such a policy can be simulated but not run.
    pub offline: bool,
    /// The fields of references that it reads.
    pub needs: Needs,
    /// How one pass can compute the hits at every size; `None` if that is impossible.
    pub one_pass: Option<OnePass>,
    /// The parameters whose default differs in [`Setting::Serving`], with that default as a user would write it.
    pub serving: &'static [(&'static str, &'static str)],
    /// The same in [`Setting::Paging`].
    pub paging: &'static [(&'static str, &'static str)],
}

impl Info {
    /// A description without a name, of a policy without parameters that reads slot and time.
    pub const EMPTY: Info = Info {
        name: "",
        aliases: &[],
        family: "",
        summary: "",
        params: &[],
        offline: false,
        needs: Needs::NOTHING,
        one_pass: None,
        serving: &[],
        paging: &[],
    };

    /// Returns the parameters whose default differs in a setting, with that default.
    pub(super) fn defaults_in(&self, setting: Setting) -> &'static [(&'static str, &'static str)] {
        match setting {
            Setting::Serving => self.serving,
            Setting::Paging => self.paging,
        }
    }
}

/// The fields of [`Reference`](super::Reference) that a policy reads, besides slot and time. Hosts need not compute the
/// others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`Reference::file`](super::Reference::file) and [`Reference::block`](super::Reference::block).
    pub address: bool,
    /// [`Reference::group`](super::Reference::group).
    pub group: bool,
    /// [`Reference::app`](super::Reference::app).
    pub app: bool,
    /// [`Reference::app`](super::Reference::app) if the host knows it. Without it, all applications count as one.
    pub app_if_known: bool,
    /// [`Reference::write`](super::Reference::write).
    pub write: bool,
    /// [`Reference::class`](super::Reference::class).
    pub class: bool,
    /// [`Reference::clock`](super::Reference::clock).
    pub clock: bool,
    /// [`Reference::object`](super::Reference::object).
    pub object: bool,
    /// [`Reference::weight`](super::Reference::weight) and [`Reference::bytes`](super::Reference::bytes).
    pub size: bool,
    /// [`Reference::cost`](super::Reference::cost), and with it [`Reference::write`](super::Reference::write).
    pub cost: bool,
}

impl Needs {
    /// Slot and time are enough.
    pub const NOTHING: Needs = Needs {
        address: false,
        group: false,
        app: false,
        app_if_known: false,
        write: false,
        class: false,
        clock: false,
        object: false,
        size: false,
        cost: false,
    };
    /// All fields: for schemes that pass references to policies chosen at run time.
    pub const EVERYTHING: Needs = Needs {
        address: true,
        group: true,
        app: true,
        app_if_known: true,
        write: true,
        class: true,
        clock: true,
        object: true,
        size: true,
        cost: true,
    };
}

/// The order of blocks in a policy with the inclusion property: a larger cache holds every block that a smaller cache
/// holds. One pass over a trace then gives the hits at every size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnePass {
    /// By last use: the least recently used block leaves first.
    LastUse,
    /// By next use: the block whose next use is the furthest leaves first.
    NextUse,
    /// By last use, separately in each partition of a [`View`](crate::view::View).
    LastUseByPart,
}

/// Where a policy runs, if parameter defaults depend on it. The simulator of requests uses the defaults of [`Param`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Requests are served as they arrive. The length of the run and later requests are unknown.
    Serving,
    /// Pages of memory are fetched on faults. The host keeps an accessed bit for each page.
    Paging,
}
