//! CLOCK-Pro: LIRS on a clock.
//!
//! Idea: hot pages and cold ones are in one ring, in which nothing moves on a hit. A new page is cold and on test;
//! used again before the test ends, though it may have left the cache by then, it becomes hot. Three hands go round:
//! one looks for a cold page to evict, one for a hot page to make cold, one ends tests. How many pages are to be cold
//! follows from the tests' results.
//!
//! Paper: Jiang, Chen, Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement", USENIX ATC 2005.
//!
//! Provenance: from secondary sources, the paper's text was not at hand. Most of the authors' simulator (2005) was
//! read, not run: it fills the clock with hot pages first, as here; it keeps the balance of cold pages by credits, and
//! evicts a used cold page whose test has ended. Within 1 point of Caffeine's simulator 3.2.0 on six of ten public
//! traces, 1.8 to 4.7 apart on backf, multi2, multi3 and zigzag, above it more often than below. libCacheSim 0.3.5 is
//! far below LRU.
//!
//! Deviations and readings: as long as the cache is not full and hot pages are fewer than there may be, new pages are
//! hot at once, as LIRS does and, the authors' simulator (`fill=cold` starts with tests; then a loop longer than the
//! ghosts remember is never learnt). The target of cold pages starts at 1% and stays between 1% and 99%, each at least
//! 1 and below the capacity, and counts up when a page is used on test and down when a test ends without. The page that
//! is referenced leaves the ring before the hands move, so they cannot drop it. A hand that has passed the youngest
//! page waits there for new ones, and if it must move on before any came, starts again at the oldest; the hot hand goes
//! on to the next hot page. With `hands=turn` they go on to the oldest page at once, the hot hand stops as soon as
//! there are not too many hot pages, and only tests of pages that have left count down. On traces of memory that is the
//! default, with `fill=cold` and targets from 1 page to all but one. The test hand moves only when there are more
//! ghosts than `ghosts` allows. Shrinking makes surplus hot pages cold, evicts, then drops ghosts.
//!
//! Cost: a hit reads one byte, or writes it the first time; a miss moves hands over pages, O(1) amortised over hits and
//! tests in practice, though a hand may once pass the whole ring. Memory: 9 bytes a slot.
//!
//! When not to use it: like LIRS, where the popular set changes fast.

use crate::parts::large;
use crate::parts::links::{Links, List, NONE};
use crate::parts::prefetch::prefetch;
use crate::policy::{
    Args, Discard, Effects, Hits, Info, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

/// States of a slot: unknown, hot, cold and resident, or cold and gone; the latter is always on test.
const UNKNOWN: u8 = 0;
const HOT: u8 = 1;
const COLD: u8 = 2;
const GHOST: u8 = 3;
/// Bits beside the state: used since a hand last passed; on test.
const USED: u8 = 4;
const TEST: u8 = 8;

/// The hands that stop anywhere. The hot hand is always at the oldest page: a page that it passes becomes the youngest.
const COLD_HAND: usize = 0;
const TEST_HAND: usize = 1;

/// The CLOCK-Pro policy.
#[derive(Debug)]
pub struct ClockPro {
    capacity: u32,
    args: Args,
    bounds: Bounds,
    fill_hot: bool,
    hands_turn: bool,
    links: Links,
    ring: List,
    /// By slot.
    states: Vec<u8>,
    /// The page that each hand looks at next; [`NONE`] behind the youngest.
    hands: [Slot; 2],
    /// How many pages should be cold.
    target: u32,
    hot: u32,
    cold: u32,
    ghosts: u32,
}

/// The parameters at one capacity.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Least and greatest target of cold pages.
    target: [u32; 2],
    /// Most ghosts.
    ghosts: Option<u32>,
}

impl Bounds {
    fn of(args: &Args, capacity: u32) -> Result<Bounds, SpecError> {
        let top = (capacity - 1).max(1);
        let least = args.share("min_cold", capacity)?.clamp(1, top);
        let most = args.share("max_cold", capacity)?.clamp(least, top);
        Ok(Bounds { target: [least, most], ghosts: args.multiple("ghosts", capacity) })
    }
}

