//! Files of classes.

use std::path::Path;

use hotset_core::classify::Rules;

use crate::failure::Failure;
use crate::text_file;

/// Reads the user's classes.
pub(crate) fn read(path: &Path) -> Result<Rules, Failure> {
    let name = path.display();
    let text = text_file::read(path)?;
    Rules::from_toml(&text).map_err(|error| Failure::Usage(error.locate(&name.to_string(), &text)))
}
