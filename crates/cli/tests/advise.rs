//! `hotset advise`: its figures are those of `hotset simulate`, its rules those that it states.

mod support;

use serde_json::Value;
use support::{Folder, command, finish, hotset};

/// The shares of the footprint among which the memory to have is looked for.
const SIZES: [f64; 15] = [0.01, 0.014, 0.02, 0.028, 0.04, 0.056, 0.08, 0.11, 0.16, 0.22, 0.32, 0.45, 0.64, 0.8, 1.0];

fn workload(name: &str) -> String {
    format!("{}/../../workloads/{name}.hst", env!("CARGO_MANIFEST_DIR"))
}

fn advice(arguments: &[&str]) -> Value {
    hotset(&[&["advise", "--maps", "none", "--json", "-"], arguments].concat()).rows().swap_remove(0)
}

/// Output in one line.
fn said(arguments: &[&str]) -> String {
    hotset(arguments).good().out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a count"))
}

/// Hits of reads, repeats left out.
fn hits(row: &Value) -> u64 {
    number(&row["read_hits"]) - number(&row["repeat_hits"])
}

/// Rows of `simulate` at these sizes, which may repeat.
fn simulated(trace: &str, policies: &str, sizes: &[u64]) -> Vec<Value> {
    let sizes = sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",") + " blocks";
    hotset(&["simulate", trace, "--maps", "none", "--policy", policies, "--size", &sizes, "--json", "-"]).rows()
}

/// The memory is the least one with nine tenths of the hits, the policy the cheapest within a point of the best, and
/// every count is the one that `simulate` gives.
fn advice_follows_its_rules_on(name: &str) {
    let trace = workload(name);
    let told = advice(&[&trace]);
    let blocks = number(&told["distinct_blocks"]);
    let sizes: Vec<u64> = SIZES.iter().map(|share| (share * blocks as f64).max(1.0) as u64).collect();
    let today = simulated(&trace, "linux", &sizes);
    let attainable = hits(today.last().unwrap());
    assert_eq!(number(&told["attainable_hits"]), attainable, "{name}");
    let enough = today.iter().find(|row| hits(row) as f64 >= 0.9 * attainable as f64).unwrap();
    assert_eq!(told["memory"]["size_blocks"], enough["size_blocks"], "{name}");
    assert_eq!(number(&told["memory"]["hits"]), hits(enough), "{name}");

    let compared: Vec<u64> = [0.05, 0.1, 0.2, 0.4, 0.8].map(|share| (share * blocks as f64).max(1.0) as u64).into();
    let candidates = "linux,sieve,clock,lru,s3-fifo,slru,2q,arc,clock-pro,lirs,w-tinylfu,eelru,auto";
    let rows = simulated(&trace, candidates, &compared);
    let mean = |rows: &[Value]| {
        let ratio = |row: &Value| hits(row) as f64 / (number(&row["read_references"]) - number(&row["repeats"])) as f64;
        rows.iter().map(ratio).sum::<f64>() / rows.len() as f64
    };
    let means: Vec<(String, f64)> = rows
        .chunk_by(|one, other| one["policy"] == other["policy"])
        .map(|rows| (rows[0]["policy"].as_str().unwrap().to_owned(), mean(rows)))
        .collect();
    let best = means.iter().map(|&(_, mean)| mean).fold(0.0, f64::max);
    let cheapest = means.iter().find(|&&(_, mean)| mean >= best - 0.01).unwrap();
    assert_eq!(told["policy"], cheapest.0.as_str(), "{name}: {means:?}");

    let change = &told["change"];
    let at = number(&change["size_blocks"]);
    let spec = told["policy"].as_str().unwrap();
    let rows = simulated(&trace, &format!("linux,{spec}"), &[at]);
    assert_eq!(number(&change["today_hits"]), hits(&rows[0]), "{name}");
    assert_eq!(number(&change["hits"]), hits(rows.last().unwrap()), "{name}");
    if let Some(less) = change["enough_blocks"].as_u64() {
        let row = &simulated(&trace, spec, &[less])[0];
        assert!(less < at && hits(row) >= hits(&rows[0]), "{name}: {row}");
    }
}

