//! Tables on a terminal.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};
use hotset_core::registry;
use hotset_core::spec::PolicySpec;
use hotset_sim::results::Row;

use super::human;

/// A table that fits the terminal, with this header.
pub(crate) fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    if std::env::var_os("NO_COLOR").is_some() {
        table.force_no_tty();
    }
    table.set_header(header.iter().map(|text| Cell::new(text).add_attribute(Attribute::Bold)));
    table
}

/// Hit ratios of one trace in percent: a line a policy, a column a size. `rows` are policy by policy, every policy at the same
/// sizes.
pub(crate) fn hit_ratios(rows: &[Row]) -> Table {
    let sizes: Vec<&Row> = rows.iter().take_while(|row| row.policy == rows[0].policy).collect();
    let header: Vec<String> = std::iter::once("policy".to_owned()).chain(sizes.iter().map(|row| size(row))).collect();
    let mut table = plain(&header.iter().map(String::as_str).collect::<Vec<_>>());
    let best: Vec<u64> = (0..sizes.len()).map(|column| best_hits(rows, column, sizes.len())).collect();
    for line in rows.chunks(sizes.len()) {
        let mut cells = vec![Cell::new(&line[0].policy)];
        for (row, &best) in line.iter().zip(&best) {
            cells.push(ratio_cell(row, best));
        }
        table.add_row(cells);
    }
    right_align(&mut table);
    table
}

/// Everything counted, of one trace at one size: a line a policy.
pub(crate) fn counts(rows: &[Row]) -> Table {
    let writes = rows[0].write_backs.is_some();
    let mut header = vec!["policy", "hit ratio %", "hits", "misses", "request misses"];
    if writes {
        header.push("write-backs");
    }
    let mut table = plain(&header);
    let best = best_hits(rows, 0, 1);
    for row in rows {
        let counts = &row.counts;
        let mut cells = vec![Cell::new(&row.policy), ratio_cell(row, best)];
        cells.extend([counts.hits, counts.misses, counts.request_misses].map(|number| Cell::new(human::count(number))));
        cells.extend(row.write_backs.map(|number| Cell::new(human::count(number))));
        table.add_row(cells);
    }
    right_align(&mut table);
    table
}

/// True if the row's policy must know the future: a bound, not a competitor.
pub(crate) fn is_bound(row: &Row) -> bool {
    PolicySpec::parse(&row.policy)
        .is_ok_and(|spec| registry::find(spec.info().name).is_some_and(|entry| entry.info.offline))
}

fn best_hits(rows: &[Row], column: usize, columns: usize) -> u64 {
    let competing = rows.iter().skip(column).step_by(columns).filter(|row| !is_bound(row));
    competing.map(|row| row.counts.hits).max().unwrap_or(0)
}

fn ratio_cell(row: &Row, best: u64) -> Cell {
    let cell = Cell::new(human::percent(row.counts.hit_ratio));
    if is_bound(row) {
        cell.fg(Color::Cyan)
    } else if row.counts.hits == best {
        cell.add_attribute(Attribute::Bold).fg(Color::Green)
    } else {
        cell
    }
}

fn right_align(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// A size in blocks, with bytes below it where blocks have a size.
fn size(row: &Row) -> String {
    let blocks = human::count(u64::from(row.size_blocks));
    match row.size_bytes {
        Some(bytes) => format!("{blocks}\n{}", human::bytes(bytes)),
        None => blocks,
    }
}
