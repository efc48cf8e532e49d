//! Settings of a cache.

use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use hotset_core::policy::{App, PolicySpec, Setting};
use hotset_core::spec::SpecError;

use crate::cache::sampler::Sampler;
use crate::cache::{Cache, Inner};
use crate::engine::{ByName, Engine, Typed};
use crate::error::SetupError;
use crate::gone::Reason;
use crate::hits::EVENTS;
use crate::recipe::Recipe;
use crate::shard::Shard;
use crate::state::State;

/// Returns the weight of a value.
pub(crate) type Weigher<K, V> = dyn Fn(&K, &V) -> u64 + Send + Sync;
/// Receives the values that leave.
pub(crate) type Listener<K, V> = dyn Fn(K, V, Reason) + Send + Sync;
/// Returns the time since some beginning.
pub(crate) type Clock = dyn Fn() -> Duration + Send + Sync;

/// Seed of the first shard's random numbers: the simulator's.
const SEED: u64 = 1;
/// Values that a shard has at least, if the number of shards is not set.
const LEAST_VALUES: u64 = 512;
/// Weight that a shard has at least, if the number of shards is not set.
const LEAST_WEIGHT: u64 = 4 << 20;
const MOST_SHARDS: usize = 1024;

/// Settings of a [`Cache`] that is to be built.
pub struct Builder<K, V, P = ByName> {
    spec: Result<PolicySpec, SpecError>,
    capacity: u64,
    weigher: Option<Box<Weigher<K, V>>>,
    shards: Option<usize>,
    life: Option<Duration>,
    idle: Option<Duration>,
    clock: Box<Clock>,
    listener: Option<Box<Listener<K, V>>>,
    tenants: Vec<App>,
    hash_seed: u64,
    log_events: usize,
    is_sampled: bool,
    policy: PhantomData<fn() -> P>,
}

impl<K, V> Builder<K, V> {
    /// Settings for a policy as `hotset policies` lists them, perhaps with arguments.
    pub(crate) fn named(policy: &str) -> Builder<K, V> {
        Builder::of(PolicySpec::parse(policy))
    }
}

impl<K, V, P> Builder<K, V, P> {
    pub(crate) fn typed() -> Builder<K, V, P>
    where
        P: Typed,
    {
        Builder::of(Ok(PolicySpec::of(P::ENTRY)))
    }

    fn of(spec: Result<PolicySpec, SpecError>) -> Builder<K, V, P> {
        let begin = Instant::now();
        Builder {
            spec: spec.map(|spec| spec.set_in(Setting::Serving)),
            capacity: 1000,
            weigher: None,
            shards: None,
            life: None,
            idle: None,
            clock: Box::new(move || begin.elapsed()),
            listener: None,
            tenants: Vec::new(),
            hash_seed: RandomState::new().hash_one(0),
            log_events: EVENTS,
            is_sampled: false,
            policy: PhantomData,
        }
    }

    /// Sets arguments of the policy, as in `"small=20%"`. They replace those of its name.
    pub fn arguments(self, arguments: &str) -> Self {
        Builder { spec: self.spec.and_then(|spec| spec.with(arguments)), ..self }
    }

    /// Sets the capacity: a number of values, or their total weight if the cache has a [weigher](Builder::weigher). The
    /// default is 1000.
    pub fn capacity(self, capacity: u64) -> Self {
        Builder { capacity, ..self }
    }

    /// Gives values a weight each, in bytes or any other unit. It is asked once for each insertion, outside of locks.
    pub fn weigher(self, weigher: impl Fn(&K, &V) -> u64 + Send + Sync + 'static) -> Self {
        Builder { weigher: Some(Box::new(weigher)), ..self }
    }

    /// Sets the number of shards, a power of two. Each has an equal part of the capacity, its own lock and its own
    /// policy. By default there are four for each processor, but each has at least 512 values, or 4 Mi of weight. A
    /// policy that learns or divides the capacity among tenants has one shard by default. With one shard and one
    /// thread, hits are exactly those of the simulator for policies that evict only at misses.
    pub fn shards(self, shards: usize) -> Self {
        Builder { shards: Some(shards), ..self }
    }

    /// Ends values this long after their insertion, unless the insertion says otherwise.
    pub fn time_to_live(self, life: Duration) -> Self {
        Builder { life: Some(life), ..self }
    }

