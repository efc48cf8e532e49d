//! EELRU: LRU that evicts early when what it evicts comes back just too late.
//!
//! Idea: blocks, also some that have left, are ranked by last use. If many uses fall on ranks a little beyond the
//! capacity m, as in a loop that does not quite fit, it pays to evict blocks already at an early rank e, so that others
//! survive to a late rank l. Uses are counted by rank; for every pair (e, l) they tell how many hits early eviction
//! would win and lose.
//!
//! Paper: Smaragdakis, Kaplan, Wilson, "EELRU: simple and effective adaptive page replacement", SIGMETRICS 1999.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: e is 10, 20, 35, 50, 65 or 80% of m, l 115, 135, 160, 200 or 250%, rounded down, where that
//! leaves 0 < e < m < l. Early eviction at (e, l) wins total * (m - e) / (l - e) - early hits, with `total` uses at
//! ranks e to l and `early` ones at e to m; the pair that wins most is taken, of equal ones the smaller e, then l, and
//! LRU if none wins. Counts are multiplied by 0.875 (`decay`) every m references. If the least recently used resident
//! block is beyond l it leaves; otherwise the least recently used one up to rank e, which is the block at e unless that
//! has left already. Blocks beyond the last l are remembered only as long as they are resident; they count as one rank
//! each. A resize clears the counts.
//!
//! Cost: O(1): a reference moves its block in two lists and each bound that it crosses, up to 12, by one block; a miss
//! after a change of counts weighs up to 30 pairs. Exact ranks ask for that, so it decides about seven times slower
//! than LRU. Memory: 17 bytes a slot.
//!
//! When not to use it: where popularity decides rather than recency, and for loops longer than 2.5 times the capacity.

use crate::parts::large;
use crate::parts::links::{Links, List, NONE};
use crate::parts::prefetch::prefetch;
use crate::policy::{Args, Effects, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot};
use crate::spec::SpecError;

/// Candidates for e and l, in thousandths of the capacity.
const EARLY: [u64; 6] = [100, 200, 350, 500, 650, 800];
const LATE: [u64; 5] = [1150, 1350, 1600, 2000, 2500];
/// Most bounds: those and the capacity.
const BOUNDS: usize = EARLY.len() + 1 + LATE.len();

/// The class of a slot that is not known.
const UNKNOWN: u8 = u8::MAX;
/// Set in the class of a resident slot.
const RESIDENT: u8 = 1 << 7;

/// The EELRU policy.
#[derive(Debug)]
pub struct Eelru {
    capacity: u32,
    ranks: Ranks,
    /// All known blocks; the youngest has rank 1.
    axis: List,
    axis_links: Links,
    /// The resident ones in the same order.
    residents: List,
    resident_links: Links,
    /// By slot: the number of bounds that are less than its rank.
    classes: Vec<u8>,
    /// By bound: the block whose rank it is, or [`NONE`].
    markers: [Slot; BOUNDS],
    /// By bound: the oldest resident block up to that rank, or [`NONE`]; kept up for the early bounds.
    last: [Slot; BOUNDS],
    /// Uses by class.
    uses: [f64; BOUNDS],
    decay: f64,
    /// References since the last decay.
    references: u32,
    /// The choice, `None` if the uses have changed since.
    choice: Option<Choice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Lru,
    /// Evict at this early bound, as long as nothing is beyond this late one.
    Early {
        early: usize,
        late: usize,
    },
}

/// The bounds between classes at one capacity: the early ranks, the capacity and the late ranks, ascending.
#[derive(Clone, Copy, Debug)]
struct Ranks {
    bounds: [u64; BOUNDS],
    /// Bounds in use.
    count: usize,
    /// Those below the capacity, so also the index of the capacity.
    early: usize,
    /// By early and late bound: (m - e) / (l - e).
    weights: [[f64; BOUNDS]; EARLY.len()],
}

