//! Round trips, interruptions, damage and hostile files.

use std::io::{Cursor, Read};
use std::path::Path;

use hotset_core::random::Rng;
use hotset_core::request::{Kind, Op, Request};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{
    BLOCK_REQUESTS, Header, Reader, Stats, Writer, index, prelude, reseal,
    section::{self, Packer, Type},
};
use crate::{Addressing, Batch, FileInfo, Meta, Tables, TraceError, TraceReader, batch::UNKNOWN_SIZE};

const BYTES: Meta =
    Meta { format: "hst", addressing: Addressing::Bytes { unit: None }, has_time: true, has_ops: true, sample: None };

/// A sink that stays with the test.
#[derive(Clone, Default)]
struct Sink(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Sink {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl std::io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn writer(meta: &Meta) -> (Sink, Writer<Sink>) {
    let sink = Sink::default();
    let header =
        Header { meta: meta.clone(), is_memory: false, metadata: vec![("tool".to_owned(), "test".to_owned())] };
    (sink.clone(), Writer::new(sink, Path::new("t.hst"), &header).unwrap())
}

/// Everything that a trace gives.
#[derive(Clone, Debug, Default, PartialEq)]
struct Content {
    requests: Vec<Request>,
    sizes: Vec<u64>,
    ttls: Vec<u64>,
    tables: Tables,
}

fn drain(reader: &mut dyn TraceReader) -> Result<Content, TraceError> {
    let mut content = Content::default();
    let mut batch = Batch::new();
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            content.tables = reader.tables().clone();
            return Ok(content);
        }
        let size = |index| batch.file_sizes.get(index).copied().unwrap_or(UNKNOWN_SIZE);
        content.sizes.extend((0..batch.len()).map(size));
        content.ttls.extend((0..batch.len()).map(|index| batch.ttl(index)).filter(|&ttl| ttl > 0));
        content.requests.append(&mut batch.requests);
    }
}

/// Reads as from a pipe. Gives the content, the remarks and the count of what was skipped.
fn read(bytes: &[u8], skip: bool) -> Result<(Content, Vec<String>, u64), TraceError> {
    let mut reader = Reader::new(bytes, Path::new("t.hst"))?.skip_bad(skip);
    let content = drain(&mut reader)?;
    Ok((content, reader.remarks(), reader.skipped()))
}

/// Three blocks, tables that grow and change, sizes in the second block only. Small, so that every byte can be damaged.
fn sample() -> (Vec<u8>, Content, Stats) {
    let (sink, mut writer) = writer(&BYTES);
    let mut content = Content::default();
    let mut random = Rng::new(7);
    for block in 0..3u64 {
        let path = format!("/data/file {block}");
        content.tables.files.push(FileInfo { path, ..FileInfo::default() });
        content.tables.apps.push(format!("app {block}"));
        content.tables.files[0].size = Some(block);
        let mut batch = Batch::new();
        for n in 0..20 {
            let request = Request {
                time: 1000 * (20 * block + n) + u64::from(random.below(300)),
                offset: u64::from(random.below(9)) * 4096,
                length: 4096,
                file: random.below(block as u32 + 1),
                app: block as u32,
                op: (n % 2) as u8,
                kind: Kind::Datafile as u8,
                flags: u16::from(n == 5),
            };
            let size = if block == 1 { n * 100 } else { UNKNOWN_SIZE };
            batch.requests.push(request);
            batch.file_sizes.push(size);
        }
        content.requests.extend(&batch.requests);
        content.sizes.extend(&batch.file_sizes);
        writer.push(&batch, &content.tables).unwrap();
        writer.flush().unwrap();
    }
    let stats = writer.finish(&content.tables).unwrap();
    (sink.bytes(), content, stats)
}

