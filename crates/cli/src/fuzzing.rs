//! Properties of the command on any text: the bodies of fuzz targets in `fuzz/`, which cargo-fuzz builds with
//! `--cfg fuzzing`, and their seeded tests.

use std::path::Path;

use clap::Parser;
use hotset_experiment::File;

use crate::command::{Command, CommandLine};
use crate::failure::Failure;

/// Reads the words of a command line, separated by blanks. Nothing is run.
///
/// # Panics
/// If a refusal has no sentence.
pub fn command_line(text: &str) {
    match CommandLine::try_parse_from(std::iter::once("hotset").chain(text.split_whitespace())) {
        Err(error) => assert!(!error.to_string().trim().is_empty()),
        Ok(CommandLine { command: Command::Mix(mix) }) => check(mix.check()),
        Ok(_) => {}
    }
}

/// Reads the file of an experiment with all that it says of policies, sizes and machines. Nothing is run.
///
/// # Panics
/// If a refusal has no sentence.
pub fn experiment(text: &str) {
    check(File::parse(Path::new("fuzz.toml"), text).map(drop).map_err(Failure::from));
}

fn check(read: Result<(), Failure>) {
    if let Err(Failure::Work(message) | Failure::Usage(message)) = read {
        assert!(!message.trim().is_empty());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hotset_core::random::Rng;
    use hotset_testkit::fuzz::vary;

    use super::*;

    const LINES: [&str; 6] = [
        "mix lu=lu.hst tpcc=tpcc.hst --by time --start tpcc=10s --loops lu=3 --span lu=120s -o two.hst",
        "simulate mix.hst --policy shared(lru),qos(lru,lu=70%) --size 64M --store disk(seek=4ms) --series s --every 2s",
        "curve app.hst --policy lru,opt --points 30 --sample-size 1000 --block 4K --memory 1G",
        "generate zipf objects=500 skew=0.9 -o zipf.hst",
        "import log.strace -o x.hst --skip-bad --format strace --columns time,id",
        "mount /a /b --memory 2G --policy render --block 64K --listen 127.0.0.1:8000",
    ];

    #[test]
    fn damaged_command_lines_are_read_or_refused() {
        let mut random = Rng::new(21);
        for line in LINES {
            command_line(line);
            (0..400).for_each(|_| command_line(&vary(&mut random, line)));
        }
    }

    /// The experiments of the project itself, one of each folder.
    #[test]
    fn damaged_experiments_are_read_or_refused() {
        let mut random = Rng::new(22);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        for paper in fs::read_dir(folder).expect("the experiments of the project") {
            let mut files: Vec<_> =
                fs::read_dir(paper.unwrap().path()).unwrap().map(|file| file.unwrap().path()).collect();
            files.sort();
            let last = files.iter().rfind(|file| file.extension().is_some_and(|ending| ending == "toml"));
            let text = fs::read_to_string(last.expect("a folder has an experiment")).unwrap();
            experiment(&text);
            (0..300).for_each(|_| experiment(&vary(&mut random, &text)));
        }
    }

    /// Inputs that once broke something, and those that the fuzzer begins from.
    #[test]
    fn what_was_kept_stays_right() {
        for (target, body) in [("command_line", command_line as fn(&str)), ("experiment", experiment)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept").join(target);
            for file in fs::read_dir(folder).into_iter().flatten() {
                body(&fs::read_to_string(file.unwrap().path()).expect("the target takes text"));
            }
        }
    }
}
