//! Where WebDAV says that something is, as a name in the directory that was asked about.

use object_store::path::Path;
use percent_encoding::percent_decode_str;
use reqwest::Url;

/// Where a server was asked.
pub(crate) struct Place {
    url: Url,
    /// The parts of its path, decoded. None if one of them is not text.
    parts: Option<Vec<String>>,
}

impl Place {
    pub fn new(url: &Url) -> Place {
        Place { url: url.clone(), parts: parts(url.path()) }
    }

    /// The name of what is right below it, as a file system may show it; empty for the place itself. None for all else:
    /// other servers, paths that go up or have an empty part, names that no file can have.
    pub fn below(&self, href: &str) -> Option<String> {
        let known = self.parts.as_ref()?;
        let mut parts = parts(self.path(href)?)?;
        if parts == *known {
            return Some(String::new());
        }
        let name = parts.pop()?;
        (parts == *known && !name.is_empty() && !name.contains('/') && Path::parse(&name).is_ok()).then_some(name)
    }

    /// The path on the same server, as it was written.
    fn path<'a>(&self, href: &'a str) -> Option<&'a str> {
        let path = match href.split_once("://") {
            Some((scheme, rest)) if !scheme.contains('/') => {
                let url = Url::parse(href).ok()?;
                let is_same = url.origin() == self.url.origin();
                if !is_same || !url.username().is_empty() || url.password().is_some() {
                    return None;
                }
                &rest[rest.find('/')?..]
            }
            _ => href,
        };
        // With two of them the name of a host follows.
        (!path.starts_with("//") && !path.contains(['?', '#'])).then_some(path)
    }
}

/// The parts of a path between slashes, decoded, without the slash at its end.
fn parts(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Some(Vec::new());
    }
    let decoded = |part| percent_decode_str(part).decode_utf8().ok().map(|part| part.into_owned());
    path.split('/').map(decoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_below_has_a_name_and_nothing_else() {
        let place = Place::new(&Url::parse("http://host:80/a%20b/ü/").unwrap());
        for (href, name) in [
            ("/a%20b/%C3%BC/", Some("")),
            ("/a%20b/%c3%bc", Some("")),
            ("/a b/ü/c", Some("c")),
            ("/%61%20b/ü/c/", Some("c")),
            ("http://host/a%20b/ü/c", Some("c")),
            ("HTTP://HOST:80/a%20b/ü/c", Some("c")),
            ("/a%20b/ü/50%25%20%26%23%3f", Some("50% &#?")),
            ("/a%20b/ü/%2525", Some("%25")),
            ("/a%20b/ü/...", Some("...")),
            ("https://host/a%20b/ü/c", None),
            ("http://other/a%20b/ü/c", None),
            ("http://host@other/a%20b/ü/c", None),
            ("http://me@host/a%20b/ü/c", None),
            ("//other/a%20b/ü/c", None),
            ("//a%20b/ü/c", None),
            ("c", None),
            ("", None),
            ("/", None),
            ("/a%20b", None),
            ("/a%20b/ü//", None),
            ("/a%20b/ü//c", None),
            ("/a%20b//ü/c", None),
            ("/a%20b/ü/..", None),
            ("/a%20b/ü/../c", None),
            ("/a%20b/ü/c/..", None),
            ("/a%20b/ü/.", None),
            ("/a%20b/ü/%2e%2e", None),
            ("/a%20b/ü/%2e%2e/", None),
            ("/a%20b/ü/c%2fd", None),
            ("/a%20b/ü/..%2f..%2fetc", None),
            ("/a%20b/ü/c/d", None),
            ("/a%20b/ü/c%00", None),
            ("/a%20b/ü/c%0a", None),
            ("/a%20b/ü/%ff", None),
            ("/a%20b/ü/c?d", None),
            ("/a%20b/ü/c#d", None),
            ("http:/a%20b/ü/c", None),
            ("http://", None),
            ("file:///a%20b/ü/c", None),
        ] {
            assert_eq!(place.below(href).as_deref(), name, "{href}");
        }
        let root = Place::new(&Url::parse("https://host").unwrap());
        assert_eq!(root.below("/").as_deref(), Some(""));
        assert_eq!(root.below("/c/").as_deref(), Some("c"));
        assert_eq!(root.below("//c"), None);
    }
}
