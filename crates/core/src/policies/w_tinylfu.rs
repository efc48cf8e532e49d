//! W-TinyLFU: a newcomer that leaves a small window must have been used more often than the block it would displace.
//!
//! Idea: new blocks enter a window, a short LRU list that catches bursts. What falls out of it competes with the block
//! that the main area, an SLRU list in two segments, would give up: of the two stays the one that was used more often
//! lately, as a sketch of a few bits a block estimates it. So the popularity of blocks that are not in the cache
//! counts, at nearly no cost.
//!
//! Papers: Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission policy", ACM TOS 2017; for `climb`
//! Einziger, Eytan, Friedman, Manes, "Adaptive software cache management", Middleware 2018.
//!
//! Provenance: from secondary sources, the papers' texts were not at hand. Caffeine's simulator 3.2.0, whose author is
//! one of theirs, hashes otherwise: it is within 1 point on cs, multi1, multi2, multi3 and OLTP, within 1.6 on loop and
//! sprite; on backf, scan and zigzag, where all blocks are used equally often, the two are up to 8.4 points apart,
//! either way. `climb` was compared with nothing.
//!
//! Deviations and readings: the sketch is count-min with four counters of four bits, 64 bits for each block of capacity
//! rounded up to a power of two, all halved after ten times as many uses as the capacity; there is no doorkeeper. It
//! knows blocks by file and number, since slots may get other blocks. At equal estimates the block that is in the main
//! area stays; but a candidate with an estimate of 6 or more that loses gets in once in 128 times, so that chosen
//! collisions cannot lock it out. While there is room nothing competes. If all of the main area is protected its oldest
//! block competes. `climb=on` moves the border of the window after every ten times as many references as the capacity:
//! on in the same direction if the hit ratio rose, back if it fell; steps start at 6.25% of the capacity, outwards,
//! shrink by 2% each time, and start anew when the hit ratio changes by 5 points. Blocks cross the border at the oldest
//! end and become the youngest behind it. A resize sets window and steps back to their start, and the sketch if it
//! needs a larger one or no more than a quarter of it. The victims of a resize are those that would leave if another
//! block came in, so that objects of many sizes compete, too.
//!
//! Cost: O(1) amortised. Every reference raises four counters in one cache line, which cannot be fetched ahead, since
//! only the slot is known ahead: where the sketch outgrows the processor's cache, that wait is most of the
//! time, and the rate a fifth to a third of LRU's. A miss compares two estimates.
//! Memory: 8 bytes a slot; 30 to 64 bytes a block of capacity, 8 to 16 of them in the sketch.
//!
//! When not to use it: where recency is all (a changing working set, LRU-friendly bursts longer than the window),
//! unless `climb=on`.

