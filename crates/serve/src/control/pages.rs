//! The status over HTTP.

use std::sync::Arc;

use super::Subject;
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
    pub(crate) fn serve(self, subject: Arc<dyn Subject>) -> Result<(), Failure> {
        let address = self.0.address();
        self.0.serve("there is /metrics and /status\n", move |asked| page(asked.path, subject.as_ref()))?;
        eprintln!("hotset: http://{address}/metrics and http://{address}/status tell how it goes");
        Ok(())
    }
}

fn page(path: &str, subject: &dyn Subject) -> Option<Page> {
    let (kind, text) = match path {
        "/metrics" => ("text/plain; version=0.0.4", subject.metrics()),
        "/status" => ("application/json", subject.status().ok()?.to_string() + "\n"),
        _ => return None,
    };
    Some(Page { kind, body: text.into() })
}
