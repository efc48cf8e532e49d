//! Caches that know what a file is, over traces written out: classes, blocks of several sizes, requests to inodes and
//! directories, files that grow, shrink and go.

use std::collections::HashMap;
use std::fmt::Write;

use hotset_core::classify::Rules;
use hotset_core::policy::{Args, PolicySpec};
use hotset_sim::grid::{self, Plan};
use hotset_sim::{BlockSize, ClassTally, Options, Prepared, Silent, Tally, prepare};
use hotset_trace::{OpenOptions, formats::BUILTIN, open};

/// A trace of lines `op,file,offset,bytes,filesize,kind`, ready to be replayed, and the arguments of a scheme.
fn prepared(policy: &str, lines: &str, rules: Option<Rules>) -> (Prepared, Args) {
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a temporary file");
    let text = format!("op,file,offset,bytes,filesize,kind\n{lines}");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("the file can be written");
    let trace = open(file.path(), BUILTIN, &OpenOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { block: Some(BlockSize::Bytes(4096)), keep_requests: true, ..Options::default() };
    let (prepared, _) = prepare(trace.reader, &options, &Silent).unwrap_or_else(|error| panic!("{error}"));
    let spec = PolicySpec::parse(policy).unwrap_or_else(|error| panic!("{error}"));
    (prepared, spec.args(Some(4096)).with_rules(rules))
}

/// Replays such a trace against a scheme of `bytes`.
fn replay_with(policy: &str, bytes: u64, lines: &str, rules: Option<Rules>) -> Tally {
    let (mut prepared, args) = prepared(policy, lines, rules);
    let entry = PolicySpec::parse(policy).unwrap_or_else(|error| panic!("{error}")).entry();
    let plan = Plan { entry, args, capacity: (bytes / 4096) as u32, bytes: None, seed: 1 };
    let mut replayed = grid::run(&mut prepared, &[plan], &Silent).unwrap_or_else(|error| panic!("{policy}: {error}"));
    replayed.tallies.remove(0)
}

fn replay(policy: &str, bytes: u64, lines: &str) -> Tally {
    replay_with(policy, bytes, lines, None)
}

fn class<'a>(tally: &'a Tally, name: &str) -> &'a ClassTally {
    tally.classes.iter().find(|class| class.name == name).unwrap_or_else(|| panic!("no class {name}"))
}

const K: u64 = 1 << 10;
const PARTS: &str = "attribute(64K/128 id, x/4K temporal, 64K/64K sequential)";

/// Reads of `step` bytes through a file of `size` bytes.
fn scan(file: &str, size: u64, step: u64) -> String {
    (0..size / step).fold(String::new(), |mut text, number| {
        writeln!(text, "R,{file},{},{step},{size},datafile", number * step).expect("text grows");
        text
    })
}

#[test]
fn a_scan_in_large_blocks_misses_one_read_in_eight() {
    let tally = replay(PARTS, 512 * K, &scan("/big", 4096 * K, 8 * K));
    let large = class(&tally, "large");
    assert_eq!((large.counters.requests, large.counters.request_misses), (512, 64));
    assert_eq!(large.blocks_read * large.block_bytes, 4096 * K);
    let small = replay("attribute(64K/128 id, x/4K general)", 512 * K, &scan("/big", 4096 * K, 8 * K));
    assert_eq!(class(&small, "large").counters.request_misses, 512);
}

/// The bytes that were cached while the file was small are found when it has become large, until they are evicted.
#[test]
fn a_file_that_outgrows_its_class_is_looked_for_where_it_was() {
    let lines = "R,/f,0,8192,400000,datafile\nR,/f,0,8192,600000,datafile\nR,/f,4096,100,600000,datafile\n\
                 R,/f,8192,4096,600000,datafile\nR,/f,0,4096,600000,datafile\n";
    let tally = replay(PARTS, 512 * K, lines);
    let (small, large) = (class(&tally, "datafile"), class(&tally, "large"));
    assert_eq!((small.counters.references, small.counters.hits), (2, 0));
    // The first two find their bytes in the small blocks; the third does not, and brings in the 64 KB that serve the
    // fourth.
    assert_eq!((large.counters.requests, large.counters.request_misses, large.blocks_read), (4, 1, 1));
    let shrunk = "R,/f,0,65536,600000,datafile\nT,/f,1000,0,,\nR,/f,0,1000,,datafile\n";
    let tally = replay(PARTS, 512 * K, shrunk);
    assert_eq!(class(&tally, "datafile").counters.hits, 1, "its rest is still in its large block");
}

