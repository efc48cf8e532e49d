//! The last page of a read, as kernels report it: Linux before 6.18 reports the page behind it, except some that were
//! corrected later (such as 6.12.117).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process;

use crate::{Event, FileId, How};

/// By how many pages this kernel gives the last one too high. `hear` is called with this program's own file and what
/// reads its first byte: it has that file watched, lets it be read, and hands on what was heard.
pub fn find(hear: impl FnOnce(FileId, &dyn Fn(), &mut dyn FnMut(Event)) -> Option<()>) -> u64 {
    measured(hear).unwrap_or_else(|| guessed(&fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()))
}

/// None where the read is not told, as on file systems that hide the true device.
fn measured(hear: impl FnOnce(FileId, &dyn Fn(), &mut dyn FnMut(Event)) -> Option<()>) -> Option<u64> {
    let own = File::open("/proc/self/exe").ok()?;
    let mut told = None;
    let read = || {
        // A file that cannot be read is not reported either.
        let _ = own.read_exact_at(&mut [0], 0);
    };
    hear(FileId::of(&own).ok()?, &read, &mut |event| match event {
        Event::Touched { first: 0, pages, how: How::Read, process, .. } if process == process::id() => {
            told = told.or(Some(u64::from(pages) - 1));
        }
        _ => {}
    })?;
    told.filter(|&past| past <= 1)
}

/// By the release's number.
fn guessed(release: &str) -> u64 {
    let mut numbers = release.split(['.', '-']).map_while(|number| number.trim().parse::<u32>().ok());
    u64::from((numbers.next(), numbers.next()) < (Some(6), Some(18)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_asked_where_no_read_is_told() {
        assert_eq!(
            ["6.12.48+deb13-amd64\n", "6.17.0", "6.18.44-fc", "6.19-rc1", "7.0.1"].map(guessed),
            [1, 1, 0, 0, 0]
        );
        assert_eq!(measured(|_, _, _| Some(())), None);
    }

    #[test]
    fn a_read_of_one_page_tells() {
        let told = |pages| {
            measured(|file, read, heard| {
                read();
                for process in [0, process::id()] {
                    let pages = if process == 0 { 9 } else { pages };
                    heard(Event::Touched { file, first: 0, pages, how: How::Read, process });
                }
                Some(())
            })
        };
        assert_eq!([1, 2, 3].map(told), [Some(0), Some(1), None]);
    }
}
