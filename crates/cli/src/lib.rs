//! The command line of hotset: one file a subcommand. The library exists so that the reference documentation can be
//! generated from [`command`].

mod advise;
mod app_by;
mod classes;
mod control;
mod ctl;
mod curve;
mod demo;
mod destination;
mod experiment;
mod failure;
mod formats;
pub mod fuzzing;
mod generate;
mod http;
mod import;
mod inspect;
mod locations;
mod mix;
mod mount;
mod output;
mod policies;
mod progress;
mod record;
mod report;
mod results;
mod select;
mod shell;
mod simulate;
mod steer;
mod storage;
mod text_file;
mod top;
mod traces;
mod trial;
mod view;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

pub use formats::all_formats;

use failure::Failure;

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
  hotset advise app.hst                              how much memory, which scheme, what to do
  hotset try --memory 256M -- COMMAND                what steering or more memory gains, measured
  hotset inspect app.hst                             what is in the trace
  hotset simulate app.hst                            what a choice of schemes would have given
  hotset curve app.hst                               the hit ratio at every size, exactly
  hotset policies arc                                what a scheme does, and when not to use it";

#[derive(Subcommand)]
enum Command {
    Advise(advise::Advise),
    Demo(demo::Demo),
    Record(record::Record),
    Inspect(inspect::Inspect),
    Simulate(simulate::Simulate),
    Curve(curve::Curve),
    Experiment(experiment::Experiment),
    View(view::View),
    Import(import::Import),
    Mix(mix::MixTraces),
    Generate(generate::Generate),
    Mount(mount::Mount),
    Steer(steer::Steer),
    Try(trial::Try),
    Top(top::Top),
    Ctl(ctl::Ctl),
    Policies(policies::Policies),
    Formats(formats::Formats),
}

/// The whole command line, for generated documentation.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let typed = shell::line(std::env::args_os());
    match Cli::parse().command.run(&typed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Runs a command line that a command is made of.
fn run_line(arguments: &[&str]) -> Result<(), Failure> {
    let line = std::iter::once("hotset").chain(arguments.iter().copied());
    let parsed = Cli::try_parse_from(line).map_err(|error| Failure::Usage(error.to_string()))?;
    parsed.command.run(&shell::line(std::iter::once("hotset").chain(arguments.iter().copied())))
}

impl Command {
    /// Runs the command; `typed` is its line, for reports.
    fn run(self, typed: &str) -> Result<(), Failure> {
        match self {
            Command::Advise(command) => command.run(typed),
            Command::Demo(command) => command.run(),
            Command::Record(command) => command.run(),
            Command::Inspect(command) => command.run(typed),
            Command::Simulate(command) => command.run(typed),
            Command::Curve(command) => command.run(typed),
            Command::Experiment(command) => command.run(typed),
            Command::View(command) => command.run(typed),
            Command::Import(command) => command.run(),
            Command::Mix(command) => command.run(),
            Command::Generate(command) => command.run(),
            Command::Mount(command) => command.run(),
            Command::Steer(command) => command.run(),
            Command::Try(command) => command.run(),
            Command::Top(command) => command.run(),
            Command::Ctl(command) => command.run(),
            Command::Policies(command) => command.run(),
            Command::Formats(command) => command.run(),
        }
    }
}