#[test]
fn advice_on_programs_follows_its_rules() {
    for name in ["analysis", "build", "film", "office", "render", "tiles", "tpcc"] {
        advice_follows_its_rules_on(name);
    }
}

#[test]
fn advice_on_databases_and_matrices_follows_its_rules() {
    for name in ["database", "lu", "tpch"] {
        advice_follows_its_rules_on(name);
    }
}

#[test]
fn advice_is_half_a_page_and_names_commands_that_run() {
    let trace = workload("office");
    let out = hotset(&["advise", &trace, "--maps", "none"]).good().out;
    assert!(out.lines().count() <= 40, "{out}");
    for word in ["Memory: ", "Policy: ", "To verify:"] {
        assert!(out.contains(word), "{word}: {out}");
    }
    let check = out.lines().find(|line| line.trim_start().starts_with("hotset simulate")).unwrap();
    let arguments: Vec<&str> = check.split_whitespace().skip(1).collect();
    hotset(&arguments).good();
}

#[test]
fn the_memory_that_there_is_decides_what_a_policy_gives() {
    let trace = workload("render");
    let told = advice(&[&trace, "--size", "1000 blocks"]);
    assert_eq!(told["change"]["size_blocks"], 1000);
    let rows = simulated(&trace, &format!("linux,{}", told["policy"].as_str().unwrap()), &[1000]);
    assert_eq!(number(&told["change"]["today_hits"]), hits(&rows[0]));
    assert_eq!(told["change"]["pays"], true, "{told}");
    let run = hotset(&["advise", &trace, "--size", "1000 blocks,2000 blocks"]);
    assert!(run.status == 2 && run.err.contains("expected one"), "{run:?}");
}

#[test]
fn seconds_are_told_where_there_is_a_store() {
    let trace = workload("office");
    let told = advice(&[&trace, "--size", "10%", "--store", "disk"]);
    let spec = told["policy"].as_str().unwrap();
    let size = format!("{} blocks", told["change"]["size_blocks"]);
    let policies = format!("linux,{spec}");
    let simulate =
        ["simulate", &trace, "--maps", "none", "-p", &policies, "-s", &size, "--store", "disk", "--json", "-"];
    let rows = hotset(&simulate).rows();
    assert_eq!(told["change"]["today_seconds"], rows[0]["finish_seconds"]);
    assert_eq!(told["change"]["seconds"], rows.last().unwrap()["finish_seconds"]);
}

fn ids(numbers: impl Iterator<Item = u64>) -> String {
    numbers.map(|number| format!("{number}\n")).collect()
}

/// Reads of a block each, a tenth of a millisecond apart.
fn timed(numbers: impl Iterator<Item = u64>) -> String {
    let read = |(at, number): (usize, u64)| format!("{:.4},1,R,data,{},4096\n", at as f64 / 1e4, number * 4096);
    "time_s,pid,op,file,offset,bytes\n".to_owned() + &numbers.enumerate().map(read).collect::<String>()
}

#[test]
fn where_no_cache_helps_that_is_said() {
    let folder = Folder::new();
    let said_of = |numbers: &mut dyn Iterator<Item = u64>| {
        said(&["advise", &folder.file("t.ids", ids(numbers)), "--format", "ids"])
    };
    let out = said_of(&mut (0..1500));
    assert!(
        out.contains("no block is read twice, so no cache helps") && out.contains("The next run is another"),
        "{out}"
    );
    // 15 reads of 1515 are less than one in a hundred.
    let out = said_of(&mut (0..1500).chain(0..15));
    assert!(out.contains("memory for everything would save 15 reads, so no cache helps"), "{out}");
    let out = said_of(&mut (0..1500).chain(0..1500));
    assert!(out.contains("Memory: "), "{out}");
}

/// Below a thousand repeated reads the advice has no figure, only the recording to make.
#[test]
fn too_little_evidence_gives_no_figures() {
    let folder = Folder::new();
    for numbers in [vec![1, 2, 1, 2, 1], (0..999).chain(0..999).collect(), (0..500).collect()] {
        let trace = folder.file("t.ids", ids(numbers.into_iter()));
        let out = said(&["advise", &trace, "--format", "ids"]);
        assert!(out.contains("Too little evidence") && out.contains("hotset advise -- COMMAND"), "{out}");
        assert!(!out.contains("Memory: ") && !out.contains("Policy: "), "{out}");
    }
}

