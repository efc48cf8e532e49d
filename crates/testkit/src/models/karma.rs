//! Karma with hints by going through the trace range by range.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

/// File and number of a range.
type Place = (u32, u32);

struct Range {
    blocks: usize,
    returns: usize,
    looping: bool,
}

pub(super) struct Karma {
    range: u32,
    /// The ranges of blocks that the trace references.
    ranges: BTreeMap<Place, Range>,
    places: BTreeMap<u32, Place>,
    spaces: BTreeMap<Place, usize>,
    shared_space: usize,
    /// Least recently used first; under `None` the blocks of ranges without space.
    lists: BTreeMap<Option<Place>, VecDeque<u32>>,
}

impl Model for Karma {
    fn new(given: &Given<'_>) -> Karma {
        let mut karma = Karma {
            range: given.args.count("range") as u32,
            ranges: BTreeMap::new(),
            places: BTreeMap::new(),
            spaces: BTreeMap::new(),
            shared_space: 0,
            lists: BTreeMap::new(),
        };
        let mut references: Vec<Reference> = given.references.to_vec();
        references.dedup_by_key(|reference| (reference.file, reference.block));
        let mut by_range: BTreeMap<Place, Vec<u32>> = BTreeMap::new();
        for reference in references {
            by_range.entry(karma.place(reference)).or_default().push(reference.block);
        }
        karma.ranges = by_range.into_iter().map(|(place, blocks)| (place, hint(&blocks))).collect();
        karma.divide(given.capacity);
        karma
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let place = self.place(reference);
        self.places.insert(key, place);
        let home = self.home(key);
        let hit = self.resident().contains(&key);
        self.remove(key);
        let evicted = if hit { vec![] } else { self.shrink(home, 1) };
        self.lists.entry(home).or_default().push_back(key);
        ModelStep { hit, evicted, ..ModelStep::default() }
    }

    fn remove(&mut self, key: u32) {
        self.lists.values_mut().for_each(|list| list.retain(|&other| other != key));
    }

    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        self.divide(capacity);
        let order: Vec<u32> = self.lists.values().flatten().copied().collect();
        // A block that stays in its list keeps its age; one that changes it is the youngest there.
        for key in order {
            let home = self.home(key);
            if !self.lists.entry(home).or_default().contains(&key) {
                self.remove(key);
                self.lists.entry(home).or_default().push_back(key);
            }
        }
        let homes: Vec<Option<Place>> = self.lists.keys().copied().collect();
        homes.into_iter().flat_map(|home| self.shrink(home, 0)).collect()
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.lists.values().flatten().copied().collect()
    }
}

/// What references to these blocks of a range, one after the other, tell.
fn hint(references: &[u32]) -> Range {
    let blocks = references.iter().collect::<BTreeSet<_>>().len();
    let in_order = references.windows(2).filter(|pair| pair[1] == pair[0] + 1 || pair[1] == references[0]).count();
    let looping = blocks > 1 && in_order * 10 >= (references.len() - 1) * 9;
    Range { blocks, returns: references.len() - blocks, looping }
}

impl Karma {
    fn place(&self, reference: Reference) -> Place {
        (reference.file, reference.block / self.range)
    }

    fn home(&self, key: u32) -> Option<Place> {
        Some(self.places[&key]).filter(|place| self.spaces.contains_key(place))
    }

    fn divide(&mut self, capacity: usize) {
        let mut order: Vec<Place> =
            self.ranges.keys().copied().filter(|place| self.ranges[place].returns > 0).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&self.ranges[a], &self.ranges[b]);
            (b.returns * a.blocks).cmp(&(a.returns * b.blocks))
        });
        let mut left = capacity;
        self.spaces.clear();
        for &place in &order {
            let space = self.ranges[&place].blocks.min(left);
            left -= space;
            if space > 0 {
                self.spaces.insert(place, space);
            }
        }
        if left == 0 && self.spaces.len() < self.ranges.len() {
            left = 1;
            let last = order[self.spaces.len() - 1];
            self.spaces.entry(last).and_modify(|space| *space -= 1);
            self.spaces.retain(|_, space| *space > 0);
        }
        self.shared_space = left;
    }

    /// Evicts from a list until this many more blocks fit.
    fn shrink(&mut self, home: Option<Place>, more: usize) -> Vec<u32> {
        let space = home.map_or(self.shared_space, |place| self.spaces.get(&place).copied().unwrap_or(0));
        let looping = home.is_some_and(|place| self.ranges[&place].looping);
        let list = self.lists.entry(home).or_default();
        let surplus = (list.len() + more).saturating_sub(space);
        (0..surplus).filter_map(|_| if looping { list.pop_back() } else { list.pop_front() }).collect()
    }
}
