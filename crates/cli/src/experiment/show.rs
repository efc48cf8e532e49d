//! What an experiment shows: a table a trace, and how policies compare beside what the paper says.

use std::fmt::Write as _;
use std::io::{Write, stdout};

use super::file::{Compare, File, file_name, label};
use super::row::AnyRow;
use crate::failure::Failure;
use crate::output::{human, style};

/// A gain in percent of less than this is none.
const NO_GAIN: f64 = 0.5;

/// Prints an experiment.
pub(super) fn show(file: &File, traces: &[Vec<AnyRow>], markdown: bool) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let heading = if markdown { "## " } else { "" };
    writeln!(out, "{heading}{}\n\nSource: {}", file.title, file.source)?;
    for (label, text) in [("The paper", &file.claim), ("Here", &file.finding)] {
        if !text.is_empty() {
            writeln!(out, "{}", human::wrap(&format!("{label}: {}", text.trim()), style::width()))?;
        }
    }
    let measure = file.measure;
    let what = match &file.classes[..] {
        [] => measure.title().to_owned(),
        classes => format!("{} ({})", measure.title(), classes.join(", ")),
    };
    if let Some(lines) = at_one_size(traces, file) {
        writeln!(out, "\nat {}: {what}\n\n{}", file.sizes, table(&lines))?;
    } else {
        for rows in traces.iter().filter(|rows| !rows.is_empty()) {
            let name = file_name(rows[0].trace());
            writeln!(out, "\n{name}: {what}\n\n{}", table(&grid(rows, file)))?;
        }
    }
    if !file.compare.is_empty() {
        writeln!(out, "{}", comparisons(file, traces))?;
    }
    if let Some(text) = ways(file, traces) {
        writeln!(out, "{text}")?;
    }
    if file.compare.iter().any(|compare| compare.paper_worse.is_some()) {
        writeln!(out, "{}", directions(file, traces))?;
    }
    Ok(())
}

/// A line a policy, a column a size.
fn grid(rows: &[AnyRow], file: &File) -> Vec<Vec<String>> {
    let sizes = rows.iter().take_while(|row| row.policy() == rows[0].policy()).count();
    let mut lines = vec![std::iter::once("policy".to_owned()).chain(rows[..sizes].iter().map(size)).collect()];
    for of_policy in rows.chunks(sizes) {
        let values = of_policy.iter().map(|row| file.measure.show(file.value(row)));
        lines.push(std::iter::once(of_policy[0].policy().to_owned()).chain(values).collect());
    }
    lines
}

/// Where several traces are all replayed at one size: a line a trace, a column a policy.
fn at_one_size(traces: &[Vec<AnyRow>], file: &File) -> Option<Vec<Vec<String>>> {
    let first = traces.first().filter(|_| traces.len() > 1)?;
    let one_size = |rows: &Vec<AnyRow>| rows.iter().all(|row| row.size_blocks() == rows[0].size_blocks());
    if first.is_empty() || !traces.iter().all(one_size) {
        return None;
    }
    let header = std::iter::once("trace".to_owned()).chain(first.iter().map(|row| row.policy().to_owned()));
    let line = |rows: &Vec<AnyRow>| {
        let values = rows.iter().map(|row| file.measure.show(file.value(row)));
        std::iter::once(label(rows[0].trace()).to_owned()).chain(values).collect()
    };
    Some(std::iter::once(header.collect()).chain(traces.iter().map(line)).collect())
}

fn size(row: &AnyRow) -> String {
    row.size_bytes().map_or_else(|| human::count(row.size_blocks().into()), human::bytes)
}

