//! A cache divided among applications, each with a separate policy: the body of [`equal`](super::equal),
//! [`qos`](super::qos) and [`ucp`](super::ucp).
//!
//! A block belongs to the application that referred to it first, until that one's policy forgets it: others hit it
//! there. An application arrives with its first reference and has left when it did not refer for so many intervals; it
//! may come back. Then, and whenever it is due, the cache is partitioned again: parts that shrink evict by their own
//! order before others grow. If there are more applications than blocks, the last to come have none, and their
//! references go past the cache.

use super::interval_timer::IntervalTimer;
use super::slot_map::{PartEffects, PartMap, SlotMap};
use crate::allocate::targets::Grant;
use crate::policy::dynamic::DynPolicy;
use crate::policy::{
    App, Args, Effects, HitRates, Info, Interval, Needs, Nested, Note, Outcome, PartRoom, Policy, PolicySpec,
    Profiling, Reconfigure, Reference, Repartition, Requirements, Setup, Slot, Target,
};
use crate::schemes::of_plain;
use crate::spec::SpecError;

/// What tells one divided cache from another. Parts are numbered in the order in which applications came.
pub trait Divider: Sized + Send + 'static {
    /// Name, parameters and texts. A parameter `policy` names the policy of each part.
    const INFO: Info;
    /// The interval between two partitionings; `None` if only arrivals and departures cause one.
    fn interval(args: &Args) -> Result<Option<Interval>, SpecError>;
    /// [`Requirements::profiling`].
    fn profiling(_args: &Args, _capacity: u32) -> Option<Profiling> {
        None
    }
    /// The parameters, besides `interval`, that can change while the cache is in use.
    const CHANGEABLE: &[&str] = &[];
    /// Takes other arguments of these parameters, which [`new`](Divider::new) would accept.
    fn reconfigure(&mut self, _args: &Args, _apps: &[App]) {}
    /// Without applications. `apps` is the host's prior knowledge of them.
    fn new(args: &Args, capacity: u32, apps: &[App]) -> Result<Self, SpecError>;
    /// An application comes, the next part is its own.
    fn arrive(&mut self, app: u32);
    /// The application of `part` referred to a block.
    fn note(&mut self, part: usize, reference: &Reference, hit: bool);
    /// Divides `capacity` among the parts in `live`, a grant for each in their order; the sum is at most the capacity.
    /// `rooms` is what each part has now, by part; `is_due` says that an interval is over, and not only that
    /// an application came or left.
    fn divide(&mut self, capacity: u32, live: &[usize], rooms: &[u32], is_due: bool) -> Vec<Grant>;
    /// The promise to the application of `part`, if there is one, and its state.
    fn standing(&self, _part: usize) -> Option<Standing> {
        None
    }
    /// The known facts of the application of `part`: [`HitRates::points`]. Empty if nothing is kept.
    fn table(&self, _part: usize) -> Vec<(u32, f64)> {
        Vec::new()
    }
}

/// A promise and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The hit rate in percent that was promised.
    pub goal: f64,
    /// The rate that was reached when it was last looked at; `None` before.
    pub reached: Option<f64>,
    /// Blocks with which it is taken to be kept; `None` if no size is known to do.
    pub needs: Option<u32>,
}

/// Intervals without a reference after which an application has left.
const AWAY: u32 = 30;

/// The scheme.
pub struct Applications<D> {
    divider: D,
    capacity: u32,
    args: Args,
    seed: u64,
    /// [`Setup::costs`].
    costs: bool,
    slot_map: SlotMap,
    parts: Vec<Part>,
    part_of: PartMap,
    timer: Option<IntervalTimer>,
    /// Arguments have changed since the room was divided last.
    is_changed: bool,
}

/// A host that ignores it when the block that is being referenced is forgotten by a part that shrinks: it will be
/// known again, or refused, at once.
struct Spare<'a, E> {
    slot: Slot,
    fx: &'a mut E,
}

impl<E: Effects> Nested for Spare<'_, E> {
    type Host = E;

    #[inline(always)]
    fn host(&self) -> &E {
        self.fx
    }

    #[inline(always)]
    fn host_mut(&mut self) -> &mut E {
        self.fx
    }

    fn on_forget(&mut self, slot: Slot) {
        if slot != self.slot {
            self.fx.forget(slot);
        }
    }
}

