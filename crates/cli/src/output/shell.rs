//! Command lines as a shell would take them again.

use std::ffi::OsStr;

/// A whole line; the program is shown by its name without its directory.
pub(crate) fn line(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let quoted = arguments.into_iter().skip(1).map(|argument| quoted(&argument.as_ref().to_string_lossy()));
    std::iter::once("hotset".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// An argument as a shell needs it.
pub(crate) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,%=+:@".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_where_a_shell_needs_it() {
        let shown = ["5%,10%", "a b", "it's", ""].map(quoted);
        assert_eq!(shown, ["5%,10%", "'a b'", r"'it'\''s'", "''"]);
    }
}
