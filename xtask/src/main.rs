//! The project's own chores, run as `cargo xtask NAME`.

mod dashboard;
mod experiments;
mod generate;
mod licences;
mod schema;
mod tidy;
mod unsafety;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;

/// The project's own chores
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Chore {
    /// Write docs/reference from the code
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
    /// Fail if a dependency's licence or origin is not one that deny.toml allows
    Licences,
    /// Fail if the tree breaks a rule of CONTRIBUTING.md that a program can see
    Tidy,
}

fn main() -> ExitCode {
    let done = match Chore::parse() {
        Chore::Gen { check } => generate::run(&root(), check),
        Chore::Dashboard { check } => dashboard::run(&root(), check),
        Chore::Experiments { check } => experiments::run(&root(), check),
        Chore::Licences => licences::run(&root()),
        Chore::Tidy => tidy::run(&root()),
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

/// What `program` writes to its standard output when run at the root.
fn output_of(root: &Path, program: &str, args: &[&str]) -> Result<Vec<u8>> {
    let command = format!("{program} {}", args.join(" "));
    let output = Command::new(program).args(args).current_dir(root).output();
    let output = output.with_context(|| format!("cannot run `{command}`"))?;
    ensure!(output.status.success(), "`{command}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(output.stdout)
}
