//! What to do next, as commands and calls.

use std::path::Path;

use hotset_core::spec::SizeSpec;
use hotset_sim::advise::{Action, Advice, Change, Finding, Measure, Memory, database_of};
use hotset_sim::inspect::Inspection;
use serde::Serialize;

use super::RECORDED;
use crate::output::human;
use crate::output::shell::quoted;

/// The share of the references to ranked files that a directory must have to be steered or mounted.
const BELOW: f64 = 0.8;

/// What to do, a line each.
#[derive(Default, Serialize)]
pub(super) struct Steps {
    /// Commands and calls, the most gain first.
    next: Vec<String>,
    /// Commands that check the figures.
    checks: Vec<String>,
}

impl Steps {
    /// Lines to print, under their headings.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let lists = [("What to do, the most gain first", &self.next), ("To verify", &self.checks)];
        let told = lists.into_iter().filter(|(_, steps)| !steps.is_empty());
        told.flat_map(|(heading, steps)| {
            let heading = if steps.len() > 1 { heading } else { heading.split(',').next().unwrap_or(heading) };
            std::iter::once(format!("{heading}:")).chain(steps.iter().map(|step| format!("  {step}")))
        })
    }
}

/// The steps. `trace` names the trace on a command line, with the options that say how it is read; `command` is the
/// command that was recorded, if this program recorded it.
pub(super) fn next(advice: &Advice, inspection: &Inspection, trace: &[String], command: Option<&str>) -> Steps {
    let typed = command.unwrap_or("COMMAND");
    let record = format!("hotset record --via bpf --page-cache -o {RECORDED} -- {typed}");
    let folder = folder(advice, inspection);
    let (Some(memory), Some(change)) = (&advice.memory, &advice.change) else {
        let next = match advice.finding {
            Finding::Unseen if advice.evidence.has_touches => {
                vec![format!("hotset try {folder} --memory SIZE -- {typed}")]
            }
            Finding::Unseen => vec![record],
            Finding::TooLittle => vec![format!("hotset advise -- {typed}    (a longer run, or more input)")],
            _ => Vec::new(),
        };
        return Steps { next, checks: Vec::new() };
    };
    let next = advice.measures.iter().map(|measure| step(measure, inspection, &folder, typed)).collect();
    let megabytes = change.size_bytes.map_or_else(|| "SIZE".to_owned(), megabytes);
    let policy = if change.pays { format!(" --policy {}", quoted(&advice.policy)) } else { String::new() };
    let mut checks = vec![format!("hotset try {folder} --memory {megabytes}{policy} -- {typed}    (measures)")];
    checks.extend(command.map(|_| record));
    checks.push(simulate(advice, memory, change, trace));
    Steps { next, checks }
}

/// The tool that performs a measure.
fn step(measure: &Measure, inspection: &Inspection, folder: &str, typed: &str) -> String {
    let gain = gain(measure);
    let size = measure.size_bytes.map_or_else(|| "SIZE".to_owned(), megabytes);
    let policy = measure.policy.as_deref().map(quoted).unwrap_or_default();
    match &measure.action {
        Action::Memory => format!("give the page cache {size}: {gain}"),
        Action::Steer => format!("hotset steer {folder} --policy {policy} --memory {size} -- {typed}: {gain}"),
        Action::Mount => {
            format!(
                "hotset mount {folder} MOUNTPOINT --policy {policy} --memory {size} (where steer cannot run): {gain}"
            )
        }
        Action::Buffers => {
            let setting = database_of(inspection).map_or("the buffers", |database| database.setting);
            format!("give {setting} {size} in place of the page cache: {gain}")
        }
        Action::DropBehind { file } => {
            format!("posix_fadvise(POSIX_FADV_DONTNEED) behind the reader of {file}, which is read once: {gain}")
        }
    }
}

fn gain(measure: &Measure) -> String {
    let reads = human::counted(measure.fewer_reads.max(0) as u64, "read");
    match measure.fewer_seconds {
        Some(seconds) => format!("saves {seconds:.2} s by the storage model"),
        None => format!("saves {reads} from storage"),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{}M", bytes.div_ceil(1 << 20))
}

fn simulate(advice: &Advice, memory: &Memory, change: &Change, trace: &[String]) -> String {
    let trace = trace.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let mut policies = vec![advice.today.as_str(), advice.policy.as_str(), &advice.bound];
    policies.dedup();
    policies.extend(advice.beside.iter().map(|beside| beside.policy.as_str()));
    let mut sizes = vec![change.size_blocks, memory.size_blocks];
    sizes.extend(change.enough_blocks);
    sizes.extend(memory.next.as_ref().map(|next| next.size_blocks));
    sizes.sort_unstable();
    sizes.dedup();
    // Without a blank the sizes need no quotation marks.
    let sizes = SizeSpec::of_blocks(&sizes).to_string().replace(' ', "");
    format!("hotset simulate {trace} --policy {} --size {sizes}", quoted(&policies.join(",")))
}

/// The directory to name on a command line: that of the mapped data where this is what the advice lacks.
fn folder(advice: &Advice, inspection: &Inspection) -> String {
    let unseen = advice.evidence.unseen.as_ref().filter(|_| advice.finding == Finding::Unseen);
    let mapped = unseen.and_then(|unseen| Path::new(&unseen.largest).parent()).filter(|parent| parent.is_absolute());
    let found = mapped.map(|parent| parent.display().to_string()).or_else(|| directory(inspection));
    found.map_or_else(|| "DIR".to_owned(), |directory| quoted(&directory))
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
        parents.filter(|directory| directory.parent().is_some() && below(directory) as f64 >= BELOW * all as f64);
    enough.max_by_key(|directory| directory.components().count()).map(|directory| directory.display().to_string())
}
