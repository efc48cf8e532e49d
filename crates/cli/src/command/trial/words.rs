//! The result of a trial in words.

use std::path::PathBuf;

use comfy_table::Table;
use hotset_steer::{Gain, Verdict};

use super::command::Run;
use super::runs::{Candidate, Outcome};
use crate::output::shell::quoted;
use crate::output::{human, table};

/// Share of the seconds, and of the bytes from storage, that a candidate must save to be recommended.
const LEAST: f64 = 0.05;

/// Means of each candidate with what it saves.
pub(super) fn table(outcomes: &[Outcome]) -> Table {
    let header = ["", "seconds", "saved (95 %)", "from storage", "saved (95 %)"];
    let mut table = table::numbers(&header, 1..);
    for (at, outcome) in outcomes.iter().enumerate() {
        let of = |gain: &Gain, show: &dyn Fn(f64) -> String| {
            let half = gain.half.map_or(String::new(), |half| format!(" ± {}", show(half)));
            [show(gain.steered), if at == 0 { String::new() } else { format!("{}{half}", show(gain.saved)) }]
        };
        let seconds = of(&outcome.seconds, &|seconds| format!("{seconds:.2}"));
        let unknown = || ["not counted".to_owned(), String::new()];
        let cells = [seconds, outcome.read_bytes.as_ref().map_or_else(unknown, |read| of(read, &bytes))].concat();
        table.add_row(std::iter::once(outcome.name.clone()).chain(cells));
    }
    table
}

fn bytes(bytes: f64) -> String {
    format!("{}{}", if bytes <= -1.0 { "-" } else { "" }, human::bytes_of(bytes.abs()))
}

/// True if a figure is lower by a share that matters, and not by chance.
fn is_gain(gain: &Gain) -> bool {
    gain.verdict() == Verdict::Gained && gain.saved >= LEAST * gain.kernel
}

/// The conclusion where the first run reads next to nothing.
pub(super) fn reads_nothing(first: &Run) -> String {
    format!(
        "Nothing helps: with its files dropped from the page cache the command still reads only {} from storage in {:.2} s. If it reads files elsewhere, name their directories.",
        human::bytes(first.read_bytes.unwrap_or(0)),
        first.seconds
    )
}

/// True if a candidate saves significantly many seconds, and bytes from storage where they are counted.
fn gains(outcome: &Outcome) -> bool {
    is_gain(&outcome.seconds) && outcome.read_bytes.as_ref().is_none_or(is_gain)
}

/// What to do, in a sentence or two, and the candidate to keep: the one that saves most seconds, if that is significant
/// and comes with fewer bytes from storage where they are counted. More memory is recommended where no policy gains.
pub(super) fn conclusion<'a>(
    outcomes: &[Outcome],
    candidates: &'a [Candidate],
    files_bytes: u64,
) -> (String, Option<&'a Candidate>) {
    let all = || candidates.iter().zip(outcomes).skip(1);
    if outcomes[0].runs.len() < 2 {
        return ("No conclusion: one round has no interval. Give a longer --budget.".to_owned(), None);
    }
    let best = |is_memory: bool| {
        let these = all().filter(|(candidate, _)| matches!(candidate, Candidate::Memory(_)) == is_memory);
        let gained = these.filter(|(_, outcome)| gains(outcome));
        gained.max_by(|one, other| one.1.seconds.saved.total_cmp(&other.1.seconds.saved))
    };
    let saves = |outcome: &Outcome| {
        let Gain { saved, kernel, .. } = outcome.seconds;
        format!("saves {saved:.2} of {kernel:.2} s ({} %)", human::percent(saved / kernel))
    };
    let [changed, memory] = [best(false), best(true)];
    match (changed, memory) {
        (Some((candidate, outcome)), memory) => {
            let more = memory.map_or(String::new(), |(_, memory)| format!(" {} {}.", memory.name, saves(memory)));
            (format!("Use {}: it {}.{more}", outcome.name, saves(outcome)), Some(candidate))
        }
        (None, Some((candidate, outcome))) => {
            let why = idle(outcomes).map_or(String::new(), |why| format!(" {why}"));
            (format!("Use {}: it {}. No policy helps.{why}", outcome.name, saves(outcome)), Some(candidate))
        }
        (None, None) => (nothing(outcomes, files_bytes), None),
    }
}

