//! The files that the program inherits as its standard streams: where they stand, so that what it reads and writes
//! there has the right offsets.

use std::{fs, os::unix::ffi::OsStringExt};

use crate::strace::Inherited;

const O_APPEND: u32 = 0o2000;

/// The standard streams that are ordinary files.
pub(super) fn files() -> Vec<Inherited> {
    (0..3).filter_map(file).collect()
}

fn file(descriptor: u32) -> Option<Inherited> {
    let path = format!("/proc/self/fd/{descriptor}");
    let about = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let state = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?;
    let field = |name: &str| state.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
    Some(Inherited {
        path: fs::read_link(&path).ok()?.into_os_string().into_vec(),
        offset: field("pos:")?.parse().ok()?,
        append: flags & O_APPEND != 0,
        size: about.len(),
    })
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Seek, SeekFrom, Write},
        os::fd::AsRawFd,
    };

    use super::*;

    #[test]
    fn position_size_and_flags_are_those_of_the_descriptor() {
        let mut open = tempfile::NamedTempFile::new().unwrap();
        open.write_all(b"0123456789").unwrap();
        open.seek(SeekFrom::Start(4)).unwrap();
        let found = file(open.as_raw_fd() as u32).unwrap();
        let path = open.path().canonicalize().unwrap().into_os_string().into_vec();
        assert_eq!(found, Inherited { path, offset: 4, append: false, size: 10 });

        let append = fs::OpenOptions::new().append(true).open(open.path()).unwrap();
        assert!(file(append.as_raw_fd() as u32).unwrap().append);
        let null = fs::File::open("/dev/null").unwrap();
        assert_eq!(file(null.as_raw_fd() as u32), None);
    }
}
