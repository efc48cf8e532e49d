//! A directory of a web server that speaks WebDAV (RFC 4918), read-only.
//!
//! Idea: `PROPFIND` returns the content of a directory (Depth 1) or the properties of one name (Depth 0), and files are
//! read by `GET` as those of any web server. The library reads listings of the server's root only, fails on a whole
//! listing if it fails on one name, and holds them in memory; so listings are read here, and the library reads the
//! bytes of files. For the rest of this crate both are one store like any other.
//!
//! The server's address limits the names: those that are not directly below it (other servers, `..`, empty parts) are
//! left out. A listing is one answer of any length, so it has separate bounds: [`LONGEST_LISTING`] bytes of XML each,
//! and [`NAMES`] bytes of names in flight in total.
//!
//! Without a strong etag, a version is the second of its last change, and its size. A file may be written twice within
//! a second, so its bytes are only requested when that second is over by the server's clock ([`Clock`]).

pub(crate) mod multistatus;
pub(crate) mod place;

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use object_store::client::{HttpClient, HttpRequest, HttpResponse};
use object_store::http::HttpStore;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, Extensions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, RetryConfig,
};
use reqwest::Url;
use tokio::time::sleep;

use crate::error::StoreError;
use crate::http::LONGEST_LISTING;
use crate::http::bounded::Asked;
use crate::http::failed::on_the_way;
use crate::http::limits::AGAIN;
use crate::http::redirects::{HOPS, Redirects};
use crate::object::LONGEST;
use crate::webdav::multistatus::Entry;
use crate::webdav::place::Place;

/// Bytes of the properties of one file.
const LONGEST_ANSWER: u64 = 1 << 20;

/// Bytes of the names of all listings that are being read.
const NAMES: u64 = 512 << 20;

/// Bytes that a name takes beside itself.
const NAME: u64 = 200;

/// The properties that are requested of each file and directory.
const PROPERTIES: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:propfind xmlns:D=\"DAV:\"><D:prop><D:resourcetype/>\
                          <D:getcontentlength/><D:getlastmodified/><D:getetag/></D:prop></D:propfind>\n";

/// A directory of a web server.
#[derive(Debug)]
pub(crate) struct Web {
    /// Reads the bytes of files.
    files: HttpStore,
    /// Requests properties. It follows no redirects.
    client: HttpClient,
    /// The directory, without a slash at its end.
    base: Url,
    retry: RetryConfig,
    asked: Asked,
    redirects: Redirects,
    clock: Clock,
    /// Bytes of names that are being read.
    names: AtomicU64,
}

/// The object of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Itself,
    AllInIt,
}

impl Web {
    pub fn new(
        files: HttpStore,
        client: HttpClient,
        base: Url,
        retry: RetryConfig,
        asked: Asked,
        redirects: Redirects,
    ) -> Web {
        Web { files, client, base, retry, asked, redirects, clock: Clock::default(), names: AtomicU64::default() }
    }

    /// What lies right in a directory, and the directory itself, if there is such.
    async fn listed(&self, key: &str) -> Result<ListResult, StoreError> {
        let is_root = key.is_empty();
        self.asked.note(self.base.as_str());
        let mut listed =
            ListResult { common_prefixes: Vec::new(), objects: Vec::new(), extensions: Extensions::default() };
        let (url, answer) = match self.find(key, About::AllInIt).await {
            Err(StoreError::Missing) if is_root => return Err(StoreError::NoListing(404)),
            Err(StoreError::Missing) => return Ok(listed),
            found => found?,
        };
        let (place, mut held, mut itself) = (Place::new(&url), Held { all: &self.names, bytes: 0 }, None);
        let take = |entry: Entry| {
            let Some(name) = place.below(&entry.href) else { return Ok(()) };
            if name.is_empty() {
                itself = Some(entry.is_directory);
                return Ok(());
            }
            let Some(path) = path(key, &name) else { return Ok(()) };
            held.add(NAME + (path.as_ref().len() + entry.tag.as_ref().map_or(0, String::len)) as u64)?;
            match entry.is_directory {
                true => listed.common_prefixes.push(path),
                false => listed.objects.extend(about(path, entry)),
            }
            Ok(())
        };
        multistatus::read(answer.into_body().bytes_stream(), LONGEST_LISTING, take).await?;
        match itself {
            // All of it is about something else, perhaps by another address of the same server.
            None => Err(StoreError::Answer(None)),
            Some(false) if is_root => Err(StoreError::Location(
                "this is a file: expected the address of a directory, whose files are then mounted".to_owned(),
            )),
            Some(false) => Ok(ListResult { common_prefixes: Vec::new(), objects: Vec::new(), ..listed }),
            Some(true) => {
                listed.common_prefixes.push(Path::parse(key).map_err(|_| StoreError::Missing)?);
                Ok(listed)
            }
        }
    }

