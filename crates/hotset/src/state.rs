//! The data of a shard below its lock: values, policy, capacity and loads under way.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Mutex as Unlocked;

use hotset_core::host::room::{Room, Weighed};
use hotset_core::policy::{Hits, Object, Outcome, Reference, Slot};

use crate::engine::Engine;
use crate::entries::{Entries, NEVER};
use crate::error::SetupError;
use crate::flight::Loads;
use crate::gone::Reason;
use crate::hits::HitLog;
use crate::recipe::Recipe;

/// Events ahead of the one that is replayed whose data is fetched into the processor's cache.
const AHEAD: usize = 4;

/// The data of a shard.
pub(crate) struct State<K, V, P> {
    pub host: Hosted<K, V, P>,
    limit: Limit,
    /// Hits that the policy has not seen.
    pub log: HitLog,
    pub loads: Loads<K, V>,
    pub counts: Counts,
}

/// The number of events of one shard, as far as an exclusive hold of the lock counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub hits: u64,
    pub inserts: u64,
    pub rejected: u64,
    pub expired: u64,
    pub dropped_events: u64,
}

/// The values and their policy.
pub(crate) struct Hosted<K, V, P> {
    pub entries: Entries<K, V>,
    /// Never locked: it is only used by an exclusive hold of the shard, and makes the policy `Sync`.
    policy: Unlocked<P>,
    /// Slots that the policy has memory for.
    slots: u32,
    /// Number of the next reference.
    time: u64,
    pub hits: Hits,
    learns: bool,
}

/// The capacity.
enum Limit {
    /// Values.
    Values { capacity: u32, least: u32 },
    /// Their total weight, without that of pinned values.
    Weight(Room),
}

/// The facts of one insertion.
pub(crate) struct Insert<K, V> {
    pub hash: u64,
    pub key: K,
    pub value: V,
    pub weight: u64,
    /// Nanoseconds until the value ends; [`NEVER`] if it does not.
    pub life: u64,
    /// The present time if values may end.
    pub now: u64,
    pub tenant: u32,
}

impl<K, V, P: Engine> Hosted<K, V, P> {
    pub fn policy(&mut self) -> &mut P {
        self.policy.get_mut().expect("it is never locked")
    }

    /// References a slot. Returns true if its value is resident from now on.
    #[inline(always)]
    fn refer(&mut self, slot: Slot, weight: u32, bytes: u64, write: bool, tenant: u32) -> bool {
        let Hosted { entries, policy, slots, time, learns, .. } = self;
        let policy = policy.get_mut().expect("it is never locked");
        if slot >= *slots {
            *slots = slot.saturating_add(slot / 2).saturating_add(64);
            policy.grow(*slots);
        }
        // Halves of a hash: none is the neighbour of another.
        let identity = entries.hash(slot);
        let reference = Reference {
            time: *time,
            file: (identity >> 32) as u32,
            block: identity as u32,
            app: tenant,
            write,
            object: Some(Object::of_file(slot)),
            weight,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            ..Reference::default()
        };
        *time += 1;
        let outcome = policy.access(slot, reference, entries);
        let is_kept = outcome != Outcome::Bypassed && policy.contains(slot);
        if *learns
            && let Some(learning) = policy.learning_mut()
            && let Some(work) = learning.take_work()
        {
            learning.finish_work(work());
        }
        is_kept
    }

    fn remove(&mut self, slot: Slot) {
        let Hosted { entries, policy, .. } = self;
        policy.get_mut().expect("it is never locked").remove(slot, entries);
    }

    fn set_capacity(&mut self, capacity: u32) {
        let Hosted { entries, policy, .. } = self;
        policy.get_mut().expect("it is never locked").resize(capacity, entries);
    }
}

impl<K, V, P: Engine> Weighed for Hosted<K, V, P> {
    fn weight(&self) -> u64 {
        self.entries.weight - self.entries.pinned_weight
    }

    fn resident(&self) -> u32 {
        self.policy.try_lock().expect("it is never locked").entries()
    }

