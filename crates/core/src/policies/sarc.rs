//! SARC: one list for sequential blocks and one for the others, whose sizes follow what their last blocks are worth.
//!
//! Idea: sequential and random references compete for one cache, and how much each deserves changes. Each has its LRU
//! list. Hits at the foot of a list say that it would gain by more space, so they move the size that SEQ should have up
//! or down.
//!
//! Paper: Gill, Modha, "SARC: sequential prefetching in adaptive replacement cache", USENIX ATC 2005.
//!
//! Provenance: not checked against the paper, whose text was not at hand, nor against another program: the model checks
//! the code, not the reading.
//!
//! Deviations and readings: without its prefetching: a policy here cannot ask for a block that was never referenced.
//! The gain of the paper by prefetched blocks that a larger SEQ keeps until their use is therefore not seen; hits at
//! the foot of SEQ take the place of the sequential misses that it counts. A file is divided into tracks of `track`
//! blocks. When a track is entered after another one, its run is one more than that of the track before it, if that is
//! in the table of tracks, else 1; from `run` on its blocks are sequential. A block goes to the MRU end of the list
//! that its track says at each reference, hit or miss. A hit at the foot of SEQ raises the size that SEQ should have by
//! a track, one at the foot of RANDOM lowers it; it begins at 0. The victim comes from SEQ if that is larger than it
//! should be, else from RANDOM; but while one of them is shorter than a foot, which then tells nothing, the older of
//! the two blocks at their ends leaves. So without sequential references it is LRU.
//!
//! Cost: O(1) amortised; every reference that enters another track looks up two tracks, which is what it is slower by
//! than LRU. Memory: 12 bytes a slot, about 60 bytes a block, about 40 bytes for each of `tracks`.
//!
//! When not to use it: loops larger than the cache, and random access with frequent blocks: both lists are LRU.

use crate::parts::footed_list::FootedList;
use crate::parts::large;
use crate::parts::prefetch::prefetch;
use crate::parts::queue::{ABSENT, Places, Tag};
use crate::parts::recent_table::RecentTable;
use crate::policy::{Args, Discard, Effects, Info, Needs, Outcome, Param, ParamKind, Policy, Reference, Setup, Slot};
use crate::spec::SpecError;

/// Number of the list of sequential blocks. List n has the tags 2n for its body and 2n + 1 for its foot.
const SEQ: usize = 0;
/// Number of the list of the others.
const RANDOM: usize = 1;

/// The SARC policy.
#[derive(Debug)]
pub struct Sarc {
    capacity: u32,
    args: Args,
    /// Blocks at the foot of each list.
    foot: u32,
    /// Blocks of a track.
    track: u32,
    /// Consecutive tracks that make a sequence.
    run: u32,
    /// The size that SEQ should have.
    desired: u32,
    /// By track: the length of the sequence that ends with it, at most `run`.
    runs: RecentTable<u32>,
    /// The track referenced last.
    current: Option<u64>,
    /// The list to which the blocks of the current track go.
    list: usize,
    places: Places,
    lists: [FootedList; 2],
    /// By slot: time of the last reference.
    used: Vec<u64>,
}

impl Policy for Sarc {
    const INFO: Info = Info {
        name: "sarc",
        family: "loop",
        summary: "LRU lists for sequential and for random blocks, sized by the hits at their feet",
        params: &[
            Param {
                key: "track",
                kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
                default: "16",
                doc: "blocks of a track, by which sequences are detected and sizes changed",
            },
            Param {
                key: "run",
                kind: ParamKind::Count { min: 1, max: u32::MAX as u64 },
                default: "3",
                doc: "consecutive tracks that make a sequence",
            },
            Param {
                key: "foot",
                kind: ParamKind::Share,
                default: "2%",
                doc: "blocks at the LRU end of each list where hits are watched, at least 1",
            },
            Param {
                key: "tracks",
                kind: ParamKind::Count { min: 1, max: 1 << 20 },
                default: "4096",
                doc: "tracks that are known, those entered last",
            },
        ],
        needs: Needs { address: true, ..Needs::NOTHING },
        ..Info::EMPTY
    };

    fn new(setup: &Setup) -> Result<Self, SpecError> {
        setup.args.share("foot", setup.capacity)?;
        let list = |number| FootedList::new(2 * number as Tag, 2 * number as Tag + 1);
        let mut sarc = Sarc {
            capacity: setup.capacity,
            args: setup.args.clone(),
            foot: 0,
            track: setup.args.count("track") as u32,
            run: setup.args.count("run") as u32,
            desired: 0,
            runs: RecentTable::new(setup.args.count("tracks") as u32),
            current: None,
            list: RANDOM,
            places: Places::new(setup.slots),
            lists: [SEQ, RANDOM].map(list),
            used: large::filled(0, setup.slots as usize),
        };
        sarc.fit();
        Ok(sarc)
    }

