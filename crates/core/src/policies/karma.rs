//! Karma: hints say how each range of blocks will be referenced, and each gets the space that it makes the best use of.
//!
//! Idea: with hints there is nothing to detect. The cache is divided among the ranges in the order of what a block of
//! space gains in them. A range that is read in a loop keeps what it has by MRU, one that is accessed at random by LRU,
//! and one that is only read once needs no space.
//!
//! Paper: Yadgar, Factor, Schuster, "Karma: know-it-all replacement for a multilevel cache", FAST 2007.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: for a single level. Applications give the hints there; a trace holds none, so they are
//! derived here from the whole trace ahead, and Karma can be simulated only. A range is `range` blocks of a file.
//! Immediate repetitions of a block, which any cache serves, are left aside. A range of d blocks with n references is
//! sequential if no block comes back (n = d), looping if at least nine in ten of its steps lead to the next block or to
//! the block that it began with, and random otherwise. Space goes by (n - d) / d, the hits that a block gains, to all
//! ranges but the sequential ones, to those of equal gain in the order of their files and blocks, as many blocks as the
//! range has until nothing is left. The blocks of ranges without space share what is left, by LRU; if there are such
//! ranges and nothing is left, the last range that got space gives one block. The division holds for the whole trace.
//! Resizing makes it anew; every block then joins the list that is its own now, and each list gives what it has too
//! much.
//!
//! Cost: O(1); every reference moves its block in a linked list and touches the neighbours. Building it reads the trace
//! once and sorts the ranges. Memory: 16 bytes a slot, 48 bytes a range.
//!
//! When not to use it: it cannot run on a live cache; where the use of a file changes over the trace, since one hint
//! must do for all of it.

use crate::parts::large;
use crate::parts::links::{Links, List};
use crate::parts::prefetch::prefetch;
use crate::policy::{
    Discard, Effects, Future, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot, Told,
};
use crate::spec::SpecError;

/// The number of the list for blocks of ranges without space.
const SHARED: usize = 0;
/// The list of a slot that is not resident.
const NOWHERE: u32 = u32::MAX;

/// A range of blocks and those of them that are resident. The first one has all blocks of ranges without space.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    /// Blocks that the trace references.
    blocks: u32,
    /// References to blocks that were referenced before.
    returns: u32,
    is_looping: bool,
    /// Blocks that may be resident.
    space: u32,
    resident: List,
}

/// The Karma policy.
#[derive(Debug)]
pub struct Karma {
    capacity: u32,
    len: u32,
    ranges: Vec<Range>,
    /// The ranges that can gain, those that gain most first.
    by_gain: Vec<u32>,
    /// By slot: the range of its block.
    range_of: Vec<u32>,
    /// By slot: the number of the list that it is in, or [`NOWHERE`].
    list_of: Vec<u32>,
    links: Links,
}

