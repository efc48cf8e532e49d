//! render: a cache for renderers, in three areas whose shadows tell which of them is too small.
//!
//! Idea: every frame of a film reads the same textures in the same order, a loop that LRU never hits unless all of it
//! fits. So textures (area T1) and what is read once a launch (configuration, libraries, scenes: C1) are each replaced
//! by MRU. What T1 gives up goes on to a small LRU area (O1), where the few textures that are read at random are found
//! again. Pictures are written past the cache. Each area has a shadow, T2, C2 and O2, that remembers what left it; a
//! reference found there moves a block of room to its area.
//!
//! Paper: Shin, Cho, Bahn, "A rendering buffer cache" (2020).
//!
//! Deviations and readings. The random area starts with 16 blocks, the paper's 64K, at most a tenth of the cache,
//! unless `random` is given; of the rest 90% are for textures. Each area has at least one block; of two blocks T1 and
//! C1 have one each, a single one is T1's. A shadow holds as many blocks as its area's room leaves of the cache. A hit
//! in T2 takes room from C1, one in C2 or O2 from T1, `step` blocks (paper: not stated, here 1), or none at all if
//! less than `min_frac` were left. A block may be in T2 and O2 at once: with `hits=first` only T2 counts. A block that
//! is missed leaves all shadows and enters the area of its class, also one that O2 remembers: O1 takes only what T1
//! gives up. A class that is none of the three counts as texture.
//!
//! The paper evicts "if free space is necessary", and all its policies hit alike in a cache that holds everything. So a
//! block that leaves its area stays in a free frame while there is one: a reference to it is a hit, although areas and
//! shadows go on as if it had missed. When an area needs a frame, the block that left its area last gives it up. In a
//! full cache this is the published scheme, and it never hits less than areas that keep to their rooms.
//!
//! Taken literally, a block that leaves O1 enters O2. Then every block of a long loop goes from T1 through O1 to O2, O2
//! is hit all the time, O1 takes all the room and the cache becomes LRU. So by default (`shadow=dedupe`) a block that
//! T2 still remembers does not enter O2, and T2 remembers it while it is in O1: a hit there counts for T1, once a stay.
//! `shadow=literal` is the published rule, which forgets the block in T2 when it is hit in O1; `shadow=fixed` is the
//! same with an O2 of 16 blocks. `adapt=off` keeps the first division and no shadows.
//!
//! The published rule for shadow hits counts them alike (`weight=step`). The paper also allots by "the period of the
//! loops, which reflects the gain of the loop per unit time when it is cached", which is the default here
//! (`weight=period`): a shadow hit moves `step` blocks if the loop of its area is the shortest of the three, and
//! proportionally fewer if it is longer. The period of a loop is the mean time, in references, between two uses of a
//! block that the shadow remembers; fractions of a block are carried over.
//!
//! A block whose file becomes output after it came in leaves the cache at its next reference, which is a miss. A resize
//! adds to the areas, or takes from them, what the first division of the new size has more or less than that of the old
//! one, so what was learnt stays.
//!
//! Cost: a hit in T1 or C1 is one test and one append to a log. A miss of a texture moves up to three blocks: T1 to O1,
//! O1 out, T2's oldest out. Memory: 12 bytes a slot, 72 to 144 bytes a block of the cache, of which half are the
//! shadows.
//!
//! When not to use it: anything without classes, or whose loops change: MRU never evicts dead blocks. With few launches
//! `weight=step` takes room from the textures at each launch, for configuration that is not read again until the next
//! one. In a small cache random textures that it could not hold anyway take blocks of the loop by way of O2;
//! `shadow=fixed` bounds that. docs/schemes/render.md has figures.

mod periods;

use crate::classify::{Class, Rules, builtin};
use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;
use crate::view::View;
use periods::Periods;

/// T1 and its shadow T2.
const TEXTURE: usize = 0;
/// C1 and C2.
const CONFIG: usize = 1;
/// O1 and O2.
const RANDOM: usize = 2;
const AREAS: usize = 3;

/// The tag of an area is its number, that of its shadow is this more.
const SHADOW: usize = AREAS;

/// The tag of the blocks in free frames.
const SPARE: Tag = 2 * AREAS as Tag;

/// Blocks of the random area unless told otherwise (paper: 64 KB), and of O2 where that is fixed.
const RANDOM_BLOCKS: u32 = 16;

/// Places of a slot, side by side, so that one fetch brings all: in an area, C2 or O2...
#[inline(always)]
fn in_area(slot: Slot) -> Slot {
    PLACES * slot
}

