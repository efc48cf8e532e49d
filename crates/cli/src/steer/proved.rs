//! What a proof has come to, in words.

use hotset_steer::{Gain, Proven, SHORTEST, TURNS, Verdict};

use crate::output::human;

/// Lines about what was gained, measured.
pub(super) fn lines(proof: &Proven) -> Vec<String> {
    let Some(read) = proof.read else {
        return vec![format!(
            "nothing is proved: no pair of phases, one steered and one not, was completed; a phase goes on until the kernel alone would have missed {TURNS} times what it holds, and for {} s at least",
            TURNS * SHORTEST / 1_000_000_000
        )];
    };
    let verdict = match proof.verdict {
        Verdict::Gained => "steering gains here",
        Verdict::Nothing => "nothing gained can be told, since the interval includes none",
        Verdict::Lost => "steering loses here",
        Verdict::Unknown => "a single pair has no interval, so nothing is proved: let it run for longer",
    };
    let pairs = human::counted_as(proof.pairs as u64, "pair", "pairs");
    let mut lines = vec![format!(
        "{pairs} of phases, one steered and one not: {} % of what was referenced had to be read with the kernel alone, {} % steered, {} points less: {verdict}",
        human::percent(read.kernel),
        human::percent(read.steered),
        difference(&read, 100.0),
    )];
    if let Some(waited) = proof.waited {
        let whom = if proof.waited_by_group { "the group" } else { "somebody on this machine" };
        lines.push(format!(
            "{whom} waited for storage {:.2} s for each GiB referenced with the kernel alone, {:.2} s steered, {} s less",
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

    fn told(saved: f64, half: Option<f64>) -> String {
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
    fn what_was_gained_is_said_plainly_and_what_was_not_too() {
        let text = told(0.5, Some(0.013));
        assert!(text.starts_with("4 pairs of phases") && text.contains("50.00 ± 1.30 (95 %) points less"), "{text}");
        assert!(text.contains("steering gains here") && text.contains("somebody on this machine waited"), "{text}");
        assert!(told(0.01, Some(0.013)).contains("the interval includes none"));
        assert!(told(-0.5, Some(0.013)).contains("steering loses here"));
        assert!(told(0.5, None).contains("1 pair of phases") && told(0.5, None).contains("let it run for longer"));
    }
}
