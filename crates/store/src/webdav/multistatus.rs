//! WebDAV's answers about files and directories (`multistatus`, RFC 4918 section 14.16), parsed as they arrive.
//!
//! Idea: a directory is one answer, however many names it has, so the answer is never held: each name is passed on when
//! its element ends. Only the text of one element is held, [`LONGEST`] at most, and the path to it, [`DEEPEST`] steps
//! at most. Names of elements are compared without their namespaces: only four properties are requested, and the
//! position of an element distinguishes it from others of the same name. Only the entities of XML are known, so none
//! can expand.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use futures_util::Stream;
use object_store::client::HttpError;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;
use quick_xml::{Error, Reader};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use crate::error::StoreError;
use crate::http::failed::on_the_way;

/// The properties of one file or directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it is, as it was written.
    pub href: String,
    pub is_directory: bool,
    pub size: Option<u64>,
    pub modified: Option<SystemTime>,
    pub tag: Option<String>,
}

/// Bytes of the longest text or tag of an answer.
pub(crate) const LONGEST: usize = 64 << 10;

/// Elements around each other, at most.
const DEEPEST: usize = 32;

/// Passes on the entries of an answer of `most` bytes or fewer, one after the other.
///
/// # Errors
///
/// It is not such an answer, is longer ([`StoreError::Long`]), or ends too early; or the error of `take`.
pub(crate) async fn read<B: AsRef<[u8]> + Unpin>(
    stream: impl Stream<Item = Result<B, HttpError>> + Unpin,
    most: u64,
    mut take: impl FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut reader = Reader::from_reader(Answer { stream, piece: None, at: 0, left: most, event: 0 });
    reader.config_mut().expand_empty_elements = true;
    let (mut parser, mut buffer) = (Parser::default(), Vec::new());
    loop {
        buffer.clear();
        reader.get_mut().event = 0;
        let event = reader.read_event_into_async(&mut buffer).await.map_err(explained)?;
        if matches!(event, Event::Eof) {
            return parser.end();
        }
        if let Some(entry) = parser.go_on(&event)? {
            take(entry)?;
        }
    }
}

fn explained(error: Error) -> StoreError {
    let Error::Io(error) = error else { return StoreError::Answer(None) };
    error.get_ref().and_then(|error| error.downcast_ref()).cloned().unwrap_or(StoreError::Cut)
}

/// Elements that tell something, where they are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    All,
    One,
    Href,
    Found,
    Status,
    Properties,
    Length,
    Modified,
    Tag,
    Type,
    Collection,
    Other,
}

impl Element {
    fn of(around: Option<Element>, name: &[u8]) -> Element {
        match (around, name) {
            (None, b"multistatus") => Element::All,
            (Some(Element::All), b"response") => Element::One,
            (Some(Element::One), b"href") => Element::Href,
            (Some(Element::One), b"propstat") => Element::Found,
            (Some(Element::One | Element::Found), b"status") => Element::Status,
            (Some(Element::Found), b"prop") => Element::Properties,
            (Some(Element::Properties), b"getcontentlength") => Element::Length,
            (Some(Element::Properties), b"getlastmodified") => Element::Modified,
            (Some(Element::Properties), b"getetag") => Element::Tag,
            (Some(Element::Properties), b"resourcetype") => Element::Type,
            (Some(Element::Type), b"collection") => Element::Collection,
            _ => Element::Other,
        }
    }
}

/// The bytes read so far.
#[derive(Default)]
struct Parser {
    /// The elements that are open.
    path: Vec<Element>,
    /// All is over.
    is_over: bool,
    text: String,
    /// The content of the response that is being read, and whether it reports a failure.
    entry: Entry,
    is_refused: bool,
    /// The properties that are being read, and whether there are such.
    found: Entry,
    is_found: bool,
}