impl Policy for Karma {
    const INFO: Info = Info {
        name: "karma",
        family: "loop",
        summary: "divides the cache among ranges of files by hints, which are taken from the trace's future",
        params: &[Param {
            key: "range",
            kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
            default: "1024",
            doc: "blocks of a file that share a hint",
        }],
        offline: true,
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let (Some(Future::Told(future)), Some(addresses)) = (setup.future, setup.addresses) else {
            return Err(SpecError::new(
                "karma takes its hints from the future, so it can be simulated on a whole trace but not run".to_owned(),
            ));
        };
        let mut karma = Karma {
            capacity: setup.capacity,
            len: 0,
            ranges: Vec::new(),
            by_gain: Vec::new(),
            range_of: Vec::new(),
            list_of: large::filled(NOWHERE, setup.slots as usize),
            links: Links::new(setup.slots),
        };
        karma.number_ranges(addresses, setup.slots, setup.args.count("range") as u32);
        karma.take_hints(future, addresses);
        karma.divide();
        Ok(karma)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, _: Reference, fx: &mut impl Effects) -> Outcome {
        let list = self.list_of[slot as usize];
        if list != NOWHERE {
            self.ranges[list as usize].resident.renew(&mut self.links, slot);
            return Outcome::Hit;
        }
        let home = self.home(slot);
        if self.ranges[home].resident.len() == self.ranges[home].space {
            self.evict(home, fx);
        }
        self.push(slot, home);
        Outcome::Admitted
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        prefetch(&self.list_of, slot as usize);
        prefetch(&self.range_of, slot as usize);
        self.links.prefetch(slot);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.contains(slot) {
            self.take(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        self.capacity = capacity;
        self.divide();
        self.go_home();
        for list in 0..self.ranges.len() {
            while self.ranges[list].resident.len() > self.ranges[list].space {
                self.evict(list, fx);
            }
        }
    }

    /// The trace was known when the cache was built, so slots that are new now are not referenced.
    fn grow(&mut self, slots: u32) {
        let slots = (slots as usize).max(self.list_of.len());
        self.list_of.resize(slots, NOWHERE);
        self.range_of.resize(slots, SHARED as u32);
        self.links.grow(slots as u32);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.list_of[slot as usize] != NOWHERE
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn validate(&self) {
        let spaces: u64 = self.ranges.iter().map(|range| u64::from(range.space)).sum();
        assert!(spaces <= u64::from(self.capacity), "the spaces exceed the capacity");
        for (number, range) in self.ranges.iter().enumerate() {
            range.resident.validate(&self.links);
            assert!(range.resident.len() <= range.space, "a range exceeds its space");
            let here = |slot: Slot| self.list_of[slot as usize] == number as u32 && self.home(slot) == number;
            assert!(range.resident.iter(&self.links).all(here), "a block in a list that is not its own");
        }
        let resident = self.list_of.iter().filter(|&&list| list != NOWHERE).count();
        assert_eq!(resident, self.len as usize, "residents are miscounted");
        assert_eq!(self.ranges.iter().map(|range| range.resident.len()).sum::<u32>(), self.len);
    }
}

impl Karma {
    /// Numbers the ranges from 1 on in the order of files and blocks.
    fn number_ranges(&mut self, addresses: &[u64], slots: u32, blocks: u32) {
        let key = |address: u64| (address >> 32, address as u32 / blocks);
        let mut keys: Vec<(u64, u32)> = addresses.iter().map(|&address| key(address)).collect();
        keys.sort_unstable();
        keys.dedup();
        let number = |&address: &u64| 1 + keys.partition_point(|&other| other < key(address)) as u32;
        self.range_of = addresses.iter().map(number).collect();
        self.range_of.resize(slots as usize, SHARED as u32);
        self.ranges = vec![Range::default(); 1 + keys.len()];
    }

    /// Reads the trace to learn how each range is referenced.
    fn take_hints(&mut self, future: &Told, addresses: &[u64]) {
        #[derive(Clone, Copy, Default)]
        struct Steps {
            first: u64,
            last: u64,
            all: u32,
            in_order: u32,
        }
        let mut steps = vec![Steps::default(); self.ranges.len()];
        let mut seen = vec![false; addresses.len()];
        let mut before = Slot::MAX;
        for &slot in AsRef::<[u32]>::as_ref(&*future.slots) {
            if std::mem::replace(&mut before, slot) == slot {
                continue;
            }
            let (range, address) = (self.range_of[slot as usize] as usize, addresses[slot as usize]);
            let (range, steps) = (&mut self.ranges[range], &mut steps[range]);
            if range.blocks == 0 {
                steps.first = address;
            } else {
                steps.all += 1;
                steps.in_order += u32::from(steps.last.checked_add(1) == Some(address) || address == steps.first);
            }
            steps.last = address;
            let is_return = std::mem::replace(&mut seen[slot as usize], true);
            range.returns += u32::from(is_return);
            range.blocks += u32::from(!is_return);
        }
        for (range, steps) in self.ranges.iter_mut().zip(&steps) {
            range.is_looping = range.blocks > 1 && 10 * u64::from(steps.in_order) >= 9 * u64::from(steps.all);
        }
        let ranges = &self.ranges;
        self.by_gain = (1..ranges.len() as u32).filter(|&range| ranges[range as usize].returns > 0).collect();
        self.by_gain.sort_by(|&a, &b| {
            let (a, b) = (&ranges[a as usize], &ranges[b as usize]);
            (u64::from(b.returns) * u64::from(a.blocks)).cmp(&(u64::from(a.returns) * u64::from(b.blocks)))
        });
    }

    /// Divides the capacity among the ranges.
    fn divide(&mut self) {
        let mut left = self.capacity;
        for &range in &self.by_gain {
            let range = &mut self.ranges[range as usize];
            range.space = range.blocks.min(left);
            left -= range.space;
        }
        let last = self.by_gain.iter().rev().find(|&&range| self.ranges[range as usize].space > 0);
        let is_without = |range: &Range| range.blocks > 0 && range.space == 0;
        if left == 0
            && let Some(&last) = last
            && self.ranges[1..].iter().any(is_without)
        {
            self.ranges[last as usize].space -= 1;
            left = 1;
        }
        self.ranges[SHARED].space = left;
    }

    /// Moves every block to the list that is its own now: list after list, the oldest block first.
    fn go_home(&mut self) {
        for list in 0..self.ranges.len() {
            for _ in 0..self.ranges[list].resident.len() {
                let Some(slot) = self.ranges[list].resident.oldest(&self.links) else { break };
                let home = self.home(slot);
                self.take(slot);
                self.push(slot, home);
            }
        }
    }

    /// The number of the list for `slot`.
    #[inline(always)]
    fn home(&self, slot: Slot) -> usize {
        let range = self.range_of[slot as usize] as usize;
        if self.ranges[range].space > 0 { range } else { SHARED }
    }

    #[inline(always)]
    fn push(&mut self, slot: Slot, list: usize) {
        self.ranges[list].resident.push(&mut self.links, slot);
        self.list_of[slot as usize] = list as u32;
        self.len += 1;
    }

    #[inline(always)]
    fn take(&mut self, slot: Slot) {
        let list = std::mem::replace(&mut self.list_of[slot as usize], NOWHERE);
        self.ranges[list as usize].resident.take(&mut self.links, slot);
        self.len -= 1;
    }

    #[inline(always)]
    fn evict(&mut self, list: usize, fx: &mut impl Effects) {
        let Range { is_looping, resident, .. } = &self.ranges[list];
        let victim = if *is_looping { resident.youngest() } else { resident.oldest(&self.links) };
        if let Some(victim) = victim {
            self.take(victim);
            fx.discard(victim);
        }
    }
}
