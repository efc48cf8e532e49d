//! DULO: of the blocks that are not recent, evict first those that are cheap to read again because they lie in
//! sequence.
//!
//! Idea: a disk reads a run of neighbours nearly as fast as one block, so a hit on a lonely block saves much more time
//! than one within a run. Recent blocks are left alone. Behind them blocks are collected in a bank; when it is full
//! they are sorted by place into sequences, of which the long ones leave before the short ones that came in at the same
//! time.
//!
//! Paper: Jiang, Ding, Chen, Tan, Zhang, "DULO: an effective buffer cache management scheme to exploit both temporal
//! and spatial locality", FAST 2005.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program. A book's chapter
//! on it was read in part: that blocks wait in a bank, are cut into sequences together and leave by length and age is
//! as there.
//!
//! Deviations and readings: most numbers are our choice. Blocks are in the staging section in the order of use, all
//! but twice `bank` blocks of the cache; blocks beyond that move to the bank. When the bank holds `bank` blocks it is
//! cut into sequences: neighbours in a file, at most `max_sequence`, of which any two side by side were used within
//! `bank` references of one another, and the time before that also, unless that use is unknown for both. A sequence of
//! n blocks gets the value H = L + 1/n, as in GreedyDual; the victim is of the sequence with the least H, of equals the
//! longer one, then the older one, first block first; L becomes its H. A sequence that loses a block to a hit keeps its
//! H. If a victim is needed while no sequence is left, the bank is cut as it is, filled before, if it is empty,
//! with the oldest blocks of the staging section. Uses are remembered of `table` times the capacity of blocks that
//! left. H is kept in units of 2^-32, 1/n rounded down.
//!
//! Cost: O(1) amortised, O(log `max_sequence`) where a sequence gives a block, and for a block that leaves the staging
//! section its share of a sort, O(log `bank`). That, and a write of the block's place and time at each reference, is
//! what it is slower by than LRU. Memory: 44 bytes a slot, of which there are five a block with the default table, 40
//! to 80 bytes a block.
//!
//! When not to use it: storage without seeks, to which sequences are not cheaper: its hit ratio is at best LRU's; loops
//! and scans of lonely blocks.

use crate::parts::ghost::forget_oldest;
use crate::parts::large;
use crate::parts::links::{Links, List};
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{ABSENT, Places, Queue, Tag};
use crate::parts::tournament_tree::TournamentTree;
use crate::policy::{
    Args, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Requirements, Setup, Slot,
};
use crate::spec::SpecError;

const STAGING: Tag = 0;
const BANK: Tag = 1;
const GHOST: Tag = 2;
/// Tag of the blocks in sequences; their index is the length that the sequence had.
const SEQUENCED: Tag = 3;

/// 1 in the units of H.
const ONE: u64 = 1 << 32;
/// The time of a use that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Times of the last use and of the one before.
#[derive(Clone, Copy, Debug)]
struct Uses {
    last: u64,
    before: u64,
}

/// The DULO policy.
#[derive(Debug)]
pub struct Dulo {
    capacity: u32,
    args: Args,
    sizes: Sizes,
    places: Places,
    staging: Queue,
    bank: Queue,
    ghosts: Queue,
    /// The blocks in sequences by the length of theirs, and in each list in the order of H.
    sequenced: Vec<List>,
    links: Links,
    sequenced_len: u32,
    /// By length: the complement of the least H, that of the oldest block.
    heads: TournamentTree,
    /// By slot: H of its sequence.
    values: Vec<u64>,
    /// L, the H of the last victim.
    floor: u64,
    /// By slot: file and block.
    addresses: Vec<(u32, u32)>,
    uses: Vec<Uses>,
    /// The bank while it is cut.
    sorted: Vec<(u32, u32, Slot)>,
}

/// The parameters at one capacity.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Blocks in the bank when it is cut.
    bank: u32,
    /// Most blocks in the staging section.
    staging: u32,
    ghosts: u32,
}

impl Sizes {
    fn of(args: &Args, capacity: u32) -> Result<Sizes, SpecError> {
        let bank = args.share("bank", capacity)?.clamp(1, capacity);
        let ghosts = args.multiple("table", capacity).unwrap_or(u32::MAX);
        Ok(Sizes { bank, staging: capacity.saturating_sub(bank.saturating_mul(2)), ghosts })
    }
}