    fn resize(&mut self, entries: u32) {
        self.set_capacity(entries);
    }

    fn drop_any(&mut self) -> bool {
        let entries = &mut self.entries;
        let any = entries.iter().map(|(slot, _)| slot).find(|slot| !entries.pinned.contains(slot));
        let Some(slot) = any else { return false };
        entries.evictions += u64::from(entries.take(slot, Reason::Capacity));
        self.remove(slot);
        true
    }
}

impl<K, V, P: Engine> State<K, V, P> {
    /// An empty shard of this capacity.
    pub fn new(recipe: &Recipe, capacity: u64, seed: u64) -> Result<State<K, V, P>, SetupError> {
        let made = recipe.make::<P>(capacity, seed)?;
        let limit = match made.room {
            Some(room) => Limit::Weight(room),
            None => Limit::Values { capacity: capacity as u32, least: recipe.least::<P>() },
        };
        let host = Hosted {
            entries: Entries::new(recipe.columns(made.hits)),
            policy: Unlocked::new(made.policy),
            slots: made.slots,
            time: 0,
            hits: made.hits,
            learns: recipe.learns(),
        };
        let log = HitLog::new(if made.hits == Hits::Order { recipe.log_events } else { 0 });
        Ok(State { host, limit, log, loads: Loads::default(), counts: Counts::default() })
    }

    /// Notes a hit. Returns true if the log should be replayed soon.
    #[inline(always)]
    pub fn hit(&self, slot: Slot, tenant: u32) -> bool {
        if self.host.hits == Hits::Bit {
            self.host.entries.mark(slot);
        }
        self.log.push(slot, tenant)
    }

    /// Shows the policy the hits that it has not seen.
    #[inline(always)]
    pub fn replay(&mut self) {
        let (hits, events) = self.log.begin();
        self.counts.hits += hits;
        if self.log.keeps_events() {
            self.counts.dropped_events += hits - events as u64;
            self.replay_events(events);
        }
    }

    fn replay_events(&mut self, events: usize) {
        for at in 0..events {
            if at + AHEAD < events {
                let (ahead, _) = self.log.event(at + AHEAD);
                self.host.policy().prefetch(ahead);
            }
            let (slot, tenant) = self.log.event(at);
            // An event before may have evicted it; a pinned value is none of the policy's.
            if self.host.entries.pair(slot).is_some() && !self.host.entries.pinned.contains(&slot) {
                let bytes = self.host.entries.weight_of(slot);
                let weight = self.units(bytes);
                if !self.host.refer(slot, weight, bytes, false, tenant) {
                    self.host.entries.evictions += u64::from(self.host.entries.take(slot, Reason::Capacity));
                }
            }
        }
    }

    /// Fetches the data of the key of a hash, as far as it is found without its key, into the processor's cache.
    pub fn fetch(&mut self, hash: u64) {
        if let Some(slot) = self.host.entries.fetch(hash) {
            self.host.policy().prefetch(slot);
        }
    }

    /// Returns the policy's weight for a weight.
    #[inline(always)]
    fn units(&self, weight: u64) -> u32 {
        match &self.limit {
            Limit::Values { .. } => 1,
            Limit::Weight(room) => room.weight(weight),
        }
    }

    /// Returns the slot of a key whose value is resident. Takes out a value that has ended.
    #[inline(always)]
    pub fn find<Q: Eq + ?Sized>(&mut self, hash: u64, key: &Q, now: u64, idle: u64) -> Option<Slot>
    where
        K: Borrow<Q>,
    {
        let slot = self.host.entries.find(hash, key)?;
        if self.host.entries.may_end() && self.host.entries.has_ended(slot, now, idle) {
            self.expire(slot);
            return None;
        }
        Some(slot)
    }

    /// Takes out a value that has ended.
    pub fn expire(&mut self, slot: Slot) {
        self.counts.expired += 1;
        self.take(slot, Reason::Expired);
    }

