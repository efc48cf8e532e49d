//! Output of an experiment: a table per trace, and a comparison of the policies with the paper's claim.

use std::fmt::Write as _;
use std::io::{Write, stdout};

use hotset_experiment::{Comparison, File, Measure, NO_GAIN, OnTrace, Replayed, file_name, label};
use hotset_results::Row;

use super::least::least_sizes;
use super::over_time::{fitted, heat, over_time};
use crate::failure::Failure;
use crate::output::{human, style};

/// Prints an experiment.
pub(super) fn show(file: &File, traces: &[Replayed], compared: &[Comparison], markdown: bool) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let heading = if markdown { "## " } else { "" };
    writeln!(out, "{heading}{}\n\nSource: {}", file.title, file.source)?;
    for (label, text) in [("The paper", &file.claim), ("Here", &file.finding)] {
        if !text.is_empty() {
            writeln!(out, "{}", human::wrap(&format!("{label}: {}", text.trim()), style::width()))?;
        }
    }
    if let Some(chosen) = file.chosen() {
        writeln!(out, "{}", human::wrap(&format!("Of each trace: {chosen}"), style::width()))?;
    }
    let what = file.measured();
    if file.every.is_some() {
        for Replayed { rows, series } in traces.iter().filter(|trace| !trace.rows.is_empty()) {
            let (name, block) = (file_name(&rows[0].trace), block_bytes(&rows[0]));
            let at = if rows.iter().all(|row| row.size_blocks == rows[0].size_blocks) {
                format!(" at {}", size(&rows[0]))
            } else {
                String::new()
            };
            writeln!(out, "\n{name}{at}: hits in %, and room\n\n{}", over_time(series, block))?;
            for (queue, table) in heat(series, block) {
                writeln!(out, "\n{name}{at}, {queue}: where the value of its queue lies, in %\n\n{table}")?;
            }
            for (policy, app, table) in if file.tables { fitted(series, block) } else { Vec::new() } {
                writeln!(out, "\n{name}{at}, {app} under {policy}: fitted hit ratio in %, by its room\n\n{table}")?;
            }
        }
    } else if file.applications {
        for (rows, lines) in traces.iter().flat_map(|trace| by_application(&trace.rows, file)) {
            writeln!(out, "\n{} at {}: {what}\n\n{}", file_name(&rows.trace), size(rows), table(&lines))?;
        }
    } else if let Some(lines) = at_one_size(traces, file) {
        let own_sizes = file.mixes.iter().any(|mix| mix.size.is_some());
        let sizes = if own_sizes { "the sizes of the mixes" } else { &file.sizes };
        writeln!(out, "\nat {sizes}: {what}\n\n{}", table(&lines))?;
    } else {
        for Replayed { rows, .. } in traces.iter().filter(|trace| !trace.rows.is_empty()) {
            let name = file_name(&rows[0].trace);
            writeln!(out, "\n{name}: {what}\n\n{}", table(&grid(rows, file)))?;
        }
    }
    if let Some(lines) = least_sizes(traces, file) {
        writeln!(out, "\nLeast of the sizes at which a promise is kept\n\n{}", table(&lines))?;
    }
    if !file.compare.is_empty() {
        writeln!(out, "{}", comparisons(file, compared))?;
    }
    for text in [savings(compared), ways(compared), directions(file, compared)].into_iter().flatten() {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// A line a policy, a column a size.
fn grid(rows: &[Row], file: &File) -> Vec<Vec<String>> {
    let sizes = rows.iter().take_while(|row| row.policy == rows[0].policy).count();
    let mut lines = vec![std::iter::once("policy".to_owned()).chain(rows[..sizes].iter().map(size)).collect()];
    for of_policy in rows.chunks(sizes) {
        if file.stacked {
            lines.extend(stacked(of_policy, file));
            continue;
        }
        let values = of_policy.iter().map(|row| shown(file.measure, file.value(row)));
        lines.push(std::iter::once(of_policy[0].policy.clone()).chain(values).collect());
    }
    lines
}

/// The lines of a policy, one below the other; lines that are zero at every size are left out.
fn stacked(of_policy: &[Row], file: &File) -> Vec<Vec<String>> {
    let stacks: Vec<_> = of_policy.iter().map(Measure::stack).collect();
    let parts = stacks.first().map_or(0, Vec::len);
    let adds = |part: &usize| *part == 0 || stacks.iter().any(|stack| stack[*part].1 > stack[*part - 1].1);
    let line = |part: usize| {
        let name = format!("{}: {}", of_policy[0].policy, stacks[0][part].0);
        let values = stacks.iter().map(|stack| shown(file.measure, Some(stack[part].1)));
        std::iter::once(name).chain(values).collect()
    };
    (0..parts).filter(adds).map(line).collect()
}

/// A table for each size of a trace, with a row at it: a line a policy, a column each application, and one for all of
/// them.
fn by_application<'a>(rows: &'a [Row], file: &File) -> Vec<(&'a Row, Vec<Vec<String>>)> {
    let sizes = rows.iter().take_while(|row| row.policy == rows[0].policy).count();
    let names: Vec<&str> = rows.first().into_iter().flat_map(|row| &row.apps).map(|app| app.name.as_str()).collect();
    let header = || ["policy"].iter().chain(&names).chain(&["all"]).map(|name| (*name).to_owned()).collect();
    let line = |row: &Row| {
        let apps = names.iter().map(|name| application(row, name, file));
        let all = shown(file.measure, file.value(row));
        std::iter::once(row.policy.clone()).chain(apps).chain([all]).collect()
    };
    let table = |at: usize| std::iter::once(header()).chain(rows[at..].iter().step_by(sizes).map(line)).collect();
    (0..sizes).map(|at| (&rows[at], table(at))).collect()
}

