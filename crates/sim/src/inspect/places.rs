//! The places of the blocks of an access pattern: which blocks of which files make up a row of the picture.
//!
//! A row names the files that most of its blocks belong to, [`NAMED`] at most; the rest of the row's blocks is not
//! named. While the picture grows a row follows [`FOLLOWED`] files and those that have come since it had twice as many,
//! so that a folded picture takes no more memory than another.

use std::cmp::Reverse;

use hashbrown::HashMap;
use hotset_trace::Tables;
use serde::{Serialize, Serializer};

/// Files that a row names.
const NAMED: usize = 4;

/// Files that a row follows.
const FOLLOWED: usize = 64;

/// The rows of a picture, from the bottom up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Places {
    /// Names of files, which rows give by number; empty where the trace does not tell.
    files: Vec<String>,
    /// Of each row its places.
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row(Vec<Place>);

/// Blocks of one file in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    file: u32,
    /// The least number of a block in its file.
    from: u64,
    /// The greatest.
    to: u64,
    /// How many there are.
    blocks: u64,
}

impl Places {
    /// The names of files, and of each row its places as they are written.
    #[cfg(test)]
    pub(super) fn told(&self) -> (&[String], Vec<Vec<u64>>) {
        (&self.files, self.rows.iter().map(|row| row.numbers().collect()).collect())
    }

    /// Block `number` of `file` is in `row`, and in no other.
    pub(super) fn note(&mut self, row: usize, file: u32, number: u64) {
        if row >= self.rows.len() {
            self.rows.resize_with(row + 1, Row::default);
        }
        self.rows[row].add(Place { file, from: number, to: number, blocks: 1 });
    }

    /// Two neighbouring rows become one.
    pub(super) fn fold(&mut self) {
        let fold = |pair: &[Row]| {
            let mut both = pair[0].clone();
            pair[1..].iter().flat_map(|row| &row.0).for_each(|&place| both.add(place));
            both
        };
        self.rows = self.rows.chunks(2).map(fold).collect();
    }

    /// Gives the files that rows name their names, and numbers of their own.
    pub(super) fn name(&mut self, tables: &Tables) {
        self.rows.iter_mut().for_each(|row| row.keep(NAMED));
        let mut numbers = HashMap::new();
        for place in self.rows.iter_mut().flat_map(|row| &mut row.0) {
            let next = self.files.len() as u32;
            place.file = *numbers.entry(place.file).or_insert_with_key(|&file| {
                self.files.push(tables.files.get(file as usize).map_or(String::new(), |info| info.path.clone()));
                next
            });
        }
    }
}

impl Row {
    /// Adds blocks of a file.
    fn add(&mut self, new: Place) {
        // Blocks of a file come one after the other, more often than not.
        match self.0.iter_mut().rev().find(|place| place.file == new.file) {
            Some(place) => {
                place.from = place.from.min(new.from);
                place.to = place.to.max(new.to);
                place.blocks += new.blocks;
            }
            None => {
                // Before it comes: a new file has one block, and would leave at once.
                if self.0.len() >= 2 * FOLLOWED {
                    self.keep(FOLLOWED);
                }
                self.0.push(new);
            }
        }
    }

    /// As it is written, four numbers a place: file, least and greatest block, blocks.
    fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|&Place { file, from, to, blocks }| [u64::from(file), from, to, blocks])
    }

    /// Keeps the files with most blocks, those that came first among equals.
    fn keep(&mut self, most: usize) {
        self.0.sort_by_key(|place| Reverse(place.blocks));
        self.0.truncate(most);
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.numbers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Block `number` of each file: the later a file comes, the more blocks it has, and the last are long.
    #[test]
    fn a_row_names_the_files_with_most_blocks_and_where_they_lie() {
        let mut places = Places::default();
        let files = 10 * FOLLOWED as u32;
        for file in 0..files {
            let blocks = if file < files - 6 { 1 } else { u64::from(file + 10 - files) };
            (0..blocks).rev().for_each(|number| places.note(0, file, 10 + number));
        }
        places.note(1, files - 1, 99);
        places.note(3, 7, 5);
        places.fold();
        places.name(&Tables::default());
        let (names, rows) = places.told();
        assert_eq!(rows, [vec![0, 10, 99, 10, 1, 10, 17, 8, 2, 10, 16, 7, 3, 10, 15, 6], vec![4, 5, 5, 1]]);
        assert_eq!(names.len(), 5);
    }
}
