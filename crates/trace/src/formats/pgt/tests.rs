//! `pgt` traces written by hand, and native traces of memory.

use std::{io::Cursor, path::Path};

use crate::{
    Batch, OpenOptions, Trace, TraceError,
    formats::{BUILTIN, open_input},
    input::Input,
    memory::{MOST_PAGES, MemoryBatch, MemoryMeta, ObjectEvent, ObjectOp, PageRun},
    native::{
        Header, MemoryWriter,
        bytes::{put_varint, zigzag},
        reseal,
    },
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

/// A trace with everything: long runs, writes, events of all kinds.
fn pieces() -> Vec<MemoryBatch> {
    let event = |at, op, address| ObjectEvent { at, op, address, bytes: 5000, caller: format!("caller {at}") };
    let run = |n: u64| PageRun {
        page: n * n % 5003 + (n / 1000) * (1 << 40),
        references: n % 9 + 1,
        writes: n % 3 % (n % 9 + 1),
    };
    let first = MemoryBatch {
        runs: (0..100_000).map(run).collect(),
        events: vec![
            event(0, ObjectOp::Global, 4096),
            event(7, ObjectOp::Allocate, u64::MAX),
            event(7, ObjectOp::Free, 0),
        ],
        instructions: 1 << 33,
    };
    let second = MemoryBatch {
        runs: vec![PageRun { page: MOST_PAGES - 1, references: 1 << 50, writes: 1 << 50 }],
        events: vec![event(1 << 60, ObjectOp::Allocate, 1)],
        instructions: 1 << 34,
    };
    vec![first, second]
}

fn native(pieces: &[MemoryBatch]) -> Vec<u8> {
    let mut out = Vec::new();
    let header = Header::of_memory(&MemoryMeta { page_bytes: 4096, has_writes: true });
    let mut writer = MemoryWriter::new(&mut out, Path::new("t"), &header).unwrap();
    pieces.iter().for_each(|piece| writer.push(piece).unwrap());
    writer.finish().unwrap();
    out
}

/// All runs, all events and the instructions of a native trace, and what its reader has to say.
fn whole(bytes: &[u8], skip_bad: bool) -> Result<(MemoryBatch, Vec<String>), String> {
    let mut trace = opened(bytes, skip_bad).map_err(|error| error.to_string())?;
    let (mut batch, mut whole) = (MemoryBatch::default(), MemoryBatch::default());
    loop {
        let memory = trace.reader.memory().ok_or("the header does not say that it is a trace of memory")?;
        memory.read_memory(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok((whole, trace.reader.remarks()));
        }
        whole.runs.append(&mut batch.runs);
        whole.events.append(&mut batch.events);
        whole.instructions = batch.instructions;
    }
}

#[test]
fn native_traces_of_memory_give_back_what_was_written() {
    let pieces = pieces();
    let bytes = native(&pieces);
    let (found, remarks) = whole(&bytes, false).unwrap();
    assert_eq!((found.runs.len(), remarks.len()), (100_001, 0));
    assert!(found.runs.iter().eq(pieces.iter().flat_map(|piece| &piece.runs)));
    assert!(found.events.iter().eq(pieces.iter().flat_map(|piece| &piece.events)));
    assert_eq!(found.instructions, 1 << 34);
    assert_eq!(whole(&native(&[]), false).unwrap().0, MemoryBatch::default());
}

#[test]
fn an_interrupted_trace_of_memory_gives_its_whole_blocks() {
    let bytes = native(&pieces());
    let (found, remarks) = whole(&bytes[..bytes.len() * 2 / 3], false).unwrap();
    assert_eq!(found.runs.len(), 65_536);
    assert!(remarks[0].starts_with("The recording was interrupted: 65536 "), "{remarks:?}");
}

/// Every byte of a small trace set to other values, with checksums that fit: never a panic, and skipping never fails.
#[test]
fn hostile_traces_of_memory_are_refused_in_a_sentence() {
    let small = MemoryBatch { runs: vec![PageRun { page: 9, references: 2, writes: 1 }], ..pieces()[1].clone() };
    let sound = native(&[small.clone(), small]);
    let mut refused = 0;
    for at in 0..sound.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] = value;
            reseal(&mut bytes);
            refused += usize::from(
                whole(&bytes, false).is_err_and(|message| message.contains("expected") || message.len() > 20),
            );
            let _ = whole(&bytes, true);
        }
    }
    assert!(refused > 100, "{refused}");
}
