//! The facts of a reference besides its key: the place of the block, the application and the operation.

use hotset_core::classify::Class;
use hotset_core::policy::{App, Object, Reference};

/// Where blocks lie and who refers to them. Everything follows from the key and the time, so that a trace stays a list
/// of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// Blocks of a file: key k is block k mod this of file k / this.
    pub file_blocks: u32,
    /// Applications, which take turns irregularly.
    pub apps: u32,
    /// One reference in this many writes, irregularly.
    pub writes: u32,
    /// Classes: keys next to each other are of different ones, and key 0 of the last one.
    pub classes: u32,
    /// References after which every key is of another class.
    pub class_lasts: u64,
    /// One key in so many belongs to no object.
    pub loose: u32,
    /// The weight of the heaviest blocks.
    pub heaviest: u32,
    /// Storage takes more for some blocks than for others.
    pub has_store: bool,
}

impl Default for World {
    fn default() -> World {
        World::PLAIN
    }
}

impl World {
    /// A little of everything: small files, two applications, writes, three classes.
    pub const PLAIN: World = World {
        file_blocks: 8,
        apps: 2,
        writes: 3,
        classes: 3,
        class_lasts: u64::MAX,
        loose: 7,
        heaviest: 1,
        has_store: false,
    };

    /// Objects of many sizes, which change now and then.
    pub const OBJECTS: World = World { heaviest: 5, ..World::PLAIN };

    /// The facts of the reference to `key` at `time`.
    pub fn reference(self, key: u32, time: u64) -> Reference {
        let mixed = (time ^ u64::from(key) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Reference {
            time,
            // Ten references a second, roughly.
            clock: (time + time / 7) * 100_000_000,
            file: key / self.file_blocks,
            block: key % self.file_blocks,
            group: key / self.file_blocks % 2,
            app: (mixed >> 60) as u32 % self.apps,
            class: self.class(key, time),
            write: (mixed >> 32).is_multiple_of(u64::from(self.writes)),
            object: self.object(key),
            ahead: false,
            weight: self.weight(key, time),
            bytes: if self.weighs() { 200 * self.weight(key, time) } else { 0 },
            cost: if self.has_store { cost(key, mixed) } else { 0 },
            cost_apart: if self.has_store { cost(key, mixed) * (1 + u64::from(key / self.file_blocks % 3)) } else { 0 },
        }
    }

    /// The file of `key` is an object, small or large or a variable.
    fn object(self, key: u32) -> Option<Object> {
        let file = key / self.file_blocks;
        let bytes = [64 << 10, u64::MAX, 32 << 10][file as usize % 3];
        (key % self.loose != self.loose - 1).then_some(Object { id: file, bytes, is_global: file % 5 == 4 })
    }

    /// True if not all blocks weigh the same.
    pub fn weighs(self) -> bool {
        self.heaviest > 1
    }

    fn weight(self, key: u32, time: u64) -> u32 {
        1 + (key * 3 + (time / 40) as u32) % self.heaviest
    }

    fn class(self, key: u32, time: u64) -> Class {
        let turned = (u64::from(key) + time / self.class_lasts) % u64::from(self.classes);
        (u64::from(self.classes) - 1 - turned) as Class
    }

    /// The same for a policy of this capacity, which [`weighs`](hotset_core::policy::Requirements::weighs) blocks or
    /// counts them.
    pub fn reference_for(self, key: u32, time: u64, capacity: u32, weighs: bool) -> Reference {
        let reference = self.reference(key, time);
        Reference { weight: if weighs { reference.weight.min(capacity) } else { 1 }, ..reference }
    }

    /// The facts of each reference of a trace.
    pub fn references(self, trace: &[u32]) -> Vec<Reference> {
        trace.iter().enumerate().map(|(time, &key)| self.reference(key, time as u64)).collect()
    }

    /// The applications by their names.
    pub fn app_table(self) -> Vec<App> {
        (0..self.apps).map(|app| App::from(&*app_name(app))).collect()
    }

    /// For each key below `keys`, its file in the high 32 bits and its block in the low ones.
    pub fn addresses(self, keys: u32) -> Vec<u64> {
        (0..keys).map(|key| u64::from(key / self.file_blocks) << 32 | u64::from(key % self.file_blocks)).collect()
    }
}

/// What storage takes for a block: some files lie far away, and some references come with many others.
fn cost(key: u32, mixed: u64) -> u64 {
    [100_000, 9_000_000, 0, 2_000_000][key as usize / 5 % 4] >> (mixed >> 20 & 3)
}

/// For how long storage has worked when the clock is there: an irregular share of each second.
pub fn storage_busy(clock: u64) -> u64 {
    let second = 1_000_000_000;
    let share = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 3;
    (0..clock / second).map(|number| share(number) * second / 3).sum()
}

/// The name of an application.
pub fn app_name(app: u32) -> String {
    format!("a{app}")
}
