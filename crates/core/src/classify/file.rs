//! A user's classes, as they are written in a file.
//!
//! ```toml
//! [[class]]
//! name = "texture"
//! files = ["*.png", "**/textures/**"]
//! kinds = ["datafile"]
//! apps = ["blender"]
//! min_size = "64K"
//! max_size = "1G"
//! writes = false
//! sticks = false
//! ```

use serde::Deserialize;

use super::{Rule, Rules};
use crate::request::Kind;
use crate::spec::{SpecError, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    class: Vec<toml::Spanned<Written>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    apps: Vec<String>,
    min_size: Option<Size>,
    max_size: Option<Size>,
    writes: Option<bool>,
    #[serde(default)]
    sticks: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u64),
    Text(String),
}

impl Rules {
    /// Reads classes from TOML. The error's place is in `text`.
    pub fn from_toml(text: &str) -> Result<Rules, SpecError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let said = SpecError::new(error.message().to_owned());
            error.span().map_or(said.clone(), |place| said.at(place))
        })?;
        if file.class.is_empty() {
            return Err(SpecError::new("the file names no class: expected at least one [[class]]"));
        }
        let rule = |written: toml::Spanned<Written>| {
            let place = written.span();
            rule(written.into_inner()).map_err(|error| error.at(place))
        };
        Rules::new(file.class.into_iter().map(rule).collect::<Result<Vec<_>, _>>()?)
    }
}

fn rule(written: Written) -> Result<Rule, SpecError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if written.name.is_empty() || !written.name.chars().all(is_name) {
        let name = written.name;
        return Err(SpecError::new(format!(
            "{name:?} cannot name a class: expected letters, digits, '-', '_' and '.'"
        )));
    }
    let bytes = |size: Option<Size>| size.map(bytes).transpose();
    let rule = Rule {
        class: written.name,
        files: written.files,
        kinds: written.kinds.iter().map(|kind| known_kind(kind)).collect::<Result<_, _>>()?,
        apps: written.apps,
        min_size: bytes(written.min_size)?,
        max_size: bytes(written.max_size)?,
        writes: written.writes,
        sticks: written.sticks,
    };
    // Patterns are checked rule by rule too, so that the error can say where.
    Rules::new(vec![rule.clone()]).map(|_| rule)
}

fn known_kind(name: &str) -> Result<Kind, SpecError> {
    Kind::from_name(name).ok_or_else(|| {
        let known = Kind::ALL.map(Kind::name).join(", ");
        SpecError::new(format!("{name:?} is not a kind of object: expected one of {known}"))
    })
}

fn bytes(size: Size) -> Result<u64, SpecError> {
    match size {
        Size::Bytes(bytes) => Ok(bytes),
        Size::Text(text) => match Value::parse(&text)? {
            Value::Size(bytes) => Ok(bytes),
            _ => Err(SpecError::new(format!("{text:?} is not a size: expected bytes such as 512K"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_read() {
        let text =
            "[[class]]\nname = \"t\"\nfiles = [\"*.png\"]\nmin_size = \"64K\"\n[[class]]\nname = \"u\"\nmax_size = 7\n";
        let rules = Rules::from_toml(text).unwrap();
        assert_eq!(rules.classes(), ["t", "u", "other"]);
        assert_eq!((rules.rules()[0].rule.min_size, rules.rules()[1].rule.max_size), (Some(65536), Some(7)));
    }

    #[test]
    fn errors_point_at_the_class() {
        let cases = [
            ("[[class]]\nname = \"a b\"\n", "\"a b\" cannot name a class"),
            (
                "[[class]]\nname = \"a\"\nkinds = [\"x\"]\n",
                "\"x\" is not a kind of object: expected one of unknown, inode",
            ),
            ("[[class]]\nname = \"a\"\nmin_size = \"5%\"\n", "\"5%\" is not a size"),
            ("[[class]]\nname = \"a\"\nfiles = [\"[\"]\n", "the pattern \"[\" cannot be read"),
            ("[[class]]\nname = \"a\"\nsize = 1\n", "unknown field `size`"),
            ("[[class]]\nfiles = []\n", "missing field `name`"),
            ("", "the file names no class"),
        ];
        for (text, expected) in cases {
            let error = Rules::from_toml(text).unwrap_err();
            assert!(error.message.contains(expected), "{text}: {error}");
            assert!(text.is_empty() || error.at.is_some(), "{text}");
        }
    }
}
