//! Sequences that never overlap: a miss cuts the one in which it lies. Each knows its resident members in order, so
//! that the victim is at hand.

use crate::parts::large;
use crate::parts::links::{Links, List, NONE};
use crate::parts::prefetch::prefetch;
use crate::policy::Slot;

/// The facts of a slot in the sequences.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The sequence of which the block is a resident member, or [`NONE`].
    sequence: u32,
    /// Number in its file.
    block: u32,
    /// Its neighbours among the resident members, or [`NONE`].
    older: Slot,
    younger: Slot,
}

const NOWHERE: Block = Block { sequence: NONE, block: 0, older: NONE, younger: NONE };

/// Misses at consecutive blocks `low..=high` of a file.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    file: u32,
    low: u32,
    high: u32,
    /// It grows upwards; without meaning as long as it has one block.
    up: bool,
    /// Misses so far; enough of them is as good as more.
    misses: u32,
    /// Where the time of the next miss goes.
    turn: u32,
    /// Ends of the list of its resident members, or [`NONE`].
    oldest: Slot,
    youngest: Slot,
    /// The youngest member that is far enough behind the end, or [`NONE`]; all older ones are, too.
    victim: Slot,
}

const UNUSED: Sequence =
    Sequence { file: 0, low: 0, high: 0, up: true, misses: 0, turn: 0, oldest: NONE, youngest: NONE, victim: NONE };

impl Sequence {
    fn start(&self) -> u64 {
        address(self.file, self.low)
    }

    fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// Where it grows.
    fn end(&self) -> u32 {
        if self.up { self.high } else { self.low }
    }
}

/// Files and blocks in one order.
#[inline(always)]
fn address(file: u32, block: u32) -> u64 {
    u64::from(file) << 32 | u64::from(block)
}

/// The table of sequences.
#[derive(Debug)]
pub(super) struct Apart {
    length: u32,
    distance: u32,
    nth: u32,
    /// By slot.
    blocks: Vec<Block>,
    /// By number.
    table: Vec<Sequence>,
    /// The numbers of those in use, by file and lowest block...
    order: Vec<u32>,
    /// ...and these, which are what is searched.
    starts: Vec<u64>,
    /// The same, by time of the last miss.
    recency: List,
    links: Links,
    free: Vec<u32>,
    /// By number, `nth` each: the times of the last misses, from 1, in a ring.
    times: Vec<u64>,
    /// By number: the time of the miss number `nth` from the last, 0 if the sequence has no victim to give.
    offers: Vec<u64>,
    /// Offers that are not 0.
    offering: u32,
    /// The number of the best offer, [`NONE`] if it must be looked for.
    best: u32,
    now: u64,
}

impl Apart {
    pub(super) fn new(length: u32, distance: u32, nth: u32, table: u32, slots: u32) -> Apart {
        Apart {
            length,
            distance,
            nth,
            blocks: large::filled(NOWHERE, slots as usize),
            table: vec![UNUSED; table as usize],
            order: Vec::with_capacity(table as usize),
            starts: Vec::with_capacity(table as usize),
            recency: List::default(),
            links: Links::new(table),
            free: (0..table).rev().collect(),
            times: vec![0; table as usize * nth as usize],
            offers: vec![0; table as usize],
            offering: 0,
            best: NONE,
            now: 0,
        }
    }

    pub(super) fn grow(&mut self, slots: u32) {
        self.blocks.resize((slots as usize).max(self.blocks.len()), NOWHERE);
    }

