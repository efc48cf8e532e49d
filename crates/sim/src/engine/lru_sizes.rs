//! LRU caches of several sizes over one log. A larger one holds all that a smaller one does, so the content of
//! each is given by its start in the log.
//!
//! Source: R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, Evaluation techniques for storage hierarchies, IBM
//! Systems Journal 9(2), 1970, whose stack this log is, for some sizes instead of all.
//!
//! Idea: a reference appends its block to the log and removes its earlier entry. A cache holds the blocks from
//! its *mark* on. One that misses and is full moves its mark behind the next block that is still in the log: that
//! block leaves. So the caches that miss are those whose marks are beyond the block's old place. A block that is
//! removed leaves a free place in each cache that held it; with a free place a miss moves no mark.
//!
//! Cost: nothing for a cache that hits, a few steps over a bit column for one that misses. 12 bytes a block that the
//! largest cache holds, and 4 a slot.

use hotset_core::parts::large;
use hotset_core::parts::prefetch::prefetch;
use hotset_core::policy::Slot;

/// No place in the log: before every mark.
const NOWHERE: u32 = 0;
/// Places of the smallest log.
const LEAST: usize = 4096;

/// The caches, from the smallest to the largest.
pub(crate) struct LruSizes {
    caches: Vec<Cache>,
    /// The mark of each cache.
    marks: Vec<u32>,
    /// By slot, its place in the log.
    places: Vec<u32>,
    /// By place, the slot that was appended there.
    log: Vec<Slot>,
    /// By place, set where the block is still there.
    live: Vec<u64>,
    /// The next place.
    end: u32,
}

struct Cache {
    /// Blocks that fit.
    size: u32,
    /// Blocks that it holds.
    held: u32,
}

impl LruSizes {
    /// Empty caches of these sizes, which ascend. They are asked for slots below `slots`.
    pub fn new(sizes: &[u32], slots: u32) -> LruSizes {
        let most = sizes.last().copied().unwrap_or_default().min(slots) as usize;
        let mut lru_sizes = LruSizes {
            caches: sizes.iter().map(|&size| Cache { size, held: 0 }).collect(),
            marks: vec![NOWHERE + 1; sizes.len()],
            places: large::filled(NOWHERE, slots as usize),
            log: Vec::new(),
            live: Vec::new(),
            end: NOWHERE + 1,
        };
        lru_sizes.lengthen(2 * most);
        lru_sizes
    }

    /// There are slots below `slots` from here on.
    pub fn grow(&mut self, slots: u32) {
        self.places.resize(slots as usize, NOWHERE);
    }

