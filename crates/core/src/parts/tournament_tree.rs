//! The greatest of many keys that change.
//!
//! A tree of matches: every node holds the greater of its two children's keys, the root the greatest of all. Changing a
//! key replays the matches above it until one ends as before.

/// Keys by index; 0 means none.
#[derive(Debug)]
pub struct TournamentTree {
    /// Node 1 is the root, node n has the children 2n and 2n + 1, the second half are the keys themselves.
    nodes: Vec<u64>,
}

impl TournamentTree {
    /// No keys, for indices below `bound`.
    pub fn new(bound: usize) -> TournamentTree {
        TournamentTree { nodes: vec![0; 2 * bound.next_power_of_two()] }
    }

    /// The key of `index`, or 0.
    #[inline(always)]
    pub fn key(&self, index: usize) -> u64 {
        self.nodes[self.nodes.len() / 2 + index]
    }

    /// Sets the key of `index`; 0 takes it out.
    #[inline(always)]
    pub fn set(&mut self, index: usize, key: u64) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = key;
        while node > 1 {
            node /= 2;
            let winner = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    /// The greatest key and its index, the greater one of equals.
    #[inline(always)]
    pub fn greatest(&self) -> Option<(usize, u64)> {
        let (key, leaves) = (self.nodes[1], self.nodes.len() / 2);
        if key == 0 {
            return None;
        }
        let mut node = 1;
        while node < leaves {
            node = 2 * node + usize::from(self.nodes[2 * node + 1] == key);
        }
        Some((node - leaves, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn does_what_looking_at_all_keys_does() {
        let mut random = Rng::new(2);
        for bound in [1, 2, 5, 64, 100] {
            let (mut champions, mut model) = (TournamentTree::new(bound), vec![0; bound]);
            for _ in 0..2000 {
                let (index, key) = (random.below(bound as u32) as usize, u64::from(random.below(9)));
                champions.set(index, key);
                model[index] = key;
                let greatest =
                    model.iter().copied().enumerate().max_by_key(|&(_, key)| key).filter(|&(_, key)| key > 0);
                assert_eq!(champions.greatest(), greatest);
                assert_eq!(champions.key(index), key);
            }
        }
    }
}