/// Why nothing helps.
fn nothing(outcomes: &[Outcome], files_bytes: u64) -> String {
    let idle = || idle(outcomes).map_or(String::new(), |why| format!(" {why}"));
    let Some(read) = outcomes[0].read_bytes.as_ref().map(|read| read.kernel) else {
        return format!("Nothing helps: no candidate is significantly faster, by 5 % at least.{}", idle());
    };
    let fewer = outcomes.iter().skip(1).filter_map(|outcome| Some((outcome, outcome.read_bytes.as_ref()?)));
    let fewer = fewer.filter(|(_, read)| is_gain(read));
    if let Some((outcome, fewer)) = fewer.max_by(|one, other| one.1.saved.total_cmp(&other.1.saved)) {
        let Gain { saved, half, .. } = outcome.seconds;
        let half = half.map_or(String::new(), |half| format!(" ± {half:.2}"));
        return format!(
            "No significant gain: {} reads {} less from storage, but the time saved, {saved:.2}{half} s, is not significant or below 5 %: storage hardly limits this command here. More --runs narrow the interval.",
            outcome.name,
            bytes(fewer.saved)
        );
    }
    let mut text = format!("Nothing helps: no candidate reads significantly less than {} from storage", bytes(read));
    text += match read <= files_bytes as f64 * (1.0 + LEAST) {
        true => ", and the files have as much: nearly all is read for the first time.",
        false => "; repeated reads do not fit even then.",
    };
    text + &idle()
}

/// Why the kernel was not steered, if no policy steered it.
fn idle(outcomes: &[Outcome]) -> Option<String> {
    let mut runs = outcomes.iter().flat_map(|outcome| &outcome.runs).filter(|run| run.seconds_steered.is_some());
    let is_idle = runs.clone().all(|run| run.seconds_steered == Some(0.0));
    let reason = runs.next_back()?.reason.as_ref()?;
    is_idle.then(|| format!("The kernel was never steered: {reason}."))
}

/// The command that makes a candidate permanent.
pub(super) fn permanent(best: &Candidate, memory: u64, directories: &[PathBuf], typed: &str) -> String {
    match best {
        Candidate::Steered(policy) => {
            let folders = directories.iter().map(|folder| quoted(&folder.to_string_lossy()));
            let folders = folders.collect::<Vec<_>>().join(" ");
            let policy = quoted(&policy.to_string());
            format!("hotset steer {folders} --policy {policy} --memory {} -- {typed}", exact(memory))
        }
        Candidate::Mounted(bytes) => {
            let folder = directories.iter().map(|folder| quoted(&folder.to_string_lossy())).collect::<String>();
            format!(
                "hotset mount {folder} MOUNTPOINT --memory {} --daemon, and let the command read MOUNTPOINT",
                exact(*bytes)
            )
        }
        Candidate::Memory(bytes) => format!("systemd-run --scope -p MemoryMax={} {typed}", exact(*bytes)),
        Candidate::Kernel => typed.to_owned(),
    }
}

/// A size that options take, without rounding.
fn exact(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{}M", bytes >> 20) } else { bytes.to_string() }
}

#[cfg(test)]
mod tests {
    use hotset_core::policy::PolicySpec;
    use hotset_steer::paired;

    use super::*;

    const MIB: f64 = 1048576.0;

    fn candidates() -> Vec<Candidate> {
        let policy = PolicySpec::parse("lirs").unwrap();
        vec![Candidate::Kernel, Candidate::Steered(policy), Candidate::Memory(512 << 20)]
    }

    /// Of each candidate the seconds and MiB of three runs.
    fn outcomes(figures: [[(f64, f64); 3]; 3], seconds_steered: f64) -> Vec<Outcome> {
        let candidates = candidates();
        let outcome = |at: usize| {
            let gain = |figure: &dyn Fn(&(f64, f64)) -> f64| {
                let pairs = figures[0].iter().zip(&figures[at]).map(|(kernel, run)| (figure(kernel), figure(run)));
                paired(&pairs.collect::<Vec<_>>()).unwrap()
            };
            let run = |&(seconds, read): &(f64, f64)| Run {
                seconds,
                read_bytes: Some((read * MIB) as u64),
                own_bytes: 0,
                seconds_steered: (at == 1).then_some(seconds_steered),
                reason: (at == 1).then(|| "no turn of the cache is over".to_owned()),
            };
            Outcome {
                name: candidates[at].to_string(),
                runs: figures[at].iter().map(run).collect(),
                seconds: gain(&|run| run.0),
                read_bytes: Some(gain(&|run| run.1 * MIB)),
            }
        };
        (0..3).map(outcome).collect()
    }

