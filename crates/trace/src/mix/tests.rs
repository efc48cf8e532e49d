use std::collections::HashMap;

use hotset_core::request::Op;

use super::*;
use crate::Held;

const META: Meta =
    Meta { format: "test", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

/// A part that reads at these times, its n-th block at the n-th.
fn part(name: &str, times: &[u64]) -> MixPart {
    with_meta(name, times, META)
}

fn with_meta(name: &str, times: &[u64], meta: Meta) -> MixPart {
    let requests: Vec<Request> = (0..)
        .zip(times)
        .map(|(number, &time)| Request { time, offset: number * 4096, length: 4096, ..Request::default() })
        .collect();
    let open = move || {
        let file = FileInfo { path: "data".to_owned(), ..FileInfo::default() };
        let tables = Tables { files: vec![file], apps: vec!["inner".to_owned()] };
        Ok(Box::new(Held::new(meta.clone(), tables, requests.clone())) as Box<dyn TraceReader>)
    };
    MixPart { name: name.to_owned(), open: Box::new(open), loops: 1, start: 0, span: None }
}

/// Application, block and time of all requests.
fn all(parts: Vec<MixPart>, order: Order) -> Vec<(u32, u64, u64)> {
    let mut mix = Mix::new(parts, order).unwrap();
    let mut batch = Batch::new();
    let mut seen = Vec::new();
    let mut owners = HashMap::new();
    loop {
        mix.read(&mut batch).unwrap();
        if batch.is_empty() {
            return seen;
        }
        assert!(batch.len() <= BATCH_REQUESTS, "a batch is bounded whatever goes on");
        for request in &batch.requests {
            let of_file = owners.entry(request.file).or_insert(request.app);
            assert_eq!(*of_file, request.app, "parts have files of their own");
            assert_eq!(request.op(), Op::Read);
            seen.push((request.app, request.offset / 4096, request.time));
        }
    }
}

#[test]
fn in_lockstep_everybody_has_a_turn() {
    let parts = vec![part("a", &[5, 6, 7]), part("b", &[0]), part("c", &[9, 9])];
    assert_eq!(all(parts, Order::Request), [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0), (2, 1, 0), (0, 2, 0)]);
}

#[test]
fn by_time_each_begins_at_its_own_first_request() {
    let late = MixPart { start: 3, ..part("b", &[100, 104]) };
    let parts = vec![part("a", &[10, 13, 16]), late];
    assert_eq!(all(parts, Order::Time), [(0, 0, 0), (0, 1, 3), (1, 0, 3), (0, 2, 6), (1, 1, 7)]);
}

#[test]
fn passes_follow_one_another() {
    let twice = MixPart { loops: 2, ..part("a", &[10, 14]) };
    assert_eq!(all(vec![twice], Order::Time), [(0, 0, 0), (0, 1, 4), (0, 0, 4), (0, 1, 8)]);
    let empty = MixPart { loops: 1000, ..part("a", &[]) };
    assert_eq!(all(vec![empty, part("b", &[1])], Order::Request), [(1, 0, 0)]);
}

#[test]
fn times_are_stretched() {
    let slow = MixPart { span: Some(100), ..part("a", &[10, 15, 20]) };
    assert_eq!(all(vec![slow], Order::Time), [(0, 0, 0), (0, 1, 50), (0, 2, 100)]);
    let at_once = MixPart { span: Some(100), ..part("a", &[7, 7]) };
    let refused = Mix::new(vec![at_once], Order::Time).err().unwrap().to_string();
    assert_eq!(refused, "a: all its requests have one time, so it cannot be stretched");
}

