//! The server behind `view`, and behind the address of a mount: a few pages, over HTTP/1, by one thread.
//!
//! A client may be an attacker. Heads of requests are limited in size and time, requests with a body are refused
//! unread, and connections are limited in number: a new one closes the oldest one, so a slow client does not block
//! others. Each connection serves one request.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

/// Connections at once.
const MOST_CONNECTIONS: usize = 64;

/// Bytes of the head of a request.
const LONGEST_HEAD: usize = 16 << 10;

/// How long the head of a request may take to come.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// How long a connection may take in all.
const TIME: Duration = Duration::from_secs(60);

/// The wait when the system has no descriptor for one more connection.
const PAUSE: Duration = Duration::from_millis(50);

/// What there is at a path.
pub struct Page {
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub body: Bytes,
}

impl Page {
    /// A page of HTML.
    pub fn html(body: impl Into<Bytes>) -> Page {
        Page { kind: "text/html; charset=utf-8", body: body.into() }
    }

    /// Something as JSON.
    pub fn json(value: &impl Serialize) -> Page {
        // The shown data has text for keys.
        let body = serde_json::to_string(value).unwrap_or_default();
        Page { kind: "application/json", body: body.into() }
    }

    /// Plain text.
    pub fn text(body: impl Into<Bytes>) -> Page {
        Page { kind: "text/plain; charset=utf-8", body: body.into() }
    }
}

/// The requested path.
pub struct Asked<'a> {
    /// The path, as it came.
    pub path: &'a str,
    /// The text behind the question mark, unchanged.
    query: &'a str,
    /// It is to change something.
    pub is_change: bool,
}

impl Asked<'_> {
    /// The value of a key of the query; empty where it is not there.
    pub fn value(&self, key: &str) -> String {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(name, _)| name == key).map_or_else(String::new, |(_, value)| value.into_owned())
    }
}

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    runtime: Runtime,
    takes_changes: bool,
}

impl Server {
    /// Listens at an address, or at the first that can be had of those that a name has.
    pub fn bind(wanted: impl ToSocketAddrs) -> io::Result<Server> {
        let listener = TcpListener::bind(wanted)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Server { listener, address, runtime, takes_changes: false })
    }

    /// Requests may change something; who may do so is for the pages to find out.
    pub fn with_changes(self) -> Server {
        Server { takes_changes: true, ..self }
    }

    /// Where it listens, with the port that was chosen if any would do.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the pages in a separate thread until the process ends. A path without a page is answered with `missing`.
    pub fn serve(
        self,
        missing: &'static str,
        page: impl Fn(&Asked) -> Option<Page> + Send + Sync + 'static,
    ) -> io::Result<()> {
        let Server { listener, address, runtime, takes_changes } = self;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let is_local = address.ip().is_loopback();
        let answer = Arc::new(move |request: &Request<Incoming>| {
            if let Some((status, why)) = refusal(request, is_local, takes_changes) {
                return (status, Page::text(why));
            }
            let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
            let found = page(&Asked { path, query, is_change: *request.method() == Method::POST });
            found.map_or_else(|| (StatusCode::NOT_FOUND, Page::text(missing)), |page| (StatusCode::OK, page))
        });
        thread::Builder::new().name("http".to_owned()).spawn(move || runtime.block_on(accept(listener, answer)))?;
        Ok(())
    }
}

/// Takes connections for ever. What fails or panics in one of them ends that one.
async fn accept<A>(listener: tokio::net::TcpListener, answer: Arc<A>)
where
    A: Fn(&Request<Incoming>) -> (StatusCode, Page) + Send + Sync + 'static,
{
    let mut open = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        open.retain(|connection: &tokio::task::JoinHandle<_>| !connection.is_finished());
        if open.len() == MOST_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(tokio::spawn(timeout(TIME, converse(stream, answer.clone()))));
    }
}

async fn converse<A>(stream: TcpStream, answer: Arc<A>)
where
    A: Fn(&Request<Incoming>) -> (StatusCode, Page),
{
    let service = service_fn(|request: Request<Incoming>| {
        let (status, page) = answer(&request);
        let mut response = Response::new(Full::new(page.body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(page.kind));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        async { Ok::<_, Infallible>(response) }
    });
    // A client that does not speak HTTP or goes away gets no answer.
    let _ = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// Why a request gets no page.
fn refusal(request: &Request<Incoming>, is_local: bool, takes_changes: bool) -> Option<(StatusCode, &'static str)> {
    if is_local && !asks_this_machine(request) {
        return Some((StatusCode::FORBIDDEN, "expected to be asked as this machine\n"));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let changes = *request.method() == Method::POST && takes_changes;
    if !reads && !changes {
        return Some((StatusCode::METHOD_NOT_ALLOWED, "there are only pages to read\n"));
    }
    (!request.body().is_end_stream()).then_some((StatusCode::PAYLOAD_TOO_LARGE, "expected a request without a body\n"))
}

/// A page from elsewhere, whose name was turned to this address, asks by that name.
fn asks_this_machine(request: &Request<Incoming>) -> bool {
    let is_own = |host: &HeaderValue| {
        let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
        let name = authority.host().trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    };
    let mut hosts = request.headers().get_all(HOST).iter();
    hosts.next().is_some_and(is_own) && hosts.next().is_none()
}
