//! `hotset view`: results in the browser, and directories of results and traces, from a server on this machine.
//!
//! Every address begins with a number that is drawn anew and printed for the user alone: other users of the machine,
//! and pages from elsewhere that the browser shows, reach the port and no page.

#[path = "../../serve/src/view/library.rs"]
mod library;
#[path = "../../serve/src/view/live.rs"]
mod live;
#[path = "../../serve/src/view/jobs.rs"]
mod runs;
#[path = "../../serve/src/view/shelf.rs"]
mod shelf;

use std::env;
use std::fs::File;
use std::io::{self, Read, Write, stdout};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use hotset_results::Results;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::http::{Page, Server};
use crate::report;
use shelf::Shelf;

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
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let cannot = |error| Failure::Work(format!("--port: cannot listen at {wanted}: {error}"));
        let shelf = match self.files.iter().any(|path| path.is_dir()) {
            true => Some(Shelf::new(&self.files)?),
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
        let address = format!("http://{}/{secret}/", server.address());
        let missing = "expected the whole address that hotset has printed\n";
        let below = format!("/{secret}/");
        let served = match shelf.clone() {
            Some(shelf) => server
                .with_changes()
                .serve(missing, move |asked| asked.path.strip_prefix(&below).and_then(|path| shelf.page(path, asked))),
            None => {
                let page = bytes::Bytes::from(report::of_results(typed, &self.files, &rows)?);
                server.serve(missing, move |asked| (asked.path == below).then(|| Page::html(page.clone())))
            }
        };
        served.map_err(cannot)?;
        writeln!(stdout(), "{address}   (Ctrl-C ends it)")?;
        stdout().flush()?;
        if !self.no_open {
            open(&address);
        }
        signals.forever().next();
        shelf.iter().for_each(Shelf::end);
        Ok(())
    }
}

/// A number that cannot be guessed, as text.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Opens the browser where there is a desktop; elsewhere the address has been printed.
fn open(address: &str) {
    if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some()) {
        let quiet = || Stdio::null();
        let _ = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    }
}