impl Policy for Dulo {
    const INFO: Info = Info {
        name: "dulo",
        family: "loop",
        summary: "of the blocks that are not recent, those that lie in long sequences leave first",
        params: &[
            Param {
                key: "bank",
                kind: ParamKind::Share,
                default: "6.25%",
                doc: "blocks that are collected before they are cut into sequences, at least 1",
            },
            Param {
                key: "max_sequence",
                kind: ParamKind::Count { min: 1, max: 1 << 16 },
                default: "128",
                doc: "most blocks of a sequence",
            },
            Param {
                key: "table",
                kind: ParamKind::Multiple,
                default: "4",
                doc: "most blocks whose uses are remembered after they left, times the capacity",
            },
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        let slots = setup.slots as usize;
        let lengths = setup.args.count("max_sequence") as usize + 1;
        let mut dulo = Dulo {
            capacity: setup.capacity,
            args: setup.args.clone(),
            sizes: Sizes::of(setup.args, setup.capacity)?,
            places: Places::new(setup.slots),
            staging: Queue::new(STAGING, 0),
            bank: Queue::new(BANK, 0),
            ghosts: Queue::new(GHOST, 0),
            sequenced: vec![List::default(); lengths],
            links: Links::new(setup.slots),
            sequenced_len: 0,
            heads: TournamentTree::new(lengths),
            values: large::filled(0, slots),
            floor: 0,
            addresses: large::filled((0, 0), slots),
            uses: large::filled(Uses { last: UNKNOWN, before: UNKNOWN }, slots),
            sorted: Vec::new(),
        };
        dulo.fit();
        Ok(dulo)
    }

    fn requirements(args: &Args, capacity: u32) -> Result<Requirements, SpecError> {
        Ok(Requirements::of(capacity).with_ghosts(args.multiple("table", capacity)))
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        let tag = self.places.tag(slot);
        let before = if tag == ABSENT { UNKNOWN } else { self.uses[slot as usize].last };
        self.uses[slot as usize] = Uses { last: reference.time, before };
        self.addresses[slot as usize] = (reference.file, reference.block);
        if tag == STAGING {
            self.staging.renew(&mut self.places, slot);
            return Outcome::Hit;
        }
        self.take(slot);
        let outcome = match tag {
            BANK | SEQUENCED => Outcome::Hit,
            _ => {
                if self.len() == self.capacity {
                    self.evict(fx);
                }
                Outcome::Admitted
            }
        };
        self.staging.push(&mut self.places, slot);
        self.settle();
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        prefetch(&self.uses, slot as usize);
        prefetch(&self.addresses, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        if self.places.tag(slot) != ABSENT {
            self.take(slot);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            self.evict(fx);
        }
        self.capacity = capacity;
        self.sizes = Sizes::of(&self.args, capacity).expect("new accepted the same arguments");
        self.fit();
        self.settle();
        while self.ghosts.len() > self.sizes.ghosts {
            forget_oldest(&mut self.ghosts, &mut self.places, fx);
        }
    }

    fn grow(&mut self, slots: u32) {
        let slots = slots.max(self.places.slots());
        self.places.grow(slots);
        self.links.grow(slots);
        self.values.resize(slots as usize, 0);
        self.addresses.resize(slots as usize, (0, 0));
        self.uses.resize(slots as usize, Uses { last: UNKNOWN, before: UNKNOWN });
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        matches!(self.places.tag(slot), STAGING | BANK | SEQUENCED)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.staging.len() + self.bank.len() + self.sequenced_len
    }

    fn validate(&self) {
        for queue in [&self.staging, &self.bank, &self.ghosts] {
            queue.validate(&self.places);
        }
        assert!(self.len() <= self.capacity, "the sections exceed the capacity");
        assert!(self.staging.len() <= self.sizes.staging, "the staging section is too long");
        assert!(self.bank.len() < self.sizes.bank, "a full bank was not cut");
        assert!(self.ghosts.len() <= self.sizes.ghosts, "too many ghosts");
        for (length, list) in self.sequenced.iter().enumerate() {
            list.validate(&self.links);
            let here = |slot| self.places.tag(slot) == SEQUENCED && self.places.index(slot) == length;
            assert!(list.iter(&self.links).all(here), "a place in a sequence");
            assert!(
                list.iter(&self.links).map(|slot| self.values[slot as usize]).is_sorted(),
                "sequences out of order"
            );
            let head = list.oldest(&self.links).map_or(0, |slot| !self.values[slot as usize]);
            assert_eq!(self.heads.key(length), head, "the least value of a length");
        }
        assert_eq!(self.sequenced.iter().map(List::len).sum::<u32>(), self.sequenced_len, "blocks in sequences");
    }
}

impl Dulo {
    /// Takes `slot` from wherever it is.
    #[inline(always)]
    fn take(&mut self, slot: Slot) {
        match self.places.tag(slot) {
            STAGING => self.staging.take(&mut self.places, slot),
            BANK => self.bank.take(&mut self.places, slot),
            GHOST => self.ghosts.take(&mut self.places, slot),
            SEQUENCED => {
                let length = self.places.index(slot);
                self.sequenced[length].take(&mut self.links, slot);
                self.sequenced_len -= 1;
                self.places.clear(slot);
                self.show_head(length);
            }
            _ => {}
        }
    }

    /// Evicts the first block of the sequence with the least value.
    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        if self.sequenced_len == 0 {
            self.cut_early();
        }
        let Some((length, head)) = self.heads.greatest() else { return };
        self.floor = !head;
        let Some(victim) = self.sequenced[length].oldest(&self.links) else { return };
        self.take(victim);
        self.ghosts.push(&mut self.places, victim);
        fx.evict(victim);
        if self.ghosts.len() > self.sizes.ghosts {
            forget_oldest(&mut self.ghosts, &mut self.places, fx);
        }
    }

    /// Cuts the bank though it is not full.
    #[cold]
    fn cut_early(&mut self) {
        if self.bank.is_empty() {
            while self.bank.len() < self.sizes.bank
                && let Some(slot) = self.staging.pop_oldest(&mut self.places)
            {
                self.bank.push(&mut self.places, slot);
            }
        }
        self.cut();
    }

    /// Moves what the staging section cannot hold to the bank, and cuts the bank when it is full.
    #[inline(always)]
    fn settle(&mut self) {
        loop {
            if self.bank.len() >= self.sizes.bank {
                self.cut();
            }
            if self.staging.len() <= self.sizes.staging {
                return;
            }
            let Some(slot) = self.staging.pop_oldest(&mut self.places) else { return };
            self.bank.push(&mut self.places, slot);
        }
    }

    /// Cuts the bank into sequences.
    fn cut(&mut self) {
        self.sorted.clear();
        while let Some(slot) = self.bank.pop_oldest(&mut self.places) {
            let (file, block) = self.addresses[slot as usize];
            self.sorted.push((file, block, slot));
        }
        self.sorted.sort_unstable();
        let mut start = 0;
        for end in 1..=self.sorted.len() {
            let ends = end == self.sorted.len() || end - start == self.sequenced.len() - 1;
            if ends || !self.belong_together(end - 1, end) {
                self.add_sequence(start, end);
                start = end;
            }
        }
    }

    /// True if these two of the sorted blocks can stand side by side in a sequence.
    #[inline(always)]
    fn belong_together(&self, first: usize, second: usize) -> bool {
        let ((file, block, slot), (next_file, next_block, next)) = (self.sorted[first], self.sorted[second]);
        let (a, b) = (self.uses[slot as usize], self.uses[next as usize]);
        let close = |a: u64, b: u64| a.abs_diff(b) <= u64::from(self.sizes.bank);
        let close_before = match (a.before, b.before) {
            (UNKNOWN, before) | (before, UNKNOWN) => before == UNKNOWN,
            (a, b) => close(a, b),
        };
        file == next_file && block.checked_add(1) == Some(next_block) && close(a.last, b.last) && close_before
    }

    fn add_sequence(&mut self, start: usize, end: usize) {
        let length = end - start;
        let value = self.floor.saturating_add(ONE / length as u64);
        for at in start..end {
            let slot = self.sorted[at].2;
            self.values[slot as usize] = value;
            self.sequenced[length].push(&mut self.links, slot);
            self.places.put(slot, SEQUENCED, length);
        }
        self.sequenced_len += length as u32;
        self.show_head(length);
    }

    /// Notes the least value among the sequences of this length.
    #[inline(always)]
    fn show_head(&mut self, length: usize) {
        let oldest = self.sequenced[length].oldest(&self.links);
        self.heads.set(length, oldest.map_or(0, |slot| !self.values[slot as usize]));
    }

    /// Rings large enough for all that the queues may come to hold.
    fn fit(&mut self) {
        let slots = self.places.slots();
        let residents = self.capacity.min(slots);
        self.staging.grow(&mut self.places, residents);
        self.bank.grow(&mut self.places, residents);
        self.ghosts.grow(&mut self.places, self.sizes.ghosts.saturating_add(1).min(slots));
        self.sorted.clear();
        self.sorted.reserve(residents as usize);
    }
}
