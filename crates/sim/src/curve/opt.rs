//! The exact OPT curve: the hits of Belady's MIN (demand fetching, no bypass) at every size, O(log n) a reference
//! whatever the trace.
//!
//! OPT has the inclusion property too (Mattson et al. 1970, "OPT"), so every reference has a *stack distance*, the
//! least size at which it hits. Updating Mattson's priority stack costs a chain of exchanges a reference (Sugumar and
//! Abraham, "Efficient simulation of caches under optimal replacement", SIGMETRICS 1993, search them in a tree):
//! thousands on block traces, 14,000 a reference on P12. This file finds the distances without a stack.
//!
//! **A hit is an interval.** Between two references to a block, the cache either holds it throughout, and the second
//! one hits, or it does not. While a reference is served its own block takes one place, so a cache of c blocks can hold
//! a set of intervals if at every reference strictly inside them at most c - 1 are open. Going through the intervals by
//! their ends and keeping each that still fits keeps the most, and exactly OPT's hits (the greedy rule for interval
//! scheduling on c - 1 machines: Faigle and Nawijn 1995; in caches: Jain and Lin, "Back to the future" (OPTgen), ISCA
//! 2016).
//!
//! **All sizes by halving.** By inclusion, what is kept at some size is kept at every larger one. So simulate a middle
//! size on all intervals: those kept have their distance there or below, the others above. For the sizes below,
//! drop the others: they never take space. For the sizes above, the kept ones always take space: store only how many
//! blocks they force the cache to hold between the ends that are still of interest. Both halves are smaller instances
//! of the same problem, independent of each other, and every interval is in one of them.
//!
//! Cost: about log2 of the distance passes over each interval, sequential but for one lookup near the interval's start.
//! Memory: up to 32 bytes a reference while the curve is computed, 8 while it is fed. The future is not needed in
//! advance.

use hotset_core::parts::prefetch::prefetch;

use super::Curve;
use crate::references::References;
use crate::references::future::TooManyReferences;
use crate::window::What;

/// How many events ahead an interval's beginning is fetched.
const FETCH: usize = 24;
const NEVER: u32 = u32::MAX;
/// The last reference to a block that was removed.
const REMOVED: u32 = u32::MAX - 1;
/// The event of a reference after which an interval begins; any other event ends the interval of that number.
const BEGIN: u32 = u32::MAX;
/// Problems of fewer events are not worth another thread.
const PARALLEL: usize = 1 << 16;

/// Collects the OPT curve of a trace that is fed in pieces.
#[derive(Debug, Default)]
pub struct OptCurve {
    /// Number of each block's last reference.
    last: Vec<u32>,
    /// For each reference the end of an interval, if one ends here, and a beginning.
    events: Vec<u32>,
    references: u32,
    distinct: u32,
    /// Blocks, one that was removed and came back counted anew.
    lives: u32,
    /// References to the block referenced just before: they hit at every size.
    repeats: u64,
}

impl OptCurve {
    /// The curve of a whole trace, in which blocks may be invalidated.
    pub fn of(trace: &References) -> Result<Curve, TooManyReferences> {
        let mut curve = OptCurve::new();
        let window = trace.window();
        let mut begin = 0;
        for event in window.events.iter().filter(|event| event.what == What::Remove) {
            curve.feed(&window.keys[begin..event.at as usize])?;
            begin = event.at as usize;
            curve.remove(&window.event_keys[event.keys.clone()]);
        }
        curve.feed(&window.keys[begin..])?;
        Ok(curve.curve())
    }

    /// Starts with an empty trace.
    pub fn new() -> OptCurve {
        OptCurve::default()
    }

    /// References blocks, numbered from 0 in order of first appearance. (Other numbers cost memory up to the largest.)
    pub fn feed(&mut self, ids: &[u32]) -> Result<(), TooManyReferences> {
        if ids.len() >= (REMOVED - self.references) as usize {
            return Err(TooManyReferences);
        }
        for &id in ids {
            self.reference(id);
        }
        Ok(())
    }

