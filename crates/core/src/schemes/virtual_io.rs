//! virtual(P, ...): the cache holds those pieces of a much longer queue that are hit most.
//!
//! Idea: a queue far longer than the cache, of ids only, is kept in the order of P. Hits are counted by position, a
//! megabyte at a time. Every so many references the positions that are worth most are mapped to memory, in a few runs:
//! where a program loops over more than the cache holds, that is a run far down the queue, where its blocks come by
//! just before they are wanted. With several applications each has a separate queue, and a megabyte goes from one to
//! another where it is worth more there.
//!
//! Paper: Frasca, Prabhakar, Raghavan, Kandemir, "Virtual I/O caching: dynamic storage cache management for concurrent
//! workloads", SC 2011 (VRM, VPA, G-VPA; POLICIES 1.1).
//!
//! Deviations and readings. A reference hits if the position that its block had before P moved it is mapped. Then the
//! blocks that slid over the borders of runs leave or are read in, so that memory holds what stands at mapped positions
//! and nothing else. A missed block whose new position is not mapped is not kept. One quantum holds for all
//! applications. At its end every application is weighed with one unit less, as many and one more; units move by the
//! best choice for the sum, each application by at most one unit; all are mapped anew; then all values fade by `alpha`.
//! The paper does not say whether its 2,000 requests are those of all applications or of each: `quantum=2000` is the
//! former, `quantum=2000/app` the latter. An application gets its share of units when it comes, from those that have
//! most, and has left after 30 consecutive quanta without a reference. The unit is 1 MB, or less where the cache has
//! not 32 of them, unless it is given; a rest that does not fill a unit is not used. A block belongs to the application
//! that referred to it first, as long as its queue remembers it.
//!
//! Not in the paper but in its outlook: `quantum=auto` follows the load of the storage, the share of the last quantum
//! in which it was busy. A quantum has 2,000 references, or as many as the cache has blocks. A block that is read
//! without a request costs as much of a hit as the load is. So a run is mapped only if it hits more than that costs; it
//! stays mapped until another one gains more than reading it costs; and `alpha` is the load: idle storage allows to
//! follow at once, busy storage slowly. At full load only the head is mapped, which is P. A mount measures the load of
//! its source; a recording does not hold it, so a replay may decide otherwise. Hosts that do not know the load refuse
//! `quantum=auto`: simulations without a storage model, `hotset steer`, and caches of a program's values.
//! `objective=fair` and `promise` move units for another goal than the sum of hits; the latter sees one unit ahead as
//! the rest does, and no cliff behind.
//!
//! Where the mapped runs are not at the head this is a prefetcher: each reference beyond a run reads a block into it
//! without a request (`fragment_reads`), and a new mapping reads what it holds (`allocation_reads`). Look at hit ratios
//! and extra reads together: on a loop, misses become extra reads, one for one.
//!
//! Cost: that of P, and a look-up of a position and of the blocks at the borders that moved: O(log n), or a scan of
//! counts that is as short. The end of a quantum costs O(n log n) for each queue of n units, on the path of a
//! reference. Memory: that of P for the whole virtual queue, 24 bytes a block with LRU.
//!
//! When not to use it: where the disk is busy, since it saves waiting, not reading (but see `quantum=auto`); where hits
//! are spread thin over the queue, it is P.

mod quantum;
mod vrm;

use std::ops::Range;

use self::quantum::Quanta;
use self::vrm::{Settings, Side, Vrm};

use crate::allocate::moves::{self, Stake};
use crate::families::promised::app_named;
use crate::policy::{
    App, Args, Argument, Effects, Info, Needs, Note, Outcome, Param, ParamKind, PartRoom, Policy, PolicySpec,
    Reconfigure, Reference, Repartition, Requirements, Setup, Slot,
};
use crate::schemes::of_plain;
use crate::schemes::slot_map::{PartMap, SlotMap};
use crate::spec::SpecError;

/// Bytes of a unit of the paper, and its blocks where blocks have no size.
const UNIT_BYTES: u64 = 1 << 20;
const UNIT_BLOCKS: u64 = 256;
/// A cache has so many units at least, unless the unit is given.
const FEWEST_UNITS: u32 = 32;
/// An application has left after so many consecutive quanta without a reference.
const AWAY: u64 = 30;

