//! Files of classes.

use std::path::Path;

use hotset_core::classify::Rules;
use hotset_core::spec::SpecError;

use crate::failure::Failure;
use crate::text_file;

/// Reads the user's classes.
pub(crate) fn read(path: &Path) -> Result<Rules, Failure> {
    let name = path.display();
    let text = text_file::read(path)?;
    Rules::from_toml(&text).map_err(|error| Failure::Usage(located(&name.to_string(), &text, &error)))
}

/// An error in a file of several lines, with its line and what stands there.
fn located(name: &str, text: &str, error: &SpecError) -> String {
    let Some(place) = &error.at else { return format!("{name}: {error}") };
    let before = text.get(..place.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let said = text.lines().nth(line - 1).unwrap_or_default().trim();
    format!("{name}, line {line}: {}\n  {said}", error.message)
}
