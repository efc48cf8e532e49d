//! What a listing is taken for, whatever a server sends: the one body of the fuzz target in `fuzz/` and of the seeded
//! tests.

use futures_util::{FutureExt, stream};
use reqwest::Url;

use crate::error::StoreError;
use crate::listed::servable;
use crate::multistatus::{self, Entry, LONGEST};
use crate::place::Place;

/// Where the server is asked.
const ASKED: &str = "http://host/a%20b/";

/// Takes bytes for an answer of a server of each kind that has its listings read here: WebDAV's in pieces of several
/// lengths, and those of S3.
///
/// # Panics
/// If an answer depends on how it was cut, if a name is none that a file right in that directory may have, or if a text
/// is longer than it may be.
pub fn listing(bytes: &[u8]) {
    let whole = entries(bytes, bytes.len().max(1), u64::MAX);
    for piece in [1, 13, 4096] {
        assert_eq!(entries(bytes, piece, u64::MAX), whole, "in pieces of {piece}");
    }
    let place = Place::new(&Url::parse(ASKED).expect("an address"));
    for entry in whole.unwrap_or_default() {
        assert!(entry.href.len() <= LONGEST && entry.tag.is_none_or(|tag| tag.len() <= LONGEST));
        if let Some(name) = place.below(&entry.href) {
            let is_safe = !name.contains(['/', '\0', '\n']) && name != "." && name != "..";
            assert!(is_safe, "{:?} is taken for the name {name:?}", entry.href);
        }
    }
    if let Ok(text) = str::from_utf8(bytes) {
        assert!(servable(text).len() <= text.len());
    }
}

/// What an answer of at most `most` bytes tells that comes in pieces of so many.
pub(crate) fn entries(answer: &[u8], piece: usize, most: u64) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    let pieces = stream::iter(answer.chunks(piece).map(Ok));
    let take = |entry| {
        entries.push(entry);
        Ok(())
    };
    multistatus::read(pieces, most, take).now_or_never().expect("all of it is there")?;
    Ok(entries)
}
