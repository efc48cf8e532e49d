//! `strace`: logs of system calls, turned into file references.
//!
//! The log tells what each process asked of the kernel: names relative to working directories, descriptors that are
//! copied, inherited and closed, positions that calls share. Each line becomes a `Call`. `model` follows the calls,
//! so that every read and write becomes a reference to a byte range of a file. `docs/reference/strace.md` lists what is
//! and is not seen.

mod arguments;
mod line;
mod reader;
mod story;

use hotset_trace::{
    Format,
    formats::{Confidence, Head},
};

pub use crate::options::{Apps, Inherited, StraceOptions};
pub use reader::StraceReader;

/// Bytes at the head of a log that tell whether it has times, and where the first process works.
const HEAD_BYTES: usize = 64 * 1024;

/// The format, for [`hotset_trace::open`].
pub const FORMAT: Format = Format {
    name: "strace",
    summary: "log of strace -f -ttt -y -s 0 (flags: see hotset record)",
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

fn detect(head: &Head) -> Confidence {
    let mut events = 0;
    let fits = head.all_lines(|line| {
        let parsed = line::Line::parse(line);
        events += usize::from(parsed.as_ref().is_ok_and(|line| line.event != line::Event::Aside));
        parsed.is_ok()
    });
    if fits && events > 0 { Confidence::Sure } else { Confidence::No }
}
