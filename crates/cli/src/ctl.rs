//! `hotset ctl`: changing a mount while it serves.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hotset_core::policy::Explained;

use crate::control::{self, Wish};
use crate::failure::Failure;
use crate::output::explained;

/// Change the settings of a running mount, or print its status
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset ctl /mnt/project set policy=arc memory=4G
  hotset ctl /mnt/project set policy='qos(lru, blender=80%)'
  hotset ctl /mnt/project set qos.cc1=60%
  hotset ctl /mnt/project explain cc1
  hotset ctl /mnt/project status")]
pub(crate) struct Ctl {
    /// Mountpoint
    mountpoint: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Change settings: policy=SPEC, memory=SIZE, POLICY.KEY=VALUE. Blocks that still fit stay cached
    Set {
        /// Settings to change
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
    },
    /// Print the status as JSON
    Status,
    /// Print the state that the policy has learnt
    Explain {
        /// Limit the output to this application, or to files whose path contains this text
        #[arg(value_name = "FILE|APP")]
        about: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn setting(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').ok_or_else(|| format!("{text:?} is no setting: expected KEY=VALUE"))?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

impl Ctl {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Set { settings } => {
                control::ask(&self.mountpoint, &Wish::Set(settings))?;
            }
            Action::Status => writeln!(stdout(), "{}", control::ask(&self.mountpoint, &Wish::Status)?)?,
            Action::Explain { about, json } => explain(&self.mountpoint, about.as_deref(), json)?,
        }
        Ok(())
    }
}

/// Tells what a mount has learnt, of everything or of one file or application.
fn explain(mountpoint: &Path, about: Option<&str>, json: bool) -> Result<(), Failure> {
    let told = control::ask(mountpoint, &Wish::Explain)?;
    let all: Vec<Explained> = serde_json::from_value(told)
        .map_err(|error| Failure::Work(format!("the mount at {} gave no answer: {error}", mountpoint.display())))?;
    let is_about = |one: &Explained, name: &str| {
        one.app.as_deref() == Some(name) || one.file.as_ref().is_some_and(|file| file.contains(name))
    };
    let nothing = all.is_empty();
    let wanted: Vec<Explained> = all.into_iter().filter(|one| about.is_none_or(|name| is_about(one, name))).collect();
    if json {
        return Ok(writeln!(stdout(), "{}", serde_json::to_string(&wanted).expect("texts and numbers"))?);
    }
    let text = match about {
        _ if !wanted.is_empty() => explained::table(&wanted),
        Some(name) if !nothing => {
            format!("Nothing was learnt of {name} apart from others: `explain` alone tells what was.")
        }
        _ => "The scheme has learnt nothing yet, or does not tell what it learns: auto does.".to_owned(),
    };
    Ok(writeln!(stdout(), "{text}")?)
}
