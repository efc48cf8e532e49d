//! What each application hits, and the room that it has, in one stretch of time after another.

use hotset_sim::results::SeriesRow;

use super::show::table;
use crate::output::human;

/// A table of the stretches of one trace: a line a policy and application, a column a stretch. Blocks have so many bytes, if any.
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

/// The heat map of the virtual queues of one trace: a line a band of the queue, a column a stretch, in each how much of the queue's value lies there. One
/// table a policy and application; blocks have so many bytes, if any.
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
