//! The other files of a package of the command: completions for shells, and manual pages.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap_complete::Shell;

/// Writes `completions/` and `man/` to `folder`.
pub fn write(folder: &Path) -> Result<()> {
    let mut command = hotset_cli::command();
    let [completions, manual] = ["completions", "man"].map(|name| folder.join(name));
    for place in [&completions, &manual] {
        fs::create_dir_all(place).with_context(|| format!("cannot create {}", place.display()))?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let written = clap_complete::generate_to(shell, &mut command, "hotset", &completions);
        written.with_context(|| format!("cannot write to {}", completions.display()))?;
    }
    // The other one has got a command `help` with all the others below it meanwhile.
    let pages = hotset_cli::command().disable_help_subcommand(true);
    let pages = pages.mut_subcommands(|inner| inner.disable_help_subcommand(true));
    clap_mangen::generate_to(pages, &manual).with_context(|| format!("cannot write to {}", manual.display()))
}
