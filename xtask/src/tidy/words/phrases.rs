//! Constructions that a reader has to decode, with the advice for each.

use super::super::Finding;
use super::prose::Sentence;

/// A phrase is a list of words with alternatives: `|` separates them, `^` in front means the start of a sentence that
/// is not a question, and `!` in front means any word but these.
type Phrase = &'static str;

const RULES: [(&str, &[Phrase]); 6] = [
    (
        "name the actor: the kernel, the policy, the caller, the user",
        &[
            "whoever|whosoever|nobody|somebody|anybody",
            "no one",
            "^who",
            "of|by|for|to|with|as|than|if|and|or|from|what|which|whose|in who",
        ],
    ),
    (
        "programs do not speak, believe or wish: state the fact",
        &[
            "is|are|was|were|be|been|being told",
            "tell|tells|speak|speaks|hear|hears|heard of",
            "tells that|what|how|where|when|which|whether",
            "believed|believes",
            "wants|want to be",
        ],
    ),
    (
        "begin with the subject, not with a clause",
        &["^what is|was|are|were|has|have|does|comes|leaves|waits|stands|must|cannot|can|needs"],
    ),
    (
        "use the field's term (docs/internals/glossary.md)",
        &[
            "room|rooms for|of|is|that|as|each",
            "young|old end",
            "let|lets|letting go of",
            "of late",
            "in a row",
            "on paper",
            "by lot",
            "foretold|mends|mended",
            "gone through",
            "goes round",
            "go|goes without",
            "hangs|hang with|together",
        ],
    ),
    (
        "negate the verb: \"is not\", \"has no\"",
        &[
            "!there|` is|are|was|were no !longer|more|later|different",
            "none that",
            "not one",
            "has no more",
            "but for",
            "nor is|are|do|does|has",
        ],
    ),
    (
        "name the thing, or repeat the noun",
        &["that which", "such a|an one", "the like", "beside|besides it|that|them|each", "these|that alone"],
    ),
];

/// Every phrase of the rules in `sentences`.
pub fn find(path: &str, sentences: &[Sentence]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sentence in sentences {
        for (advice, phrases) in RULES {
            for phrase in phrases {
                let starts = (0..sentence.words.len()).filter(|&at| matches(phrase, sentence, at));
                findings.extend(starts.map(|at| {
                    let length = phrase.split(' ').count();
                    let words: Vec<&str> =
                        sentence.words[at..at + length].iter().map(|word| word.text.as_str()).collect();
                    Finding::new(path, sentence.words[at].line, format!("\"{}\": {advice}", words.join(" ")))
                }));
            }
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn matches(phrase: Phrase, sentence: &Sentence, at: usize) -> bool {
    let (is_start, phrase) = phrase.strip_prefix('^').map_or((false, phrase), |rest| (true, rest));
    if is_start && (at > 0 || sentence.is_question) {
        return false;
    }
    phrase.split(' ').enumerate().all(|(offset, expected)| {
        let Some(word) = sentence.words.get(at + offset) else { return false };
        match expected.strip_prefix('!') {
            Some(others) => !others.split('|').any(|other| other == word.text),
            None => expected.split('|').any(|other| other == word.text),
        }
    })
}

#[cfg(test)]
mod tests {
    use xtask::SourceFile;

    use super::super::prose::sentences;
    use super::*;

    fn found(text: &str) -> usize {
        let file = SourceFile { path: "a.md".to_owned(), bytes: text.as_bytes().to_vec() };
        find("a.md", &sentences(&file)).len()
    }

    #[test]
    fn each_rule_finds_its_construction() {
        for text in [
            "It waits for nobody.",
            "Who asks is let in.",
            "The rights of who asks count.",
            "A policy is told of it.",
            "A line tells which one failed.",
            "It is read. What is dirty is written.",
            "There is room for ten.",
            "Ten reads\nin a row.",
            "The block is no victim.",
            "That is not one of them.",
            "A row beside it.",
        ] {
            assert_eq!(found(text), 1, "{text}");
        }
    }

    #[test]
    fn plain_english_passes() {
        for text in [
            "Users who read this may stop.",
            "Who asks?",
            "What is dirty?",
            "There is no cache.",
            "It is no longer resident.",
            "Call `nobody`.",
            "```\nnobody\n```",
            "The policy is `no` victim.",
            "See what the kernel does.",
            "A room, for example.",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }

    #[test]
    fn findings_name_the_line_and_the_words() {
        let file = SourceFile { path: "a.md".to_owned(), bytes: b"One.\nIt is\ntold so.".to_vec() };
        let [finding] = &find("a.md", &sentences(&file))[..] else { panic!("expected one") };
        assert_eq!(finding.line, 2);
        assert!(finding.message.starts_with("\"is told\": "), "{}", finding.message);
    }
}
