//! demote(P, P, client=…): two levels, exclusive or inclusive, a client's cache above an array's.
//!
//! Idea: blocks that the client still holds need not be held again below it. A block that the client reads leaves the
//! array; a block that the client evicts is sent down ("demoted") and enters the array as if it were referenced there.
//! With admit=reused only those are sent down that hit since they came from storage, so that an array on an SSD is not
//! worn out by what is read once. With levels=inclusive a block that the client reads stays in the array as well, which
//! is informed of the read, and is not sent down again as long as it is there: less space, fewer transfers. These steps
//! are run on memory and a disk by `hotset mount`.
//!
//! Paper: Wong, Wilkes, "My cache or yours? Making storage more exclusive", USENIX ATC 2002.
//!
//! Deviations and readings: the array drops a block on a read at once (the paper puts it at the end that is evicted
//! next), so one client over LRU and LRU is exactly one LRU cache of the sum. A block that the client does not keep
//! stays in the array. A hit is a hit in either level. The array knows slot and time of what comes down, not file,
//! application or class. Inclusive levels here are not strictly so: blocks enter the array when they leave the client,
//! and a block that leaves the array stays in the client; a block that the client writes leaves the array, which has an
//! older version. The adaptive variant with ghosts for read and demoted blocks is not implemented.
//!
//! Cost: a client hit that of the client's policy; anything else that of both, with virtual calls. Every client
//! eviction costs a transfer between the levels, which hit ratios do not show; with levels=inclusive only that of a
//! block that the array lacks. Memory: that of both policies and three bits a slot.
//!
//! When not to use it: where the transfers down cost as much as reading from storage.

use std::collections::VecDeque;

use crate::parts::slot_set::SlotSet;
use crate::policy::dynamic::DynPolicy;
use crate::policy::{
    Args, Effects, Extra, Info, Needs, Nested, Outcome, Param, ParamKind, Policy, PolicySpec, Reference, Requirements,
    Setup, Slot,
};
use crate::schemes::of_plain;
use crate::spec::SpecError;

/// The scheme.
pub struct Demote {
    args: Args,
    capacity: u32,
    /// False if the client has the whole capacity, which is so for a cache of one block.
    has_array: bool,
    client: Level,
    array: Level,
    /// Blocks that hit, in whichever level, when they were referenced last.
    reused: SlotSet,
    /// Others are not sent down.
    only_reused: bool,
    /// A block may be in both levels.
    is_inclusive: bool,
}

/// One of the two caches.
struct Level {
    policy: Box<dyn DynPolicy>,
    /// Slots that the policy knows, resident or as ghosts.
    known: SlotSet,
    left: Left,
}

/// What left a level and is not dealt with yet.
#[derive(Default)]
struct Left {
    evicted: VecDeque<Slot>,
    forgotten: Vec<Slot>,
    fetched: Vec<(Slot, Extra)>,
}

impl Left {
    /// Takes an eviction back; false if there is none of this slot.
    fn cancel(&mut self, slot: Slot) -> bool {
        let place = self.evicted.iter().position(|&victim| victim == slot);
        place.is_some_and(|place| self.evicted.remove(place).is_some())
    }
}

/// Defers what a level does until the levels are settled; its questions and notes reach the host.
struct Deferring<'a, E> {
    left: &'a mut Left,
    fx: &'a mut E,
}

impl<E: Effects> Nested for Deferring<'_, E> {
    type Host = E;

    #[inline(always)]
    fn host(&self) -> &E {
        self.fx
    }

    #[inline(always)]
    fn host_mut(&mut self) -> &mut E {
        self.fx
    }

    /// A block that the level fetched at the same reference was not read yet.
    fn on_evict(&mut self, slot: Slot) {
        match self.left.fetched.iter().position(|&(fetched, _)| fetched == slot) {
            Some(place) => drop(self.left.fetched.remove(place)),
            None => self.left.evicted.push_back(slot),
        }
    }

    fn on_forget(&mut self, slot: Slot) {
        self.left.forgotten.push(slot);
    }

    /// A block that the level evicted at the same reference is still there.
    fn on_fetch(&mut self, slot: Slot, why: Extra) {
        if !self.left.cancel(slot) {
            self.left.fetched.push((slot, why));
        }
    }
}