    /// Blocks are invalidated: later references under their numbers are to new blocks.
    pub fn remove(&mut self, ids: &[u32]) {
        for &id in ids {
            if let Some(last) = self.last.get_mut(id as usize).filter(|last| **last != NEVER) {
                *last = REMOVED;
            }
        }
    }

    #[inline(always)]
    fn reference(&mut self, id: u32) {
        if id as usize >= self.last.len() {
            self.last.resize(id as usize + 1, NEVER);
        }
        let now = self.references;
        match std::mem::replace(&mut self.last[id as usize], now) {
            NEVER => (self.distinct, self.lives) = (self.distinct + 1, self.lives + 1),
            REMOVED => self.lives += 1,
            last if last + 1 == now => self.repeats += 1,
            last => self.events.push(last),
        }
        self.events.push(BEGIN);
        self.references = now + 1;
    }

    /// The curve of what was fed. Uses the threads of the current rayon pool.
    pub fn curve(self) -> Curve {
        let OptCurve { mut events, references, distinct, lives, repeats, .. } = self;
        let intervals = events.len() - references as usize;
        let mut fates = vec![Fate::Refused; references as usize];
        let (mut kinds, mut loads, most) = without_endless(&mut events, &mut fates, intervals);
        events.truncate(2 * intervals);
        let mut distances = vec![0; lives as usize];
        let problem = Problem {
            above: 1,
            most,
            intervals,
            found: distances.get_mut(1..).unwrap_or_default(),
            fates: &mut fates,
            events: Events { kinds: &mut kinds, loads: &mut loads },
            spare: Events { kinds: &mut events, loads: &mut vec![0; 2 * intervals] },
        };
        problem.solve();
        if let Some(first) = distances.first_mut() {
            *first = repeats;
        }
        Curve::from_distances(references.into(), distinct.into(), &distances)
    }
}

/// The events and their loads without the beginnings that no end follows, and the most blocks that are held at once.
/// Uses `fates` for marks and `events` to renumber.
fn without_endless(events: &mut [u32], fates: &mut [Fate], intervals: usize) -> (Vec<u32>, Vec<u32>, u32) {
    events.iter().filter(|&&kind| kind != BEGIN).for_each(|&kind| fates[kind as usize] = Fate::Kept);
    let (mut kinds, mut loads) = (vec![0; 2 * intervals], vec![0; 2 * intervals]);
    let mut out = Events { kinds: &mut kinds, loads: &mut loads };
    let mut writer = Writer::at(0);
    let mut beginnings = 0;
    for at in 0..events.len() {
        let begins = events[at] == BEGIN;
        let number = if begins { beginnings } else { events[at] as usize };
        // The reference itself stands before the beginning; a cache must hold its block.
        writer.load = writer.load.max(u32::from(begins));
        if fates[number] == Fate::Kept {
            writer.write(&mut out, begins, &mut events[number]);
        }
        beginnings += usize::from(begins);
    }
    (kinds, loads, writer.peak)
}

/// Beginnings and ends of intervals in the order of time.
struct Events<'a> {
    /// [`BEGIN`], or the number of the interval that ends here, counting beginnings from 0.
    kinds: &'a mut [u32],
    /// The most blocks that must be held at once between the event before and this one, whatever is decided about the
    /// intervals at hand: the one referenced, and those whose distances are smaller.
    loads: &'a mut [u32],
}

impl<'a> Events<'a> {
    fn split_at(self, middle: usize) -> (Events<'a>, Events<'a>) {
        let (kinds, kinds_behind) = self.kinds.split_at_mut(middle);
        let (loads, loads_behind) = self.loads.split_at_mut(middle);
        (Events { kinds, loads }, Events { kinds: kinds_behind, loads: loads_behind })
    }
}

/// The state of an interval in a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Kept,
    Refused,
}

/// Intervals whose distances are known to be in `above + 1..=most`.
struct Problem<'a> {
    above: u32,
    most: u32,
    intervals: usize,
    events: Events<'a>,
    /// Scratch memory as long as `events`; it becomes the events of the two halves.
    spare: Events<'a>,
    /// One for each beginning.
    fates: &'a mut [Fate],
    /// Where to count the distances, that of `above + 1` first.
    found: &'a mut [u64],
}