/// The measure of an application, the size of its partition at the end, and whether its promise could not be kept then.
fn application(row: &Row, name: &str, file: &File) -> String {
    let value = shown(file.measure, file.measure.of_app(row, name));
    let Some(app) = row.apps.iter().find(|app| app.name == name) else { return value };
    let bytes = |blocks: u32| human::bytes(u64::from(blocks) * block_bytes(row));
    let room = app.room_blocks.map(|blocks| format!(" in {}", bytes(blocks))).unwrap_or_default();
    format!("{value}{room}{}", if app.flagged == Some(true) { ", flagged" } else { "" })
}

/// Where several traces are all replayed at one size: a line a trace, a column a policy.
fn at_one_size(traces: &[Replayed], file: &File) -> Option<Vec<Vec<String>>> {
    let traces: Vec<&Vec<Row>> = traces.iter().map(|trace| &trace.rows).collect();
    let first = traces.first().filter(|_| traces.len() > 1)?;
    let one_size = |rows: &&Vec<Row>| rows.iter().all(|row| row.size_blocks == rows[0].size_blocks);
    if first.is_empty() || !traces.iter().all(one_size) {
        return None;
    }
    let header = std::iter::once("trace".to_owned()).chain(first.iter().map(|row| row.policy.clone()));
    let line = |rows: &&Vec<Row>| {
        let values = rows.iter().map(|row| shown(file.measure, file.value(row)));
        std::iter::once(label(&rows[0].trace).to_owned()).chain(values).collect()
    };
    let mut lines: Vec<Vec<String>> = std::iter::once(header.collect()).chain(traces.iter().map(line)).collect();
    if file.measure == Measure::PromisesKept {
        let of_policy = |at: usize| traces.iter().filter_map(move |rows| file.value(&rows[at]));
        let sums = (0..first.len()).map(|at| shown(file.measure, Some(of_policy(at).sum())));
        lines.push(std::iter::once("all".to_owned()).chain(sums).collect());
    }
    Some(lines)
}

/// A value of a measure as it is printed.
fn shown(measure: Measure, value: Option<f64>) -> String {
    match (measure, value) {
        (_, None) => "-".to_owned(),
        (Measure::BytesRead, Some(bytes)) => human::bytes(bytes as u64),
        (Measure::HitRatio | Measure::ReadRequestMissRatio | Measure::RequestMissRatio, Some(ratio))
        | (Measure::WriteBackRatio | Measure::TransfersPerReference | Measure::DiskUse, Some(ratio)) => {
            human::percent(ratio)
        }
        (Measure::FinishSeconds | Measure::ServiceMilliseconds, Some(time)) => format!("{time:.2}"),
        (Measure::RefaultDistanceToClock, Some(ratio)) => format!("{ratio:.3}"),
        (_, Some(rate)) if measure.is_of_memory() => format!("{rate:.2}"),
        (_, Some(count)) => human::count(count as u64),
    }
}

/// Bytes of a block, or of an object on average; 1 where blocks have no size.
fn block_bytes(row: &Row) -> u64 {
    row.size_bytes.map_or(1, |bytes| bytes / row.size_blocks.max(1))
}

