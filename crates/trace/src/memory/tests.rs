//! `pgt` traces written by hand.

use std::{io::Cursor, path::Path};

use super::{MemoryBatch, PageRun};
use crate::{
    Batch, OpenOptions, Trace, TraceError,
    formats::{BUILTIN, open_input},
    input::Input,
    native::bytes::{put_varint, zigzag},
};

fn pgt(runs: &[(u64, u64, u64)]) -> Vec<u8> {
    let (mut out, mut before) = (Vec::new(), 0);
    for &(page, references, writes) in runs {
        put_varint(&mut out, zigzag(u64::wrapping_sub(page, before)));
        put_varint(&mut out, references * 2 + u64::from(writes > 0));
        if writes > 0 {
            put_varint(&mut out, writes);
        }
        before = page;
    }
    out
}

fn opened(bytes: &[u8], skip_bad: bool) -> Result<Trace, TraceError> {
    let input = Input::from_reader(Path::new("t.pgt"), Cursor::new(bytes.to_vec()), None)?;
    open_input(input, None, BUILTIN, &OpenOptions { skip_bad, ..OpenOptions::default() })
}

fn runs(bytes: &[u8], skip_bad: bool) -> Result<Vec<PageRun>, String> {
    let mut trace = opened(bytes, skip_bad).map_err(|error| error.to_string())?;
    let mut batch = MemoryBatch::default();
    let mut runs = Vec::new();
    loop {
        let memory = trace.reader.memory().expect("a pgt trace is one of memory");
        memory.read_memory(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok(runs);
        }
        runs.extend_from_slice(&batch.runs);
    }
}

const SAMPLE: [(u64, u64, u64); 4] = [(0x7f00_0000, 3, 1), (5, 1, 0), (6, 1 << 40, 1 << 40), ((1 << 52) - 1, 1, 0)];

#[test]
fn runs_are_read_as_they_were_written() {
    let sample = SAMPLE.map(|(page, references, writes)| PageRun { page, references, writes });
    assert_eq!(runs(&pgt(&SAMPLE), false).unwrap(), sample);
    let long: Vec<_> = (0..50_000).map(|n| (n % 977, n % 5 + 1, n % 2)).collect();
    assert_eq!(runs(&pgt(&long), false).unwrap().len(), long.len());
}

#[test]
fn other_commands_see_a_request_a_run() {
    let mut trace = opened(&pgt(&SAMPLE), false).unwrap();
    let mut batch = Batch::new();
    trace.reader.read(&mut batch).unwrap();
    let seen: Vec<_> =
        batch.requests.iter().map(|request| (request.offset >> 12, request.length, request.op)).collect();
    assert_eq!(seen, [(0x7f00_0000, 4096, 1), (5, 4096, 0), (6, 4096, 1), ((1 << 52) - 1, 4096, 0)]);
    trace.reader.read(&mut batch).unwrap();
    assert!(batch.is_empty());
}

#[test]
fn malformed_records_are_named_by_their_byte_and_can_be_skipped() {
    let sound = pgt(&SAMPLE[1..3]);
    for (bad, what) in [
        (&[2, 0][..], "t.pgt, byte 15: found 0 references to page 7"),
        (&[2, 3, 2], "t.pgt, byte 15: found 1 references to page 7, 2 of them writes"),
        (&[2, 3, 0], "t.pgt, byte 15: found 1 references to page 7, 0 of them writes"),
        (&[15, 2], "t.pgt, byte 15: found page 18446744073709551614; expected one below 2^52"),
        (&[0x80], "t.pgt, byte 15: found a number that does not end"),
        (&[0xff; 40], "t.pgt, byte 15: found a number that does not end"),
    ] {
        let bytes = [&sound, bad].concat();
        assert!(sound.len() == 15);
        let refused = runs(&bytes, false).unwrap_err();
        assert!(refused.starts_with(what), "{refused}");
        assert!(runs(&bytes, true).unwrap().len() >= 2);
    }
}
