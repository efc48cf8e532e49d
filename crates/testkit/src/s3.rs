//! A store with the part of S3 that a mount needs, which fails on request: `GET` and `HEAD` of objects with `Range` and
//! `If-Match`, listings (`list-type=2`), and changes to objects ([`writing`]), over HTTP/1.1 on this machine. By WebDAV
//! the same are files ([`webdav`]).
//!
//! It checks no signatures. It records requests, so that tests can count them and look at their contents.

mod webdav;
mod writing;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

pub use webdav::Tags;
use writing::{Told, Uploads};

/// The store, with one bucket called `bucket`. Its threads end with the process.
pub struct S3 {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `GET`, `HEAD`, `PUT`, `POST`, `DELETE` or `PROPFIND`.
    pub method: String,
    /// The key; of a listing the prefix.
    pub key: String,
    /// It is a listing.
    pub lists: bool,
    /// The first byte that is asked for, and the last one; [`u64::MAX`] where it goes on to the end.
    pub range: Option<(u64, u64)>,
    /// The number of a part that is sent, from 1 on.
    pub part: Option<usize>,
    /// Bytes that were sent with it.
    pub length: usize,
    /// All headers as they came, by their names in small letters.
    pub headers: Vec<(String, String)>,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It is answered with this status; the body repeats all that was sent, as stores do.
    Status(u16),
    /// It redirects to this address, by this status.
    Elsewhere(u16, SocketAddr),
    /// Of the body come so many bytes only, then the connection ends.
    Cut(usize),
    /// The body is so many bytes long, and nothing says that it should be longer but the range that was asked for.
    Short(usize),
    /// It is answered with this text, and 200; a `PROPFIND` with 207.
    Text(&'static str),
    /// The same, and the last of both goes on coming without end.
    Repeated(&'static str, &'static str),
    /// The answer comes so much later.
    Late(Duration),
    /// The same, with the time of each request to the store.
    Old(Duration),
    /// The connection ends without an answer.
    Closed,
    /// The body goes on behind what was asked for, without end.
    Endless,
}

/// How far away the store is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// Each answer begins so much later.
    pub latency: Duration,
    /// Bytes a second of one connection; 0 for no limit.
    pub connection: u64,
    /// Bytes a second of all connections together; 0 for no limit.
    pub all: u64,
}

/// Sends at most this number of bytes a second.
#[derive(Default)]
struct Pace {
    /// The time at which all bytes sent so far are through.
    free: Option<Instant>,
}

/// What goes through a link at once.
const PIECE: usize = 64 << 10;

impl Pace {
    /// Sends so many bytes more; returns the time at which they are through.
    fn add(&mut self, bytes: usize, rate: u64) -> Option<Instant> {
        let time = Duration::from_nanos((bytes as u64 * 1_000_000_000).checked_div(rate)?);
        let now = Instant::now();
        let free = self.free.map_or(now, |free| free.max(now)) + time;
        self.free = Some(free);
        Some(free)
    }
}

/// Decides for each request what goes wrong with it.
type Faults = Box<dyn FnMut(&Asked) -> Option<Fault> + Send>;

/// The bytes of an answer, or of an object.
type Body = Arc<Vec<u8>>;

/// The part of an address behind the question mark.
type Query = BTreeMap<String, String>;

struct Shared {
    /// Bytes and etags, by keys.
    objects: Mutex<BTreeMap<String, (Body, String)>>,
    uploads: Mutex<Uploads>,
    told: Mutex<Told>,
    versions: AtomicUsize,
    faults: Mutex<Faults>,
    asked: Mutex<Vec<Asked>>,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    page: AtomicUsize,
    ignores_conditions: AtomicBool,
    ignores_ranges: AtomicBool,
    skips_copies: AtomicBool,
    names_bytes: AtomicBool,
    speaks_webdav: AtomicBool,
    tags: Mutex<Tags>,
    /// When versions were written, by their etags.
    times: Mutex<BTreeMap<String, SystemTime>>,
    link: Mutex<Link>,
    all: Mutex<Pace>,
    sent: AtomicU64,
}

/// The time at which everything was written: nothing may rely on it.
const WRITTEN: &str = "2026-01-05T10:00:00.000Z";

impl Default for S3 {
    fn default() -> S3 {
        S3::start()
    }
}

