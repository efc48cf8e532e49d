//! Saved logs of real programs against an independent conversion of the same logs, row by row. Every difference belongs
//! to a class that `docs/reference/strace.md` explains; the size of each class is asserted.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use hotset_capture::strace::{StraceOptions, StraceReader};
use hotset_core::request::{Kind, Op, Request};
use hotset_testkit::inputs::trace_path;
use hotset_trace::{Batch, Tables, TraceReader, batch::UNKNOWN_SIZE, input::Input};

/// A row of the conversion: `time_s,pid,op,file,offset,bytes,filesize,kind`.
struct Row {
    op: Op,
    path: String,
    offset: Option<u64>,
    /// −1 if the call failed.
    bytes: i64,
    size: Option<u64>,
}

type Classes = BTreeMap<String, u64>;

fn text(path: &Path) -> String {
    let mut input = Input::open(path).unwrap();
    while input.more().unwrap() {}
    String::from_utf8(input.data().to_vec()).unwrap()
}

fn conversion(folder: &Path, name: &str) -> Vec<Row> {
    let names = text(&folder.join(format!("converted/{name}.files.csv")));
    let path_of = |line: &str| line.splitn(4, ',').nth(3).unwrap().trim_matches('"').to_owned();
    let paths: Vec<String> = names.lines().skip(1).map(path_of).collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        Row {
            op: Op::from_letter(fields[2].as_bytes()[0]).unwrap(),
            path: paths[fields[3].parse::<usize>().unwrap()].clone(),
            offset: fields[4].parse().ok(),
            bytes: fields[5].parse().unwrap(),
            size: fields[6].parse().ok(),
        }
    };
    text(&folder.join(format!("converted/{name}.csv.zst"))).lines().skip(1).map(row).collect()
}

/// A request with the file's size at that moment.
type Reference = (Request, Option<u64>);

fn import(folder: &Path, name: &str) -> (Vec<Reference>, Tables) {
    let input = Input::open(&folder.join(format!("strace/{name}.strace.zst"))).unwrap();
    let mut reader = StraceReader::new(input, StraceOptions::default()).unwrap();
    let mut batch = Batch::new();
    let mut all = Vec::new();
    loop {
        reader.read(&mut batch).unwrap();
        if batch.is_empty() {
            assert_eq!(reader.skipped(), 0);
            let remarks = reader.remarks().join("\n");
            for doubt in ["turned out", "could have had several", "began before the log;", "unknown origin"] {
                assert!(!remarks.contains(doubt), "{name}: {remarks}");
            }
            return (all, reader.tables().clone());
        }
        let sizes = batch.file_sizes.iter().map(|size| Some(*size).filter(|size| *size != UNKNOWN_SIZE));
        all.extend(batch.requests.iter().copied().zip(sizes.chain(std::iter::repeat(None))));
    }
}

/// Compares in order. What one side has alone must belong to a class that says why.
fn differences(rows: &[Row], references: &[Reference], tables: &Tables) -> Classes {
    let renamed: HashSet<u32> =
        references.iter().filter(|(request, _)| request.op() == Op::Rename).map(|(request, _)| request.file).collect();
    let mut classes = Classes::new();
    let mut rows = rows.iter().peekable();
    let mut before = Request::default();
    for (request, size) in references {
        while rows.next_if(|row| is_memory(&row.path)).is_some() {
            note(&mut classes, "only there: memory, /proc, /sys");
        }
        let path = &tables.files[request.file as usize].path;
        let same = rows.peek().and_then(|row| {
            let name = same_file(&row.path, path, renamed.contains(&request.file))?;
            (row.op == request.op() && same_place(row, request, *size)).then_some(name)
        });
        match same {
            Some(name) => compare(rows.next().unwrap(), request, *size, name, &mut classes),
            None => note(&mut classes, &only_here(request, &before, tables)),
        }
        before = *request;
    }
    for row in rows {
        note(
            &mut classes,
            if is_memory(&row.path) { "only there: memory, /proc, /sys" } else { "only there: unexplained" },
        );
    }
    classes
}

fn note(classes: &mut Classes, class: &str) {
    *classes.entry(class.to_owned()).or_default() += 1;
}

fn is_memory(path: &str) -> bool {
    ["/dev", "/proc", "/sys"]
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Why a reference's file has another name in the conversion; `None` if it cannot be the same file.
fn same_file(there: &str, here: &str, renamed: bool) -> Option<&'static str> {
    // Working directories were shortened in the logs, and in the conversion otherwise.
    const SHORTENED: [&str; 2] = ["/home/user/home/user/src", "/"];
    const DIRECTORY: &str = "work";
    let rest = |prefix: &str| there.strip_prefix(prefix)?.strip_prefix('/');
    let tail = |prefix: &str| rest(prefix).is_some_and(|rest| here == format!("/home/user/{DIRECTORY}/{rest}"));
    const LINKS: [(&str, &str); 1] = [("/etc/localtime", "/usr/share/zoneinfo/Etc/UTC")];
    match there {
        _ if there == here => Some(""),
        _ if SHORTENED.into_iter().any(tail) => Some("path: directory shortened otherwise"),
        _ if renamed => Some("path: name before renaming"),
        _ if LINKS.contains(&(there, here)) => Some("path: name of the link"),
        _ => None,
    }
}