impl Ranks {
    fn of(capacity: u32) -> Ranks {
        let capacity = u64::from(capacity);
        let early = EARLY.map(|thousandths| capacity * thousandths / 1000);
        let late = LATE.map(|thousandths| (capacity * thousandths / 1000).max(capacity + 1));
        let mut ranks = Ranks { bounds: [0; BOUNDS], count: 0, early: 0, weights: [[0.0; BOUNDS]; EARLY.len()] };
        for bound in early.into_iter().chain([capacity]).chain(late) {
            let greatest = if ranks.count == 0 { 0 } else { ranks.bounds[ranks.count - 1] };
            if bound > greatest {
                ranks.bounds[ranks.count] = bound;
                ranks.early += usize::from(bound < capacity);
                ranks.count += 1;
            }
        }
        for early in 0..ranks.early {
            for late in ranks.early + 1..ranks.count {
                let [e, l] = [early, late].map(|index| ranks.bounds[index]);
                ranks.weights[early][late] = (capacity - e) as f64 / (l - e) as f64;
            }
        }
        ranks
    }

    /// The pair that wins most hits.
    fn choose(&self, uses: &[f64; BOUNDS]) -> Choice {
        let mut up_to = *uses;
        for class in 1..self.count {
            up_to[class] += up_to[class - 1];
        }
        let (mut choice, mut most) = (Choice::Lru, 0.0);
        for early in 0..self.early {
            let lost = up_to[self.early] - up_to[early];
            for late in self.early + 1..self.count {
                let won = (up_to[late] - up_to[early]) * self.weights[early][late] - lost;
                if won > most {
                    (choice, most) = (Choice::Early { early, late }, won);
                }
            }
        }
        choice
    }
}

impl Policy for Eelru {
    const INFO: Info = Info {
        name: "eelru",
        family: "loop",
        summary: "LRU that evicts early when counts by rank say that blocks come back just too late",
        params: &[Param {
            key: "decay",
            kind: ParamKind::Real { min: 0.0, max: 1.0 },
            default: "0.875",
            doc: "factor for the use counts, applied once in as many references as the capacity",
        }],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        Ok(Eelru {
            capacity: setup.capacity,
            ranks: Ranks::of(setup.capacity),
            axis: List::default(),
            axis_links: Links::new(setup.slots),
            residents: List::default(),
            resident_links: Links::new(setup.slots),
            classes: large::filled(UNKNOWN, setup.slots as usize),
            markers: [NONE; BOUNDS],
            last: [NONE; BOUNDS],
            uses: [0.0; BOUNDS],
            decay: setup.args.real("decay"),
            references: 0,
            choice: None,
        })
    }