/// The size of a row's cache, in bytes where blocks have a size.
pub(super) fn size(row: &Row) -> String {
    row.size_bytes.map_or_else(|| human::count(row.size_blocks), human::bytes)
}

/// How each pair compares over all traces and sizes, beside the paper. Every trace counts alike.
fn comparisons(file: &File, compared: &[Comparison]) -> String {
    let header = ["compared", "mean", "95 %", "most", "least", "paper: mean", "paper: most", "verdict"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    let said = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:+.1}"));
    for one in compared {
        let Some(gain) = &one.gain else { continue };
        lines.push(vec![
            one.name(),
            format!("{:+.1}", gain.mean),
            gain.within.map_or_else(|| "-".to_owned(), |within| format!("± {within:.1}")),
            format!("{:+.1}", gain.most),
            format!("{:+.1}", gain.least),
            said(one.paper_mean),
            said(one.paper_most),
            one.verdict.to_owned(),
        ]);
    }
    let mut text = format!("\nGain in {}, over all traces and sizes\n\n", file.measure.unit());
    text.push_str(&table(&lines));
    text
}

/// The possible reduction of the cache at the same hit ratio, beside the paper's; `None` if the experiment does not ask
/// for it.
fn savings(compared: &[Comparison]) -> Option<String> {
    let header = ["compared", "while that hits", "cache saved", "paper"].map(str::to_owned).to_vec();
    let percent = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1} %"));
    let line = |one: &Comparison| {
        let range = match (one.compare.saved_best, one.compare.saved_from) {
            (Some(share), _) => format!("{share} % of its best"),
            (None, Some(from)) => format!("{from} to {} %", one.compare.saved_to.unwrap_or(100.0)),
            (None, None) => return None,
        };
        Some(vec![one.name(), range, percent(one.saved), percent(one.paper_saved)])
    };
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(compared.iter().filter_map(line)).collect();
    (lines.len() > 1).then(|| format!("\nCache saved at equal mean hit ratio of all traces\n\n{}", table(&lines)))
}

/// The mean gain on each trace, and whether the paper finds the same there; `None` where the paper does not tell.
fn directions(file: &File, compared: &[Comparison]) -> Option<String> {
    let lines = by_trace(
        compared,
        |one| one.compare.paper_worse.is_some(),
        |one| one.name(),
        |trace| trace.mean.map(|gain| format!("{gain:+.1} {}", trace.agrees.unwrap_or_default())),
    )?;
    let unit = file.measure.unit();
    Some(format!(
        "\nGain in {unit}, mean over the sizes: does it have the sign that it has in the paper? \
         (Below {NO_GAIN} % nothing can be said.)\n\n{}",
        table(&lines)
    ))
}

/// How much of the way from one policy to a bound another one goes, trace by trace.
fn ways(compared: &[Comparison]) -> Option<String> {
    let name = |one: &Comparison| {
        let bound = one.compare.bound.as_deref().unwrap_or_default();
        format!("{} on the way from {} to {bound}{}", one.better, one.than, one.range)
    };
    let cell = |trace: &OnTrace| trace.way.map(|way| format!("{:+.0} %", 100.0 * way));
    let lines = by_trace(compared, |one| one.compare.bound.is_some(), name, cell)?;
    Some(format!("\nOver all sizes\n\n{}", table(&lines)))
}

/// A line a trace, a column each comparison that is `told`; `None` without one.
fn by_trace(
    compared: &[Comparison],
    told: impl Fn(&Comparison) -> bool,
    name: impl Fn(&Comparison) -> String,
    cell: impl Fn(&OnTrace) -> Option<String>,
) -> Option<Vec<Vec<String>>> {
    let told: Vec<&Comparison> = compared.iter().filter(|one| told(one)).collect();
    let header = std::iter::once("trace".to_owned()).chain(told.iter().map(|one| name(one)));
    let line = |(at, trace): (usize, &OnTrace)| {
        let cells = told.iter().map(|one| cell(&one.traces[at]).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(trace.trace.to_owned()).chain(cells).collect()
    };
    let lines = told.first()?.traces.iter().enumerate().map(line);
    Some(std::iter::once(header.collect()).chain(lines).collect())
}

/// Lines of cells as a table that reads well as text and as Markdown.
pub(super) fn table(lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rule = widths.iter().enumerate().map(|(column, &width)| match column {
                0 => "-".repeat(width),
                _ => format!("{}:", "-".repeat(width.saturating_sub(1).max(1))),
            });
            let _ = writeln!(text, "| {} |", rule.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}
