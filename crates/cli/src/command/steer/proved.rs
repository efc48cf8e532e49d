//! The result of a proof as text.

use hotset_steer::{Gain, Proven, SHORTEST, TURNS, Verdict};

use crate::output::human;

/// Returns the lines of the result.
pub(crate) fn lines(proof: &Proven) -> Vec<String> {
    let Some(read) = proof.read else {
        return vec![format!(
            "no result: no pair of phases was completed; run for longer (a phase takes {TURNS} turns of the cache, at least {} s)",
            TURNS * SHORTEST / 1_000_000_000
        )];
    };
    let verdict = match proof.verdict {
        Verdict::Gained => "steering gains here",
        Verdict::Nothing => "the difference is not significant",
        Verdict::Lost => "steering loses here",
        Verdict::Unknown => "one pair has no confidence interval; run for longer",
    };
    let pairs = human::counted_as(proof.pairs as u64, "pair", "pairs");
    let mut lines = vec![format!(
        "{pairs} of phases: read from storage per byte referenced: kernel alone {} %, steered {} %, {} points less; {verdict}",
        human::percent(read.kernel),
        human::percent(read.steered),
        difference(&read, 100.0),
    )];
    if let Some(waited) = proof.waited {
        let waiting = if proof.waited_by_group { "the group" } else { "processes of this machine" };
        lines.push(format!(
            "{waiting} waited for storage per GiB referenced: kernel alone {:.2} s, steered {:.2} s, {} s less",
            waited.kernel,
            waited.steered,
            difference(&waited, 1.0),
        ));
    }
    lines
}

/// The difference with its interval, where there is one.
fn difference(gain: &Gain, scale: f64) -> String {
    let half = gain.half.map_or(String::new(), |half| format!(" ± {:.2} (95 %)", half * scale));
    format!("{:.2}{half}", gain.saved * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(saved: f64, half: Option<f64>) -> String {
        let read = Gain { kernel: 1.0, steered: 1.0 - saved, saved, half };
        let proof = Proven {
            pairs: if half.is_some() { 4 } else { 1 },
            verdict: read.verdict(),
            read: Some(read),
            waited: Some(Gain { kernel: 9.5, steered: 4.25, saved: 5.25, half }),
            waited_by_group: false,
            phases: Vec::new(),
        };
        lines(&proof).join("\n")
    }

    #[test]
    fn gains_losses_and_missing_results_are_stated() {
        let text = text_of(0.5, Some(0.013));
        assert!(text.starts_with("4 pairs of phases") && text.contains("50.00 ± 1.30 (95 %) points less"), "{text}");
        assert!(text.contains("steering gains here") && text.contains("processes of this machine waited"), "{text}");
        assert!(text_of(0.01, Some(0.013)).contains("not significant"));
        assert!(text_of(-0.5, Some(0.013)).contains("steering loses here"));
        assert!(text_of(0.5, None).contains("1 pair of phases") && text_of(0.5, None).contains("run for longer"));
    }
}
