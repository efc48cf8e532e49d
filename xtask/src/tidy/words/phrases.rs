//! Constructions that a reader has to decode, with the advice for each.

use super::super::Finding;
use super::prose::Sentence;

/// The rules: an advice a line, its phrases indented below, sentences that break it behind `>`, or keep it behind `<`.
///
/// A phrase is a list of words with alternatives: `|` separates them, `^` in front means the start of a sentence that
/// is not a question, and `!` in front means any word but these.
const RULES: &str = include_str!("../../../phrases.txt");

/// Each phrase with the advice of its rule.
fn phrases() -> impl Iterator<Item = (&'static str, &'static str)> {
    let advise = |advice: &mut &'static str, line: &'static str| match line.strip_prefix("    ") {
        Some(phrase) => Some(Some((*advice, phrase))),
        None if line.starts_with(['<', '>']) => Some(None),
        None => {
            *advice = line;
            Some(None)
        }
    };
    RULES.lines().scan("", advise).flatten()
}

/// Every phrase of the rules in `sentences`.
pub fn find(path: &str, sentences: &[Sentence]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sentence in sentences {
        for (advice, phrase) in phrases() {
            let starts = (0..sentence.words.len()).filter(|&at| matches(phrase, sentence, at));
            findings.extend(starts.map(|at| {
                let length = phrase.split(' ').count();
                let words: Vec<&str> = sentence.words[at..at + length].iter().map(|word| word.text.as_str()).collect();
                Finding::new(path, sentence.words[at].line, format!("\"{}\": {advice}", words.join(" ")))
            }));
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn matches(phrase: &str, sentence: &Sentence, at: usize) -> bool {
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
        let examples: Vec<&str> = RULES.lines().filter_map(|line| line.strip_prefix("> ")).collect();
        assert!(examples.len() >= RULES.lines().filter(|line| !line.starts_with([' ', '<', '>'])).count());
        for text in examples {
            assert_eq!(found(text), 1, "{text}");
        }
    }

    #[test]
    fn plain_english_passes() {
        for text in RULES.lines().filter_map(|line| line.strip_prefix("< ")) {
            assert_eq!(found(text), 0, "{text}");
        }
        for text in [
            "Users who read this may stop.",
            "Who asks?",
            "What is dirty?",
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