    /// Puts a value in where values count as one each, do not end, and none is pinned or loaded.
    #[inline(always)]
    fn insert_plain(&mut self, insert: Insert<K, V>) -> bool
    where
        K: Eq,
    {
        let Insert { hash, key, value, tenant, .. } = insert;
        self.counts.inserts += 1;
        let slot = self.host.entries.slot_of(hash, Some(&key));
        let is_replaced = self.host.entries.take(slot, Reason::Replaced);
        if self.host.refer(slot, 1, 1, is_replaced, tenant) {
            self.host.entries.put(slot, (key, value), 1, 0);
        } else {
            self.reject(key, value);
        }
        is_replaced
    }

    /// Puts a value in. Returns true if the key had one.
    pub fn insert(&mut self, insert: Insert<K, V>, idle: u64) -> bool
    where
        K: Hash + Eq,
    {
        let is_plain = matches!(self.limit, Limit::Values { .. }) && insert.life == NEVER && self.loads.is_empty();
        if is_plain && !self.host.entries.may_end() && self.host.entries.pinned.is_empty() {
            return self.insert_plain(insert);
        }
        let Insert { hash, key, value, weight, life, now, tenant } = insert;
        let end = if life < NEVER { now.saturating_add(life).min(NEVER - 1) } else { NEVER };
        let found = self.find(hash, &key, now, idle);
        if !self.loads.is_empty() {
            self.loads.detach(hash, &key);
        }
        self.counts.inserts += 1;
        let was_pinned = found.is_some_and(|slot| self.host.entries.pinned.contains(&slot));
        if let Some(slot) = found.filter(|_| was_pinned) {
            self.unpin(slot);
        }
        let found = found.filter(|&slot| self.host.entries.pair(slot).is_some());
        let reference =
            Reference { bytes: u32::try_from(weight).unwrap_or(u32::MAX), app: tenant, ..Reference::default() };
        if let Limit::Weight(room) = &mut self.limit {
            if !room.admits(weight) {
                if let Some(slot) = found {
                    self.take(slot, Reason::Replaced);
                }
                self.reject(key, value);
                return found.is_some();
            }
            // Before the key has its slot: an eviction may take a ghost's slot with it.
            if found.is_none() && self.host.policy().selective().is_none_or(|policy| policy.keeps(&reference)) {
                room.make(weight, &mut self.host);
            }
        }
        if found.is_none() && self.host.entries.may_end() {
            self.expire_ghost(hash, now);
        }
        let slot = found.unwrap_or_else(|| self.host.entries.slot_of(hash, None));
        let is_replaced = self.host.entries.take(slot, Reason::Replaced);
        let units = self.units(weight);
        let is_kept = self.host.refer(slot, units, weight, is_replaced, tenant);
        if is_kept {
            self.host.entries.put(slot, (key, value), weight, now);
        } else {
            self.reject(key, value);
        }
        self.host.entries.set_end(slot, end);
        if let Limit::Weight(room) = &mut self.limit {
            room.shrink(0, &mut self.host);
        }
        if was_pinned && is_kept && self.host.entries.pair(slot).is_some() {
            // Without space for it the value is resident, but not pinned.
            let _ = self.pin(slot);
        }
        is_replaced
    }

    /// Makes the policy forget the ghost of a value that has ended, as the simulator does.
    fn expire_ghost(&mut self, hash: u64, now: u64) {
        if let Some(slot) = self.host.entries.find_ghost(hash)
            && self.host.entries.has_ended(slot, now, NEVER)
        {
            self.host.remove(slot);
        }
    }

    fn reject(&mut self, key: K, value: V) {
        self.counts.rejected += 1;
        self.host.entries.gone.push(key, value, Reason::Rejected);
    }

    /// Takes a resident value out.
    pub fn take(&mut self, slot: Slot, reason: Reason) {
        self.host.entries.take(slot, reason);
        if self.host.entries.pinned.remove(&slot) {
            self.host.entries.free(slot);
            self.give_back(slot);
        } else {
            self.host.remove(slot);
        }
    }