/// ...in T2, which remembers blocks that are in O1...
#[inline(always)]
fn in_t2(slot: Slot) -> Slot {
    PLACES * slot + 1
}

/// ...and among the blocks that stay in free frames, which shadows remember.
#[inline(always)]
fn in_spare(slot: Slot) -> Slot {
    PLACES * slot + 2
}

/// Places of a slot.
const PLACES: u32 = 3;

/// The place of `slot` in the shadow of `area`.
#[inline(always)]
fn in_shadow(area: usize, slot: Slot) -> Slot {
    if area == TEXTURE { in_t2(slot) } else { in_area(slot) }
}

/// The scheme.
#[derive(Debug)]
pub struct Render {
    capacity: u32,
    args: Args,
    classes: Classes,
    mode: Mode,
    /// Blocks by which a shadow hit moves the border of two areas.
    step: u32,
    /// Blocks that an area keeps at least.
    least: u32,
    /// Blocks that each area may hold: the whole capacity together.
    room: [u32; AREAS],
    places: Places,
    /// T1, C1 and O1, from least to most recently used.
    areas: [Queue; AREAS],
    /// T2, C2 and O2, from the first to enter to the last. The mark of a block in T2 says that it was hit in O1.
    shadows: [Queue; AREAS],
    /// Blocks that have left their areas and stay in free frames, from the first to leave to the last.
    spare: Queue,
    /// Where the periods of loops count.
    periods: Option<Periods>,
}

/// Numbers of the classes that are treated apart, if the rules have them.
#[derive(Clone, Copy, Debug)]
struct Classes {
    output: Option<Class>,
    config: Option<Class>,
}

impl Classes {
    fn of(args: &Args) -> Classes {
        let rules = rules(args);
        Classes { output: rules.class("output"), config: rules.class("config") }
    }
}

/// The purpose of the shadows.
#[derive(Clone, Copy, Debug)]
struct Mode {
    /// There are shadows.
    adapts: bool,
    /// Only the first shadow that remembers a block counts.
    first_only: bool,
    /// O2 takes no block that T2 remembers.
    dedupes: bool,
    /// O2 has [`RANDOM_BLOCKS`].
    is_fixed: bool,
}

impl Mode {
    fn of(args: &Args) -> Mode {
        Mode {
            adapts: args.switch("adapt"),
            first_only: args.word("hits") == "first",
            dedupes: args.word("shadow") == "dedupe",
            is_fixed: args.word("shadow") == "fixed",
        }
    }
}

