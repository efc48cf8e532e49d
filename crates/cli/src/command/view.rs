//! `hotset view`: results in the browser, and directories of results and traces, from a server on this machine.

use std::env;
use std::ffi::OsString;
use std::io::{Write, stdout};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::Args;
use hotset_capture::all_formats;
use hotset_results::Results;
use hotset_serve::http::Server;
use hotset_serve::report;
use hotset_serve::view::{Job, Shelf, Spelling, secret, serve_page, serve_shelf};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::options::select;
use crate::output::shell;

/// Show results in the browser, or browse directories of results and traces; served to the local user only
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset view results.jsonl
  hotset view monday.jsonl tuesday.csv.zst --no-open --port 8000
  hotset view traces/")]
pub(crate) struct View {
    /// Results of simulate, curve or experiment (JSON Lines, CSV or Parquet) and series (JSON Lines), plain or
    /// compressed; with a directory, a page to choose from
    #[arg(required = true, value_name = "RESULTS|DIR")]
    files: Vec<PathBuf>,
    /// Port to listen on [default: any free port]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
}

impl View {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        Failure::unless(cfg!(feature = "view"), "pages over HTTP", "view")?;
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let cannot = |error| Failure::Work(format!("--port: cannot listen at {wanted}: {error}"));
        let shelf = match self.files.iter().any(|path| path.is_dir()) {
            true => Some(self.shelf()?),
            false => None,
        };
        let mut rows = Results::default();
        if shelf.is_none() {
            self.files.iter().try_for_each(|path| rows.add(path))?;
        }
        let server = Server::bind(wanted).map_err(cannot)?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|error| Failure::Work(format!("cannot wait for signals: {error}")))?;
        let secret = secret().map_err(|error| Failure::Work(format!("cannot draw a secret address: {error}")))?;
        let served = match shelf.clone() {
            Some(shelf) => serve_shelf(server, &secret, shelf),
            None => {
                let reading = select::reading_of(&rows.rows);
                let html = report::of_results(typed, &self.files, &all_formats(), &rows, reading)?;
                serve_page(server, &secret, html)
            }
        };
        let address = served.map_err(cannot)?;
        writeln!(stdout(), "{address}   (Ctrl-C ends it)")?;
        stdout().flush()?;
        if !self.no_open {
            open(&address);
        }
        signals.forever().next();
        shelf.iter().for_each(Shelf::end);
        Ok(())
    }

    fn shelf(&self) -> Result<Shelf, Failure> {
        let shelf = Shelf::new(&self.files, all_formats(), Arc::new(CommandLine));
        shelf.map_err(|error| Failure::Work(error.to_string()))
    }
}

/// Spells commands as this command line takes them.
struct CommandLine;

impl Spelling for CommandLine {
    fn replay(&self, job: &Job) -> String {
        let options = [format!("--policy={}", job.schemes.join(",")), format!("--size={}", job.sizes)];
        let ops = job.ops.map(|ops| format!("--ops={ops}"));
        let line = ["hotset".into(), "simulate".into()].into_iter().chain(options.map(OsString::from));
        shell::line(line.chain(ops.map(OsString::from)).chain(["--".into(), job.trace.clone().into()]))
    }

    fn show(&self, results: &Path) -> String {
        shell::line(["hotset".as_ref(), "view".as_ref(), results.as_os_str()])
    }

    fn reading(&self, rows: &[Value]) -> Vec<String> {
        select::reading_of(rows)
    }
}

/// Opens the browser where there is a desktop; elsewhere the address has been printed.
fn open(address: &str) {
    if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some()) {
        let quiet = || Stdio::null();
        let _ = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    }
}
