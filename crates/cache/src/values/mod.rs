//! A cache of a program's own objects, by keys, under any policy of the registry.
//!
//! Idea: the same host and the same policies as for blocks of files, with values where those have frames. A reference
//! is what finds a value, or puts one in: a program that gets a key, misses, and inserts what it has found or computed,
//! refers to the key once. So on the keys of a trace hits and misses are those that the simulator counts for the policy
//! at this capacity, which a test compares.
//!
//! Weights. If values have different weights, as many stay as fit. A policy that supports weights receives them; for
//! any other, the cache adjusts the number of entries as values are admitted and evicted.
//!
//! Lives. A value may be inserted for a time. A reference after its end removes it first and misses, as the simulator
//! does for traces with times to live. Until then it takes its place. Values without an end cost nothing for this.
//!
//! Cost: a reference is a hash of the key and a call of the policy; with weights, a miss also resizes the policy.
//! Memory: some tens of bytes for each value, and only the key for each ghost.

mod entries;
mod key_index;
mod leaving;

use std::borrow::Borrow;
use std::hash::Hash;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use hotset_core::policy::{self, Args, Outcome, PolicySpec, Reference, Setting, Slot};
use hotset_core::view::View;

use crate::error::CacheError;
use crate::values::key_index::KeyIndex;
use crate::values::leaving::Leaving;
use entries::{NEVER, Objects, SEED, is_of};
use hotset_core::host::room::{self, Room, Weighed};
use hotset_core::host::{Build, Hosted};

/// A cache of values by keys. One thread uses it at a time: several put it behind a lock.
///
/// ```
/// let mut cache = hotset_cache::Cache::with_weights("s3-fifo", 1 << 20, |_, page: &Vec<u8>| page.len() as u64)?;
/// cache.insert("/index", vec![0; 4000]);
/// assert_eq!((cache.len(), cache.weight()), (1, 4000));
/// # Ok::<(), hotset_cache::CacheError>(())
/// ```
pub struct Cache<K, V> {
    hosted: Hosted<Objects<K, V>>,
    spec: PolicySpec,
    limit: Limit<K, V>,
    /// The time, for values that have an end.
    clock: Box<Clock>,
    /// The value that has left by the reference that found it.
    lent: Option<V>,
    hits: u64,
    misses: u64,
}

/// Tells the time since some beginning.
type Clock = dyn Fn() -> Duration + Send;

type Weigh<K, V> = dyn Fn(&K, &V) -> u64 + Send;

/// How much may be there.
enum Limit<K, V> {
    /// So many values.
    Values(u32),
    /// Values that weigh so much together.
    Weight { weigh: Box<Weigh<K, V>>, room: Room },
}

/// A key that will be referred to soon, with its value.
struct Ahead<K, V> {
    hash: u64,
    key: K,
    value: V,
    /// The slot that it may have.
    guess: Option<Slot>,
}

/// The values and their policy.
struct Kept<'a, K, V>(&'a mut Hosted<Objects<K, V>>);

impl<K: Hash + Eq, V> Weighed for Kept<'_, K, V> {
    fn weight(&self) -> u64 {
        self.0.host.payload.weight
    }

    fn resident(&self) -> u32 {
        self.0.policy.len()
    }

    fn resize(&mut self, entries: u32) {
        self.0.resize(entries);
        self.0.admit_wanted();
        // The policy's prefetches cannot be served: only the caller inserts values.
        self.0.host.missing.clear();
    }

    fn drop_any(&mut self) -> bool {
        let Some(slot) = self.0.host.payload.any() else { return false };
        self.0.host.payload.take(slot);
        self.0.remove(slot);
        true
    }
}

impl<K: Hash + Eq, V> Cache<K, V> {
    /// An empty cache of at most `capacity` values, under a policy as `hotset policies` lists them, perhaps with
    /// arguments: `"lru"`, `"s3-fifo(small=20%)"`. Fails if there is no such policy, or if it cannot run here: it must
    /// know the future, or the kinds of files.
    pub fn new(policy: &str, capacity: u32) -> Result<Cache<K, V>, CacheError> {
        let spec = PolicySpec::parse(policy)?.set_in(Setting::Serving);
        let hosted = policy_for(&spec, capacity, false)?;
        Ok(Cache { hosted, spec, limit: Limit::Values(capacity), clock: watch(), lent: None, hits: 0, misses: 0 })
    }

