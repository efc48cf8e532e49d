//! The command line of hotset. The library exists so that the reference documentation can be generated from
//! [`command`].

mod brief;
mod command;
mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod options;
mod output;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use command::CommandLine;
use output::shell;

/// The whole command line, for generated documentation.
pub fn command() -> clap::Command {
    brief::shorten(CommandLine::command())
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    hotset_core::setting::spell_as(failure::spelling);
    let typed = shell::line(std::env::args_os());
    let parsed = CommandLine::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    match parsed.command.run(&typed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
