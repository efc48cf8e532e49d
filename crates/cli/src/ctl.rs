//! `hotset ctl`: changing a mount while it serves.

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::control::{self, Wish};
use crate::failure::Failure;

/// Change a mount while it serves, or ask for its status
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset ctl /mnt/project set policy=arc memory=4G
  hotset ctl /mnt/project set policy='qos(lru, blender=80%)'
  hotset ctl /mnt/project set qos.cc1=60%
  hotset ctl /mnt/project status")]
pub(crate) struct Ctl {
    /// The mountpoint
    mountpoint: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Change settings: policy=SPEC, memory=SIZE, SCHEME.KEY=VALUE. Blocks that still fit stay
    Set {
        /// What to change
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
    },
    /// Print the status as JSON
    Status,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or_else(|| format!("{text:?} is no setting: expected KEY=VALUE"))?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

impl Ctl {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let wish = match self.action {
            Action::Set { settings } => Wish::Set(settings),
            Action::Status => Wish::Status,
        };
        let status = control::ask(&self.mountpoint, &wish)?;
        if matches!(wish, Wish::Status) {
            writeln!(stdout(), "{status}")?;
        }
        Ok(())
    }
}
