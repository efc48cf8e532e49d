//! Properties of the command on any text: the shared body of the fuzz targets in `fuzz/` and of the seeded tests.

use std::path::Path;

use clap::Parser;
use hotset_experiment::File;

use crate::failure::Failure;
use crate::{Cli, Command};

/// Reads the words of a command line, separated by blanks. Nothing is run.
///
/// # Panics
/// If a refusal has no sentence.
pub fn command_line(text: &str) {
    match Cli::try_parse_from(std::iter::once("hotset").chain(text.split_whitespace())) {
        Err(error) => assert!(!error.to_string().trim().is_empty()),
        Ok(Cli { command: Command::Mix(mix) }) => check(mix.check()),
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