#[test]
fn a_trace_is_the_same_from_pipe_and_file() {
    let (bytes, content, stats) = sample();
    assert_eq!(read(&bytes, false).unwrap(), (content.clone(), Vec::new(), 0));
    let mut reader = Reader::seekable(Cursor::new(&bytes), Path::new("t.hst")).unwrap();
    assert_eq!(reader.stats(), Some(&stats), "known before reading");
    assert_eq!(drain(&mut reader).unwrap(), content);
    assert_eq!((stats.requests, stats.blocks, stats.files, stats.apps, stats.max_file), (60, 3, 3, 3, 2));
    assert_eq!((stats.count(Op::Read), stats.count(Op::Write), stats.failed), (30, 30, 3));
    assert_eq!((stats.bytes_read, stats.bytes_written), (30 * 4096, 27 * 4096), "the failed ones are writes");
    assert_eq!(stats.first_time, content.requests[0].time);
    assert_eq!(stats.last_time, content.requests[59].time);
}

/// The files were written by the first version of this code: the format cannot change unnoticed.
#[test]
fn version_1_0_is_what_it_was() {
    let (bytes, content, _) = sample();
    let golden = include_bytes!("golden/small-1.0.hst");
    assert_eq!(read(golden, false).unwrap(), (content, Vec::new(), 0));
    assert!(bytes == golden, "its sections are too short to be compressed, so every byte is ours");
    let golden = include_bytes!("golden/compressed-1.0.hst");
    assert!(read(golden, false).unwrap().0 == medium_trace());
}

#[test]
fn the_header_is_kept() {
    for addressing in [Addressing::Objects, Addressing::Bytes { unit: Some(512) }, Addressing::Bytes { unit: None }] {
        let meta = Meta { format: "arc", addressing, has_time: false, has_ops: true, sample: None };
        let header = Header::new(&meta).with("command", "cp a b").with("note", "ünïcödé\n");
        let sink = Sink::default();
        Writer::new(sink.clone(), Path::new("t"), &header).unwrap().finish(&Tables::default()).unwrap();
        let bytes = sink.bytes();
        let mut reader = Reader::new(bytes.as_slice(), Path::new("t")).unwrap();
        assert_eq!(*reader.header(), header);
        assert_eq!(reader.meta(), &Meta { format: "hst", ..meta });
        assert_eq!(reader.header().get("command"), Some("cp a b"));
        assert_eq!(drain(&mut reader).unwrap(), Content::default());
        assert_eq!((reader.remarks(), reader.stats()), (Vec::new(), Some(&Stats::default())));
    }
}

/// Requests as traces have them, or anything at all.
fn any_request() -> impl Strategy<Value = Request> {
    let small = (0u64..1000, 0u64..64, 0u32..4, 0u32..8, 0u32..3)
        .prop_map(|(time, block, pages, file, app)| (time, block * 4096, pages * 4096, file, app));
    let wild = (any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>());
    (prop_oneof![4 => small, 1 => wild], 0..Op::ALL.len() as u8, 0..Kind::ALL.len() as u8, any::<u16>()).prop_map(
        |((time, offset, length, file, app), op, kind, flags)| {
            let flags = flags & flags >> 8;
            Request { time, offset, length, file, app, op, kind, flags }
        },
    )
}

fn any_batch() -> impl Strategy<Value = (Batch, bool)> {
    let sizes = prop_oneof![Just(UNKNOWN_SIZE), 0u64..5000, any::<u64>()];
    let rows = prop::collection::vec((any_request(), sizes), 0..300);
    let ttls = prop::collection::vec(prop_oneof![Just(0u64), 1u64..99, any::<u64>()], 0..300);
    (rows, ttls, any::<bool>(), any::<bool>()).prop_map(|(rows, mut ttls, sized, flush)| {
        let (requests, file_sizes): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        ttls.truncate(requests.len());
        (Batch { requests, file_sizes: if sized { file_sizes } else { Vec::new() }, ttls }, flush)
    })
}

fn any_file() -> impl Strategy<Value = FileInfo> {
    let kind = (0..Kind::ALL.len()).prop_map(|number| Kind::ALL[number]);
    (".{0,12}", kind, any::<Option<u64>>(), "[a-z]{0,4}").prop_map(|(path, kind, size, label)| FileInfo {
        path,
        kind,
        size,
        label,
    })
}