impl Policy for ClockPro {
    const INFO: Info = Info {
        name: "clock-pro",
        aliases: &["clockpro"],
        family: "adaptive",
        summary: "LIRS on a clock: hot and cold pages, tests that also watch evicted pages, three hands",
        params: &[
            Param {
                key: "cold",
                kind: ParamKind::Share,
                default: "1%",
                doc: "how many pages should be cold at first (paper: left open)",
            },
            Param {
                key: "min_cold",
                kind: ParamKind::Share,
                default: "1%",
                doc: "least pages that should be cold, at least 1 (paper: 1)",
            },
            Param {
                key: "max_cold",
                kind: ParamKind::Share,
                default: "99%",
                doc: "most pages that should be cold, less than all (paper: all but 1)",
            },
            Param {
                key: "ghosts",
                kind: ParamKind::Multiple,
                default: "1",
                doc: "most evicted pages on test, times the capacity (paper: 1)",
            },
            Param {
                key: "fill",
                kind: ParamKind::Word(&["hot", "cold"]),
                default: "hot",
                doc: "what new pages are while the cache fills and there may be more hot ones",
            },
            Param {
                key: "hands",
                kind: ParamKind::Word(&["wait", "turn"]),
                default: "wait",
                doc: "what hands do behind the youngest page; with turn the hot hand does no more than it must",
            },
        ],
        paging: &[("cold", "1"), ("min_cold", "1"), ("max_cold", "100%"), ("fill", "cold"), ("hands", "turn")],
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let bounds = Bounds::of(setup.args, setup.capacity)?;
        let [least, most] = bounds.target;
        Ok(ClockPro {
            capacity: setup.capacity,
            args: setup.args.clone(),
            bounds,
            fill_hot: setup.args.word("fill") == "hot",
            hands_turn: setup.args.word("hands") == "turn",
            links: Links::new(setup.slots),
            ring: List::default(),
            states: large::filled(UNKNOWN, setup.slots as usize),
            hands: [NONE; 2],
            target: setup.args.share("cold", setup.capacity)?.clamp(least, most),
            hot: 0,
            cold: 0,
            ghosts: 0,
        })
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        let plain = Requirements::of(capacity).with_ghosts(args.multiple("ghosts", capacity));
        Ok(Requirements { hits: Hits::Bit, ..plain })
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        let state = self.states[slot as usize];
        if is_resident(state) {
            if state & USED == 0 {
                self.states[slot as usize] = state | USED;
            }
            return Outcome::Hit;
        }
        if kind(state) == GHOST {
            self.drop_ghost(slot);
            self.raise_target();
            self.make_room(fx);
            self.enter(slot, HOT);
            self.settle(fx);
        } else if self.fill_hot && self.len() < self.capacity && self.hot < self.most_hot() {
            self.enter(slot, HOT);
        } else {
            self.make_room(fx);
            self.enter(slot, COLD | TEST);
        }
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.states, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        match kind(self.states[slot as usize]) {
            UNKNOWN => return,
            HOT => self.hot -= 1,
            COLD => self.cold -= 1,
            _ => self.ghosts -= 1,
        }
        self.leave(slot);
        fx.forget(slot);
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.bounds = Bounds::of(&self.args, capacity).expect("new accepted the same arguments");
        let [least, most] = self.bounds.target;
        self.target = self.target.clamp(least, most);
        self.settle(fx);
        while self.len() > capacity {
            self.move_cold_hand(fx);
        }
        self.trim_ghosts(fx);
    }

    fn grow(&mut self, slots: u32) {
        self.links.grow(slots);
        self.states.resize((slots as usize).max(self.states.len()), UNKNOWN);
    }

    fn contains(&self, slot: Slot) -> bool {
        is_resident(self.states[slot as usize])
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.hot + self.cold
    }

    fn validate(&self) {
        self.ring.validate(&self.links);
        let count =
            |wanted: u8| self.ring.iter(&self.links).filter(move |&slot| kind(self.states[slot as usize]) == wanted);
        for (wanted, counted) in [(HOT, self.hot), (COLD, self.cold), (GHOST, self.ghosts), (UNKNOWN, 0)] {
            assert_eq!(count(wanted).count(), counted as usize, "pages in state {wanted}");
        }
        let known = self.states.iter().filter(|&&state| state != UNKNOWN).count();
        assert_eq!(known, self.ring.len() as usize, "known pages that are not in the ring");
        assert!(count(GHOST).all(|slot| self.states[slot as usize] & TEST != 0), "a ghost is not on test");
        assert!(count(HOT).all(|slot| self.states[slot as usize] & TEST == 0), "a hot page is on test");
        let known = |hand: Slot| hand == NONE || self.states[hand as usize] != UNKNOWN;
        assert!(self.hands.into_iter().all(known), "a hand has left the ring");
        let [least, most] = self.bounds.target;
        assert!((least..=most).contains(&self.target), "the target of cold pages");
        assert!(self.hot <= self.most_hot(), "more hot pages than there may be");
        assert!(self.len() <= self.capacity, "hot and cold pages exceed the capacity");
        assert!(self.bounds.ghosts.is_none_or(|most| self.ghosts <= most), "too many ghosts");
    }
}

#[inline(always)]
fn kind(state: u8) -> u8 {
    state & 3
}

#[inline(always)]
fn is_resident(state: u8) -> bool {
    matches!(kind(state), HOT | COLD)
}

impl ClockPro {
    #[inline(always)]
    fn most_hot(&self) -> u32 {
        self.capacity - self.target
    }

    #[inline(always)]
    fn raise_target(&mut self) {
        self.target = (self.target + 1).min(self.bounds.target[1]);
    }

    #[inline(always)]
    fn lower_target(&mut self) {
        self.target = (self.target - 1).max(self.bounds.target[0]);
    }

    /// Puts a page that is not in the ring at its MRU end.
    #[inline(always)]
    fn enter(&mut self, slot: Slot, state: u8) {
        self.ring.push(&mut self.links, slot);
        self.catch_up(slot);
        self.states[slot as usize] = state;
        if kind(state) == HOT {
            self.hot += 1;
        } else {
            self.cold += 1;
        }
    }

