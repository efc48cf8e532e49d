//! Blocks in order of last use, with the depth of any of them in O(1): the stack behind every LRU curve.
//!
//! Every reference takes a new position on a line. A bitmap marks the positions that are some block's last use, so a
//! block's depth in the LRU stack is the number of marks from its own to the MRU end. Counts of the marks before each
//! leaf of 512 positions, each group of 32 leaves and each region of 32 groups turn that into three loads and the
//! population count of one cache line. Taking a mark away lowers the counts behind it, one vector operation a level; a
//! new mark is at the MRU end, where nothing is counted yet. When the positions run out, the marks are moved
//! together.
//!
//! The idea of one mark per live block on a time line is Bennett and Kruskal's ("LRU stack processing", IBM J. Res.
//! Dev. 1975); they and Olken (LBL-12370, 1981) count with trees, O(log n) a reference.

use hotset_core::parts::prefetch::prefetch;

/// A block that is not on the stack.
const NOWHERE: u32 = u32::MAX;

const LEAF: usize = 512;
const FANOUT: usize = 32;
const GROUP: usize = LEAF * FANOUT;
const REGION: usize = GROUP * FANOUT;

/// Positions for each mark after a compaction: the more, the rarer the compactions and the wider the bitmap.
const ROOM: usize = 8;

/// How many references ahead of its use the position of a block is fetched, and its leaf of the bitmap.
const FETCH_PLACE: usize = 32;
const FETCH_LEAF: usize = 16;

/// The LRU stack of blocks named by small numbers.
#[derive(Debug)]
pub(crate) struct Recency {
    /// Position of each block's last use, or [`NOWHERE`].
    places: Vec<u32>,
    marks: Marks,
}

impl Recency {
    pub(crate) fn new() -> Recency {
        Recency { places: Vec::new(), marks: Marks::new(GROUP) }
    }

    /// References `ids` one after the other and appends the depth at which each was to `depths`: 1 for the youngest
    /// block, 0 for a block that was not on the stack.
    pub(crate) fn touch_all(&mut self, ids: &[u32], depths: &mut Vec<u32>) {
        depths.extend(ids.iter().enumerate().map(|(index, &id)| {
            if let Some(&ahead) = ids.get(index + FETCH_PLACE) {
                prefetch(&self.places, ahead as usize);
            }
            if let Some(&place) = ids.get(index + FETCH_LEAF).and_then(|&ahead| self.places.get(ahead as usize)) {
                prefetch(&self.marks.leaves, place as usize / LEAF);
            }
            self.touch(id)
        }));
    }

    /// Blocks on the stack.
    pub(crate) fn len(&self) -> u32 {
        self.marks.live
    }

    /// References `id`: moves it to the MRU end and returns the depth at which it was, 0 if it was not on the stack.
    #[inline(always)]
    pub(crate) fn touch(&mut self, id: u32) -> u32 {
        let depth = self.forget(id);
        self.push(id);
        depth
    }

    /// The depth of `id`, 0 if it is not on the stack.
    pub(crate) fn depth(&self, id: u32) -> u32 {
        let place = self.places.get(id as usize).filter(|place| **place != NOWHERE);
        place.map_or(0, |&place| self.marks.count_from(place as usize))
    }

    /// Puts `other`, which is not on the stack, where `id` is.
    pub(crate) fn rename(&mut self, id: u32, other: u32) {
        if other as usize >= self.places.len() {
            self.places.resize(other as usize + 1, NOWHERE);
        }
        self.places[other as usize] = std::mem::replace(&mut self.places[id as usize], NOWHERE);
    }

    /// Takes `id` off the stack and returns the depth at which it was, 0 if it was not there.
    #[inline(always)]
    pub(crate) fn forget(&mut self, id: u32) -> u32 {
        let Some(place) = self.places.get_mut(id as usize).filter(|place| **place != NOWHERE) else {
            return 0;
        };
        let at = std::mem::replace(place, NOWHERE) as usize;
        let depth = self.marks.count_from(at);
        self.marks.take(at);
        depth
    }

    #[inline(always)]
    fn push(&mut self, id: u32) {
        if self.marks.is_full() {
            self.compact();
        }
        if id as usize >= self.places.len() {
            self.places.resize(id as usize + 1, NOWHERE);
        }
        self.places[id as usize] = self.marks.push();
    }

    /// Moves the marks together and provides positions in proportion to their number.
    #[cold]
    fn compact(&mut self) {
        let live = self.marks.live;
        for place in self.places.iter_mut().filter(|place| **place != NOWHERE) {
            *place = live - self.marks.count_from(*place as usize);
        }
        let room = (live as usize * ROOM).next_multiple_of(GROUP).clamp(GROUP, NOWHERE as usize / GROUP * GROUP);
        assert!((live as usize) < room, "a recency stack holds fewer than 2^32 - 2^14 blocks");
        self.marks = Marks::new(room);
        for _ in 0..live {
            self.marks.push();
        }
    }
}

/// A bitmap that is filled from one end, and the counts over it.
#[derive(Debug)]
struct Marks {
    leaves: Vec<[u64; LEAF / 64]>,
    /// Marks before each leaf, counted from the start of its group.
    before_leaf: Vec<[u16; FANOUT]>,
    /// Marks before each group, counted from the start of its region.
    before_group: Vec<[u32; FANOUT]>,
    /// Marks before each region.
    before_region: Vec<u32>,
    /// Marks in all.
    live: u32,
    /// Positions used, marked or not.
    used: usize,
}

