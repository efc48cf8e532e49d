//! First touches of the pages of mapped files, as faults tell them: of a file they tell its inode, not its name.

use std::fs;

use hotset_core::request::{FLAG_AROUND, FLAG_CACHED, FLAG_FETCHED, FLAG_TOUCHED, Op};
use hotset_feed::calls::{Identity, Touched};
use rustc_hash::FxHashMap;

use super::descriptors::Target;
use super::files::FileId;
use super::model::{Model, Scene};
use super::unattributed::Oddity;

/// The files whose pages may be touched.
pub(super) struct Mapped {
    /// None for what has no blocks on storage, and for what has no name.
    files: FxHashMap<Identity, Known>,
    /// Bytes of a page.
    page: u64,
}

#[derive(Clone, Copy)]
enum Known {
    File(FileId),
    NoFile,
    Unnamed,
}

impl Mapped {
    /// Knows no file yet.
    pub(super) fn new() -> Mapped {
        Mapped { files: FxHashMap::default(), page: rustix::param::page_size() as u64 }
    }

    /// Bytes of a page of memory.
    pub(super) fn page(&self) -> u64 {
        self.page
    }

    /// Learns what a process may map from now on.
    pub(super) fn learn(&mut self, identity: Identity, target: Target) {
        let known = match target {
            Target::File(file) => Known::File(file),
            Target::Object(_) => Known::NoFile,
        };
        self.files.insert(identity, known);
    }

    /// True if a touch of the file has to be asked for its name.
    pub(super) fn is_new(&self, identity: &Identity) -> bool {
        !self.files.contains_key(identity)
    }

    /// No name can be found for a file.
    pub(super) fn give_up(&mut self, identity: Identity) {
        self.files.insert(identity, Known::Unnamed);
    }

    /// Appends the references of a touch: the touched page, then those that were mapped along.
    pub(super) fn refer(&self, model: &mut Model, scene: &mut Scene, touched: &Touched) {
        let file = match self.files.get(&touched.file) {
            Some(Known::File(file)) => *file,
            Some(Known::NoFile) => return,
            Some(Known::Unnamed) | None => return model.unattributed.odd(Oddity::UnnamedTouch),
        };
        model.files.set_size(file, touched.size);
        let end = touched.first.saturating_add(touched.pages);
        let presence = if touched.waited { FLAG_FETCHED } else { FLAG_CACHED };
        let parts = match touched.touched {
            Some(place) => {
                let at = touched.first.saturating_add(place).min(end);
                let behind = at.saturating_add(1).min(end);
                [(at..behind, FLAG_TOUCHED | presence), (touched.first..at, FLAG_AROUND), (behind..end, FLAG_AROUND)]
            }
            None => [(touched.first..end, FLAG_TOUCHED | FLAG_AROUND | presence), (0..0, 0), (0..0, 0)],
        };
        for (pages, flags) in parts {
            let [start, end] = [pages.start, pages.end].map(|at| at.saturating_mul(self.page).min(touched.size));
            // A file of more than 2^32 blocks of requests is not met: a length of at most 16 pages has one.
            if start < end && model.refer_range(scene, Op::Map, file, start, end - start, flags).is_err() {
                return model.unattributed.odd(Oddity::UnnamedTouch);
            }
        }
    }
}

/// The path of a file that a process has mapped since before the recording, as its list of mappings tells it.
pub(super) fn path_in_maps(process: u32, identity: &Identity) -> Option<Vec<u8>> {
    let maps = fs::read(format!("/proc/{process}/maps")).ok()?;
    let device = format!("{:02x}:{:02x}", identity.device >> 20, identity.device & 0xf_ffff);
    let number = identity.number.to_string();
    maps.split(|&byte| byte == b'\n').find_map(|line| path_of_mapping(line, device.as_bytes(), number.as_bytes()))
}

/// `START-END RIGHTS OFFSET DEVICE INODE PATH` of this device and inode.
fn path_of_mapping(line: &[u8], device: &[u8], number: &[u8]) -> Option<Vec<u8>> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let is_it = fields.nth(3)? == device && fields.next()? == number;
    let path = fields.next().filter(|_| is_it)?.trim_ascii_start();
    (path.first() == Some(&b'/') && !path.ends_with(b" (deleted)")).then(|| path.to_vec())
}

#[cfg(test)]
mod tests {
    use super::path_of_mapping;

    #[test]
    fn a_mapping_is_found_by_device_and_inode() {
        let path =
            |line: &str| path_of_mapping(line.as_bytes(), b"fd:01", b"12").map(|path| String::from_utf8(path).unwrap());
        assert_eq!(
            path("7f00-7f10 r-xp 00001000 fd:01 12         /usr/lib/a b.so"),
            Some("/usr/lib/a b.so".to_owned())
        );
        assert_eq!(path("7f00-7f10 r-xp 00001000 fd:01 123        /usr/lib/a.so"), None);
        assert_eq!(path("7f00-7f10 r-xp 00001000 fd:02 12         /usr/lib/a.so"), None);
        assert_eq!(path("7f00-7f10 r-xp 00001000 fd:01 12         /usr/lib/a.so (deleted)"), None);
        assert_eq!(
            (path("7f00-7f10 rw-p 00000000 00:00 0"), path(""), path("7f00-7f10 rw-p 0 fd:01 12")),
            (None, None, None)
        );
    }
}
