//! The attribute caches of Richardson's report, and the Unix cache that they are compared with: parts for kinds of
//! data, each an LRU list with one size of block. Blocks come with their class; the blocks of each request are decided
//! elsewhere.

use std::collections::{BTreeSet, VecDeque};
use std::marker::PhantomData;

use crate::model::{Given, Model, ModelStep};
use hotset_core::policy::Reference;

/// The classes of the report, by number.
const CLASSES: [&str; 6] = ["inode", "directory", "large", "executable", "datafile", "other"];

/// How a cache is divided.
pub(super) trait Layout {
    /// The parts of a cache of `bytes`.
    fn parts(given: &Given<'_>, bytes: u64) -> Vec<Part>;
}

/// The parts that are given, or those of Table 1.
pub(super) struct Attribute;

/// Inodes, and all the rest.
pub(super) struct Unix;

/// A part.
pub(super) struct Part {
    classes: Vec<&'static str>,
    /// Blocks in a cache of the size that it began with.
    at_first: u64,
    blocks: u64,
    /// Least recently used first.
    list: VecDeque<u32>,
}

impl Part {
    fn new(classes: &[&'static str], bytes: u64, block: u64) -> Part {
        let blocks = bytes / block;
        Part { classes: classes.to_vec(), at_first: blocks, blocks, list: VecDeque::new() }
    }

    fn shrink_to(&mut self, blocks: u64) -> Vec<u32> {
        let surplus = (self.list.len() as u64).saturating_sub(blocks);
        self.list.drain(..surplus as usize).collect()
    }
}

const K: u64 = 1024;

/// Table 1 of the report, in K: total size, bytes for inodes and directories, bytes for large files (0 where they have
/// no part), block of large files, block of the rest.
const TABLE_1: [[u64; 5]; 10] = [
    [36864, 4096, 16384, 128, 4],
    [26624, 2048, 8192, 128, 4],
    [20608, 128, 4096, 128, 4],
    [6272, 128, 2048, 128, 4],
    [1280, 128, 128, 64, 4],
    [1216, 64, 128, 64, 4],
    [256, 64, 64, 64, 4],
    [128, 64, 0, 0, 16],
    [64, 32, 0, 0, 8],
    [32, 16, 0, 0, 4],
];

const INODES_AND_DIRECTORIES: &[&str] = &["inode", "directory"];

fn table_1(bytes: u64) -> Vec<Part> {
    let Some([_, id, large, large_block, block]) = TABLE_1.into_iter().find(|row| row[0] * K <= bytes) else {
        // Half of a small cache, the other half in four blocks: of a power of two, since blocks are.
        let mut block = 512;
        while block * 8 * 2 <= bytes {
            block *= 2;
        }
        let rest = Part::new(&CLASSES[2..], bytes - bytes / 2, block);
        return vec![Part::new(INODES_AND_DIRECTORIES, bytes / 2, 128), rest];
    };
    let id_part = Part::new(INODES_AND_DIRECTORIES, id * K, 128);
    let rest = bytes - (id + large) * K;
    if large == 0 {
        return vec![id_part, Part::new(&CLASSES[2..], rest, block * K)];
    }
    // What fits no class goes where data goes that is not looked at twice.
    let large = Part::new(&["large", "other"], large * K, large_block * K);
    vec![id_part, Part::new(&["executable", "datafile"], rest, block * K), large]
}

impl Layout for Attribute {
    fn parts(given: &Given<'_>, bytes: u64) -> Vec<Part> {
        let parts = given.args.parts();
        if parts.is_empty() {
            return table_1(bytes);
        }
        let members = |name: &str| -> Vec<&'static str> {
            let group = |classes: &[&'static str]| classes.to_vec();
            match name {
                "id" => group(INODES_AND_DIRECTORIES),
                "temporal" => group(&["datafile", "executable"]),
                "sequential" => group(&["large"]),
                "general" => vec![],
                one => CLASSES.into_iter().filter(|&class| class == one).collect(),
            }
        };
        let taken: Vec<&str> = parts.iter().flat_map(|part| members(&part.class)).collect();
        let left: Vec<&str> = CLASSES.into_iter().filter(|class| !taken.contains(class)).collect();
        let has_general = parts.iter().any(|part| part.class == "general");
        let fixed: u64 = parts.iter().filter_map(|part| part.size).sum();
        let part = |(number, part): (usize, &hotset_core::policy::Part)| {
            let mut classes = members(&part.class);
            if if has_general { part.class == "general" } else { number + 1 == parts.len() } {
                classes.extend(&left);
            }
            Part::new(&classes, part.size.unwrap_or(bytes - fixed), part.block)
        };
        parts.iter().enumerate().map(part).collect()
    }
}

impl Layout for Unix {
    fn parts(given: &Given<'_>, bytes: u64) -> Vec<Part> {
        let asked = given.args.bytes("inodes");
        let inodes = if asked < bytes { asked } else { bytes / 2 };
        let rest = Part::new(&CLASSES[1..], bytes - inodes, given.args.bytes("block"));
        vec![Part::new(&["inode"], inodes, 128), rest]
    }
}

pub(super) struct Parted<L> {
    capacity: u64,
    parts: Vec<Part>,
    layout: PhantomData<L>,
}

impl<L: Layout> Model for Parted<L> {
    fn new(given: &Given<'_>) -> Parted<L> {
        let capacity = given.capacity as u64;
        let bytes = capacity * given.args.block_bytes().expect("the table of models gives blocks a size");
        Parted { capacity, parts: L::parts(given, bytes), layout: PhantomData }
    }

    fn access(&mut self, key: u32, reference: Reference) -> ModelStep {
        let class = CLASSES[usize::from(reference.class)];
        let mut parts = self.parts.iter_mut();
        let part = parts.find(|part| part.classes.contains(&class)).expect("a part for every class");
        if let Some(place) = part.list.iter().position(|&other| other == key) {
            part.list.remove(place);
            part.list.push_back(key);
            return ModelStep::hit();
        }
        let evicted = part.shrink_to(part.blocks - 1);
        part.list.push_back(key);
        ModelStep::admitted(evicted)
    }

    fn remove(&mut self, key: u32) {
        self.parts.iter_mut().for_each(|part| part.list.retain(|&other| other != key));
    }

    /// Parts keep their proportions, and one block at least.
    fn resize(&mut self, capacity: usize) -> Vec<u32> {
        let mut evicted = Vec::new();
        for part in &mut self.parts {
            part.blocks = (part.at_first * capacity as u64 / self.capacity).max(1);
            evicted.extend(part.shrink_to(part.blocks));
        }
        evicted
    }

    fn resident(&self) -> BTreeSet<u32> {
        self.parts.iter().flat_map(|part| part.list.iter().copied()).collect()
    }
}