impl Level {
    fn new(spec: &PolicySpec, capacity: u32, setup: &Setup) -> Result<Level, SpecError> {
        let policy = spec.build(capacity.max(1), setup)?;
        let left = Left {
            evicted: VecDeque::with_capacity(EVENTS),
            forgotten: Vec::with_capacity(EVENTS),
            fetched: Vec::with_capacity(EVENTS),
        };
        Ok(Level { policy, known: SlotSet::new(setup.slots), left })
    }

    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.known.insert(slot);
        self.policy.access(slot, reference, &mut Deferring { left: &mut self.left, fx })
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.policy.remove(slot, &mut Deferring { left: &mut self.left, fx });
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.policy.resize(capacity, &mut Deferring { left: &mut self.left, fx });
    }

    fn holds(&self, slot: Slot) -> bool {
        self.known.contains(slot) && self.policy.contains(slot)
    }
}

/// The array's fact of a block that comes down at a reference: the time.
fn at(reference: &Reference) -> Reference {
    Reference { time: reference.time, clock: reference.clock, ..Reference::default() }
}

/// Capacity for the blocks that one reference makes a level evict or forget; a policy that does more at once makes it
/// grow.
const EVENTS: usize = 64;

/// Blocks of client and array.
#[derive(Clone, Copy)]
struct Sizes {
    client: u32,
    array: u32,
}

impl Sizes {
    fn of(args: &Args, capacity: u32) -> Result<Sizes, SpecError> {
        let client = args.share("client", capacity)?.clamp(1, (capacity - 1).max(1));
        Ok(Sizes { client, array: capacity - client })
    }
}