    /// Fetches what a reference to `slot` will look at.
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        prefetch(&self.places, slot as usize);
    }

    /// References a block; returns how many caches miss, which are the smallest ones. `leaves` is called with each
    /// cache that a block leaves for it, and with the block.
    #[inline(always)]
    pub fn refer(&mut self, slot: Slot, mut leaves: impl FnMut(usize, Slot)) -> usize {
        if self.end as usize == self.log.len() {
            self.squeeze();
        }
        let place = std::mem::replace(&mut self.places[slot as usize], self.end);
        let missing = self.marks.iter().map(|&mark| usize::from(place < mark)).sum();
        // Nothing is live nowhere.
        self.live[place as usize / 64] &= !(1 << (place % 64));
        self.live[self.end as usize / 64] |= 1 << (self.end % 64);
        self.log[self.end as usize] = slot;
        self.end += 1;
        for number in 0..missing {
            let cache = &mut self.caches[number];
            if cache.held < cache.size {
                cache.held += 1;
                continue;
            }
            let oldest = self.next_live(self.marks[number]);
            self.marks[number] = oldest + 1;
            let leaving = self.log[oldest as usize];
            if number + 1 == self.marks.len() {
                self.places[leaving as usize] = NOWHERE;
                self.live[oldest as usize / 64] &= !(1 << (oldest % 64));
            }
            leaves(number, leaving);
        }
        missing
    }

    /// The block leaves all caches.
    pub fn remove(&mut self, slot: Slot) {
        let place = std::mem::replace(&mut self.places[slot as usize], NOWHERE);
        self.live[place as usize / 64] &= !(1 << (place % 64));
        for (cache, &mark) in self.caches.iter_mut().zip(&self.marks) {
            cache.held -= u32::from(place >= mark);
        }
    }

    /// The first place from `from` on where a block is. There is one.
    #[inline(always)]
    fn next_live(&self, from: u32) -> u32 {
        let mut word = from as usize / 64;
        let mut bits = self.live[word] & u64::MAX << (from % 64);
        while bits == 0 {
            word += 1;
            bits = self.live[word];
        }
        word as u32 * 64 + bits.trailing_zeros()
    }

    /// Provides positions at the end of the log: the remaining entries move together.
    #[cold]
    fn squeeze(&mut self) {
        let mut end = NOWHERE + 1;
        // The caches whose marks have not been met yet; the largest one's is the first.
        let mut ahead = self.marks.len();
        for word in 0..self.live.len() {
            let mut bits = std::mem::take(&mut self.live[word]);
            while bits != 0 {
                let place = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                while ahead > 0 && self.marks[ahead - 1] <= place {
                    ahead -= 1;
                    self.marks[ahead] = end;
                }
                let slot = self.log[place as usize];
                self.log[end as usize] = slot;
                self.places[slot as usize] = end;
                end += 1;
            }
        }
        self.marks[..ahead].fill(end);
        self.end = end;
        self.lengthen(2 * end as usize);
        (NOWHERE + 1..end).for_each(|place| self.live[place as usize / 64] |= 1 << (place % 64));
    }

    /// The log has at least so many places from here on.
    fn lengthen(&mut self, places: usize) {
        let places = places.max(LEAST).next_multiple_of(64);
        if places > self.log.len() {
            self.log.resize(places, 0);
            self.live.resize(places / 64, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use hotset_core::random::Rng;

    use super::*;

    /// An LRU cache by the book.
    #[derive(Default)]
    struct Model {
        size: usize,
        /// The most recently used block last.
        blocks: Vec<Slot>,
    }

    impl Model {
        /// True if the block is there, and who leaves for it.
        fn refer(&mut self, slot: Slot) -> (bool, Option<Slot>) {
            let found = self.remove(slot);
            let leaving = (self.blocks.len() == self.size).then(|| self.blocks.remove(0));
            self.blocks.push(slot);
            (found, leaving)
        }

        fn remove(&mut self, slot: Slot) -> bool {
            let place = self.blocks.iter().position(|&other| other == slot);
            place.map(|place| self.blocks.remove(place)).is_some()
        }
    }

    /// Long enough for many squeezes, with removals, slots that come late, equal sizes and one that is never full.
    #[test]
    fn each_cache_is_an_lru_by_the_book() {
        for (seed, sizes) in [(1, vec![1]), (2, vec![1, 2, 3, 10]), (3, vec![5, 5, 40, 41, 300, 1000])] {
            let mut random = Rng::new(seed);
            let mut models: Vec<Model> =
                sizes.iter().map(|&size| Model { size: size as usize, ..Model::default() }).collect();
            let mut lru_sizes = LruSizes::new(&sizes, 10);
            lru_sizes.grow(600);
            for step in 0..40_000 {
                let spread = 1 + random.below(1 + step / 40).min(599);
                let slot = random.below(spread);
                if random.below(50) == 0 {
                    lru_sizes.remove(slot);
                    for model in &mut models {
                        model.remove(slot);
                    }
                    continue;
                }
                let mut leaving = vec![None; sizes.len()];
                let missing = lru_sizes.refer(slot, |cache, slot| leaving[cache] = Some(slot));
                for (number, model) in models.iter_mut().enumerate() {
                    let expected = model.refer(slot);
                    assert_eq!((number >= missing, leaving[number]), expected, "step {step}, size {}", model.size);
                }
            }
            assert_eq!(lru_sizes.log.len(), LEAST, "the log is as long as the largest cache asks for");
        }
    }
}