/// No measure is slower than today by its own figures, and those of a steered kernel are those of `simulate`.
fn measures_gain(arguments: &[&str], trace: &str) -> usize {
    let told = hotset(&[&["advise", trace, "--json", "-"], arguments].concat()).rows().swap_remove(0);
    let measures = told["measures"].as_array().unwrap();
    let mut before = f64::INFINITY;
    for measure in measures {
        match measure["fewer_seconds"].as_f64() {
            Some(seconds) => {
                assert!(seconds > 0.0 && seconds <= before, "{trace} {arguments:?}: {measure}");
                before = seconds;
            }
            None => {
                assert!(measure["fewer_reads"].as_i64().unwrap() > 0, "{trace} {arguments:?}: {measure}");
                before = f64::NEG_INFINITY;
            }
        }
        if measure["do"] == "steer" {
            let policy = measure["policy"].as_str().unwrap();
            let size = format!("{} blocks", measure["size_blocks"]);
            let policies = format!("linux,{policy}");
            let line = ["simulate", trace, "-p", &policies, "-s", &size, "--json", "-"];
            let rows = |without: &[&str]| {
                let rest = arguments.chunks(2).filter(|pair| !without.contains(&pair[0])).flatten().copied();
                hotset(&[&line[..], &rest.collect::<Vec<_>>()].concat()).rows()
            };
            // Hits are those of the trace's order, which a storage model changes where requests overlap.
            let told = rows(&["--size", "--store"]);
            assert_eq!(measure["fewer_reads"].as_i64().unwrap(), hits(&told[1]) as i64 - hits(&told[0]) as i64);
            if let Some(seconds) = measure["fewer_seconds"].as_f64() {
                let of = |row: &Value| row["finish_seconds"].as_f64().unwrap();
                let rows = rows(&["--size"]);
                assert!((of(&rows[0]) - of(&rows[1]) - seconds).abs() < 1e-6, "{measure}");
            }
        }
    }
    assert_eq!(told["change"]["pays"] == true, measures.iter().any(|measure| measure["do"] == "steer"), "{trace}");
    measures.len()
}

#[test]
fn no_measure_is_slower_than_today_on_any_workload() {
    let names = ["analysis", "build", "film", "office", "render", "tiles", "tpcc", "database", "lu", "tpch"];
    let found =
        names.map(|name| measures_gain(&["--maps", "none", "--size", "10%", "--store", "hdd"], &workload(name)));
    assert!(found.iter().any(|&measures| measures > 0), "nothing was tested: {found:?}");
}

#[test]
fn no_measure_is_slower_than_today_on_generated_reads() {
    let folder = Folder::new();
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let looped: Vec<u64> = (0..20_000).map(|at| at % 2000).collect();
    let even: Vec<u64> = (0..20_000).map(|_| random(2000)).collect();
    let skewed: Vec<u64> = (0..20_000).map(|_| random(2000).min(random(2000)).min(random(2000))).collect();
    let beside: Vec<u64> = (0..20_000).map(|at| if at % 2 == 0 { random(300) } else { 1000 + at / 2 % 3000 }).collect();
    let mut found = Vec::new();
    for (name, numbers) in [("loop", looped), ("even", even), ("skewed", skewed), ("beside", beside)] {
        let trace = folder.file(&format!("{name}.csv"), timed(numbers.into_iter()));
        for store in [&[][..], &["--store", "nvme"], &["--store", "hdd"], &["--store", "s3"]] {
            for size in ["200 blocks", "4000 blocks"] {
                found.push(measures_gain(&[&["--format", "csv", "--size", size], store].concat(), &trace));
            }
        }
    }
    assert!(found.contains(&0) && found.iter().any(|&measures| measures > 0), "{found:?}");
}