impl Policy for Render {
    const INFO: Info = Info {
        name: "render",
        family: "composed",
        summary: "textures and configuration by MRU in areas of their own, random textures by LRU, output past the cache",
        params: &[
            Param {
                key: "texture",
                kind: ParamKind::Share,
                default: "90%",
                doc: "initial share of the textures in the frames outside the random area; the rest is for configuration (paper: 90%)",
            },
            Param {
                key: "random",
                kind: ParamKind::Share,
                default: "64K",
                doc: "initial size of the area for textures read at random (paper: 64K); the default is 16 blocks of any size, at most a tenth of the cache",
            },
            Param {
                key: "shadow",
                kind: ParamKind::Word(&["dedupe", "fixed", "literal"]),
                default: "dedupe",
                doc: "blocks that the shadow of the random area remembers: those that T2 does not, 16 blocks, or all (paper: literal)",
            },
            Param {
                key: "adapt",
                kind: ParamKind::Switch,
                default: "on",
                doc: "shadow hits move room between the areas",
            },
            Param {
                key: "step",
                kind: ParamKind::Count { min: 1, max: 1 << 30 },
                default: "1",
                doc: "blocks that a shadow hit moves to an area (paper: not stated)",
            },
            Param {
                key: "weight",
                kind: ParamKind::Word(&["period", "step"]),
                default: "period",
                doc: "what shadow hits count: less the longer the period of their loop is (the paper's gain per unit time), or all alike (step, the paper's rule for shadow hits)",
            },
            Param {
                key: "min_frac",
                kind: ParamKind::Share,
                default: "0%",
                doc: "room below which no area is cut by a shadow hit, at least one block",
            },
            Param {
                key: "hits",
                kind: ParamKind::Word(&["first", "all"]),
                default: "first",
                doc: "of several shadows that remember a block, which count: the first of T2, C2, O2, or all",
            },
        ],
        needs: Needs { class: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let mut render = Render {
            capacity: setup.capacity,
            args: setup.args.clone(),
            classes: Classes::of(setup.args),
            mode: Mode::of(setup.args),
            step: setup.args.count("step") as u32,
            least: least(setup.args, setup.capacity)?,
            room: first_division(setup.args, setup.capacity)?,
            places: Places::new(PLACES * setup.slots),
            areas: std::array::from_fn(|area| Queue::new(area as Tag, 0)),
            shadows: std::array::from_fn(|area| Queue::new((SHADOW + area) as Tag, 0)),
            spare: Queue::new(SPARE, 0),
            periods: (setup.args.word("weight") == "period").then(|| Periods::new(setup.slots)),
        };
        render.fit_queues();
        Ok(render)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        first_division(args, capacity)?;
        least(args, capacity)?;
        // The shadows leave out each area once: 3c - c. A fixed O2 may replace a smaller one.
        let Mode { adapts, is_fixed, .. } = Mode::of(args);
        let shadows = if adapts { 2 * u64::from(capacity) } else { 0 };
        let fixed = if adapts && is_fixed { RANDOM_BLOCKS } else { 0 };
        let identities = u64::from(capacity) + shadows + u64::from(fixed) + 1;
        let view = View { rules: Some(rules(args)), ..View::default() };
        Ok(Requirements { view, identities, ..Requirements::of(capacity) })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        if Some(reference.class) == self.classes.output {
            self.write_past(slot, fx);
            return Outcome::Bypassed;
        }
        let area = self.places.tag(in_area(slot)) as usize;
        let outcome = if area >= AREAS {
            let area = if Some(reference.class) == self.classes.config { CONFIG } else { TEXTURE };
            self.miss(slot, area, reference.time, fx)
        } else {
            if area == RANDOM {
                self.hit_random(slot, reference.time, fx);
            }
            self.areas[area].renew(&mut self.places, in_area(slot));
            Outcome::Hit
        };
        if let Some(periods) = &mut self.periods {
            periods.note(slot, reference.time);
        }
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(in_area(slot));
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let area = self.places.tag(in_area(slot)) as usize;
        if area < AREAS {
            self.areas[area].take(&mut self.places, in_area(slot));
        }
        let was_spare = self.take_spare(slot);
        let remembered = self.leave_shadows(slot).contains(&true);
        if area < AREAS || was_spare || remembered {
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        let first = |capacity| first_division(&self.args, capacity).expect("new accepted the same arguments");
        let (before, after) = (first(self.capacity), first(capacity));
        let changed =
            |area: usize| (u64::from(self.room[area]) + u64::from(after[area])).saturating_sub(before[area].into());
        self.room = divide(capacity, changed(CONFIG), changed(RANDOM));
        self.capacity = capacity;
        self.least = least(&self.args, capacity).expect("new accepted the same arguments");
        self.fit_queues();
        self.cut_all(fx);
        while self.len() > capacity {
            self.evict_spare(fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(PLACES * slots);
        if let Some(periods) = &mut self.periods {
            periods.grow(slots);
        }
        self.fit_queues();
    }

    fn contains(&self, slot: Slot) -> bool {
        (self.places.tag(in_area(slot)) as usize) < AREAS || self.is_spare(slot)
    }

    fn len(&self) -> u32 {
        self.areas.iter().map(Queue::len).sum::<u32>() + self.spare.len()
    }

    fn validate(&self) {
        assert_eq!(self.room.iter().map(|&room| u64::from(room)).sum::<u64>(), self.capacity.into(), "rooms");
        assert!(self.len() <= self.capacity, "more blocks than frames");
        self.spare.validate(&self.places);
        for area in 0..AREAS {
            self.areas[area].validate(&self.places);
            self.shadows[area].validate(&self.places);
            assert!(self.areas[area].len() <= self.room[area], "area {area} exceeds its room");
            assert!(self.shadows[area].len() <= self.shadow_room(area), "shadow {area} exceeds its room");
        }
        for slot in self.shadows[TEXTURE].iter().map(|place| place / PLACES) {
            let area = self.places.tag(in_area(slot)) as usize;
            assert!(area >= RANDOM, "T2 remembers a block of T1 or C1");
            assert_ne!(area, SHADOW + CONFIG, "a block in T2 and C2");
            assert!(!self.mode.dedupes || area != SHADOW + RANDOM, "a block in T2 and O2");
        }
    }
}

impl Render {
    /// Blocks that the areas for textures, configuration and random textures may hold at present.
    pub fn room(&self) -> [u32; 3] {
        self.room
    }

    /// Rings large enough for all that areas and shadows may come to hold.
    fn fit_queues(&mut self) {
        let slots = self.places.slots() / PLACES;
        let bound = self.capacity.min(slots);
        self.spare.grow(&mut self.places, bound);
        for area in 0..AREAS {
            let remembered = match self.mode {
                Mode { adapts: false, .. } => 0,
                Mode { is_fixed: true, .. } if area == RANDOM => RANDOM_BLOCKS.min(slots),
                _ => bound,
            };
            self.areas[area].grow(&mut self.places, bound);
            self.shadows[area].grow(&mut self.places, remembered);
        }
    }

    fn shadow_room(&self, area: usize) -> u32 {
        match self.mode {
            Mode { adapts: false, .. } => 0,
            Mode { is_fixed: true, .. } if area == RANDOM => RANDOM_BLOCKS,
            _ => self.capacity - self.room[area],
        }
    }

    /// An output block is not kept, whatever it was before.
    #[cold]
    fn write_past(&mut self, slot: Slot, fx: &mut impl Effects) {
        let area = self.places.tag(in_area(slot)) as usize;
        if area < AREAS {
            self.areas[area].take(&mut self.places, in_area(slot));
        }
        if area < AREAS || self.take_spare(slot) {
            fx.evict(slot);
        }
        self.leave_shadows(slot);
        fx.forget(slot);
    }

    /// A block is hit in O1: if T2 remembers it, T1 should have been larger.
    #[inline(always)]
    fn hit_random(&mut self, slot: Slot, time: u64, fx: &mut impl Effects) {
        let place = in_t2(slot);
        if self.places.tag(place) == ABSENT || self.places.is_marked(place) {
            return;
        }
        if self.mode.dedupes {
            self.places.mark(place);
        } else {
            self.shadows[TEXTURE].take(&mut self.places, place);
        }
        self.enlarge(TEXTURE, slot, time);
        self.cut_all(fx);
    }

    #[inline(always)]
    fn miss(&mut self, slot: Slot, area: usize, time: u64, fx: &mut impl Effects) -> Outcome {
        self.recall(slot, time, fx);
        let Some(others) = self.room[area].checked_sub(1) else {
            if self.is_spare(slot) {
                return Outcome::Hit;
            }
            fx.forget(slot);
            return Outcome::Bypassed;
        };
        let was_spare = self.take_spare(slot);
        self.cut(area, others, fx);
        while self.len() >= self.capacity {
            self.evict_spare(fx);
        }
        self.areas[area].push(&mut self.places, in_area(slot));
        if was_spare { Outcome::Hit } else { Outcome::Admitted }
    }

    /// True if the block stays in a free frame.
    #[inline(always)]
    fn is_spare(&self, slot: Slot) -> bool {
        self.places.tag(in_spare(slot)) == SPARE
    }

    /// Takes a block out of the free frames; false if it is in none.
    #[inline(always)]
    fn take_spare(&mut self, slot: Slot) -> bool {
        let is_spare = self.is_spare(slot);
        if is_spare {
            self.spare.take(&mut self.places, in_spare(slot));
        }
        is_spare
    }

    /// The block that left its area last gives its frame up.
    #[inline(always)]
    fn evict_spare(&mut self, fx: &mut impl Effects) {
        let place =
            self.spare.pop_youngest(&mut self.places).expect("areas keep to their rooms, the capacity together");
        let slot = place / PLACES;
        fx.evict(slot);
        self.forget_unless_placed(slot, fx);
    }

    /// Gives the slot up if no area, shadow or free frame has its block.
    #[inline(always)]
    fn forget_unless_placed(&self, slot: Slot, fx: &mut impl Effects) {
        if [in_area(slot), in_t2(slot), in_spare(slot)].iter().all(|&place| self.places.tag(place) == ABSENT) {
            fx.forget(slot);
        }
    }

    /// Moves room to the areas whose shadows remember the block that is missed.
    #[inline(always)]
    fn recall(&mut self, slot: Slot, time: u64, fx: &mut impl Effects) {
        let remembered = self.leave_shadows(slot);
        let wanted = (0..AREAS).filter(|&area| remembered[area]);
        wanted.take(if self.mode.first_only { 1 } else { AREAS }).for_each(|area| self.enlarge(area, slot, time));
        if remembered.contains(&true) {
            self.cut_all(fx);
        }
    }

    /// Takes a block out of the shadows and says which ones remembered it.
    #[inline(always)]
    fn leave_shadows(&mut self, slot: Slot) -> [bool; AREAS] {
        std::array::from_fn(|area| {
            let (shadow, place) = (&mut self.shadows[area], in_shadow(area, slot));
            let remembers = self.places.tag(place) == shadow.tag();
            if remembers {
                shadow.take(&mut self.places, place);
            }
            remembers
        })
    }

    /// Moves room to an area whose shadow remembers the block in `slot`, unless too little would be left where it is
    /// taken.
    #[inline(always)]
    fn enlarge(&mut self, area: usize, slot: Slot, time: u64) {
        let giver = if area == TEXTURE { CONFIG } else { TEXTURE };
        let step = self.step;
        let more = self.periods.as_mut().map_or(step, |periods| periods.worth(area, slot, time, step));
        let left = self.room[giver].checked_sub(more).filter(|&left| left >= self.least);
        if let Some(left) = left {
            self.room[giver] = left;
            self.room[area] += more;
        }
    }

    /// Cuts areas and shadows to their rooms.
    fn cut_all(&mut self, fx: &mut impl Effects) {
        (0..AREAS).for_each(|area| self.cut(area, self.room[area], fx));
        (0..AREAS).for_each(|area| self.cut_shadow(area, fx));
    }

    /// Lets blocks go from an area until it holds at most `most`.
    #[inline(always)]
    fn cut(&mut self, area: usize, most: u32, fx: &mut impl Effects) {
        while self.areas[area].len() > most {
            match area {
                TEXTURE => self.pass_on(fx),
                CONFIG => self.evict_config(fx),
                _ => self.evict_random(fx),
            }
        }
    }

    /// The block used last in T1 goes on to O1 and is remembered in T2.
    #[inline(always)]
    fn pass_on(&mut self, fx: &mut impl Effects) {
        let Some(place) = self.areas[TEXTURE].pop_youngest(&mut self.places) else { return };
        self.areas[RANDOM].push(&mut self.places, place);
        self.remember(TEXTURE, place / PLACES, fx);
        while self.areas[RANDOM].len() > self.room[RANDOM] {
            self.evict_random(fx);
        }
    }

    /// The block used last in C1 leaves the area.
    #[inline(always)]
    fn evict_config(&mut self, fx: &mut impl Effects) {
        let Some(place) = self.areas[CONFIG].pop_youngest(&mut self.places) else { return };
        self.spare.push(&mut self.places, in_spare(place / PLACES));
        self.remember(CONFIG, place / PLACES, fx);
    }

    /// The block not used for longest in O1 leaves the area.
    #[inline(always)]
    fn evict_random(&mut self, fx: &mut impl Effects) {
        let Some(place) = self.areas[RANDOM].pop_oldest(&mut self.places) else { return };
        let slot = place / PLACES;
        self.spare.push(&mut self.places, in_spare(slot));
        if !self.mode.dedupes || self.places.tag(in_t2(slot)) == ABSENT {
            self.remember(RANDOM, slot, fx);
        }
    }

    /// Puts a block into the shadow of `area`.
    #[inline(always)]
    fn remember(&mut self, area: usize, slot: Slot, fx: &mut impl Effects) {
        self.shadows[area].push(&mut self.places, in_shadow(area, slot));
        self.cut_shadow(area, fx);
    }

    /// Drops blocks that do not fit in the shadow of `area`, and forgets those that are nowhere else.
    #[inline(always)]
    fn cut_shadow(&mut self, area: usize, fx: &mut impl Effects) {
        while self.shadows[area].len() > self.shadow_room(area) {
            let Some(place) = self.shadows[area].pop_oldest(&mut self.places) else { return };
            self.forget_unless_placed(place / PLACES, fx);
        }
    }
}

/// The user's rules, if they know one of the classes that are treated apart, or the built-in ones.
fn rules(args: &Args) -> Rules {
    let knows = |rules: &&Rules| ["output", "config", "texture"].iter().any(|name| rules.class(name).is_some());
    args.rules().filter(knows).cloned().unwrap_or_else(builtin::render)
}

/// Blocks that an area keeps at least when shadow hits move room.
fn least(args: &Args, capacity: u32) -> Result<u32, SpecError> {
    Ok(args.share("min_frac", capacity)?.max(1))
}

/// The initial sizes of the areas.
fn first_division(args: &Args, capacity: u32) -> Result<[u32; AREAS], SpecError> {
    let random = match args.is_given("random") {
        true => args.share("random", capacity)?,
        false => RANDOM_BLOCKS.min((capacity / 10).max(1)),
    };
    let random = random.min(capacity.saturating_sub(2));
    let rest = capacity - random;
    let texture = args.share("texture", rest)?.min(rest);
    Ok(divide(capacity, u64::from(rest - texture), random.into()))
}

/// Divides the cache: O1 leaves a block each to T1 and C1 if there are two, C1 one to T1, and T1 has what is left.
fn divide(capacity: u32, config: u64, random: u64) -> [u32; AREAS] {
    let random = random.min(capacity.saturating_sub(2).into()) as u32;
    let config = config.max(1).min(u64::from(capacity - random) - 1) as u32;
    [capacity - random - config, config, random]
}
