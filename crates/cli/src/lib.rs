//! The command line of hotset: one file a subcommand. The library exists so that the reference documentation can be generated
//! from [`command`].

mod failure;
mod formats;
mod memory;
mod output;
mod policies;
mod progress;
mod simulate;
mod traces;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

pub use formats::all_formats;

/// Measure, decide and run storage caches that know what they hold.
#[derive(Parser)]
#[command(name = "hotset", version, about, long_about = ABOUT, after_help = AFTER, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const ABOUT: &str = "\
Measure, decide and run storage caches that know what they hold.

hotset records the I/O of an unmodified program, replays it against every known cache scheme at every size, exactly and in \
seconds, and shows what each would have given.";

const AFTER: &str = "\
First steps:
  hotset demo                                        the whole story on a real program, in a minute
  hotset record -o app.hst -- COMMAND ARGS…          record the I/O of your own program
  hotset inspect app.hst                             what is in the trace
  hotset simulate app.hst --policy all --size 10%    what every scheme would have given
  hotset curve app.hst                               the hit ratio at every size, exactly
  hotset policies arc                                what a scheme does, and when not to use it";

#[derive(Subcommand)]
enum Command {
    Simulate(simulate::Simulate),
    Policies(policies::Policies),
    Formats(formats::Formats),
}

/// The whole command line, for generated documentation.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Simulate(command) => command.run(),
        Command::Policies(command) => command.run(),
        Command::Formats(command) => command.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
