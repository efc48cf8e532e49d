//! `hotset view`: results in the browser, from a server on this machine.

use std::env;
use std::io::{Write, stdout};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bytes::Bytes;
use clap::Args;
use hotset_results::Results;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::http::{Page, Server};
use crate::report;

/// Show results in the browser, from a server that only this machine reaches
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset view results.jsonl
  hotset view monday.jsonl tuesday.csv.zst --no-open --port 8000")]
pub(crate) struct View {
    /// Results of simulate, curve or experiment (JSON Lines, CSV or Parquet) and series over time (JSON Lines), plain
    /// or packed by zstd, gzip or xz
    #[arg(required = true, value_name = "RESULTS")]
    files: Vec<PathBuf>,
    /// Port to serve at [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address, and leave it to you to open it
    #[arg(long)]
    no_open: bool,
}

impl View {
    pub(crate) fn run(self, typed: &str) -> Result<(), Failure> {
        let mut rows = Results::default();
        for path in &self.files {
            rows.add(path)?;
        }
        let page = Bytes::from(report::of_results(typed, &self.files, &rows)?);
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let cannot = |error| Failure::Work(format!("--port: cannot listen at {wanted}: {error}"));
        let server = Server::bind(wanted).map_err(cannot)?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|error| Failure::Work(format!("cannot wait for signals: {error}")))?;
        let address = server.address();
        let page =
            move |path: &str| (path == "/").then(|| Page { kind: "text/html; charset=utf-8", body: page.clone() });
        server.serve("there is only /\n", page).map_err(cannot)?;
        writeln!(stdout(), "http://{address}/   (Ctrl-C ends it)")?;
        stdout().flush()?;
        if !self.no_open {
            open(&format!("http://{address}/"));
        }
        signals.forever().next();
        Ok(())
    }
}

/// Opens the browser where there is a desktop; elsewhere the address has been printed.
fn open(address: &str) {
    if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some()) {
        let quiet = || Stdio::null();
        let _ = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    }
}
