//! The same objects as files of a web server that speaks WebDAV: `PROPFIND` with a depth of 0 and 1, as Apache answers.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::{Answer, Asked, Shared, escaped, lock};

/// What tells versions of files apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tags {
    /// An etag that names the bytes.
    #[default]
    Strong,
    /// Etags are weak everywhere.
    Weak,
    /// Those of listings are weak, those that come with bytes are strong.
    WeakListings,
    /// Those that come with bytes alone.
    WithBytes,
    /// The second in which a file was written, which is another one for each version.
    None,
    /// The same by the clock.
    Clock,
}

impl Tags {
    /// How it tells the etag of a listing.
    pub(super) fn listed(self, tag: &str) -> Option<String> {
        match self {
            Tags::Strong => Some(tag.to_owned()),
            Tags::Weak | Tags::WeakListings => Some(format!("W/{tag}")),
            Tags::WithBytes | Tags::None | Tags::Clock => None,
        }
    }

    /// How it tells the etag of bytes.
    pub(super) fn with_bytes(self, tag: &str) -> Option<String> {
        match self {
            Tags::Strong | Tags::WeakListings | Tags::WithBytes => Some(tag.to_owned()),
            Tags::Weak => Some(format!("W/{tag}")),
            Tags::None | Tags::Clock => None,
        }
    }
}

impl Shared {
    /// The time at which a version was written, as reported.
    pub(super) fn written(&self, tag: &str) -> String {
        let number = match *lock(&self.tags) {
            Tags::Strong => 0,
            Tags::Clock => {
                let time = lock(&self.times).get(tag).copied().unwrap_or(SystemTime::UNIX_EPOCH);
                return httpdate::fmt_http_date(time);
            }
            _ => u64::from_str_radix(tag.trim_matches('"'), 16).unwrap_or(0) % 3600,
        };
        format!("Mon, 05 Jan 2026 10:{:02}:{:02} GMT", number / 60, number % 60)
    }

    /// The file or folder at a path, with the contents if they are wanted.
    pub(super) fn find(&self, asked: &Asked) -> Answer {
        if !self.speaks_webdav.load(Ordering::Relaxed) {
            return Answer::error(405, asked);
        }
        let key = asked.key.trim_end_matches('/');
        let objects = lock(&self.objects);
        let below = if key.is_empty() { String::new() } else { format!("{key}/") };
        let (file, is_directory) = (objects.get(key), objects.keys().any(|known| known.starts_with(&below)));
        if file.is_none() && !is_directory {
            return Answer::error(404, asked);
        }
        let mut body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n".to_owned();
        self.tell(&mut body, key, file.map(|(bytes, tag)| (bytes.len(), tag.as_str())));
        let mut last = "";
        for (known, (bytes, tag)) in objects.iter().filter(|_| file.is_none() && asked.header("depth") == Some("1")) {
            let Some(rest) = known.strip_prefix(&below).filter(|rest| !rest.is_empty()) else { continue };
            match rest.split_once('/') {
                Some((name, _)) if name == last => {}
                Some((name, _)) => {
                    self.tell(&mut body, &format!("{below}{name}"), None);
                    last = name;
                }
                None => self.tell(&mut body, known, Some((bytes.len(), tag))),
            }
        }
        body.push_str("</D:multistatus>\n");
        Answer::whole(207, body.into_bytes())
    }

    /// Adds what is known of a file, or of a directory.
    fn tell(&self, body: &mut String, key: &str, file: Option<(usize, &str)>) {
        let tags = *lock(&self.tags);
        let href = escaped(&encoded(&format!("/bucket/{key}{}", if file.is_none() { "/" } else { "" })));
        let _ = write!(body, "<D:response><D:href>{href}</D:href><D:propstat><D:prop>");
        let missing = match file {
            Some((size, tag)) => {
                let _ = write!(body, "<D:resourcetype/><D:getcontentlength>{size}</D:getcontentlength>");
                let _ = write!(body, "<D:getlastmodified>{}</D:getlastmodified>", self.written(tag));
                let tag = tags.listed(tag);
                tag.iter().for_each(|tag| _ = write!(body, "<D:getetag>{}</D:getetag>", escaped(tag)));
                if tag.is_none() { "<D:getetag/>" } else { "" }
            }
            None => {
                body.push_str("<D:resourcetype><D:collection/></D:resourcetype>");
                "<D:getcontentlength/>"
            }
        };
        body.push_str("</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>");
        if !missing.is_empty() {
            let _ = write!(
                body,
                "<D:propstat><D:prop>{missing}</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>"
            );
        }
        body.push_str("</D:response>\n");
    }
}

/// A path as an address has it.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'&' => text.push(byte.into()),
            _ => _ = write!(text, "%{byte:02X}"),
        }
    }
    text
}
