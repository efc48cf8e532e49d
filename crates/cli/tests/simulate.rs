//! `hotset simulate`: rows as documented, the same whatever way a trace is read.

mod support;

use hotset_core::registry::ENTRIES;
use hotset_testkit::inputs;
use serde_json::Value;
use support::{Folder, command, csv, finish, gzip, hotset, hotset_fed, ids, keys, xz, zstd};

/// Rows of a trace under every policy at four sizes.
fn rows(trace: &str, more: &[&str]) -> Vec<Value> {
    hotset(&[&["simulate", trace, "-p", "all", "-s", "1,7,100,1500 blocks", "--json", "-"], more].concat()).rows()
}

/// Rows without the fields named.
fn without(rows: Vec<Value>, fields: &[&str]) -> Vec<Value> {
    let strip = |mut row: Value| {
        fields.iter().for_each(|field| drop(row.as_object_mut().unwrap().remove(*field)));
        row
    };
    rows.into_iter().map(strip).collect()
}

#[test]
fn a_row_has_the_documented_fields_and_no_others() {
    let folder = Folder::new();
    let plain = [
        "version",
        "trace",
        "policy",
        "size_blocks",
        "seed",
        "references",
        "hits",
        "misses",
        "hit_ratio",
        "miss_ratio",
        "read_references",
        "read_hits",
        "read_hit_ratio",
        "repeats",
        "repeat_hits",
        "requests",
        "request_misses",
        "read_requests",
        "read_request_misses",
        "distinct_blocks",
    ];
    let of_ids =
        hotset(&["simulate", &folder.file("t.ids", ids()), "-p", "lru", "-s", "10 blocks", "--json", "-"]).rows();
    let expected: std::collections::BTreeSet<&str> = plain.into();
    assert_eq!(keys(&of_ids[0]).into_iter().collect::<std::collections::BTreeSet<_>>(), expected);

    let of_csv =
        hotset(&["simulate", &folder.file("t.csv", csv()), "-p", "lru", "-s", "10 blocks", "--json", "-"]).rows();
    let more = ["size_bytes", "block_bytes", "maps", "deletes", "write_requests", "write_backs", "apps"];
    let expected: std::collections::BTreeSet<&str> = plain.into_iter().chain(more).collect();
    assert_eq!(keys(&of_csv[0]).into_iter().collect::<std::collections::BTreeSet<_>>(), expected);
    let row = &of_csv[0];
    assert_eq!((&row["size_bytes"], &row["block_bytes"]), (&Value::from(40960), &Value::from(4096)));
    let apps = row["apps"].as_array().unwrap();
    assert_eq!(apps.len(), 3);
    for field in ["references", "hits", "misses", "requests", "write_requests"] {
        let sum: u64 = apps.iter().map(|app| app[field].as_u64().unwrap()).sum();
        assert_eq!(Value::from(sum), row[field], "{field}");
    }
    assert_eq!(row["hits"].as_u64().unwrap() + row["misses"].as_u64().unwrap(), row["references"].as_u64().unwrap());
}

#[test]
fn csv_says_what_json_says() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let table = folder.path("out.csv");
    let rows =
        hotset(&["simulate", &trace, "-p", "lru,arc", "-s", "5,50 blocks", "--json", "-", "--csv", &table]).rows();
    let text = std::fs::read_to_string(&table).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let parsed: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(parsed.len(), rows.len());
    for (fields, row) in parsed.iter().zip(&rows) {
        for (name, field) in header.iter().zip(fields) {
            // Both are read by one parser, which may miss a number's last bit.
            let read = serde_json::from_str(field).unwrap_or_else(|_| Value::from(*field));
            let told = row.get(name).cloned().unwrap_or_else(|| Value::from(""));
            assert_eq!(told, read, "{name}");
        }
    }
}

