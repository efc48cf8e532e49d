//! LHD: evict the block that promises the fewest hits for the room and time it will take.
//!
//! Idea: from how old blocks were when they were hit or evicted follows how many hits a block of a given age may
//! expect, and how long it will stay for them. The quotient is its hit density. Blocks are distinguished by application
//! and by their last two ages at a hit. The victim is the least dense of a random sample and the newest blocks.
//!
//! Paper: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density", NSDI 2018.
//!
//! Provenance: the authors' simulator (github.com/CMU-CORGI/LHD, 2018) was read in part and run. Classes, explorers and
//! the treatment of the greatest age are as there. Made to learn every 2^15 references instead of 2^20, it is within
//! 0.2 points of `lhd(sample=64, period=32768)` on OLTP at 9,344 and 37,376 blocks and on sprite at 1,415; at 353
//! blocks of sprite it stays 11.5 points below, since it finds its unit of age only in its first few rounds. As
//! published it has learnt nothing within traces of less than a million references, and is up to 25 points apart there,
//! either way. libCacheSim 0.3.5 is within 4.2 points on OLTP, P3 and P12. The paper's text was not at hand.
//!
//! Deviations and readings: an object has so many times less density as it has bytes; blocks are all alike. Age is the
//! number of references to this cache since the block's last use, in units of a power of two of them, the least for
//! which all ages span a hundred times the capacity; older blocks have the greatest age and leave first. Applications
//! are not distinguished unless `apps` says so, as each would have to learn separately. A class is how often the sum of
//! the last two ages can be doubled before it reaches the number of ages, at most 15; a new block has class 0. A class
//! of which nothing is known yet has density (class + 1) / (age + 1). Counts are multiplied by 0.9 and densities
//! computed anew each time as many references have passed as the capacity has blocks, but at least `period` and at most
//! 2^20 (paper). While explorers may be added, each 32nd use, at random, makes its block one until its next use: its
//! density is higher by 1, so that ages at which blocks are always evicted are seen as well. Blocks are drawn with
//! replacement; as many as the sample or fewer are all looked at. Of equals the first leaves. If a resize changes
//! number or unit of ages, all counts start anew, unless it is to no less than half and no more than twice of the
//! capacity that they were chosen for.
//!
//! Cost: a hit writes two places; a miss looks at 40 blocks, that is the algorithm, and with many misses the rate is a
//! fifteenth of LRU's. Memory: 4 bytes a slot, 20 a block of capacity, and up to 4 MB for each of `apps`, which every
//! computation goes over.
//!
//! When not to use it: small caches and short traces: ages take tens of thousands of references to be learnt.

use crate::parts::table::Table;
use crate::policy::{Args, Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::random::Rng;
use crate::spec::SpecError;

/// Classes by age at the last hits, for each application.
const HIT_CLASSES: u32 = 16;
/// Most applications distinguished.
const APPS_MOST: u32 = 16;
/// Ages span the capacity so many times.
const SPAN: u64 = 100;
/// What counts keep when densities are computed anew.
const DECAY: f32 = 0.9;
/// Where fewer blocks than this were hit or evicted the density is 0.
const EVENTS_LEAST: f64 = 1e-5;
/// Most references between two computations.
const PERIOD_MOST: u32 = 1 << 20;
/// One use in so many makes an explorer.
const EXPLORE: u32 = 32;
/// The newest blocks are always looked at.
const NEWEST: usize = 8;
/// No slot.
const NONE: Slot = Slot::MAX;

/// What is known of a resident block.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// Time of the last use, high word first: as a `u64` it would cost 4 bytes of padding.
    since: [u32; 2],
    /// Age at the last hit.
    last_age: u16,
    class: u8,
    explorer: bool,
    /// At least 1.
    bytes: u32,
}

/// The LHD policy.
#[derive(Debug)]
pub struct Lhd {
    capacity: u32,
    args: Args,
    sample: u32,
    explorers_most: u32,
    explorers: u32,
    /// References so far.
    now: u64,
    random: Rng,
    resident: Table<Life>,
    /// The blocks that came in last, as far as they are resident, in a ring.
    newest: [Slot; NEWEST],
    admitted: usize,
    ages: Ages,
}

