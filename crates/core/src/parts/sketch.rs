//! How often blocks were used lately, roughly, in 8 to 16 bytes a block of capacity.
//!
//! A count-min sketch: four rows of counters of four bits. A block has one counter in each row; a use raises all four,
//! and the least of them, the one least spoilt by other blocks, is the estimate. When as many uses as ten times the
//! capacity were counted, all counters and that number are halved, so that old popularity fades. The counters of one
//! block lie in one cache line.

use super::large;

/// Counters stop here.
pub const COUNT_MOST: u64 = 15;
/// Rows, which share each line evenly.
pub const ROWS: usize = 4;
/// Counters of a row in a line.
pub const ROW_COUNTERS: u32 = 32;
/// A row's counters take two words of a line.
const WORDS: usize = 8;
/// Most lines: 1 GB.
const LINES_MOST: u32 = 1 << 24;
/// Uses, times the capacity, after which the counters are halved.
const SAMPLE: u64 = 10;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; WORDS]);

/// The sketch.
#[derive(Debug)]
pub struct Sketch {
    lines: Vec<Line>,
    /// Uses counted; those before a halving count half.
    uses: u64,
    sample: u64,
}

/// The identity of a block in sketches.
#[inline(always)]
pub fn hash(file: u32, block: u32) -> u32 {
    let mixed = (u64::from(file) << 32 | u64::from(block)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 32) as u32
}

/// Lines of a sketch for `capacity` blocks, a power of two: a word a block.
pub fn lines(capacity: u32) -> u32 {
    capacity.div_ceil(WORDS as u32).checked_next_power_of_two().map_or(LINES_MOST, |lines| lines.min(LINES_MOST))
}

/// The block's line in a sketch of so many lines, and the number of its counter in each row of it.
#[inline(always)]
pub fn counters(hash: u32, lines: u32) -> (usize, [u32; ROWS]) {
    let bits = (u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    ((hash & (lines - 1)) as usize, std::array::from_fn(|row| bits >> (5 * row) & (ROW_COUNTERS - 1)))
}

impl Sketch {
    /// All counters 0.
    pub fn new(capacity: u32) -> Sketch {
        let lines = large::filled(Line([0; WORDS]), lines(capacity) as usize);
        Sketch { lines, uses: 0, sample: SAMPLE * u64::from(capacity) }
    }

    /// Fits the sketch to a capacity. If that takes more lines, or no more than a quarter of them, it starts anew.
    pub fn resize(&mut self, capacity: u32) {
        let (lines, held) = (lines(capacity) as usize, self.lines.len());
        if lines > held || lines * 4 <= held {
            *self = Sketch::new(capacity);
        }
        self.sample = SAMPLE * u64::from(capacity);
    }

    /// Counts a use of a block.
    #[inline(always)]
    pub fn add(&mut self, hash: u32) {
        let (line, counters) = counters(hash, self.lines.len() as u32);
        let words = &mut self.lines[line].0;
        let mut raised = false;
        for (row, counter) in counters.into_iter().enumerate() {
            let (word, shift) = place(row, counter);
            let room = words[word] >> shift & COUNT_MOST != COUNT_MOST;
            words[word] += u64::from(room) << shift;
            raised |= room;
        }
        self.uses += u64::from(raised);
        if self.uses >= self.sample {
            self.halve();
        }
    }

    /// Estimates the uses of a block.
    #[inline(always)]
    pub fn count(&self, hash: u32) -> u32 {
        let (line, counters) = counters(hash, self.lines.len() as u32);
        let words = &self.lines[line].0;
        let mut least = COUNT_MOST;
        for (row, counter) in counters.into_iter().enumerate() {
            let (word, shift) = place(row, counter);
            least = least.min(words[word] >> shift & COUNT_MOST);
        }
        least as u32
    }

    #[cold]
    fn halve(&mut self) {
        for word in self.lines.iter_mut().flat_map(|line| &mut line.0) {
            *word = *word >> 1 & 0x7777_7777_7777_7777;
        }
        self.uses /= 2;
    }
}

/// The word of its line and the first bit in it of a counter.
#[inline(always)]
fn place(row: usize, counter: u32) -> (usize, u32) {
    (2 * row + counter as usize / 16, counter % 16 * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_never_below_the_truth_and_mostly_exact() {
        let mut sketch = Sketch::new(1000);
        let hashes: Vec<u32> = (0..1000).map(|block| hash(block / 100, block % 100)).collect();
        for (block, &hash) in hashes.iter().enumerate() {
            (0..block % 9).for_each(|_| sketch.add(hash));
        }
        let estimates = || hashes.iter().map(|&hash| sketch.count(hash) as usize).enumerate();
        assert!(estimates().all(|(block, estimate)| estimate >= block % 9));
        let exact = estimates().filter(|&(block, estimate)| estimate == block % 9).count();
        assert!(exact > 950, "{exact} of 1000 are exact");
    }

    #[test]
    fn counters_stop_and_are_halved_after_the_sample() {
        let mut sketch = Sketch::new(10);
        let (often, once) = (hash(0, 0), hash(0, 1));
        (0..50).for_each(|_| sketch.add(often));
        assert_eq!(sketch.count(often), 15);
        assert_eq!(sketch.uses, 15, "a use that raises nothing is not counted");
        sketch.add(once);
        sketch.sample = 17;
        sketch.add(hash(7, 3));
        assert_eq!((sketch.count(often), sketch.count(once), sketch.uses), (7, 0, 8));
    }
}
