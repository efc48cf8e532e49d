//! `hotset ctl`: changing a mount while it serves.

mod warm;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write, stdout};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hotset_cache::OrderProgress;
use hotset_core::policy::Explained;
use hotset_core::words::reason;
use hotset_serve::control::{self, Changed, Wish};
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::output::{explained, human, note};

/// Change the settings of a running mount, or print its status
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset ctl /mnt/project set policy=arc memory=4G
  hotset ctl /mnt/project set policy='qos(lru, blender=80%)'
  hotset ctl /mnt/project set qos.cc1=60%
  hotset ctl /mnt/project explain cc1
  hotset ctl /mnt/project warm models 'textures/*.png' @list.txt
  hotset ctl /mnt/data expect @epoch.txt
  hotset ctl /mnt/project status")]
pub(crate) struct Ctl {
    /// Mountpoint
    mountpoint: PathBuf,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Change settings: policy=SPEC, memory=SIZE, POLICY.KEY=VALUE; print old and new values. Blocks that still fit
    /// stay cached
    Set {
        /// Settings to change
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        settings: Vec<(String, String)>,
    },
    /// Print the status as JSON
    Status,
    /// Read files through the mount in this order, as long as they fit in its memory
    Warm {
        /// A file, a directory, a glob, or @FILE with one path a line; paths are relative to the mountpoint
        #[arg(required = true, value_name = "PATH|GLOB|@FILE")]
        files: Vec<String>,
    },
    /// Announce the order in which files will be opened: the file that is opened last is evicted first, and the next
    /// ones are prefetched
    Expect {
        /// A list with one path a line, relative to the mountpoint or below it; a path may occur several times. @- is
        /// standard input
        #[arg(value_name = "@FILE", required_unless_present = "end", value_parser = list)]
        order: Option<PathBuf>,
        /// End the announced order; the policy decides alone
        #[arg(long, conflicts_with = "order")]
        end: bool,
    },
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
    let pair = text.split_once('=').ok_or_else(|| format!("{text:?} is not a setting: expected KEY=VALUE"))?;
    Ok((pair.0.to_owned(), pair.1.to_owned()))
}

/// The file of a list.
fn list(text: &str) -> Result<PathBuf, String> {
    let list = text.strip_prefix('@').map(|list| if list == "-" { "/dev/stdin" } else { list });
    list.map(PathBuf::from).ok_or_else(|| format!("{text:?} is not a list: expected @FILE"))
}

impl Ctl {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Warm { files } => {
                let status = control::ask(&self.mountpoint, &Wish::Status)?;
                let memory = status["memory_bytes"].as_u64().ok_or_else(|| {
                    let shown = self.mountpoint.display();
                    Failure::Usage(format!("{shown}: warm needs a mount with a cache of its own"))
                })?;
                warm::warm(&self.mountpoint, &files, memory)?;
            }
            Action::Expect { order, .. } => expect(&self.mountpoint, order.as_deref())?,
            Action::Set { settings } => {
                let changed = answer(&self.mountpoint, &Wish::Set(settings))?;
                writeln!(stdout(), "{}", confirmation(&changed))?;
            }
            Action::Status => writeln!(stdout(), "{}", control::ask(&self.mountpoint, &Wish::Status)?)?,
            Action::Explain { about, json } => explain(&self.mountpoint, about.as_deref(), json)?,
        }
        Ok(())
    }
}

