//! Types of files, as numbers that are the same in every host.

use crate::request::Kind;
use crate::view::Space;

/// Maximum length of an extension in bytes. A longer suffix is part of the name.
const LONGEST: usize = 16;

/// Returns the number of a file's type. Files with the same extension and kind share a number. Other files have
/// different numbers, except for hash collisions. Returns 0 if neither is known. Case is ignored.
pub fn file_group(path: &str, kind: Kind) -> u32 {
    let extension = extension(path);
    if extension.is_empty() && kind == Kind::Unknown {
        return 0;
    }
    // FNV-1a.
    let bytes = extension.bytes().map(|byte| byte.to_ascii_lowercase()).chain([kind as u8]);
    bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Returns the number of a block's type: that of its file, or of inodes or directories for a block of metadata.
pub fn block_group(space: &Space, of_file: u32) -> u32 {
    space.metadata().map_or(of_file, |kind| file_group("", kind))
}

/// Describes the type of such a file in words.
pub(super) fn group_words(path: &str, kind: Kind) -> String {
    match (extension(path), kind) {
        ("", Kind::Unknown) => "files of no known type".to_owned(),
        ("", Kind::Datafile) => "files without extension".to_owned(),
        ("", Kind::Other) => "devices and other special files".to_owned(),
        ("", Kind::Inode | Kind::Directory | Kind::Executable) => format!("{}s", kind.name()).replace("ys", "ies"),
        (extension, Kind::Executable) => format!("executable .{} files", extension.to_lowercase()),
        (extension, _) => format!(".{} files", extension.to_lowercase()),
    }
}

/// Returns the extension of a file's name, after the last dot; empty if there is none.
fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.len() <= LONGEST => extension,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_end_alike_are_of_one_type() {
        let group = |path: &str| file_group(path, Kind::Datafile);
        assert_eq!(group("/films/a.PNG"), group("b/c.png"));
        assert_ne!(group("a.png"), group("a.exr"));
        assert_ne!(group("a.png"), file_group("a.png", Kind::Executable));
        let none = ["/etc.d/passwd", ".bashrc", "a.", "x.with an ending that is none"];
        assert!(none.iter().all(|path| group(path) == group("") && file_group(path, Kind::Unknown) == 0));
        assert_ne!(group(""), 0);
        let words =
            [("/a/b.C", Kind::Datafile), ("/bin/ls", Kind::Executable), ("/usr", Kind::Directory), ("", Kind::Unknown)];
        let words = words.map(|(path, kind)| group_words(path, kind));
        assert_eq!(words, [".c files", "executables", "directories", "files of no known type"]);
    }
}