#[test]
fn packed_and_piped_traces_give_the_same_rows() {
    let folder = Folder::new();
    let text = csv();
    let expected = without(rows(&folder.file("t.csv", &text), &[]), &["trace"]);
    assert_eq!(expected.len(), 4 * ENTRIES.len());
    for (name, bytes) in [("a.csv.zst", zstd(&text)), ("a.csv.gz", gzip(&text)), ("a.csv.xz", xz(&text))] {
        assert_eq!(without(rows(&folder.file(name, &bytes), &[]), &["trace"]), expected, "{name}");
    }
    let native = folder.path("t.hst");
    hotset(&["import", &folder.path("t.csv"), "-o", &native]).good();
    assert_eq!(without(rows(&native, &[]), &["trace"]), expected, "the native format keeps all");
    let arguments = ["simulate", "-", "-p", "all", "-s", "1,7,100,1500 blocks", "--json", "-"];
    let piped = hotset_fed(&arguments, &gzip(&text)).rows();
    assert_eq!(without(piped, &["trace"]), expected, "standard input");
    let native = std::fs::read(&native).unwrap();
    assert_eq!(without(hotset_fed(&arguments, &native).rows(), &["trace"]), expected, "native on standard input");
}

#[test]
fn threads_do_not_change_results() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let arguments = ["simulate", &trace, "-p", "all", "-s", "1%..80%*3", "--json", "-"];
    let with = |threads: &str| {
        let mut command = command(&arguments);
        command.env("RAYON_NUM_THREADS", threads);
        finish(command).good().out
    };
    let one = with("1");
    assert!(one.lines().count() > 3 * ENTRIES.len());
    assert_eq!(with("2"), one);
    assert_eq!(with("7"), one);
}

#[test]
fn a_stream_gives_the_same_rows_as_a_trace_that_is_held() {
    let traces = [
        ("public/lirs/multi2.trace.gz", "1,50,5000 blocks"),
        ("public/formats/cloudPhysicsIO.vscsi.zst", "700 blocks"),
    ];
    for (relative, sizes) in traces {
        let Some(path) = inputs::trace_path(relative) else { return };
        let path = path.to_str().unwrap();
        let online: Vec<&str> =
            ENTRIES.iter().filter(|entry| !entry.info.offline).map(|entry| entry.info.name).collect();
        let simulate = |more: &[&str]| {
            let arguments = ["simulate", path, "-p", &online.join(","), "-s", sizes, "--json", "-"];
            without(hotset(&[&arguments[..], more].concat()).rows(), &["distinct_blocks"])
        };
        let held = simulate(&[]);
        assert_eq!(held.len(), sizes.split(',').count() * online.len());
        assert_eq!(simulate(&["--memory", "1B"]), held, "{relative}");
    }
}

#[test]
fn the_table_of_several_sizes() {
    let folder = Folder::new();
    let trace = folder.file("loop.ids", "1\n2\n3\n".repeat(100));
    let run = hotset(&["simulate", &trace, "-p", "lru,mru,opt", "-s", "1,2,3 blocks", "--format", "ids"]).good();
    let expected = "\
(ids): 300 references to 3 distinct blocks; hit ratio in % by cache size
policy      1       2       3
─────────────────────────────
lru      0.00    0.00   99.00
mru      0.00   49.67   99.00
opt      0.00   49.67   99.00

At 2 blocks, the middle size, mru hits 49.67 % of references where lru hits 0.00
%: 149 fewer misses, 100 % of the way to the bound (opt, 49.67 %). Of these
sizes, lru needs 3 blocks for as much.
";
    assert_eq!(run.out.strip_prefix(&format!("{trace} ")), Some(expected));
}

#[test]
fn the_table_of_one_size_counts_everything() {
    let folder = Folder::new();
    let trace = folder.file("t.csv", csv());
    let out = hotset(&["simulate", &trace, "-p", "fifo,opt", "-s", "64K"]).good().out;
    assert!(out.contains("cache of 16 blocks (64K)"), "{out}");
    assert!(out.contains("policy") && out.contains("request misses") && out.contains("write-backs"), "{out}");
    assert!(!out.contains('\x1b'), "no colours without a terminal");
}

#[test]
fn the_reader_may_stop_reading() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new();
    let trace = folder.file("t.ids", ids());
    let arguments = ["simulate", &trace, "-p", "all", "-s", "1..2000*1.01 blocks", "--json", "-"];
    let mut child = command(&arguments).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(line.starts_with('{'));
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

