//! What to do next, as commands and calls.

use std::path::Path;

use hotset_sim::advise::{Advice, Change, database_of};
use hotset_sim::inspect::{File, Inspection};
use serde::Serialize;

use crate::output::human;
use crate::shell::quoted;

/// The share of the references to ranked files that a directory must have to be worth a mount.
const MOUNTED: f64 = 0.8;

/// Files that are read once and make up less of the references than this do not matter.
const MATTERS: f64 = 0.01;

/// What is to be done, a line each.
#[derive(Default, Serialize)]
pub(super) struct Steps {
    /// Commands and calls.
    next: Vec<String>,
    /// Commands that check the figures.
    checks: Vec<String>,
}

impl Steps {
    /// Lines to print, under their headings.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let lists = [("What to do:", &self.next), ("To check the figures:", &self.checks)];
        let told = lists.into_iter().filter(|(_, steps)| !steps.is_empty());
        told.flat_map(|(heading, steps)| {
            std::iter::once(heading.to_owned()).chain(steps.iter().map(|step| format!("  {step}")))
        })
    }
}

/// The steps. `trace` is what names the trace on a command line, with the options that say how it is read.
pub(super) fn next(advice: &Advice, inspection: &Inspection, trace: &[String]) -> Steps {
    let (Some(memory), Some(change)) = (&advice.memory, &advice.change) else { return Steps::default() };
    let trace = trace.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let mut steps = Vec::new();
    steps.extend(change.pays.then(|| mount(advice, change, inspection)));
    if let (Some(database), Some(bytes)) = (database_of(inspection), memory.size_bytes) {
        let (megabytes, setting) = (bytes.div_ceil(1 << 20), database.setting);
        steps.push(format!("{megabytes}MB more of {setting}, or as much left to the page cache behind them"));
    }
    for file in read_once(inspection) {
        let share = human::percent(file.share);
        steps.push(format!(
            "{}: read once ({share} % of the references); posix_fadvise(POSIX_FADV_DONTNEED) behind the reader keeps others in",
            file.path
        ));
    }
    steps.push(format!("hotset advise {trace} --size SIZE    (if there is less memory, or more)"));
    let mut policies = vec![advice.today.as_str(), advice.policy.as_str(), &advice.bound];
    policies.dedup();
    policies.extend(advice.beside.iter().map(|beside| beside.policy.as_str()));
    let mut sizes = vec![change.size_blocks, memory.size_blocks];
    sizes.extend(change.enough_blocks);
    sizes.extend(memory.next.as_ref().map(|next| next.size_blocks));
    sizes.sort_unstable();
    sizes.dedup();
    let sizes = sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let check = format!("hotset simulate {trace} --policy {} --size {sizes}", quoted(&policies.join(",")));
    Steps { next: steps, checks: vec![check] }
}

/// The mount that runs the policy.
fn mount(advice: &Advice, change: &Change, inspection: &Inspection) -> String {
    let directory = directory(inspection).map_or_else(|| "DIRECTORY".to_owned(), |directory| quoted(&directory));
    let megabytes = change.size_bytes.map_or(1, |bytes| bytes.div_ceil(1 << 20));
    format!("hotset mount {directory} MOUNTPOINT --memory {megabytes}M --policy {}", quoted(&advice.policy))
}

/// The files that matter of which no block is read twice.
fn read_once(inspection: &Inspection) -> impl Iterator<Item = &File> {
    let files = inspection.files.iter().flat_map(|files| &files.top);
    let once = |file: &&File| file.share >= MATTERS && file.distinct_blocks == Some(file.references);
    files.filter(once).filter(|file| file.write_requests == 0).take(3)
}

/// The directory below which most of what is referenced most lies; `None` if that is the root, or no path is known.
fn directory(inspection: &Inspection) -> Option<String> {
    let files = &inspection.files.as_ref()?.top;
    let all: u64 = files.iter().map(|file| file.references).sum();
    let below = |directory: &Path| {
        let there = files.iter().filter(|file| Path::new(&file.path).starts_with(directory));
        there.map(|file| file.references).sum::<u64>()
    };
    let parents = files
        .iter()
        .filter(|file| file.path.starts_with('/'))
        .flat_map(|file| Path::new(&file.path).ancestors().skip(1));
    let enough =
        parents.filter(|directory| directory.parent().is_some() && below(directory) as f64 >= MOUNTED * all as f64);
    enough.max_by_key(|directory| directory.components().count()).map(|directory| directory.display().to_string())
}
