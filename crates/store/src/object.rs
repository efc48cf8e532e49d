//! An object as a store describes it, and a part of a listing.

use std::time::SystemTime;

use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta};

/// A version of an object.
#[derive(Clone, Debug)]
pub struct Object {
    meta: ObjectMeta,
}

/// A part of a listing of a directory.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The directory exists: the key of some object begins with its key, possibly that of an object that represents it.
    pub is_there: bool,
    /// Names of directories: keys go on behind them with a slash.
    pub directories: Vec<String>,
    /// The objects right in it.
    pub objects: Vec<Object>,
    /// The token for the next part; none at the end.
    pub next: Option<String>,
}

/// Bytes of the longest key that stores have, and of the longest etag that is taken.
pub(crate) const LONGEST: usize = 1024;

impl Object {
    pub(crate) fn new(meta: ObjectMeta) -> Object {
        Object { meta }
    }

    pub(crate) fn location(&self) -> &Path {
        &self.meta.location
    }

    /// True if the etag is as short as stores have them; a longer one would only fill memory.
    pub(crate) fn is_brief(meta: &ObjectMeta) -> bool {
        meta.e_tag.as_ref().is_none_or(|tag| tag.len() <= LONGEST)
    }

    /// Bytes of its metadata in addition to its size and time.
    pub fn told(&self) -> u64 {
        (self.meta.location.as_ref().len() + self.meta.e_tag.as_ref().map_or(0, String::len)) as u64
    }

    /// The last part of its key.
    pub fn name(&self) -> &str {
        self.meta.location.filename().unwrap_or_default()
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.meta.size
    }

    /// When it was written, in whole seconds: not every call of a store tells more.
    pub fn modified(&self) -> SystemTime {
        let seconds = self.meta.last_modified.timestamp();
        let since = std::time::Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { SystemTime::UNIX_EPOCH - since } else { SystemTime::UNIX_EPOCH + since }
    }

    /// What tells its versions apart: the etag, which names bytes; where there is none, or one that names what means
    /// the same (a weak one), with the time and the size.
    pub fn version(&self) -> String {
        match self.tag() {
            Some(tag) => tag.to_owned(),
            None => {
                let (tag, size) = (self.meta.e_tag.as_deref().unwrap_or_default(), self.meta.size);
                format!("{tag} {} {size}", self.meta.last_modified.timestamp())
            }
        }
    }

    /// True if its version names its bytes, so that no other one can have the same.
    pub fn names_bytes(&self) -> bool {
        self.tag().is_some()
    }

    /// True if it is the same version of the same size.
    pub fn is_same(&self, other: &Object) -> bool {
        self.meta.size == other.meta.size && self.version() == other.version()
    }

    /// True if bytes that came with `told` are of this version. Web servers may tell no etag where they list files and
    /// one with their bytes, or a weak one first and a strong one when the second is over in which a file was written;
    /// there the time and the size count.
    pub(crate) fn is_of(&self, told: &Object) -> bool {
        if self.tag().is_some() {
            return self.is_same(told);
        }
        let bare = |object: &Object| object.meta.e_tag.as_deref().map(|tag| tag.trim_start_matches("W/").to_owned());
        let differs = bare(self).zip(bare(told)).is_some_and(|(one, other)| one != other);
        self.meta.size == told.meta.size && self.modified() == told.modified() && !differs
    }

    /// The etag, if it names bytes. Some stores leave out the quotes in listings.
    fn tag(&self) -> Option<&str> {
        let tag = self.meta.e_tag.as_deref()?;
        (!tag.starts_with("W/")).then(|| tag.trim_matches('"')).filter(|tag| !tag.is_empty())
    }

    /// How this version, and no other one, is asked for.
    pub(crate) fn conditions(&self) -> GetOptions {
        match self.tag() {
            Some(tag) => GetOptions { if_match: Some(format!("\"{tag}\"")), ..GetOptions::default() },
            None => GetOptions { if_unmodified_since: Some(self.meta.last_modified), ..GetOptions::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn object(tag: Option<&str>, size: u64) -> Object {
        let meta = ObjectMeta {
            location: Path::from("a/b"),
            last_modified: Default::default(),
            size,
            e_tag: tag.map(str::to_owned),
            version: None,
        };
        Object::new(meta)
    }

    #[test]
    fn bytes_without_the_etag_of_the_listing_are_not_taken_for_its_version() {
        let (strong, weak, none) = (object(Some("\"tag\""), 5), object(Some("W/\"tag\""), 5), object(None, 5));
        assert!(strong.is_of(&strong) && !strong.is_of(&weak) && !strong.is_of(&none));
        // An object written within that second is read when the second is over.
        for object in [&weak, &none] {
            assert!([&strong, &weak, &none].iter().all(|told| object.is_of(told)));
        }
        for told in [object(Some("W/\"other\""), 5), object(Some("\"other\""), 5)] {
            assert!(!weak.is_of(&told) && !strong.is_of(&told) && none.is_of(&told));
        }
        let mut later = object(None, 5);
        later.meta.last_modified += Duration::from_secs(1);
        for object in [&weak, &none] {
            assert!(!object.is_of(&later) && !object.is_of(&self::object(None, 6)));
        }
    }

    #[test]
    fn an_etag_that_names_bytes_is_asked_for_and_others_are_compared() {
        let (strong, bare) = (object(Some("\"tag\""), 5), object(Some("tag"), 5));
        assert!(strong.is_same(&bare) && !strong.is_same(&object(Some("\"tag\""), 6)));
        assert!(!strong.is_same(&object(Some("\"other\""), 5)));
        for object in [&strong, &bare] {
            assert_eq!(object.conditions().if_match.as_deref(), Some("\"tag\""));
            assert!(object.names_bytes());
        }
        for object in [object(Some("W/\"tag\""), 5), object(None, 5)] {
            let conditions = object.conditions();
            assert!(conditions.if_match.is_none() && conditions.if_unmodified_since.is_some());
            assert!(!object.names_bytes());
            assert!(!object.is_same(&strong) && object.is_same(&object));
        }
    }
}