#[test]
fn deleted_and_truncated_files_lose_their_blocks_without_a_write() {
    let write = "W,/f,0,16384,16384,datafile\n";
    let scan = scan("/other", 400 * K, 4 * K);
    let kept = replay(PARTS, 256 * K, &format!("{write}{scan}"));
    assert_eq!(class(&kept, "datafile").write_backs, 4, "the scan pushes the written blocks out");
    let deleted = replay(PARTS, 256 * K, &format!("{write}U,/f,0,0,,\n{scan}"));
    assert_eq!(class(&deleted, "datafile").write_backs, 0);
    let cut = replay(PARTS, 256 * K, &format!("{write}T,/f,4096,0,,\n{scan}"));
    assert_eq!(class(&cut, "datafile").write_backs, 1);
    let back = replay(PARTS, 256 * K, &format!("{write}U,/f,0,0,,\nR,/f,0,16384,16384,datafile\n"));
    assert_eq!(class(&back, "datafile").counters.hits, 0);
    let renamed = replay(PARTS, 256 * K, &format!("{write}N,/f,0,0,,\nR,/f,0,16384,16384,datafile\n"));
    assert_eq!(class(&renamed, "datafile").counters.hits, 4, "a file keeps its blocks when it gets another name");
}

#[test]
fn naming_a_file_reads_its_directory_and_its_inode() {
    let lines = "O,/d/f,0,0,100,\nR,/d/f,0,100,100,datafile\nS,/d/g,0,0,100,\nS,/d/f,0,0,100,\n";
    let tally = replay("unix", 256 * K, lines);
    let (inode, directory) = (class(&tally, "inode"), class(&tally, "directory"));
    // Three look-ups; the read notes the time in the inode.
    assert_eq!((inode.counters.read_requests, inode.counters.write_requests, inode.counters.hits), (3, 1, 2));
    assert_eq!((directory.counters.requests, directory.counters.request_misses), (3, 1));
    let careless = replay("unix(atime=off)", 256 * K, lines);
    assert_eq!(class(&careless, "inode").counters.write_requests, 0);
    let full = replay("unix(lookup=full)", 256 * K, lines);
    assert_eq!(class(&full, "directory").counters.requests, 6);
}

#[test]
fn a_program_is_read_as_a_whole_in_one_request() {
    let tally = replay(PARTS, 256 * K, "X,/bin/cc,0,0,100000,executable\nX,/bin/cc,0,0,100000,executable\n");
    let program = class(&tally, "executable");
    assert_eq!((program.counters.requests, program.counters.request_misses), (2, 1));
    assert_eq!((program.counters.references, program.counters.hits), (50, 25));
}

/// A request longer than the cache, or with `pieces=part` than its part, is as many accesses as it has pieces of that
/// size.
#[test]
fn a_request_longer_than_the_cache_is_cut() {
    let accesses = |spec: &str, size: u64| {
        let tally = replay(spec, size, "R,/big,0,655360,655360,datafile\n");
        let large = class(&tally, "large");
        assert_eq!((large.counters.request_misses, large.blocks_read), (1, 10));
        large.read_accesses
    };
    // Ten blocks, of which the cache holds four and its part one.
    assert_eq!(accesses(PARTS, 256 * K), 3);
    assert_eq!(accesses(PARTS, 1024 * K), 1);
    let by_part = PARTS.replace(')', ", pieces=part)");
    assert_eq!((accesses(&by_part, 256 * K), accesses(&by_part, 1024 * K)), (10, 10));
}

#[test]
fn a_users_classes_decide() {
    let rules = Rules::from_toml("[[class]]\nname = \"hot\"\nfiles = [\"*.db\"]\n").expect("good rules");
    let lines = format!("R,/a.db,0,4096,4096,datafile\n{}R,/a.db,0,4096,4096,datafile\n", scan("/x", 1024 * K, 4 * K));
    let parts = "attribute(4K/4K hot, x/4K general)";
    let tally = replay_with(parts, 64 * K, &lines, Some(rules));
    assert_eq!(class(&tally, "hot").counters.hits, 1);
    assert_eq!(class(&tally, "other").counters.hits, 0);
}

#[test]
fn output_goes_past_the_cache() {
    let lines = "R,/t.png,0,4096,4096,datafile\nW,/o.png,0,4096,4096,datafile\nR,/o.png,0,4096,4096,datafile\nR,/t.png,0,4096,4096,datafile\n";
    assert_eq!(replay("lru", 4 * K, lines).total.hits, 1);
    let tally = replay("bypass(lru,output)", 4 * K, lines);
    assert_eq!(
        (tally.total.hits, class(&tally, "texture").counters.hits, class(&tally, "output").write_backs),
        (1, 1, 1)
    );
    assert_eq!(replay("bypass(opt,output)", 4 * K, lines).total.hits, 1);
}

