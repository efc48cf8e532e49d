//! The picture of an access pattern: which blocks are referenced when.
//!
//! From left to right lie the references of a trace in its order, from the bottom up its blocks in the order of their
//! first reference, so that what is read for the first time climbs the diagonal, and what is read again lies below it.
//! Each point of the grid counts exactly the references that fall into it. A trace too long for the grid folds it: two
//! neighbours become one, as often as it takes, so that every trace takes the same memory.

use hashbrown::HashMap;
use hotset_core::request::Kind;
use hotset_core::view::Blocks;
use hotset_trace::Tables;
use serde::{Serialize, Serializer};

use super::groups::{Share, kind_name};
use super::places::Places;

/// Points of the grid from left to right.
const COLUMNS: usize = 1024;

/// Points of the grid from the bottom up.
const ROWS: usize = 512;

/// Kinds that are counted separately; later ones count as the last.
const KINDS: usize = 12;

/// The name under which the kinds that are too many are counted.
const REST: &str = "the rest";

/// How often which blocks are referenced when, by kind.
#[derive(Clone, Debug, Serialize)]
pub struct Pattern {
    /// References in all.
    pub references: u64,
    /// Distinct blocks.
    pub blocks: u64,
    /// Points of the grid from left to right.
    pub columns: usize,
    /// Consecutive references that share a column.
    pub references_per_column: u64,
    /// Blocks that share a row, each first referenced right after the one before it.
    pub blocks_per_row: u64,
    /// A grid a kind, in the order of their first reference.
    pub kinds: Vec<Grid>,
    /// Which blocks the rows are of; absent for objects in blocks, which have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub places: Option<Places>,
    #[serde(skip)]
    numbers: HashMap<(u32, u8), usize>,
    #[serde(skip)]
    torn: bool,
}

/// The references to one kind of data.
#[derive(Clone, Debug, Serialize)]
pub struct Grid {
    /// The kind, or the trace's own word for it.
    pub name: String,
    /// References at each point, row by row from the bottom: written as pairs of numbers, how many points further a
    /// point lies than the one before it and how many references it has; points without any are left out.
    #[serde(serialize_with = "pairs")]
    pub points: Vec<u32>,
}

impl Default for Pattern {
    /// An empty grid.
    fn default() -> Pattern {
        Pattern {
            references: 0,
            blocks: 0,
            columns: COLUMNS,
            references_per_column: 1,
            blocks_per_row: 1,
            kinds: Vec::new(),
            places: Some(Places::default()),
            numbers: HashMap::new(),
            torn: false,
        }
    }
}

impl Pattern {
    /// False if there were more blocks than memory was allowed for: then the picture ends somewhere.
    pub fn is_whole(&self) -> bool {
        !self.torn
    }

    pub(super) fn tear(&mut self) {
        self.torn = true;
    }

    /// Counts references to these blocks, dense numbers in the order of their first reference, which `shares` divide
    /// among files.
    pub(super) fn feed(&mut self, blocks: &[u32], shares: &[Share], tables: &Tables) {
        let mut blocks = blocks.iter();
        for share in shares {
            let kind = self.number(share, tables);
            let numbers = Blocks { first: share.first, count: share.references }.numbers();
            for (number, &block) in numbers.zip(blocks.by_ref()) {
                self.note(kind, block.into(), (share.file, number));
            }
        }
    }

    /// Gives files the names that are known in the end.
    pub(super) fn name(&mut self, tables: &Tables) {
        self.places.iter_mut().for_each(|places| places.name(tables));
    }

    /// Counts a reference to a block, which has this number in its file.
    fn note(&mut self, kind: usize, block: u64, (file, number): (u32, u64)) {
        while self.references / self.references_per_column >= COLUMNS as u64 {
            self.kinds.iter_mut().for_each(|grid| grid.fold_columns());
            self.references_per_column *= 2;
        }
        while block / self.blocks_per_row >= ROWS as u64 {
            self.kinds.iter_mut().for_each(|grid| grid.fold_rows());
            self.places.iter_mut().for_each(Places::fold);
            self.blocks_per_row *= 2;
        }
        let (column, row) = (self.references / self.references_per_column, block / self.blocks_per_row);
        let point = &mut self.kinds[kind].points[row as usize * COLUMNS + column as usize];
        *point = point.saturating_add(1);
        self.references += 1;
        if block == self.blocks {
            self.places.iter_mut().for_each(|places| places.note(row as usize, file, number));
            self.blocks += 1;
        }
    }

