//! Libraries name a setting with `hotset_core::setting::SettingName`, since only the command has options.

use super::Finding;

const LIBRARIES: [&str; 14] = [
    "core",
    "trace",
    "capture",
    "feed",
    "cache",
    "hotset",
    "store",
    "mount",
    "steer",
    "sim",
    "results",
    "experiment",
    "serve",
    "pager",
];

/// Files that name options of other programs, with the options and their program.
const OF_OTHERS: [(&str, &[&str], &str); 6] = [
    ("crates/capture/src/record/tracer.rs", &["--seccomp-bpf"], "strace"),
    (
        "crates/capture/src/memory/mod.rs",
        &[
            "--log-file",
            "--tool",
            "--basic-counts",
            "--trace-mem",
            "--trace-syscalls",
            "--child-silent-after-fork",
            "--trace-children",
        ],
        "valgrind",
    ),
    ("crates/capture/src/memory/line.rs", &["--trace-mem", "--trace-syscalls"], "valgrind"),
    ("crates/store/src/client/profile.rs", &["--format"], "aws"),
    ("crates/store/src/fuzzing.rs", &["--cfg"], "rustc"),
    ("crates/trace/src/input.rs", &["--ultra", "--long"], "zstd"),
];

/// Finds options in messages and comments of libraries, outside their tests.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let is_library = LIBRARIES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    if !is_library || path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let others = OF_OTHERS.iter().find(|(of, ..)| *of == path).map_or(&[][..], |(_, options, _)| options);
    let told = code.lines().zip(1..).flat_map(|(line, number)| options(line).map(move |option| (number, option)));
    told.filter(|(_, option)| !others.contains(option))
        .map(|(number, option)| {
            let message =
                format!("{option} is an option of the command: expected SettingName, or its name in a comment");
            Finding::new(path, number, message)
        })
        .collect()
}

/// The words that begin with two hyphens and a letter, behind a quote, a bracket or a blank.
fn options(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("--").filter_map(|(at, _)| {
        let is_begun = line[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '-');
        let rest = &line[at + 2..];
        let name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        (is_begun && rest.starts_with(|c: char| c.is_ascii_lowercase())).then(|| &line[at..at + 2 + name])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(path, text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn libraries_name_no_options_and_front_ends_may() {
        let text = "//! As `--size` has it.\nconst A: &str = \"raise --memory\";\nconst B: &str = \"--by: no\";\n// ---- r--s\n\
            #[cfg(test)]\nmod tests {\n    const C: &str = \"--policy\";\n}\n";
        assert_eq!(lines_found("crates/sim/src/a.rs", text), [1, 2, 3]);
        assert_eq!(lines_found("crates/sim/src/a/tests.rs", text), [0; 0]);
        assert_eq!(lines_found("crates/cli/src/a.rs", text), [0; 0]);
    }

    #[test]
    fn options_of_other_programs_are_excused_in_their_files() {
        let text = "const A: &str = \"--seccomp-bpf\";\nconst B: &str = \"--via strace\";\n";
        assert_eq!(lines_found("crates/capture/src/record/tracer.rs", text), [2]);
        assert_eq!(lines_found("crates/capture/src/record/error.rs", text), [1, 2]);
    }
}