impl Marks {
    fn new(room: usize) -> Marks {
        Marks {
            leaves: vec![[0; LEAF / 64]; room / LEAF],
            before_leaf: vec![[0; FANOUT]; room.div_ceil(GROUP)],
            before_group: vec![[0; FANOUT]; room.div_ceil(REGION)],
            before_region: vec![0; room.div_ceil(REGION)],
            live: 0,
            used: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.used == self.leaves.len() * LEAF
    }

    /// Marks the next position and returns it.
    #[inline(always)]
    fn push(&mut self) -> u32 {
        let at = self.used;
        if at.is_multiple_of(LEAF) {
            self.open(at);
        }
        self.leaves[at / LEAF][at % LEAF / 64] |= 1 << (at % 64);
        self.used += 1;
        self.live += 1;
        at as u32
    }

    /// Counts what stands before the leaf that begins at `at`, the youngest.
    #[inline(always)]
    fn open(&mut self, at: usize) {
        let (group, region) = (at / GROUP, at / REGION);
        if at.is_multiple_of(REGION) {
            self.before_region[region] = self.live;
        }
        let in_region = self.live - self.before_region[region];
        if at.is_multiple_of(GROUP) {
            self.before_group[region][group % FANOUT] = in_region;
        }
        let in_group = in_region - self.before_group[region][group % FANOUT];
        self.before_leaf[group][at / LEAF % FANOUT] = in_group as u16;
    }

    /// Marks from position `at` to the MRU end.
    #[inline(always)]
    fn count_from(&self, at: usize) -> u32 {
        let (leaf, group, region) = (at / LEAF, at / GROUP, at / REGION);
        let before = self.before_region[region]
            + self.before_group[region][group % FANOUT]
            + u32::from(self.before_leaf[group][leaf % FANOUT])
            + ones_below(&self.leaves[leaf], at % LEAF);
        self.live - before
    }

    /// Removes the mark at `at`.
    #[inline(always)]
    fn take(&mut self, at: usize) {
        let (leaf, group, region) = (at / LEAF, at / GROUP, at / REGION);
        self.leaves[leaf][at % LEAF / 64] &= !(1 << (at % 64));
        self.live -= 1;
        // Whole rows, with lane numbers as wide as the counts: that compiles to a few vector instructions.
        let (leaf_lane, group_lane) = ((leaf % FANOUT) as u16, (group % FANOUT) as u32);
        for (lane, count) in (0..).zip(&mut self.before_leaf[group]) {
            *count = count.wrapping_sub(u16::from(lane > leaf_lane));
        }
        for (lane, count) in (0..).zip(&mut self.before_group[region]) {
            *count = count.wrapping_sub(u32::from(lane > group_lane));
        }
        for count in &mut self.before_region[region + 1..] {
            *count = count.wrapping_sub(1);
        }
    }
}

/// Eight words of ones, then eight of zeros: eight words from index 8 - n select the first n of a leaf.
const SELECT: [u64; 16] = {
    let mut masks = [0; 16];
    let mut index = 0;
    while index < 8 {
        masks[index] = u64::MAX;
        index += 1;
    }
    masks
};

/// Ones among the lowest `count` bits of `words`; no branch depends on `count`.
#[inline(always)]
fn ones_below(words: &[u64; LEAF / 64], count: usize) -> u32 {
    let last = count / 64;
    let whole: u32 = words.iter().zip(&SELECT[8 - last..]).map(|(word, mask)| (word & mask).count_ones()).sum();
    whole + (words[last] & ((1 << (count % 64)) - 1)).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Depth of `id` in a list that is searched from the MRU end.
    fn touch_list(list: &mut Vec<u32>, id: u32) -> u32 {
        let place = list.iter().rposition(|&listed| listed == id);
        let depth = place.map_or(0, |place| (list.len() - place) as u32);
        list.retain(|&listed| listed != id);
        list.push(id);
        depth
    }

    #[test]
    fn depths_equal_a_searched_list_through_compactions() {
        let mut random = 1u64;
        let (mut recency, mut list) = (Recency::new(), Vec::new());
        for step in 0..200_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let id = (random >> 33) as u32 % if step % 3 == 0 { 3000 } else { 50 };
            assert_eq!(recency.touch(id), touch_list(&mut list, id), "step {step}");
            if step % 1000 == 999 {
                let gone = list.remove(list.len() / 2);
                recency.forget(gone);
            }
            assert_eq!(recency.len() as usize, list.len());
        }
    }

    #[test]
    fn counts_carry_across_leaves_groups_and_regions() {
        let mut marks = Marks::new(REGION + GROUP);
        for _ in 0..REGION + GROUP {
            marks.push();
        }
        assert!(marks.is_full());
        for at in (0..REGION + GROUP).rev().step_by(7) {
            marks.take(at);
        }
        let taken = |from: usize| (REGION + GROUP - from).div_ceil(7);
        for at in (0..REGION + GROUP).step_by(97) {
            assert_eq!(marks.count_from(at) as usize, REGION + GROUP - at - taken(at), "position {at}");
        }
    }

    #[test]
    fn ones_are_counted_below_every_bit() {
        let words = [0x5555_5555_5555_5555; 8];
        for count in 0..LEAF {
            assert_eq!(ones_below(&words, count) as usize, count.div_ceil(2));
        }
    }
}