impl Policy for Demote {
    const INFO: Info = Info {
        name: "demote",
        family: "composed",
        summary: "two levels: evicted blocks of the client are sent down to the array",
        params: &[
            Param { key: "upper", kind: ParamKind::Policy, default: "lru", doc: "the client's policy" },
            Param { key: "lower", kind: ParamKind::Policy, default: "lru", doc: "the array's policy" },
            Param { key: "client", kind: ParamKind::Share, default: "50%", doc: "the client's part of the capacity" },
            Param {
                key: "admit",
                kind: ParamKind::Word(&["all", "reused"]),
                default: "all",
                doc: "blocks that are sent down: all that the client evicts, or those referenced again since they came from storage",
            },
            Param {
                key: "levels",
                kind: ParamKind::Word(&["exclusive", "inclusive"]),
                default: "exclusive",
                doc: "blocks that the client reads leave the array, or stay there and are not sent down again",
            },
        ],
        needs: Needs::EVERYTHING,
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let sizes = Sizes::of(setup.args, setup.capacity)?;
        Ok(Demote {
            args: setup.args.clone(),
            capacity: setup.capacity,
            has_array: sizes.array > 0,
            client: Level::new(setup.args.policy("upper"), sizes.client, setup)?,
            array: Level::new(setup.args.policy("lower"), sizes.array, setup)?,
            reused: SlotSet::new(setup.slots),
            only_reused: setup.args.word("admit") == "reused",
            is_inclusive: setup.args.word("levels") == "inclusive",
        })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let sizes = Sizes::of(args, capacity)?;
        let of = |key, capacity: u32| of_plain("demote", args.policy(key), args, capacity.max(1));
        let (upper, lower) = (of("upper", sizes.client)?, of("lower", sizes.array)?);
        Ok(Requirements {
            identities: upper.identities.saturating_add(lower.identities),
            reads_ahead: upper.reads_ahead || lower.reads_ahead,
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let below = self.array.holds(slot);
        let outcome = self.client.access(slot, reference, fx);
        self.keep_held();
        match outcome {
            Outcome::Bypassed if below => drop(self.array.access(slot, reference, fx)),
            _ if below && (!self.is_inclusive || reference.write) => {
                self.array.remove(slot, fx);
            }
            Outcome::Admitted if below => drop(self.array.access(slot, at(&reference), fx)),
            _ => {}
        }
        match below || outcome == Outcome::Hit {
            true => self.reused.insert(slot),
            false => self.reused.remove(slot),
        }
        self.settle(&at(&reference), fx);
        if below { Outcome::Hit } else { outcome }
    }

    fn prefetch(&self, slot: Slot) {
        self.client.policy.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.client.remove(slot, fx);
        self.array.remove(slot, fx);
        self.settle(&Reference::default(), fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        let sizes = Sizes::of(&self.args, capacity).expect("new accepted the same arguments");
        self.capacity = capacity;
        self.has_array = sizes.array > 0;
        self.array.resize(sizes.array.max(1), fx);
        if !self.has_array {
            self.empty_array(fx);
        }
        self.pass_on(fx);
        self.client.resize(sizes.client, fx);
        self.keep_held();
        self.settle(&Reference::default(), fx);
    }

    fn grow(&mut self, slots: u32) {
        for level in [&mut self.client, &mut self.array] {
            level.known.grow(slots);
            level.policy.grow(slots);
        }
        self.reused.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.client.holds(slot) || self.array.holds(slot)
    }

    fn len(&self) -> u32 {
        let both = if self.is_inclusive { self.in_both().count() as u32 } else { 0 };
        self.client.policy.len() + self.array.policy.len() - both
    }

    fn validate(&self) {
        self.client.policy.validate();
        self.array.policy.validate();
        assert!(Policy::len(self) <= self.capacity, "the levels exceed the capacity");
        assert!(self.has_array || self.array.policy.len() == 0, "blocks in an array without room");
        assert!(self.is_inclusive || self.in_both().next().is_none(), "a block in both levels");
    }
}

impl Demote {
    /// Sends down what the client evicted and passes on what left the array or is not known in either level any more.
    fn settle(&mut self, now: &Reference, fx: &mut impl Effects) {
        self.pass_on(fx);
        while let Some(victim) = self.client.left.evicted.pop_front() {
            let enters = self.has_array && (!self.only_reused || self.reused.contains(victim));
            if enters {
                self.array.access(victim, *now, fx);
            }
            if !self.array.holds(victim) && !self.array.left.evicted.contains(&victim) {
                self.array.left.evicted.push_back(victim);
            }
            // At once: a block that the array forgets may be the next one to come down.
            self.pass_on(fx);
        }
        for slot in self.client.left.forgotten.drain(..) {
            self.client.known.remove(slot);
            if !self.array.known.contains(slot) {
                fx.forget(slot);
            }
        }
    }

    /// Blocks in the array of inclusive levels need not be sent down.
    fn keep_held(&mut self) {
        if self.is_inclusive {
            let array = &self.array;
            self.client.left.evicted.retain(|&victim| !array.holds(victim));
        }
    }

    /// Blocks that both levels hold.
    fn in_both(&self) -> impl Iterator<Item = Slot> + '_ {
        self.client.known.iter().filter(|&slot| self.client.holds(slot) && self.array.holds(slot))
    }

    /// Passes on what either level fetched. A block that the other level holds or has yet to give up is not read.
    fn pass_fetches(&mut self, fx: &mut impl Effects) {
        while let Some((slot, why)) = self.client.left.fetched.pop() {
            if self.array.left.cancel(slot) {
                continue;
            }
            match self.array.holds(slot) {
                false => fx.fetch(slot, why),
                true if self.is_inclusive => {}
                true => self.array.remove(slot, fx),
            }
        }
        while let Some((slot, why)) = self.array.left.fetched.pop() {
            match self.client.holds(slot) {
                false if self.client.left.evicted.contains(&slot) => {}
                false => fx.fetch(slot, why),
                true if self.is_inclusive => {}
                true => self.array.remove(slot, fx),
            }
        }
    }

    /// Passes on what the array did and what either level fetched.
    fn pass_on(&mut self, fx: &mut impl Effects) {
        self.pass_fetches(fx);
        let (client, is_inclusive) = (&self.client, self.is_inclusive);
        let gone = |victim: &Slot| !is_inclusive || !client.holds(*victim);
        self.array.left.evicted.drain(..).filter(gone).for_each(|victim| fx.evict(victim));
        for slot in self.array.left.forgotten.drain(..) {
            self.array.known.remove(slot);
            if !self.client.known.contains(slot) {
                fx.forget(slot);
            }
        }
    }

    /// Evicts the block that the array holds though it has no room.
    fn empty_array(&mut self, fx: &mut impl Effects) {
        let held: Vec<Slot> = self.array.known.iter().filter(|&slot| self.array.policy.contains(slot)).collect();
        for slot in held {
            self.array.left.evicted.push_back(slot);
            self.array.remove(slot, fx);
        }
    }
}
