//! Redirects of web servers: which of them are followed.
//!
//! An author of a web server's answers may send its readers to any address, those of an internal network included. So a
//! served directory stays on its origin (scheme, host and port) and on the hosts that the user permits. A file that is
//! read once is followed anywhere, as by other programs. Object stores receive secrets with each request, and decide
//! what becomes of a change; none of their redirects is followed.

use std::sync::Arc;

use reqwest::Url;
use reqwest::redirect::Policy;

use crate::error::StoreError;

/// Redirects that are followed one after the other.
pub(crate) const HOPS: usize = 5;

/// Which redirects are followed.
#[derive(Clone, Debug)]
pub(crate) enum Redirects {
    /// None.
    Never,
    /// All.
    Anywhere,
    /// Those to one of these origins.
    Within(Arc<[Url]>),
}

/// A host that redirects may lead to, with or without a port, as the two origins that it has.
pub(crate) fn permitted(host: &str) -> Result<[Url; 2], StoreError> {
    let is_plain =
        !host.is_empty() && !host.contains(['/', '\\', '@', '?', '#', '*']) && !host.contains(char::is_whitespace);
    let origin = |scheme| Url::parse(&format!("{scheme}://{host}/")).ok().filter(|_| is_plain);
    match (origin("http"), origin("https")) {
        (Some(http), Some(https)) => Ok([http, https]),
        _ => Err(StoreError::Location(
            "this is not a host; expected a name or address with or without a port, such as cdn.example:8443"
                .to_owned(),
        )),
    }
}

impl Redirects {
    /// Returns the address that an answer of `from` names, if it is one that is followed.
    ///
    /// # Errors
    ///
    /// The address is malformed or on another origin. `status` is that of the answer.
    #[cfg(feature = "webdav")]
    pub fn next(&self, from: &Url, to: &str, status: u16) -> Result<Url, StoreError> {
        let to = from.join(to).ok().filter(|to| is_fit(from, to) && to.query().is_none());
        let to = to.ok_or(StoreError::Answer(Some(status)))?;
        if self.permit(&to) { Ok(to) } else { Err(StoreError::Elsewhere(to.origin().ascii_serialization())) }
    }

    fn permit(&self, to: &Url) -> bool {
        match self {
            Redirects::Never => false,
            Redirects::Anywhere => true,
            Redirects::Within(origins) => origins.iter().any(|origin| origin.origin() == to.origin()),
        }
    }

    /// The same for a client that follows redirects automatically.
    pub fn policy(&self) -> Policy {
        if matches!(self, Redirects::Never) {
            return Policy::none();
        }
        let redirects = self.clone();
        Policy::custom(move |attempt| {
            let is_first = |from: &Url| is_fit(from, attempt.url());
            if attempt.previous().len() > HOPS || !attempt.previous().last().is_some_and(is_first) {
                return attempt.stop();
            }
            match redirects.permit(attempt.url()) {
                true => attempt.follow(),
                false => {
                    let origin = attempt.url().origin().ascii_serialization();
                    attempt.error(StoreError::Elsewhere(origin))
                }
            }
        })
    }
}

/// True if an address may take the place of `from`: `https://` never becomes anything else, and no credentials of the
/// server's choice are sent.
fn is_fit(from: &Url, to: &Url) -> bool {
    let is_fit = match from.scheme() {
        "http" => matches!(to.scheme(), "http" | "https"),
        scheme => to.scheme() == scheme,
    };
    is_fit && to.username().is_empty() && to.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_another_kind_are_not_followed() {
        let to =
            |from: &str, to: &str| Redirects::Anywhere.next(&Url::parse(from).unwrap(), to, 302).ok().map(String::from);
        for (from, location, expected) in [
            ("http://host/a", "/a/", Some("http://host/a/")),
            ("http://host/a", "https://host/a", Some("https://host/a")),
            ("https://host/a", "https://other/b", Some("https://other/b")),
            ("https://host/a", "http://host/a", None),
            ("https://host/a", "file:///etc/passwd", None),
            ("http://host/a", "http://user:secret@host/a", None),
            ("http://host/a", "http://[", None),
        ] {
            assert_eq!(to(from, location).as_deref(), expected, "{from} {location}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        let from = Url::parse("http://host/a").unwrap();
        let origins = [from.clone()].into_iter().chain(permitted("cdn.example").unwrap());
        let redirects = Redirects::Within(origins.collect());
        let next = |to| redirects.next(&from, to, 301);
        for to in ["/b", "http://HOST:80/", "http://cdn.example/x", "https://cdn.example:443/x"] {
            assert!(next(to).is_ok(), "{to}");
        }
        for (to, origin) in [
            ("http://host:81/", "http://host:81"),
            ("https://host/", "https://host"),
            ("http://127.0.0.1/", "http://127.0.0.1"),
            ("http://cdn.example:8080/", "http://cdn.example:8080"),
            ("http://a.cdn.example/", "http://a.cdn.example"),
            ("http://169.254.169.254/latest", "http://169.254.169.254"),
        ] {
            assert_eq!(next(to), Err(StoreError::Elsewhere(origin.to_owned())));
        }
    }
}