/// Announces the order of a list, or ends the announced order.
fn expect(mountpoint: &Path, list: Option<&Path>) -> Result<(), Failure> {
    let Some(list) = list else {
        let OrderProgress { opened, others, .. } = answer(mountpoint, &Wish::Expect(None))?;
        let (opened, others) = (human::count(opened), human::count(others));
        return Ok(writeln!(stdout(), "the order ends: {opened} announced opens came, and {others} others")?);
    };
    let cannot = |error| Failure::Work(format!("{}: {}", list.display(), reason(&error)));
    let mut copy = None;
    // The mount reads the list, has another working directory, and waits for no pipe.
    let place = match fs::metadata(list).map_err(cannot)?.is_file() {
        true => fs::canonicalize(list).map_err(cannot)?,
        false => {
            let copy = copy.insert(NamedTempFile::new().map_err(cannot)?);
            let read = std::io::copy(&mut fs::File::open(list).map_err(cannot)?.take(LONGEST), copy).map_err(cannot)?;
            if read == LONGEST {
                return Err(Failure::Work(format!("{}: the list is longer than 1G", list.display())));
            }
            copy.path().to_owned()
        }
    };
    check_exist(mountpoint, &place, list)?;
    let OrderProgress { uses, files, .. } = answer(mountpoint, &Wish::Expect(Some(place)))?;
    writeln!(stdout(), "{} opens of {} files expected", human::count(uses.into()), human::count(files.into()))?;
    Ok(())
}

/// Bytes of the longest list.
const LONGEST: u64 = 1 << 30;

/// Files of a list that are looked for.
const LOOKED_FOR: usize = 20;

/// Refuses a list of which none of the first files exists, and tells if some of them do not.
fn check_exist(mountpoint: &Path, place: &Path, list: &Path) -> Result<(), Failure> {
    let cannot = |error| Failure::Work(format!("{}: {}", list.display(), reason(&error)));
    let lines = BufReader::new(fs::File::open(place).map_err(cannot)?.take(1 << 20)).split(b'\n');
    let lines = lines.map_while(Result::ok).filter(|line| !line.is_empty()).take(LOOKED_FOR);
    let paths: Vec<PathBuf> = lines.map(|line| mountpoint.join(OsStr::from_bytes(line.trim_ascii_end()))).collect();
    let (shown, count) = (list.display(), paths.len());
    match paths.iter().filter(|path| !path.is_file()).collect::<Vec<_>>()[..] {
        [] => Ok(()),
        [first, ..] if paths.iter().all(|path| !path.is_file()) => Err(Failure::Work(format!(
            "{shown}: none of the first {count} paths is a file; {} is the first one",
            first.display()
        ))),
        [first, ..] => {
            note(format_args!("{shown}: {} is not a file, and is never opened", first.display()));
            Ok(())
        }
    }
}

/// The answer of a mount.
fn answer<T: DeserializeOwned>(mountpoint: &Path, wish: &Wish) -> Result<T, Failure> {
    serde_json::from_value(control::ask(mountpoint, wish)?).map_err(|error| {
        let shown = mountpoint.display();
        Failure::Work(format!("the mount at {shown} answers in a form of another version ({error}); mount it again"))
    })
}

/// Old and new values of the settings that changed, one a line.
fn confirmation(Changed { policy, memory_bytes, keeps_learnt }: &Changed) -> String {
    let mut lines = Vec::new();
    if policy[0] != policy[1] {
        let state = if *keeps_learnt { "keeps its state" } else { "starts without learnt state" };
        lines.push(format!("policy: {} -> {} ({state})", policy[0], policy[1]));
    }
    if memory_bytes[0] != memory_bytes[1] {
        let [before, after] = memory_bytes.map(human::bytes);
        lines.push(format!("memory: {before} -> {after}"));
        if policy[0] == policy[1] && !keeps_learnt {
            lines.push(format!("{} divides its memory into partitions and starts without learnt state", policy[1]));
        }
    }
    if lines.is_empty() {
        let [memory, _] = memory_bytes.map(human::bytes);
        lines.push(format!("nothing changes: the policy is {}, the memory {memory}", policy[0]));
    }
    lines.join("\n")
}

/// Prints the state that the policy of a mount has learnt, of everything or of one file or application.
fn explain(mountpoint: &Path, about: Option<&str>, json: bool) -> Result<(), Failure> {
    let all: Vec<Explained> = answer(mountpoint, &Wish::Explain)?;
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
