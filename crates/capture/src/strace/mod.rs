//! `strace`: logs of system calls, turned into file references.
//!
//! The log tells what each process asked of the kernel: names relative to working directories, descriptors that are
//! copied, inherited and closed, positions that calls share. The model follows all of that (`processes`, `descriptors`,
//! `files`), so that every read and write becomes a reference to a byte range of a file. `docs/reference/strace.md`
//! says what is and is not seen.

mod call;
mod calls;
mod descriptors;
mod files;
mod line;
mod model;
mod paths;
#[cfg(target_os = "linux")]
mod phrase;
mod processes;
mod reader;
mod shared;
mod story;
#[cfg(target_os = "linux")]
pub(crate) mod told;
#[cfg(target_os = "linux")]
mod touches;
mod unattributed;

use hotset_trace::{
    Format,
    formats::{Confidence, Head},
};

pub use reader::StraceReader;

/// Bytes at the head of a log that tell whether it has times, and where the first process works.
const HEAD_BYTES: usize = 64 * 1024;

/// The format, for [`hotset_trace::open`].
pub const FORMAT: Format = Format {
    name: "strace",
    summary: "log of strace -f -ttt -y -s 0 (flags: hotset record --help)",
    example: "2175  1795225737.640461 read(4</home/user/scene.blend>, \"\"..., 4096) = 4096",
    sample:
        b"7  1.000001 openat(AT_FDCWD</>, \"/a\", O_RDWR) = 3</a>\n\
        7  1.000002 read(3</a>, \"\"..., 4096) = 4096\n7  1.000003 pwrite64(3</a>, \"\"..., 100, 8192) = 100\n\
        8  1.000004 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3</a>, 0) = 0x7f0000000000\n8  1.000005 close(3</a>) = 0\n",
    detect,
    open: |input, options| {
        let options = StraceOptions { skip_bad: options.skip_bad, ..StraceOptions::default() };
        Ok(Box::new(StraceReader::new(input, options)?))
    },
};

/// What counts as an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Apps {
    /// A program, whichever processes run it: `cc1`.
    #[default]
    Program,
    /// A process with its threads: `cc1 4711`.
    Process,
    /// The control group of a process, where [`StraceOptions::group_of`] tells it.
    Group,
}

/// A file that was open before the log began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Its path.
    pub path: Vec<u8>,
    /// The position of the next read or write.
    pub offset: u64,
    /// Writes go to the end (`O_APPEND`).
    pub append: bool,
    /// The file's size in bytes.
    pub size: u64,
}

/// How to read a log.
#[derive(Clone, Debug, Default)]
pub struct StraceOptions {
    /// Malformed lines are counted and skipped instead of being errors.
    pub skip_bad: bool,
    /// Requests are handed over as soon as the log pauses, not only by full batches. For logs that are being written.
    pub prompt: bool,
    /// What counts as an application.
    pub apps: Apps,
    /// Where the first process works; otherwise it is taken from the log, if made with `-y`.
    pub directory: Option<Vec<u8>>,
    /// Files that the first process had open.
    pub inherited: Vec<Inherited>,
    /// The offsets of reads and writes are reported beside the calls.
    pub positions_told: bool,
    /// Requests to io_uring are reported.
    pub sees_rings: bool,
    /// First touches of pages are reported, too: a mapping does not count as a reference then.
    pub touches_told: bool,
    /// Tells the control group of a process. Only of use while the process runs.
    pub group_of: Option<fn(u32) -> Option<String>>,
    /// Tells the size of a program's file that the log does not tell. Only of use while the program runs.
    pub file_size_of: Option<fn(&str) -> Option<u64>>,
}

fn detect(head: &Head) -> Confidence {
    let mut events = 0;
    let fits = head.all_lines(|line| {
        let parsed = line::Line::parse(line);
        events += usize::from(parsed.as_ref().is_ok_and(|line| line.event != line::Event::Aside));
        parsed.is_ok()
    });
    if fits && events > 0 { Confidence::Sure } else { Confidence::No }
}