/// Text without its breaks between lines.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A log that is only written, and a loop of three blocks that are read: LRU of two blocks hits every write and no
/// read.
#[test]
fn a_write_that_finds_its_block_is_no_read_that_hits() {
    let folder = Folder::new();
    let lines = (0..300).map(|step| format!("W,1,0,100\nR,2,{},100\n", step % 3 * 4096));
    let trace = folder.file("log.csv", format!("op,file,offset,bytes\n{}", lines.collect::<String>()));
    let row = &hotset(&["simulate", &trace, "-p", "lru", "-s", "2 blocks", "--json", "-"]).rows()[0];
    let counts = ["hits", "references", "read_hits", "read_references"].map(|field| row[field].as_u64().unwrap());
    assert_eq!((counts, &row["read_hit_ratio"]), ([299, 600, 0, 300], &0.0.into()));
    let simulate = ["simulate", &trace, "-p", "lru,mru,lirs,opt", "-s", "2 blocks"];
    let out = unwrapped(&hotset(&simulate).good().out);
    assert!(out.contains("read hits % hit ratio %") && out.contains("mru hits 33.00 % of reads"), "{out}");
    assert!(!out.contains("bound"), "opt hits no read, so it does not bound reads: {out}");
    let out = unwrapped(&hotset(&[&simulate[..], &["--metric", "references"]].concat()).good().out);
    assert!(out.contains("No online policy here hits a larger share of references"), "{out}");
    let out = hotset(&["simulate", &trace, "-p", "lru,opt", "-s", "1,2,3 blocks"]).good().out;
    let titles = ["hit ratio of reads in % by cache size", "hit ratio of reads and writes in % by cache size"];
    let [reads, all] = titles.map(|title| out.find(title).unwrap_or_else(|| panic!("{out}")));
    assert!(reads < all, "{out}");
    // One write among 600 requests: the second table would repeat the first.
    let lines = (0..600).map(|step| format!("{},1,{},100\n", if step == 7 { 'W' } else { 'R' }, step % 3 * 4096));
    let trace = folder.file("few.csv", format!("op,file,offset,bytes\n{}", lines.collect::<String>()));
    let few = ["simulate", &trace, "-p", "lru,opt", "-s", "1,2,3 blocks"];
    let out = hotset(&few).good().out;
    assert!(!out.contains(titles[1]) && out.contains("include writes differ by less than a point"), "{out}");
    let out = hotset(&[&few[..], &["--metric", "references"]].concat()).good().out;
    assert!(titles.iter().all(|title| out.contains(title)), "{out}");
}

/// "50 % needs 1 block" came of several reads within one block.
#[test]
fn several_reads_within_one_block_are_told() {
    let folder = Folder::new();
    let lines = (0..400).map(|step| format!("R,1,{},1024\n", step * 1024 % (40 * 4096)));
    let trace = folder.file("parts.csv", format!("op,file,offset,bytes\n{}", lines.collect::<String>()));
    for more in [&[][..], &["--memory", "1B"]] {
        let rows = hotset(&[&["simulate", &trace, "-p", "lru", "-s", "1 blocks", "--json", "-"], more].concat()).rows();
        let counts = ["hits", "references", "repeats", "repeat_hits"].map(|field| rows[0][field].as_u64().unwrap());
        assert_eq!(counts, [300, 400, 300, 300]);
    }
    let out = unwrapped(&hotset(&["simulate", &trace, "-p", "lru,opt", "-s", "20 blocks"]).good().out);
    assert!(out.contains("opt hits 38.00 % of references (repeats left out) where lru hits 0.00 %"), "{out}");
}

#[test]
fn a_bare_simulation_compares_a_choice_the_best_first() {
    let trace = format!("{}/../../workloads/render.hst", env!("CARGO_MANIFEST_DIR"));
    let out = hotset(&["simulate", &trace, "--maps", "none"]).good().out;
    let place = |name: &str| out.find(&format!("\n{name} ")).unwrap_or_else(|| panic!("{name}: {out}"));
    assert!(place("opt") < place("w-tinylfu") && place("w-tinylfu") < place("linux"), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, told) = words.split_once("* Cheapest within a point of the best at the middle size: ").expect(&words);
    let (pick, _) = told.split_once(". ° knows the future").expect(&words);
    assert!(out.contains(&format!("\n{pick} *")) && out.contains("\nopt °"), "{out}");
    let folder = Folder::new();
    let tiny = folder.file("t.ids", "1\n2\n1\n2\n");
    hotset(&["simulate", &tiny, "--format", "ids"]).good();
}