/// The part of one application.
struct Part {
    app: u32,
    policy: Box<dyn DynPolicy>,
    /// Slots for which the policy has room.
    slots: u32,
    /// Blocks that may be resident.
    room: u32,
    /// Intervals that passed since the application referred last.
    idle: u32,
    /// [`Target::below_since`].
    below_since: Option<(u64, u64)>,
}

impl<D: Divider> Policy for Applications<D> {
    const INFO: Info = Info { needs: Needs::EVERYTHING, ..D::INFO };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let inner = setup.args.policy("policy");
        if inner.is_offline() {
            let (around, name) = (D::INFO.name, inner.info().name);
            return Err(SpecError::new(format!(
                "{around} cannot be put around {name}, which must know the future of its part: give a policy that does not, such as lru"
            )));
        }
        let scheme = Applications {
            divider: D::new(setup.args, setup.capacity, setup.apps)?,
            capacity: setup.capacity,
            args: setup.args.clone(),
            seed: setup.seed,
            costs: setup.costs,
            slot_map: SlotMap::new(setup.slots),
            parts: Vec::new(),
            part_of: PartMap::default(),
            timer: D::interval(setup.args)?.map(IntervalTimer::new),
            is_changed: false,
        };
        scheme.policy(setup.capacity)?;
        Ok(scheme)
    }

    /// Parts together know no more than one cache of the capacity, and what is remembered by each of them besides.
    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let policy = args.policy("policy");
        let (inner, least) = (of_plain(D::INFO.name, policy, args, capacity)?, policy.requirements(1, args)?);
        Ok(Requirements {
            identities: inner.identities.saturating_add(u64::from(capacity).saturating_mul(least.identities)),
            profiling: D::profiling(args, capacity),
            reads_ahead: super::reads_ahead(args) || inner.reads_ahead,
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let part = self.part(&reference, &mut Spare { slot, fx });
        let outcome = self.refer(part, slot, reference, fx);
        if !reference.ahead {
            self.divider.note(part, &reference, outcome == Outcome::Hit);
        }
        outcome
    }

    fn prefetch(&self, _slot: Slot) {}

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if let Some((part, number)) = self.slot_map.find(slot) {
            self.parts[part].policy.remove(number, &mut PartEffects { part, slot_map: &mut self.slot_map, fx });
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.divide(&Reference::default(), false, fx);
    }

    fn grow(&mut self, slots: u32) {
        self.slot_map.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.slot_map.find(slot).is_some_and(|(part, number)| self.parts[part].policy.contains(number))
    }

    fn len(&self) -> u32 {
        self.parts.iter().map(|part| part.policy.len()).sum()
    }

    fn validate(&self) {
        self.slot_map.validate();
        let rooms: u64 = self.parts.iter().map(|part| u64::from(part.room)).sum();
        assert!(rooms <= u64::from(self.capacity), "the parts exceed the capacity");
        for part in &self.parts {
            part.policy.validate();
            assert!(part.policy.len() <= part.room, "a part exceeds its room");
        }
    }
}

impl<D: Divider> Reconfigure for Applications<D> {
    /// Tables, counts, curves and the order of each part stay. The next reference divides the room anew.
    fn reconfigure(&mut self, before: &Args, setup: &Setup, _fx: &mut dyn Effects) -> bool {
        let takes = |key: &str| key == "interval" || D::CHANGEABLE.contains(&key);
        if !setup.args.changed_from(before).all(takes) {
            return false;
        }
        if setup.args.changed_from(before).any(|key| key == "interval") {
            self.timer = D::interval(setup.args).expect("new accepts the same arguments").map(IntervalTimer::new);
        }
        self.divider.reconfigure(setup.args, setup.apps);
        self.args = setup.args.clone();
        self.is_changed = true;
        true
    }
}

impl<D: Divider> Applications<D> {
    /// The policy of a part.
    fn policy(&self, capacity: u32) -> Result<Box<dyn DynPolicy>, SpecError> {
        let setup = Setup { costs: self.costs, ..Setup::new(&self.args, capacity, 0, self.seed) };
        let spec: &PolicySpec = self.args.policy("policy");
        spec.build(capacity, &setup)
    }

