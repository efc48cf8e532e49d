//! The command line of hotset. The library exists so that the reference documentation can be generated from
//! [`command`].
#![warn(clippy::print_stderr, reason = "eprintln! panics once the reader of standard error has gone: use output::note")]

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
use failure::Failure;
use output::shell;

/// The whole command line, for generated documentation.
pub fn command() -> clap::Command {
    brief::shorten(CommandLine::command())
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    hotset_core::setting::spell_as(failure::spelling);
    let typed = shell::line(std::env::args_os());
    let parsed = command().try_get_matches().and_then(|matches| CommandLine::from_arg_matches(&matches));
    let done = match parsed {
        Ok(parsed) => parsed.command.run(&typed),
        // Help and the version.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => Err(Failure::unparsed(&error)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
