//! Which feeds this machine offers.

use std::fmt;

#[cfg(feature = "bpf")]
use super::stamps::Bpf;
use super::tracefs::Tracefs;
use crate::{Error, Feed, FeedOptions, Kind, Result};

/// A feed of this kind. Dropping it leaves nothing behind in the kernel.
///
/// # Errors
///
/// The machine does not offer it; the sentence says what is missing and how to get it.
pub fn open(kind: Kind, options: &FeedOptions) -> Result<Box<dyn Feed>> {
    match kind {
        #[cfg(not(feature = "bpf"))]
        Kind::Stamps | Kind::Ring => Err(Error::Unavailable { kind, why: crate::ABSENT.to_owned() }),
        #[cfg(feature = "bpf")]
        Kind::Stamps | Kind::Ring => Ok(Box::new(Bpf::open(kind, options)?)),
        Kind::Tracefs => Ok(Box::new(Tracefs::open(options)?)),
    }
}

/// What this machine offers, best first.
pub fn available() -> Offers {
    Offers(Kind::ALL.map(|kind| Offer { kind, refusal: open(kind, &FeedOptions::default()).err() }))
}

/// A kind of feed, and why it cannot be had.
#[derive(Debug)]
pub struct Offer {
    /// The kind.
    pub kind: Kind,
    /// The reason why it is unavailable here; none if it is available.
    pub refusal: Option<Error>,
}

/// All kinds, best first. Displays as a sentence.
#[derive(Debug)]
pub struct Offers(pub [Offer; 3]);

impl Offers {
    /// The first kind that can be had.
    pub fn best(&self) -> Option<Kind> {
        self.0.iter().find(|offer| offer.refusal.is_none()).map(|offer| offer.kind)
    }
}

impl fmt::Display for Offers {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let had: Vec<&str> = self.0.iter().filter(|o| o.refusal.is_none()).map(|o| o.kind.name()).collect();
        match had.as_slice() {
            [] => f.write_str("no feed of the page cache can be had here")?,
            had => write!(f, "feeds of the page cache that can be had here: {}", had.join(", "))?,
        }
        // A reason that several share is printed once.
        let mut refusals: Vec<(String, Vec<&str>)> = Vec::new();
        for Offer { kind, refusal } in &self.0 {
            let why = match refusal {
                None => continue,
                Some(Error::Unavailable { why, .. }) => why.clone(),
                Some(other) => other.to_string(),
            };
            match refusals.last_mut() {
                Some((known, kinds)) if *known == why => kinds.push(kind.name()),
                _ => refusals.push((why, vec![kind.name()])),
            }
        }
        refusals.iter().try_for_each(|(why, kinds)| write!(f, "; no feed by {} here: {why}", kinds.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_there_is_and_why_not_more() {
        let refused = |kind: Kind| Some(Error::Unavailable { kind, why: "no rights".to_owned() });
        let mut offers = Offers(Kind::ALL.map(|kind| Offer { kind, refusal: None }));
        assert_eq!(offers.best(), Some(Kind::Stamps));
        assert_eq!(offers.to_string(), "feeds of the page cache that can be had here: stamps, ring, tracefs");
        offers.0[0].refusal = refused(Kind::Stamps);
        assert_eq!(offers.best(), Some(Kind::Ring));
        assert_eq!(
            offers.to_string(),
            "feeds of the page cache that can be had here: ring, tracefs; no feed by stamps here: no rights"
        );
        offers.0.iter_mut().for_each(|offer| offer.refusal = refused(offer.kind));
        assert_eq!(offers.best(), None);
        assert_eq!(
            offers.to_string(),
            "no feed of the page cache can be had here; no feed by stamps, ring, tracefs here: no rights"
        );
    }
}