/// Two LRU lists, written out: what `unix` does to reads and writes of data.
#[test]
fn unix_is_two_lru_lists() {
    let mut state = 9u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let (mut lines, mut list, mut dirty) =
        (String::new(), Vec::<(u64, u64)>::new(), HashMap::<(u64, u64), bool>::new());
    let (mut hits, mut misses, mut write_backs) = (0u64, 0u64, 0u64);
    for _ in 0..5000 {
        let (file, offset, length, write) = (next(5), next(40) * 1000, 1 + next(9000), next(3) == 0);
        writeln!(lines, "{},/f{file},{offset},{length},40000,datafile", if write { 'W' } else { 'R' })
            .expect("text grows");
        let mut missed = false;
        for block in offset / 4096..=(offset + length - 1) / 4096 {
            let key = (file, block);
            match list.iter().position(|&other| other == key) {
                Some(place) => {
                    hits += 1;
                    list.remove(place);
                }
                None => {
                    missed = true;
                    if list.len() == 8 {
                        write_backs += u64::from(dirty.remove(&list.remove(0)).is_some());
                    }
                }
            }
            list.push(key);
            if write {
                dirty.insert(key, true);
            }
        }
        misses += u64::from(missed && !write);
    }
    let tally = replay("unix(atime=off)", 64 * K, &lines);
    let data = class(&tally, "datafile");
    assert_eq!((data.counters.hits, data.counters.read_request_misses, data.write_backs), (hits, misses, write_backs));
    assert!(data.counters.misses() >= data.counters.request_misses);
    let plain = replay("lru", 32 * K, &lines);
    assert_eq!((plain.total.hits, plain.write_backs), (hits, write_backs), "without inodes it is LRU of the rest");
}

/// One pass gives what a simulation gives at each size, with files that are deleted and made again.
#[test]
fn the_curve_of_a_cache_in_parts_equals_its_simulation() {
    let mut state = 77u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut lines = String::new();
    for _ in 0..3000 {
        let (file, offset, length) = (next(9), next(30) * 2000, 1 + next(12_000));
        let size = if file < 3 { 900_000 } else { 90_000 };
        match next(40) {
            0 => writeln!(lines, "U,/d{}/f{file},0,0,,", file % 3),
            1..8 => writeln!(lines, "O,/d{}/f{file},0,0,{size},", file % 3),
            8..15 => writeln!(lines, "W,/d{}/f{file},{offset},{length},{size},datafile", file % 3),
            _ => writeln!(lines, "R,/d{}/f{file},{offset},{length},{size},datafile", file % 3),
        }
        .expect("text grows");
    }
    let spec = "attribute(1K/128 id,x/4K temporal,128K/64K sequential)";
    let (prepared, _) = prepared(spec, &lines, None);
    let Prepared::Held(references) = prepared else { panic!("a small trace is held") };
    let policy = PolicySpec::parse(spec).expect("a spec");
    let (by_rest, by_total) = references
        .parts_curve(&policy, Some(4096))
        .expect("the trace can be shown")
        .expect("no file changes its class");
    for rest in [1, 2, 3, 5, 8, 13, 30, 100] {
        let blocks = 33 + rest; // 129K of fixed parts and the rest, in blocks of 4K.
        let tally = replay(spec, blocks * 4 * K, &lines);
        let rest_blocks = (blocks * 4 * K - 129 * K) / (4 * K);
        assert_eq!(
            by_rest.read_request_misses(rest_blocks),
            tally.total.read_request_misses,
            "{rest_blocks} blocks left"
        );
        assert_eq!(by_rest.hits(rest_blocks), tally.total.hits, "{rest_blocks} blocks left");
        assert_eq!(by_total.hits(blocks), tally.total.hits, "{blocks} blocks");
        assert_eq!(by_total.references, tally.total.references);
    }
}

/// With blocks of one size everywhere and nothing but data, a cache in parts sees what a plain one sees, so that
/// Belady's bounds hold for it.
#[test]
fn no_cache_in_parts_beats_the_bounds() {
    let mut lines = String::new();
    for lap in 0..6 {
        for file in 0..12 {
            writeln!(lines, "R,/t/tile{file}.png,0,{},{},datafile", 20_000 + file * 3000, 20_000 + file * 3000)
                .expect("text grows");
            writeln!(lines, "R,/t/tile{}.png,4096,4096,20000,datafile", lap * file % 12).expect("text grows");
        }
        writeln!(lines, "R,/scene.blend,0,60000,60000,datafile\nW,/out/frame{lap}.png,0,9000,9000,datafile")
            .expect("text grows");
        lines.push_str(&scan("/big", 600 * K, 100 * K));
    }
    let parts = "attribute(16K/4K id,x/4K temporal,64K/4K sequential,atime=off)";
    for kilobytes in [96, 128, 192, 256, 384, 512, 1024] {
        let hits = |policy| replay(policy, kilobytes * K, &lines).total.hits;
        let (opt, bypass) = (hits("opt"), hits("opt-bypass"));
        assert_eq!(replay(parts, 96 * K, &lines).total.references, replay("opt", 96 * K, &lines).total.references);
        assert!(opt <= bypass && hits("lru") <= opt, "{kilobytes}K");
        assert!((1..=opt).contains(&hits(parts)), "{kilobytes}K: {parts}");
        for render in ["render", "render(adapt=off)", "render(shadow=literal)"] {
            assert!((1..=bypass).contains(&hits(render)), "{kilobytes}K: {render}");
        }
    }
}
