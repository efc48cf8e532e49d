//! The trial of a service that runs: phases of steering and of the plain kernel alternate.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hotset_core::policy::PolicySpec;
use hotset_steer::{Cgroup, Hierarchy, Proven, Report, Verdict, When};
use serde::Serialize;

use super::runs::{Candidate, session};
use super::{Conclusion, Try};
use crate::command::steer::running::Asked;
use crate::command::steer::{canonical, claimed, claims, proved};
use crate::failure::Failure;
use crate::output::shell::quoted;
use crate::output::{human, style};

/// Time between looks at signals.
const STEP: Duration = Duration::from_millis(100);

/// The result of a trial of a service.
#[derive(Serialize)]
struct Trial {
    cgroup: PathBuf,
    candidates: Vec<Tried>,
    #[serde(flatten)]
    conclusion: Conclusion,
}

/// A policy that steered the kernel in every other phase.
#[derive(Serialize)]
struct Tried {
    name: String,
    proof: Proven,
}

impl Try {
    /// Tries each policy on the programs of a control group, for an equal share of the budget.
    pub(super) fn service(&self, cgroup: &Path) -> Result<(), Failure> {
        if self.directories.is_empty() {
            let message = "no directories; give one or more directories whose files the service reads";
            return Err(Failure::Usage(message.to_owned()));
        }
        let directories = canonical(&self.directories)?;
        let group = Hierarchy::find()?.group(cgroup)?;
        let mut claims = claims(&directories)?;
        claims.push(claimed(group.folder())?);
        let policies = self.steered()?;
        let share = self.budget / policies.len() as u32;
        let asked = Asked::new()?;
        let (mut tried, mut stopped) = (Vec::new(), None);
        for policy in policies {
            let name = Candidate::Steered(policy.clone()).to_string();
            writeln!(stderr(), "hotset: {name}: {}; Ctrl-C ends it", human::duration(share.as_secs_f64()))?;
            let (report, end) = prove(&policy, &group, &directories, share, &asked)?;
            tried.extend(report.proof.map(|proof| Tried { name, proof }));
            stopped = end;
            if stopped.is_some() {
                break;
            }
        }
        let best = best(&tried);
        let permanent = best.map(|best| {
            let folders: Vec<String> = directories.iter().map(|folder| quoted(&folder.to_string_lossy())).collect();
            let group = quoted(&cgroup.to_string_lossy());
            let policy = quoted(best.name.trim_start_matches("steer "));
            format!("hotset steer {} --policy {policy} --cgroup {group}", folders.join(" "))
        });
        let trial = Trial {
            cgroup: cgroup.to_owned(),
            conclusion: Conclusion {
                best: best.map(|best| best.name.clone()),
                conclusion: conclusion(&tried, best),
                permanent,
            },
            candidates: tried,
        };
        let lines = trial.candidates.iter().flat_map(|tried| {
            proved::lines(&tried.proof).into_iter().map(move |line| format!("{}: {line}", tried.name))
        });
        let figures: String = lines.map(|line| human::wrap(&line, style::width()) + "\n").collect();
        self.show(&trial, &figures, &trial.conclusion)?;
        match stopped {
            Some(End::Signal(signal)) => Err(Failure::Status(128 + signal as u8)),
            Some(End::GroupGone) => Err(Failure::Work(format!("{} was removed during the trial", cgroup.display()))),
            None => Ok(()),
        }
    }
}

/// Why a trial ends before its time is over.
enum End {
    /// A signal asked for it.
    Signal(i32),
    /// The group was removed.
    GroupGone,
}

/// Alternates until the time is over, or there is another reason to end.
fn prove(
    policy: &PolicySpec,
    group: &Cgroup,
    directories: &[PathBuf],
    time: Duration,
    asked: &Asked,
) -> Result<(Report, Option<End>), Failure> {
    let mut session = session(policy, group, directories, When::Proof)?;
    let until = Instant::now() + time;
    let mut end = None;
    while end.is_none() && Instant::now() < until {
        let is_gone = session.step(STEP)?.is_some();
        end = asked.take().map(End::Signal).or_else(|| is_gone.then_some(End::GroupGone));
    }
    Ok((session.finish(), end))
}

/// The policy that saves most of the bytes from storage, if that is significant.
fn best(tried: &[Tried]) -> Option<&Tried> {
    let gained = tried.iter().filter(|tried| tried.proof.verdict == Verdict::Gained);
    gained.max_by(|one, other| saved(one).total_cmp(&saved(other)))
}

/// Bytes from storage that a policy saves for each byte referenced.
fn saved(tried: &Tried) -> f64 {
    tried.proof.read.map_or(0.0, |read| read.saved)
}

/// What to do, in a sentence.
fn conclusion(tried: &[Tried], best: Option<&Tried>) -> String {
    if let Some((best, read)) = best.and_then(|best| Some((best, best.proof.read?))) {
        let share = human::percent(read.saved / read.kernel);
        return format!("Use {}: it reads {share} % less from storage for the same references.", best.name);
    }
    match tried.iter().all(|tried| tried.proof.verdict == Verdict::Unknown) {
        true => "No conclusion: too few phases were completed. Give a longer --budget, or try while the service reads \
                 more."
            .to_owned(),
        false => "Nothing helps: no policy reads significantly less from storage than the kernel alone.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use hotset_steer::Gain;

    use super::*;

    fn tried(name: &str, saved: f64, half: Option<f64>) -> Tried {
        let read = Gain { kernel: 0.5, steered: 0.5 - saved, saved, half };
        let (verdict, pairs) = (read.verdict(), 4);
        let proof =
            Proven { pairs, verdict, read: Some(read), waited: None, waited_by_group: false, phases: Vec::new() };
        Tried { name: name.to_owned(), proof }
    }

    #[test]
    fn the_largest_significant_gain_is_recommended() {
        let all = [
            tried("steer lirs", 0.2, Some(0.3)),
            tried("steer arc", 0.1, Some(0.01)),
            tried("steer 2q", 0.05, Some(0.01)),
        ];
        let chosen = best(&all);
        assert_eq!(chosen.map(|one| &*one.name), Some("steer arc"));
        assert!(conclusion(&all, chosen).starts_with("Use steer arc: it reads 20.00 % less"));
        let none = [tried("steer lirs", 0.01, Some(0.3)), tried("steer arc", -0.1, Some(0.01))];
        assert!(best(&none).is_none() && conclusion(&none, None).starts_with("Nothing helps"));
        let short = [tried("steer lirs", 0.2, None)];
        assert!(best(&short).is_none() && conclusion(&short, None).starts_with("No conclusion"));
    }
}
