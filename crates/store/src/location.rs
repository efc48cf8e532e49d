//! Where objects are, as a user writes it.

use std::fmt;

use object_store::path::Path;
use reqwest::Url;

use crate::error::StoreError;
use crate::http::redirects::permitted;

/// A directory of a store, or an object: `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`; and a
/// file or directory of a web server, `https://host/file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub(crate) scheme: Scheme,
    /// The bucket or container; of a web server all that follows the scheme, as it was written.
    pub(crate) bucket: String,
    /// What all keys begin with; none for all of it.
    pub(crate) prefix: Path,
    /// Its keys are listed by a protocol. Only single files of web servers are not.
    pub(crate) is_listed: bool,
    /// Origins besides its own that its redirects may lead to.
    pub(crate) permitted: Vec<Url>,
}

/// How the store is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Google,
    Azure,
    Https,
    Http,
}

const SCHEMES: [(&str, Scheme); 5] = [
    ("s3", Scheme::S3),
    ("gs", Scheme::Google),
    ("az", Scheme::Azure),
    ("https", Scheme::Https),
    ("http", Scheme::Http),
];

impl Location {
    /// True if it is on a web server, of which nothing is known but what is asked for by its address, unless it is
    /// [served](Location::parse_served).
    pub fn is_web(&self) -> bool {
        matches!(self.scheme, Scheme::Https | Scheme::Http)
    }

    /// True if it is a part of a bucket.
    pub fn has_prefix(&self) -> bool {
        !self.prefix.as_ref().is_empty()
    }

    /// Reads the location of a directory, to be listed. Of a web server that is one that speaks WebDAV.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Location::parse).
    pub fn parse_served(text: &str) -> Result<Location, StoreError> {
        let location = Location::parse_as(text, true)?;
        let bucket = if location.is_web() { location.bucket.trim_end_matches('/').to_owned() } else { location.bucket };
        Ok(Location { bucket, ..location })
    }

    /// Permits redirects of this web server to a host, `HOST` or `HOST:PORT`, besides its own origin (scheme, host and
    /// port). Without a port it is that of the scheme.
    ///
    /// # Errors
    ///
    /// The host is malformed, or the location is an object store, whose redirects are never followed.
    pub fn permit_redirect(&mut self, host: &str) -> Result<(), StoreError> {
        if !self.is_web() {
            return Err(StoreError::Location(
                "redirects of object stores are never followed; expected the address of a web server".to_owned(),
            ));
        }
        self.permitted.extend(permitted(host)?);
        Ok(())
    }

    /// Reads a location; of a web server it is a file.
    ///
    /// # Errors
    ///
    /// The scheme is unknown, the bucket is missing, or the location has something that may be a secret, which the list
    /// of processes and the table of mounts would show to all users.
    pub fn parse(text: &str) -> Result<Location, StoreError> {
        Location::parse_as(text, false)
    }

    fn parse_as(text: &str, is_served: bool) -> Result<Location, StoreError> {
        let refuse = |why: &str| Err(StoreError::Location(why.to_owned()));
        let Some((scheme, rest)) = text.split_once("://") else {
            return refuse("this is not a location of a store: expected one such as s3://bucket/prefix");
        };
        let Some(&(_, scheme)) = SCHEMES.iter().find(|(known, _)| *known == scheme) else {
            return Err(StoreError::Location(format!(
                "unknown scheme {scheme}://: expected s3://, gs:// or az://, or a directory"
            )));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            return refuse(
                "a location must not have a user or a password in it, which everybody could read: give credentials by the environment",
            );
        }
        if matches!(scheme, Scheme::Https | Scheme::Http) {
            return Location::web(scheme, rest, is_served);
        }
        if rest.contains(['?', '#']) {
            return refuse(
                "a location ends with a prefix: expected no ? and no # in it; keys that have them cannot be served, and a token is to be \
                 given by the environment",
            );
        }
        if bucket.is_empty() {
            return refuse("no bucket: expected a location such as s3://bucket/prefix");
        }
        let Ok(prefix) = Path::parse(prefix) else {
            return refuse("the prefix has an empty part, or one that is . or .. or has control characters");
        };
        Ok(Location { scheme, bucket: bucket.to_owned(), prefix, is_listed: true, permitted: Vec::new() })
    }