impl Problem<'_> {
    fn solve(self) {
        if self.intervals == 0 {
            return;
        }
        // `most` is what the intervals need together, so for a single one it is the distance.
        if self.intervals == 1 || self.most - self.above == 1 {
            self.found[(self.most - self.above - 1) as usize] += self.intervals as u64;
            return;
        }
        let large = self.events.kinds.len() > PARALLEL;
        let (below, over) = self.halve();
        if large {
            rayon::join(|| below.solve(), || over.solve());
        } else {
            below.solve();
            over.solve();
        }
    }

    /// Simulates a size between and divides the intervals into those kept and those refused.
    fn halve(self) -> (Self, Self) {
        let Problem { above, most, intervals, mut events, mut spare, fates, found } = self;
        let middle = middle(above, most);
        let kept = simulate(middle, &events, &mut spare, fates);
        let (peak, peak_over) = divide(&mut events, &mut spare, fates, kept);

        let (events_below, rest) = spare.split_at(2 * kept);
        let (events_over, _) = rest.split_at(2 * (intervals - kept));
        let (spare_below, rest) = events.split_at(2 * kept);
        let (spare_over, _) = rest.split_at(2 * (intervals - kept));
        let (fates_below, fates_over) = fates.split_at_mut(kept);
        let (found_below, found_over) = found.split_at_mut((middle - above) as usize);
        let below = Problem {
            above,
            most: peak.min(middle),
            intervals: kept,
            events: events_below,
            spare: spare_below,
            fates: fates_below,
            found: found_below,
        };
        let over = Problem {
            above: middle,
            most: peak_over.min(most),
            intervals: intervals - kept,
            events: events_over,
            spare: spare_over,
            fates: fates_over,
            found: found_over,
        };
        (below, over)
    }
}

/// A size at or above `above + 1` and below `most`. Small distances are frequent: the geometric mean finds them in
/// fewer halvings.
fn middle(above: u32, most: u32) -> u32 {
    let mean = (f64::from(above) * f64::from(most)).sqrt() as u32;
    mean.clamp(above + 1, most - 1)
}

/// Decides which intervals a cache of `size` blocks keeps. Returns their number.
fn simulate(size: u32, events: &Events, spare: &mut Events, fates: &mut [Fate]) -> usize {
    let mut room = Room { lower: spare.kinds, rises: spare.loads, stretches: 0, newest: 0 };
    room.lower[0] = 0;
    let mut kept = 0;
    for (at, (&kind, &load)) in events.kinds.iter().zip(events.loads.iter()).enumerate() {
        if let Some(&ahead) = events.kinds.get(at + FETCH) {
            prefetch(room.lower, ahead as usize + 1);
        }
        room.limit(size - load);
        if kind == BEGIN {
            // An end follows, so there is a load behind.
            room.open(size - events.loads[at + 1]);
        } else {
            let keeps = room.take(kind as usize + 1);
            fates[kind as usize] = if keeps { Fate::Kept } else { Fate::Refused };
            kept += usize::from(keeps);
        }
    }
    kept
}

/// The places left free, as far as they matter to intervals that end now.
///
/// Time is cut into stretches by the beginnings, numbered from 1. An interval that began with stretch s fits if every
/// stretch from s on has a free place, so the least space in s and later counts. It never falls from one stretch
/// to the next: only its rises are kept, with links that skip stretches without one.
struct Room<'a> {
    /// A stretch with a rise links to itself, any other towards the next lower one with a rise; 0 if there is none.
    lower: &'a mut [u32],
    /// How much more room there is from this stretch on than from the one before on.
    rises: &'a mut [u32],
    stretches: usize,
    /// Space in the newest stretch: the sum of the rises.
    newest: u32,
}