#[test]
fn what_policies_cost_is_told_beside_the_same_counts() {
    let trace = format!("{}/../../workloads/film.hst", env!("CARGO_MANIFEST_DIR"));
    let words = ["simulate", &trace, "--maps", "none", "-p", "lru,auto,opt", "-s", "1000,2000,4000 blocks"];
    let told = |more: &[&str]| hotset(&[&words, more].concat()).rows();
    let plain = told(&["--json", "-"]);
    let mut rows = told(&["--json", "-", "--costs"]);
    for (row, expected) in rows.iter_mut().zip(&plain) {
        let costs = ["reference_nanoseconds", "policy_bytes_per_block"].map(|field| row[field].as_f64());
        let is_bound = row["policy"] == "opt";
        assert!(costs[0].is_some_and(|time| (0.1..100_000.0).contains(&time)), "{row}");
        let is_likely = |bytes: f64| (8.0..4000.0).contains(&bytes);
        assert!(costs[1].map_or(is_bound || cfg!(not(target_env = "gnu")), is_likely), "{row}");
        row.as_object_mut().unwrap().retain(|field, _| expected.get(field).is_some());
        assert_eq!(row, expected);
    }
    // Parts for applications are built when those arrive: a virtual queue remembers more than its part of the cache.
    let parts = ["-p", "lru,equal(lru),virtual(lru),qos(lru)", "-s", "1000 blocks", "--costs", "--json", "-"];
    let bytes: Vec<Option<f64>> = hotset(&[&["simulate", &trace, "--maps", "none"][..], &parts].concat())
        .rows()
        .iter()
        .map(|row| row["policy_bytes_per_block"].as_f64())
        .collect();
    if cfg!(target_env = "gnu") {
        assert!(bytes.iter().all(|bytes| bytes.is_some_and(|bytes| bytes > 20.0)), "{bytes:?}");
        assert!(bytes[2] > bytes[0].map(|lru| 2.0 * lru), "{bytes:?}");
    }
    let streamed = ["-p", "lru", "-s", "1000 blocks", "--memory", "100K", "--costs", "--json", "-"];
    let streamed = [&["simulate", &trace, "--maps", "none"][..], &streamed].concat();
    assert!(hotset(&streamed).rows()[0]["reference_nanoseconds"].as_f64().is_some_and(|time| time > 0.0));
    let out = hotset(&[&words[..], &["--costs"]].concat()).good().out;
    assert!(out.contains("what policies cost with 2,000 blocks (7.8M)") && out.contains("ns/reference"), "{out}");
    let refused = hotset(&[&words[..], &["--costs", "--store", "ssd"]].concat());
    assert!(refused.err.contains("'--costs' cannot be used with '--store"), "{}", refused.err);
}

/// LRU of objects by the book: those used longest ago leave until the new one fits.
fn lru_of_bytes(requests: &[(u64, u64)], capacity: u64) -> (u64, u64) {
    let mut resident: Vec<(u64, u64)> = Vec::new();
    let (mut hits, mut bytes) = (0, 0);
    for &(id, size) in requests {
        if let Some(place) = resident.iter().position(|&(other, _)| other == id) {
            let object = resident.remove(place);
            resident.push(object);
            (hits, bytes) = (hits + 1, bytes + size);
        } else if size <= capacity {
            while resident.iter().map(|(_, size)| size).sum::<u64>() + size > capacity {
                resident.remove(0);
            }
            resident.push((id, size));
        }
    }
    (hits, bytes)
}

