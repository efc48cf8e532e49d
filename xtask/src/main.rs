//! The project's own chores, run as `cargo xtask NAME`.

mod dashboard;
mod experiments;
mod licences;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;

/// The project's own chores
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Write docs/reference, and the columns and types of rows, from the code
    Gen {
        /// Write nothing; fail if a file is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Build the page of reports from dashboard/ (needs npm)
    Dashboard {
        /// Write nothing; fail if the committed page is not what would be built; without npm say so and go on
        #[arg(long)]
        check: bool,
    },
    /// Write the index of docs/experiments and its pictures from the tables there
    Experiments {
        /// Write nothing; fail if a file is not what would be written
        #[arg(long)]
        check: bool,
    },
    /// Fail if a dependency's licence or origin is not allowed by deny.toml
    Licences,
    /// Fail if the tree breaks a rule of CONTRIBUTING.md that a program can see
    Tidy {
        /// First lower the counts of xtask/wording.txt to what is found; they never rise
        #[arg(long)]
        ratchet: bool,
    },
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Gen { check } => reference(&root(), check),
        Chore::Dashboard { check } => dashboard::run(&root(), check),
        Chore::Experiments { check } => experiments::run(&root(), check),
        Chore::Licences => licences::run(&root()),
        Chore::Tidy { ratchet } => tidy::run(&root(), ratchet),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the source tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// Has the reference documentation written, by a separate program: it builds the command, which the other chores do
/// without.
fn reference(root: &Path, check: bool) -> Result<()> {
    // Chosen by its name alone it is built with the features of the whole workspace, so nothing is built twice.
    let mut arguments = vec!["run", "--quiet", "--bin", "hotset-reference", "--"];
    arguments.extend(check.then_some("--check"));
    let status = Command::new("cargo").args(arguments).current_dir(root).status().context("cannot run cargo")?;
    ensure!(status.success(), "gen: see above");
    Ok(())
}
