//! The result of a trial in words.

use comfy_table::Table;
use hotset_steer::{Gain, Verdict};

use super::runs::{Candidate, Outcome};
use crate::output::{human, table};

/// Share of the seconds that a candidate must save to be recommended.
const LEAST: f64 = 0.05;

/// Means of each candidate with what it saves.
pub(super) fn table(outcomes: &[Outcome]) -> Table {
    let mut table = table::numbers(&["", "seconds", "saved (95 %)", "read", "saved (95 %)"], 1..);
    for (at, outcome) in outcomes.iter().enumerate() {
        let seconds = |value: f64| format!("{value:.2}");
        let bytes = |value: f64| format!("{}{}", if value < 0.0 { "-" } else { "" }, human::bytes(value.abs() as u64));
        let of = |gain: &Option<Gain>, show: &dyn Fn(f64) -> String| {
            let Some(gain) = gain else { return [String::new(), String::new()] };
            let half = gain.half.map_or(String::new(), |half| format!(" ± {}", show(half)));
            [show(gain.steered), if at == 0 { String::new() } else { format!("{}{half}", show(gain.saved)) }]
        };
        let cells = [of(&outcome.seconds, &seconds), of(&outcome.read_bytes, &bytes)].concat();
        table.add_row(std::iter::once(outcome.name.clone()).chain(cells));
    }
    table
}

/// What to do in a sentence, and the candidate to keep: the quickest whose gain is significant. More memory is only
/// recommended where steering gains nothing.
pub(super) fn conclusion<'a>(outcomes: &[Outcome], candidates: &'a [Candidate]) -> (String, Option<&'a Candidate>) {
    let gains = |outcome: &Outcome| {
        let gain = outcome.seconds?;
        (gain.verdict() == Verdict::Gained && gain.saved >= LEAST * gain.kernel).then_some(gain)
    };
    let best = |steered: bool| {
        let all = candidates.iter().zip(outcomes).skip(1);
        let these = all.filter(|(candidate, _)| matches!(candidate, Candidate::Steered(_)) == steered);
        let gained = these.filter_map(|(candidate, outcome)| Some((candidate, outcome, gains(outcome)?)));
        gained.max_by(|one, other| one.2.saved.total_cmp(&other.2.saved))
    };
    if let Some((candidate, outcome, gain)) = best(true).or_else(|| best(false)) {
        let (saved, kernel) = (gain.saved, gain.kernel);
        let share = human::percent(saved / kernel);
        let text = format!("Use {}: it saves {saved:.2} of {kernel:.2} s ({share} %).", outcome.name);
        return (text, Some(candidate));
    }
    let pairs = outcomes.first().map_or(0, |outcome| outcome.runs.len());
    let text = match outcomes.first().and_then(|outcome| outcome.read_bytes) {
        _ if pairs < 2 => "Nothing can be concluded from one round: give a longer --budget.".to_owned(),
        Some(read) if read.kernel < f64::from(1 << 20) => {
            "Nothing helps: the command reads less than 1M from storage.".to_owned()
        }
        _ => "Nothing helps: no candidate saves 5 % of the seconds significantly; more --runs give a smaller interval."
            .to_owned(),
    };
    (text, None)
}