/// The part with these of its requests going on with the one before.
fn continued(part: MixPart, which: std::ops::Range<usize>) -> MixPart {
    let mut inner = part.open;
    let open: Opener = Box::new(move || {
        let mut reader = inner()?;
        let (mut batch, mut requests) = (Batch::new(), Vec::new());
        loop {
            reader.read(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            requests.extend_from_slice(&batch.requests);
        }
        requests[which.clone()].iter_mut().for_each(|request| request.flags |= FLAG_CONTINUED);
        let (meta, tables) = (reader.meta().clone(), reader.tables().clone());
        Ok(Box::new(Held::new(meta, tables, requests)) as Box<dyn TraceReader>)
    });
    MixPart { open, ..part }
}

#[test]
fn a_long_request_stays_whole() {
    let order = |parts| all(parts, Order::Request).iter().map(|seen| (seen.0, seen.1)).collect::<Vec<_>>();
    let long = continued(part("a", &[1, 1, 2]), 1..2);
    assert_eq!(order(vec![long, part("b", &[1, 1])]), [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1)]);
    // It may take several batches.
    let pieces = 3 * BATCH_REQUESTS as u64 + 7;
    let longer = continued(part("a", &vec![1; pieces as usize]), 1..pieces as usize);
    let expected: Vec<(u32, u64)> = (0..pieces).map(|piece| (0, piece)).chain([(1, 0), (1, 1)]).collect();
    assert_eq!(order(vec![longer, part("b", &[1, 1])]), expected);
}

/// The part with these requests instead: operation, offset and length.
fn requests(name: &str, requests: &[(Op, u64, u32)]) -> MixPart {
    let request =
        |&(op, offset, length): &(Op, u64, u32)| Request { offset, length, op: op as u8, ..Request::default() };
    let requests: Vec<Request> = requests.iter().map(request).collect();
    let open = move || {
        let tables = Tables { files: vec![FileInfo::default()], apps: Vec::new() };
        Ok(Box::new(Held::new(META, tables, requests.clone())) as Box<dyn TraceReader>)
    };
    MixPart { open: Box::new(open), ..part(name, &[]) }
}

#[test]
fn by_page_a_turn_is_a_reference_to_a_page() {
    let one = requests("a", &[(Op::Open, 0, 0), (Op::Read, 4000, 5000), (Op::Stat, 0, 0), (Op::Write, 8192, 4096)]);
    let other = requests("b", &[(Op::Read, 0, 4096), (Op::Map, 0, 1 << 20), (Op::Read, 0, 0), (Op::Read, 1, 2)]);
    let mut mix = Mix::new(vec![one, other], Order::Page).unwrap();
    let mut batch = Batch::new();
    mix.read(&mut batch).unwrap();
    let seen: Vec<_> = batch.requests.iter().map(|one| (one.app, one.op(), one.offset, one.length)).collect();
    let expected = [
        (0, Op::Open, 0, 0),
        (0, Op::Read, 4000, 96),
        (1, Op::Read, 0, 4096),
        (0, Op::Read, 4096, 4096),
        (1, Op::Map, 0, 1 << 20),
        (1, Op::Read, 0, 0),
        (1, Op::Read, 1, 2),
        (0, Op::Read, 8192, 808),
        (0, Op::Stat, 0, 0),
        (0, Op::Write, 8192, 4096),
    ];
    assert_eq!(seen, expected);
}

/// A request of many pages leaves its turn to others after each page, across batches too.
#[test]
fn by_page_a_long_request_is_cut() {
    let pages = 3 * BATCH_REQUESTS as u32 + 5;
    let cut = |flags: u16| {
        let mut inner = requests("a", &[(Op::Read, 0, 4096 * (pages / 2)), (Op::Read, 0, 4096 * (pages - pages / 2))]);
        if flags != 0 {
            inner = continued(inner, 1..2);
        }
        all(vec![inner, part("b", &[1, 1])], Order::Page).iter().map(|seen| seen.0).collect::<Vec<_>>()
    };
    let expected: Vec<u32> = [0, 1, 0, 1].into_iter().chain(vec![0; pages as usize - 2]).collect();
    assert_eq!(cut(0), expected);
    assert_eq!(cut(FLAG_CONTINUED), expected);
}

#[test]
fn unlike_parts_are_refused() {
    let timeless = || with_meta("b", &[0], Meta { has_time: false, ..META });
    let refused = |order, other| Mix::new(vec![part("a", &[1]), other], order).err().unwrap().to_string();
    assert!(refused(Order::Time, timeless()).starts_with("b: its requests have no times"));
    assert!(Mix::new(vec![part("a", &[1]), timeless()], Order::Request).is_ok());
    let of_objects = || with_meta("b", &[0], Meta { addressing: Addressing::Objects, ..META });
    assert_eq!(
        refused(Order::Page, of_objects()),
        "b: it is addressed by object, and objects have no pages; mix by request or by time"
    );
    assert_eq!(
        refused(Order::Request, of_objects()),
        "b: it is addressed by object, expected by byte as the first part"
    );
}
