//! `hotset demo`: all steps on a real program, with the commands that a user would type.

use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::output::human;
use crate::output::shell::{self, quoted};
use crate::output::style::{self, Role, paint};

/// Record a real program on this machine, analyse its I/O and compare all policies on it
#[derive(Args)]
pub(crate) struct Demo {
    /// Directory for the program and its trace, created if missing [default: a new temporary directory]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const PROGRAM: &str = include_str!("demo/work.sh");

/// Where the program finds what it reads.
const HEADERS: &str = "/usr/include";

const POLICIES: &str = "fifo,lru,clock,lfu,slru,2q,arc,car,lirs,s3-fifo,sieve,opt";
const SIZES: &str = "5%,10%,20%,40%,60%,80%";

/// Runs a command by its arguments.
type Run = fn(&[&str]) -> Result<(), Failure>;

impl Demo {
    /// Shows the commands, each of which `run` runs.
    pub(crate) fn run(self, run: Run) -> Result<(), Failure> {
        if !Path::new(HEADERS).is_dir() {
            return Err(Failure::Work(format!(
                "the demonstration looks around in the C headers of {HEADERS}, which this system does not have; record a program of \
                 your own: hotset record -o mine.hst -- COMMAND"
            )));
        }
        let folder = self.folder()?;
        let path = |name: &str| folder.join(name).display().to_string();
        let (script, trace, report) = (path("work.sh"), path("demo.hst"), path("demo.html"));
        fs::write(&script, PROGRAM).map_err(|error| Failure::Work(format!("cannot write {script}: {error}")))?;

        say(
            "1. Record a program",
            "grep looks around in the C headers of this system, in many, in a part and in a few of them, and \
             cc compiles in between, four times over. The programs are not changed.",
        )?;
        let work = format!("cd {} && sh work.sh > output", quoted(&folder.display().to_string()));
        hotset(run, &["record", "--progress", "-o", &trace, "--", "sh", "-c", &work])?;
        say("2. What did it do?", "")?;
        hotset(run, &["inspect", &trace])?;
        say(
            "3. What would each scheme have given?",
            "opt knows the future: no scheme that keeps every block can hit more. Programs and libraries are \
             mapped, which hides what of them is used, so they are left out, as a line says.",
        )?;
        hotset(run, &["simulate", &trace, "--policy", POLICIES, "--size", SIZES, "--report", &report])?;
        say("4. And at every other size?", "Both curves are exact, from one pass each.")?;
        hotset(run, &["curve", &trace, "--maps", "none", "--policy", "lru,opt"])?;
        say("5. So what should be done?", "")?;
        hotset(run, &["advise", &trace, "--maps", "none"])?;
        say("Now a program of yours", "")?;
        writeln!(stdout(), "\n    hotset record -o mine.hst -- COMMAND ARGUMENTS…")?;
        writeln!(stdout(), "    hotset advise mine.hst\n")?;
        writeln!(stdout(), "The trace of this demonstration is {trace}")?;
        Ok(writeln!(stdout(), "A page to look at, for any browser:  {report}")?)
    }

    fn folder(&self) -> Result<PathBuf, Failure> {
        let made = match &self.keep {
            Some(folder) => fs::create_dir_all(folder).and_then(|()| fs::canonicalize(folder)),
            None => tempfile::Builder::new().prefix("hotset-demo-").tempdir().map(tempfile::TempDir::keep),
        };
        let shown = self.keep.as_deref().unwrap_or(Path::new("for temporary files")).display();
        made.map_err(|error| Failure::Work(format!("cannot make the directory {shown}: {error}")))
    }
}

fn say(title: &str, text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    writeln!(out, "\n{}", paint(title, Role::Heading))?;
    if !text.is_empty() {
        writeln!(out, "{}", human::wrap(text, style::width()))?;
    }
    Ok(())
}

/// Shows a command as a user would type it, and runs it.
fn hotset(run: Run, arguments: &[&str]) -> Result<(), Failure> {
    let typed = shell::line(std::iter::once("hotset").chain(arguments.iter().copied()));
    writeln!(stdout(), "\n{}\n", paint(&format!("$ {typed}"), Role::Heading))?;
    run(arguments)
}
