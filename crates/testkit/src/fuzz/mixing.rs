//! Bytes taken as a mix of traces, held against a mix that is made of lists.

use std::collections::HashMap;

use hotset_core::request::{FLAG_CONTINUED, Op, Request};
use hotset_trace::formats::{BUILTIN, by_name, open_input};
use hotset_trace::mix::{Mix, MixPart, Order};
use hotset_trace::{Addressing, Batch, Meta, OpenOptions, TraceError, TraceReader};

use super::traces::input;

/// Formats of the parts, by number: with and without times, of bytes and of ids, text and binary.
const FORMATS: [&str; 8] = ["csv", "ids", "msr", "spc", "hst", "disksim", "arc", "oracle-general"];

/// Starts and spans, by number.
const TIMES: [u64; 6] = [0, 1, 1000, 1 << 40, u64::MAX / 2, u64::MAX];

/// Bytes that say how a part is mixed: format, passes, start, span, and how many bytes its trace has.
const HEAD: usize = 6;

/// The part that the bytes describe.
struct Told<'a> {
    format: &'static str,
    loops: u32,
    start: u64,
    span: Option<u64>,
    bytes: &'a [u8],
}

/// Mixes the traces that `bytes` describe. The first byte is order and number of parts, then each has its [`HEAD`],
/// then come the traces.
///
/// # Panics
/// If the mix has other requests than its parts, or another order than that of their turns or times; if it refuses a
/// correct mix, or accepts a wrong one.
pub fn mix(bytes: &[u8]) {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let order = [Order::Request, Order::Time, Order::Page][usize::from(first % 3)];
    let count = 1 + usize::from(first / 3 % 3);
    let Some((heads, mut rest)) = rest.split_at_checked(count * HEAD) else { return };
    let mut told = Vec::new();
    for &[format, loops, start, span, low, high] in heads.as_chunks::<HEAD>().0 {
        let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (bytes, others) = rest.split_at(length);
        rest = others;
        told.push(Told {
            format: FORMATS[usize::from(format) % FORMATS.len()],
            loops: 1 + u32::from(loops % 4),
            start: TIMES[usize::from(start) % TIMES.len()],
            span: TIMES.get(usize::from(span) % (TIMES.len() + 1)).copied(),
            bytes,
        });
    }
    match (mixed(&told, order), expected(&told, order)) {
        (Ok(mixed), Some(expected)) => compare(&mixed, &expected),
        (Err(error), None) => assert!(!error.message.trim().is_empty()),
        (Ok(_), None) => panic!("a mix of what cannot be mixed"),
        (Err(error), Some(_)) => panic!("a mix that is refused: {error}"),
    }
}

fn open(told: &Told<'_>) -> Result<Box<dyn TraceReader>, TraceError> {
    let format = by_name(told.format, BUILTIN).expect("the name of a built-in format");
    Ok(open_input(input(told.bytes)?, Some(format), BUILTIN, &OpenOptions::default())?.reader)
}

fn read_all(reader: &mut dyn TraceReader) -> Result<Vec<Request>, TraceError> {
    let (mut all, mut batch) = (Vec::new(), Batch::new());
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend_from_slice(&batch.requests);
    }
}

