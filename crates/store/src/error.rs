//! Errors of a store.
//!
//! Answers of stores repeat the request: keys of credentials, signatures, all of it. So only the status of an answer is
//! passed on, and of failures on the way only the operating system's error.

use std::error::Error;
use std::fmt;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};
use rustix::io::Errno;

/// Why a store did not give what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The location cannot be served; the sentence tells why.
    Location(String),
    /// It cannot be asked with what is known of it, its credentials for example; the sentence tells why.
    Settings(String),
    /// The object does not exist.
    Missing,
    /// The object is not the version any more that it was.
    Changed,
    /// There is such an object already.
    Exists,
    /// No key can be so.
    Unfit,
    /// No key can be so long.
    TooLong,
    /// The store does not let these credentials do it, or there are none.
    Denied,
    /// It did not answer in time.
    Timeout,
    /// No connection could be made.
    Unreachable(String),
    /// The connection ended before the answer did.
    Cut,
    /// Another answer than was expected, by its status if it had one.
    Answer(Option<u16>),
    /// A directory has more names than are read.
    Long,
    /// It is a web server that does not list directories: its answer to `PROPFIND`.
    NoListing(u16),
    /// A web server redirects to this origin, which is not permitted.
    Elsewhere(String),
    /// It gives nothing but whole objects.
    Whole,
    /// It sent fewer bytes than it had said, again and again.
    Truncated,
    /// The thread that calls the store has panicked.
    Broken,
}

impl StoreError {
    /// The error of the operating system that a program gets.
    pub fn errno(&self) -> Errno {
        match self {
            StoreError::Missing => Errno::NOENT,
            StoreError::Changed => Errno::STALE,
            StoreError::Denied | StoreError::Elsewhere(_) => Errno::ACCESS,
            StoreError::Timeout => Errno::TIMEDOUT,
            StoreError::Exists => Errno::EXIST,
            StoreError::Unfit => Errno::INVAL,
            StoreError::TooLong => Errno::NAMETOOLONG,
            StoreError::Answer(Some(413)) | StoreError::Long => Errno::FBIG,
            StoreError::Answer(Some(507)) => Errno::NOSPC,
            _ => Errno::IO,
        }
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> io::Error {
        error.errno().into()
    }
}

impl Error for StoreError {}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            StoreError::Location(why) | StoreError::Settings(why) => out.write_str(why),
            StoreError::Missing => out.write_str("the object or bucket does not exist"),
            StoreError::Changed => out.write_str("the object is another version by now: read it again, from its beginning"),
            StoreError::Exists => out.write_str("there is such an object already"),
            StoreError::Unfit => out.write_str("no key can be so: it has an empty part, one that is . or .., or control characters"),
            StoreError::TooLong => out.write_str("no key can be so long"),
            StoreError::Denied => out.write_str(
                "the store refuses it (401 or 403): check the credentials, and what they allow; a bucket that needs none is asked so with \
                 AWS_SKIP_SIGNATURE=true",
            ),
            StoreError::Timeout => out.write_str("the store did not answer in time"),
            StoreError::Unreachable(why) => write!(out, "the store cannot be reached: {why}"),
            StoreError::Cut => out.write_str("the connection to the store ended before its answer, also when it was asked again"),
            StoreError::Answer(Some(status @ 300..400)) => {
                write!(out, "the store answers {status}, that it is elsewhere: check the region (AWS_REGION) and the address")
            }
            StoreError::Answer(Some(status)) => write!(out, "the store answers {status}, also when it is asked again"),
            StoreError::Answer(None) => {
                out.write_str("the store's answer is not what was expected: check the address, and whether this store speaks that protocol")
            }
            StoreError::Long => out.write_str("the directory has more names than are read: serve a part of it"),
            StoreError::NoListing(status) => write!(
                out,
                "the server answers {status} to PROPFIND, where WebDAV tells what is in a directory (207): check the address, have the server \
                 speak WebDAV there, or copy the files by another program, such as wget, and serve the copy"
            ),
            StoreError::Elsewhere(origin) => write!(
                out,
                "the server redirects to {origin}, another origin; serve the address that it redirects to, or permit redirects to that host"
            ),
            StoreError::Whole => out.write_str(
                "the server gives no parts of a file (HTTP ranges), which reading needs: let another program fetch it, such as curl, and read \
                 what it gives",
            ),
            StoreError::Truncated => out.write_str("the store sends fewer bytes than it says, also when it is asked again"),
            StoreError::Broken => out.write_str("asking the store has panicked"),
        }
    }
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> StoreError {
        use object_store::Error::{
            NotFound, NotModified, NotSupported, PermissionDenied, Precondition, Unauthenticated,
        };
        let text = error.to_string();
        if METADATA.iter().any(|host| text.contains(host)) {
            return StoreError::Settings(
                "no credentials were found, neither in the environment nor in a file, and no machine of a cloud gives any here; a bucket of \
                 S3 that needs none is asked so with AWS_SKIP_SIGNATURE=true"
                    .to_owned(),
            );
        }
        let mut next: Option<&(dyn Error + 'static)> = Some(&error);
        let mut found = StoreError::Answer(None);
        while let Some(error) = next {
            if let Some(told) = error.downcast_ref::<StoreError>() {
                return told.clone();
            }
            match error.downcast_ref::<object_store::Error>() {
                Some(NotFound { .. }) => return StoreError::Missing,
                Some(Precondition { .. } | NotModified { .. }) => return StoreError::Changed,
                Some(PermissionDenied { .. } | Unauthenticated { .. }) => return StoreError::Denied,
                Some(NotSupported { .. }) => return StoreError::Whole,
                _ => {}
            }
            if let Some(http) = error.downcast_ref::<HttpError>() {
                return on_the_way(http);
            }
            if found == StoreError::Answer(None) {
                found = answered(&error.to_string()).unwrap_or(found);
            }
            next = error.source();
        }
        found
    }
}

