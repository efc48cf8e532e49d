//! Rankings, and their lengths.

use serde::Serialize;

/// The default length of each ranking.
pub const USUAL: usize = 10;

/// What requests are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The file.
    File,
    /// The directory that the file is in.
    Dir,
    /// The application.
    App,
    /// The kind of what is touched, or the trace's own word for it.
    Class,
    /// The object, where a trace names objects by ids.
    Object,
}

impl By {
    /// As the command spells it.
    pub fn name(self) -> &'static str {
        match self {
            By::File => "file",
            By::Dir => "dir",
            By::App => "app",
            By::Class => "class",
            By::Object => "object",
        }
    }
}

/// The parts of a trace that are ranked by references, and the length of the ranking.
#[derive(Clone, Copy, Debug)]
pub struct Ranking {
    /// The length of each ranking.
    pub top: usize,
    /// One more ranking, beside those of files and applications.
    pub by: Option<By>,
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking { top: USUAL, by: None }
    }
}