/// The requests of the mix.
fn mixed(told: &[Told<'_>], order: Order) -> Result<Vec<Request>, TraceError> {
    let parts = told.iter().map(|told| {
        let (format, bytes) = (told.format, told.bytes.to_vec());
        let again = move || open(&Told { format, bytes: &bytes, loops: 1, start: 0, span: None });
        MixPart {
            name: "part".to_owned(),
            open: Box::new(again),
            loops: told.loops,
            start: told.start,
            span: told.span,
        }
    });
    read_all(&mut Mix::new(parts.collect(), order)?)
}

/// The same from lists, with the file numbers of the parts; `None` if they cannot be mixed.
fn expected(told: &[Told<'_>], order: Order) -> Option<Vec<Request>> {
    let read: Vec<(Meta, Vec<Request>)> = told.iter().map(|told| part(told, order)).collect::<Option<_>>()?;
    let by_id = |meta: &Meta| meta.addressing == Addressing::Objects;
    let is_mixed = read.iter().any(|(meta, _)| by_id(meta) != by_id(&read[0].0));
    if is_mixed || order == Order::Page && by_id(&read[0].0) {
        return None;
    }
    let mut parts: Vec<_> = (0..)
        .zip(read)
        .map(|(app, (meta, requests))| {
            let shift = if by_id(&meta) { app << 56 } else { 0 };
            let own = move |request: Request| Request {
                app: app as u32,
                offset: request.offset.wrapping_add(shift),
                ..request
            };
            let requests = requests.into_iter().map(own);
            match order {
                Order::Page => requests.flat_map(pages).collect::<Vec<_>>().into_iter().peekable(),
                Order::Request | Order::Time => requests.collect::<Vec<_>>().into_iter().peekable(),
            }
        })
        .collect();
    let (mut all, mut turn) = (Vec::new(), 0);
    loop {
        let waiting = (turn..turn + parts.len()).map(|at| at % told.len());
        let waiting: Vec<(usize, u64)> = waiting.filter_map(|at| Some((at, parts[at].peek()?.time))).collect();
        let next = match order {
            Order::Request | Order::Page => waiting.first(),
            Order::Time => waiting.iter().min_by_key(|(_, time)| *time),
        };
        let Some(&(next, _)) = next else { return Some(all) };
        if order == Order::Page {
            for request in parts[next].by_ref() {
                all.push(request);
                if is_page(&request) {
                    break;
                }
            }
            turn = next + 1;
            continue;
        }
        all.extend(parts[next].next());
        while let Some(goes_on) = parts[next].next_if(|request| request.flags & FLAG_CONTINUED != 0) {
            all.push(goes_on);
        }
        if order == Order::Request {
            turn = next + 1;
        }
    }
}

fn is_page(request: &Request) -> bool {
    matches!(request.op(), Op::Read | Op::Write) && request.length > 0
}

/// A request as one for each page that it touches.
fn pages(request: Request) -> Vec<Request> {
    if !is_page(&request) {
        return vec![request];
    }
    let (begin, end) = (request.offset, request.offset + u64::from(request.length));
    let pages = begin / 4096..=(end - 1) / 4096;
    let page = |page: u64| {
        let (from, to) = (begin.max(page * 4096), end.min((page + 1) * 4096));
        Request { offset: from, length: (to - from) as u32, flags: request.flags & !FLAG_CONTINUED, ..request }
    };
    pages.map(page).collect()
}

/// All passes over a part, at the times of the mix; `None` if it cannot be mixed.
fn part(told: &Told<'_>, order: Order) -> Option<(Meta, Vec<Request>)> {
    let mut reader = open(told).ok()?;
    let meta = reader.meta().clone();
    if reader.memory().is_some() || order == Order::Time && !meta.has_time {
        return None;
    }
    let pass = read_all(&mut reader).ok()?;
    let first = pass.first().map_or(0, |request| request.time);
    let length = pass.iter().map(|request| request.time.saturating_sub(first)).max().unwrap_or(0);
    if told.span.is_some() && length == 0 {
        return None;
    }
    let (mut all, mut last) = (Vec::new(), told.start);
    for _ in 0..told.loops {
        let begin = last;
        for &request in &pass {
            let since = u128::from(request.time.saturating_sub(first));
            let since = told.span.map_or(since, |span| since * u128::from(span) / u128::from(length));
            last = last.max(u64::try_from(u128::from(begin) + since).unwrap_or(u64::MAX));
            let time = if order == Order::Time { last } else { 0 };
            all.push(Request { time, ..request });
        }
    }
    Some((meta, all))
}

/// The same requests except for the numbers of files, which differ by part.
fn compare(mixed: &[Request], expected: &[Request]) {
    assert_eq!(mixed.len(), expected.len(), "requests of the mix, expected as many as the parts have");
    let (mut numbers, mut owners) = (HashMap::new(), HashMap::new());
    for (at, (mixed, expected)) in mixed.iter().zip(expected).enumerate() {
        let own = (expected.app, expected.file);
        assert_eq!(*numbers.entry(own).or_insert(mixed.file), mixed.file, "request {at}: another file");
        assert_eq!(*owners.entry(mixed.file).or_insert(own), own, "request {at}: two parts share a file");
        assert_eq!(Request { file: expected.file, ..*mixed }, *expected, "request {at}");
    }
}