    /// Keeps a resident value away from the policy. Fails if the others would have too little space.
    pub fn pin(&mut self, slot: Slot) -> Result<(), SetupError> {
        if self.host.entries.pinned.contains(&slot) {
            return Ok(());
        }
        let weight = self.host.entries.weight_of(slot);
        let fits = match &self.limit {
            Limit::Values { capacity, least } => *capacity > *least,
            Limit::Weight(room) => room.capacity > weight && room.admits(weight),
        };
        if !fits {
            return Err(SetupError::Pinned);
        }
        self.host.entries.pinned.insert(slot);
        self.host.entries.pinned_weight += weight;
        self.host.remove(slot);
        match &mut self.limit {
            Limit::Values { capacity, .. } => {
                *capacity -= 1;
                self.host.set_capacity(*capacity);
            }
            Limit::Weight(room) => {
                let less = room.capacity - weight;
                room.resize(less, &mut self.host);
            }
        }
        Ok(())
    }

    /// Gives a pinned value to the policy, which may evict it.
    pub fn unpin(&mut self, slot: Slot) {
        if !self.host.entries.pinned.remove(&slot) {
            return;
        }
        let weight = self.host.entries.weight_of(slot);
        self.give_back(slot);
        let units = self.units(weight);
        if !self.host.refer(slot, units, weight, false, 0) {
            self.host.entries.evictions += u64::from(self.host.entries.take(slot, Reason::Capacity));
        }
        if let Limit::Weight(room) = &mut self.limit {
            room.shrink(0, &mut self.host);
        }
    }

    /// Gives the space of a slot that is not pinned any more to the policy.
    fn give_back(&mut self, slot: Slot) {
        let weight = self.host.entries.weight_of(slot);
        self.host.entries.pinned_weight -= weight;
        match &mut self.limit {
            Limit::Values { capacity, .. } => {
                *capacity += 1;
                self.host.set_capacity(*capacity);
            }
            Limit::Weight(room) => {
                let more = room.capacity + weight;
                room.resize(more, &mut self.host);
            }
        }
    }

    /// Changes the capacity. [`Recipe::check`] must have accepted it.
    pub fn resize(&mut self, total: u64) -> Result<(), SetupError> {
        let pins = self.host.entries.pinned.len() as u32;
        match &mut self.limit {
            Limit::Values { capacity, least } => {
                let rest = (total as u32).checked_sub(pins).filter(|rest| rest >= least).ok_or(SetupError::Pinned)?;
                *capacity = rest;
                self.host.set_capacity(rest);
            }
            Limit::Weight(room) => {
                let rest = total
                    .checked_sub(self.host.entries.pinned_weight)
                    .filter(|&rest| rest > 0)
                    .ok_or(SetupError::Pinned)?;
                if !room.resize(rest, &mut self.host) {
                    return Err(SetupError::Weight(total));
                }
            }
        }
        Ok(())
    }

    /// Returns the capacity, that of pinned values included.
    pub fn capacity(&self) -> u64 {
        match &self.limit {
            Limit::Values { capacity, .. } => u64::from(*capacity) + self.host.entries.pinned.len() as u64,
            Limit::Weight(room) => room.capacity + self.host.entries.pinned_weight,
        }
    }

    /// Returns the weight of the heaviest value that fits.
    pub fn heaviest(&self) -> u64 {
        match &self.limit {
            Limit::Values { .. } => u64::MAX,
            Limit::Weight(room) => room.capacity,
        }
    }

    /// Recounts everything and panics on a broken invariant.
    pub fn validate(&mut self, hash: impl Fn(&K) -> u64) {
        self.host.policy().validate();
        self.host.entries.validate(hash);
        let capacity = self.capacity();
        let Hosted { entries, policy, .. } = &mut self.host;
        assert!(entries.weight <= capacity, "{} of {capacity}", entries.weight);
        let policy = policy.get_mut().expect("it is never locked");
        assert!(entries.iter().all(|(slot, _)| policy.contains(slot) != entries.pinned.contains(&slot)));
    }
}