    /// The file at a path. An answer that ends too early is asked for again.
    async fn head(&self, path: &Path) -> Result<ObjectMeta, StoreError> {
        let mut left = AGAIN;
        loop {
            match self.head_once(path).await {
                Err(StoreError::Cut) if left > 0 => left -= 1,
                done => return done,
            }
        }
    }

    async fn head_once(&self, path: &Path) -> Result<ObjectMeta, StoreError> {
        let (url, answer) = self.find(path.as_ref(), About::Itself).await?;
        let (place, mut found) = (Place::new(&url), None);
        let take = |entry: Entry| {
            if place.below(&entry.href).is_some_and(|name| name.is_empty()) {
                found = Some(entry);
            }
            Ok(())
        };
        multistatus::read(answer.into_body().bytes_stream(), LONGEST_ANSWER, take).await?;
        let entry = found.ok_or(StoreError::Answer(None))?;
        // No object has the name of a directory.
        if entry.is_directory {
            Err(StoreError::Missing)
        } else {
            about(path.clone(), entry).ok_or(StoreError::Missing)
        }
    }

    /// Asks for properties, where answers say that they are. Gives where that was, and an answer that has some.
    async fn find(&self, key: &str, about: About) -> Result<(Url, HttpResponse), StoreError> {
        let mut url = self.base.clone();
        {
            let mut parts = url.path_segments_mut().map_err(|()| StoreError::Missing)?;
            parts.extend(key.split('/').filter(|part| !part.is_empty()));
            if about == About::AllInIt || key.is_empty() {
                parts.push("");
            }
        }
        for _ in 0..=HOPS {
            let answer = self.ask(&url, about).await?;
            let status = answer.status().as_u16();
            match status {
                207 => {
                    self.clock.note(answer.headers().get("date").and_then(|date| date.to_str().ok()));
                    return Ok((url, answer));
                }
                401 | 403 => return Err(StoreError::Denied),
                404 | 410 => return Err(StoreError::Missing),
                300..=399 => {
                    let to = answer.headers().get("location").and_then(|to| to.to_str().ok());
                    url = self.redirects.next(&url, to.ok_or(StoreError::Answer(Some(status)))?, status)?;
                }
                _ if is_busy(status) => return Err(StoreError::Answer(Some(status))),
                _ => return Err(StoreError::NoListing(status)),
            }
        }
        Err(StoreError::Answer(Some(302)))
    }

    /// Asks once, and again where the server is busy or the connection has ended.
    async fn ask(&self, url: &Url, about: About) -> Result<HttpResponse, StoreError> {
        let begun = Instant::now();
        let (mut wait, mut left) = (self.retry.backoff.init_backoff, self.retry.max_retries);
        loop {
            let error = match self.client.execute(request(url, about)?).await {
                Ok(answer) if !is_busy(answer.status().as_u16()) => return Ok(answer),
                Ok(answer) => StoreError::Answer(Some(answer.status().as_u16())),
                Err(error) => on_the_way(&error),
            };
            if left == 0 || begun.elapsed() + wait > self.retry.retry_timeout {
                return Err(error);
            }
            left -= 1;
            sleep(wait).await;
            wait = self.retry.backoff.max_backoff.min(wait * 2);
        }
    }
}

/// Statuses of a server that may answer differently a little later.
fn is_busy(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=504)
}

fn request(url: &Url, about: About) -> Result<HttpRequest, StoreError> {
    let unfit = |_| StoreError::Unfit;
    let mut request = HttpRequest::new(PROPERTIES.to_owned().into());
    *request.method_mut() = "PROPFIND".parse().map_err(|_| StoreError::Unfit)?;
    *request.uri_mut() = url.as_str().parse().map_err(|_| StoreError::Unfit)?;
    let depth = if about == About::Itself { "0" } else { "1" };
    for (name, value) in [("depth", depth), ("content-type", "application/xml; charset=utf-8")] {
        request.headers_mut().insert(name, value.parse().map_err(unfit)?);
    }
    Ok(request)
}

/// The path of a name in a directory, if it is short enough to be kept.
fn path(directory: &str, name: &str) -> Option<Path> {
    let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
    Path::parse(path).ok().filter(|path| path.as_ref().len() <= LONGEST)
}

/// The metadata of a file; none if its versions cannot be distinguished or its length is unknown.
fn about(location: Path, entry: Entry) -> Option<ObjectMeta> {
    let is_named = entry.tag.as_ref().is_some_and(|tag| !tag.starts_with("W/"));
    let last_modified = match entry.modified {
        None if !is_named => return None,
        modified => modified.unwrap_or(SystemTime::UNIX_EPOCH).into(),
    };
    Some(ObjectMeta { location, last_modified, size: entry.size?, e_tag: entry.tag, version: None })
}

/// Bytes of names that a listing has told so far.
struct Held<'a> {
    all: &'a AtomicU64,
    bytes: u64,
}

