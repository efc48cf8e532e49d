//! The subcommands, one file each, with a folder where one has several parts.

mod advise;
mod cached;
mod ctl;
mod curve;
mod demo;
mod experiment;
mod formats;
mod generate;
mod import;
mod inspect;
mod mix;
mod mount;
mod policies;
mod protect;
mod record;
mod run;
mod simulate;
mod steer;
mod top;
mod trial;
mod view;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::output::shell;

/// Measure storage caches, find the best replacement policy, and run it
#[derive(Parser)]
#[command(name = "hotset", version, about, long_about = ABOUT, after_help = AFTER, arg_required_else_help = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const ABOUT: &str = "\
Measure storage caches, find the best replacement policy, and run it.

hotset records the I/O of an unmodified program, replays the trace with every known replacement policy at any number of \
cache sizes, exactly, and runs the chosen policy as a cached mount or by steering the page cache.";

const AFTER: &str = "\
First steps:
  hotset demo                                try everything on a real program
  hotset record -o app.hst -- COMMAND ARGS   record a program's I/O
  hotset advise app.hst                      find what would make it faster
  hotset try --memory 256M -- COMMAND        measure what steering or more memory gains
  hotset inspect app.hst                     describe the trace
  hotset simulate app.hst                    compare policies
  hotset curve app.hst                       hit ratio at every cache size
  hotset policies arc                        describe a policy";

#[derive(Subcommand)]
pub(crate) enum Command {
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
    Run(run::Run),
    Try(trial::Try),
    Top(top::Top),
    Cached(cached::Cached),
    Protect(protect::Protect),
    Ctl(ctl::Ctl),
    Policies(policies::Policies),
    Formats(formats::Formats),
}

/// Runs a command line that a command is made of.
fn run_line(arguments: &[&str]) -> Result<(), Failure> {
    let line = std::iter::once("hotset").chain(arguments.iter().copied());
    let parsed = CommandLine::try_parse_from(line).map_err(|error| Failure::Usage(error.to_string()))?;
    parsed.command.run(&shell::line(std::iter::once("hotset").chain(arguments.iter().copied())))
}

impl Command {
    /// Runs the command; `typed` is its line, for reports.
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        match self {
            Command::Advise(command) => command.run(typed),
            Command::Demo(command) => command.run(run_line),
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
            Command::Run(command) => command.run(),
            Command::Try(command) => command.run(typed),
            Command::Top(command) => command.run(),
            Command::Cached(command) => command.run(),
            Command::Protect(command) => command.run(),
            Command::Ctl(command) => command.run(),
            Command::Policies(command) => command.run(),
            Command::Formats(command) => command.run(),
        }
    }
}
