//! Formats that columns of bare integers can have, distinguished by the behaviour of the columns.

use std::collections::HashMap;

use super::Head;
use crate::runner::{
    lines::TextLine,
    number::{scaled, scaled_in_any_notation, whole},
    words::Words,
};

/// Rows looked at, at most.
const ROWS: usize = 4000;

/// The numbers between blanks that a trace begins with, column by column, each with as many rows.
pub(super) struct Columns(Vec<Vec<u64>>);

impl Columns {
    /// The columns, if every line has as many numbers: the first may be a fraction, others may be negative.
    pub(super) fn of(head: &Head) -> Option<Columns> {
        let mut columns: Vec<Vec<u64>> = Vec::new();
        for line in head.lines(ROWS) {
            let mut words = Words::new(TextLine::new(line));
            let first = words.next()?;
            let time = scaled(first, 9).or_else(|| scaled_in_any_notation(first, 9)).or_else(|| whole(first))?;
            let rest = words.map(|word| {
                whole(word).or_else(|| std::str::from_utf8(word).ok()?.parse::<i64>().ok().map(|number| number as u64))
            });
            let row: Vec<u64> = std::iter::once(Some(time)).chain(rest).collect::<Option<_>>()?;
            if columns.is_empty() {
                columns = vec![Vec::new(); row.len()];
            }
            if columns.len() != row.len() {
                return None;
            }
            columns.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
        }
        (!columns.is_empty()).then_some(Columns(columns))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// True if the numbers of a column rise, as times do: few are lower than the one before.
    pub(super) fn rises(&self, column: usize) -> bool {
        let numbers = &self.0[column];
        let falls = numbers.windows(2).filter(|pair| pair[1] < pair[0]).count();
        falls * 10 < numbers.len() && numbers.last() > numbers.first()
    }

    /// True if each number of a column is larger than the one before, as those of a sequence are.
    pub(super) fn counts_up(&self, column: usize) -> bool {
        let numbers = &self.0[column];
        numbers.len() > 1 && numbers.windows(2).all(|pair| pair[1] > pair[0])
    }

    /// True if equal numbers in `column` mostly have equal ones in `other`, as an id has a size; false if they mostly
    /// differ, as a device has many addresses. `None` if too few come again.
    pub(super) fn decides(&self, column: usize, other: usize) -> Option<bool> {
        let mut last: HashMap<u64, u64> = HashMap::new();
        let (mut again, mut alike) = (0, 0);
        let mut ids = HashMap::new();
        for (&id, &value) in self.0[column].iter().zip(&self.0[other]) {
            if let Some(before) = last.insert(id, value) {
                again += 1;
                alike += usize::from(before == value);
                ids.insert(id, ());
            }
        }
        match again {
            0..3 => None,
            _ if alike * 10 >= again * 8 && ids.len() > 1 => Some(true),
            _ if alike * 2 < again => Some(false),
            _ => None,
        }
    }

    /// True if all numbers of a column are at most this.
    pub(super) fn at_most(&self, column: usize, most: u64) -> bool {
        self.0[column].iter().all(|&number| number <= most)
    }
}