/// Where machines of clouds ask for their credentials, which are looked for there last.
const METADATA: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "metadata/computeMetadata"];

/// A request that got no answer.
pub(crate) fn on_the_way(error: &HttpError) -> StoreError {
    let mut causes = std::iter::successors(error.source(), |error| (*error).source());
    if let Some(told) = causes.find_map(|error| error.downcast_ref::<StoreError>()) {
        return told.clone();
    }
    match error.kind() {
        HttpErrorKind::Timeout => return StoreError::Timeout,
        HttpErrorKind::Decode => return StoreError::Answer(None),
        HttpErrorKind::Connect => {}
        _ => return StoreError::Cut,
    }
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return StoreError::Unreachable(unreachable(error));
        }
        next = error.source();
    }
    StoreError::Unreachable("no connection can be made".to_owned())
}

/// The reason why no connection was made. The error's own text may contain anything.
fn unreachable(error: &io::Error) -> String {
    let within = error.get_ref();
    if let Some(error) = within.and_then(|error| error.downcast_ref::<io::Error>()) {
        return unreachable(error);
    }
    match (error.raw_os_error(), within.and_then(|error| error.downcast_ref::<rustls::Error>())) {
        (Some(number), _) => io::Error::from_raw_os_error(number).to_string(),
        (None, Some(rustls::Error::InvalidCertificate(_))) => "its certificate is not trusted".to_owned(),
        (None, Some(_)) => "no secure connection comes about: check whether it is one for https".to_owned(),
        (None, None) => match error.kind().to_string().as_str() {
            // The kind of error of a failed name lookup, which has no name in the library.
            "uncategorized error" => "the name of its host is not known: check how the address is spelt".to_owned(),
            kind => kind.to_owned(),
        },
    }
}

/// The answer of a store out of what `object_store` says of it, whose type is its own: the status, and nothing of what
/// follows it.
fn answered(text: &str) -> Option<StoreError> {
    const STATUS: &str = "Server returned non-2xx status code: ";
    if text.starts_with("Received redirect without LOCATION") {
        return Some(StoreError::Answer(Some(301)));
    }
    let status = text.strip_prefix(STATUS)?.get(..3)?.parse().ok()?;
    Some(match status {
        401 | 403 => StoreError::Denied,
        404 => StoreError::Missing,
        412 => StoreError::Changed,
        408 => StoreError::Timeout,
        _ => StoreError::Answer(Some(status)),
    })
}