    /// The part of the application that refers now. Divides the room if it has just come, or if that is due.
    #[inline(always)]
    fn part(&mut self, reference: &Reference, fx: &mut impl Effects) -> usize {
        let is_due = !reference.ahead && self.timer.as_mut().is_some_and(|timer| timer.is_due(reference));
        let known = self.part_of.find(reference.app);
        let part = known.unwrap_or_else(|| self.arrive(reference.app));
        let is_back = self.parts[part].idle >= AWAY;
        self.parts[part].idle = 0;
        if is_due || is_back || known.is_none() || self.is_changed {
            if is_due {
                self.parts.iter_mut().for_each(|part| part.idle = part.idle.saturating_add(1));
            }
            self.divide(reference, is_due, fx);
        }
        part
    }

    #[cold]
    fn arrive(&mut self, app: u32) -> usize {
        let policy = self.policy(1).expect("new built the same policy");
        self.parts.push(Part { app, policy, slots: 0, room: 0, idle: 0, below_since: None });
        self.slot_map.add_part();
        self.divider.arrive(app);
        self.part_of.add(app)
    }

    /// References `slot` on behalf of the application of `part`.
    #[inline(always)]
    fn refer(&mut self, part: usize, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let home = self.slot_map.find(slot);
        let part = home.map_or(part, |(part, _)| part);
        if self.parts[part].room == 0 {
            if home.is_none() {
                fx.forget(slot);
            }
            return Outcome::Bypassed;
        }
        let number = home.map_or_else(|| self.slot_map.insert(part, slot), |(_, number)| number);
        let at = &mut self.parts[part];
        if number >= at.slots {
            at.slots = number.saturating_add(number / 2).saturating_add(64);
            at.policy.grow(at.slots);
        }
        at.policy.access(number, reference, &mut PartEffects { part, slot_map: &mut self.slot_map, fx })
    }

    /// Divides the room among the applications that are there.
    #[cold]
    fn divide(&mut self, reference: &Reference, is_due: bool, fx: &mut impl Effects) {
        self.is_changed = false;
        let live: Vec<usize> = (0..self.parts.len()).filter(|&part| self.parts[part].idle < AWAY).collect();
        let rooms: Vec<u32> = self.parts.iter().map(|part| part.room).collect();
        let decided = self.divider.divide(self.capacity, &live, &rooms, is_due);
        let mut rooms = vec![0; self.parts.len()];
        live.iter().zip(&decided).for_each(|(&part, grant)| rooms[part] = grant.blocks);
        for grows in [false, true] {
            for (part, &room) in rooms.iter().enumerate() {
                let now = self.parts[part].room;
                if room != now && (room > now) == grows {
                    self.resize_part(part, room, fx);
                }
            }
        }
        let room = |(&part, grant): (&usize, &Grant)| PartRoom {
            app: self.parts[part].app,
            blocks: grant.blocks,
            target: self.divider.standing(part).map(|standing| (standing.goal * 1e4).round() as u32),
            is_infeasible: grant.is_flagged,
        };
        let parts = live.iter().zip(&decided).map(room).collect();
        let targets = live.iter().filter_map(|&part| self.promise(part, reference)).collect();
        fx.note(&Note::Division(&Repartition { time: reference.time, clock: reference.clock, parts, targets }));
        for part in live {
            let points = self.divider.table(part);
            if !points.is_empty() {
                fx.note(&Note::HitRates(&HitRates { app: self.parts[part].app, points: &points }));
            }
        }
    }

    /// How the promise to the application of `part` stands now, if there is one.
    fn promise(&mut self, part: usize, reference: &Reference) -> Option<Target> {
        let standing = self.divider.standing(part)?;
        let Part { app, below_since, .. } = &mut self.parts[part];
        let is_below = standing.reached.is_some_and(|reached| reached < standing.goal);
        *below_since = is_below.then(|| below_since.unwrap_or((reference.time, reference.clock)));
        Some(Target { app: *app, needs: standing.needs, below_since: *below_since })
    }

    fn resize_part(&mut self, part: usize, room: u32, fx: &mut impl Effects) {
        let at = &mut self.parts[part];
        at.room = room;
        at.policy.resize(room.max(1), &mut PartEffects { part, slot_map: &mut self.slot_map, fx });
        if room == 0 {
            let held: Vec<u32> = self.slot_map.numbers(part).filter(|&number| at.policy.contains(number)).collect();
            for number in held {
                fx.evict(self.slot_map.slot(part, number));
                at.policy.remove(number, &mut PartEffects { part, slot_map: &mut self.slot_map, fx });
            }
        }
    }
}