    /// An empty cache whose values weigh at most `capacity` together; `weigh` gives the weight of each, in bytes or
    /// whatever counts, when it is inserted. The policy keeps as many as that are.
    pub fn with_weights(
        policy: &str,
        capacity: u64,
        weigh: impl Fn(&K, &V) -> u64 + Send + 'static,
    ) -> Result<Cache<K, V>, CacheError> {
        let spec = PolicySpec::parse(policy)?.set_in(Setting::Serving);
        let args = arguments(&spec);
        let (begun, weighs) = room::begun_with(capacity, |capacity| spec.entry().requirements(&args, capacity))?;
        let hosted = policy_for(&spec, begun, true)?;
        let room = Room::new(capacity, weighs, |entries| policy_for::<K, V>(&spec, entries, true).is_ok());
        let limit = Limit::Weight { weigh: Box::new(weigh), room };
        Ok(Cache { hosted, spec, limit, clock: watch(), lent: None, hits: 0, misses: 0 })
    }

    /// Replaces the clock for values that have an end: it returns the time since any fixed moment. The default is the
    /// time since the cache was made.
    pub fn with_clock(self, clock: impl Fn() -> Duration + Send + 'static) -> Cache<K, V> {
        Cache { clock: Box::new(clock), ..self }
    }

    /// The value of a key, if it is there. That is a reference; a key that is not there is referred to once it is
    /// inserted.
    pub fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.lent = None;
        self.expire(key);
        let slot = self.objects().find(key)?;
        self.objects().value(slot)?;
        let weight = self.objects().weight_of(slot);
        if !self.refer(slot, weight, false) {
            // It has left by this very reference.
            let left = &mut self.objects_mut().left;
            let place = left.iter().position(|(of, _)| *of == slot)?;
            self.lent = Some(left.swap_remove(place).1);
        }
        self.objects_mut().left.clear();
        self.lent.as_ref().or_else(|| self.objects().value(slot))
    }

    /// The value of a key, if it is there, without a reference.
    pub fn peek<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let slot = self.objects().find(key)?;
        self.objects().value(slot).filter(|_| !self.has_ended(slot))
    }

    /// Puts a value in, which is a reference, and gives the one that the key had. The policy may decide not to keep it;
    /// one that weighs more than the capacity is not kept either.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.insert_until(key, value, NEVER)
    }

    /// The same for a value that ends after `life`: from then on the key is not there.
    pub fn insert_for(&mut self, key: K, value: V, life: Duration) -> Option<V> {
        let end = (self.clock)().saturating_add(life);
        self.insert_until(key, value, end)
    }

    fn insert_until(&mut self, key: K, value: V, end: Duration) -> Option<V> {
        self.lent = None;
        self.expire(&key);
        let is_there = self.peek(&key).is_some();
        let weight = match &mut self.limit {
            Limit::Values(_) => 1,
            Limit::Weight { weigh, room } => {
                let weight = weigh(&key, &value);
                if !room.admits(weight) {
                    return self.remove(&key);
                }
                // Before the key has its slot: an eviction may take a ghost's slot with it.
                let told = Reference { bytes: in_32_bits(weight), ..Reference::default() };
                if !is_there && self.hosted.policy.selective().is_none_or(|policy| policy.keeps(&told)) {
                    room.make(weight, &mut Kept(&mut self.hosted));
                }
                weight
            }
        };
        let slot = self.objects_mut().slot(key);
        let old = self.objects_mut().take(slot);
        if self.refer(slot, weight, is_there) {
            self.objects_mut().put(slot, value, weight);
        }
        // Also where the value is not kept: the policy may remember the key.
        self.objects_mut().set_end(slot, end);
        self.shrink();
        self.objects_mut().left.clear();
        old
    }

    /// Refers to a key once: true if its value is there. If not, `value` is put in, as [`insert`](Cache::insert) does.
    pub fn access(&mut self, key: K, value: V) -> bool {
        if let Limit::Weight { .. } = self.limit {
            let is_there = self.get(&key).is_some();
            if !is_there {
                self.insert(key, value);
            }
            return is_there;
        }
        self.lent = None;
        self.expire(&key);
        let slot = self.objects_mut().slot(key);
        self.access_slot(slot, value)
    }

    /// [`access`](Cache::access) for keys one after the other, each with its value: tells which of them were there.
    /// Faster than as many calls where much is kept: keys are looked for some ahead, so that the processor waits for
    /// memory less often.
    pub fn access_many(&mut self, pairs: impl IntoIterator<Item = (K, V)>) -> Vec<bool> {
        let mut pairs = pairs.into_iter();
        let mut hits = Vec::with_capacity(pairs.size_hint().0);
        if matches!(self.limit, Limit::Weight { .. }) || !self.objects().ends.is_empty() {
            hits.extend(pairs.map(|(key, value)| self.access(key, value)));
            return hits;
        }
        self.lent = None;
        self.objects_mut().leaving = Some(Leaving::new());
        let mut ahead = Vec::with_capacity(AHEAD);
        loop {
            ahead.extend(pairs.by_ref().take(AHEAD).map(|(key, value)| Ahead {
                hash: self.objects().seek(&key),
                key,
                value,
                guess: None,
            }));
            if ahead.is_empty() {
                self.objects_mut().settle_all();
                self.objects_mut().left.clear();
                return hits;
            }
            ahead.iter_mut().for_each(|ahead| ahead.guess = self.guess(ahead.hash));
            for Ahead { hash, key, value, guess } in ahead.drain(..) {
                // References since then may have given the key another slot, or none.
                let slot = match guess {
                    Some(slot) if is_of(&self.objects().entries, slot, &key) && !self.objects().is_forgotten(slot) => {
                        slot
                    }
                    _ => self.objects_mut().slot_by(hash, key),
                };
                self.objects_mut().settle(slot);
                hits.push(self.access_slot(slot, value));
            }
        }
    }

    /// The slot that the key of this hash may have; fetches the data that a reference to it will need.
    fn guess(&self, hash: u64) -> Option<Slot> {
        let slot = self.objects().index.find(hash, |_| true)?;
        self.objects().fetch(slot);
        self.hosted.policy.prefetch(slot);
        Some(slot)
    }

    /// Refers to a slot once: true if its value is there. If not, `value` is put in.
    fn access_slot(&mut self, slot: Slot, value: V) -> bool {
        let is_there = self.objects().value(slot).is_some();
        if self.refer(slot, 1, false) && !is_there {
            self.objects_mut().put(slot, value, 1);
        }
        if !is_there {
            self.objects_mut().set_end(slot, NEVER);
        }
        self.objects_mut().left.clear();
        is_there
    }

    /// Keys and values that are there, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let known = (0..).zip(&self.objects().entries).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)));
        let lasting = known.filter(|&(slot, _)| !self.has_ended(slot));
        lasting.filter_map(|(_, entry)| Some((&entry.key, entry.value.as_ref()?)))
    }

    /// Takes out all values that have ended and returns their number. They take their places until a reference to their
    /// key or this call.
    pub fn remove_ended(&mut self) -> usize {
        self.lent = None;
        let now = (self.clock)();
        let objects = self.objects();
        let with_end = (0..objects.ends.len() as Slot).filter(|&slot| objects.has_ended(slot, now));
        let ended: Vec<Slot> = with_end.filter(|&slot| objects.value(slot).is_some()).collect();
        ended.iter().for_each(|&slot| self.remove_slot(slot));
        ended.len()
    }

    /// Takes a value out; the policy forgets the key.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.lent = None;
        self.expire(key);
        let slot = self.objects().find(key)?;
        let value = self.objects_mut().take(slot);
        self.hosted.remove(slot);
        value
    }

    /// True if the value of a slot has ended.
    fn has_ended(&self, slot: Slot) -> bool {
        !self.objects().ends.is_empty() && self.objects().has_ended(slot, (self.clock)())
    }

    /// Takes out the value of a key if it has ended. The policy forgets the key, also where only that is left of it.
    #[inline]
    fn expire<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if !self.objects().ends.is_empty()
            && let Some(slot) = self.objects().find(key)
            && self.has_ended(slot)
        {
            self.remove_slot(slot);
        }
    }

    fn remove_slot(&mut self, slot: Slot) {
        self.objects_mut().take(slot);
        self.hosted.remove(slot);
    }

    /// Changes the capacity, in values or in their total weight. Values that no longer fit are evicted in the policy's
    /// order.
    pub fn resize(&mut self, capacity: u64) -> Result<(), CacheError> {
        match &mut self.limit {
            Limit::Weight { room, .. } => {
                if !room.resize(capacity, &mut Kept(&mut self.hosted)) {
                    return Err(CacheError::Weight(capacity));
                }
            }
            Limit::Values(values) => {
                let entries = u32::try_from(capacity).unwrap_or(u32::MAX);
                // What could not be built so is refused.
                policy_for::<K, V>(&self.spec, entries, false)?;
                Kept(&mut self.hosted).resize(entries);
                *values = entries;
            }
        }
        self.lent = None;
        self.objects_mut().left.clear();
        Ok(())
    }

    /// Values that are there, and those that have ended and were not taken out yet.
    pub fn len(&self) -> usize {
        self.objects().len
    }

    /// True if nothing is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The total weight of the values; without weights their number.
    pub fn weight(&self) -> u64 {
        self.objects().weight
    }

    /// References that found their key resident, and those that did not, as a simulation counts them.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    fn objects(&self) -> &Objects<K, V> {
        &self.hosted.host.payload
    }

    fn objects_mut(&mut self) -> &mut Objects<K, V> {
        &mut self.hosted.host.payload
    }

    /// References a slot whose value weighs so much; true if it is kept.
    fn refer(&mut self, slot: Slot, weight: u64, write: bool) -> bool {
        // Halves of a hash: none is the neighbour of another.
        let identity = self.objects().entries[slot as usize].as_ref().map_or(0, |entry| entry.identity);
        let (file, block) = ((identity >> 32) as u32, identity as u32);
        let object = Some(policy::Object::of_file(slot));
        let mut reference = Reference { time: self.hosted.tick(), file, block, write, object, ..Reference::default() };
        if let Limit::Weight { room, .. } = &self.limit {
            reference.bytes = in_32_bits(weight);
            reference.weight = room.weight(weight);
        }
        let (outcome, is_kept) = self.hosted.access(slot, reference);
        self.hosted.do_work();
        let count = if outcome == Outcome::Hit { &mut self.hits } else { &mut self.misses };
        *count += 1;
        // The policy's prefetches cannot be served: only the caller inserts values.
        self.hosted.host.missing.clear();
        is_kept
    }

    /// Has values leave until all fit.
    fn shrink(&mut self) {
        if let Limit::Weight { room, .. } = &mut self.limit {
            room.shrink(0, &mut Kept(&mut self.hosted));
        }
    }

    /// Recounts every structure from scratch and panics on a broken invariant. For tests.
    pub fn validate(&self) {
        self.hosted.policy.validate();
        let Objects { index, entries, len, weight, left, .. } = self.objects();
        let known = || (0..).zip(entries).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)));
        let with_value = || known().filter(|(_, entry)| entry.value.is_some());
        assert_eq!((index.len(), with_value().count()), (known().count(), *len));
        assert_eq!(with_value().map(|(slot, _)| self.objects().weight_of(slot)).sum::<u64>(), *weight);
        let most = match &self.limit {
            Limit::Values(values) => u64::from(*values),
            Limit::Weight { room, .. } => room.capacity,
        };
        assert!(*weight <= most && left.is_empty());
        assert!(with_value().all(|(slot, _)| self.hosted.policy.contains(slot)), "what is there is resident");
    }
}