    #[inline(always)]
    fn access(&mut self, slot: Slot, reference: Reference, fx: &mut impl Effects) -> Outcome {
        self.enter_track(reference);
        self.used[slot as usize] = reference.time;
        let outcome = match self.places.tag(slot) {
            ABSENT => {
                if self.len() == self.capacity {
                    self.evict(fx);
                }
                self.lists[self.list].push(&mut self.places, slot);
                Outcome::Admitted
            }
            tag => {
                self.hit(slot, tag);
                Outcome::Hit
            }
        };
        self.lists[self.list].settle(&mut self.places, self.foot);
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, slot: Slot) {
        self.places.prefetch(slot);
        prefetch(&self.used, slot as usize);
    }

    fn remove(&mut self, slot: Slot, fx: &mut impl Effects) {
        let tag = self.places.tag(slot);
        if tag != ABSENT {
            self.take(slot, tag as usize / 2);
            fx.forget(slot);
        }
    }

    fn resize(&mut self, capacity: u32, fx: &mut impl Effects) {
        while self.len() > capacity {
            self.evict(fx);
        }
        self.capacity = capacity;
        self.desired = self.desired.min(capacity);
        self.fit();
    }

    fn grow(&mut self, slots: u32) {
        self.places.grow(slots);
        self.used.resize(self.used.len().max(slots as usize), 0);
        self.fit();
    }

    fn contains(&self, slot: Slot) -> bool {
        self.places.tag(slot) != ABSENT
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.lists[SEQ].len() + self.lists[RANDOM].len()
    }

    fn validate(&self) {
        self.runs.validate();
        self.lists.iter().for_each(|list| list.validate(&self.places, self.foot));
        assert!(self.len() <= self.capacity, "SEQ and RANDOM exceed the capacity");
        assert!(self.desired <= self.capacity, "SEQ should be larger than the cache");
    }
}

impl Sarc {
    /// Notes which track the reference is to, and the list for its blocks.
    #[inline(always)]
    fn enter_track(&mut self, reference: Reference) {
        let number = reference.block / self.track;
        let track = u64::from(reference.file) << 32 | u64::from(number);
        if self.current == Some(track) {
            return;
        }
        let before = if number > 0 { self.runs.peek(track - 1) } else { None };
        let run = before.map_or(1, |index| self.run.min(self.runs.value(index).saturating_add(1)));
        match self.runs.find(track) {
            Some(index) => *self.runs.value_mut(index) = run,
            None => {
                self.runs.insert(track, run);
            }
        }
        self.current = Some(track);
        self.list = if run >= self.run { SEQ } else { RANDOM };
    }

    /// A hit of a block with this tag.
    #[inline(always)]
    fn hit(&mut self, slot: Slot, tag: Tag) {
        let from = tag as usize / 2;
        match (from, tag % 2 == 1) {
            (SEQ, true) => self.desired = self.desired.saturating_add(self.track).min(self.capacity),
            (_, true) => self.desired = self.desired.saturating_sub(self.track),
            (_, false) => {}
        }
        if from == self.list {
            self.lists[from].renew(&mut self.places, slot);
        } else {
            self.take(slot, from);
            self.lists[self.list].push(&mut self.places, slot);
        }
    }

    #[inline(always)]
    fn take(&mut self, slot: Slot, list: usize) {
        self.lists[list].take(&mut self.places, slot);
        self.lists[list].settle(&mut self.places, self.foot);
    }

    #[inline(always)]
    fn evict(&mut self, fx: &mut impl Effects) {
        let [sequential, random] = &mut self.lists;
        let from = match (sequential.oldest(&self.places), random.oldest(&self.places)) {
            (Some(_), None) => SEQ,
            (None, _) => RANDOM,
            (Some(a), Some(b)) if sequential.len().min(random.len()) < self.foot => {
                if self.used[a as usize] < self.used[b as usize] { SEQ } else { RANDOM }
            }
            _ if sequential.len() > self.desired => SEQ,
            _ => RANDOM,
        };
        if let Some(victim) = self.lists[from].pop_oldest(&mut self.places) {
            self.lists[from].settle(&mut self.places, self.foot);
            fx.discard(victim);
        }
    }

    /// The foot and the rings for the capacity.
    fn fit(&mut self) {
        let foot = self.args.share("foot", self.capacity).expect("new accepted the same arguments");
        self.foot = foot.max(1);
        let bound = self.capacity.min(self.places.slots());
        for list in &mut self.lists {
            list.fit(&mut self.places, bound);
            list.settle(&mut self.places, self.foot);
        }
    }
}