/// The scheme.
pub struct VirtualIo {
    args: Args,
    seed: u64,
    /// Settings of single applications, by number.
    own: Vec<(u32, PolicySpec)>,
    capacity: u32,
    /// Blocks of a unit.
    unit: u32,
    /// Units of the cache.
    units: usize,
    slot_map: SlotMap,
    part_of: PartMap,
    queues: Vec<Vrm>,
    /// Units go where they shorten what applications wait for, each by its own measure.
    is_fair: bool,
    quanta: Quanta,
}

const POLICY: Param = Param {
    key: "policy",
    kind: ParamKind::Policy,
    default: "lru",
    doc: "the order of the virtual queue: lru, lfu, arc or 2q",
};

impl Policy for VirtualIo {
    const INFO: Info = Info {
        name: "virtual",
        aliases: &["vio"],
        family: "application",
        summary: "maps the pieces of a long virtual queue that are hit most, for each application",
        params: &[
            POLICY,
            Param {
                key: "alpha",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0.95",
                doc: "the share of a value that remains after a quantum (paper: 0.95); at most, with quantum=auto",
            },
            Param {
                key: "quantum",
                kind: ParamKind::Quantum,
                default: "2000",
                doc: "references of all applications after which all are mapped anew (paper: 2000 requests); 2000/app: of each live application; 1s: a time; auto: quantum, alpha and fragments follow the load of the storage",
            },
            Param {
                key: "fragments",
                kind: ParamKind::Count { min: 1, max: 1 << 20 },
                default: "2",
                doc: "most runs that are mapped (paper: 2)",
            },
            Param {
                key: "objective",
                kind: ParamKind::Word(&["hits", "fair"]),
                default: "hits",
                doc: "what units are moved for: the sum of hits (paper), or fair speed-ups: hits by the share of its misses that an application is spared",
            },
            Param {
                key: "promise",
                kind: ParamKind::Real { min: 0.0, max: 1.0 },
                default: "0",
                doc: "the share of its references that an application is promised to hit: units go there first",
            },
            Param {
                key: "queue",
                kind: ParamKind::Share,
                default: "1G",
                doc: "the virtual queue of each application, in bytes or blocks (paper: 1G); 262144 blocks where they have no size",
            },
            Param {
                key: "unit",
                kind: ParamKind::Share,
                default: "1M",
                doc: "bytes or blocks that are mapped and moved together (paper: 1M); 256 blocks where they have no size",
            },
            Param {
                key: "APP",
                kind: ParamKind::AppPolicies,
                default: "",
                doc: "applications with settings of their own, by their names: a policy (lu=lfu), or all of it (lu=virtual(lfu,alpha=0.5))",
            },
        ],
        needs: Needs::EVERYTHING,
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut scheme = VirtualIo {
            args: setup.args.clone(),
            seed: setup.seed,
            own: own_settings(setup.args, setup.apps)?,
            capacity: setup.capacity,
            unit: 1,
            units: 0,
            slot_map: SlotMap::new(setup.slots),
            part_of: PartMap::default(),
            queues: Vec::new(),
            is_fair: setup.args.word("objective") == "fair",
            quanta: Quanta::new(setup.args.quantum("quantum")),
        };
        scheme.quanta.fit(0, setup.capacity);
        scheme.unit = scheme.unit_blocks()?;
        scheme.units = (scheme.capacity / scheme.unit) as usize;
        scheme.own.iter().map(|(app, _)| *app).chain([u32::MAX]).try_for_each(|app| scheme.vrm(app).map(drop))?;
        Ok(scheme)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let mut reads_ahead = false;
        for policy in args.policies().filter(|policy| policy.info().name != Self::INFO.name) {
            reads_ahead |= of_plain("virtual", policy, args, capacity)?.reads_ahead;
        }
        Ok(Requirements { identities: u64::MAX, reads_ahead, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if self.quanta.has_ended(reference.clock) {
            self.end_quantum(&reference, fx);
        }
        let part = match self.part_of.find(reference.app) {
            Some(part) if !self.queues[part].is_away => part,
            known => self.arrive(known, &reference, fx),
        };
        self.quanta.count();
        self.queues[part].last = self.quanta.number;
        let (part, number) = self.slot_map.find(slot).unwrap_or_else(|| (part, self.slot_map.insert(part, slot)));
        let Self { queues, slot_map, unit, .. } = self;
        queues[part].access(number, *unit, reference, &mut Side { part, slot_map, fx })
    }

    fn prefetch(&self, _slot: Slot) {}

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if let Some((part, number)) = self.slot_map.find(slot) {
            let Self { queues, slot_map, .. } = self;
            queues[part].remove(number, &mut Side { part, slot_map, fx });
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        let unit = self.unit_blocks().expect("new accepted the same arguments");
        let units = (capacity / unit) as usize;
        if unit != self.unit {
            self.unit = unit;
            self.queues.iter_mut().for_each(|queue| queue.begin(unit));
        }
        self.units = units;
        self.fit_quantum();
        self.share_anew();
        self.install(&Reference::default(), &(0..self.queues.len()).collect::<Vec<_>>(), fx);
    }

    fn grow(&mut self, slots: u32) {
        self.slot_map.grow(slots);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.slot_map.find(slot).is_some_and(|(part, number)| self.queues[part].resident.contains(number))
    }

    fn len(&self) -> u32 {
        self.queues.iter().map(|queue| queue.len).sum()
    }

    fn validate(&self) {
        self.slot_map.validate();
        assert!(self.queues.iter().map(|queue| queue.units).sum::<usize>() <= self.units, "more units than there are");
        for (part, queue) in self.queues.iter().enumerate() {
            queue.policy.validate();
            queue.validate(self.slot_map.numbers(part), self.unit);
        }
    }
}

impl Reconfigure for VirtualIo {
    /// Queues, values and the order of each queue stay. The end of the quantum goes by the new arguments.
    fn reconfigure(&mut self, before: &Args, setup: &Setup, _fx: &mut dyn Effects) -> bool {
        if !setup.args.differs_only_in(before, &["alpha", "promise"]) {
            return false;
        }
        self.args = setup.args.clone();
        for part in 0..self.queues.len() {
            let queue = self.vrm(self.queues[part].app).expect("new accepts the same arguments");
            self.queues[part].settings = queue.settings;
        }
        true
    }
}

impl VirtualIo {
    /// Blocks of a unit.
    fn unit_blocks(&self) -> Result<u32, SpecError> {
        let (asked, most) = match self.args.is_given("unit") {
            true => (u64::from(self.args.share("unit", self.capacity)?), self.capacity),
            false => {
                let asked = self.args.block_bytes().map_or(UNIT_BLOCKS, |block| UNIT_BYTES / block);
                (asked, self.capacity / FEWEST_UNITS)
            }
        };
        Ok(asked.clamp(1, u64::from(most.max(1))) as u32)
    }

    /// An empty queue for this application.
    fn vrm(&self, app: u32) -> Result<Vrm, SpecError> {
        let own = self.own.iter().find(|(known, _)| *known == app).map(|(_, spec)| spec);
        let (spec, args) = match own {
            Some(spec) if spec.info().name == Self::INFO.name => {
                let args = spec.args_within(&self.args);
                if let Some(key) = ["quantum", "unit", "objective", "APP"].into_iter().find(|key| args.is_given(key)) {
                    return Err(SpecError::new(format!(
                        "{spec} sets {key} for one application, but it holds for all: give it outside of the application"
                    )));
                }
                (args.policy("policy").clone(), args)
            }
            Some(spec) => (spec.clone(), self.args.clone()),
            None => (self.args.policy("policy").clone(), self.args.clone()),
        };
        let policy = spec.build(1, &Setup::new(&args, 1, 0, self.seed))?.into_ranked();
        let ordered = policy.and_then(|mut policy| policy.keep_order().then_some(policy));
        let Some(policy) = ordered else {
            return Err(SpecError::new(format!(
                "virtual cannot be put around {spec}, which keeps no order of positions: expected lru, lfu, arc or 2q"
            )));
        };
        Ok(Vrm::new(app, policy, Settings::of(&args)?, self.unit))
    }

    /// Gives the application of `reference`, which has no room, its share. `known` is its queue if it was here before.
    #[cold]
    fn arrive(&mut self, known: Option<usize>, reference: &Reference, fx: &mut impl Effects) -> usize {
        let part = known.unwrap_or_else(|| {
            let queue = self.vrm(reference.app).expect("new built one like it");
            self.queues.push(queue);
            self.slot_map.add_part();
            self.part_of.add(reference.app)
        });
        self.quanta.begin(reference.clock, fx.storage_busy());
        self.queues[part].is_away = false;
        self.queues[part].load = self.quanta.load;
        let live = self.fit_quantum();
        let share = (self.units / live).min(self.queues[part].most_units);
        let mut changed = vec![part];
        while self.queues[part].units < share {
            if self.units == self.queues.iter().map(|queue| queue.units).sum::<usize>() {
                let others = (0..self.queues.len()).filter(|&other| other != part).rev();
                let Some(giver) = others.max_by_key(|&other| self.queues[other].units) else { break };
                self.queues[giver].units -= 1;
                changed.push(giver);
            }
            self.queues[part].units += 1;
        }
        changed.sort_unstable();
        changed.dedup();
        self.install(reference, &changed, fx);
        part
    }

    /// Fits the quantum to the live applications and the capacity; returns how many are live.
    fn fit_quantum(&mut self) -> usize {
        let live = self.queues.iter().filter(|queue| !queue.is_away).count();
        self.quanta.fit(live, self.capacity);
        live
    }

    /// Divides all units equally among the live applications.
    fn share_anew(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.units = 0);
        self.hand_out();
    }

    /// Gives free units to the live applications that have fewest.
    fn hand_out(&mut self) {
        let mut free = self.units - self.queues.iter().map(|queue| queue.units).sum::<usize>();
        while free > 0 {
            let takes = |queue: &&mut Vrm| !queue.is_away && queue.units < queue.most_units;
            let Some(queue) = self.queues.iter_mut().filter(takes).min_by_key(|queue| queue.units) else { return };
            queue.units += 1;
            free -= 1;
        }
    }

    /// Weighs all applications, moves units, and maps all anew.
    #[cold]
    fn end_quantum(&mut self, reference: &Reference, fx: &mut impl Effects) {
        self.quanta.look(reference.clock, fx.storage_busy());
        let equal = self.units / self.queues.iter().filter(|queue| !queue.is_away).count().max(1);
        for queue in &mut self.queues {
            queue.load = self.quanta.load;
            if self.is_fair {
                queue.weigh_by_misses(equal);
            }
            queue.weigh();
        }
        let stakes: Vec<Stake> = self.queues.iter().map(Vrm::stake).collect();
        for (queue, change) in self.queues.iter_mut().zip(moves::choose(&stakes)) {
            queue.units = queue.units.saturating_add_signed(change as isize);
        }
        self.part_with_the_absent();
        self.install(reference, &(0..self.queues.len()).collect::<Vec<_>>(), fx);
        for queue in &mut self.queues {
            fx.note(&Note::Worth(&queue.worth(self.unit)));
            queue.fade();
        }
        self.quanta.advance(reference.clock);
    }

    /// Takes the units of applications that have left.
    fn part_with_the_absent(&mut self) {
        for queue in &mut self.queues {
            if !queue.is_away && self.quanta.number - queue.last >= AWAY {
                queue.is_away = true;
                queue.units = 0;
            }
        }
        if self.queues.iter().any(|queue| queue.is_away) {
            self.hand_out();
            self.fit_quantum();
        }
    }

    /// Maps these queues anew. All that leaves does so before anything is read.
    fn install(&mut self, reference: &Reference, changed: &[usize], fx: &mut impl Effects) {
        let before: Vec<Vec<Range<u32>>> = changed.iter().map(|&part| self.queues[part].map(self.unit)).collect();
        let Self { queues, slot_map, .. } = self;
        for (&part, before) in changed.iter().zip(&before) {
            queues[part].drop_unmapped(before, &mut Side { part, slot_map, fx });
        }
        for (&part, before) in changed.iter().zip(&before) {
            queues[part].read_mapped(before, &mut Side { part, slot_map, fx });
        }
        let room = |queue: &Vrm| PartRoom {
            app: queue.app,
            blocks: queue.units as u32 * self.unit,
            target: None,
            is_infeasible: false,
        };
        let parts = self.queues.iter().filter(|queue| !queue.is_away).map(room).collect();
        let (time, clock) = (reference.time, reference.clock);
        fx.note(&Note::Division(&Repartition { time, clock, parts, targets: Vec::new() }));
    }
}

/// Applications with settings of their own, by number.
fn own_settings(args: &Args, apps: &[App]) -> Result<Vec<(u32, PolicySpec)>, SpecError> {
    let spec = |argument: &Argument| match argument {
        Argument::Policy(spec) => (**spec).clone(),
        _ => unreachable!("the parameter admits policies only"),
    };
    let own = args.apps("APP").iter();
    own.map(|(name, argument)| Ok((app_named("virtual", name, apps)?, spec(argument)))).collect()
}
