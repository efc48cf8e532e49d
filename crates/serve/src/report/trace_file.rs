//! The files that results were made from, told so that another can see whether theirs is the same.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hotset_trace::Format;
use hotset_trace::formats::split_prefix;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3Default;

/// A trace as it was named, and what its file holds.
#[derive(Serialize)]
pub(super) struct TraceFile {
    name: String,
    #[serde(flatten)]
    content: Option<Content>,
}

/// Absent for standard input and other things that cannot be read again.
#[derive(Serialize)]
struct Content {
    /// Length of the file, packed as it is.
    bytes: u64,
    /// XXH3 (64 bits, hexadecimal) of the file, as `xxhsum -H3` tells it.
    xxh3: String,
}

impl TraceFile {
    pub fn of(path: &Path, formats: &[Format]) -> TraceFile {
        let (_, file) = split_prefix(path, formats);
        TraceFile { name: path.display().to_string(), content: Content::of(&file) }
    }
}

impl Content {
    fn of(path: &Path) -> Option<Content> {
        let mut file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|about| about.is_file()))?;
        let (mut hash, mut bytes, mut piece) = (Xxh3Default::new(), 0, vec![0; 1 << 16]);
        loop {
            match file.read(&mut piece).ok()? {
                0 => return Some(Content { bytes, xxh3: format!("{:016x}", hash.digest()) }),
                length => {
                    hash.update(&piece[..length]);
                    bytes += length as u64;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hotset_trace::formats::BUILTIN;

    use super::*;

    #[test]
    fn a_file_is_told_by_its_content_and_a_stream_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.ids");
        std::fs::write(&path, "").unwrap();
        // The hash of nothing, as published with the algorithm.
        let told = serde_json::to_value(TraceFile::of(&path, BUILTIN)).unwrap();
        assert_eq!((&told["bytes"], &told["xxh3"]), (&0.into(), &"2d06800538d394c2".into()));
        let named = Path::new("ids:").join(path.strip_prefix("/").unwrap());
        let with_format = serde_json::to_value(TraceFile::of(&named, BUILTIN)).unwrap();
        assert_eq!((&with_format["bytes"], &with_format["xxh3"]), (&told["bytes"], &told["xxh3"]));
        assert_eq!(
            serde_json::to_value(TraceFile::of(Path::new("-"), BUILTIN)).unwrap(),
            serde_json::json!({ "name": "-" })
        );
    }
}
