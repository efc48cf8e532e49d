//! `hotset view`: results in the browser, from a server on this machine.

use std::env;
use std::io::{Write, stdout};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::failure::Failure;
use crate::report;
use crate::results::read::Read;

/// Show results in the browser, from a server that only this machine reaches
#[derive(Args)]
#[command(after_help = "\
Examples:
  hotset view results.jsonl
  hotset view monday.jsonl tuesday.csv.zst --no-open --port 8000")]
pub(crate) struct View {
    /// Results of simulate, curve or experiment (JSON Lines, CSV or Parquet) and series over time (JSON Lines), plain or packed by zstd, gzip or xz
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
        let mut rows = Read::default();
        for path in &self.files {
            rows.add(path)?;
        }
        let page = report::of_results(typed, &self.files, &rows)?;
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let server = Server::http(wanted)
            .map_err(|error| Failure::Work(format!("--port: cannot listen at {wanted}: {error}")))?;
        let server = Arc::new(server);
        let address = server.server_addr().to_ip().unwrap_or(wanted);
        stop_on_signals(&server)?;
        writeln!(stdout(), "http://{address}/   (Ctrl-C ends it)")?;
        stdout().flush()?;
        if !self.no_open {
            open(&format!("http://{address}/"));
        }
        for request in server.incoming_requests() {
            // A browser that goes away misses its answer.
            let _ = answer(request, address, &page);
        }
        Ok(())
    }
}

/// Ends the server at Ctrl-C and its like.
fn stop_on_signals(server: &Arc<Server>) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
        .map_err(|error| Failure::Work(format!("cannot wait for signals: {error}")))?;
    let server = server.clone();
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            server.unblock();
        }
    });
    Ok(())
}

/// The page at `/`, for whoever asks for this machine by name: a page from elsewhere whose name was turned to this address does not get it.
fn answer(request: Request, address: SocketAddr, page: &str) -> std::io::Result<()> {
    let asked = request.headers().iter().find(|header| header.field.equiv("Host")).map(|header| header.value.as_str());
    let own = [address.to_string(), format!("localhost:{}", address.port())];
    let text = |status: u16, text: &str| Response::from_string(text).with_status_code(status);
    if !asked.is_some_and(|asked| own.iter().any(|own| own == asked)) {
        return request.respond(text(403, "expected to be asked as this machine\n"));
    }
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(text(405, "there is only a page to read\n"));
    }
    if request.url() != "/" {
        return request.respond(text(404, "there is only /\n"));
    }
    let header = |name: &str, value: &str| Header::from_bytes(name, value).expect("a header of letters");
    let page = text(200, page).with_header(header("Content-Type", "text/html; charset=utf-8"));
    request.respond(page.with_header(header("Cache-Control", "no-store")))
}

/// Opens the browser where there is a desktop; elsewhere the address has been printed.
fn open(address: &str) {
    if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some()) {
        let quiet = || Stdio::null();
        let _ = Command::new("xdg-open").arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    }
}
