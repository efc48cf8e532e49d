//! Properties of every format on any bytes.

use std::{io::Cursor, path::Path};

use hotset_core::request::{Kind, Op};
use hotset_trace::{
    Batch, Format, OpenOptions, Tables, Trace, TraceError,
    batch::BATCH_REQUESTS,
    formats::{BUILTIN, by_name, hst, open_input},
    input::Input,
    native,
};

/// The most requests that one line may give: the parts of the longest request, or the ids of the longest line.
const LONGEST_RUN: usize = hotset_trace::runner::lines::LONGEST_LINE / 2;

/// [`parse`] in the built-in format with this name.
///
/// # Panics
/// If the format does not exist, or violates a property.
pub fn parse_any(format: &str, bytes: &[u8]) {
    parse(by_name(format, BUILTIN).expect("the name of a built-in format"), bytes);
}

/// [`parse`] of the text after the first line in the format that the line names; nothing if that format does not exist.
///
/// # Panics
/// If the format violates a property.
pub fn parse_named<'a>(formats: impl IntoIterator<Item = &'a Format>, bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return };
    if let Some(format) = formats.into_iter().find(|format| format.name.as_bytes() == &bytes[..end]) {
        parse(format, &bytes[end + 1..]);
    }
}

/// [`parse`] as a native trace, once as it is, and once with checksums that fit, so that what lies behind them is
/// reached.
///
/// # Panics
/// If the format breaks its word.
pub fn hst(bytes: &[u8]) {
    parse(&hst::FORMAT, bytes);
    let mut sealed = bytes.to_vec();
    native::reseal(&mut sealed);
    parse(&hst::FORMAT, &sealed);
}

/// Reads `bytes` in `format`, once with malformed records as errors and once skipping them.
///
/// # Panics
/// If the format breaks its word: reading ends, requests are valid, their names known unless skipped, skipping never
/// fails.
pub fn parse(format: &Format, bytes: &[u8]) {
    let strict = read(format, bytes, false);
    let skipping = read(format, bytes, true);
    match (strict, skipping) {
        (Ok(Outcome { requests, skipped }), skipping) => {
            assert_eq!(skipped, 0, "a reader that does not skip has skipped");
            let skipping = skipping.expect("a readable trace can be read while skipping");
            assert_eq!((skipping.requests, skipping.skipped), (requests, 0), "skipping changes a sound trace");
        }
        (Err(_), Ok(skipping)) => assert!(skipping.skipped > 0, "a record is malformed, but nothing was skipped"),
        (Err(strict), Err(skipping)) => assert!(!strict.message.is_empty() && !skipping.message.is_empty()),
    }
}

/// Reads `bytes` in whatever format is recognised, if any.
///
/// # Panics
/// If reading does not end or gives invalid requests.
pub fn detect_and_parse(bytes: &[u8]) {
    let options = OpenOptions { skip_bad: true, ..OpenOptions::default() };
    if let Ok(trace) = input(bytes).and_then(|input| open_input(input, None, BUILTIN, &options)) {
        read_to_end(trace, bytes.len()).expect("skipping never fails once a trace is open");
    }
}

struct Outcome {
    requests: usize,
    skipped: u64,
}

/// Opening may fail whatever the mode; reading may not when it skips.
fn read(format: &Format, bytes: &[u8], skip_bad: bool) -> Result<Outcome, TraceError> {
    let options = OpenOptions { skip_bad, ..OpenOptions::default() };
    let trace = open_input(input(bytes)?, Some(format), BUILTIN, &options)?;
    let outcome = read_to_end(trace, bytes.len());
    assert!(!skip_bad || outcome.is_ok(), "skipping has failed");
    outcome
}

pub(super) fn input(bytes: &[u8]) -> Result<Input, TraceError> {
    Input::from_reader(Path::new("fuzz:input"), Cursor::new(bytes.to_vec()), None)
}

fn read_to_end(mut trace: Trace, bytes: usize) -> Result<Outcome, TraceError> {
    // Packed bytes may hold a thousand times as many: only reading on and on would be wrong.
    let most_reads = 1000 + bytes * 2000;
    let mut batch = Batch::new();
    let mut requests = 0;
    for _ in 0..most_reads {
        trace.reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(Outcome { requests, skipped: trace.reader.skipped() });
        }
        check(&batch);
        // The skipped section may have been a table of names.
        if trace.reader.skipped() == 0 {
            check_names(&batch, trace.reader.tables());
        }
        requests += batch.len();
    }
    panic!("reading does not end");
}

fn check(batch: &Batch) {
    assert!(batch.len() <= BATCH_REQUESTS + LONGEST_RUN, "a batch of {} requests", batch.len());
    assert!(batch.file_sizes.is_empty() || batch.file_sizes.len() == batch.len(), "columns of unequal length");
    for request in &batch.requests {
        assert!(Op::from_number(request.op).is_some() && Kind::from_number(request.kind).is_some(), "{request:?}");
    }
}

fn check_names(batch: &Batch, tables: &Tables) {
    let (files, apps) = (tables.files.len().max(1), tables.apps.len().max(1));
    for request in &batch.requests {
        assert!((request.file as usize) < files && (request.app as usize) < apps, "{request:?}");
    }
}