/// The same cases every time.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_written_is_read(
        batches in prop::collection::vec(any_batch(), 0..6),
        entries in prop::collection::vec((0usize..5, any_file(), ".{0,5}"), 6),
    ) {
        let (sink, mut writer) = writer(&BYTES);
        let mut content = Content::default();
        for ((batch, flush), (number, file, app)) in batches.into_iter().zip(entries) {
            let files = &mut content.tables.files;
            if number < files.len() { files[number] = file } else { files.push(file) }
            content.tables.apps.push(app);
            let mut batch = batch;
            for request in &mut batch.requests {
                request.file %= content.tables.files.len() as u32;
                request.app %= content.tables.apps.len() as u32;
            }
            content.requests.extend(&batch.requests);
            let size = |index| batch.file_sizes.get(index).copied().unwrap_or(UNKNOWN_SIZE);
            content.sizes.extend((0..batch.len()).map(size));
            content.ttls.extend(batch.ttls.iter().filter(|&&ttl| ttl > 0));
            writer.push(&batch, &content.tables).unwrap();
            if flush {
                writer.flush().unwrap();
            }
        }
        let stats = writer.finish(&content.tables).unwrap();
        prop_assert_eq!(stats.requests, content.requests.len() as u64);
        let (found, remarks, skipped) = read(&sink.bytes(), false).unwrap();
        prop_assert_eq!(found, content);
        prop_assert_eq!((remarks, skipped), (Vec::new(), 0));
    }
}

/// Requests that make every transform and layout worth choosing, over several blocks.
fn long_trace() -> Content {
    let mut random = Rng::new(3);
    let mut ends = [0u64; 50];
    let mut content = Content::default();
    content.tables.files.resize(50, FileInfo::default());
    content.tables.apps = ["a", "b", "c"].map(str::to_owned).to_vec();
    for n in 0..2 * BLOCK_REQUESTS as u64 + 4321 {
        let file = random.below(50);
        let offset = if n % 7 == 0 { random.bits() >> random.below(64) } else { ends[file as usize] };
        let length = [512, 4096, 1 << 20][random.below(3) as usize];
        ends[file as usize] = offset.wrapping_add(u64::from(length));
        let request = Request { time: n * 1_000_003, offset, length, file, app: random.below(3), ..Request::default() };
        content.requests.push(request);
        content.sizes.push(u64::from(file) << 30);
    }
    content
}

/// The first of them, in one block.
fn medium_trace() -> Content {
    let mut content = long_trace();
    content.requests.truncate(3000);
    content.sizes.truncate(3000);
    content
}

fn write(content: &Content) -> Vec<u8> {
    let (sink, mut writer) = writer(&BYTES);
    for (requests, sizes) in content.requests.chunks(10_000).zip(content.sizes.chunks(10_000)) {
        let batch = Batch { requests: requests.to_vec(), file_sizes: sizes.to_vec(), ttls: Vec::new() };
        writer.push(&batch, &content.tables).unwrap();
    }
    writer.finish(&content.tables).unwrap();
    sink.bytes()
}

#[test]
fn long_traces_round_trip_and_shrink() {
    let content = long_trace();
    let bytes = write(&content);
    assert!(read(&bytes, false).unwrap().0 == content);
    let each = bytes.len() as f64 / content.requests.len() as f64;
    assert!(each < 4.0, "{each} bytes a request");
}

