//! What a policy requires of its host.

use super::PolicySpec;
use crate::view::View;

/// The requirements of a policy with its arguments and capacity.
///
/// A policy states only what differs from [`Requirements::of`]. A scheme that gives another policy the whole cache and
/// every reference states what differs from the requirements of that policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirements {
    /// The view of the requests.
    pub view: View,
    /// The maximum number of blocks, resident and ghost, that the cache tracks at once, including the referenced block.
    /// Hosts that reuse slots need that many slots. `u64::MAX` means that only the trace bounds the number.
    pub identities: u64,
    /// The requirement for a reference to a resident block; it does not depend on the capacity. Below [`Hits::Order`],
    /// a host may call [`access`](super::Policy::access) only for blocks that are not resident. It sets the accessed
    /// bit of each resident block that is referenced. The policy reads these bits by
    /// [`Effects::take_accessed`](super::Effects::take_accessed), and combines them with its own. Victims are the same
    /// either way.
    pub hits: Hits,
    /// True if the capacity, shares of it and [`len`](super::Policy::len) are sums of
    /// [`Reference::weight`](super::Reference::weight), so that blocks of many sizes share the capacity by size; it
    /// does not depend on the capacity. For other policies, the host converts bytes into a number of entries
    /// ([`Room`](crate::host::room::Room)).
    pub weighs: bool,
    /// The hit rates of each application that must be known in advance. A host that cannot measure them leaves
    /// [`App::profile`](super::App::profile) empty.
    pub profiling: Option<Profiling>,
    /// True if the host must read ahead for sequential readers.
    pub reads_ahead: bool,
}

impl Requirements {
    /// The requirements of a policy without ghosts that sees every reference and counts blocks of one size.
    pub fn of(capacity: u32) -> Requirements {
        Requirements {
            view: View::default(),
            identities: u64::from(capacity) + 1,
            hits: Hits::Order,
            weighs: false,
            profiling: None,
            reads_ahead: false,
        }
    }

    /// These requirements with so many ghosts; `None` if only the trace bounds their number.
    pub fn with_ghosts(self, ghosts: Option<u32>) -> Requirements {
        let identities = ghosts.map_or(u64::MAX, |ghosts| self.identities + u64::from(ghosts));
        Requirements { identities, ..self }
    }
}

/// The requirement of a policy for a reference to a resident block, ordered from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hits {
    /// Nothing: only misses change what the policy does.
    Nothing,
    /// A bit of the block must be set. The policy tests and clears the bits when it looks for a victim.
    Bit,
    /// A call of [`Policy::access`](super::Policy::access): the policy orders blocks by every use, or counts uses.
    Order,
}

/// The hit rates that a policy requires for each application in advance: the application alone, under one policy, at
/// several sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Profiling {
    /// The host must measure them.
    Alone {
        /// The policy.
        policy: PolicySpec,
        /// Its sizes in blocks.
        sizes: Vec<u32>,
    },
    /// They were measured earlier. The host must read them from a file.
    Read {
        /// The policy.
        policy: PolicySpec,
        /// The file: result rows as JSON Lines.
        file: String,
    },
}
