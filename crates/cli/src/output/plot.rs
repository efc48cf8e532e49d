//! Plots made of characters.

use super::human;
use super::style::{Role, paint};

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A horizontal bar for `share` (0 to 1) of `width` columns, in eighths of a column.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    // A value above zero is visible, however small.
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A hit ratio curve to be drawn.
pub(crate) struct Curve<'a> {
    /// Its name in the legend.
    pub name: String,
    /// How it looks.
    pub role: Role,
    /// Hit ratio by cache size in blocks.
    pub ratio: Box<dyn Fn(f64) -> f64 + 'a>,
}

/// The marks of the first curves; the others share them.
const MARKS: [char; 6] = ['•', '○', '+', 'x', '*', '#'];

const ROWS: usize = 14;

/// Left of the drawing: `100 % ┤`.
const MARGIN: usize = 8;

/// Draws hit ratio by cache size, on a logarithmic scale from one block to `largest` blocks, within `width` columns.
/// Where curves meet, the first one is seen.
pub(crate) fn curves(curves: &[Curve], largest: u64, block_bytes: Option<u64>, width: usize) -> String {
    let columns = width.saturating_sub(MARGIN + 1).clamp(20, 100);
    let axis = Axis { columns, largest: (largest as f64).max(2.0) };
    let top =
        ceiling(curves.iter().flat_map(|curve| [(curve.ratio)(1.0), (curve.ratio)(axis.largest)]).fold(0.0, f64::max));
    let mut cells: Vec<Vec<Option<usize>>> = vec![vec![None; columns]; ROWS];
    for (index, curve) in curves.iter().enumerate().rev() {
        let heights: Vec<usize> = (0..columns).map(|column| height((curve.ratio)(axis.size(column)), top)).collect();
        for (column, &to) in heights.iter().enumerate() {
            let from = heights[column.saturating_sub(1)];
            // A steep piece is drawn through.
            let through = if from < to { from + 1..=to } else { to..=to.max(from.saturating_sub(1)) };
            through.for_each(|height| cells[ROWS - 1 - height][column] = Some(index));
        }
    }
    let mut lines: Vec<String> = Vec::with_capacity(ROWS + 4);
    for (row, cells) in cells.iter().enumerate() {
        let label = label(row, top);
        let drawn: String = cells.iter().map(|cell| cell.map_or(" ".to_owned(), |index| mark(curves, index))).collect();
        lines.push(format!("{label}{}", drawn.trim_end()));
    }
    lines.push(format!("{}└{}", " ".repeat(MARGIN - 1), axis.rule()));
    lines.push(format!("{}{}", " ".repeat(MARGIN), axis.labels(block_bytes)));
    let names = curves.iter().enumerate().map(|(index, curve)| format!("{} {}", mark(curves, index), curve.name));
    lines.push(format!("{}{}", " ".repeat(MARGIN), names.collect::<Vec<_>>().join("   ")));
    lines.join("\n")
}

fn mark(curves: &[Curve], index: usize) -> String {
    paint(&MARKS[index % MARKS.len()].to_string(), curves[index].role)
}

/// A round ratio not below `best`, so that low curves fill the plot too.
fn ceiling(best: f64) -> f64 {
    [0.05, 0.1, 0.2, 0.5].into_iter().find(|&top| best <= top).unwrap_or(1.0)
}

fn height(ratio: f64, top: f64) -> usize {
    ((ratio / top).clamp(0.0, 1.0) * (ROWS - 1) as f64).round() as usize
}

/// The ratio is named at the top, the middle and the bottom.
fn label(row: usize, top: f64) -> String {
    let share = match row {
        0 => top,
        row if row == ROWS - 1 => 0.0,
        _ => return format!("{}│", " ".repeat(MARGIN - 1)),
    };
    format!("{:>width$} ┤", format!("{:.0} %", share * 100.0), width = MARGIN - 2)
}

/// The axis of cache sizes.
struct Axis {
    columns: usize,
    largest: f64,
}

impl Axis {
    /// Blocks at a column.
    fn size(&self, column: usize) -> f64 {
        self.largest.powf(column as f64 / (self.columns - 1) as f64)
    }

    /// The columns that are named: four, evenly spread.
    fn ticks(&self) -> [usize; 4] {
        [0, 1, 2, 3].map(|tick| tick * (self.columns - 1) / 3)
    }

    fn rule(&self) -> String {
        (0..self.columns).map(|column| if self.ticks().contains(&column) { '┴' } else { '─' }).collect()
    }

    fn labels(&self, block_bytes: Option<u64>) -> String {
        let mut line = String::new();
        for tick in self.ticks() {
            let blocks = self.size(tick).round() as u64;
            let label = match block_bytes {
                Some(block) => human::bytes(blocks.saturating_mul(block)),
                None => human::count(blocks),
            };
            // Below its tick, the first to the right of it and the last to the left.
            let start = (tick.saturating_sub(label.len() / 2)).min(self.columns.saturating_sub(label.len()));
            line.push_str(&" ".repeat(start.saturating_sub(line.len())));
            line.push_str(&label);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_in_proportion_and_never_vanish() {
        let shown: Vec<String> = [0.0, 1e-9, 0.5, 0.55, 1.0, 7.0].map(|share| bar(share, 4)).into();
        assert_eq!(shown, ["", "▏", "██", "██▎", "████", "████"]);
    }

    #[test]
    fn a_curve_rises_from_corner_to_corner() {
        let line =
            Curve { name: "lru".to_owned(), role: Role::Plain, ratio: Box::new(|size| size.ln() / 1000f64.ln()) };
        let drawn = curves(&[line], 1000, Some(4096), 49);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), ROWS + 3);
        assert!(lines[0].starts_with(" 100 % ┤") && lines[0].ends_with('•'), "{drawn}");
        assert!(lines[ROWS - 1].starts_with("   0 % ┤•"), "{drawn}");
        assert!(lines.iter().all(|line| line.chars().count() <= 49), "{drawn}");
        assert_eq!(lines[ROWS + 1].split_whitespace().collect::<Vec<_>>(), ["4K", "40K", "400K", "3.9M"], "{drawn}");
        // No gap: every column of the drawing has a mark.
        let marks: usize = lines[..ROWS].iter().map(|line| line.matches('•').count()).sum();
        assert!(marks >= 40, "{drawn}");
    }

    #[test]
    fn a_trace_of_one_block_can_be_drawn() {
        let flat = Curve { name: "lru".to_owned(), role: Role::Plain, ratio: Box::new(|_| 0.0) };
        assert!(curves(&[flat], 1, None, 10).contains("5 %"));
    }
}