#[test]
fn any_request_can_be_sought() {
    let content = long_trace();
    let bytes = write(&content);
    let count = content.requests.len() as u64;
    let block = BLOCK_REQUESTS as u64;
    // Cut before the footer, there is no index: the way leads through the blocks.
    let cut = &bytes[..bytes.len() - index::END_BYTES];
    for (bytes, indexed) in [(bytes.as_slice(), true), (cut, false)] {
        let mut reader = Reader::seekable(Cursor::new(bytes), Path::new("t.hst")).unwrap();
        assert_eq!(reader.stats().is_some(), indexed);
        for request in [0, 1, block - 1, block, 5, 2 * block + 99, count - 1, 70_000, count] {
            reader.seek_to(request).unwrap();
            let mut batch = Batch::new();
            reader.read(&mut batch).unwrap();
            let expected = &content.requests[request as usize..];
            assert!(expected.starts_with(&batch.requests), "{request}");
            assert_eq!(batch.is_empty(), request == count);
        }
        let error = reader.seek_to(count + 1).unwrap_err();
        assert_eq!(error.to_string(), format!("t.hst: cannot go to request {}: the trace has {count}", count + 1));
        reader.seek_to(70_000).unwrap();
        assert!(drain(&mut reader).unwrap().requests == content.requests[70_000..]);
    }
    let mut pipe = Reader::new(bytes.as_slice(), Path::new("-")).unwrap();
    assert_eq!(pipe.seek_to(0).unwrap_err().to_string(), "-: cannot seek in a trace that comes from a pipe");
}

#[test]
fn seeking_brings_the_names_of_what_was_passed() {
    let (bytes, content, _) = sample();
    let mut reader = Reader::seekable(Cursor::new(&bytes), Path::new("t.hst")).unwrap();
    for request in [45, 0, 25] {
        reader.seek_to(request).unwrap();
        let found = drain(&mut reader).unwrap();
        assert_eq!(found.requests, content.requests[request as usize..]);
        assert_eq!(found.tables, content.tables);
    }
}

#[test]
fn an_interrupted_trace_gives_its_whole_blocks_and_says_so() {
    let (bytes, content, _) = sample();
    let body = Reader::new(bytes.as_slice(), Path::new("t.hst")).unwrap().position() as usize;
    let mut kept = Vec::new();
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        if length < body {
            let error = read(cut, false).unwrap_err().to_string();
            assert!(error.contains("ends") || error.contains("expected the first bytes"), "{length}: {error}");
            continue;
        }
        let (found, remarks, skipped) = read(cut, false).unwrap();
        assert!(found.requests.len() % 20 == 0 && content.requests.starts_with(&found.requests), "{length}");
        assert_eq!(skipped, 0);
        let told = format!("The recording was interrupted: {} requests were kept", found.requests.len());
        assert!(remarks.len() == 1 && remarks[0].starts_with(&told), "{length}: {remarks:?}");
        assert!(found.requests.iter().all(|request| found.tables.files.len() > request.file as usize));
        kept.push(found.requests.len());
        let mut seekable = Reader::seekable(Cursor::new(cut), Path::new("t.hst")).unwrap();
        assert_eq!(drain(&mut seekable).unwrap(), found, "{length}");
    }
    kept.dedup();
    assert_eq!(kept, [0, 20, 40, 60]);
}

#[test]
fn a_writer_that_is_dropped_leaves_what_was_pushed() {
    let content = long_trace();
    let (sink, mut writer) = writer(&BYTES);
    let batch = Batch { requests: content.requests[..100_000].to_vec(), file_sizes: Vec::new(), ttls: Vec::new() };
    writer.push(&batch, &content.tables).unwrap();
    drop(writer);
    let (found, remarks, _) = read(&sink.bytes(), false).unwrap();
    assert!(found.requests == content.requests[..100_000]);
    assert!(remarks[0].contains("100000 requests were kept"), "{remarks:?}");
}

#[test]
fn every_damaged_byte_is_noticed_or_harmless() {
    let (bytes, content, _) = sample();
    for at in 0..bytes.len() {
        for mask in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= mask;
            if let Ok((found, remarks, _)) = read(&damaged, false) {
                assert!(found == content || !remarks.is_empty(), "byte {at} ^ {mask:#x}");
                assert!(content.requests.starts_with(&found.requests), "byte {at} ^ {mask:#x}");
            }
            if let Ok((found, remarks, skipped)) = read(&damaged, true) {
                assert!(found == content || skipped > 0 || !remarks.is_empty(), "byte {at} ^ {mask:#x}, skipping");
                assert!(found.requests.iter().all(|request| content.requests.contains(request)));
            }
        }
    }
}