impl Room<'_> {
    /// Begins a stretch with at most `free` places.
    #[inline(always)]
    fn open(&mut self, free: u32) {
        self.stretches += 1;
        let rise = free.saturating_sub(self.newest);
        self.rises[self.stretches] = rise;
        self.lower[self.stretches] = (self.stretches - usize::from(rise == 0)) as u32;
        self.newest += rise;
    }

    /// The newest stretch turns out to have no more than `free` places.
    #[inline(always)]
    fn limit(&mut self, free: u32) {
        while self.newest > free {
            let stretch = self.rise_at_or_below(self.stretches);
            self.lessen(stretch, self.rises[stretch].min(self.newest - free));
        }
    }

    /// Takes a place in stretch `from` and all later ones, if there is one.
    #[inline(always)]
    fn take(&mut self, from: usize) -> bool {
        let stretch = self.rise_at_or_below(from);
        if stretch > 0 {
            self.lessen(stretch, 1);
        }
        stretch > 0
    }

    #[inline(always)]
    fn lessen(&mut self, stretch: usize, by: u32) {
        self.newest -= by;
        self.rises[stretch] -= by;
        if self.rises[stretch] == 0 {
            self.lower[stretch] = stretch as u32 - 1;
        }
    }

    /// The youngest stretch up to `stretch` with a rise. Halves the path it walks (Tarjan and van Leeuwen, J. ACM
    /// 1984).
    #[inline(always)]
    fn rise_at_or_below(&mut self, mut stretch: usize) -> usize {
        loop {
            let lower = self.lower[stretch] as usize;
            if lower == stretch {
                return stretch;
            }
            self.lower[stretch] = self.lower[lower];
            stretch = self.lower[stretch] as usize;
        }
    }
}

/// Writes the events of the `kept` intervals to the front of `out` and those of the refused ones behind. Returns for
/// both the most blocks held at once if all of their intervals are kept.
fn divide(events: &mut Events, out: &mut Events, fates: &[Fate], kept: usize) -> (u32, u32) {
    let mut writers = [Writer::at(0), Writer::at(2 * kept)];
    let mut beginnings = 0;
    let mut held = 0;
    for at in 0..events.kinds.len() {
        if let Some(&ahead) = events.kinds.get(at + FETCH) {
            prefetch(events.kinds, ahead as usize);
        }
        let (kind, load) = (events.kinds[at], events.loads[at]);
        let begins = kind == BEGIN;
        let number = if begins { beginnings } else { kind as usize };
        writers[0].load = writers[0].load.max(load);
        writers[1].load = writers[1].load.max(load + held);
        let fate = fates[number];
        held = held.wrapping_add(if fate == Fate::Refused { 0 } else { step(begins) });
        writers[fate as usize].write(out, begins, &mut events.kinds[number]);
        beginnings += usize::from(begins);
    }
    (writers[0].peak, writers[1].peak)
}

/// One up or one down, modulo 2^32.
#[inline(always)]
fn step(up: bool) -> u32 {
    if up { 1 } else { u32::MAX }
}

/// Writes a selection of events, numbering beginnings anew. Free of branches, since they could not be predicted.
struct Writer {
    at: usize,
    beginnings: u32,
    open: u32,
    /// The greatest load since the last event written.
    load: u32,
    /// The most blocks held at once if all intervals written are kept, while one is.
    peak: u32,
}

impl Writer {
    fn at(at: usize) -> Writer {
        Writer { at, beginnings: 0, open: 0, load: 0, peak: 0 }
    }

    /// Writes a beginning and leaves its new number in `slot`, or the end that finds it there. (The n-th beginning's
    /// slot is the n-th event's: that was read already.)
    #[inline(always)]
    fn write(&mut self, out: &mut Events, begins: bool, slot: &mut u32) {
        let needed = if self.open > 0 { self.load + self.open } else { 0 };
        self.peak = self.peak.max(needed);
        *slot = if begins { self.beginnings } else { *slot };
        out.kinds[self.at] = if begins { BEGIN } else { *slot };
        out.loads[self.at] = std::mem::take(&mut self.load);
        self.at += 1;
        self.beginnings += u32::from(begins);
        self.open = self.open.wrapping_add(step(begins));
    }
}
