//! The other files of a package of the command: completions for shells, and manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap_complete::Shell;

/// Writes them to `folder` where programs look for them below `/usr/share`.
pub fn write(folder: &Path) -> Result<()> {
    let mut command = hotset_cli::command();
    let completions = [
        (Shell::Bash, "bash-completion/completions", "hotset"),
        (Shell::Zsh, "zsh/site-functions", "_hotset"),
        (Shell::Fish, "fish/vendor_completions.d", "hotset.fish"),
    ];
    for (shell, place, name) in completions {
        let place = created(folder.join(place))?.join(name);
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "hotset", &mut script);
        fs::write(&place, script).with_context(|| format!("cannot write {}", place.display()))?;
    }
    let manual = created(folder.join("man/man1"))?;
    // The other one has got a command `help` with all the others below it meanwhile.
    let pages = hotset_cli::command().disable_help_subcommand(true);
    let pages = pages.mut_subcommands(|inner| inner.disable_help_subcommand(true));
    clap_mangen::generate_to(pages, &manual).with_context(|| format!("cannot write to {}", manual.display()))
}

/// A folder, which is created if it does not exist.
fn created(folder: PathBuf) -> Result<PathBuf> {
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
