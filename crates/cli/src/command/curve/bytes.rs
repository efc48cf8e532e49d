//! Curves over bytes of objects for people: a table of ratios of references and of bytes, with the bound on both.

use std::io::{Write, stdout};

use hotset_results::{Metric, Sampling};
use hotset_sim::curve::{ByteCurves, ByteLine, BytePoint};

use super::show::sampling_error;
use crate::failure::Failure;
use crate::output::{human, style, table};

pub(super) fn show(name: &str, curves: &ByteCurves, metric: Metric) -> Result<(), Failure> {
    let what = if metric == Metric::Misses { "miss" } else { "hit" };
    let (references, distinct) = (human::count(curves.references), human::count(curves.distinct));
    let mut out = stdout().lock();
    writeln!(
        out,
        "{name}: {references} references to {distinct} objects of {} in all; {what} ratios in % by bytes of the cache\n",
        human::bytes(curves.footprint)
    )?;
    writeln!(out, "{}\n", ratios(curves, metric))?;
    for line in &curves.lines {
        writeln!(out, "{}", human::wrap(&told(line, curves.sampling.is_some()), style::width()))?;
    }
    if let Some(sampling) = &curves.sampling {
        writeln!(out, "{}", human::wrap(&estimated(sampling, curves), style::width()))?;
    }
    let which = if metric == Metric::Misses { "below" } else { "above" };
    let holds = match curves.sampling {
        None => format!("no policy is {which} it"),
        Some(_) => format!("apart from the error of the sample, no policy is {which} it"),
    };
    let text = format!(
        "The bound is PFOO-L: {holds}, and the best that is possible may be far from it, since to find that is NP-hard \
         for objects of many sizes."
    );
    Ok(writeln!(out, "{}", human::wrap(&text, style::width()))?)
}

/// The size of a sample, and the expected error of its curves.
fn estimated(sampling: &Sampling, curves: &ByteCurves) -> String {
    let (objects, rate) = (human::counted(sampling.sampled_blocks, "object"), human::percent(sampling.sampling_rate));
    let mean = curves.footprint as f64 / curves.distinct.max(1) as f64;
    let resolution = human::bytes((sampling.resolution_blocks as f64 * mean) as u64);
    let error = sampling_error(sampling, "Hit ratios of LRU", &resolution);
    format!("All figures, the bound included, are estimated from {objects}, {rate} % of all.{error}")
}

/// A line a size; of each policy and the bound a column for references and one for bytes.
fn ratios(curves: &ByteCurves, metric: Metric) -> String {
    let names: Vec<String> = curves.lines.iter().map(|line| line.policy.clone()).chain(["bound".to_owned()]).collect();
    let of_names = names.iter().flat_map(|name| [name.clone(), format!("{name} bytes")]);
    let header: Vec<String> = std::iter::once("size".to_owned()).chain(of_names).collect();
    let mut table = table::numbers(&header.iter().map(String::as_str).collect::<Vec<_>>(), ..);
    let ratio = |part: u64, of: u64| human::percent(metric.shown(part as f64 / of.max(1) as f64));
    let both = |point: &BytePoint| [ratio(point.hits, curves.references), ratio(point.bytes_hit, curves.bytes)];
    for (number, bound) in curves.bounds.iter().enumerate() {
        let points = curves.lines.iter().map(|line| &line.points[number]).chain([bound]);
        table.add_row(std::iter::once(human::bytes(bound.size)).chain(points.flat_map(both)));
    }
    table.trim_fmt()
}

/// How a line was found, in the trace or in its sample.
fn told(line: &ByteLine, is_sampled: bool) -> String {
    let name = &line.policy;
    let (exact, which) = if is_sampled { ("", "sampled ") } else { ("exact ", "") };
    match line.exact_from {
        u64::MAX => format!("{name}: simulated at each size."),
        from => format!(
            "{name}: {exact}in one pass from {}, the largest {which}object, on; simulated below.",
            human::bytes(from)
        ),
    }
}