/// Bytes as a reference tells them.
fn in_32_bits(weight: u64) -> u32 {
    u32::try_from(weight).unwrap_or(u32::MAX)
}

/// Arguments whose sizes count values, or what they weigh.
fn arguments(spec: &PolicySpec) -> Args {
    spec.args(Some(1))
}

/// A policy for so many values, or what it is begun with for values of some weight.
fn policy_for<K: Hash + Eq, V>(
    spec: &PolicySpec,
    capacity: u32,
    in_bytes: bool,
) -> Result<Hosted<Objects<K, V>>, CacheError> {
    if !(1..=1 << 31).contains(&capacity) {
        return Err(CacheError::Values(capacity.into()));
    }
    let args = arguments(spec);
    let build = Build { spec, args: &args, capacity, in_bytes, seed: SEED, apps: &[], costs: false, load: false };
    let requirements = build.requirements()?;
    if requirements.view != View::default() {
        return Err(CacheError::Kinds { policy: spec.to_string() });
    }
    let keys = requirements.identities.min(u64::from(capacity) * 4);
    if keys > MOST_KEYS {
        return Err(CacheError::Keys { policy: spec.to_string(), keys, most: MOST_KEYS });
    }
    Hosted::new(&build, |_| {
        let (index, hasher) = (KeyIndex::new(), RandomState::default());
        Ok(Objects {
            index,
            hasher,
            entries: Vec::new(),
            weights: Vec::new(),
            ends: Vec::new(),
            free: Vec::new(),
            left: Vec::new(),
            leaving: None,
            len: 0,
            weight: 0,
        })
    })
}

/// A clock that begins now.
fn watch() -> Box<Clock> {
    let begin = Instant::now();
    Box::new(move || begin.elapsed())
}

/// So many keys are looked for ahead.
const AHEAD: usize = 32;

/// The limit of the policies' queues.
const MOST_KEYS: u64 = 1 << 27;
