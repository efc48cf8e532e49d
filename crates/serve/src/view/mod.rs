//! Results in the browser, and directories of results and traces, whose traces a page may have replayed.
//!
//! Every address begins with a number that is drawn anew: other users of the machine, and pages from elsewhere that the
//! browser shows, reach the port and no page.

mod jobs;
mod library;
mod live;
mod shelf;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use crate::http::{Asked, Page, Server};

pub use jobs::Job;
pub use shelf::Shelf;

/// Spells the commands of the pages as the front end takes them.
pub trait Spelling: Send + Sync {
    /// The command that replays like a job.
    fn replay(&self, job: &Job) -> String;

    /// The command that shows a file of results.
    fn show(&self, results: &Path) -> String;

    /// The options with which commands read traces as these rows of results were read; none if they were read in
    /// several ways.
    fn reading(&self, rows: &[Value]) -> Vec<String>;
}

/// The answer to an address without the secret.
const MISSING: &str = "expected the whole address that hotset has printed\n";

/// Draws the part of an address that cannot be guessed.
///
/// # Errors
///
/// The system gives no random bytes.
pub fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Serves a page of HTML in a separate thread, below a [`secret`]; gives its address.
///
/// # Errors
///
/// The thread cannot be started.
pub fn serve_page(server: Server, secret: &str, html: String) -> io::Result<String> {
    let html = Bytes::from(html);
    serve(server, secret, move |path, _| path.is_empty().then(|| Page::html(html.clone())))
}

/// Serves directories in the same way. Their page may change what is being replayed.
///
/// # Errors
///
/// The thread cannot be started.
pub fn serve_shelf(server: Server, secret: &str, shelf: Shelf) -> io::Result<String> {
    serve(server.with_changes(), secret, move |path, asked| shelf.page(path, asked))
}

fn serve(
    server: Server,
    secret: &str,
    page: impl Fn(&str, &Asked) -> Option<Page> + Send + Sync + 'static,
) -> io::Result<String> {
    let below = format!("/{secret}/");
    let address = format!("http://{}{below}", server.address());
    server.serve(MISSING, move |asked| asked.path.strip_prefix(&below).and_then(|path| page(path, asked)))?;
    Ok(address)
}