#[test]
fn a_damaged_block_is_an_error_with_its_byte_or_is_skipped_and_counted() {
    let (bytes, content, _) = sample();
    let blocks: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"REQS")).collect();
    assert_eq!(blocks.len(), 3);
    let mut damaged = bytes.clone();
    damaged[blocks[1] + 60] ^= 4;
    let error = read(&damaged, false).unwrap_err().to_string();
    let expected = format!("t.hst, byte {}: the REQS section is damaged: its checksum does not fit", blocks[1]);
    assert_eq!(error, expected);
    let (found, remarks, skipped) = read(&damaged, true).unwrap();
    assert_eq!(found.requests, [&content.requests[..20], &content.requests[40..]].concat());
    assert_eq!(skipped, 1);
    assert!(remarks[0].contains("1, with 20 requests lost"), "{remarks:?}");
    // The last block, too: the statistics tell what is missing.
    damaged[blocks[2] + 60] ^= 4;
    let (found, remarks, skipped) = read(&damaged, true).unwrap();
    assert_eq!((found.requests.len(), skipped), (20, 2));
    assert!(remarks[0].contains("2, with 40 requests lost"), "{remarks:?}");
}

/// A section's type and content.
type Section = (Type, Vec<u8>);

/// A file of these sections, with checksums that fit.
fn file_of(sections: &[Section]) -> Vec<u8> {
    let mut packer = Packer::new().unwrap();
    let mut bytes = prelude::write().to_vec();
    for (kind, raw) in sections {
        bytes.extend_from_slice(packer.frame(*kind, raw).unwrap());
    }
    bytes
}

fn head() -> Section {
    (Type::HEAD, Header::new(&BYTES).encode())
}

/// A block of `count` requests with one column.
fn block(first: u64, count: u32, column: [u8; 4], base: u64, data: &[u8]) -> Section {
    let mut raw = first.to_le_bytes().to_vec();
    raw.extend_from_slice(&count.to_le_bytes());
    raw.extend_from_slice(&1u32.to_le_bytes());
    raw.extend_from_slice(&column);
    raw.extend_from_slice(&(data.len() as u32).to_le_bytes());
    raw.extend_from_slice(&base.to_le_bytes());
    raw.extend_from_slice(&1u64.to_le_bytes());
    raw.extend_from_slice(data);
    (Type::REQUESTS, raw)
}

