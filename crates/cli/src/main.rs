//! The `hotset` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    hotset_cli::run()
}
