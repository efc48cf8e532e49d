//! The attribute that identifies an application, in the words of the command line.

use clap::ValueEnum;
use hotset_mount::AppBy;

/// A choice of `--app-by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The program
    Exe,
    /// The control group
    Cgroup,
    /// The user
    Uid,
    /// The process
    Pid,
}

impl From<By> for AppBy {
    fn from(by: By) -> AppBy {
        match by {
            By::Exe => AppBy::Exe,
            By::Cgroup => AppBy::Cgroup,
            By::Uid => AppBy::Uid,
            By::Pid => AppBy::Pid,
        }
    }
}
