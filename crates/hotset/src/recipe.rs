//! What the shards of a cache are built from.

use hotset_core::host::room::{self, Room};
use hotset_core::host::{Build, Refusal};
use hotset_core::policy::{App, Args, Hits, PolicySpec, Requirements, Setup};
use hotset_core::view::View;

use crate::engine::Engine;
use crate::entries::Columns;
use crate::error::SetupError;
use crate::hits::EVENTS;

/// The maximum number of keys in the queues of a policy.
const MOST_KEYS: u64 = 1 << 27;
/// Capacities that are tried as the smallest one.
const FEW: u32 = 64;

/// The policy of a cache, and what its shards keep of values.
pub(crate) struct Recipe {
    pub spec: PolicySpec,
    args: Args,
    pub apps: Vec<App>,
    pub weighs: bool,
    pub idles: bool,
    /// Events of a shard's log of hits, if its policy sees hits.
    pub log_events: usize,
    learns: bool,
}

/// A policy that was built.
pub(crate) struct Made<P> {
    pub policy: P,
    pub slots: u32,
    pub hits: Hits,
    pub room: Option<Room>,
}

impl Recipe {
    /// A recipe. Fails if the policy cannot run here.
    pub fn new<P: Engine>(spec: PolicySpec, apps: Vec<App>, weighs: bool, idles: bool) -> Result<Recipe, SetupError> {
        let args = spec.args(Some(1));
        let mut recipe = Recipe { spec, args, apps, weighs, idles, log_events: EVENTS, learns: false };
        recipe.learns = recipe.make::<P>(u64::from(FEW), 0)?.policy.learning_mut().is_some();
        Ok(recipe)
    }

    /// True if the policy computes outside of references.
    pub fn learns(&self) -> bool {
        self.learns
    }

    /// True if the policy decides best over the whole cache: it learns, or divides the capacity among tenants.
    pub fn is_whole(&self) -> bool {
        self.learns || self.spec.info().needs.app
    }

    pub fn columns(&self, hits: Hits) -> Columns {
        Columns { bits: hits == Hits::Bit, weights: self.weighs, uses: self.idles }
    }

    /// Fails if no shard can have this capacity.
    pub fn check<P: Engine>(&self, capacity: u64) -> Result<(), SetupError> {
        self.make::<P>(capacity, 0).map(|_| ())
    }

    /// Returns the smallest capacity in values that the policy accepts.
    pub fn least<P: Engine>(&self) -> u32 {
        (1..FEW).find(|&few| self.make::<P>(few.into(), 0).is_ok()).unwrap_or(FEW)
    }

    /// Builds the policy for a shard of this capacity.
    pub fn make<P: Engine>(&self, capacity: u64, seed: u64) -> Result<Made<P>, SetupError> {
        if !self.weighs {
            let entries = u32::try_from(capacity).map_err(|_| SetupError::Capacity(capacity))?;
            let (policy, slots, hits) = self.policy(entries, false, seed)?;
            return Ok(Made { policy, slots, hits, room: None });
        }
        if capacity == 0 {
            return Err(SetupError::Capacity(0));
        }
        let requirements = |capacity| {
            let requirements = self.spec.entry().requirements(&self.args, capacity)?;
            Ok(Requirements { weighs: requirements.weighs && P::MAY_WEIGH, ..requirements })
        };
        let (begun, weighs) = room::begun_with(capacity, requirements)?;
        let (policy, slots, hits) = self.policy(begun, true, seed)?;
        let room = Room::new(capacity, weighs, |entries| self.policy::<P>(entries, true, 0).is_ok());
        Ok(Made { policy, slots, hits, room: Some(room) })
    }

    fn policy<P: Engine>(&self, capacity: u32, in_bytes: bool, seed: u64) -> Result<(P, u32, Hits), SetupError> {
        if !(1..=1 << 31).contains(&capacity) {
            return Err(SetupError::Capacity(capacity.into()));
        }
        let Recipe { spec, args, apps, .. } = self;
        let build = Build { spec, args, capacity, in_bytes, seed, apps, costs: false, load: false };
        let requirements = build.requirements()?;
        if requirements.view != View::default() {
            return Err(SetupError::Kinds { policy: spec.to_string() });
        }
        let keys = requirements.identities.min(u64::from(capacity) * 4);
        if keys > MOST_KEYS && !in_bytes {
            return Err(SetupError::Keys { policy: spec.to_string(), keys, most: MOST_KEYS });
        }
        // A cache in bytes may hold few values: its policy grows with them.
        let slots = if in_bytes { 1024 } else { (keys + 1024).min(requirements.identities) as u32 };
        let setup = Setup { apps, weighs: in_bytes && P::MAY_WEIGH, ..Setup::new(args, capacity, slots, seed) };
        let policy = P::build(spec, &setup).map_err(Refusal::Spec)?;
        Ok((policy, slots, requirements.hits))
    }
}
