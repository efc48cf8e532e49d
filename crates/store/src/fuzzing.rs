//! The reading of listings, whatever a server sends: the body of the fuzz target in `fuzz/`, which cargo-fuzz builds
//! with `--cfg fuzzing`, and its seeded test.

use futures_util::{FutureExt, stream};
use reqwest::Url;

use crate::error::StoreError;
use crate::http::listed::servable;
use crate::webdav::multistatus::{self, Entry, LONGEST};
use crate::webdav::place::Place;

/// Where the server is asked.
const ASKED: &str = "http://host/a%20b/";

/// Reads bytes as an answer of a server of each kind whose listings are read here: WebDAV's in pieces of several
/// lengths, and those of S3.
///
/// # Panics
/// If an answer depends on how it was cut, if a name cannot belong to a file in that directory, or if a text is longer
/// than its limit.
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

/// The content of an answer of at most `most` bytes that comes in pieces of so many.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use hotset_core::random::Rng;
    use hotset_testkit::fuzz::vary;

    use super::*;

    #[test]
    fn damaged_listings_are_read_or_refused() {
        let mut random = Rng::new(23);
        for kept in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept/listing")).unwrap() {
            let bytes = fs::read(kept.unwrap().path()).unwrap();
            listing(&bytes);
            let Ok(text) = str::from_utf8(&bytes) else { continue };
            (0..5000).for_each(|_| listing(vary(&mut random, text).as_bytes()));
        }
    }
}
