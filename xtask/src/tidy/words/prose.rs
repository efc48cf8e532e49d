//! The prose of a file as sentences of words: Markdown outside code, comments, and string literals of three words or
//! more.

use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};
use xtask::SourceFile;

/// Shorter string literals are names and keys, not prose.
const LITERAL_WORDS: usize = 3;

/// One sentence, or a heading, list item or table cell.
#[derive(Debug, Default, PartialEq)]
pub struct Sentence {
    pub words: Vec<Word>,
    pub is_question: bool,
}

/// One word in lower case, without punctuation around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub line: usize,
    pub text: String,
}

/// All sentences of a file; none for a kind of file that has no known comments.
pub fn sentences(file: &SourceFile) -> Vec<Sentence> {
    let mut prose = Prose::default();
    match file.path.rsplit('.').next() {
        Some("md") => prose.markdown(file.text()),
        Some("rs") => {
            prose.comments(file.text(), &["//!", "///", "//"]);
            prose.rust_literals(file.text());
        }
        Some("ts" | "c" | "h") => {
            prose.comments(file.text(), &["//", "/*", "*/", "* "]);
            prose.quoted(file.text());
        }
        Some("py") => {
            prose.comments(file.text(), &["#"]);
            prose.docstrings(file.text());
            prose.quoted(file.text());
        }
        Some("sh" | "toml") => {
            prose.comments(file.text(), &["#"]);
            prose.quoted(file.text());
        }
        _ => {}
    }
    prose.end();
    prose.sentences
}

/// Lines of Markdown outside code fences, from 1.
pub fn markdown_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((number, line))
    })
}

#[derive(Default)]
struct Prose {
    sentences: Vec<Sentence>,
    open: Sentence,
    /// An inline code span may go on in the next line of a paragraph.
    in_code: bool,
}

impl Prose {
    fn markdown(&mut self, text: &str) {
        for (number, line) in markdown_lines(text) {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', '|', '-', '*', '<']) {
                self.end();
            }
            if line.starts_with('|') {
                for cell in line.split('|') {
                    self.line(number, cell);
                    self.end();
                }
            } else {
                self.line(number, line);
            }
        }
        self.end();
    }

    /// Comments that have a line to themselves, joined while lines follow each other, and those behind code.
    fn comments(&mut self, text: &str, marks: &[&str]) {
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            match marks.iter().find_map(|mark| line.strip_prefix(mark)) {
                Some(comment) if comment.trim().is_empty() => self.end(),
                Some(comment) => self.line(number, comment),
                None => {
                    self.end();
                    if let Some((_, comment)) = marks.last().and_then(|mark| line.split_once(&format!(" {mark} "))) {
                        self.line(number, comment);
                        self.end();
                    }
                }
            }
        }
        self.end();
    }

    fn rust_literals(&mut self, text: &str) {
        // The layout check reports a file that is not Rust.
        let Ok(tokens) = TokenStream::from_str(text) else { return };
        let lines: Vec<&str> = text.lines().collect();
        self.tokens(tokens, &lines);
    }

    fn tokens(&mut self, tokens: TokenStream, lines: &[&str]) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream(), lines),
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let line = literal.span().start().line;
                    let is_comment = lines.get(line.wrapping_sub(1)).is_some_and(|l| l.trim_start().starts_with("//"));
                    if text.contains('"') && !is_comment {
                        self.literal(line, &text);
                    }
                }
                _ => {}
            }
        }
    }

    fn docstrings(&mut self, text: &str) {
        let mut line = 1;
        for (index, part) in text.split("\"\"\"").enumerate() {
            if index % 2 == 1 {
                self.literal(line, part);
            }
            line += part.matches('\n').count();
        }
    }

    /// Literals within one line.
    fn quoted(&mut self, text: &str) {
        for (line, number) in text.lines().zip(1..) {
            for part in line.split('"').skip(1).step_by(2) {
                self.literal(number, part);
            }
        }
    }

    fn literal(&mut self, line: usize, text: &str) {
        let words = text.split_whitespace().filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1);
        if words.count() < LITERAL_WORDS {
            return;
        }
        for (part, number) in text.lines().zip(line..) {
            if part.trim().is_empty() {
                self.end();
            }
            for sentence in part.split("\\n") {
                self.line(number, sentence);
            }
        }
        self.end();
    }

    /// Adds the words of one line to the open sentence, ending it at each `.`, `:`, `;`, `?` and `!`.
    fn line(&mut self, line: usize, text: &str) {
        for (index, span) in text.split('`').enumerate() {
            if index > 0 {
                self.in_code = !self.in_code;
            }
            if self.in_code {
                // A noun takes the place of code, so that words on its two sides are not neighbours.
                self.push(line, "`");
                continue;
            }
            for token in span.split(|sign: char| sign.is_whitespace() || sign == '—' || sign == '(') {
                let word = token.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
                if !word.is_empty() {
                    self.push(line, &word);
                }
                let last = token.trim_end_matches(['"', ')', '*', '_', '\\', ',']).chars().next_back();
                if let Some('.' | ':' | ';' | '?' | '!') = last {
                    self.open.is_question = last == Some('?');
                    self.close();
                } else if token.ends_with(',') {
                    self.push(line, ",");
                }
            }
        }
    }

    fn push(&mut self, line: usize, text: &str) {
        self.open.words.push(Word { line, text: text.to_owned() });
    }

    fn close(&mut self) {
        let sentence = std::mem::take(&mut self.open);
        if !sentence.words.is_empty() {
            self.sentences.push(sentence);
        }
    }

    /// Ends a paragraph.
    fn end(&mut self) {
        self.in_code = false;
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() };
        let one = |sentence: Sentence| {
            let words: Vec<String> = sentence.words.into_iter().map(|word| word.text).collect();
            format!("{}{}", words.join(" "), if sentence.is_question { "?" } else { "" })
        };
        sentences(&file).into_iter().map(one).collect()
    }

    #[test]
    fn markdown_is_prose_outside_code() {
        let text = "# A head\n\nOne line\ngoes `on\nhere` now. Why?\n\n```\nno prose\n```\n| a b | c |\n";
        assert_eq!(found("a.md", text), ["a head", "one line goes ` ` now", "why?", "a b", "c"]);
    }

    #[test]
    fn comments_are_joined_and_literals_of_three_words_count() {
        let text = "/// Goes on\n/// here.\nfn f() {\n    g(\"a key\", \"a b\\\n      cc dd ee\"); // behind it\n}\n";
        assert_eq!(found("a.rs", text), ["goes on here", "behind it", "a b cc dd ee"]);
        assert_eq!(
            found("a.py", "# A comment\nx = \"\"\"One two\n\nthree.\"\"\"\n"),
            ["a comment", "one two", "three"]
        );
        assert_eq!(found("a.bin", "one two three"), [""; 0]);
    }
}
