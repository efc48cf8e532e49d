//! virtual(P, ...): the cache holds those pieces of a much longer queue that are hit most.
//!
//! Idea: a queue far longer than the cache, of ids only, is kept in the order of P. Hits are counted by position, a
//! megabyte at a time. Every so many references the positions that are worth most are mapped to memory, in a few runs:
//! where a program loops over more than the cache holds, that is a run far down the queue, where its blocks come by
//! just before they are wanted. With several applications each has a queue of its own, and a megabyte goes from one to
//! another where it is worth more there.
//!
//! Paper: Frasca, Prabhakar, Raghavan, Kandemir, "Virtual I/O caching: dynamic storage cache management for concurrent
//! workloads", SC 2011 (VRM, VPA, G-VPA; POLICIES 1.1).
//!
//! Deviations and readings. A reference hits if the position that its block had before P moved it is mapped. Then the
//! blocks that slid over the borders of runs leave or are read in, so that memory holds what stands at mapped positions
//! and nothing else. A missed block whose new position is not mapped is not kept. Values fade by `alpha` after the
//! mapping was decided. A quantum is counted in references of the application; at its end the application is mapped
//! anew, and units move by the best of all choices of one unit more or less each; what others are worth is that of the
//! ends of their own quanta, and all that got or gave a unit are mapped anew. An application gets its share of units
//! when it comes, from those that have most, and has left when it made no reference for 30 quanta of all. The unit is 1
//! MB, or less where the cache has not 32 of them; what does not fill a unit is not used. A block belongs to the
//! application that referred to it first, as long as its queue remembers it.
//!
//! Not in the paper but in its outlook: `quantum=auto` follows the load of the storage, the share of the last quantum
//! in which it worked. A quantum has 2,000 references, or as many as the cache has blocks. A block that is read unasked
//! costs as much of a hit as the load is. So a run is mapped only if it hits more than that costs; it stays mapped
//! until another one gains more than reading it costs; and `alpha` is the load: what idle storage can afford to follow
//! at once, a busy one follows slowly. Storage that never rests leaves the head alone, P as it is. Where nobody knows
//! the load (without `--store`, in a mount) this is the paper's scheme. `objective=fair` and `promise` move units for
//! something else than the sum of hits; the latter sees one unit ahead as the rest does, and no cliff behind.
//!
//! Where the mapped runs are not at the head this is a prefetcher: each reference beyond a run reads a block into it
//! that nobody asked for (`fragment_reads`), and a new mapping reads what it holds (`allocation_reads`). Look at hit
//! ratios and extra reads together: on a loop, misses become extra reads, one for one.
//!
//! Cost: that of P, and a look-up of a position and of the blocks at the borders that moved: O(log n), or a scan of
//! counts that is as short. A quantum costs O(n log n) for a queue of n units. Memory: that of P for the whole virtual
//! queue, 24 bytes a block with LRU.
//!
//! When not to use it: where the disk is busy, since it saves waiting, not reading (but see `quantum=auto`); where hits
//! are spread thin over the queue, it is P.

mod vrm;

use std::ops::Range;

use self::vrm::{Settings, Side, Vrm};

use crate::allocate::moves::{self, Stake};
use crate::families::promised::app_named;
use crate::policy::{
    App, Args, Argument, Effects, Info, Needs, Note, Outcome, Param, ParamKind, PartRoom, Policy, PolicySpec,
    Reference, Repartition, Setup, Slot,
};
use crate::schemes::plain_view;
use crate::schemes::slot_map::{PartMap, SlotMap};
use crate::spec::SpecError;
use crate::view::View;

/// Bytes of a unit of the paper, and its blocks where blocks have no size.
const UNIT_BYTES: u64 = 1 << 20;
const UNIT_BLOCKS: u64 = 256;
/// A cache has so many units at least, unless the unit is given.
const FEWEST_UNITS: u32 = 32;
/// Quanta of all applications without a reference after which one has left.
const AWAY: u64 = 30;

