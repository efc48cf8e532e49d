//! Settings as messages name them. A library names a setting by its identifier, and each front end spells it in its
//! own way.

use std::fmt::{self, Display, Formatter};
use std::sync::OnceLock;

/// Spells a setting of this name, with a value where a message proposes one.
pub type Spelling = fn(name: &str, value: Option<&str>) -> String;

static SPELLING: OnceLock<Spelling> = OnceLock::new();

/// Sets how this process spells settings. The first call decides.
pub fn spell_as(spelling: Spelling) {
    SPELLING.get_or_init(|| spelling);
}

/// A setting by its identifier, such as `sample_size`. Displays as the front end spells it, by default as
/// `` `sample_size` ``.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingName(pub &'static str);

impl SettingName {
    /// The setting with a value, such as `` `sample_size=10000` ``.
    pub fn of(self, value: impl Display) -> String {
        spelt(self.0, Some(&value.to_string()))
    }
}

impl Display for SettingName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&spelt(self.0, None))
    }
}

fn spelt(name: &str, value: Option<&str>) -> String {
    match (SPELLING.get(), value) {
        (Some(spelling), value) => spelling(name, value),
        (None, Some(value)) => format!("`{name}={value}`"),
        (None, None) => format!("`{name}`"),
    }
}