#[test]
fn hostile_contents_are_refused_in_a_sentence() {
    let cases: Vec<(Vec<Section>, &str)> = vec![
        (vec![(Type::FILES, vec![0])], "found a FILE section; expected the header"),
        (vec![head(), head()], "found a second header"),
        (vec![head(), (Type(*b"NEXT"), vec![1])], "needs sections of type NEXT"),
        (vec![head(), (Type::FILES, vec![1, 200, 1, 3, 0, 0, 0])], "table entry 200 behind 0 entries"),
        (vec![head(), (Type::FILES, vec![1, 0, 9, 0, 0, 0])], "kind 9"),
        (
            vec![head(), (Type::FILES, vec![1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])],
            "ends 0 bytes into",
        ),
        (vec![head(), (Type::APPS, vec![1, 0, 2, 0xc3, 0x28])], "not UTF-8"),
        (vec![head(), (Type::APPS, vec![0, 7])], "1 bytes follow the last field"),
        (vec![head(), block(0, 0, [1, 0, 0, 0], 0, &[])], "0 requests"),
        (vec![head(), block(0, u32::MAX, [1, 0, 0, 0], 0, &[])], "4294967295 requests"),
        (vec![head(), block(u64::MAX, 1, [1, 0, 0, 0], 0, &[])], "expected 1 to 65536"),
        (vec![head(), block(5, 1, [1, 0, 0, 0], 0, &[])], "found requests from number 5; expected number 0"),
        (vec![head(), block(0, 1, [5, 0, 0, 0], 11, &[])], "Op 11; expected at most 10"),
        (vec![head(), block(0, 1, [6, 0, 1, 0], 5, &[1])], "Kind 6; expected at most 5"),
        (vec![head(), block(0, 1, [1, 0, 1, 0], u64::from(u32::MAX), &[1])], "Length 4294967296"),
        (vec![head(), block(0, 1, [0, 0, 1, 0], 0, &[1])], "File 1, but the table before it has at most 0 entries"),
        (vec![head(), block(0, 1, [4, 0, 0, 0], 9, &[])], "App 9, but the table"),
        (vec![head(), block(0, 1, [0, 2, 1, 0], 0, &[1])], "depend on file numbers"),
        (vec![head(), block(0, 1, [2, 3, 1, 0], 0, &[1])], "transform 3"),
        (vec![head(), block(0, 1, [2, 0, 9, 0], 0, &[1; 9])], "layout 9"),
        (vec![head(), block(0, 3, [2, 0, 8, 0], 0, &[1; 23])], "has 23 bytes"),
        (vec![head(), block(0, 2, [2, 0, 255, 0], 0, &[1, 0x80])], "varint of request 1"),
        (vec![head(), block(0, 2, [2, 0, 255, 0], 0, &[1, 1, 1])], "1 bytes follow the last value"),
        (vec![head(), block(0, 1, [2, 0, 1, 3], 0, &[1])], "byte 3 where 0"),
        (
            vec![head(), block(0, 1, [200, 7, 7, 7], 0, &[1]), (Type::END, vec![0; 16]), (Type::END, vec![])],
            "bytes follow",
        ),
    ];
    for (sections, expected) in cases {
        let bytes = file_of(&sections);
        let error = read(&bytes, false).expect_err(expected).to_string();
        assert!(error.contains(expected), "found {error:?}, expected {expected:?}");
        assert!(error.contains(", byte "), "{error}");
        assert!(read(&bytes, true).is_ok() == (sections[0].0 == Type::HEAD), "{expected}");
    }
}

#[test]
fn hostile_frames_are_refused_before_anything_is_allocated() {
    let file = file_of(&[head(), (Type::FILES, vec![0; 100])]);
    let at = file.len() - 100 - section::HEADER_BYTES;
    let cases: [(usize, [u8; 4], &str); 6] = [
        (0, *b"\0\0\0\0", "expected a section"),
        (4, [4, 0, 0, 0], "flags 0x4"),
        (8, [0xff; 4], "claims 4294967295 bytes"),
        (12, [0xff; 4], "unfold to 4294967295"),
        (12, [99, 0, 0, 0], "claims 100 bytes that unfold to 99"),
        (4, [3, 0, 0, 0], "does not unfold"),
    ];
    for (place, word, expected) in cases {
        let mut bytes = file.clone();
        bytes[at + place..][..4].copy_from_slice(&word);
        reseal(&mut bytes);
        let error = read(&bytes, false).expect_err(expected).to_string();
        assert!(error.contains(expected) && error.contains(&format!("byte {at}: ")), "found {error:?}");
    }
}

#[test]
fn a_table_may_not_unfold_from_nothing() {
    let zeros = vec![0; 100_000];
    let mut packer = Packer::new().unwrap();
    assert!(packer.frame(Type::FILES, &zeros).unwrap().len() > zeros.len(), "it would shrink by more than 64");
    let mut section = packer.frame(Type::REQUESTS, &zeros).unwrap().to_vec();
    assert!(section.len() < 100);
    section[..4].copy_from_slice(b"FILE");
    let mut bytes = [file_of(&[head()]), section].concat();
    reseal(&mut bytes);
    let error = read(&bytes, false).unwrap_err().to_string();
    assert!(error.contains("unfold to 100000; expected at most 4194304, by at most 64"), "{error}");
}

