//! Curves for people: a plot, a small table, what a hit ratio costs.

use std::io::{Write, stdout};

use hotset_core::policy::PolicySpec;
use hotset_results::{Metric, Sampling};
use hotset_sim::curve::{Line, spread};

use crate::failure::Failure;
use crate::output::style::{self, Role};
use crate::output::{human, plot, table};

/// Lines of the table.
const SIZES: usize = 10;

/// The hit ratios whose sizes are printed.
const GOALS: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

pub(super) fn show(name: &str, lines: &[Line], block_bytes: Option<u64>, metric: Metric) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let about = if lines[0].sampling.is_some() { "about " } else { "" };
    let unit = block_bytes.map_or(String::new(), |block| format!(" of {}", human::bytes(block)));
    let what = if metric == Metric::Misses { "miss" } else { "hit" };
    let (references, distinct) = (human::count(lines[0].references), human::count(lines[0].distinct));
    writeln!(
        out,
        "{name}: {references} references to {about}{distinct} distinct blocks{unit}; {what} ratio by cache size\n"
    )?;
    writeln!(out, "{}\n", draw(lines, block_bytes, metric))?;
    writeln!(out, "{}\n", ratios(lines, block_bytes, metric))?;
    for line in lines {
        writeln!(out, "{}", human::wrap(&prices(line, block_bytes, metric), style::width()))?;
    }
    Ok(out.flush()?)
}

fn draw(lines: &[Line], block_bytes: Option<u64>, metric: Metric) -> String {
    let curves: Vec<plot::Curve> = lines.iter().map(|line| drawn(line, metric)).collect();
    plot::curves(&curves, lines[0].distinct, block_bytes, style::width())
}

fn drawn(line: &Line, metric: Metric) -> plot::Curve<'_> {
    let is_bound = PolicySpec::parse(&line.policy).is_ok_and(|policy| policy.is_offline());
    let role = if is_bound { Role::Bound } else { Role::Best };
    plot::Curve { name: line.policy.clone(), role, ratio: Box::new(move |size| metric.shown(line.drawn(size))) }
}

/// Hit or miss ratios in percent: a line a size, a column a policy.
fn ratios(lines: &[Line], block_bytes: Option<u64>, metric: Metric) -> String {
    let sizes = match lines.iter().find(|line| line.simulated) {
        Some(line) => thinned(&line.steps(), SIZES),
        None => spread(lines[0].distinct, SIZES),
    };
    let mut header = vec!["blocks"];
    header.extend(block_bytes.map(|_| "size"));
    header.extend(lines.iter().map(|line| line.policy.as_str()));
    let mut table = table::numbers(&header, ..);
    for size in sizes {
        let mut cells = vec![human::count(size)];
        cells.extend(block_bytes.map(|block| human::bytes(block.saturating_mul(size))));
        cells.extend(lines.iter().map(|line| human::percent(metric.shown(line.ratio(size)))));
        table.add_row(cells);
    }
    table.trim_fmt()
}

/// At most `count` of `sizes`, evenly spread, the last one included.
fn thinned(sizes: &[u64], count: usize) -> Vec<u64> {
    let step = sizes.len().div_ceil(count).max(1);
    let mut kept: Vec<u64> = sizes.iter().rev().step_by(step).copied().collect();
    kept.reverse();
    kept
}

/// What hit ratios cost, and how far the policy can get.
fn prices(line: &Line, block_bytes: Option<u64>, metric: Metric) -> String {
    let cost = |size| human::blocks(size, block_bytes);
    let (best, enough) = line.best();
    let name = &line.policy;
    if best == 0.0 {
        return format!("{name}: nothing hits at any size.");
    }
    let reached = GOALS.iter().filter(|&&goal| goal < best);
    let goals = reached
        .filter_map(|&goal| Some(format!("{:.0} % needs {}", metric.shown(goal) * 100.0, cost(line.size_for(goal)?))));
    let about = if line.sampling.is_some() { "about " } else { "" };
    let end = if metric == Metric::Misses { "least" } else { "most" };
    let most = format!("at {end} {about}{} %, from {} on", human::percent(metric.shown(best)), cost(enough));
    let mut text = format!("{name}: {}.", goals.chain([most]).collect::<Vec<_>>().join("; "));
    if line.simulated {
        text += " Simulated at the points given, so sizes are the least of these.";
    }
    if let Some(sampling) = line.sampling {
        let (blocks, rate) = (human::counted(sampling.sampled_blocks, "block"), human::percent(sampling.sampling_rate));
        let resolution = cost(sampling.resolution_blocks);
        text += &format!(" Estimated from {blocks}, {rate} % of all.");
        text += &sampling_error(&sampling, "Ratios", &resolution);
    }
    text
}

/// The expected error of these ratios in a sample, and the size below which they are a guess: a sentence with a blank
/// before it.
pub(super) fn sampling_error(sampling: &Sampling, ratios: &str, resolution: &str) -> String {
    match sampling.expected_error {
        Some(error) => {
            let error = human::percent(error);
            format!(" {ratios} are expected to be off by about {error} points; below {resolution} they are a guess.")
        }
        None if sampling.sampling_rate < 1.0 => " That is too few to state an error.".to_owned(),
        None => " That is exact.".to_owned(),
    }
}