impl S3 {
    /// An empty bucket.
    pub fn start() -> S3 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let shared = Arc::new(Shared {
            objects: Mutex::default(),
            uploads: Mutex::default(),
            told: Mutex::default(),
            versions: AtomicUsize::new(0),
            faults: Mutex::new(Box::new(|_| None)),
            asked: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            page: AtomicUsize::new(1000),
            ignores_conditions: AtomicBool::new(false),
            ignores_ranges: AtomicBool::new(false),
            skips_copies: AtomicBool::new(false),
            names_bytes: AtomicBool::new(false),
            speaks_webdav: AtomicBool::new(true),
            tags: Mutex::default(),
            times: Mutex::default(),
            link: Mutex::default(),
            all: Mutex::default(),
            sent: AtomicU64::new(0),
        });
        let (address, serving) = (listener.local_addr().expect("it is bound"), shared.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                // A client that goes away does not fail the store.
                thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        S3 { address, shared }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Writes an object: another version, even with the same bytes.
    pub fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        self.shared.put(key, Arc::new(bytes.into()));
    }

    /// Deletes an object.
    pub fn remove(&self, key: &str) {
        lock(&self.shared.objects).remove(key);
    }

    /// From now on this decides what goes wrong.
    pub fn fail(&self, faults: impl FnMut(&Asked) -> Option<Fault> + Send + 'static) {
        *lock(&self.shared.faults) = Box::new(faults);
    }

    /// All objects.
    pub fn objects(&self) -> Vec<(String, Vec<u8>)> {
        lock(&self.shared.objects).iter().map(|(key, (bytes, _))| (key.clone(), bytes.to_vec())).collect()
    }

    /// Objects in parts that are neither complete nor given up.
    pub fn uploads(&self) -> usize {
        lock(&self.shared.uploads).len()
    }

    /// From now on `If-Match` is not looked at.
    pub fn ignore_conditions(&self) {
        self.shared.ignores_conditions.store(true, Ordering::Relaxed);
    }

    /// From now on `Range` is not looked at, as by simple web servers.
    pub fn ignore_ranges(&self) {
        self.shared.ignores_ranges.store(true, Ordering::Relaxed);
    }

    /// From now on copies are said to be made, with an error as the text, as stores do, and are not.
    pub fn skip_copies(&self) {
        self.shared.skips_copies.store(true, Ordering::Relaxed);
    }

    /// From now on the same bytes have the same etag, as in S3.
    pub fn name_bytes(&self) {
        self.shared.names_bytes.store(true, Ordering::Relaxed);
    }

    /// From now on it is a web server that knows no `PROPFIND`.
    pub fn refuse_webdav(&self) {
        self.shared.speaks_webdav.store(false, Ordering::Relaxed);
    }

    /// From now on versions are compared in this way, by WebDAV and where bytes are read.
    pub fn set_tags(&self, tags: Tags) {
        *lock(&self.shared.tags) = tags;
    }

    /// Names of a listing that come at once.
    pub fn set_page(&self, names: usize) {
        self.shared.page.store(names, Ordering::Relaxed);
    }

    /// All that was asked since this was called last.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *lock(&self.shared.asked))
    }

    /// From now on it is so far away.
    pub fn set_link(&self, link: Link) {
        *lock(&self.shared.link) = link;
    }

    /// Bytes of bodies that were sent since this was called last.
    pub fn take_sent(&self) -> u64 {
        self.shared.sent.swap(0, Ordering::Relaxed)
    }

    /// The most requests that were under way at a time since this was called last.
    pub fn take_most_under_way(&self) -> usize {
        self.shared.most_under_way.swap(0, Ordering::Relaxed)
    }
}

/// An answer before it is sent.
struct Answer {
    status: u16,
    headers: String,
    body: Body,
    /// The part of the body that is sent.
    part: Range<usize>,
    /// The answer in the header; of a `HEAD` without a body.
    length: usize,
}

impl Answer {
    fn error(status: u16, asked: &Asked) -> Answer {
        let body = format!("<Error><Code>Fault</Code><Message>{asked:?}</Message></Error>").into_bytes();
        Answer::whole(status, body)
    }

    fn whole(status: u16, body: Vec<u8>) -> Answer {
        Answer { status, headers: String::new(), length: body.len(), part: 0..body.len(), body: Arc::new(body) }
    }

    fn bytes(&self) -> &[u8] {
        &self.body[self.part.clone()]
    }