    /// Fetches what is known of `slot`.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: Slot) {
        prefetch(&self.blocks, slot as usize);
    }

    /// True if `slot` is a member of a sequence.
    pub(super) fn has_member(&self, slot: Slot) -> bool {
        self.blocks[slot as usize].sequence != NONE
    }

    fn of(&mut self, number: u32) -> &mut Sequence {
        &mut self.table[number as usize]
    }

    /// Where in `order` the sequences begin that start behind this block.
    fn place(&self, file: u32, block: u32) -> usize {
        self.starts.partition_point(|&start| start <= address(file, block))
    }

    /// A miss at this block, which is going to be resident in `slot`.
    pub(super) fn miss(&mut self, slot: Slot, file: u32, block: u32) {
        self.now += 1;
        let place = self.place(file, block);
        let at = |place: usize| self.order.get(place).map(|&number| (number, &self.table[number as usize]));
        let before = |back: usize| place.checked_sub(back).and_then(at);
        let holds = |&(_, other): &(u32, &Sequence)| other.file == file && other.high >= block;
        let inside = before(1).filter(holds).map(|(number, _)| number);
        let ends_below = |&(_, other): &(u32, &Sequence)| {
            other.file == file && block.checked_sub(1) == Some(other.high) && (other.up || other.is_single())
        };
        let starts_above = |&(_, other): &(u32, &Sequence)| {
            other.file == file && block.checked_add(1) == Some(other.low) && (!other.up || other.is_single())
        };
        let below = before(if inside.is_some() { 2 } else { 1 }).filter(ends_below).map(|(number, _)| number);
        let above = at(place).filter(starts_above).map(|(number, _)| number);
        if let Some(cut) = inside {
            self.cut(cut, block);
        }
        let number = match below.or(above) {
            Some(number) => {
                let Sequence { low, high, .. } = self.table[number as usize];
                self.span(number, low.min(block), high.max(block));
                self.of(number).up = block > high;
                self.recency.take(&mut self.links, number);
                number
            }
            None => self.start(file, block),
        };
        self.join(number, slot, block);
    }

    /// Sets the span of a sequence, whose place in the order stays: sequences do not overlap.
    fn span(&mut self, number: u32, low: u32, high: u32) {
        let before = self.table[number as usize];
        if low != before.low {
            let place = self.place(before.file, before.low) - 1;
            self.starts[place] = address(before.file, low);
        }
        *self.of(number) = Sequence { low, high, ..before };
    }

    fn start(&mut self, file: u32, block: u32) -> u32 {
        if self.free.is_empty() {
            let stalest = self.recency.oldest(&self.links);
            stalest.into_iter().for_each(|number| self.drop(number));
        }
        let number = self.free.pop().expect("a sequence was dropped if the table was full");
        let place = self.place(file, block);
        self.order.insert(place, number);
        self.starts.insert(place, address(file, block));
        *self.of(number) = Sequence { file, low: block, high: block, ..UNUSED };
        number
    }

    /// Makes `slot` the youngest member; its block is the end of the sequence, which is not in the order of recency.
    fn join(&mut self, number: u32, slot: Slot, block: u32) {
        self.recency.push(&mut self.links, number);
        let sequence = &mut self.table[number as usize];
        self.times[number as usize * self.nth as usize + sequence.turn as usize] = self.now;
        sequence.turn = if sequence.turn + 1 < self.nth { sequence.turn + 1 } else { 0 };
        sequence.misses = sequence.misses.saturating_add(1);
        self.blocks[slot as usize] = Block { sequence: number, block, older: sequence.youngest, younger: NONE };
        match sequence.youngest {
            NONE => sequence.oldest = slot,
            youngest => self.blocks[youngest as usize].younger = slot,
        }
        sequence.youngest = slot;
        // The end moved by one block, so at most one more member is far enough behind it.
        let next = match sequence.victim {
            NONE => sequence.oldest,
            victim => self.blocks[victim as usize].younger,
        };
        if next != NONE && sequence.end().abs_diff(self.blocks[next as usize].block) >= self.distance {
            sequence.victim = next;
        }
        self.offer(number);
    }

    /// A miss at `block`, which lies in this sequence: only what is between it and the end stays.
    fn cut(&mut self, number: u32, block: u32) {
        let sequence = self.table[number as usize];
        if block == sequence.end() || sequence.is_single() {
            return self.drop(number);
        }
        let (low, high) = if sequence.up { (block + 1, sequence.high) } else { (sequence.low, block - 1) };
        self.span(number, low, high);
        while let Some(member) = self.oldest(number)
            && !(low..=high).contains(&self.blocks[member as usize].block)
        {
            self.leave(member);
        }
        self.offer(number);
    }

    fn drop(&mut self, number: u32) {
        while let Some(member) = self.oldest(number) {
            self.leave(member);
        }
        let Sequence { file, low, .. } = self.table[number as usize];
        let place = self.place(file, low) - 1;
        self.order.remove(place);
        self.starts.remove(place);
        self.recency.take(&mut self.links, number);
        self.free.push(number);
    }

    fn oldest(&self, number: u32) -> Option<Slot> {
        let oldest = self.table[number as usize].oldest;
        (oldest != NONE).then_some(oldest)
    }

    /// The block in `slot` is not resident any more, or out of its sequence.
    #[inline(always)]
    pub(super) fn leave(&mut self, slot: Slot) {
        let Block { sequence: number, older, younger, .. } = self.blocks[slot as usize];
        if number == NONE {
            return;
        }
        self.blocks[slot as usize] = NOWHERE;
        let sequence = &mut self.table[number as usize];
        match older {
            NONE => sequence.oldest = younger,
            older => self.blocks[older as usize].younger = younger,
        }
        match younger {
            NONE => sequence.youngest = older,
            younger => self.blocks[younger as usize].older = older,
        }
        if sequence.victim == slot {
            sequence.victim = older;
            self.offer(number);
        }
    }

    /// Notes whether and how urgently the sequence offers a victim.
    fn offer(&mut self, number: u32) {
        let sequence = &self.table[number as usize];
        let long = sequence.high - sequence.low >= self.length && sequence.misses >= self.nth;
        let nth_last = number as usize * self.nth as usize + sequence.turn as usize;
        let offer = if long && sequence.victim != NONE { self.times[nth_last] } else { 0 };
        let before = std::mem::replace(&mut self.offers[number as usize], offer);
        self.offering += u32::from(offer != 0);
        self.offering -= u32::from(before != 0);
        if self.best == number && offer < before {
            self.best = NONE;
        } else if self.best != NONE && offer > self.offers[self.best as usize] {
            self.best = number;
        }
    }

    /// The best offer.
    #[inline(always)]
    pub(super) fn victim(&mut self) -> Option<Slot> {
        if self.offering == 0 {
            return None;
        }
        if self.best == NONE {
            self.find_best();
        }
        Some(self.table[self.best as usize].victim)
    }

    fn find_best(&mut self) {
        let best = (0..).zip(&self.offers).max_by_key(|&(_, offer)| offer);
        self.best = best.map_or(NONE, |(number, _)| number);
    }

    pub(super) fn validate(&self) {
        let sequences = || self.order.iter().map(|&number| &self.table[number as usize]);
        let apart = |(one, next): (&Sequence, &Sequence)| (one.file, one.high) < (next.file, next.low);
        assert!(sequences().zip(sequences().skip(1)).all(apart), "sequences overlap or are out of order");
        assert!(sequences().map(Sequence::start).eq(self.starts.iter().copied()), "starts that are searched in vain");
        assert_eq!(self.order.len() + self.free.len(), self.table.len());
        let best = self.offers.get(self.best as usize);
        assert!(best.is_none_or(|best| self.offers.iter().max() == Some(best)), "a better offer than the best");
        assert_eq!(self.recency.len() as usize, self.order.len());
        self.recency.validate(&self.links);
        assert_eq!(self.offers.iter().filter(|&&offer| offer != 0).count(), self.offering as usize);
        let mut members = 0;
        for &number in &self.order {
            members += self.validate_members(number);
        }
        let listed = self.blocks.iter().filter(|block| block.sequence != NONE).count();
        assert_eq!(members, listed, "members that no sequence lists");
    }

    /// Counts the members of a sequence. They lead from its start to its end, and those far enough behind it end with
    /// the victim.
    fn validate_members(&self, number: u32) -> usize {
        let sequence = &self.table[number as usize];
        let next = |&slot: &Slot| Some(self.blocks[slot as usize].younger).filter(|&younger| younger != NONE);
        let members: Vec<Slot> = std::iter::successors(self.oldest(number), next).collect();
        let blocks: Vec<u32> = members.iter().map(|&slot| self.blocks[slot as usize].block).collect();
        assert!(members.iter().all(|&slot| self.blocks[slot as usize].sequence == number));
        assert!(blocks.iter().all(|block| (sequence.low..=sequence.high).contains(block)), "a member outside");
        assert!(blocks.is_sorted() && sequence.up || blocks.iter().rev().is_sorted(), "members out of order");
        assert_eq!(members.last().copied().unwrap_or(NONE), sequence.youngest);
        let far = members.iter().zip(&blocks).filter(|(_, block)| sequence.end().abs_diff(**block) >= self.distance);
        assert_eq!(far.map(|(&slot, _)| slot).next_back().unwrap_or(NONE), sequence.victim);
        let long = sequence.high - sequence.low >= self.length;
        assert!(long || self.offers[number as usize] == 0, "a short sequence offers a victim");
        members.len()
    }
}