/// How each pair compares over all traces and sizes, beside the paper. Every trace counts alike.
fn comparisons(file: &File, traces: &[Vec<AnyRow>]) -> String {
    let header = ["compared", "mean", "most", "least", "paper: mean", "paper: most", "verdict"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for compare in &file.compare {
        let gains: Vec<Vec<f64>> = traces.iter().map(|rows| gains(file, compare, rows)).collect();
        let means: Vec<f64> = gains.iter().filter_map(|gains| mean(gains)).collect();
        let Some(mean) = mean(&means) else { continue };
        let (least, most) =
            gains.iter().flatten().fold((f64::MAX, f64::MIN), |(low, high), &gain| (low.min(gain), high.max(gain)));
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

/// The mean gain on each trace, and whether the paper finds the same there.
fn directions(file: &File, traces: &[Vec<AnyRow>]) -> String {
    let told: Vec<&Compare> = file.compare.iter().filter(|compare| compare.paper_worse.is_some()).collect();
    let header = told.iter().map(|compare| format!("{} against {}{}", compare.better, compare.than, range(compare)));
    let mut lines = vec![std::iter::once("trace".to_owned()).chain(header).collect::<Vec<_>>()];
    for rows in traces.iter().filter(|rows| !rows.is_empty()) {
        let name = label(rows[0].trace());
        let cells = told.iter().map(|compare| {
            let Some(gain) = mean(&gains(file, compare, rows)) else { return "-".to_owned() };
            format!("{gain:+.1} {}", direction(gain, compare.paper_worse.iter().flatten().any(|worse| worse == name)))
        });
        lines.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }
    let unit = file.measure.unit();
    format!(
        "\nGain in {unit}, mean over the sizes: does it have the sign that it has in the paper? \
         (Below {NO_GAIN} % nothing can be said.)\n\n{}",
        table(&lines)
    )
}

fn direction(gain: f64, worse_in_paper: bool) -> &'static str {
    match gain < 0.0 {
        _ if gain.abs() < NO_GAIN => "same",
        worse if worse == worse_in_paper => "yes",
        _ => "no",
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The gains on a trace, by size; a size at which one of the two does not tell has none.
fn gains(file: &File, compare: &Compare, rows: &[AnyRow]) -> Vec<f64> {
    gains_of(file, compare, &compare.better, rows)
}

/// The gains of a policy over the one that the comparison starts from.
fn gains_of(file: &File, compare: &Compare, policy: &str, rows: &[AnyRow]) -> Vec<f64> {
    let sizes = compare.bytes().expect("checked when the file was read");
    let of = |policy: &str| {
        let counts = |row: &&AnyRow| row.policy() == policy && sizes.contains(&row.size_bytes().unwrap_or(0));
        rows.iter().filter(counts).map(|row| file.value(row)).collect::<Vec<_>>()
    };
    let pairs = of(policy).into_iter().zip(of(&compare.than));
    pairs.filter_map(|(ours, other)| Some(file.measure.gain(ours?, other?))).collect()
}

/// How much of the way from one policy to a bound another one goes, trace by trace.
fn ways(file: &File, traces: &[Vec<AnyRow>]) -> Option<String> {
    let told: Vec<(&Compare, &String)> =
        file.compare.iter().filter_map(|compare| Some((compare, compare.bound.as_ref()?))).collect();
    if told.is_empty() {
        return None;
    }
    let header = told.iter().map(|(compare, bound)| {
        format!("{} on the way from {} to {bound}{}", compare.better, compare.than, range(compare))
    });
    let mut lines = vec![std::iter::once("trace".to_owned()).chain(header).collect::<Vec<_>>()];
    for rows in traces.iter().filter(|rows| !rows.is_empty()) {
        let cells = told.iter().map(|(compare, bound)| {
            let whole: f64 = gains_of(file, compare, bound, rows).iter().sum();
            let gone: f64 = gains(file, compare, rows).iter().sum();
            if whole == 0.0 { "-".to_owned() } else { format!("{:+.0} %", 100.0 * gone / whole) }
        });
        lines.push(std::iter::once(label(rows[0].trace()).to_owned()).chain(cells).collect());
    }
    Some(format!("\nOver all sizes\n\n{}", table(&lines)))
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