    /// Sends so many bytes at most.
    fn cut(&mut self, bytes: usize) {
        self.part.end = self.part.end.min(self.part.start.saturating_add(bytes));
    }
}

/// A request under way.
struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// Answers the requests of one connection.
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut pace = Pace::default();
        while let Some((asked, query, body)) = read_request(&mut reader)? {
            let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            let under_way = UnderWay(&self.under_way);
            self.most_under_way.fetch_max(now, Ordering::SeqCst);
            lock(&self.asked).push(asked.clone());
            let fault = (lock(&self.faults))(&asked);
            let late = if let Some(Fault::Late(time)) = fault { time } else { Duration::ZERO };
            let link = *lock(&self.link);
            thread::sleep(link.latency + late);
            self.arrive(body.len(), link, &mut pace);
            let mut answer = match fault {
                Some(Fault::Status(status)) => Answer::error(status, &asked),
                Some(Fault::Elsewhere(status, address)) => Answer {
                    headers: format!("Location: http://{address}/bucket/{}\r\n", asked.key),
                    ..Answer::error(status, &asked)
                },
                Some(Fault::Text(text) | Fault::Repeated(text, _)) => {
                    Answer::whole(if asked.method == "PROPFIND" { 207 } else { 200 }, text.into())
                }
                _ if asked.method == "PROPFIND" => self.find(&asked),
                _ if asked.lists => self.list(&asked, &query),
                _ if matches!(asked.method.as_str(), "PUT" | "POST" | "DELETE") => self.change(&asked, &query, body),
                _ => self.object(&asked),
            };
            if let Some(Fault::Old(time)) = fault {
                thread::sleep(time);
            }
            if asked.method == "HEAD" {
                answer.cut(0);
            }
            if let Some(Fault::Short(bytes)) = fault {
                answer.cut(bytes);
                answer.length = answer.bytes().len();
            }
            if matches!(fault, Some(Fault::Endless)) {
                return send_endless(&mut stream, &answer, &[b' '; 1 << 16]);
            }
            if let Some(Fault::Repeated(_, text)) = fault {
                return send_endless(&mut stream, &answer, text.repeat((1 << 16) / text.len() + 1).as_bytes());
            }
            let mut sent = format!("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n", answer.status, answer.length);
            let _ = write!(sent, "{}\r\n", answer.headers);
            let whole = answer.bytes().len();
            if let Some(Fault::Cut(bytes)) = fault {
                answer.cut(bytes);
            }
            if matches!(fault, Some(Fault::Closed)) {
                return Ok(());
            }
            let (body, last) = answer.bytes().split_at(answer.bytes().len().saturating_sub(1) / PIECE * PIECE);
            if !body.is_empty() {
                stream.write_all(std::mem::take(&mut sent).as_bytes())?;
                self.send(&mut stream, body, link, &mut pace)?;
            }
            // A client that has all of it may ask again at once.
            drop(under_way);
            stream.write_all(sent.as_bytes())?;
            self.send(&mut stream, last, link, &mut pace)?;
            if answer.bytes().len() < whole {
                return Ok(());
            }
        }
        Ok(())
    }

    /// So many bytes have come, or are to go: waits as long as that takes over the link.
    fn arrive(&self, bytes: usize, link: Link, pace: &mut Pace) {
        let through = pace.add(bytes, link.connection).max(lock(&self.all).add(bytes, link.all));
        if let Some(through) = through {
            thread::sleep(through.saturating_duration_since(Instant::now()));
        }
    }

    /// Sends a body as fast as the link allows.
    fn send(&self, stream: &mut TcpStream, body: &[u8], link: Link, pace: &mut Pace) -> io::Result<()> {
        for piece in body.chunks(PIECE) {
            self.arrive(piece.len(), link, pace);
            stream.write_all(piece)?;
            self.sent.fetch_add(piece.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    fn object(&self, asked: &Asked) -> Answer {
        let objects = lock(&self.objects);
        let Some((bytes, tag)) = objects.get(&asked.key) else { return Answer::error(404, asked) };
        let looks = !self.ignores_conditions.load(Ordering::Relaxed);
        let tags = *lock(&self.tags);
        let written = self.written(tag);
        if asked.header("if-match").is_some_and(|wanted| looks && wanted != tag)
            || asked.header("if-unmodified-since").is_some_and(|wanted| looks && wanted != written)
        {
            return Answer::error(412, asked);
        }
        let mut headers = format!("Last-Modified: {written}\r\nAccept-Ranges: bytes\r\n");
        tags.with_bytes(tag).into_iter().for_each(|tag| _ = write!(headers, "ETag: {tag}\r\n"));
        headers.push_str(lock(&self.told).get(tag).map_or("", String::as_str));
        let size = bytes.len();
        let (status, part) = match asked.range.filter(|_| !self.ignores_ranges.load(Ordering::Relaxed)) {
            None => (200, 0..size),
            Some((first, _)) if first as usize >= size => return Answer::error(416, asked),
            Some((first, last)) => {
                let (first, end) = (first as usize, size.min((last as usize).saturating_add(1)));
                let _ = write!(headers, "Content-Range: bytes {first}-{}/{size}\r\n", end - 1);
                (206, first..end)
            }
        };
        Answer { status, headers, length: part.len(), part, body: bytes.clone() }
    }

    /// Names in order, those that go on behind the delimiter as one.
    fn list(&self, asked: &Asked, query: &Query) -> Answer {
        let objects = lock(&self.objects);
        let after = query.get("continuation-token").cloned().unwrap_or_default();
        let mut names: BTreeMap<String, Option<(usize, String)>> = BTreeMap::new();
        for (key, (bytes, tag)) in objects.range(asked.key.clone()..).take_while(|(key, _)| key.starts_with(&asked.key))
        {
            let rest = &key[asked.key.len()..];
            match rest.split_once('/').filter(|_| query.contains_key("delimiter")) {
                Some((name, _)) => names.insert(format!("{}{name}/", asked.key), None),
                None => names.insert(key.clone(), Some((bytes.len(), tag.clone()))),
            };
        }
        let mut rest = names.into_iter().filter(|(name, _)| *name > after).peekable();
        let mut body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult>".to_owned();
        let mut last = String::new();
        for (name, object) in rest.by_ref().take(self.page.load(Ordering::Relaxed)) {
            let shown = escaped(&name);
            let _ = match object {
                Some((size, tag)) => write!(
                    body,
                    "<Contents><Key>{shown}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{size}</Size></Contents>",
                    WRITTEN,
                    tag.replace('"', "&quot;")
                ),
                None => write!(body, "<CommonPrefixes><Prefix>{shown}</Prefix></CommonPrefixes>"),
            };
            last = name;
        }
        let _ = write!(body, "<IsTruncated>{}</IsTruncated>", rest.peek().is_some());
        if rest.peek().is_some() {
            let _ = write!(body, "<NextContinuationToken>{}</NextContinuationToken>", escaped(&last));
        }
        body.push_str("</ListBucketResult>");
        Answer::whole(200, body.into_bytes())
    }
}

fn send_endless(stream: &mut TcpStream, answer: &Answer, more: &[u8]) -> io::Result<()> {
    let Answer { status, headers, .. } = answer;
    write!(stream, "HTTP/1.1 {status} Status\r\nConnection: close\r\n{headers}\r\n")?;
    stream.write_all(answer.bytes())?;
    loop {
        // Until the reader closes.
        stream.write_all(more)?;
    }
}

/// The next request of a connection, what is behind the question mark, and the body; none at its end.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(Asked, Query, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query: Query = query
        .split('&')
        .filter_map(|pair| Some(pair.split_once('=').unwrap_or((pair, ""))).filter(|(key, _)| !key.is_empty()))
        .map(|(key, value)| (decoded(key), decoded(&value.replace('+', " "))))
        .collect();
    let path = decoded(path);
    let key = path.strip_prefix("/bucket").unwrap_or(&path).trim_start_matches('/').to_owned();
    let lists = query.get("list-type").is_some_and(|kind| kind == "2");
    let key = if lists { query.get("prefix").cloned().unwrap_or_default() } else { key };
    let part = query.get("partNumber").and_then(|number| number.parse().ok());
    let mut asked = Asked { method, key, lists, range: None, part, length: 0, headers };
    let range = asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    asked.range = range.and_then(|(first, last)| {
        let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
        Some((first.parse().ok()?, last))
    });
    let length = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    asked.length = body.len();
    Ok(Some((asked, query, body)))
}

/// Text in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Text with `%20` and similar codes.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match code.filter(|_| first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
