//! A growing column of bits, 64 to a word.

/// Bits that are 0 unless marked.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Sets bits `start..end`.
    pub fn mark(&mut self, start: u64, end: u64) {
        self.reach(end);
        for_words(start, end, |index, mask| self.words[index] |= mask);
    }

    /// Makes sure that there are words for bits `0..end`.
    pub fn reach(&mut self, end: u64) {
        let words = end.div_ceil(64) as usize;
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    /// The words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Drops the bits, keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }
}

/// `count` ones (1 to 64) from bit `from` on.
fn range_mask(from: u64, count: u64) -> u64 {
    (u64::MAX >> (64 - count)) << from
}

/// Calls `visit(word index, mask)` for each word that holds some of bits `start..end`; the mask has ones at those bits.
#[inline(always)]
pub fn for_words(start: u64, end: u64, mut visit: impl FnMut(usize, u64)) {
    let mut at = start;
    while at < end {
        let stop = end.min((at | 63) + 1);
        visit((at / 64) as usize, range_mask(at % 64, stop - at));
        at = stop;
    }
}

/// Ones in bits `start..end` of the column whose words are given by `word`.
#[inline(always)]
pub fn count_ones(start: u64, end: u64, word: impl Fn(usize) -> u64) -> u64 {
    let mut ones = 0;
    for_words(start, end, |index, mask| ones += u64::from((word(index) & mask).count_ones()));
    ones
}

/// The end, at most `len`, of the run of equal bits that begins at bit `start`.
pub fn run_end(words: &[u64], start: u64, len: u64) -> u64 {
    let mut at = start;
    while at < len {
        let word = words[(at / 64) as usize] >> (at % 64);
        let same = if get(words, start) { word.trailing_ones() } else { word.trailing_zeros() };
        let left = 64 - at % 64;
        at += u64::from(same).min(left);
        if u64::from(same) < left {
            break;
        }
    }
    at.min(len)
}

/// True if bit `index` is set.
#[inline(always)]
pub fn get(words: &[u64], index: u64) -> bool {
    words[(index / 64) as usize] >> (index % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_runs_are_counted_back() {
        let mut bits = Bits::default();
        let mut plain = vec![false; 300];
        for (start, end) in [(0, 3), (60, 64), (64, 128), (130, 131), (190, 260)] {
            bits.mark(start, end);
            plain[start as usize..end as usize].fill(true);
        }
        bits.reach(300);
        for start in 0..plain.len() {
            assert_eq!(get(bits.words(), start as u64), plain[start]);
            for end in start..=plain.len() {
                let expected = plain[start..end].iter().filter(|&&bit| bit).count() as u64;
                assert_eq!(count_ones(start as u64, end as u64, |word| bits.words()[word]), expected);
            }
        }
    }
}
