//! Values that options of several commands have: texts written by hand, classes, storage models, applications.

use std::fs::File;
use std::io::{Error, Read};
use std::path::Path;

use clap::ValueEnum;
use hotset_core::classify::Rules;
use hotset_core::storage::StorageModel;
use hotset_core::words::reason;
use hotset_mount::AppBy;

use crate::failure::Failure;

/// The longest such file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads a text that a user writes by hand.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let cannot = |error: Error| Failure::Work(format!("{name}: cannot read it: {}", reason(&error)));
    let mut text = String::new();
    File::open(path).map_err(cannot)?.take(LONGEST + 1).read_to_string(&mut text).map_err(cannot)?;
    match text.len() as u64 > LONGEST {
        true => Err(Failure::Work(format!("{name}: it is longer than 1 MiB: expected a text written by hand"))),
        false => Ok(text),
    }
}

/// Reads the user's classes.
pub(crate) fn classes(path: &Path) -> Result<Rules, Failure> {
    let name = path.display();
    let rules = text(path)?;
    Rules::from_toml(&rules).map_err(|error| Failure::Usage(error.locate(&name.to_string(), &rules)))
}

/// The model whose words stand at `place`, if any do.
pub(crate) fn storage(place: &str, text: Option<&str>) -> Result<Option<StorageModel>, Failure> {
    let parse = |text| StorageModel::parse(text).map_err(|error| Failure::spec(place, text, &error));
    text.map(parse).transpose()
}

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