use crate::parts::ghost::forget_in;
use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{Places, Queue, Tag};
use crate::parts::sketch::{Sketch, hash};
use crate::policy::{Args, Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::random::Rng;
use crate::spec::SpecError;

const WINDOW: Tag = 0;
const PROBATION: Tag = 1;
const PROTECTED: Tag = 2;

/// A losing candidate with at least this estimate...
const WARM: u32 = 6;
/// ...gets in once in so many times.
const LUCK: u32 = 128;

/// The W-TinyLFU policy.
#[derive(Debug)]
pub struct WTinyLfu {
    capacity: u32,
    args: Args,
    window_most: u32,
    protected_most: u32,
    climber: Option<Climber>,
    places: Places,
    window: Queue,
    probation: Queue,
    protected: Queue,
    /// The key in the sketch of the block of each resident slot.
    hashes: Vec<u32>,
    sketch: Sketch,
    random: Rng,
}

impl Policy for WTinyLfu {
    const INFO: Info = Info {
        name: "w-tinylfu",
        aliases: &["wtinylfu", "tinylfu"],
        family: "frequency",
        summary: "a block that leaves a small window must have more uses than the one it displaces",
        params: &[
            Param {
                key: "window",
                kind: ParamKind::Share,
                default: "1%",
                doc: "blocks in the window, at least 1 (paper: 1%)",
            },
            Param {
                key: "protected",
                kind: ParamKind::Share,
                default: "80%",
                doc: "most protected blocks, as a share of the blocks outside of the window (paper: 80%)",
            },
            Param {
                key: "climb",
                kind: ParamKind::Switch,
                default: "off",
                doc: "move the border of the window by hill climbing on the hit ratio",
            },
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let window_most = window_most(setup.args, setup.capacity)?;
        let mut policy = WTinyLfu {
            capacity: setup.capacity,
            args: setup.args.clone(),
            window_most,
            protected_most: protected_most(setup.args, setup.capacity - window_most)?,
            climber: setup.args.switch("climb").then(|| Climber::new(setup.capacity)),
            places: Places::new(setup.slots),
            window: Queue::new(WINDOW, 0),
            probation: Queue::new(PROBATION, 0),
            protected: Queue::new(PROTECTED, 0),
            hashes: large::filled(0, setup.slots as usize),
            sketch: Sketch::new(setup.capacity),
            random: Rng::new(setup.seed),
        };
        policy.fit_queues();
        Ok(policy)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let hash = hash(reference.file, reference.block);
        self.sketch.add(hash);
        let hit = self.hit(slot);
        if !hit {
            self.make_room(self.window_most - 1, self.capacity - 1, fx);
            self.window.push(&mut self.places, slot);
            self.hashes[slot as usize] = hash;
        }
        if let Some(climber) = &mut self.climber
            && let Some(step) = climber.step(hit)
        {
            self.move_border(step);
        }
        if hit { Outcome::Hit } else { Outcome::Admitted }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        prefetch(&self.hashes, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        forget_in([&mut self.window, &mut self.probation, &mut self.protected], &mut self.places, slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.window_most = window_most(&self.args, capacity).expect("new accepted the same arguments");
        self.protected_most = self.protected_share();
        if let Some(climber) = &mut self.climber {
            *climber = Climber::new(capacity);
        }
        self.sketch.resize(capacity);
        while self.len() > capacity {
            self.shrink(fx);
        }
        self.make_room(self.window_most, capacity, fx);
        self.demote();
        self.fit_queues();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.hashes.resize((slots as usize).max(self.hashes.len()), 0);
        self.fit_queues();
    }

    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), WINDOW | PROBATION | PROTECTED)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.window.len() + self.main_len()
    }

    fn validate(&self) {
        for queue in [&self.window, &self.probation, &self.protected] {
            queue.validate(&self.places);
        }
        assert!(self.len() <= self.capacity);
        assert!((1..=self.capacity).contains(&self.window_most));
        assert!(self.window.len() <= self.window_most, "the window exceeds its bound");
        assert!(self.protected.len() <= self.protected_most, "too many protected blocks");
    }
}

impl WTinyLfu {
    /// Rings large enough for all that the queues may come to hold. A resize may make a large window's blocks
    /// probationers.
    fn fit_queues(&mut self) {
        let all = self.capacity.min(self.places.slots());
        let (window, protected) = match self.climber {
            Some(_) => (all, all),
            None => (self.window_most.min(all), self.protected_most.saturating_add(1).min(all)),
        };
        self.window.grow(&mut self.places, window);
        self.probation.grow(&mut self.places, all);
        self.protected.grow(&mut self.places, protected);
    }

    #[inline(always)]
    fn main_len(&self) -> u32 {
        self.probation.len() + self.protected.len()
    }

    fn protected_share(&self) -> u32 {
        protected_most(&self.args, self.capacity - self.window_most).expect("new accepted the same arguments")
    }

    /// True, after its move, if the block is resident.
    #[inline(always)]
    fn hit(&mut self, slot: Slot) -> bool {
        match self.places.tag(slot) {
            WINDOW => self.window.renew(&mut self.places, slot),
            PROTECTED => self.protected.renew(&mut self.places, slot),
            PROBATION => {
                self.probation.take(&mut self.places, slot);
                self.protected.push(&mut self.places, slot);
                self.demote();
            }
            _ => return false,
        }
        true
    }

    /// Puts the oldest protected blocks back on probation while there are too many.
    #[inline(always)]
    fn demote(&mut self) {
        while self.protected.len() > self.protected_most {
            self.protected
                .pop_oldest(&mut self.places)
                .into_iter()
                .for_each(|slot| self.probation.push(&mut self.places, slot));
        }
    }

    /// Brings the window to at most `window` blocks and the cache to at most `total`.
    #[inline(always)]
    fn make_room(&mut self, window: u32, total: u32, fx: &mut impl Effects) {
        while self.window.len() > window {
            let full = self.len() > total;
            let Some(candidate) = self.window.pop_oldest(&mut self.places) else { break };
            if full && !self.wins(candidate) {
                fx.discard(candidate);
                continue;
            }
            if full {
                self.evict_main(fx);
            }
            self.probation.push(&mut self.places, candidate);
        }
        while self.len() > total {
            self.evict_main(fx);
        }
    }

    /// Lets one block go, who would if another came in: the oldest of a full window has to win its place.
    fn shrink(&mut self, fx: &mut impl Effects) {
        if self.window.len() < self.window_most {
            return self.evict_main(fx);
        }
        let Some(candidate) = self.window.pop_oldest(&mut self.places) else { return };
        if self.wins(candidate) {
            self.evict_main(fx);
            self.probation.push(&mut self.places, candidate);
        } else {
            fx.discard(candidate);
        }
    }

    /// True if `candidate` is to displace the block that the main area would give up.
    #[inline(always)]
    fn wins(&mut self, candidate: Slot) -> bool {
        let Some(victim) = self.main_victim() else { return false };
        let [candidate, victim] = [candidate, victim].map(|slot| self.sketch.count(self.hashes[slot as usize]));
        candidate > victim || candidate >= WARM && self.random.below(LUCK) == 0
    }

    #[inline(always)]
    fn main_victim(&mut self) -> Option<Slot> {
        self.probation.oldest(&self.places).or_else(|| self.protected.oldest(&self.places))
    }

    #[inline(always)]
    fn evict_main(&mut self, fx: &mut impl Effects) {
        if let Some(victim) = self.pop_main() {
            fx.discard(victim);
        }
    }

    #[inline(always)]
    fn pop_main(&mut self) -> Option<Slot> {
        self.probation.pop_oldest(&mut self.places).or_else(|| self.protected.pop_oldest(&mut self.places))
    }

    /// Makes the window larger or smaller by `step` blocks, and moves what is then on the wrong side of its border.
    #[cold]
    fn move_border(&mut self, step: i64) {
        self.window_most = (i64::from(self.window_most) + step).clamp(1, i64::from(self.capacity)) as u32;
        self.protected_most = self.protected_share();
        self.demote();
        while self.window.len() > self.window_most {
            self.window
                .pop_oldest(&mut self.places)
                .into_iter()
                .for_each(|slot| self.probation.push(&mut self.places, slot));
        }
        while self.main_len() > self.capacity - self.window_most {
            self.pop_main().into_iter().for_each(|slot| self.window.push(&mut self.places, slot));
        }
    }
}

fn window_most(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("window", capacity)?.clamp(1, capacity))
}

