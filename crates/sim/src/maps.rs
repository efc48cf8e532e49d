//! What a mapped file range counts as.

/// What is read of a mapped range is invisible to system calls: which ranges count as reads of all their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maps {
    /// Those of which a recording knows what was touched. None does yet, so all are left out, and a remark of the
    /// reader says how much that is.
    #[default]
    Auto,
    /// All.
    All,
    /// None.
    None,
}

impl Maps {
    /// True if mapped ranges count.
    pub fn count(self) -> bool {
        self == Maps::All
    }

    /// What a user should be told who did not choose, where mappings of so many bytes are left out.
    pub(crate) fn remark(self, bytes: u64) -> Option<String> {
        const UNITS: [&str; 5] = ["B", "K", "M", "G", "T"];
        let is_told = self == Maps::Auto && bytes > 0;
        let mut unit = 0;
        while unit + 1 < UNITS.len() && bytes >> (10 * (unit + 1)) >= 10 {
            unit += 1;
        }
        is_told.then(|| {
            format!(
                "mappings of {}{} are left out, since nothing tells what was touched of them (--maps all counts each as a read of its whole range)",
                bytes >> (10 * unit),
                UNITS[unit]
            )
        })
    }
}