    /// Takes a page, which its count does not include any more, out of the ring.
    #[inline(always)]
    fn leave(&mut self, slot: Slot) {
        for hand in 0..self.hands.len() {
            if self.hands[hand] == slot {
                self.advance(hand, slot);
            }
        }
        self.ring.take(&mut self.links, slot);
        self.states[slot as usize] = UNKNOWN;
    }

    #[inline(always)]
    fn drop_ghost(&mut self, slot: Slot) {
        self.ghosts -= 1;
        self.leave(slot);
    }

    /// Hands that waited behind the youngest page look at the new youngest one next.
    #[inline(always)]
    fn catch_up(&mut self, youngest: Slot) {
        for hand in &mut self.hands {
            if *hand == NONE {
                *hand = youngest;
            }
        }
    }

    /// The page that `hand` looks at; the ring is not empty.
    #[inline(always)]
    fn looked_at(&self, hand: usize) -> Slot {
        let start = || self.ring.oldest(&self.links).expect("a hand moves over pages");
        if self.hands[hand] == NONE { start() } else { self.hands[hand] }
    }

    /// Moves `hand` past `slot`.
    #[inline(always)]
    fn advance(&mut self, hand: usize, slot: Slot) {
        match self.ring.younger(&self.links, slot) {
            Some(next) => {
                self.hands[hand] = next;
                self.links.prefetch(next);
            }
            None => self.hands[hand] = self.behind(slot),
        }
    }

    /// The next page of a hand that has passed `slot`, the youngest page.
    #[cold]
    fn behind(&self, slot: Slot) -> Slot {
        let oldest = self.ring.oldest(&self.links).filter(|&oldest| self.hands_turn && oldest != slot);
        oldest.unwrap_or(NONE)
    }

    #[inline(always)]
    fn make_room(&mut self, fx: &mut impl Effects) {
        while self.len() == self.capacity {
            self.move_cold_hand(fx);
        }
    }

    /// Moves the cold hand past one page: evicts it if it is cold and was not used, else judges its use.
    #[inline(always)]
    fn move_cold_hand(&mut self, fx: &mut impl Effects) {
        let slot = self.looked_at(COLD_HAND);
        self.advance(COLD_HAND, slot);
        let state = self.states[slot as usize];
        if kind(state) != COLD {
            return;
        }
        self.cold -= 1;
        let is_used = (state & USED != 0) | fx.take_accessed(slot);
        match (is_used, state & TEST != 0) {
            (true, true) => {
                self.leave(slot);
                self.raise_target();
                self.enter(slot, HOT);
                self.settle(fx);
            }
            (true, false) => {
                self.leave(slot);
                self.enter(slot, COLD | TEST);
            }
            (false, true) => {
                self.states[slot as usize] = GHOST | TEST;
                self.ghosts += 1;
                fx.evict(slot);
                self.trim_ghosts(fx);
            }
            (false, false) => {
                self.leave(slot);
                fx.discard(slot);
            }
        }
    }

    /// Makes hot pages cold until there are not too many.
    #[inline(always)]
    fn settle(&mut self, fx: &mut impl Effects) {
        while self.hot > self.most_hot() {
            self.run_hot_hand(fx);
        }
    }

    /// Moves the hot hand until it has made a page cold and stands at a hot one, or only as long as there are too many
    /// hot pages.
    fn run_hot_hand(&mut self, fx: &mut impl Effects) {
        let mut demoted = false;
        while let Some(slot) = self.ring.oldest(&self.links) {
            let state = self.states[slot as usize];
            let may_rest = match self.hands_turn {
                true => self.hot <= self.most_hot(),
                false => kind(state) == HOT && demoted || self.hot == 0,
            };
            if may_rest {
                return;
            }
            if kind(state) == GHOST {
                self.end_test(slot, fx);
                continue;
            }
            self.ring.renew_oldest(&self.links);
            self.catch_up(slot);
            if kind(state) == COLD {
                self.end_test(slot, fx);
            } else if (state & USED != 0) | fx.take_accessed(slot) {
                self.states[slot as usize] = HOT;
            } else {
                self.states[slot as usize] = COLD;
                self.hot -= 1;
                self.cold += 1;
                demoted = true;
            }
        }
    }

    #[inline(always)]
    fn trim_ghosts(&mut self, fx: &mut impl Effects) {
        while self.bounds.ghosts.is_some_and(|most| self.ghosts > most) {
            let slot = self.looked_at(TEST_HAND);
            self.advance(TEST_HAND, slot);
            self.end_test(slot, fx);
        }
    }

    /// The test of `slot`, if it is on one, ends without a use that counts.
    #[inline(always)]
    fn end_test(&mut self, slot: Slot, fx: &mut impl Effects) {
        let state = self.states[slot as usize];
        if state & TEST == 0 {
            return;
        }
        if kind(state) == GHOST {
            self.lower_target();
            self.drop_ghost(slot);
            fx.forget(slot);
        } else {
            if !self.hands_turn {
                self.lower_target();
            }
            self.states[slot as usize] = state & !TEST;
        }
    }
}
