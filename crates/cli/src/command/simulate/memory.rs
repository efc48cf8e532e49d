//! Tables and words about traces of memory, where policies see faults and access bits alone.

use std::io::{Write, stdout};

use hotset_results::{Paging, Row};
use hotset_sim::paging::BASELINE;

use crate::failure::Failure;
use crate::output::style::{Role, cell};
use crate::output::{human, style, table};

/// Writes the rows of one trace.
pub(super) fn show(rows: &[Row]) -> Result<(), Failure> {
    let first = &rows[0];
    let mut out = stdout().lock();
    write!(
        out,
        "{}: {} references to {} distinct pages of {}",
        first.trace,
        human::count(first.counts.references),
        human::count(first.distinct_blocks.unwrap_or(0)),
        human::bytes(first.block_bytes.unwrap_or(0))
    )?;
    if rows.iter().all(|row| row.size_blocks == first.size_blocks) {
        let size = human::blocks(first.size_blocks, first.block_bytes).replace("block", "page");
        writeln!(out, "; memory of {size}\n{}", measures(rows))?;
    } else {
        writeln!(out, "; faults after memory was full, by its size\n{}", faults(rows))?;
    }
    if let Some(words) = words(rows) {
        writeln!(out, "\n{}", human::wrap(&words, style::width()))?;
    }
    Ok(())
}

/// The faults of a row, which each row of a trace of memory has.
fn paging(row: &Row) -> Paging {
    row.paging.unwrap_or_default()
}

/// The fewest faults at a size among policies that can run.
fn fewest(rows: &[Row], size: u64) -> u64 {
    let competing = rows.iter().filter(|row| row.size_blocks == size && !table::knows_future(row));
    competing.map(|row| paging(row).faults_after_fill).min().unwrap_or(0)
}

fn faults_cell(row: &Row, fewest: u64) -> comfy_table::Cell {
    let role = match paging(row).faults_after_fill {
        _ if table::knows_future(row) => Role::Bound,
        faults if faults == fewest => Role::Best,
        _ => Role::Plain,
    };
    cell(human::count(paging(row).faults_after_fill), role)
}

/// Everything measured, of one trace at one size: a line a policy.
fn measures(rows: &[Row]) -> comfy_table::Table {
    let counted = rows.iter().any(|row| paging(row).faults_per_million_instructions.is_some());
    let per_million = if counted { "per M instructions" } else { "per M references" };
    let mut header = vec!["policy", "faults after full", per_million, "all faults", "refault distance", "to clock's"];
    if rows[0].write_backs.is_some() {
        header.push("write-backs");
    }
    let mut table = table::numbers(&header, 1..);
    let fewest = fewest(rows, rows[0].size_blocks);
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    for row in rows {
        let paging = paging(row);
        let rate = if counted { paging.faults_per_million_instructions } else { paging.faults_per_million_references };
        let distance = paging.refault_distance.map_or("-".to_owned(), |distance| human::count(distance.round() as u64));
        let mut cells = vec![cell(&row.policy, Role::Plain), faults_cell(row, fewest)];
        let texts =
            [number(rate, 2), human::count(row.counts.misses), distance, number(paging.refault_distance_to_clock, 3)];
        let texts = texts.into_iter().chain(row.write_backs.map(human::count));
        cells.extend(texts.map(|text| cell(text, Role::Plain)));
        table.add_row(cells);
    }
    table
}

/// Faults after memory was full: a line a policy, a column a size.
fn faults(rows: &[Row]) -> comfy_table::Table {
    let sizes: Vec<&Row> = rows.iter().take_while(|row| row.policy == rows[0].policy).collect();
    let name = |row: &&Row| format!("{}\n{}", human::bytes(row.size_bytes.unwrap_or(0)), human::count(row.size_blocks));
    let header: Vec<String> = std::iter::once("policy".to_owned()).chain(sizes.iter().map(name)).collect();
    let mut table = table::numbers(&header.iter().map(String::as_str).collect::<Vec<_>>(), 1..);
    for line in rows.chunks(sizes.len()) {
        let faults = line.iter().map(|row| faults_cell(row, fewest(rows, row.size_blocks)));
        table.add_row(std::iter::once(cell(&line[0].policy, Role::Plain)).chain(faults));
    }
    table
}

/// How the others compare to CLOCK, over all sizes at which it faults.
fn words(rows: &[Row]) -> Option<String> {
    let clock: Vec<&Row> =
        rows.iter().filter(|row| row.policy == BASELINE && paging(row).faults_after_fill > 0).collect();
    let mut names: Vec<&str> = rows.iter().map(|row| row.policy.as_str()).filter(|&name| name != BASELINE).collect();
    names.dedup();
    let compared = |name: &str| {
        let ratio = |base: &&Row| {
            let of = rows.iter().find(|row| row.policy == name && row.size_blocks == base.size_blocks)?;
            Some(paging(of).faults_after_fill as f64 / paging(base).faults_after_fill as f64)
        };
        let ratios: Vec<f64> = clock.iter().filter_map(ratio).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        format!("{name} {:+.1} %", (mean - 1.0) * 100.0)
    };
    if clock.is_empty() || names.is_empty() {
        return None;
    }
    let over = if clock.len() > 1 { format!(", on average over {} sizes", clock.len()) } else { String::new() };
    let list: Vec<String> = names.into_iter().map(compared).collect();
    Some(format!("Faults after memory was full, against {BASELINE}{over}: {}.", list.join(", ")))
}