impl Held<'_> {
    fn add(&mut self, bytes: u64) -> Result<(), StoreError> {
        self.bytes += bytes;
        if self.all.fetch_add(bytes, Ordering::Relaxed) + bytes > NAMES { Err(StoreError::Long) } else { Ok(()) }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How far the server's clock is before that of this machine, in milliseconds; less than that, if anything.
#[derive(Debug, Default)]
struct Clock(AtomicI64);

/// A file that was written in a second that is not over in this time is of the future, and is not waited for.
const LATEST: Duration = Duration::from_secs(3);

impl Clock {
    /// An answer says what time it is, in whole seconds.
    fn note(&self, date: Option<&str>) {
        let Some(date) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else { return };
        self.0.store(millis(date) - millis(SystemTime::now()), Ordering::Relaxed);
    }

    /// How long it takes until the second is over.
    fn until_over(&self, second: i64) -> Duration {
        let now = millis(SystemTime::now()) + self.0.load(Ordering::Relaxed);
        let left = second.saturating_add(1).saturating_mul(1000).saturating_sub(now);
        let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        if left > LATEST { Duration::ZERO } else { left }
    }
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn failed(error: StoreError) -> Error {
    Error::Generic { store: "WebDAV", source: Box::new(error) }
}

fn read_only<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented { operation: operation.to_owned(), implementer: "WebDAV".to_owned() })
}

impl fmt::Display for Web {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("WebDAV")
    }
}

#[async_trait]
impl PaginatedListStore for Web {
    async fn list_paginated(
        &self,
        prefix: Option<&str>,
        _options: PaginatedListOptions,
    ) -> Result<PaginatedListResult> {
        let key = prefix.unwrap_or_default().trim_end_matches('/');
        let result = self.listed(key).await.map_err(failed)?;
        Ok(PaginatedListResult { result, page_token: None })
    }
}

#[async_trait]
impl ObjectStore for Web {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if options.head {
            let meta = self.head(location).await.map_err(failed)?;
            return Ok(GetResult {
                payload: GetResultPayload::Stream(stream::empty().boxed()),
                range: 0..0,
                meta,
                attributes: Attributes::default(),
                extensions: Extensions::default(),
            });
        }
        if let Some(written) = options.if_unmodified_since {
            sleep(self.clock.until_over(written.timestamp())).await;
        }
        self.files.get_opts(location, options).await
    }

    async fn put_opts(&self, _location: &Path, _payload: PutPayload, _options: PutOptions) -> Result<PutResult> {
        read_only("put")
    }

    async fn put_multipart_opts(
        &self,
        _location: &Path,
        _options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        read_only("put")
    }

    fn delete_stream(&self, _locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::once(async { read_only("delete") }).boxed()
    }

    fn list(&self, _prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::once(async { read_only("list all") }).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.listed(prefix.map_or("", |prefix| prefix.as_ref())).await.map_err(failed)
    }

    async fn copy_opts(&self, _from: &Path, _to: &Path, _options: CopyOptions) -> Result<()> {
        read_only("copy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_waited_for_by_the_clock_of_the_server() {
        let clock = Clock::default();
        let now = SystemTime::now();
        let second = |time: SystemTime| millis(time) / 1000;
        let over = |clock: &Clock, time| clock.until_over(second(time)).as_millis();
        assert!((1..=1000).contains(&over(&clock, now)));
        assert_eq!(over(&clock, now - Duration::from_secs(2)), 0);
        // A time in the future: its end is unknown.
        assert_eq!(over(&clock, now + Duration::from_secs(100)), 0);
        // An hour behind.
        let hour = Duration::from_secs(3600);
        clock.note(Some(&httpdate::fmt_http_date(now - hour)));
        assert!((1..=2100).contains(&over(&clock, now - hour)));
        clock.note(Some("no date"));
        assert!((1..=2100).contains(&over(&clock, now - hour)));
        assert_eq!(clock.until_over(i64::MIN), Duration::ZERO);
        assert_eq!(clock.until_over(i64::MAX), Duration::ZERO);
    }

    #[test]
    fn what_nothing_tells_versions_of_is_left_out() {
        let entry = |tag: Option<&str>, modified, size| {
            let entry = Entry { tag: tag.map(str::to_owned), modified, size, ..Entry::default() };
            about(Path::from("f"), entry).is_some()
        };
        let time = Some(SystemTime::UNIX_EPOCH);
        assert!(
            entry(Some("\"a\""), None, Some(1)) && entry(None, time, Some(1)) && entry(Some("W/\"a\""), time, Some(1))
        );
        assert!(
            !entry(None, None, Some(1)) && !entry(Some("W/\"a\""), None, Some(1)) && !entry(Some("\"a\""), time, None)
        );
    }

    #[test]
    fn names_on_their_way_are_bounded_in_all() {
        let all = AtomicU64::new(0);
        let mut one = Held { all: &all, bytes: 0 };
        one.add(NAMES - 1).unwrap();
        let mut other = Held { all: &all, bytes: 0 };
        other.add(1).unwrap();
        assert_eq!(other.add(1), Err(StoreError::Long));
        drop((one, other));
        assert_eq!(all.into_inner(), 0);
    }
}