    fn concluded(figures: [[(f64, f64); 3]; 3]) -> (String, Option<String>) {
        let candidates = candidates();
        let (text, best) = conclusion(&outcomes(figures, 0.0), &candidates, 500 << 20);
        (text, best.map(ToString::to_string))
    }

    const KERNEL: [(f64, f64); 3] = [(10.0, 1000.0), (10.2, 1000.0), (9.8, 1000.0)];
    const STEERED: [(f64, f64); 3] = [(6.0, 600.0), (6.1, 601.0), (5.9, 599.0)];
    const MORE: [(f64, f64); 3] = [(4.0, 500.0), (4.1, 500.0), (3.9, 501.0)];

    #[test]
    fn steering_goes_before_memory_and_nothing_is_recommended_by_chance() {
        let (text, best) = concluded([KERNEL, STEERED, MORE]);
        assert!(
            text.starts_with("Use steer lirs: it saves 4.00 of 10.00 s (40.00 %). memory 512M saves 6.00"),
            "{text}"
        );
        assert_eq!(best.as_deref(), Some("steer lirs"));
        let (text, best) = concluded([KERNEL, KERNEL, MORE]);
        assert!(text.contains("Use memory 512M") && text.contains("never steered: no turn"), "{text}");
        assert_eq!(best.as_deref(), Some("memory 512M"));
        // Less time for as many bytes is chance.
        let lucky = STEERED.map(|(seconds, _)| (seconds, 1000.0));
        let (text, best) = concluded([KERNEL, lucky, KERNEL]);
        assert!(best.is_none() && text.starts_with("Nothing helps: no candidate reads significantly less"), "{text}");
        // Fewer bytes in the same time are not a gain either.
        let slow = STEERED.map(|(seconds, read)| (seconds + 4.0, read));
        let (text, best) = concluded([KERNEL, slow, KERNEL]);
        assert!(best.is_none() && text.starts_with("No significant gain: steer lirs reads 400M less"), "{text}");
        let spread = [(2.0, 600.0), (12.0, 600.0), (6.0, 600.0)];
        assert!(concluded([KERNEL, spread, KERNEL]).1.is_none(), "the interval includes zero");
    }

    #[test]
    fn the_reason_says_whether_anything_is_read_again() {
        let (text, _) = concluded([KERNEL; 3]);
        assert!(text.contains("repeated reads do not fit"), "{text}");
        let once = KERNEL.map(|(seconds, _)| (seconds, 500.0));
        let (text, _) = concluded([once; 3]);
        assert!(text.contains("nearly all is read for the first time"), "{text}");
    }

    /// A program that serves the files: seconds decide.
    #[test]
    fn where_bytes_are_not_counted_seconds_decide() {
        let candidates = vec![Candidate::Kernel, Candidate::Mounted(150 << 20), Candidate::Memory(512 << 20)];
        let uncounted = |figures| {
            let mut outcomes = outcomes(figures, 0.0);
            for (outcome, candidate) in outcomes.iter_mut().zip(&candidates) {
                outcome.read_bytes = None;
                outcome.name = candidate.to_string();
            }
            outcomes
        };
        let gained = uncounted([KERNEL, STEERED, KERNEL]);
        let (text, best) = conclusion(&gained, &candidates, 500 << 20);
        assert!(text.starts_with("Use mount: it saves 4.00 of 10.00 s"), "{text}");
        let line = permanent(best.unwrap(), 256 << 20, &["/srv".into()], "cat x");
        assert!(line.starts_with("hotset mount /srv MOUNTPOINT --memory 150M --daemon"), "{line}");
        assert!(table(&gained).to_string().contains("not counted"));
        let (text, best) = conclusion(&uncounted([KERNEL; 3]), &candidates, 500 << 20);
        assert!(best.is_none() && text.starts_with("Nothing helps: no candidate is significantly faster"), "{text}");
    }

    #[test]
    fn the_line_to_keep_has_the_exact_size() {
        let candidates = candidates();
        let line = |at: usize, memory| permanent(&candidates[at], memory, &["/srv/a b".into()], "cat x");
        assert_eq!(line(1, 256 << 20), "hotset steer '/srv/a b' --policy lirs --memory 256M -- cat x");
        assert!(line(1, (256 << 20) + 1).contains("--memory 268435457 "));
        assert_eq!(line(2, 256 << 20), "systemd-run --scope -p MemoryMax=512M cat x");
    }
}
