//! Hits and partition of each application, in one interval of time after another.

use hotset_results::SeriesRow;

use super::show::table;
use crate::output::human;

/// A table of the stretches of one trace: a line a policy and application, a column a stretch. Blocks have so many
/// bytes, if any.
pub(super) fn over_time(series: &[SeriesRow], block_bytes: u64) -> String {
    let mut ends: Vec<String> = Vec::new();
    let mut lines: Vec<(String, Vec<(usize, String)>)> = Vec::new();
    let sizes = series.iter().any(|row| row.size_blocks != series[0].size_blocks);
    for row in series {
        let end = end(row);
        let column = ends.iter().position(|known| *known == end).unwrap_or_else(|| {
            ends.push(end);
            ends.len() - 1
        });
        let size = if sizes {
            format!(" at {}", human::bytes(u64::from(row.size_blocks) * block_bytes))
        } else {
            String::new()
        };
        let name = format!("{}{size}: {}", row.policy, row.app);
        let cell = (column, cell(row, block_bytes));
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cells)) => cells.push(cell),
            None => lines.push((name, vec![cell])),
        }
    }
    let header = std::iter::once("until".to_owned()).chain(ends.iter().cloned()).collect();
    let line = |(name, cells): (String, Vec<(usize, String)>)| {
        let mut line = vec!["-".to_owned(); ends.len() + 1];
        line[0] = name;
        cells.into_iter().for_each(|(column, cell)| line[column + 1] = cell);
        line
    };
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(lines.into_iter().map(line)).collect();
    table(&lines)
}

fn end(row: &SeriesRow) -> String {
    match (row.end_seconds, row.end_references) {
        (Some(seconds), _) => format!("{seconds} s"),
        (None, count) => human::count(count.unwrap_or(0)),
    }
}

fn cell(row: &SeriesRow, block_bytes: u64) -> String {
    let hits = match row.references {
        0 => "-".to_owned(),
        references => human::percent(row.hits as f64 / references as f64),
    };
    let room = row.room_blocks.map(|blocks| format!(" in {}", human::bytes(u64::from(blocks) * block_bytes)));
    format!("{hits}{}", room.unwrap_or_default())
}

/// Bands of a table.
const BANDS: usize = 16;

/// The heat map of the virtual queues of one trace: a line a band of the queue, a column a stretch, in each how much of
/// the queue's value lies there. One table a policy and application; blocks have so many bytes, if any.
pub(super) fn heat(series: &[SeriesRow], block_bytes: u64) -> Vec<(String, String)> {
    let mut queues: Vec<(String, Vec<&SeriesRow>)> = Vec::new();
    for row in series.iter().filter(|row| !row.queue_values.is_empty()) {
        let name = format!("{}: {}", row.policy, row.app);
        match queues.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => queues.push((name, vec![row])),
        }
    }
    queues.into_iter().map(|(name, rows)| (name, heat_of(&rows, block_bytes))).collect()
}

fn heat_of(rows: &[&SeriesRow], block_bytes: u64) -> String {
    let header = std::iter::once("position".to_owned()).chain(rows.iter().map(|row| end(row))).collect();
    let length = rows[0].queue_blocks.unwrap_or(0) * block_bytes;
    let line = |band: usize| {
        let position = format!("from {}", human::bytes(length * band as u64 / BANDS as u64));
        let share = |row: &&SeriesRow| {
            let width = row.queue_values.len() / BANDS;
            let all: f64 = row.queue_values.iter().sum();
            let here: f64 = row.queue_values[band * width..(band + 1) * width].iter().sum();
            if all > 0.0 { human::percent(here / all) } else { "-".to_owned() }
        };
        std::iter::once(position).chain(rows.iter().map(share)).collect()
    };
    let lines: Vec<Vec<String>> = std::iter::once(header).chain((0..BANDS).map(line)).collect();
    table(&lines)
}

/// Sizes at which a fitted curve is shown.
const ROOMS: u32 = 16;

/// The curves that schemes fit to what applications hit: a line a stretch, a column a room; one table a policy and
/// application, of which both are named. Blocks have so many bytes, if any.
pub(super) fn fitted(series: &[SeriesRow], block_bytes: u64) -> Vec<(String, String, String)> {
    let mut tables: Vec<(&str, &str, Vec<&SeriesRow>)> = Vec::new();
    for row in series.iter().filter(|row| !row.table.is_empty()) {
        match tables.iter_mut().find(|(policy, app, _)| *policy == row.policy && *app == row.app) {
            Some((_, _, rows)) => rows.push(row),
            None => tables.push((&row.policy, &row.app, vec![row])),
        }
    }
    let told = |(policy, app, rows): (&str, &str, Vec<&SeriesRow>)| {
        (policy.to_owned(), app.to_owned(), fitted_of(&rows, block_bytes))
    };
    tables.into_iter().map(told).collect()
}

fn fitted_of(rows: &[&SeriesRow], block_bytes: u64) -> String {
    let room = |step: u32| (u64::from(rows[0].size_blocks) * u64::from(step) / u64::from(ROOMS)).max(1) as u32;
    let rooms: Vec<u32> = (1..=ROOMS).map(room).collect();
    let named = rooms.iter().map(|&blocks| human::bytes(u64::from(blocks) * block_bytes));
    let header = std::iter::once("after".to_owned()).chain(named).collect();
    let line = |row: &&SeriesRow| {
        let rates = rooms.iter().map(|&room| at(&row.table, room).map_or("-".to_owned(), human::percent));
        std::iter::once(end(row)).chain(rates).collect()
    };
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows.iter().map(line)).collect();
    table(&lines)
}

/// The ratio at so many blocks, on the straight line between two points; `None` beyond them.
fn at(points: &[(u32, f64)], blocks: u32) -> Option<f64> {
    let after = points.partition_point(|&(size, _)| size < blocks);
    let &(right, to) = points.get(after)?;
    if right == blocks {
        return Some(to);
    }
    let &(left, from) = points.get(after.checked_sub(1)?)?;
    Some(from + (to - from) * f64::from(blocks - left) / f64::from(right - left))
}

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn a_fitted_curve_is_straight_between_its_points_and_nothing_beyond() {
        let points = [(1, 0.0), (5, 0.4), (9, 0.2)];
        assert_eq!([1, 5, 9].map(|blocks| at(&points, blocks)), [Some(0.0), Some(0.4), Some(0.2)]);
        assert!((at(&points, 6).unwrap() - 0.35).abs() < 1e-9);
        assert_eq!((at(&points, 10), at(&points[1..], 2), at(&[], 1)), (None, None, None));
    }
}
