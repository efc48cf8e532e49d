//! Errors of a store.

use std::error::Error;
use std::fmt;
use std::io;

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
