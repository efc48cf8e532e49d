//! Why a spec was refused, and how the place is shown to the user.

use std::fmt;
use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Why a spec was refused. `at` is a byte range of the text that the user wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// The problem, the expectation and the remedy: one sentence.
    pub message: String,
    /// The place in the text, if the error has one.
    pub at: Option<Range<usize>>,
}

impl SpecError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> SpecError {
        SpecError { message: message.into(), at: None }
    }

    /// The same error at a place; one that already has a place keeps it.
    #[must_use]
    pub fn at(self, place: Range<usize>) -> SpecError {
        SpecError { at: self.at.or(Some(place)), ..self }
    }

    /// The message, and below it the part of `text` that is meant with a line of carets under the place.
    /// `text` is what was parsed.
    pub fn render(&self, text: &str) -> String {
        let parts =
            self.at.clone().and_then(|at| Some((text.get(..at.start)?, text.get(at.clone())?, text.get(at.end..)?)));
        let Some((before, inside, after)) = parts else { return self.message.clone() };
        let (before, inside, after) = (last_columns(before, 60), first_columns(inside, 40), first_columns(after, 30));
        let (indent, carets) = (" ".repeat(before.width()), "^".repeat(inside.width().max(1)));
        format!("{}\n  {before}{inside}{after}\n  {indent}{carets}", self.message)
    }

    /// The message of an error in a file of several lines, with its line and the text there. `text` is what was
    /// parsed.
    pub fn locate(&self, name: &str, text: &str) -> String {
        let Some(place) = &self.at else { return format!("{name}: {self}") };
        let before = text.get(..place.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let said = text.lines().nth(line - 1).unwrap_or_default().trim();
        format!("{name}, line {line}: {}\n  {said}", self.message)
    }
}

/// The text as an error message quotes it: in double quotes, escaped, and cut when it is long.
pub(crate) fn quote(text: &str) -> impl fmt::Display {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// As many leading characters as fit, `…` standing for the rest.
fn first_columns(text: &str, columns: usize) -> String {
    clip(text.chars(), columns).collect()
}

/// As many trailing characters as fit, `…` standing for the rest.
fn last_columns(text: &str, columns: usize) -> String {
    let mut kept: Vec<char> = clip(text.chars().rev(), columns).collect();
    kept.reverse();
    kept.into_iter().collect()
}

fn clip(chars: impl Iterator<Item = char>, columns: usize) -> impl Iterator<Item = char> {
    let mut room = columns;
    let mut clipped = false;
    chars.map_while(move |c| {
        let shown = if c.is_control() { '·' } else { c };
        let width = shown.width().unwrap_or(0);
        if clipped {
            return None;
        }
        clipped = width > room;
        room = room.saturating_sub(width);
        Some(if clipped { '…' } else { shown })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_the_place() {
        let error = SpecError::new("no such policy").at(4..7);
        assert_eq!(error.render("lru,acr(x)"), "no such policy\n  lru,acr(x)\n      ^^^");
        assert_eq!(SpecError::new("ends early").at(3..3).render("lru"), "ends early\n  lru\n     ^");
    }

    #[test]
    fn wide_and_control_characters_keep_the_carets_in_place() {
        let text = "缓存\t,x";
        let error = SpecError::new("no").at(text.len() - 1..text.len());
        assert_eq!(error.render(text), "no\n  缓存·,x\n        ^");
    }

    #[test]
    fn long_texts_are_cut_around_the_place() {
        let text = format!("{}bad{}", "a,".repeat(100), ",b".repeat(100));
        let shown = SpecError::new("no").at(200..203).render(&text);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with("  …") && lines[1].ends_with('…'), "{shown}");
        assert_eq!(lines[1].chars().skip(lines[2].find('^').unwrap()).take(3).collect::<String>(), "bad");
        assert_eq!(quote(&text).to_string().chars().count(), 43);
    }

    #[test]
    fn a_place_outside_the_text_is_left_out() {
        assert_eq!(SpecError::new("no").at(5..9).render("lru"), "no");
        assert_eq!(SpecError::new("no").at(1..2).render("ü"), "no");
    }
}
