//! The interface of policies names no policy and no scheme: a word that only one of them gives a meaning is data, or
//! belongs to its file.

use std::collections::BTreeSet;

use xtask::SourceFile;

use super::Finding;

const SEAM: &str = "crates/core/src/policy/";
const FOLDERS: [&str; 2] = ["crates/core/src/policies/", "crates/core/src/schemes/"];

/// Names of policies that are also words of Rust or of every policy.
const HOMONYMS: [&str; 7] = ["arc", "auto", "bypass", "clock", "equal", "min", "random"];

/// Terms of single schemes.
const TERMS: [&str; 4] = ["fragment", "fragments", "promise", "promises"];

/// Every use of such a word in the interface, its tests excepted.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut words: BTreeSet<String> = TERMS.map(str::to_owned).into();
    let policies = files.iter().filter(|file| FOLDERS.iter().any(|folder| file.path.starts_with(folder)));
    words.extend(policies.flat_map(|file| names(file.text())).filter(|name| !HOMONYMS.contains(&name.as_str())));
    let seam = files.iter().filter(|file| file.path.starts_with(SEAM) && file.is_rust());
    seam.flat_map(|file| check_file(file, &words)).collect()
}

/// The name and the other names of a policy in the text of its file.
fn names(text: &str) -> impl Iterator<Item = String> + '_ {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("name: ") || line.starts_with("aliases: "));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2)).map(str::to_owned)
}

fn check_file(file: &SourceFile, words: &BTreeSet<String>) -> Vec<Finding> {
    let lines = file.text().lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    let findings = lines.flat_map(|(number, line)| {
        let used = words_of(line).into_iter().filter(|word| words.contains(word));
        used.map(move |word| {
            let message = format!("\"{word}\" is a word of one policy or scheme; the interface of all knows none");
            Finding::new(&file.path, number + 1, message)
        })
    });
    findings.collect()
}

/// The words of a line in lower case: those between other signs, and the parts of compound identifiers.
fn words_of(line: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for token in line.split(|sign: char| !sign.is_ascii_alphanumeric() && !"-_".contains(sign)) {
        words.insert(token.to_ascii_lowercase());
        let mut part = String::new();
        for sign in token.chars() {
            if sign == '_' || sign.is_ascii_uppercase() {
                words.insert(std::mem::take(&mut part));
            }
            part.extend((sign != '_').then_some(sign.to_ascii_lowercase()));
        }
        words.insert(part);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn a_word_of_one_policy_is_found_in_the_interface_alone() {
        let policy = || file("crates/core/src/policies/two_q.rs", "    name: \"2q\",\n    aliases: &[\"two-q\"],\n");
        let scheme = || file("crates/core/src/schemes/virtual_io.rs", "    name: \"virtual\",\n    // 2q\n");
        let found = |text: &str| {
            let findings = check(&[policy(), scheme(), file("crates/core/src/policy/note.rs", text)]);
            findings.into_iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(found("/// As in `2q(kin=30%)`.\nlet x = 1; // two-q\n"), [1, 2]);
        assert_eq!(found("enum Extra {\n    Fragment,\n    VirtualQueue,\n}\nfn of_virtual() {}\n"), [2, 3, 5]);
        assert_eq!(found("use std::sync::Arc;\n/// A clock.\nlet x2q = 1;\n"), Vec::<usize>::new());
        assert_eq!(found("#[cfg(test)]\nmod tests { \"virtual\" }\n"), Vec::<usize>::new());
    }
}