    /// Ends values this long after their last use.
    pub fn time_to_idle(self, idle: Duration) -> Self {
        Builder { idle: Some(idle), ..self }
    }

    /// Replaces the clock for values that end. It returns the time since any fixed moment; the default is the time
    /// since the builder was made.
    pub fn clock(self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Builder { clock: Box::new(clock), ..self }
    }

    /// Receives each value that leaves, with its key and the reason. It is called outside of locks, so it may use the
    /// cache.
    pub fn listener(self, listener: impl Fn(K, V, Reason) + Send + Sync + 'static) -> Self {
        Builder { listener: Some(Box::new(listener)), ..self }
    }

    /// Names the tenants among which schemes such as `qos` and `equal` divide the capacity. A tenant's number is its
    /// place in this list.
    pub fn tenants<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Builder { tenants: names.into_iter().map(App::from).collect(), ..self }
    }

    /// Sets the seed of key hashes, so that runs can be repeated. By default it is random, which makes it hard to
    /// choose keys that collide.
    pub fn hash_seed(self, seed: u64) -> Self {
        Builder { hash_seed: seed, ..self }
    }

    /// Sets the hits that a shard logs before its policy sees them, 1 to 4096; 64 by default. With 1, each hit locks
    /// the shard exclusively soon after, and a policy that evicts at hits decides as in the simulator.
    pub fn log_events(self, events: usize) -> Self {
        Builder { log_events: events.clamp(1, 4096), ..self }
    }

    /// Keeps a sample of the references, for [`curve`](Cache::curve) and [`what_if`](Cache::what_if).
    pub fn sampled(self) -> Self {
        Builder { is_sampled: true, ..self }
    }
}

impl<K: Hash + Eq, V, P: Engine> Builder<K, V, P> {
    /// Builds the cache. Fails if there is no such policy, if the policy cannot run here (it must know the future, or
    /// kinds of files), or if a setting is not possible.
    pub fn build(self) -> Result<Cache<K, V, P>, SetupError> {
        let mut recipe = Recipe::new::<P>(self.spec?, self.tenants, self.weigher.is_some(), self.idle.is_some())?;
        recipe.log_events = self.log_events;
        let shards = match self.shards {
            Some(shards) if shards.is_power_of_two() && shards <= MOST_SHARDS => shards,
            Some(shards) => return Err(SetupError::Shards { shards }),
            None if recipe.is_whole() => 1,
            None => default_shards(self.capacity, recipe.weighs),
        };
        let build = |shard: usize| {
            let capacity = share(self.capacity, shards, shard);
            Ok(Shard::new(State::new(&recipe, capacity, SEED + shard as u64)?))
        };
        let built: Vec<_> = (0..shards).map(build).collect::<Result<_, SetupError>>()?;
        let nanos = |time: Option<Duration>| time.map_or(u64::MAX, in_nanos);
        let sampler = self.is_sampled.then(|| Sampler::new(self.capacity, recipe.weighs));
        Ok(Cache::of(Inner {
            hasher: FixedState::with_seed(self.hash_seed),
            mask: shards as u64 - 1,
            shards: built.into(),
            life: nanos(self.life),
            idle: nanos(self.idle),
            clock: self.clock,
            weigher: self.weigher,
            listener: self.listener,
            sampler,
            tenants: recipe.apps.iter().map(|_| Default::default()).collect(),
            recipe,
            loads: Default::default(),
            waits: Default::default(),
            #[cfg(feature = "record")]
            recorder: Default::default(),
        }))
    }
}

/// Returns a time in nanoseconds.
pub(crate) fn in_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1)
}

/// Returns the capacity of one shard.
pub(crate) fn share(capacity: u64, shards: usize, shard: usize) -> u64 {
    let (all, shard) = (shards as u64, shard as u64);
    capacity / all + u64::from(shard < capacity % all)
}

fn default_shards(capacity: u64, weighs: bool) -> usize {
    let least = if weighs { LEAST_WEIGHT } else { LEAST_VALUES };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = (4 * processors).next_power_of_two().min(MOST_SHARDS);
    let by_size = usize::try_from(capacity / least).unwrap_or(MOST_SHARDS).max(1);
    // Rounded down to a power of two.
    most.min(1 << by_size.ilog2())
}