#[test]
fn a_size_in_bytes_is_that_of_objects() {
    let folder = Folder::new();
    let request = |step: u64| {
        let id = step * step * 7919 % 211 % (1 + step % 97);
        (id, 1 + id * id * 31 % 5000)
    };
    let requests: Vec<(u64, u64)> = (0..3000).map(request).collect();
    let lines: String = requests.iter().map(|(id, size)| format!("{id},{size}\n")).collect();
    let trace = folder.file("kv.csv", format!("key,value_size\n{lines}"));
    let run = |more: &[&str]| hotset(&[&["simulate", &trace, "-p", "lru,sieve"], more].concat());
    let rows = run(&["-s", "3K,20K,1M", "--json", "-"]).rows();
    for (row, capacity) in rows.iter().zip([3, 20, 1024]) {
        let (hits, bytes) = lru_of_bytes(&requests, capacity << 10);
        let found = [&row["size_bytes"], &row["hits"], &row["object_bytes_hit"], &row["object_bytes"]];
        let all = requests.iter().map(|(_, size)| size).sum::<u64>();
        assert_eq!(found.map(|value| value.as_u64().unwrap()), [capacity << 10, hits, bytes, all]);
    }
    let streamed = run(&["-s", "3K,20K,1M", "--memory", "1B", "--json", "-"]).rows();
    // A bound needs the references in memory.
    let held = ["distinct_blocks", "size_blocks", "bound_hit_ratio", "bound_byte_hit_ratio"];
    assert!(rows.iter().all(|row| row["bound_hit_ratio"].as_f64() >= row["hit_ratio"].as_f64()));
    let counted = |rows: Vec<Value>| without(rows, &held);
    assert_eq!(counted(rows), counted(streamed));
    let table = run(&["-s", "20K"]).good().out;
    assert!(table.contains("cache of 20K of objects") && table.contains("bytes hit %"), "{table}");
    let table = run(&["-s", "3K,20K"]).good().out;
    assert!(table.contains("hit ratio of bytes in % by cache size\n"), "{table}");
    let by_count = run(&["-s", "10 blocks,50%", "--json", "-"]).rows();
    assert!(by_count.iter().all(|row| row.get("byte_hit_ratio").is_none() && row["size_blocks"].as_u64() > Some(9)));
    for (more, words) in [
        (vec!["-s", "1K", "-p", "opt"], "opt cannot be measured in bytes of objects"),
        (vec!["-s", "1K", "--series", "-", "--every", "100"], "since --store and --series count blocks"),
    ] {
        let refused = hotset(&[&["simulate", &trace], &more[..]].concat());
        assert!(refused.status > 0 && refused.err.contains(words), "{refused:?}");
    }
    let sizeless = folder.file("k.ids", "1\n2\n");
    let refused = hotset(&["simulate", &sizeless, "--format", "ids", "-p", "lru", "-s", "1K"]);
    assert!(refused.err.contains("the trace tells no sizes of objects"), "{refused:?}");
}

#[test]
fn what_a_policy_has_learnt_is_told_on_request() {
    let folder = Folder::new();
    // A loop over 300 blocks beside a stream that never comes back.
    let references = (0..40_000u64).map(|step| if step % 2 == 0 { step / 2 % 300 } else { 1_000 + step });
    let lines: String = references.map(|block| format!("{block}\n")).collect();
    let trace = folder.file("loop.lirs", lines);
    let arguments = ["simulate", &format!("lirs:{trace}"), "-p", "auto,lru", "-s", "100 blocks", "--explain"];
    let text = hotset(&arguments).good().out;
    assert!(text.contains("What auto has learnt with 100 blocks"), "{text}");
    assert!(text.contains("keeps those that it has, lets others pass") && text.contains("lets them pass"), "{text}");
    assert!(text.contains("lru does not tell what it learns"), "{text}");
    let rows = hotset(&[&arguments[..], &["--json", "-"]].concat()).rows();
    let told = rows[0]["explained"].as_array().unwrap();
    assert!(told.iter().all(|one| one["reuse"].as_array().unwrap().len() > 20), "{told:#?}");
    assert!(rows[1].get("explained").is_none());
    let rows = hotset(&[&arguments[..6], &["--json", "-"]].concat()).rows();
    assert!(rows[0].get("explained").is_none(), "only when it is asked for");
}