    fn web(scheme: Scheme, rest: &str, is_served: bool) -> Result<Location, StoreError> {
        let refuse = |why: &str| Err(StoreError::Location(why.to_owned()));
        if is_served && cfg!(not(feature = "webdav")) {
            return refuse("this build has no WebDAV: build hotset with the feature `webdav`");
        }
        if rest.contains(['?', '#']) {
            return refuse(
                "expected an address without ? and #: what follows them may give access, and the list of processes shows it to everybody; let another program fetch it, such as curl, and read what it gives",
            );
        }
        let (host, file) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() || file.is_empty() && !is_served || rest.contains(char::is_control) {
            return refuse(match is_served {
                true => "expected an address of a directory, such as https://host/directory",
                false => "expected an address of a file, such as https://host/trace.csv.gz",
            });
        }
        let prefix = Path::default();
        Ok(Location { scheme, bucket: rest.to_owned(), prefix, is_listed: is_served, permitted: Vec::new() })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let (scheme, _) = SCHEMES.iter().find(|(_, scheme)| *scheme == self.scheme).expect("one of them");
        write!(out, "{scheme}://{}", self.bucket)?;
        if self.prefix.as_ref().is_empty() { Ok(()) } else { write!(out, "/{}", self.prefix) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_written_as_it_was_read() {
        for (text, written) in [
            ("s3://bucket", "s3://bucket"),
            ("s3://bucket/", "s3://bucket"),
            ("s3://bucket/a b/ü%20/", "s3://bucket/a b/ü%20"),
            ("gs://bucket/a", "gs://bucket/a"),
            ("az://container/a", "az://container/a"),
            ("https://host/a%20b//c.gz", "https://host/a%20b//c.gz"),
            ("http://host:80/c", "http://host:80/c"),
        ] {
            assert_eq!(Location::parse(text).unwrap().to_string(), written);
            assert!(Location::is_meant(text));
        }
        assert!(!Location::is_meant("/a/s3:/b") && !Location::is_meant("a b://c") && !Location::is_meant("://"));
        assert_eq!(Location::directory("file:///a/b"), Some("/a/b".into()));
        assert_eq!(Location::directory("file://host/a"), None);
    }

    #[test]
    fn a_directory_of_a_web_server_is_one_with_or_without_a_slash() {
        for (text, written) in [
            ("https://host", "https://host"),
            ("https://host/", "https://host"),
            ("http://host:80/a%20b//", "http://host:80/a%20b"),
            ("s3://bucket/a/", "s3://bucket/a"),
        ] {
            let location = Location::parse_served(text).unwrap();
            assert!(location.to_string() == written && location.is_listed, "{location}");
        }
        for text in ["https:///a", "https://u:p@host/a", "https://host/a?b", "https://host/a#b", "ftp://host/a"] {
            assert!(Location::parse_served(text).is_err(), "{text}");
        }
        assert!(!Location::parse("https://host/a").unwrap().is_listed);
    }

    #[test]
    fn what_cannot_be_served_is_refused_in_words() {
        for (text, why) in [
            ("ftp://host/a", "unknown scheme ftp://"),
            ("file://host/a", "unknown scheme file://"),
            ("/a/b", "not a location of a store"),
            ("s3:///a", "no bucket"),
            ("s3://bucket/a//b", "an empty part"),
            ("s3://bucket/../b", "an empty part, or one that is . or .."),
            ("s3://bucket/a?sig=secret", "expected no ?"),
            ("https://host/a?sig=secret", "expected an address without ? and #"),
            ("https://host/", "expected an address of a file"),
            ("http:///a", "expected an address of a file"),
            ("https://user:secret@host/a", "a user or a password"),
            ("s3://user:secret@bucket/a", "a user or a password"),
        ] {
            let said = Location::parse(text).unwrap_err().to_string();
            assert!(said.contains(why) && !said.contains("secret"), "{text}: {said}");
        }
    }
}
