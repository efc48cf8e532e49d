//! What becomes of blocks of files that are deleted or cut.

use serde::{Deserialize, Serialize};

/// Whether a file that is deleted, replaced or cut loses its blocks. Schemes with inodes see these events in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deletes {
    /// They leave every cache at once, and are not written; their places are free.
    #[default]
    Apply,
    /// They stay until they are evicted, as in counts of the literature.
    Ignore,
}

impl Deletes {
    /// True if they leave.
    pub fn apply(self) -> bool {
        self == Deletes::Apply
    }
}