/// Half of the data is mapped, so its reads are unknown; `--maps none` leaves it out on purpose.
#[test]
fn mapped_data_gives_no_figures_but_what_to_record() {
    let folder = Folder::new();
    let reads = |at: u64| format!("{at},1,R,/srv/data,{},4096\n", at % 1500 * 4096);
    let text = "time_s,pid,op,file,offset,bytes\n0,1,M,/srv/mapped/big,0,8000000\n".to_owned()
        + &(1..4000).map(reads).collect::<String>();
    let trace = folder.file("m.csv", text);
    let run = hotset(&["advise", &trace]);
    let out = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(run.status == 0 && run.err.contains("mappings of 7812K are left out"), "{run:?}");
    assert!(out.contains("No figures: too much of the data is mapped"), "{out}");
    assert!(
        out.contains("Not counted: 7.6M of 1 file") && out.contains("--page-cache -o recorded.hst -- COMMAND"),
        "{out}"
    );
    assert!(!out.contains("Memory: "), "{out}");
    assert!(said(&["advise", &trace, "--maps", "none"]).contains("Memory: "));
}

/// A smaller memory is named only where today's policy hits less in it.
#[test]
fn less_memory_is_no_gain_where_the_kernel_hits_as_much_there() {
    let folder = Folder::new();
    // A loop: linux hits nothing below its length.
    let trace = folder.file("loop.csv", timed((0..20_000).map(|at| at % 2000)));
    let out = said(&["advise", &trace, "--format", "csv", "--size", "1000 blocks"]);
    assert!(out.contains("hotset steer") && !out.contains("would hit as much"), "{out}");
}

#[test]
fn what_advice_cannot_be_given_on_is_refused() {
    let run = hotset(&["advise", "-"]);
    assert!(run.status == 2 && run.err.contains("standard input does not allow"), "{run:?}");
    assert_eq!(hotset(&["advise"]).status, 2);
    let run = hotset(&["advise", "/nonexistent.hst"]);
    assert!(run.status == 1 && run.err.contains("/nonexistent.hst"), "{run:?}");
}

#[test]
fn a_command_is_recorded_first_and_leaves_nothing_behind() {
    let (folder, temporary) = (Folder::new(), Folder::new());
    let file = folder.file("data", "x".repeat(8 << 20));
    let script = format!("cat {file} {file} > /dev/null");
    let mut line = command(&["advise", "--", "sh", "-c", &script]);
    let run = finish({
        line.env("TMPDIR", temporary.path(""));
        line
    });
    // The file was just written, so it is in the page cache; a recording by strace does not show that.
    let is_advice = run.out.contains("storage was not the bottleneck") || run.out.contains("Memory: ");
    assert!(run.status == 0 && is_advice, "{run:?}");
    assert_eq!(temporary.names(), [""; 0], "{run:?}");
}

#[test]
fn a_command_that_fails_gives_its_status_and_no_advice() {
    let run = hotset(&["advise", "--", "sh", "-c", "exit 3"]);
    assert!(run.status == 3 && run.out.is_empty() && run.err.contains("exit status 3"), "{run:?}");
}

/// A database has its own buffers. The advice compares them, too, and names their setting.
#[test]
fn a_database_is_compared_with_its_own_buffers() {
    let trace = workload("tpcc");
    let advice = advice(&[&trace]);
    let size = number(&advice["change"]["size_blocks"]);
    let row = simulated(&trace, "clock-sweep", &[size]).remove(0);
    assert_eq!(advice["beside"][0]["policy"], "clock-sweep");
    assert_eq!(number(&advice["beside"][0]["hits"]), hits(&row));
    let out = said(&["advise", &trace, "--maps", "none"]);
    assert!(out.contains("as clock-sweep of these reads"), "{out}");
    assert!(!out.contains("hotset mount"), "never below a live database: {out}");
    let trace = workload("lu");
    assert!(self::advice(&[&trace])["beside"].is_null(), "no database");
}

/// The command's own output would break the JSON.
#[test]
fn json_on_standard_output_is_alone() {
    let folder = Folder::new();
    let file = folder.file("data", "x".repeat(1 << 20));
    let run = hotset(&["advise", "--json", "-", "--", "sh", "-c", &format!("cat {file} | wc -c; echo done")]);
    if run.status != 0 {
        return println!("NOT RUN: {}", run.err);
    }
    let told: serde_json::Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    assert!(told["finding"].is_string() && run.err.contains("1048576\ndone\n"), "{run:?}");
}