impl Policy for Lhd {
    const INFO: Info = Info {
        name: "lhd",
        family: "frequency",
        summary: "evict what promises the fewest hits for its room and time, as learnt from ages at hits",
        params: &[
            Param {
                key: "sample",
                kind: ParamKind::Count { min: 1, max: 65536 },
                default: "32",
                doc: "blocks drawn for a victim, besides the 8 newest (paper: 32)",
            },
            Param {
                key: "explorers",
                kind: ParamKind::Share,
                default: "1%",
                doc: "most blocks kept to see what becomes of them (paper: 1%)",
            },
            Param {
                key: "apps",
                kind: ParamKind::Count { min: 1, max: APPS_MOST as u64 },
                default: "1",
                doc: "applications told apart (paper: 16)",
            },
            Param {
                key: "ages",
                kind: ParamKind::Count { min: 2, max: 65536 },
                default: "20000",
                doc: "most ages told apart, but no more than a hundred times the capacity (the authors' code: 20000)",
            },
            Param {
                key: "period",
                kind: ParamKind::Count { min: 1, max: 1 << 32 },
                default: "16384",
                doc: "least number of references after which densities are computed anew; else the capacity, at most 2^20",
            },
        ],
        needs: Needs { app_if_known: true, size: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Lhd {
            capacity: setup.capacity,
            args: setup.args.clone(),
            sample: setup.args.count("sample") as u32,
            explorers_most: setup.args.share("explorers", setup.capacity)?,
            explorers: 0,
            now: 0,
            random: Rng::new(setup.seed),
            resident: Table::new(setup.slots, setup.capacity),
            newest: [NONE; NEWEST],
            admitted: 0,
            ages: Ages::new(setup.args, setup.capacity),
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.now += 1;
        let outcome = if self.resident.contains(slot) {
            self.hit(slot, &reference);
            Outcome::Hit
        } else {
            self.admit(slot, &reference, fx);
            Outcome::Admitted
        };
        self.ages.tick();
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.resident.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.take(slot).is_some() {
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            self.evict(fx);
        }
        self.capacity = capacity;
        self.explorers_most = self.args.share("explorers", capacity).expect("new accepted the same arguments");
        self.ages.resize(&self.args, capacity);
        self.resident.grow(self.resident.slots(), capacity);
    }

    fn grow(&mut self, slots: u32) {
        self.resident.grow(slots, self.capacity);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.resident.contains(slot)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.resident.len()
    }

    fn validate(&self) {
        self.resident.validate();
        assert!(self.len() <= self.capacity);
        let lives = || (0..self.len()).map(|at| self.resident.row(at).1);
        assert!(lives().all(|life| life.since() <= self.now && u32::from(life.class) < self.ages.apps * HIT_CLASSES));
        assert_eq!(lives().filter(|life| life.explorer).count(), self.explorers as usize, "explorers are miscounted");
        assert!(self.newest.iter().all(|&slot| slot == NONE || self.contains(slot)), "one of the newest has left");
    }
}

impl Lhd {
    #[inline(always)]
    fn hit(&mut self, slot: Slot, reference: &Reference) {
        let Some(life) = self.resident.get_mut(slot) else { return };
        let age = self.ages.of(self.now - life.since());
        self.ages.count_hit(life.class, age);
        self.explorers -= u32::from(life.explorer);
        let class = self.ages.class(reference.app, age + u32::from(life.last_age));
        let bytes = reference.bytes.max(1);
        *life = Life { since: words(self.now), last_age: age as u16, class, explorer: false, bytes };
        life.explorer = self.explorers < self.explorers_most && self.random.below(EXPLORE) == 0;
        self.explorers += u32::from(life.explorer);
    }

    #[inline(always)]
    fn admit(&mut self, slot: Slot, reference: &Reference, fx: &mut impl Effects) {
        if self.len() == self.capacity {
            self.evict(fx);
        }
        let explorer = self.explorers < self.explorers_most && self.random.below(EXPLORE) == 0;
        self.explorers += u32::from(explorer);
        let class = self.ages.class(reference.app, self.ages.count);
        let bytes = reference.bytes.max(1);
        self.resident.push(slot, Life { since: words(self.now), last_age: 0, class, explorer, bytes });
        self.newest[self.admitted % NEWEST] = slot;
        self.admitted = self.admitted.wrapping_add(1);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let victim = self.least_dense();
        if let Some(life) = self.take(victim) {
            self.ages.count_eviction(life.class, self.ages.of(self.now - life.since()));
            fx.discard(victim);
        }
    }

    #[inline(always)]
    fn least_dense(&mut self) -> Slot {
        let len = self.len();
        let mut least = (NONE, f32::INFINITY);
        for number in 0..len.min(self.sample) {
            let at = if len <= self.sample { number } else { self.random.below(len) };
            let &(slot, life) = self.resident.row(at);
            least = self.lesser(least, slot, life);
        }
        if len > self.sample {
            for slot in self.newest.into_iter().filter(|&slot| slot != NONE) {
                if let Some(&life) = self.resident.get(slot) {
                    least = self.lesser(least, slot, life);
                }
            }
        }
        least.0
    }

    #[inline(always)]
    fn lesser(&self, least: (Slot, f32), slot: Slot, life: Life) -> (Slot, f32) {
        let density = self.ages.density(life.class, self.ages.of(self.now - life.since()));
        let density = density / life.bytes as f32 + f32::from(u8::from(life.explorer));
        if density < least.1 { (slot, density) } else { least }
    }

    /// Takes a resident block out of everything but the counts.
    #[inline(always)]
    fn take(&mut self, slot: Slot) -> Option<Life> {
        let life = self.resident.take(slot)?;
        self.explorers -= u32::from(life.explorer);
        self.newest.iter_mut().filter(|other| **other == slot).for_each(|other| *other = NONE);
        Some(life)
    }
}

impl Life {
    #[inline(always)]
    fn since(self) -> u64 {
        u64::from(self.since[0]) << 32 | u64::from(self.since[1])
    }
}

#[inline(always)]
fn words(time: u64) -> [u32; 2] {
    [(time >> 32) as u32, time as u32]
}

/// The learnt facts of ages.
#[derive(Debug)]
struct Ages {
    apps: u32,
    /// Ages distinguished.
    count: u32,
    /// An age is 2^shift references.
    shift: u32,
    period: u64,
    /// The capacity that ages were distinguished for.
    capacity: u32,
    /// References until densities are computed anew.
    left: u64,
    classes: [Class; (APPS_MOST * HIT_CLASSES) as usize],
    /// By class and age, as the next two.
    hits: Vec<f32>,
    evictions: Vec<f32>,
    densities: Vec<f32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Ages below this have counts.
    end: u32,
    /// The class had counts when densities were computed.
    known: bool,
}

impl Ages {
    fn new(args: &Args, capacity: u32) -> Ages {
        let apps = args.count("apps") as u32;
        let (count, shift) = scale(args, capacity);
        let period = args.count("period").max(u64::from(capacity.min(PERIOD_MOST)));
        // Zeros from the system: memory of classes and ages that do not occur is never touched.
        let table = || vec![0.0; (apps * HIT_CLASSES * count) as usize];
        Ages {
            apps,
            count,
            shift,
            period,
            capacity,
            left: period,
            classes: [Class::default(); (APPS_MOST * HIT_CLASSES) as usize],
            hits: table(),
            evictions: table(),
            densities: table(),
        }
    }

    /// Keeps what was learnt if the unit of age stays, and as long as the capacity is about the same, as it is where
    /// objects of many sizes come and go.
    fn resize(&mut self, args: &Args, capacity: u32) {
        let is_about_the_same = (self.capacity.div_ceil(2)..=self.capacity.saturating_mul(2)).contains(&capacity);
        if !is_about_the_same && scale(args, capacity) != (self.count, self.shift) {
            *self = Ages::new(args, capacity);
        }
        self.period = args.count("period").max(u64::from(capacity.min(PERIOD_MOST)));
        self.left = self.left.min(self.period);
    }

    /// The age of a block whose last use was so many references ago.
    #[inline(always)]
    fn of(&self, elapsed: u64) -> u32 {
        (elapsed >> self.shift).min(u64::from(self.count - 1)) as u32
    }

    /// The class of a block whose last two ages at a hit have this sum.
    #[inline(always)]
    fn class(&self, app: u32, sum: u32) -> u8 {
        let doubled = (0..HIT_CLASSES - 1).find(|&times| u64::from(sum) << times >= u64::from(self.count));
        (app % self.apps * HIT_CLASSES + doubled.unwrap_or(HIT_CLASSES - 1)) as u8
    }

    #[inline(always)]
    fn cell(&self, class: u8, age: u32) -> usize {
        (u32::from(class) * self.count + age) as usize
    }

    #[inline(always)]
    fn count_hit(&mut self, class: u8, age: u32) {
        let cell = self.cell(class, age);
        self.hits[cell] += 1.0;
        self.note(class, age);
    }

    #[inline(always)]
    fn count_eviction(&mut self, class: u8, age: u32) {
        let cell = self.cell(class, age);
        self.evictions[cell] += 1.0;
        self.note(class, age);
    }

    #[inline(always)]
    fn note(&mut self, class: u8, age: u32) {
        let end = &mut self.classes[usize::from(class)].end;
        *end = (*end).max(age + 1);
    }

    #[inline(always)]
    fn density(&self, class: u8, age: u32) -> f32 {
        if age == self.count - 1 {
            f32::NEG_INFINITY
        } else if self.classes[usize::from(class)].known {
            self.densities[self.cell(class, age)]
        } else {
            (u32::from(class) % HIT_CLASSES + 1) as f32 / (age + 1) as f32
        }
    }

    /// Notes that a reference is over.
    #[inline(always)]
    fn tick(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.period;
            self.learn();
        }
    }

    /// Computes the densities: of the blocks in a class that reached an age, the hits that were still to come, divided
    /// by the ages that they were still to stay.
    #[cold]
    fn learn(&mut self) {
        for (number, class) in self.classes.iter_mut().enumerate() {
            class.known = class.end > 0;
            let first = number * self.count as usize;
            let (mut hits, mut events, mut stay) = (0.0f64, 0.0f64, 0.0f64);
            for cell in (first..first + class.end as usize).rev() {
                self.hits[cell] *= DECAY;
                self.evictions[cell] *= DECAY;
                hits += f64::from(self.hits[cell]);
                events += f64::from(self.hits[cell] + self.evictions[cell]);
                stay += events;
                self.densities[cell] = if events > EVENTS_LEAST { (hits / stay) as f32 } else { 0.0 };
            }
        }
    }
}

/// The number of ages that are distinguished, and the least unit, as a power of two, with which they span what they
/// should.
fn scale(args: &Args, capacity: u32) -> (u32, u32) {
    let span = SPAN * u64::from(capacity);
    let count = args.count("ages").min(span);
    let spanned = |&shift: &u32| count << shift >= span;
    let shift = (0..u64::BITS - 17).find(spanned).expect("2 << 46 is more than a hundred times any capacity");
    (count as u32, shift)
}