    /// The grid of touched blocks. If a trace reveals a file's kind only after its first references, those are under
    /// the kind known at that time.
    fn number(&mut self, share: &Share, tables: &Tables) -> usize {
        if let Some(&number) = self.numbers.get(&(share.file, share.kind)) {
            return number;
        }
        let name = kind_name(tables, share.file, Kind::from_number(share.kind).unwrap_or_default());
        let known = |kinds: &[Grid], name: &str| kinds.iter().position(|grid| grid.name == name);
        let full = self.kinds.len() >= KINDS - 1 && known(&self.kinds, name).is_none();
        let name = if full { REST } else { name };
        let number = known(&self.kinds, name).unwrap_or(self.kinds.len());
        if number == self.kinds.len() {
            self.kinds.push(Grid { name: name.to_owned(), points: vec![0; COLUMNS * ROWS] });
        }
        self.numbers.insert((share.file, share.kind), number);
        number
    }
}

impl Grid {
    fn fold_columns(&mut self) {
        for row in self.points.chunks_mut(COLUMNS) {
            for column in 0..COLUMNS / 2 {
                row[column] = row[2 * column].saturating_add(row[2 * column + 1]);
            }
            row[COLUMNS / 2..].fill(0);
        }
    }

    fn fold_rows(&mut self) {
        for row in 0..ROWS / 2 {
            for column in 0..COLUMNS {
                let low = 2 * row * COLUMNS + column;
                self.points[row * COLUMNS + column] = self.points[low].saturating_add(self.points[low + COLUMNS]);
            }
        }
        self.points[ROWS / 2 * COLUMNS..].fill(0);
    }
}

fn pairs<S: Serializer>(points: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(gaps_and_counts(points))
}

fn gaps_and_counts(points: &[u32]) -> impl Iterator<Item = usize> + '_ {
    let mut before = 0;
    let counted = points.iter().enumerate().filter(|(_, count)| **count > 0);
    counted.flat_map(move |(at, &count)| {
        let gap = at - before;
        before = at;
        [gap, count as usize]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// References to blocks 0, 1, 2… of which every third is to kind 2, as a folded grid and counted one by one.
    #[test]
    fn a_folded_grid_counts_what_a_walk_counts() {
        let blocks: Vec<u32> = (0..5000u32).map(|at| if at % 2 == 0 { at / 2 } else { at / 7 }).collect();
        let mut pattern = Pattern::default();
        for (at, &block) in blocks.iter().enumerate() {
            let share = Share { file: 0, kind: [3, 1][usize::from(at % 3 == 0)], first: 0, references: 1 };
            pattern.feed(&[block], &[share], &Tables::default());
        }
        assert_eq!((pattern.references, pattern.references_per_column, pattern.blocks_per_row), (5000, 8, 8));
        assert_eq!(pattern.blocks, 2500);
        let names: Vec<&str> = pattern.kinds.iter().map(|grid| grid.name.as_str()).collect();
        assert_eq!(names, ["inode", "datafile"]);
        let mut slow = vec![vec![0u32; COLUMNS * ROWS]; 2];
        for (at, &block) in blocks.iter().enumerate() {
            slow[usize::from(at % 3 != 0)][block as usize / 8 * COLUMNS + at / 8] += 1;
        }
        assert!(pattern.kinds.iter().zip(&slow).all(|(grid, slow)| grid.points == *slow));
        // And what is written can be read back.
        let pairs: Vec<usize> = gaps_and_counts(&pattern.kinds[0].points).collect();
        let (mut at, mut read) = (0, vec![0u32; COLUMNS * ROWS]);
        for pair in pairs.chunks(2) {
            at += pair[0];
            read[at] = pair[1] as u32;
        }
        assert!(read == slow[0]);
    }

    #[test]
    fn kinds_too_many_share_the_last_grid() {
        let mut tables = Tables::default();
        let file = |number: usize| hotset_trace::FileInfo { label: format!("kind {number}"), ..Default::default() };
        tables.files = (0..20).map(file).collect();
        let mut pattern = Pattern::default();
        for file in 0..20 {
            pattern.feed(&[file], &[Share { file, kind: 3, first: 0, references: 1 }], &tables);
        }
        assert_eq!((pattern.kinds.len(), pattern.kinds[KINDS - 1].name.as_str()), (KINDS, REST));
        assert_eq!(pattern.kinds[KINDS - 1].points.iter().sum::<u32>(), 20 - (KINDS as u32 - 1));
    }
}
