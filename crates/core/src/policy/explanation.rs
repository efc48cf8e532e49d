//! Explanations: a policy's report about the behaviour that it has learnt.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::group::{file_group, group_words};
use crate::request::Kind;
use crate::words::grouped;

/// A policy's learnt facts about some blocks, and their treatment.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The blocks.
    pub flow: Flow,
    /// Approximate share of the resident blocks, from 0 to 1.
    pub room: f64,
    /// Approximate share of recent references, from 0 to 1.
    pub references: f64,
    /// Ages in references, ascending. Each has the probability (0 to 1) that a block unused until this age is used
    /// before the next age.
    pub reuse: Vec<(u32, f64)>,
    /// How the policy treats them.
    pub treatment: Treatment,
}

/// Blocks with one kind of use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Referenced by this application.
    pub app: Option<u32>,
    /// Of files of this type, a [`file_group`](super::file_group).
    pub group: Option<u32>,
    /// Of this file, as [`Reference::file`](super::Reference::file) numbers them.
    pub file: Option<u32>,
    /// Whether their last use continued a sequential run.
    pub is_sequential: Option<bool>,
    /// How long before their last use they had been used.
    pub came: Came,
}

/// The time between a use of a block and its previous use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Came {
    /// Any time.
    #[default]
    Anyhow,
    /// No previous use is known.
    First,
    /// A previous use, this many references ago.
    After(Range<u32>),
}

/// How a policy treats blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// They stay until their next use.
    Keep,
    /// They stay for this many references; some are not used again in that time.
    KeepFor(u32),
    /// Resident blocks stay; others are bypassed or soon evicted. This holds a part of a loop that does not fit.
    KeepSome,
    /// They are bypassed if they would displace other blocks, or they are evicted first.
    LetPass,
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Treatment::Keep => write!(f, "keeps them until they are used"),
            Treatment::KeepFor(age) => write!(f, "keeps them for {} references", grouped((*age).into())),
            Treatment::KeepSome => write!(f, "keeps those that it has, lets others pass"),
            Treatment::LetPass => write!(f, "lets them pass"),
        }
    }
}

/// Names for the numbers in explanations. Unnamed items are shown by number.
pub trait Names {
    /// The name of an application.
    fn app(&self, app: u32) -> Option<String>;
    /// The name of a file.
    fn file(&self, file: u32) -> Option<String>;
    /// Paths and kinds of files, from which the names of file types are derived.
    fn files(&self) -> impl Iterator<Item = (&str, Kind)>;
}

/// An [`Explanation`] with names, for users and other programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The type of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How long before their last use its blocks had been used.
    pub came: String,
    /// Their share of the resident blocks.
    pub room_percent: f64,
    /// Their share of recent references.
    pub references_percent: f64,
    /// [`Explanation::reuse`].
    pub reuse: Vec<(u32, f64)>,
    /// How the policy treats them.
    pub treatment: Treatment,
}

impl Explained {
    /// Adds names to the explanations of a policy.
    pub fn all(told: Vec<Explanation>, names: &impl Names) -> Vec<Explained> {
        let groups = group_names(told.iter().filter_map(|told| told.flow.group).collect(), names);
        told.into_iter().map(|told| Explained::new(told, names, &groups)).collect()
    }

    fn new(told: Explanation, names: &impl Names, groups: &HashMap<u32, String>) -> Explained {
        let Explanation { flow, room, references, reuse, treatment } = told;
        let percent = |share: f64| (share * 1e4).round() / 100.0;
        let or_number = |name: Option<String>, what: &str, number| name.unwrap_or_else(|| format!("{what} {number}"));
        Explained {
            app: flow.app.map(|app| or_number(names.app(app), "application", app)),
            files: flow.group.and_then(|group| groups.get(&group).cloned()),
            file: flow.file.map(|file| or_number(names.file(file), "file", file)),
            came: came(&flow),
            room_percent: percent(room),
            references_percent: percent(references),
            reuse,
            treatment,
        }
    }

    /// Describes the blocks in words.
    pub fn whose(&self) -> String {
        let of_app = |text: &str| match &self.app {
            Some(app) => format!("{text} of {app}"),
            None => text.to_owned(),
        };
        match (&self.file, &self.files) {
            (Some(file), _) => file.clone(),
            (None, Some(files)) => of_app(files),
            (None, None) => of_app(if self.app.is_some() { "other blocks" } else { "all other blocks" }),
        }
    }
}

/// Returns words for types of files. Each type is named after its first file.
fn group_names(mut wanted: HashSet<u32>, known: &impl Names) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for (path, kind) in known.files() {
        if wanted.is_empty() {
            break;
        }
        let group = file_group(path, kind);
        if wanted.remove(&group) {
            names.insert(group, group_words(path, kind));
        }
    }
    names
}

/// Describes in words how long before their last use blocks had been used.
fn came(flow: &Flow) -> String {
    let when = match &flow.came {
        Came::Anyhow => "used at any time".to_owned(),
        Came::First => "first use".to_owned(),
        Came::After(ages) if ages.end == u32::MAX => format!("used after {} or more", grouped(ages.start.into())),
        Came::After(ages) => format!("used after {} to {}", grouped(ages.start.into()), grouped((ages.end - 1).into())),
    };
    match flow.is_sequential {
        Some(true) => when + ", in sequence",
        _ => when,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Names for Known {
        fn app(&self, app: u32) -> Option<String> {
            (app == 0).then(|| "cc1".to_owned())
        }

        fn file(&self, _: u32) -> Option<String> {
            None
        }

        fn files(&self) -> impl Iterator<Item = (&str, Kind)> {
            [("/bin/ls", Kind::Executable), ("/usr/include/stdio.h", Kind::Datafile)].into_iter()
        }
    }

    #[test]
    fn flows_are_told_in_words() {
        let group = Some(file_group("a.h", Kind::Datafile));
        let flow = Flow { app: Some(0), group, is_sequential: Some(true), came: Came::First, file: None };
        let told = Explanation {
            flow,
            room: 0.12345,
            references: 0.5,
            reuse: Vec::new(),
            treatment: Treatment::KeepFor(4096),
        };
        let named = |told: Explanation| Explained::all(vec![told], &Known).remove(0);
        let explained = named(told.clone());
        assert_eq!((explained.whose(), explained.room_percent), (".h files of cc1".to_owned(), 12.35));
        assert_eq!(explained.came, "first use, in sequence");
        assert_eq!(explained.treatment.to_string(), "keeps them for 4,096 references");
        let of = |flow: Flow| named(Explanation { flow, ..told.clone() });
        assert_eq!(of(Flow { file: Some(3), app: Some(1), ..Flow::default() }).whose(), "file 3");
        assert_eq!(of(Flow { app: Some(1), ..Flow::default() }).whose(), "other blocks of application 1");
        let after = |ages| of(Flow { came: Came::After(ages), ..Flow::default() });
        assert_eq!(after(1024..4096).came, "used after 1,024 to 4,095");
        assert_eq!(
            (after(1 << 18..u32::MAX).came, after(1..4).whose()),
            ("used after 262,144 or more".into(), "all other blocks".into())
        );
    }
}
