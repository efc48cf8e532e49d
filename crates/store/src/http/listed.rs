//! Listings without what cannot be served: keys with empty parts, with `.` or `..` as parts, or with control
//! characters.
//!
//! The library that reads listings refuses all of one that has such a key, so they are taken out before it does.

use object_store::path::Path;

/// Elements of a listing, by what has their keys.
const ENTRIES: [(&str, &str); 2] = [("Contents", "Key"), ("CommonPrefixes", "Prefix")];

/// The text of a listing (XML, as S3 and Google send it) without those entries. A text that is not understood stays as
/// it is. The work is proportional to its length: a server in the store's place must not keep this process busy.
pub(crate) fn servable(listing: &str) -> String {
    let mut kept = String::with_capacity(listing.len());
    let mut done = 0;
    let mut next = ENTRIES.map(|(name, _)| position(listing, done, &format!("<{name}>")));
    while let Some((start, (name, key))) =
        next.into_iter().zip(ENTRIES).filter_map(|(at, entry)| Some((at?, entry))).min()
    {
        let close = format!("</{name}>");
        let Some(end) = position(listing, start, &close).map(|end| end + close.len()) else { break };
        let is_kept = text_of(&listing[start..end], key).is_none_or(|key| Path::parse(unescaped(key)).is_ok());
        kept.push_str(&listing[done..if is_kept { end } else { start }]);
        done = end;
        for (at, (name, _)) in next.iter_mut().zip(ENTRIES) {
            if at.is_some_and(|at| at < done) {
                *at = position(listing, done, &format!("<{name}>"));
            }
        }
    }
    kept + &listing[done..]
}

/// The position of a text, from a place on.
fn position(text: &str, from: usize, wanted: &str) -> Option<usize> {
    Some(from + text[from..].find(wanted)?)
}

/// The content of an element of an entry.
fn text_of<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = entry.split_once(&format!("<{name}>"))?;
    Some(behind.split_once(&format!("</{name}>"))?.0)
}

/// Text of XML as it is meant.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('&');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (code, behind) = piece.split_once(';').unwrap_or((piece, ""));
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let character = match code {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => match code.strip_prefix('#') {
                Some(digits) => digits.strip_prefix('x').map_or_else(|| number(digits, 10), |hex| number(hex, 16)),
                None => None,
            },
        };
        plain.extend(character);
        plain.push_str(behind);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_cannot_be_served_are_taken_out_and_nothing_else() {
        let file = |key: &str| format!("<Contents>\n<Key>{key}</Key><Size>1</Size></Contents>");
        let directory = |key: &str| format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>");
        let listing = |entries: &[String]| {
            format!(
                "<ListBucketResult><Prefix>a//</Prefix>{}<IsTruncated>false</IsTruncated></ListBucketResult>",
                entries.concat()
            )
        };
        let good = [file("a/b"), directory("a/c/"), file("a &amp; b/&#233;"), file("a/"), directory("a...b/")];
        let bad = [directory("a//"), file("a//b"), file("a/../b"), file("a/&#x2e;/b"), file("a/&#7;"), directory("./")];
        let mixed: Vec<String> = good.iter().zip(&bad).flat_map(|(good, bad)| [bad.clone(), good.clone()]).collect();
        assert_eq!(servable(&listing(&[&mixed[..], &bad[5..]].concat())), listing(&good));
        for whole in [
            "",
            "<Contents>",
            "no listing",
            "<Contents><Key>a//b</Contents>",
            "<Contents><Key>&#99999999;</Key></Contents>",
        ] {
            assert_eq!(servable(whole), whole);
        }
    }

    #[test]
    fn a_long_listing_takes_as_long_as_it_is() {
        let entries = 200_000;
        let listing = "<Contents><Key>a//b</Key></Contents>".repeat(entries)
            + &"<Contents><Key>a/b</Key></Contents>".repeat(entries);
        let begun = std::time::Instant::now();
        assert_eq!(servable(&listing).len(), "<Contents><Key>a/b</Key></Contents>".len() * entries);
        // By the square of its length it took minutes.
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
