//! The status over HTTP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::Subject;
use crate::http::{Page, Server};

/// A server that listens for readers of the status.
pub struct Listening(Server);

impl Listening {
    /// Listens at `HOST:PORT`.
    ///
    /// # Errors
    ///
    /// The address is taken, or belongs to another machine.
    pub fn bind(wanted: &str) -> io::Result<Listening> {
        Server::bind(wanted).map(Listening)
    }

    /// Serves `/metrics` for Prometheus and `/status` in JSON as long as the process lives, at the returned address.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn serve(self, subject: Arc<dyn Subject>) -> io::Result<SocketAddr> {
        let address = self.0.address();
        self.0.serve("there is /metrics and /status\n", move |asked| page(asked.path, subject.as_ref()))?;
        Ok(address)
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
