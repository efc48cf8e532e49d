//! Generated traces against public ones that were made by the same rule, and through the native format.

use std::{io::Cursor, path::Path};

use hotset_testkit::inputs::trace_path;
use hotset_trace::{Batch, OpenOptions, TraceReader, formats::BUILTIN, generate, native, open};

/// The blocks of a trace, numbered by `unit` bytes.
fn blocks(reader: &mut dyn TraceReader, unit: u64) -> Vec<u64> {
    let mut all = Vec::new();
    let mut batch = Batch::new();
    loop {
        reader.read(&mut batch).unwrap_or_else(|error| panic!("{error}"));
        if batch.is_empty() {
            return all;
        }
        all.extend(batch.requests.iter().map(|request| request.offset / unit));
    }
}

/// The synthetic traces of the LIRS paper are loops and zigzags.
#[test]
fn loops_and_zigzags_are_those_of_the_lirs_paper() {
    let same = [
        ("loop", "loop", ["objects=1011", "laps=500"]),
        ("scan", "loop", ["objects=2001", "laps=25"]),
        ("zigzag", "zigzag", ["objects=2001", "sweeps=26"]),
    ];
    for (name, kind, arguments) in same {
        let Some(path) = trace_path(&format!("public/lirs/{name}.trace.gz")) else { return };
        let mut public = open(&path, BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let mut made = generate::start(kind, &arguments).unwrap();
        assert!(blocks(&mut *public.reader, 1) == blocks(&mut *made, u64::from(generate::BLOCK_BYTES)), "{name}");
    }
}

#[test]
fn a_generated_trace_can_be_written_and_read() {
    for kind in ["mixed", "render", "program"] {
        let make = || generate::start(kind, &["seed=9"]).unwrap();
        let header = native::Header::new(make().meta()).with("command", kind);
        let mut bytes = Vec::new();
        let writer = native::Writer::new(&mut bytes, Path::new("made.hst"), &header).unwrap();
        let mut made = make();
        let stats = writer.copy(&mut *made).unwrap();
        let mut reader = native::Reader::seekable(Cursor::new(bytes), Path::new("made.hst")).unwrap();
        assert_eq!(reader.stats(), Some(&stats));
        let unit = u64::from(generate::BLOCK_BYTES);
        assert!(blocks(&mut reader, unit) == blocks(&mut *make(), unit), "{kind}");
        assert_eq!(reader.tables(), made.tables());
    }
}
