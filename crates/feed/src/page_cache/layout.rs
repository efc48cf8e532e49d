//! The kernel's events of the page cache, and whether they are laid out as this crate reads them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A field of an event: its name, where it begins and how many bytes it has.
type Field = (&'static str, usize, usize);

/// An event of the group `filemap`.
#[derive(Debug)]
pub struct Layout {
    /// Its name.
    pub event: &'static str,
    /// The fields that are read, as the C source has them.
    pub fields: &'static [Field],
}

const RANGE: &[Field] = &[("i_ino", 8, 8), ("s_dev", 16, 4), ("index", 24, 8), ("last_index", 32, 8)];
const FOLIO: &[Field] = &[("i_ino", 16, 8), ("index", 24, 8), ("s_dev", 32, 4), ("order", 36, 1)];

/// Every read, hit or miss.
pub const READ: Layout = Layout { event: "mm_filemap_get_pages", fields: RANGE };
/// Pages mapped around a fault.
pub const AROUND: Layout = Layout { event: "mm_filemap_map_pages", fields: RANGE };
/// Faults on a mapped file.
pub const FAULT: Layout =
    Layout { event: "mm_filemap_fault", fields: &[("i_ino", 8, 8), ("s_dev", 16, 4), ("index", 24, 8)] };
/// Folios that enter the page cache.
pub const ADDED: Layout = Layout { event: "mm_filemap_add_to_page_cache", fields: FOLIO };
/// Folios that leave it.
pub const REMOVED: Layout = Layout { event: "mm_filemap_delete_from_page_cache", fields: FOLIO };

/// All of them.
pub const ALL: [Layout; 5] = [READ, AROUND, FAULT, ADDED, REMOVED];

/// Where the kernel's tracing is mounted, or a sentence that says how to mount it.
pub fn tracing() -> Result<PathBuf, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|error| format!("/proc/self/mounts: {error}"))?;
    tracing_in(&mounts).ok_or_else(|| {
        "the kernel's list of events is not mounted; mount it: mount -t tracefs tracefs /sys/kernel/tracing".to_owned()
    })
}

fn tracing_in(mounts: &str) -> Option<PathBuf> {
    let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    mounts.find_map(|mount| (*mount.get(2)? == "tracefs").then(|| PathBuf::from(mount[1])))
}

/// Compares events with what the running kernel says of them.
///
/// # Errors
///
/// A sentence that names the first event that is missing or laid out in another way.
pub fn check(tracing: &Path, layouts: &[Layout]) -> Result<(), String> {
    layouts.iter().try_for_each(|layout| {
        let path = tracing.join("events/filemap").join(layout.event).join("format");
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "this kernel does not have the event filemap:{}; Linux 6.12 and newer do, if they are built with \
                 trace events",
                layout.event
            ),
            io::ErrorKind::PermissionDenied => {
                format!("{} may not be read: it needs root or CAP_DAC_READ_SEARCH", path.display())
            }
            _ => format!("{}: {error}", path.display()),
        })?;
        layout.compare(&text)
    })
}

impl Layout {
    /// Compares with the text of a `format` file.
    fn compare(&self, text: &str) -> Result<(), String> {
        self.fields.iter().try_for_each(|&(name, offset, size)| {
            let expected = format!("expected {size} bytes at offset {offset}; this version of hotset cannot read it");
            match field(text, name) {
                Some(found) if found == (offset, size) => Ok(()),
                Some((offset, size)) => Err(format!(
                    "the event filemap:{} of this kernel has {name} in {size} bytes at offset {offset}, {expected}",
                    self.event
                )),
                None => Err(format!("the event filemap:{} of this kernel has no {name}, {expected}", self.event)),
            }
        })
    }
}

/// Offset and size of a field in the text of a `format` file.
fn field(text: &str, name: &str) -> Option<(usize, usize)> {
    text.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';');
        let declared = parts.next()?.rsplit(' ').next()?;
        if declared.trim_start_matches('*') != name {
            return None;
        }
        let mut number = |label: &str| parts.next()?.trim().strip_prefix(label)?.parse().ok();
        Some((number("offset:")?, number("size:")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name: mm_filemap_fault\nID: 7\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    const FIELDS: [&str; 3] = [
        "\tfield:unsigned long i_ino;\toffset:8;\tsize:8;\tsigned:0;\n",
        "\tfield:dev_t s_dev;\toffset:16;\tsize:4;\tsigned:0;\n",
        "\tfield:unsigned long index;\toffset:24;\tsize:8;\tsigned:0;\n",
    ];

    #[test]
    fn a_kernel_that_lays_events_out_so_is_taken() {
        let text = format!("{HEAD}{}\nprint fmt: \"index\"\n", FIELDS.concat());
        assert_eq!(FAULT.compare(&text), Ok(()));
        // Others may stand between.
        let more =
            text.replace("\tfield:dev_t", "\tfield:void * index_of;\toffset:40;\tsize:8;\tsigned:0;\n\tfield:dev_t");
        assert_eq!(FAULT.compare(&more), Ok(()));
    }

    #[test]
    fn a_kernel_that_does_not_is_refused() {
        let text = format!("{HEAD}{}", FIELDS.concat());
        let moved = FAULT.compare(&text.replace("offset:16", "offset:20")).unwrap_err();
        assert!(moved.contains("filemap:mm_filemap_fault of this kernel has s_dev in 4 bytes at offset 20"), "{moved}");
        assert!(moved.contains("expected 4 bytes at offset 16"), "{moved}");
        let wider = FAULT.compare(&text.replace("offset:16;\tsize:4", "offset:16;\tsize:8")).unwrap_err();
        assert!(wider.contains("s_dev in 8 bytes at offset 16"), "{wider}");
        let without = FAULT.compare(&text.replace(" index;", " page;")).unwrap_err();
        assert!(without.contains("has no index, expected 8 bytes at offset 24"), "{without}");
        for layout in &ALL {
            assert!(layout.compare("").is_err() && layout.compare(&text).is_err() == (layout.event != FAULT.event));
        }
    }

    #[test]
    fn a_missing_event_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = check(dir.path(), &ALL).unwrap_err();
        assert!(refusal.contains("does not have the event filemap:mm_filemap_get_pages"), "{refusal}");
    }

    #[test]
    fn tracing_is_found_where_it_is_mounted() {
        let mounts = "/dev/sda / ext4 rw 0 0\nnodev /sys/kernel/tracing tracefs rw,nosuid 0 0\n";
        assert_eq!(tracing_in(mounts), Some(PathBuf::from("/sys/kernel/tracing")));
        assert_eq!(tracing_in("tracefs /mnt ext4 rw 0 0\n"), None);
        assert_eq!(tracing_in("broken\n"), None);
    }
}
