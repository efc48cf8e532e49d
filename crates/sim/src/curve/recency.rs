//! Blocks in order of last use, with the depth of any of them in O(1): the stack behind every LRU curve.
//!
//! Every reference takes a new position on a line. A bitmap marks the positions that are some block's last use, so a block's
//! depth in the LRU stack is the number of marks from its own to the young end. Counts of the marks before each leaf of 512
//! positions, each group of 32 leaves and each region of 32 groups turn that into three loads and the population count of one
//! cache line. Taking a mark away lowers the counts behind it, one vector operation a level; a new mark stands at the young
//! end, where nothing is counted yet. When the positions run out, the marks are moved together.
//!
//! The idea of one mark per live block on a time line is Bennett and Kruskal's ("LRU stack processing", IBM J. Res. Dev. 1975);
//! they and Olken (LBL-12370, 1981) count with trees, O(log n) a reference.

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
pub(super) struct Recency {
    /// Position of each block's last use, or [`NOWHERE`].
    places: Vec<u32>,
    marks: Marks,
}

impl Recency {
    pub(super) fn new() -> Recency {
        Recency { places: Vec::new(), marks: Marks::new(GROUP) }
    }

    /// References `ids` one after the other and tells `seen` the depth of each: 1 for the youngest block, `None` for one that
    /// is not on the stack.
    #[inline(always)]
    pub(super) fn touch_all(&mut self, ids: &[u32], mut seen: impl FnMut(Option<usize>)) {
        for (index, &id) in ids.iter().enumerate() {
            if let Some(&ahead) = ids.get(index + FETCH_PLACE) {
                prefetch(&self.places, ahead as usize);
            }
            if let Some(&place) = ids.get(index + FETCH_LEAF).and_then(|&ahead| self.places.get(ahead as usize)) {
                prefetch(&self.marks.leaves, place as usize / LEAF);
            }
            seen(self.touch(id));
        }
    }

    /// References `id`, moves it to the young end and returns the depth at which it was.
    #[inline(always)]
    pub(super) fn touch(&mut self, id: u32) -> Option<usize> {
        let depth = self.forget(id);
        self.push(id);
        depth
    }

    /// Takes `id` off the stack and returns its depth.
    #[inline(always)]
    pub(super) fn forget(&mut self, id: u32) -> Option<usize> {
        let place = self.places.get_mut(id as usize).filter(|place| **place != NOWHERE)?;
        let at = std::mem::replace(place, NOWHERE) as usize;
        let depth = self.marks.count_from(at);
        self.marks.take(at);
        Some(depth)
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

    /// Moves the marks together and makes room in proportion to their number.
    #[cold]
    fn compact(&mut self) {
        let live = self.marks.live;
        for place in self.places.iter_mut().filter(|place| **place != NOWHERE) {
            *place = (live - self.marks.count_from(*place as usize)) as u32;
        }
        let room = (live * ROOM).next_multiple_of(GROUP).min(NOWHERE as usize / GROUP * GROUP);
        assert!(live < room, "a recency stack holds fewer than 2^32 blocks");
        self.marks = Marks::new(room.max(GROUP));
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
    live: usize,
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
            self.before_region[region] = self.live as u32;
        }
        let in_region = self.live as u32 - self.before_region[region];
        if at.is_multiple_of(GROUP) {
            self.before_group[region][group % FANOUT] = in_region;
        }
        let in_group = in_region - self.before_group[region][group % FANOUT];
        self.before_leaf[group][at / LEAF % FANOUT] = in_group as u16;
    }

    /// Marks from position `at` to the young end.
    #[inline(always)]
    fn count_from(&self, at: usize) -> usize {
        let (leaf, group, region) = (at / LEAF, at / GROUP, at / REGION);
        let before = self.before_region[region]
            + self.before_group[region][group % FANOUT]
            + u32::from(self.before_leaf[group][leaf % FANOUT])
            + ones_below(&self.leaves[leaf], at % LEAF);
        self.live - before as usize
    }

    /// Removes the mark at `at`.
    #[inline(always)]
    fn take(&mut self, at: usize) {
        let (leaf, group, region) = (at / LEAF, at / GROUP, at / REGION);
        self.leaves[leaf][at % LEAF / 64] &= !(1 << (at % 64));
        self.live -= 1;
        let (leaf, group_index) = ((leaf % FANOUT) as u16, (group % FANOUT) as u32);
        for (index, count) in (0u16..).zip(&mut self.before_leaf[group]) {
            *count = count.wrapping_sub(u16::from(index > leaf));
        }
        for (index, count) in (0u32..).zip(&mut self.before_group[region]) {
            *count = count.wrapping_sub(u32::from(index > group_index));
        }
        for count in &mut self.before_region[region + 1..] {
            *count = count.wrapping_sub(1);
        }
    }
}

/// Ones among the lowest `count` bits of `words`.
#[inline(always)]
fn ones_below(words: &[u64; LEAF / 64], count: usize) -> u32 {
    const WHOLE: [u64; 16] = {
        let mut masks = [0; 16];
        let mut index = 0;
        while index < 8 {
            masks[index] = u64::MAX;
            index += 1;
        }
        masks
    };
    let word = count / 64;
    let masks = &WHOLE[8 - word..16 - word];
    let whole: u32 = words.iter().zip(masks).map(|(word, mask)| (word & mask).count_ones()).sum();
    whole + (words[word] & ((1 << (count % 64)) - 1)).count_ones()
}