    fn requirements(_args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let ranks = Ranks::of(capacity);
        Ok(Requirements {
            identities: ranks.bounds[ranks.count - 1] + u64::from(capacity) + 1,
            ..Requirements::of(capacity)
        })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        self.age();
        let class = self.classes[slot as usize];
        if class == UNKNOWN {
            self.make_room(fx);
            self.axis.push(&mut self.axis_links, slot);
        } else {
            self.count_use(class_of(class));
            if is_resident(class) {
                self.withdraw(slot);
            } else {
                self.make_room(fx);
            }
            self.lift(slot, class_of(class));
        }
        self.classes[slot as usize] = RESIDENT;
        self.residents.push(&mut self.resident_links, slot);
        for last in &mut self.last[..self.ranks.early] {
            if *last == NONE {
                *last = slot;
            }
        }
        let shifted = if class == UNKNOWN { self.ranks.count } else { class_of(class) };
        self.shift_bounds(shifted, fx);
        if is_resident(class) { Outcome::Hit } else { Outcome::Admitted }
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.classes, slot as usize);
        self.axis_links.prefetch(slot);
        self.resident_links.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let class = self.classes[slot as usize];
        if class == UNKNOWN {
            return;
        }
        if is_resident(class) {
            self.withdraw(slot);
        }
        self.draw_bounds_in(class_of(class));
        self.drop(slot, fx);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.ranks = Ranks::of(capacity);
        (self.uses, self.references, self.choice) = ([0.0; BOUNDS], 0, None);
        self.rank_all(fx);
        while self.residents.len() > capacity {
            self.evict(fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        self.axis_links.grow(slots);
        self.resident_links.grow(slots);
        self.classes.resize((slots as usize).max(self.classes.len()), UNKNOWN);
    }

    fn contains(&self, slot: Slot) -> bool {
        is_resident(self.classes[slot as usize])
    }

    fn len(&self) -> u32 {
        self.residents.len()
    }

    fn validate(&self) {
        self.axis.validate(&self.axis_links);
        self.residents.validate(&self.resident_links);
        assert!(self.residents.len() <= self.capacity);
        let known = self.classes.iter().filter(|&&class| class != UNKNOWN).count();
        assert_eq!(known, self.axis.len() as usize, "known blocks that have no rank");
        let (mut markers, mut last, mut residents) = ([NONE; BOUNDS], [NONE; BOUNDS], Vec::new());
        for (rank, slot) in (1..).zip(self.by_rank()) {
            let class = self.ranks.bounds[..self.ranks.count].partition_point(|&bound| bound < rank);
            let stored = self.classes[slot as usize];
            assert_eq!(class_of(stored), class, "class of the block with rank {rank}");
            assert!(is_resident(stored) || class < self.ranks.count, "a ghost beyond the last bound");
            if is_resident(stored) {
                residents.push(slot);
                last[class.min(self.ranks.early)..self.ranks.early].fill(slot);
            }
            if class < self.ranks.count && self.ranks.bounds[class] == rank {
                markers[class] = slot;
            }
        }
        assert_eq!(markers, self.markers);
        assert_eq!(last, self.last);
        assert!(self.residents.iter(&self.resident_links).eq(residents.into_iter().rev()), "residents out of order");
        assert!(self.uses.iter().all(|&uses| uses >= 0.0));
    }
}

#[inline(always)]
fn is_resident(class: u8) -> bool {
    class & RESIDENT != 0 && class != UNKNOWN
}

#[inline(always)]
fn class_of(class: u8) -> usize {
    usize::from(class & !RESIDENT)
}

impl Eelru {
    /// All known blocks from rank 1 on.
    fn by_rank(&self) -> impl Iterator<Item = Slot> + '_ {
        std::iter::successors(self.axis.youngest(), |&slot| self.axis.older(&self.axis_links, slot))
    }

    #[inline(always)]
    fn age(&mut self) {
        if self.references == self.capacity {
            self.references = 0;
            self.uses.iter_mut().for_each(|uses| *uses *= self.decay);
            self.choice = None;
        }
        self.references += 1;
    }

    #[inline(always)]
    fn count_use(&mut self, class: usize) {
        if class < self.ranks.count {
            self.uses[class] += 1.0;
            // Uses up to the first bound are neither won nor lost.
            if class > 0 {
                self.choice = None;
            }
        }
    }

    #[inline(always)]
    fn make_room(&mut self, fx: &mut impl Effects) {
        if self.residents.len() == self.capacity {
            self.evict(fx);
        }
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let Some(oldest) = self.residents.oldest(&self.resident_links) else { return };
        let choice = *self.choice.get_or_insert_with(|| self.ranks.choose(&self.uses));
        let victim = match choice {
            Choice::Early { early, late }
                if class_of(self.classes[oldest as usize]) <= late && self.last[early] != NONE =>
            {
                self.last[early]
            }
            _ => oldest,
        };
        self.withdraw(victim);
        fx.evict(victim);
        let class = class_of(self.classes[victim as usize]);
        self.classes[victim as usize] = class as u8;
        if class == self.ranks.count {
            self.drop(victim, fx);
        }
    }

