//! First touches of the pages of mapped files, as faults tell them: of a file they tell its inode, not its name.

use std::fs;
use std::ops::Range;

use hotset_core::request::{FLAG_AROUND, FLAG_CACHED, FLAG_FETCHED, FLAG_TOUCHED, Op};
use hotset_feed::calls::{Identity, Touched};
use hotset_trace::runner::Malformed;
use rustc_hash::FxHashMap;

use crate::model::{Model, Oddity, Scene, Target};

/// The files whose pages may be touched.
pub(super) struct Mapped {
    /// Their targets; none for those without a known name.
    targets: FxHashMap<Identity, Option<Target>>,
    /// Bytes of a page of memory.
    page: u64,
}

impl Mapped {
    /// Knows no file yet.
    pub(super) fn new() -> Mapped {
        Mapped { targets: FxHashMap::default(), page: rustix::param::page_size() as u64 }
    }

    /// Bytes of a page of memory.
    pub(super) fn page(&self) -> u64 {
        self.page
    }

    /// True if the name of a file has not been looked up yet.
    pub(super) fn is_new(&self, file: &Identity) -> bool {
        !self.targets.contains_key(file)
    }

    /// Learns what touches of a file lead to, if its name could be found.
    pub(super) fn learn(&mut self, file: Identity, target: Option<Target>) {
        self.targets.insert(file, target);
    }

    /// Appends the references of a touch: the touched page, then those that were mapped along.
    ///
    /// # Errors
    ///
    /// The pages lie where no file has any.
    pub(super) fn refer(&self, model: &mut Model, scene: &mut Scene, touched: &Touched) -> Result<(), Malformed> {
        let file = match self.targets.get(&touched.file).copied().flatten() {
            Some(Target::File(file)) => file,
            Some(Target::Object(_)) => return Ok(()),
            None => {
                model.unattributed.odd(Oddity::UnnamedTouch);
                return Ok(());
            }
        };
        model.files.set_size(file, touched.size);
        for (pages, flags) in parts(touched) {
            let [start, end] = [pages.start, pages.end].map(|at| at.saturating_mul(self.page).min(touched.size));
            if start < end {
                model.refer_range(scene, Op::Map, file, start, end - start, flags)?;
            }
        }
        Ok(())
    }
}

/// Pages of a touch, and the flags of each part.
fn parts(touched: &Touched) -> [(Range<u64>, u16); 3] {
    let (first, end) = (touched.first, touched.first.saturating_add(touched.pages));
    let presence = FLAG_TOUCHED | if touched.waited { FLAG_FETCHED } else { FLAG_CACHED };
    let Some(place) = touched.touched else {
        return [(first..end, presence | FLAG_AROUND), (end..end, 0), (end..end, 0)];
    };
    let at = first.saturating_add(place).min(end);
    let behind = at.saturating_add(1).min(end);
    [(at..behind, presence), (first..at, FLAG_AROUND), (behind..end, FLAG_AROUND)]
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