/// True if both reference the same bytes, as far as both tell.
fn same_place(row: &Row, request: &Request, size: Option<u64>) -> bool {
    let failed = request.failed() == (row.bytes == -1);
    let length = i64::from(request.length);
    match request.op() {
        Op::Map => failed && row.offset == Some(request.offset) && (length == row.bytes || is_cut(request, size)),
        Op::Read => failed && row.offset == Some(request.offset) && row.bytes == length,
        Op::Write | Op::List => failed && row.bytes == length,
        _ => failed,
    }
}

/// True if the range ends where the file ends.
fn is_cut(request: &Request, size: Option<u64>) -> bool {
    size == Some(request.offset + u64::from(request.length))
}

/// Notes what differs between the two tellings of one reference.
fn compare(row: &Row, request: &Request, size: Option<u64>, name: &str, classes: &mut Classes) {
    let bytes = row.bytes.max(0) as u64;
    let length = u64::from(request.length);
    let mut found = vec![name];
    if row.offset.is_some_and(|offset| offset != request.offset) {
        found.push(match request.op() {
            Op::List => "offset: bytes here, calls there",
            Op::Write => "offset: position shared between processes",
            _ => "offset: unexplained",
        });
    }
    if bytes != length {
        found.push(match request.op() {
            Op::Map if is_cut(request, size) && length < bytes => "bytes: map cut at the file's end",
            Op::Exec if bytes == 0 => "bytes: size of the program",
            Op::Sync if bytes == 0 => "bytes: range that is flushed",
            _ => "bytes: unexplained",
        });
    }
    if row.size != size {
        found.push(match (row.size, size) {
            (None, _) => "size: known here only",
            (_, None) => "size: known there only",
            (Some(there), Some(here)) if there < here => "size: larger here",
            _ => "size: smaller here",
        });
    }
    found.retain(|class| !class.is_empty());
    if found.is_empty() {
        note(classes, "equal");
    }
    found.iter().for_each(|class| note(classes, class));
    note(classes, "references in both");
}

/// Why the conversion lacks a reference.
fn only_here(request: &Request, before: &Request, tables: &Tables) -> String {
    let file = &tables.files[request.file as usize];
    let opened = before.op() == Op::Open && (before.file, before.time) == (request.file, request.time);
    let class = match request.op() {
        Op::Truncate if opened => "cut by O_TRUNC",
        Op::Unlink | Op::Truncate | Op::Rename if request.failed() => "failed unlink, truncate, rename",
        Op::Unlink if file.kind == Kind::Directory => "rmdir",
        Op::Unlink => "replaced by rename",
        Op::Map => "mmap told on two lines",
        Op::Stat if file.path.contains("socket") => "access to a socket's name",
        _ => return format!("only here: unexplained {} {}", request.op().letter(), file.path),
    };
    format!("only here: {class}")
}

/// The counts of each class, as lines.
fn check(name: &str, expected: &str) {
    let Some(folder) = trace_path("own") else { return };
    let (references, tables) = import(&folder, name);
    let classes = differences(&conversion(&folder, name), &references, &tables);
    let found: Vec<String> = classes.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found, expected, "{name}:\n{}", found.join("\n"));
}

#[test]
fn blender() {
    check(
        "blender_apothecary",
        "1123 bytes: map cut at the file's end
        4 bytes: size of the program
        107542 equal
        68 offset: bytes here, calls there
        1 offset: position shared between processes
        10 only here: cut by O_TRUNC
        8 only here: rmdir
        3 path: directory shortened otherwise
        6 path: name of the link
        108819 references in both
        3 size: known there only
        70 size: larger here",
    );
}

#[test]
fn postgres() {
    check(
        "pg_pgbench",
        "62 bytes: map cut at the file's end
        7973 bytes: range that is flushed
        24355 equal
        18 offset: bytes here, calls there
        6 only here: cut by O_TRUNC
        29 only here: failed unlink, truncate, rename
        2 only here: replaced by rename
        16163 path: name before renaming
        62724 references in both
        39 size: known here only
        2 size: known there only
        16978 size: larger here",
    );
}

#[test]
fn ior() {
    check(
        "ior_mix",
        "1237 bytes: map cut at the file's end
        4 bytes: size of the program
        30653 equal
        176 offset: bytes here, calls there
        51 offset: position shared between processes
        4 only here: access to a socket's name
        4 only here: cut by O_TRUNC
        8 only here: failed unlink, truncate, rename
        4625 only here: mmap told on two lines
        44 only here: rmdir
        200 only there: memory, /proc, /sys
        961 path: directory shortened otherwise
        33086 references in both
        4 size: known there only
        51 size: larger here",
    );
}

#[test]
fn lu() {
    check(
        "lu_ooc",
        "20 bytes: map cut at the file's end
        15865 equal
        17 offset: bytes here, calls there
        2 path: directory shortened otherwise
        15904 references in both",
    );
}
