//! The least of the sizes of an experiment at which promises are kept.

use hotset_experiment::{File, Measure, Replayed, label};
use hotset_results::{AppCounts, Row};

use super::show::size;
use crate::output::human;

/// A line for each promise, and one for all promises of a trace, with a column for each policy.
/// Returns `None` unless promises are counted at several sizes.
pub(super) fn least_sizes(traces: &[Replayed], file: &File) -> Option<Vec<Vec<String>>> {
    let is_swept = |rows: &&Vec<Row>| rows.iter().any(|row| row.size_blocks != rows[0].size_blocks);
    let swept: Vec<&Vec<Row>> = traces.iter().map(|trace| &trace.rows).filter(is_swept).collect();
    let first = swept.first().filter(|_| file.measure == Measure::PromisesKept)?;
    let policies = policies(first);
    let header = ["trace", "promise"].into_iter().chain(policies.iter().copied());
    let mut lines = vec![header.map(str::to_owned).collect::<Vec<_>>()];
    for rows in swept {
        let promised = rows[0].apps.iter().filter_map(|app| Some((app.name.as_str(), app.promised?)));
        let promised: Vec<(&str, f64)> = promised.collect();
        let wanted = promised.iter().map(|&(name, rate)| (format!("{name} {} %", human::percent(rate)), vec![name]));
        let all = ("all".to_owned(), promised.iter().map(|&(name, _)| name).collect());
        for (promise, names) in wanted.chain([all]).filter(|(_, names)| !names.is_empty()) {
            let cells = policies.iter().map(|policy| least(rows, policy, &names));
            lines.push([label(&rows[0].trace).to_owned(), promise].into_iter().chain(cells).collect());
        }
    }
    Some(lines)
}

/// The policies of a trace's rows, each once, in order.
fn policies(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = rows.iter().map(|row| row.policy.as_str()).collect();
    names.dedup();
    names
}

/// The least size at which a policy keeps its promises to these applications, and the larger sizes at which it breaks
/// one of them; `-` if it keeps them at no size.
fn least(rows: &[Row], policy: &str, names: &[&str]) -> String {
    let is_kept = |app: &AppCounts| app.promise_met == Some(true);
    let kept = |row: &Row| names.iter().all(|name| row.apps.iter().any(|app| app.name == *name && is_kept(app)));
    let mut by_size: Vec<&Row> = rows.iter().filter(|row| row.policy == policy).collect();
    by_size.sort_by_key(|row| row.size_blocks);
    let Some(at) = by_size.iter().position(|row| kept(row)) else { return "-".to_owned() };
    let broken: Vec<String> = by_size[at..].iter().filter(|row| !kept(row)).map(|row| size(row)).collect();
    match &broken[..] {
        [] => size(by_size[at]),
        broken => format!("{}, not {}", size(by_size[at]), broken.join(", ")),
    }
}