#[test]
fn other_versions_and_files_get_a_sentence() {
    let (bytes, ..) = sample();
    let changed = |place: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[place] = byte;
        reseal(&mut bytes);
        read(&bytes, false)
    };
    let error = changed(8, 2).unwrap_err().to_string();
    assert_eq!(error, "t.hst, byte 0: the trace is in version 2 of the format; this program reads version 1");
    assert!(changed(12, 1).unwrap_err().to_string().contains("needs features 0x1"));
    assert!(changed(0, b'x').unwrap_err().to_string().contains("expected the first bytes of a .hst trace"));
    assert!(changed(10, 7).is_ok(), "a later minor version");
    assert!(changed(14, 1).is_ok(), "a feature that may be ignored");
    assert!(read(b"", false).unwrap_err().to_string().contains("expected the first bytes"));
}

#[test]
fn sections_that_are_not_known_are_passed_over_unless_essential() {
    let (bytes, content, _) = sample();
    let body = Reader::new(bytes.as_slice(), Path::new("t.hst")).unwrap().position() as usize;
    let mut packer = Packer::new().unwrap();
    let mut section = packer.frame(Type(*b"XTRA"), &[1; 5000]).unwrap().to_vec();
    section[4] &= !2;
    let mut with = [&bytes[..body], &section, &bytes[body..]].concat();
    reseal(&mut with);
    assert_eq!(read(&with, false).unwrap().0, content);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let (_, mut broken) = writer(&BYTES);
    let batch =
        Batch { requests: vec![Request { op: 11, ..Request::default() }], file_sizes: Vec::new(), ttls: Vec::new() };
    let error = broken.push(&batch, &Tables::default()).unwrap_err().to_string();
    let expected = "t.hst: request 0 has operation 11, kind 0, file 0 and application 0, which do not all exist: \
                    the tables hold 0 files and 0 applications";
    assert_eq!(error, expected);
    let long = Tables { files: Vec::new(), apps: vec!["x".repeat(section::LIMIT + 1)] };
    let error = broken.push(&Batch::new(), &long).unwrap_err().to_string();
    assert!(error.starts_with("t.hst: cannot write the trace: 4194"), "{error}");
    assert!(broken.finish(&Tables::default()).is_err(), "nothing is written behind an error");
    let folder = std::env::temp_dir();
    let error = Writer::create(&folder, &Header::new(&BYTES)).err().unwrap().to_string();
    assert!(error.ends_with("it is a directory; expected the path of a trace"), "{error}");
}

/// A source that gives a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 5 + 1;
        let count = self.1.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

#[test]
fn a_pipe_may_trickle() {
    let (bytes, content, _) = sample();
    let mut reader = Reader::new(Trickle(&bytes, 0), Path::new("-")).unwrap();
    assert_eq!(drain(&mut reader).unwrap(), content);
}

#[test]
fn no_mutation_makes_the_reader_panic() {
    let (small, ..) = sample();
    let large = write(&medium_trace());
    let mut random = Rng::new(11);
    for round in 0..6000 {
        let mut bytes = if round % 4 == 0 { large.clone() } else { small.clone() };
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u32) as usize;
            match random.below(4) {
                0 => bytes[at] = random.bits() as u8,
                1 => bytes[at] ^= 1 << random.below(8),
                2 => bytes.truncate(at.max(1)),
                _ => bytes[at] = [0, 0x7f, 0x80, 0xff][random.below(4) as usize],
            }
        }
        if random.below(4) > 0 {
            reseal(&mut bytes);
        }
        hotset_testkit::fuzz::parse_any("hst", &bytes);
        for skip in [false, true] {
            if let Ok(reader) = Reader::seekable(Cursor::new(&bytes), Path::new("t.hst")) {
                let mut reader = reader.skip_bad(skip);
                let _ = reader.seek_to(u64::from(random.below(70)));
                let _ = drain(&mut reader);
            }
        }
    }
}
