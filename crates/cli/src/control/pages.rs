//! The status over HTTP.

use std::sync::Arc;

use hotset_cache::{FileCache, Status};

use super::metrics;
use crate::failure::Failure;
use crate::http::{Page, Server};

/// A server that was asked for by `--listen`.
pub(crate) struct Listening(Server);

/// Listens at `HOST:PORT`.
pub(crate) fn listen(wanted: &str) -> Result<Listening, Failure> {
    let server = Server::bind(wanted).map_err(|error| {
        Failure::Work(format!(
            "--listen: cannot listen at {wanted}: {error}; expected HOST:PORT of this machine, as 127.0.0.1:9400"
        ))
    })?;
    Ok(Listening(server))
}

impl Listening {
    /// Serves `/metrics` for Prometheus and `/status` in JSON as long as the process lives, and says where.
    pub(crate) fn serve(self, cache: Arc<FileCache>) -> Result<(), Failure> {
        let address = self.0.address();
        self.0.serve("there is /metrics and /status\n", move |path| page(path, &cache))?;
        eprintln!("hotset: http://{address}/metrics and http://{address}/status tell how it goes");
        Ok(())
    }
}

fn page(path: &str, cache: &FileCache) -> Option<Page> {
    let (kind, text) = match path {
        "/metrics" => ("text/plain; version=0.0.4", metrics::text(&Status::of(cache))),
        "/status" => {
            let status = serde_json::to_string(&Status::of(cache)).expect("a status has names for keys");
            ("application/json", status + "\n")
        }
        _ => return None,
    };
    Some(Page { kind, body: text.into() })
}
