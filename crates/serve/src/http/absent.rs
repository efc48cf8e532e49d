//! The server of `http.rs` in a build without the feature `view`: its users are refused, so no value of it exists.
#![expect(missing_docs, reason = "`http.rs` has the documentation")]

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use bytes::Bytes;
use serde::Serialize;

pub struct Page {
    pub kind: &'static str,
    pub body: Bytes,
}

pub struct Asked<'a> {
    pub path: &'a str,
    pub is_change: bool,
}

pub struct Server(Infallible);

impl Page {
    pub fn html(body: impl Into<Bytes>) -> Page {
        Page { kind: "", body: body.into() }
    }

    pub fn json(_: &impl Serialize) -> Page {
        Page::html("")
    }

    pub fn text(body: impl Into<Bytes>) -> Page {
        Page::html(body)
    }
}

impl Asked<'_> {
    pub fn value(&self, _: &str) -> String {
        String::new()
    }
}

impl Server {
    pub fn bind(_: impl ToSocketAddrs) -> io::Result<Server> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn with_changes(self) -> Server {
        match self.0 {}
    }

    pub fn address(&self) -> SocketAddr {
        match self.0 {}
    }

    pub fn serve(self, _: &'static str, _: impl Fn(&Asked) -> Option<Page> + Send + Sync + 'static) -> io::Result<()> {
        match self.0 {}
    }
}
