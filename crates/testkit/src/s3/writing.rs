//! What changes objects: `PUT` with `If-None-Match`, copies, uploads in parts, `DELETE`.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::{Answer, Asked, Body, Query, Shared, decoded, lock};

/// Parts by their numbers, with etags, of the object with a key, by the numbers of uploads.
pub(super) type Uploads = HashMap<String, (String, BTreeMap<usize, (Vec<u8>, String)>)>;

/// Headers with the metadata of uploads and objects, by numbers of uploads and etags.
pub(super) type Told = HashMap<String, String>;

/// How such headers begin.
const TOLD: [&str; 2] = ["x-amz-meta-", "x-goog-meta-"];

/// What all parts but the last one have at least, as in S3.
const SHORTEST: usize = 5 << 20;

impl Shared {
    /// Writes an object; gives its etag.
    pub(super) fn put(&self, key: &str, bytes: Body) -> String {
        let tag = if self.names_bytes.load(Ordering::Relaxed) { tag_of(&bytes) } else { self.tag() };
        lock(&self.times).insert(tag.clone(), SystemTime::now());
        lock(&self.objects).insert(key.to_owned(), (bytes, tag.clone()));
        tag
    }

    fn tag(&self) -> String {
        format!("\"{:032x}\"", self.versions.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn change(&self, asked: &Asked, query: &Query, body: Vec<u8>) -> Answer {
        let upload = query.get("uploadId");
        match (asked.method.as_str(), asked.part, upload) {
            ("PUT", Some(part), Some(upload)) => self.put_part(asked, upload, part, body),
            ("PUT", ..) => self.put_object(asked, body),
            ("POST", _, Some(upload)) => self.complete(asked, upload, &body),
            ("POST", ..) if query.contains_key("uploads") => {
                let upload = self.tag().replace('"', "");
                lock(&self.uploads).insert(upload.clone(), (asked.key.clone(), BTreeMap::new()));
                let told = asked.headers.iter().filter(|(name, _)| TOLD.iter().any(|begin| name.starts_with(begin)));
                let told = told.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                lock(&self.told).insert(upload.clone(), told);
                xml("InitiateMultipartUploadResult", &format!("<UploadId>{upload}</UploadId>"))
            }
            ("DELETE", _, Some(upload)) => match lock(&self.uploads).remove(upload) {
                Some(_) => done(""),
                None => Answer::error(404, asked),
            },
            ("DELETE", ..) => {
                lock(&self.objects).remove(&asked.key);
                done("")
            }
            _ => Answer::error(501, asked),
        }
    }

    fn put_object(&self, asked: &Asked, body: Vec<u8>) -> Answer {
        let source = asked.header("x-amz-copy-source").or_else(|| asked.header("x-goog-copy-source")).map(decoded);
        let copied = source.as_ref().map(|source| source.trim_start_matches('/').trim_start_matches("bucket/"));
        let bytes = match copied.map(|key| lock(&self.objects).get(key).map(|(bytes, _)| bytes.clone())) {
            None => Arc::new(body),
            Some(Some(bytes)) => bytes,
            Some(None) => return Answer::error(404, asked),
        };
        let only_new =
            asked.header("if-none-match") == Some("*") || asked.header("x-goog-if-generation-match") == Some("0");
        if only_new && lock(&self.objects).contains_key(&asked.key) {
            return Answer::error(412, asked);
        }
        if source.is_some() && self.skips_copies.load(Ordering::Relaxed) {
            return Answer { status: 200, ..Answer::error(403, asked) };
        }
        let tag = self.put(&asked.key, bytes);
        match source {
            Some(_) => xml("CopyObjectResult", &format!("<ETag>{tag}</ETag>")),
            None => done(&tag),
        }
    }

    fn put_part(&self, asked: &Asked, upload: &str, part: usize, body: Vec<u8>) -> Answer {
        let tag = self.tag();
        match lock(&self.uploads).get_mut(upload) {
            Some((_, parts)) => {
                parts.insert(part, (body, tag.clone()));
                done(&tag)
            }
            None => Answer::error(404, asked),
        }
    }

    /// Makes an object of the parts that are named, in that order.
    fn complete(&self, asked: &Asked, upload: &str, body: &[u8]) -> Answer {
        let mut uploads = lock(&self.uploads);
        let Some((key, parts)) = uploads.get(upload) else { return Answer::error(404, asked) };
        let text = String::from_utf8_lossy(body).replace("&quot;", "\"").replace("&#34;", "\"");
        let named: Vec<(usize, String)> = text.split("<Part>").skip(1).filter_map(named).collect();
        let last = named.len().saturating_sub(1);
        let mut bytes = Vec::new();
        for (place, (number, tag)) in named.iter().enumerate() {
            match parts.get(number) {
                Some((part, known)) if known == tag && (part.len() >= SHORTEST || place == last) => bytes.extend(part),
                _ => return Answer::error(400, asked),
            }
        }
        if named.is_empty() {
            return Answer::error(400, asked);
        }
        let tag = self.put(&key.clone(), Arc::new(bytes));
        uploads.remove(upload);
        let mut told = lock(&self.told);
        if let Some(headers) = told.remove(upload) {
            told.insert(tag.clone(), headers);
        }
        xml("CompleteMultipartUploadResult", &format!("<ETag>{}</ETag>", tag.replace('"', "&quot;")))
    }
}

/// The number and the etag of a part, as they are named.
fn named(text: &str) -> Option<(usize, String)> {
    let of = |name: &str| {
        let (_, behind) = text.split_once(&format!("<{name}>"))?;
        Some(behind.split_once('<')?.0)
    };
    Some((of("PartNumber")?.parse().ok()?, of("ETag")?.to_owned()))
}

/// An etag that the same bytes have each time.
fn tag_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("\"{:032x}\"", hasher.finish())
}

fn done(tag: &str) -> Answer {
    let headers = if tag.is_empty() { String::new() } else { format!("ETag: {tag}\r\n") };
    Answer { headers, ..Answer::whole(200, Vec::new()) }
}

fn xml(name: &str, text: &str) -> Answer {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><{name}>{text}</{name}>");
    Answer::whole(200, body.into_bytes())
}