    /// Takes `slot` out of the residents.
    #[inline(always)]
    fn withdraw(&mut self, slot: Slot) {
        self.pass_last(slot, 0..self.ranks.early);
        self.residents.take(&mut self.resident_links, slot);
    }

    /// `slot` is no longer the oldest resident up to any of these bounds.
    #[inline(always)]
    fn pass_last(&mut self, slot: Slot, bounds: std::ops::Range<usize>) {
        for last in &mut self.last[bounds] {
            if *last == slot {
                *last = self.residents.younger(&self.resident_links, slot).unwrap_or(NONE);
            }
        }
    }

    /// Moves `slot`, which is in this class, to rank 1.
    #[inline(always)]
    fn lift(&mut self, slot: Slot, class: usize) {
        let is_marker = class < self.ranks.count && self.markers[class] == slot;
        let before = self.axis.younger(&self.axis_links, slot);
        self.axis.take(&mut self.axis_links, slot);
        self.axis.push(&mut self.axis_links, slot);
        if is_marker {
            self.markers[class] = before.unwrap_or(slot);
        }
    }

    /// A block has come to rank 1 from behind the first `count` bounds: the block at each of these moves into the next
    /// class.
    #[inline(always)]
    fn shift_bounds(&mut self, count: usize, fx: &mut impl Effects) {
        for bound in 0..count {
            let marker = self.markers[bound];
            if marker == NONE {
                if u64::from(self.axis.len()) == self.ranks.bounds[bound] {
                    self.markers[bound] = self.axis.oldest(&self.axis_links).unwrap_or(NONE);
                }
                return;
            }
            let class = &mut self.classes[marker as usize];
            *class += 1;
            let is_ghost = !is_resident(*class);
            if bound < self.ranks.early && !is_ghost {
                self.pass_last(marker, bound..bound + 1);
            }
            let next = self.axis.younger(&self.axis_links, marker).unwrap_or(NONE);
            self.markers[bound] = next;
            self.axis_links.prefetch(next);
            if is_ghost && bound + 1 == self.ranks.count {
                self.drop(marker, fx);
            }
        }
    }

    /// A block of this class is about to go: the bounds behind it move to the next older block each.
    fn draw_bounds_in(&mut self, class: usize) {
        for bound in class..self.ranks.count {
            let marker = self.markers[bound];
            if marker == NONE {
                return;
            }
            let next = self.axis.older(&self.axis_links, marker).unwrap_or(NONE);
            self.markers[bound] = next;
            if next != NONE {
                self.classes[next as usize] -= 1;
                if bound < self.ranks.early && self.contains(next) {
                    self.last[bound] = next;
                }
            }
        }
    }

    /// Takes `slot`, which is not resident, off the axis.
    #[inline(always)]
    fn drop(&mut self, slot: Slot, fx: &mut impl Effects) {
        self.axis.take(&mut self.axis_links, slot);
        self.classes[slot as usize] = UNKNOWN;
        fx.forget(slot);
    }

    /// Finds the classes of all blocks afresh and drops the ghosts beyond the last bound.
    fn rank_all(&mut self, fx: &mut impl Effects) {
        (self.markers, self.last) = ([NONE; BOUNDS], [NONE; BOUNDS]);
        let (mut class, mut rank) = (0, 0);
        let mut at = self.axis.youngest();
        while let Some(slot) = at {
            at = self.axis.older(&self.axis_links, slot);
            rank += 1;
            while class < self.ranks.count && self.ranks.bounds[class] < rank {
                class += 1;
            }
            let resident = self.contains(slot);
            if class == self.ranks.count && !resident {
                self.drop(slot, fx);
                continue;
            }
            self.classes[slot as usize] = class as u8 | if resident { RESIDENT } else { 0 };
            if resident {
                self.last[class.min(self.ranks.early)..self.ranks.early].fill(slot);
            }
            if class < self.ranks.count && self.ranks.bounds[class] == rank {
                self.markers[class] = slot;
            }
        }
    }
}
