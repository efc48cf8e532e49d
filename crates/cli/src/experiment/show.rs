//! What an experiment shows: a table a trace, and how policies compare beside what the paper says.

use std::fmt::Write as _;
use std::io::{Write, stdout};

use hotset_sim::results::Row;

use super::file::{Compare, File, Measure};
use crate::failure::Failure;
use crate::output::{human, style};

/// Prints an experiment.
pub(super) fn show(file: &File, traces: &[Vec<Row>], markdown: bool) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let heading = if markdown { "## " } else { "" };
    writeln!(out, "{heading}{}\n\nSource: {}", file.title, file.source)?;
    for (label, text) in [("The paper", &file.claim), ("Here", &file.finding)] {
        if !text.is_empty() {
            writeln!(out, "{}", human::wrap(&format!("{label}: {}", text.trim()), style::width()))?;
        }
    }
    for rows in traces.iter().filter(|rows| !rows.is_empty()) {
        writeln!(out, "\n{}: {}\n\n{}", short_name(&rows[0].trace), file.measure.title(), grid(rows, file.measure))?;
    }
    if !file.compare.is_empty() {
        writeln!(out, "{}", comparisons(file, traces))?;
    }
    Ok(())
}

/// The last component of a trace's name.
fn short_name(trace: &str) -> &str {
    trace.rsplit('/').next().unwrap_or(trace)
}

/// A line a policy, a column a size. The same lines are a table of Markdown.
fn grid(rows: &[Row], measure: Measure) -> String {
    let sizes: Vec<u32> =
        rows.iter().take_while(|row| row.policy == rows[0].policy).map(|row| row.size_blocks).collect();
    let mut lines = vec![std::iter::once("policy".to_owned()).chain(rows[..sizes.len()].iter().map(size)).collect()];
    for of_policy in rows.chunks(sizes.len()) {
        let values = of_policy.iter().map(|row| value(measure, measure.of(row)));
        lines.push(std::iter::once(of_policy[0].policy.clone()).chain(values).collect());
    }
    table(&lines)
}

fn size(row: &Row) -> String {
    row.size_bytes.map_or_else(|| human::count(row.size_blocks.into()), human::bytes)
}

fn value(measure: Measure, value: f64) -> String {
    match measure {
        Measure::BytesRead => human::bytes(value as u64),
        measure if measure.is_ratio() => human::percent(value),
        _ => human::count(value as u64),
    }
}

/// How each pair compares over all traces and sizes, beside the paper.
fn comparisons(file: &File, traces: &[Vec<Row>]) -> String {
    let header = ["compared", "mean", "most", "least", "paper: mean", "paper: most", "verdict"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for compare in &file.compare {
        let gains = gains(file.measure, compare, traces);
        if gains.is_empty() {
            continue;
        }
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        let (least, most) =
            gains.iter().fold((f64::MAX, f64::MIN), |(low, high), &gain| (low.min(gain), high.max(gain)));
        let said = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:+.1}"));
        lines.push(vec![
            format!("{} against {}{}", compare.better, compare.than, range(compare)),
            format!("{mean:+.1}"),
            format!("{most:+.1}"),
            format!("{least:+.1}"),
            said(compare.paper_mean),
            said(compare.paper_most),
            verdict(mean, compare.paper_mean).to_owned(),
        ]);
    }
    let mut text = format!("\nGain in {}, over all traces and sizes\n\n", file.measure.unit());
    text.push_str(&table(&lines));
    text
}

fn gains(measure: Measure, compare: &Compare, traces: &[Vec<Row>]) -> Vec<f64> {
    let sizes = compare.bytes().expect("checked when the file was read");
    let counts = |row: &&Row, policy: &str| row.policy == policy && sizes.contains(&row.size_bytes.unwrap_or(0));
    let of = |rows: &[Row], policy: &str| {
        rows.iter().filter(|row| counts(row, policy)).map(|row| measure.of(row)).collect::<Vec<_>>()
    };
    let pairs = traces.iter().flat_map(|rows| of(rows, &compare.better).into_iter().zip(of(rows, &compare.than)));
    pairs.map(|(ours, other)| measure.gain(ours, other)).collect()
}

/// The sizes that a comparison is restricted to, as it stands behind the names.
fn range(compare: &Compare) -> String {
    let from = compare.from.as_ref().map(|from| format!(" from {from}"));
    let to = compare.to.as_ref().map(|to| format!(" to {to}"));
    from.into_iter().chain(to).collect()
}

fn verdict(mean: f64, paper: Option<f64>) -> &'static str {
    match paper {
        None => "",
        Some(paper) if mean.signum() != paper.signum() => "opposite",
        Some(paper) if mean.abs() >= paper.abs() => "at least as much",
        Some(_) => "same direction, less",
    }
}

/// Lines of cells as a table that reads well as text and as Markdown.
fn table(lines: &[Vec<String>]) -> String {
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