/// The scheme.
pub struct VirtualIo {
    args: Args,
    seed: u64,
    /// What is said of single applications, by number.
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
    /// References so far.
    now: u64,
    /// The queue whose quantum is over.
    due: Option<usize>,
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
                doc: "what is left of a value after a quantum (paper: 0.95); at most, with quantum=auto",
            },
            Param {
                key: "quantum",
                kind: ParamKind::CountOrAuto { min: 1, max: 1 << 40 },
                default: "2000",
                doc: "references of an application after which it is mapped anew (paper: 2000 requests); auto: quantum, alpha and fragments follow the load of the storage",
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
                doc: "what is mapped and moved at a time (paper: 1M); 256 blocks where they have no size",
            },
            Param {
                key: "APP",
                kind: ParamKind::AppPolicies,
                default: "",
                doc: "applications with settings of their own, by their names: a policy (lu=lfu), or all of it (lu=virtual(lfu,alpha=0.5))",
            },
        ],
        offline: false,
        needs: Needs::EVERYTHING,
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
            now: 0,
            due: None,
        };
        scheme.unit = scheme.unit_blocks()?;
        scheme.units = (scheme.capacity / scheme.unit) as usize;
        scheme.own.iter().map(|(app, _)| *app).chain([u32::MAX]).try_for_each(|app| scheme.vrm(app).map(drop))?;
        Ok(scheme)
    }

    fn view(args: &Args, capacity: u32) -> Result<View, SpecError> {
        for policy in args.policies().filter(|policy| policy.info().name != Self::INFO.name) {
            plain_view("virtual", policy, args, capacity)?;
        }
        Ok(View::default())
    }

    fn identities(_args: &Args, _capacity: u32) -> u64 {
        u64::MAX
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if let Some(part) = self.due.take() {
            self.end_quantum(part, &reference, fx);
        }
        let part = match self.part_of.find(reference.app) {
            Some(part) if !self.queues[part].is_away => part,
            known => self.arrive(known, &reference, fx),
        };
        self.now += 1;
        let queue = &mut self.queues[part];
        queue.last = self.now;
        queue.count += 1;
        if queue.count >= queue.settings.quantum(self.capacity) {
            self.due = Some(part);
        }
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

impl VirtualIo {
    /// Blocks of a unit.
    fn unit_blocks(&self) -> Result<u32, SpecError> {
        let (asked, most) = match self.args.is_default("unit") {
            true => {
                let asked = self.args.block_bytes().map_or(UNIT_BLOCKS, |block| UNIT_BYTES / block);
                (asked, self.capacity / FEWEST_UNITS)
            }
            false => (u64::from(self.args.share("unit", self.capacity)?), self.capacity),
        };
        Ok(asked.clamp(1, u64::from(most.max(1))) as u32)
    }

    /// An empty queue for this application.
    fn vrm(&self, app: u32) -> Result<Vrm, SpecError> {
        let own = self.own.iter().find(|(known, _)| *known == app).map(|(_, spec)| spec);
        let (spec, args) = match own {
            Some(spec) if spec.info().name == Self::INFO.name => {
                let args = spec.args_within(&self.args);
                (args.policy("policy").clone(), args)
            }
            Some(spec) => (spec.clone(), self.args.clone()),
            None => (self.args.policy("policy").clone(), self.args.clone()),
        };
        let setup = Setup {
            capacity: 1,
            slots: 0,
            seed: self.seed,
            args: &args,
            future: None,
            addresses: None,
            apps: &[],
            weighs: false,
            costs: false,
        };
        let mut policy = spec.build(1, &setup)?;
        if !policy.keep_order() {
            return Err(SpecError::new(format!(
                "virtual cannot be put around {spec}, which keeps no order of positions: expected lru, lfu, arc or 2q"
            )));
        }
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
        self.queues[part].is_away = false;
        self.queues[part].look(reference.clock, fx.storage_busy());
        let live = self.queues.iter().filter(|queue| !queue.is_away).count();
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

    /// Divides all units equally among those who are here.
    fn share_anew(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.units = 0);
        self.hand_out();
    }

    /// Gives units that nobody has to those who have fewest.
    fn hand_out(&mut self) {
        let mut free = self.units - self.queues.iter().map(|queue| queue.units).sum::<usize>();
        while free > 0 {
            let takes = |queue: &&mut Vrm| !queue.is_away && queue.units < queue.most_units;
            let Some(queue) = self.queues.iter_mut().filter(takes).min_by_key(|queue| queue.units) else { return };
            queue.units += 1;
            free -= 1;
        }
    }

    /// The end of a quantum of the queue `part`.
    fn end_quantum(&mut self, part: usize, reference: &Reference, fx: &mut impl Effects) {
        let equal = self.units / self.queues.iter().filter(|queue| !queue.is_away).count().max(1);
        let queue = &mut self.queues[part];
        queue.look(reference.clock, fx.storage_busy());
        if self.is_fair {
            queue.weigh_by_misses(equal);
        }
        queue.weigh();
        let stakes: Vec<Stake> = self.queues.iter().map(Vrm::stake).collect();
        let changes = moves::choose(&stakes);
        let mut changed = vec![part];
        for (other, &change) in changes.iter().enumerate().filter(|(_, change)| **change != 0) {
            let queue = &mut self.queues[other];
            queue.units = queue.units.saturating_add_signed(change as isize);
            changed.push(other);
        }
        changed.extend(self.part_with_the_absent());
        changed.sort_unstable();
        changed.dedup();
        self.install(reference, &changed, fx);
        let queue = &mut self.queues[part];
        fx.note(&Note::Worth(&queue.worth(self.unit)));
        queue.count = 0;
        queue.fade();
    }

    /// Takes the units of those who have left; gives the queues whose room that changes.
    fn part_with_the_absent(&mut self) -> Vec<usize> {
        let before: Vec<usize> = self.queues.iter().map(|queue| queue.units).collect();
        let live = self.queues.iter().filter(|queue| !queue.is_away);
        let quanta: u64 = live.map(|queue| queue.settings.quantum(self.capacity)).sum();
        for queue in &mut self.queues {
            if !queue.is_away && self.now - queue.last > quanta.saturating_mul(AWAY) {
                queue.is_away = true;
                queue.units = 0;
            }
        }
        if self.queues.iter().any(|queue| queue.is_away) {
            self.hand_out();
        }
        (0..before.len()).filter(|&part| self.queues[part].units != before[part]).collect()
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
        fx.note(&Note::Division(&Repartition { time, clock, parts, promises: Vec::new() }));
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
