//! Tells the class of each request of a stream.

use super::rules::Checked;
use super::{Class, Rules};
use crate::request::{Kind, Op, Request};

/// Facts of the file that a request is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileFacts<'a> {
    /// Its path; empty if unknown.
    pub path: &'a str,
    /// Its size in bytes at the request.
    pub size: Option<u64>,
    /// Its kind, if the request does not name it.
    pub kind: Kind,
    /// Name of the application that asks; empty if unknown.
    pub app: &'a str,
}

/// Rules at work on one stream of requests. Patterns are matched once for each file and application.
#[derive(Debug)]
pub struct Classifier {
    rules: Rules,
    files: Vec<Option<File>>,
    apps: Vec<Option<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct File {
    /// The rules whose patterns match the path, one bit each.
    matches: u64,
    /// The class that the file stays in.
    stuck: Option<Class>,
}

impl Classifier {
    /// Nothing has been asked yet.
    pub fn new(rules: Rules) -> Classifier {
        Classifier { rules, files: Vec::new(), apps: Vec::new() }
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The class of `request`. The facts of a file are asked for by its number in the request and must not change, but
    /// for its size.
    pub fn class(&mut self, request: &Request, facts: &FileFacts) -> Class {
        let file = self.file(request.file, facts);
        if let Some(class) = file.stuck {
            return class;
        }
        let mut fitting = file.matches & self.app(request.app, facts);
        while fitting != 0 {
            let checked = &self.rules.rules()[fitting.trailing_zeros() as usize];
            if fits(checked, request, facts) {
                let class = checked.class;
                if checked.rule.sticks {
                    self.files[request.file as usize] = Some(File { stuck: Some(class), ..file });
                }
                return class;
            }
            fitting &= fitting - 1;
        }
        self.rules.other()
    }

    /// The number of a file may be another file's from now on.
    pub fn forget_file(&mut self, number: u32) {
        self.files.get_mut(number as usize).into_iter().for_each(|file| *file = None);
    }

    /// The number of an application may be another one's from now on.
    pub fn forget_app(&mut self, number: u32) {
        self.apps.get_mut(number as usize).into_iter().for_each(|app| *app = None);
    }

    fn file(&mut self, number: u32, facts: &FileFacts) -> File {
        let rules = &self.rules;
        *entry(&mut self.files, number).get_or_insert_with(|| {
            let matches = bits(rules, |checked| checked.rule.files.is_empty() || checked.files.is_match(facts.path));
            File { matches, stuck: None }
        })
    }

    fn app(&mut self, number: u32, facts: &FileFacts) -> u64 {
        let rules = &self.rules;
        *entry(&mut self.apps, number).get_or_insert_with(|| {
            bits(rules, |checked| checked.rule.apps.is_empty() || checked.apps.is_match(facts.app))
        })
    }
}

fn entry<T: Clone>(table: &mut Vec<Option<T>>, number: u32) -> &mut Option<T> {
    let number = number as usize;
    if number >= table.len() {
        table.resize(number + 1, None);
    }
    &mut table[number]
}

/// One bit for each rule that fulfils `test`.
fn bits(rules: &Rules, test: impl Fn(&Checked) -> bool) -> u64 {
    rules.rules().iter().enumerate().fold(0, |bits, (number, checked)| bits | u64::from(test(checked)) << number)
}

/// What of a rule can change from request to request.
fn fits(checked: &Checked, request: &Request, facts: &FileFacts) -> bool {
    let rule = &checked.rule;
    let kind = if request.kind() == Kind::Unknown { facts.kind } else { request.kind() };
    let size_fits = match facts.size {
        Some(size) => size >= rule.min_size.unwrap_or(0) && size <= rule.max_size.unwrap_or(u64::MAX),
        None => rule.min_size.is_none() && rule.max_size.is_none(),
    };
    size_fits
        && (rule.kinds.is_empty() || rule.kinds.contains(&kind))
        && rule.writes.is_none_or(|writes| writes == (request.op() == Op::Write))
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::*;

    fn request(file: u32, op: Op) -> Request {
        Request { file, op: op as u8, ..Request::default() }
    }

    #[test]
    fn the_first_rule_that_fits_wins_and_the_rest_is_other() {
        let rules = vec![
            Rule { class: "big".into(), min_size: Some(100), ..Rule::default() },
            Rule { class: "picture".into(), files: vec!["*.png".into()], ..Rule::default() },
        ];
        let mut classifier = Classifier::new(Rules::new(rules).unwrap());
        let mut class = |file, path, size| {
            let facts = FileFacts { path, size, ..FileFacts::default() };
            classifier.class(&request(file, Op::Read), &facts)
        };
        assert_eq!(class(0, "/a/b.PNG", Some(99)), 1);
        assert_eq!(class(0, "/a/b.PNG", Some(100)), 0, "the size is that of the moment");
        assert_eq!(class(1, "/a/png", None), 2);
        assert_eq!(class(2, "b.png", None), 1);
    }

    #[test]
    fn a_file_that_was_written_stays_what_it_became() {
        let rule = Rule { class: "output".into(), writes: Some(true), sticks: true, ..Rule::default() };
        let mut classifier = Classifier::new(Rules::new(vec![rule]).unwrap());
        let facts = FileFacts::default();
        let ops = [Op::Read, Op::Write, Op::Read];
        assert_eq!(ops.map(|op| classifier.class(&request(5, op), &facts)), [1, 0, 0]);
        assert_eq!(classifier.class(&request(4, Op::Read), &facts), 1);
    }

    #[test]
    fn applications_and_kinds_are_told_apart() {
        let rules = vec![
            Rule { class: "db".into(), apps: vec!["postgres*".into()], ..Rule::default() },
            Rule { class: "program".into(), kinds: vec![Kind::Executable], ..Rule::default() },
        ];
        let mut classifier = Classifier::new(Rules::new(rules).unwrap());
        let mut class = |app_number, app, kind| {
            let facts = FileFacts { app, kind, ..FileFacts::default() };
            classifier.class(&Request { app: app_number, ..request(0, Op::Read) }, &facts)
        };
        assert_eq!(class(0, "postgres: writer", Kind::Unknown), 0);
        assert_eq!(class(1, "cc1", Kind::Executable), 1);
        assert_eq!(class(1, "cc1", Kind::Datafile), 2);
    }
}