impl Parser {
    /// Takes in what comes next; gives what it completes.
    fn go_on(&mut self, event: &Event) -> Result<Option<Entry>, StoreError> {
        let malformed = StoreError::Answer(None);
        match event {
            Event::Start(start) => {
                let element = Element::of(self.path.last().copied(), start.local_name().as_ref());
                let is_root = self.path.is_empty();
                if self.is_over || self.path.len() == DEEPEST || is_root != (element == Element::All) {
                    return Err(malformed);
                }
                self.path.push(element);
                self.text.clear();
                self.begin(element);
            }
            Event::End(_) => {
                let Some(element) = self.path.pop() else { return Err(malformed) };
                self.is_over |= self.path.is_empty();
                return Ok(self.complete(element));
            }
            Event::Text(text) => self.add(&text.decode().map_err(|_| malformed)?)?,
            Event::CData(text) => self.add(&text.decode().map_err(|_| malformed)?)?,
            Event::GeneralRef(reference) => {
                let name = reference.decode().map_err(|_| malformed.clone())?;
                match reference.resolve_char_ref() {
                    Ok(Some(character)) => self.add(character.encode_utf8(&mut [0; 4]))?,
                    Ok(None) => self.add(resolve_xml_entity(&name).ok_or(malformed)?)?,
                    Err(_) => return Err(malformed),
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// There is no more.
    fn end(&self) -> Result<(), StoreError> {
        match (self.is_over, self.path.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err(StoreError::Answer(None)),
            (false, false) => Err(StoreError::Cut),
        }
    }

    fn add(&mut self, text: &str) -> Result<(), StoreError> {
        if self.path.is_empty() && !text.trim().is_empty() || self.text.len() + text.len() > LONGEST {
            return Err(StoreError::Answer(None));
        }
        self.text.push_str(text);
        Ok(())
    }

    fn begin(&mut self, element: Element) {
        match element {
            Element::One => (self.entry, self.is_refused) = (Entry::default(), false),
            Element::Found => (self.found, self.is_found) = (Entry::default(), false),
            _ => {}
        }
    }

    fn complete(&mut self, element: Element) -> Option<Entry> {
        let text = self.text.trim();
        let is_good = || text.split_whitespace().any(|word| word == "200");
        match element {
            Element::Href if self.entry.href.is_empty() => self.entry.href = text.to_owned(),
            Element::Status if self.path.last() == Some(&Element::Found) => self.is_found = is_good(),
            Element::Status => self.is_refused = !is_good(),
            Element::Length => self.found.size = text.parse().ok(),
            Element::Modified => self.found.modified = httpdate::parse_http_date(text).ok(),
            Element::Tag => self.found.tag = Some(text.to_owned()).filter(|tag| !tag.is_empty()),
            Element::Collection => self.found.is_directory = true,
            Element::Found if self.is_found => {
                let found = std::mem::take(&mut self.found);
                self.entry.is_directory |= found.is_directory;
                self.entry.size = found.size.or(self.entry.size);
                self.entry.modified = found.modified.or(self.entry.modified);
                self.entry.tag = found.tag.or(self.entry.tag.take());
            }
            Element::One if !self.is_refused => return Some(std::mem::take(&mut self.entry)),
            _ => {}
        }
        self.text.clear();
        None
    }
}

/// The bytes of an answer as they come, so many at most.
struct Answer<S, B> {
    stream: S,
    /// The received bytes, and how many of them were read.
    piece: Option<B>,
    at: usize,
    left: u64,
    /// Bytes since the last event.
    event: usize,
}

impl<S, B> AsyncBufRead for Answer<S, B>
where
    S: Stream<Item = Result<B, HttpError>> + Unpin,
    B: AsRef<[u8]> + Unpin,
{
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context) -> Poll<io::Result<&[u8]>> {
        let answer = self.get_mut();
        let fail = |error| Poll::Ready(Err(io::Error::other(error)));
        if answer.event > LONGEST {
            return fail(StoreError::Answer(None));
        }
        while answer.piece.as_ref().is_none_or(|piece| answer.at >= piece.as_ref().len()) {
            let next = match ready!(Pin::new(&mut answer.stream).poll_next(context)) {
                Some(Ok(next)) => next,
                Some(Err(error)) => return fail(on_the_way(&error)),
                None => return Poll::Ready(Ok(&[])),
            };
            let Some(left) = answer.left.checked_sub(next.as_ref().len() as u64) else {
                return fail(StoreError::Long);
            };
            (answer.piece, answer.at, answer.left) = (Some(next), 0, left);
        }
        let piece = answer.piece.as_ref().map_or(&[][..], |piece| piece.as_ref());
        // So that no event grows beyond its measure by one long piece.
        let end = piece.len().min(answer.at + LONGEST);
        Poll::Ready(Ok(&piece[answer.at..end]))
    }

    fn consume(self: Pin<&mut Self>, count: usize) {
        let answer = self.get_mut();
        answer.at += count;
        answer.event += count;
    }
}

impl<S, B> AsyncRead for Answer<S, B>
where
    S: Stream<Item = Result<B, HttpError>> + Unpin,
    B: AsRef<[u8]> + Unpin,
{
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context, buffer: &mut ReadBuf) -> Poll<io::Result<()>> {
        let count = {
            let bytes = ready!(self.as_mut().poll_fill_buf(context))?;
            let count = bytes.len().min(buffer.remaining());
            buffer.put_slice(&bytes[..count]);
            count
        };
        self.consume(count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fuzzing::entries;

    fn all(text: &str) -> Result<Vec<Entry>, StoreError> {
        entries(text.as_bytes(), 1 << 20, u64::MAX)
    }

    /// As Apache writes it, and as others do.
    const ANSWER: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:" xmlns:ns0="DAV:"><!-- - -->
<D:response xmlns:lp1="DAV:"><D:href>/d/</D:href><D:propstat><D:prop><lp1:resourcetype><D:collection/></lp1:resourcetype>
<lp1:getlastmodified>Thu, 01 Jan 1970 00:00:10 GMT</lp1:getlastmodified><lp1:getetag>"dir"</lp1:getetag></D:prop>
<D:status>HTTP/1.1 200 OK</D:status></D:propstat><D:propstat><D:prop><D:getcontentlength/></D:prop>
<D:status>HTTP/1.1 404 Not Found</D:status></D:propstat></D:response>
<D:response><D:href>/d/a&amp;b%20&#252;<![CDATA[<]]></D:href><D:propstat><D:prop><D:resourcetype/>
<D:getcontentlength> 12 </D:getcontentlength><D:getetag>W/&quot;x&quot;</D:getetag><other><href>/no</href></other></D:prop>
<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
<response xmlns="DAV:"><href>/d/refused</href><status>HTTP/1.1 403 Forbidden</status></response>
</D:multistatus>
"#;

    #[test]
    fn what_servers_tell_is_read_in_pieces_of_any_length() {
        let modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(10));
        let tag = |tag: &str| Some(tag.to_owned());
        let expected = [
            Entry { href: "/d/".into(), is_directory: true, modified, tag: tag("\"dir\""), size: None },
            Entry { href: "/d/a&b%20ü<".into(), size: Some(12), tag: tag("W/\"x\""), ..Entry::default() },
        ];
        for piece in [1, 7, 4096] {
            assert_eq!(entries(ANSWER.as_bytes(), piece, u64::MAX).unwrap(), expected, "{piece}");
        }
    }

    #[test]
    fn what_ends_early_or_is_none_is_an_error_and_no_panic() {
        for end in 0..ANSWER.trim_end().len() {
            if let Some(part) = ANSWER.get(..end) {
                assert!(all(part).is_err(), "{end}");
            }
        }
        let deep = |depth: usize| format!("<multistatus>{}", "<a>".repeat(depth));
        let malformed = [
            "",
            "no XML",
            "<html></html>",
            "<multistatus></multistatus><multistatus></multistatus>",
            "<multistatus></multistatus>more",
            "<multistatus></other>",
            "<multistatus>&unknown;</multistatus>",
            "<multistatus>&#99999999;</multistatus>",
            "<!DOCTYPE m [<!ENTITY a \"b\">]><multistatus>&a;</multistatus>",
            &deep(40),
            &format!("<multistatus>{}</multistatus>", " ".repeat(200_000)),
            &format!("<multistatus {}/>", "a".repeat(200_000)),
            &format!("<multistatus><response><href>{}", "&amp;a".repeat(100_000)),
            &format!("<multistatus/>{}", " ".repeat(200_000)),
        ];
        for text in malformed {
            assert_eq!(all(text), Err(StoreError::Answer(None)), "{}", &text[..text.len().min(100)]);
        }
        assert_eq!(all(&deep(4)), Err(StoreError::Cut));
        assert_eq!(all("<multistatus/>").unwrap(), []);
        assert_eq!(entries(b"<multistatus>\xff</multistatus>", 100, u64::MAX), Err(StoreError::Answer(None)));
        let length = ANSWER.len() as u64;
        assert_eq!(entries(ANSWER.as_bytes(), 10, length - 1), Err(StoreError::Long));
        assert!(entries(ANSWER.as_bytes(), 10, length).is_ok());
    }

    #[test]
    fn no_change_of_a_byte_is_a_panic() {
        let mut bytes = ANSWER.as_bytes().to_vec();
        for at in 0..bytes.len() {
            let before = bytes[at];
            for other in *b"<>&;/\"\0\xff0" {
                bytes[at] = other;
                let _ = entries(&bytes, 64, u64::MAX);
            }
            bytes[at] = before;
        }
    }
}
