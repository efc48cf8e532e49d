//! `hst`, the project's own format, as one of the formats.

use std::io::{self, Read};

use crate::{
    Format, OpenOptions, TraceError, TraceReader,
    formats::{Confidence, Head},
    input::Input,
    native::{MAGIC, NAME, Reader},
    runner::memory::Requests,
};

/// The native format.
pub const FORMAT: Format = Format {
    name: NAME,
    summary: "hotset's own: every field, compressed, checked, seekable (docs/reference/format-hst.md)",
    example: "binary: \\x89hst, then sections of up to 65,536 requests",
    sample: include_bytes!("../native/golden/small-1.0.hst"),
    detect,
    open,
};

fn detect(head: &Head) -> Confidence {
    if head.bytes.starts_with(&MAGIC) { Confidence::Sure } else { Confidence::No }
}

fn open(input: Input, options: &OpenOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    let path = input.path().to_owned();
    let reader = Reader::new(InputBytes(input), &path)?.skip_bad(options.skip_bad);
    Ok(if reader.header().is_memory { Box::new(Requests::new(FORMAT.name, reader)) } else { Box::new(reader) })
}

/// The bytes of an input as a stream.
struct InputBytes(Input);

impl Read for InputBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.data().is_empty() {
            self.0.more().map_err(io::Error::other)?;
        }
        let count = self.0.data().len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.0.data()[..count]);
        self.0.consume(count);
        Ok(count)
    }
}