fn protected_most(args: &Args, main: u32) -> Result<u32, SpecError> {
    Ok(args.share("protected", main)?.min(main))
}

/// Finds the best size of the window by trying.
#[derive(Debug)]
struct Climber {
    first_step: f64,
    /// References in a period.
    period: u64,
    step: f64,
    references: u64,
    hits: u64,
    /// Hit ratio of the last period.
    before: f64,
}

impl Climber {
    /// First step, as a share of the capacity.
    const FIRST_STEP: f64 = 0.0625;
    /// The factor of a step the next time.
    const DECAY: f64 = 0.98;
    /// Change of the hit ratio at which steps start anew.
    const RESTART: f64 = 0.05;
    /// References in a period, times the capacity.
    const PERIOD: u64 = 10;

    fn new(capacity: u32) -> Climber {
        let first_step = Self::FIRST_STEP * f64::from(capacity);
        let period = Self::PERIOD * u64::from(capacity);
        Climber { first_step, period, step: first_step, references: 0, hits: 0, before: 0.0 }
    }

    /// Notes a reference; at the end of a period tells by how many blocks to enlarge the window.
    #[inline(always)]
    fn step(&mut self, hit: bool) -> Option<i64> {
        self.references += 1;
        self.hits += u64::from(hit);
        if self.references < self.period {
            return None;
        }
        let ratio = self.hits as f64 / self.references as f64;
        let change = ratio - self.before;
        let step = if change < 0.0 { -self.step } else { self.step };
        self.step = if change.abs() >= Self::RESTART { self.first_step.copysign(step) } else { Self::DECAY * step };
        (self.references, self.hits, self.before) = (0, 0, ratio);
        Some(step as i64)
    }
}
