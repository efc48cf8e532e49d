//! Lines of a trace pipe.

use crate::{Event, FileId, How};

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// An event of the page cache.
    Event {
        /// Nanoseconds of the monotonic clock; the text tells microseconds.
        at: u64,
        /// The thread; the process is in the event.
        thread: u32,
        /// What happened.
        event: Event,
    },
    /// So many events were overwritten.
    Lost(u64),
}

/// A line, where a page has this many bytes; none if it says nothing of the page cache.
///
/// `comm-THREAD (PROCESS) [CPU] flags SECONDS.MICROS: EVENT: dev=MAJOR:MINOR ino=HEX ofs=FIRST-LAST`, with bytes as
/// offsets; a name may hold anything, so the line is read from its last bracket on.
pub fn parsed(line: &str, page: u64) -> Option<Line> {
    if let Some((_, lost)) = line.split_once(" [LOST ") {
        return lost.strip_suffix(" EVENTS]").and_then(|lost| lost.parse().ok()).map(Line::Lost);
    }
    let (who, rest) = line.split_at(line.find(": mm_filemap_")?);
    let (name, fields) = rest.strip_prefix(": mm_filemap_")?.split_once(": ")?;
    let (who, what) = who.rsplit_once(") [")?;
    let (thread, process) = who.rsplit_once('(')?;
    let thread = thread.trim_end().rsplit('-').next()?.parse().ok()?;
    // It is dashes where the kernel has not noted the process of a thread.
    let process = process.trim().parse().unwrap_or(0);
    let at = nanoseconds(what.rsplit(' ').next()?)?;
    Some(Line::Event { at, thread, event: event(name, fields, process, page)? })
}

fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, micros) = text.split_once('.')?;
    let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
    seconds.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1000)
}

fn event(name: &str, fields: &str, process: u32, page: u64) -> Option<Event> {
    // Folios are named by `dev 254:0 ino 12 `, the others by `dev=254:0 ino=12 `.
    let fields = fields.replace("dev ", "dev=").replace("ino ", "ino=");
    let field = |label: &str| fields.split(' ').find_map(|field| field.strip_prefix(label));
    let (major, minor) = field("dev=")?.split_once(':')?;
    let device = major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?;
    let file = FileId { device, inode: u64::from_str_radix(field("ino=")?, 16).ok()? };
    let (from, to) = field("ofs=")?.split_once('-').unwrap_or((field("ofs=")?, ""));
    let first = from.parse::<u64>().ok()? / page;
    let touched = |how, pages| Event::Touched { file, first, pages, how, process };
    let range = || u32::try_from(to.parse::<u64>().ok()?.checked_add(1)?.div_ceil(page).checked_sub(first)?).ok();
    let folio = || 1u32.checked_shl(field("order=")?.parse().ok()?);
    match name {
        "get_pages" => Some(touched(How::Read, range()?)),
        "map_pages" => Some(touched(How::Around, range()?)),
        "fault" => Some(touched(How::Fault, 1)),
        "add_to_page_cache" => Some(Event::Added { file, first, pages: folio()? }),
        "delete_from_page_cache" => Some(Event::Removed { file, first, pages: folio()? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId { device: 254 << 20 | 3, inode: 0x4fa7d };

    fn line(event: &str) -> Option<Line> {
        parsed(&format!("   a) [0] b-29129   (  29120) [001] d..1. 41028.804041: mm_filemap_{event}"), 4096)
    }

    fn told(event: Event) -> Option<Line> {
        Some(Line::Event { at: 41_028_804_041_000, thread: 29129, event })
    }

    #[test]
    fn each_event_is_read() {
        let touched = |first, pages, how| told(Event::Touched { file: FILE, first, pages, how, process: 29120 });
        assert_eq!(line("get_pages: dev=254:3 ino=4fa7d ofs=8192-12287"), touched(2, 1, How::Read));
        assert_eq!(line("map_pages: dev=254:3 ino=4fa7d ofs=0-65535"), touched(0, 16, How::Around));
        assert_eq!(line("fault: dev=254:3 ino=4fa7d ofs=4096"), touched(1, 1, How::Fault));
        let added = "add_to_page_cache: dev 254:3 ino 4fa7d pfn=0x1ff ofs=16384 order=2";
        assert_eq!(line(added), told(Event::Added { file: FILE, first: 4, pages: 4 }));
        let removed = "delete_from_page_cache: dev 254:3 ino 4fa7d pfn=0x1ff ofs=0 order=0";
        assert_eq!(line(removed), told(Event::Removed { file: FILE, first: 0, pages: 1 }));
    }

    #[test]
    fn losses_are_read_and_other_lines_say_nothing() {
        assert_eq!(parsed("CPU:1 [LOST 1234 EVENTS]", 4096), Some(Line::Lost(1234)));
        for other in ["", "# tracer: nop", "CPU:1 [LOST EVENTS]", "cat-1 (1) [000] ..... 1.000001: sched_switch: x"] {
            assert_eq!(parsed(other, 4096), None, "{other}");
        }
        assert_eq!(line("get_pages: dev=254:3 ino=4fa7d ofs=8192"), None);
        assert_eq!(line("get_pages: dev=254:3 ofs=8192-9000"), None);
        assert_eq!(line("add_to_page_cache: dev 254:3 ino 4fa7d ofs=0 order=40"), None);
        assert_eq!(line("get_pages: dev=254:3 ino=1 ofs=0-18446744073709551615"), None);
    }

    #[test]
    fn a_process_that_the_kernel_did_not_note_is_not_told() {
        let text = "cat-7 (-------) [000] ..... 1.000002: mm_filemap_fault: dev=254:3 ino=4fa7d ofs=0";
        let event = Event::Touched { file: FILE, first: 0, pages: 1, how: How::Fault, process: 0 };
        assert_eq!(parsed(text, 4096), Some(Line::Event { at: 1_000_002_000, thread: 7, event }));
    }
}
